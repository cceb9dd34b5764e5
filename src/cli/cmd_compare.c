/* compare: matches the components of two results, and prints how similar they are. */
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/result_argument.h"
#include "tensor/format.h"
#include "base/json.h"
#include "session/output_guard.h"
#include "formats/completion_file.h"
#include "tensor/match.h"
#include "base/mem.h"
#include "base/printable.h"
#include "text/index_match.h"
#include "text/label_join.h"

/* How the rows of each mode are matched. */
typedef struct alignment {
  amped_label_join joins[AMPED_MAX_ORDER]; /* matches by label; rows NULL: by index */
  bool numbers[AMPED_MAX_ORDER];           /* labels of one model are indices of the other */
} alignment;

/* Find places[r]: the place of component r by descending weight, counted from 1. `top` uses the
 * same numbers. */
static void number_components(const amped_ktensor *k, int *places) {
  int order[AMPED_MAX_NCOMPS];
  amped_ktensor_order(k, order);
  for (int i = 0; i < k->ncomps; i++)
    places[order[i]] = i + 1;
}

static int compare_pairs(const void *x, const void *y) {
  return ((const amped_match_pair *)x)->a - ((const amped_match_pair *)y)->a;
}

/* Replace components in the pairs by their places, and sort the pairs by the component of a. */
static void renumber(const int *places_a, const int *places_b, amped_match *match) {
  for (int i = 0; i < match->count; i++) {
    match->pairs[i].a = places_a[match->pairs[i].a];
    match->pairs[i].b = places_b[match->pairs[i].b];
  }
  qsort(match->pairs, (size_t)match->count, sizeof *match->pairs, compare_pairs);
}

static amped_status share_none(const amped_labels *labels, int mode) {
  char text[128];
  return amped_error(AMPED_BAD_INPUT, NULL,
                     "%s: A and B share none of their labels; name results of tensors with the "
                     "same labels",
                     amped_format_mode(text, sizeof text, mode, labels));
}

/* *rows gives b's `count` indices as indices of a. Replace it by the inverse: a's `dim` indices as
 * indices of b. */
static amped_status turn_round(uint64_t **rows, uint64_t count, uint64_t dim) {
  uint64_t *out = NULL;
  AMPED_TRY(amped_alloc(&out, dim, sizeof *out, "the shared labels"));
  for (uint64_t i = 0; i < dim; i++)
    out[i] = AMPED_MATCH_NO_ROW;
  for (uint64_t i = 0; i < count; i++)
    if ((*rows)[i] != AMPED_MATCH_NO_ROW)
      out[(*rows)[i]] = i;
  amped_free(*rows);
  *rows = out;
  return AMPED_OK;
}

/* Match a mode in which only one model has labels. Numeric labels are indices of the other model.
 * Other labels are ignored: rows are matched by index. */
static amped_status align_numbers(const amped_index_side *a, const amped_index_side *b, int mode,
                                  alignment *rows) {
  const bool of_a = a->labels[mode].count > 0;
  amped_label_join *join = &rows->joins[mode];
  amped_index_match match;
  if (!amped_index_like_labels(of_a ? &a->labels[mode] : &b->labels[mode]))
    return AMPED_OK;
  AMPED_TRY(amped_index_match_create(of_a ? b : a, of_a ? a : b, mode, &match));
  *join = (amped_label_join){match.rows, match.shared};
  rows->numbers[mode] = true;
  if (join->shared == 0)
    return share_none(of_a ? &a->labels[mode] : &b->labels[mode], mode);
  return of_a ? AMPED_OK : turn_round(&join->rows, b->labels[mode].count, a->dims[mode]);
}

/* Match the rows of a mode by label. Rows are matched by index if labels repeat. */
static amped_status align_mode(const amped_index_side *a, const amped_index_side *b, int mode,
                               alignment *rows) {
  amped_label_join *join = &rows->joins[mode];
  if (a->labels[mode].count == 0 && b->labels[mode].count == 0)
    return AMPED_OK;
  if (a->labels[mode].count == 0 || b->labels[mode].count == 0)
    return align_numbers(a, b, mode, rows);
  AMPED_TRY(amped_label_join_find(&a->labels[mode], &b->labels[mode], join));
  return join->rows != NULL && join->shared == 0 ? share_none(&a->labels[mode], mode) : AMPED_OK;
}

static amped_status align(const amped_options *o, const amped_ktensor *a, const amped_ktensor *b,
                          alignment *rows) {
  const amped_index_side of_a = {o->args[0], a->order, a->dims, a->labels};
  const amped_index_side of_b = {o->args[1], b->order, b->dims, b->labels};
  if (a->order != b->order)
    return AMPED_OK; /* find_match refuses it */
  AMPED_TRY(amped_index_match_check(&of_a, &of_b));
  amped_index_match_warn_names(&of_a, &of_b);
  for (int m = 0; m < a->order; m++)
    AMPED_TRY(align_mode(&of_a, &of_b, m, rows));
  return AMPED_OK;
}

static amped_status find_match(const amped_ktensor *a, const amped_ktensor *b,
                               const alignment *aligned, amped_match *out) {
  const uint64_t *rows[AMPED_MAX_ORDER];
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    rows[m] = aligned->joins[m].rows;
  return amped_match_find(a, b, rows, out);
}

/* Format ", 3 only in A"; "" if count is 0. */
static const char *only_in(const char *model, uint64_t count, char *buffer, size_t size) {
  buffer[0] = '\0';
  if (count > 0)
    (void)snprintf(buffer, size, ", %" PRIu64 " only in %s", count, model);
  return buffer;
}

static void say_mode(const amped_ktensor *a, const amped_ktensor *b, const alignment *rows,
                     int mode) {
  const amped_labels *of_a = &a->labels[mode];
  const amped_labels *of_b = &b->labels[mode];
  const uint64_t shared = rows->joins[mode].shared;
  char text[128], left[64], right[64];
  (void)amped_format_mode(text, sizeof text, mode, of_a->count > 0 ? of_a : of_b);
  if (rows->joins[mode].rows != NULL)
    amped_say("%s: by labels%s, %" PRIu64 " shared%s%s", text,
              !rows->numbers[mode] ? ""
              : of_a->count > 0    ? ", which are indices of B"
                                   : ", which are indices of A",
              shared, only_in("A", a->dims[mode] - shared, left, sizeof left),
              only_in("B", b->dims[mode] - shared, right, sizeof right));
  else if (of_a->count > 0 && of_b->count > 0)
    amped_say("%s: by index, because labels repeat", text);
  else if (of_a->count > 0 || of_b->count > 0)
    amped_say("%s: by index, because %s has no labels", text, of_a->count > 0 ? "B" : "A");
  else
    amped_say("%s: by index, because there are no labels", text);
}

static void say_alignment(const amped_ktensor *a, const amped_ktensor *b, const alignment *rows) {
  bool labels = false;
  for (int m = 0; m < a->order; m++)
    labels = labels || a->labels[m].count > 0 || b->labels[m].count > 0;
  for (int m = 0; m < a->order && labels; m++)
    say_mode(a, b, rows, m);
  if (!labels)
    amped_say("rows are matched by index, because there are no labels");
}

/* Pairs with a lesser congruence have no sign in common that means anything. */
#define SIMILAR 0.5

/* Number of similar pairs of which one component is about minus the other: congruences are of
 * absolute cosines. */
static int opposite_pairs(const amped_ktensor *a, const amped_ktensor *b,
                          const amped_match *match) {
  int count = 0;
  for (int i = 0; i < match->count; i++) {
    const amped_match_pair *p = &match->pairs[i];
    bool minus = (a->weights[p->a] < 0.0) != (b->weights[p->b] < 0.0);
    for (int m = 0; m < a->order; m++)
      minus = minus != (p->cosines[m] < 0.0);
    count += minus && p->congruence > SIMILAR;
  }
  return count;
}

static void say_match(const amped_ktensor *a, const amped_ktensor *b, const amped_match *match) {
  char line[128 + 16 * AMPED_MAX_ORDER];
  int at = snprintf(line, sizeof line, "%5s  %5s  %12s  %12s  %8s  %10s", "A", "B", "weight A",
                    "weight B", "score", "congruence");
  for (int m = 0; m < a->order; m++)
    at += snprintf(line + at, sizeof line - (size_t)at, "   mode %d", m + 1);
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
  const int opposite = opposite_pairs(a, b, match);
  if (opposite > 0)
    amped_warn(
        "%d of %d pairs have opposite signs: one component is minus the other, which the score "
        "does not see",
        opposite, match->count);
}

static void say_models(const amped_options *o, const amped_ktensor *a, const amped_ktensor *b) {
  char dims[AMPED_DIMS_TEXT];
  amped_say("A: %s, %s, %d components", o->args[0], amped_format_dims(dims, a->order, a->dims),
            a->ncomps);
  amped_say("B: %s, %s, %d components", o->args[1], amped_format_dims(dims, b->order, b->dims),
            b->ncomps);
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

static json_t *json_modes(const alignment *rows, int order) {
  json_t *modes = json_array();
  for (int m = 0; m < order; m++) {
    const amped_label_join *join = &rows->joins[m];
    json_t *mode = join->rows != NULL ? json_pack("{s:s, s:o}", "by", "labels", "shared",
                                                  amped_json_count(join->shared))
                                      : json_pack("{s:s}", "by", "index");
    if (json_array_append_new(modes, mode) != 0) {
      json_decref(modes);
      return NULL;
    }
  }
  return modes;
}

static amped_status write_json(const amped_options *o, const amped_ktensor *a,
                               const amped_ktensor *b, const alignment *rows,
                               const amped_match *match, amped_json *json) {
  if (json == NULL)
    return AMPED_OK;
  for (int i = 0; i < match->count; i++)
    AMPED_TRY(amped_json_line(json, json_pair(&match->pairs[i], a->order)));
  return amped_json_line(json, json_pack("{s:s, s:o, s:o, s:i, s:i, s:i, s:f, s:f, s:o}", "event",
                                         "compare", "a", amped_json_string(o->args[0]), "b",
                                         amped_json_string(o->args[1]), "components_a", a->ncomps,
                                         "components_b", b->ncomps, "matched", match->count,
                                         "score", match->score, "congruence", match->congruence,
                                         "modes", json_modes(rows, a->order)));
}

/* If there is an error about both models, add the names of both files to it. */
static amped_status name_files(const amped_options *o, amped_status status) {
  char place[256];
  char a[120];
  char b[120];
  if (status == AMPED_OK)
    return AMPED_OK;
  (void)snprintf(place, sizeof place, "%s, %s", amped_printable_text(a, sizeof a, o->args[0]),
                 amped_printable_text(b, sizeof b, o->args[1]));
  amped_status_place(place);
  return status;
}

/* Read a result, with weights in the values' own units. *beside: it has a mean or biases, too. */
static amped_status read_model(const char *path, amped_ktensor *k, bool *beside) {
  amped_completion c = {.order = 0};
  AMPED_TRY(amped_result_argument_read("compare", path, k));
  AMPED_TRY(amped_completion_file_read(path, k->order, k->dims, false, &c));
  amped_completion_weigh(&c, k);
  *beside = *beside || (c.order > 0 && (c.biased || c.mean != 0.0));
  amped_completion_free(&c);
  return AMPED_OK;
}

static amped_status compare(const amped_options *o, amped_json *json) {
  amped_ktensor a = {.order = 0};
  amped_ktensor b = {.order = 0};
  alignment rows = {.numbers = {false}};
  amped_match match = {.count = 0};
  int places_a[AMPED_MAX_NCOMPS];
  int places_b[AMPED_MAX_NCOMPS];
  bool beside = false;
  amped_status status = AMPED_OK;
  AMPED_GO(out, read_model(o->args[0], &a, &beside));
  AMPED_GO(out, read_model(o->args[1], &b, &beside));
  AMPED_GO(out, name_files(o, align(o, &a, &b, &rows)));
  /* Number the components first: balancing changes the weights. */
  number_components(&a, places_a);
  number_components(&b, places_b);
  amped_ktensor_balance(&a);
  amped_ktensor_balance(&b);
  AMPED_GO(out, name_files(o, find_match(&a, &b, &rows, &match)));
  renumber(places_a, places_b, &match);
  say_models(o, &a, &b);
  say_alignment(&a, &b, &rows);
  say_match(&a, &b, &match);
  if (beside)
    amped_say("note: the score is about components; means and biases are not compared");
  status = write_json(o, &a, &b, &rows, &match, json);
out:
  amped_match_free(&match);
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    amped_free(rows.joins[m].rows);
  amped_ktensor_free(&a);
  amped_ktensor_free(&b);
  return status;
}

amped_status amped_cmd_compare(const amped_options *o) {
  amped_json *json = NULL;
  AMPED_TRY(amped_output_json(o->json, o->overwrite, &json));
  return amped_json_close(json, compare(o, json));
}
