#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "tensor/format.h"
#include "base/json.h"
#include "tensor/match.h"
#include "base/mem.h"
#include "hdf5/result_file.h"

/* places[r] = the place of component r by descending weight, from 1: its number for `top`. */
static void number_components(const amped_ktensor *k, int *places) {
  int order[AMPED_MAX_NCOMPS];
  amped_ktensor_order(k, order);
  for (int i = 0; i < k->ncomps; i++)
    places[order[i]] = i + 1;
}

static int compare_pairs(const void *x, const void *y) {
  return ((const amped_match_pair *)x)->a - ((const amped_match_pair *)y)->a;
}

/* Pairs name components by their numbers for `top`, in the order of the components of a. */
static void renumber(const amped_ktensor *a, const amped_ktensor *b, amped_match *match) {
  int places_a[AMPED_MAX_NCOMPS];
  int places_b[AMPED_MAX_NCOMPS];
  number_components(a, places_a);
  number_components(b, places_b);
  for (int i = 0; i < match->count; i++) {
    match->pairs[i].a = places_a[match->pairs[i].a];
    match->pairs[i].b = places_b[match->pairs[i].b];
  }
  qsort(match->pairs, (size_t)match->count, sizeof *match->pairs, compare_pairs);
}

static void say_match(const amped_options *o, const amped_ktensor *a, const amped_ktensor *b,
                      const amped_match *match) {
  char line[128 + 16 * AMPED_MAX_ORDER];
  char dims[AMPED_DIMS_TEXT];
  int at = snprintf(line, sizeof line, "%5s  %5s  %12s  %12s  %8s  %10s", "A", "B", "weight A",
                    "weight B", "score", "congruence");
  amped_say("A: %s, %d components", o->args[0], a->ncomps);
  amped_say("B: %s, %d components, %s", o->args[1], b->ncomps,
            amped_format_dims(dims, b->order, b->dims));
  for (int m = 0; m < a->order; m++)
    at += snprintf(line + at, sizeof line - (size_t)at, "   mode %d", m);
  amped_say("%s", line);
  for (int i = 0; i < match->count; i++) {
    const amped_match_pair *p = &match->pairs[i];
    at = snprintf(line, sizeof line, "%5d  %5d  %12.6g  %12.6g  %8.6f  %10.6f", p->a, p->b,
                  p->weight_a, p->weight_b, p->score, p->congruence);
    for (int m = 0; m < a->order; m++)
      at += snprintf(line + at, sizeof line - (size_t)at, "  %+.4f", p->cosines[m]);
    amped_say("%s", line);
  }
  if (a->ncomps != b->ncomps)
    amped_say("%d components of %s have no partner", abs(a->ncomps - b->ncomps),
              a->ncomps > b->ncomps ? "A" : "B");
  amped_say("factor match score %.6f (%.6f without weights)", match->score, match->congruence);
}

static json_t *json_pair(const amped_match_pair *p, int order) {
  json_t *cosines = json_array();
  for (int m = 0; m < order; m++)
    (void)json_array_append_new(cosines, json_real(p->cosines[m]));
  return json_pack("{s:s, s:i, s:i, s:o, s:o, s:f, s:f, s:f, s:o}", "event", "match", "a", p->a,
                   "b", p->b, "weight_a", amped_json_number(p->weight_a), "weight_b",
                   amped_json_number(p->weight_b), "congruence", p->congruence, "penalty",
                   p->penalty, "score", p->score, "cosines", cosines);
}

static amped_status write_json(const amped_options *o, const amped_ktensor *a,
                               const amped_ktensor *b, const amped_match *match, amped_json *json) {
  if (json == NULL)
    return AMPED_OK;
  for (int i = 0; i < match->count; i++)
    AMPED_TRY(amped_json_line(json, json_pair(&match->pairs[i], a->order)));
  return amped_json_line(json,
                         json_pack("{s:s, s:o, s:o, s:i, s:i, s:i, s:f, s:f}", "event", "compare",
                                   "a", amped_json_text(o->args[0], strlen(o->args[0])), "b",
                                   amped_json_text(o->args[1], strlen(o->args[1])), "components_a",
                                   a->ncomps, "components_b", b->ncomps, "matched", match->count,
                                   "score", match->score, "congruence", match->congruence));
}

static amped_status compare(const amped_options *o, amped_json *json) {
  amped_ktensor a = {.order = 0};
  amped_ktensor b = {.order = 0};
  amped_match match = {.count = 0};
  amped_status status = AMPED_OK;
  AMPED_GO(out, amped_result_file_read(o->args[0], &a));
  AMPED_GO(out, amped_result_file_read(o->args[1], &b));
  amped_ktensor_balance(&a);
  amped_ktensor_balance(&b);
  AMPED_GO(out, amped_match_find(&a, &b, &match));
  renumber(&a, &b, &match);
  say_match(o, &a, &b, &match);
  status = write_json(o, &a, &b, &match, json);
out:
  amped_match_free(&match);
  amped_ktensor_free(&a);
  amped_ktensor_free(&b);
  return status;
}

amped_status amped_cmd_compare(const amped_options *o) {
  amped_json *json = NULL;
  AMPED_TRY(amped_json_open(o->json, &json));
  return amped_json_close(json, compare(o, json));
}
