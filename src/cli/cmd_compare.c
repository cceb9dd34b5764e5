/* compare: matches the components of two results, and prints how similar they are. */
#include <math.h>
#include <stdlib.h>

#include "cli/commands.h"
#include "cli/result_argument.h"
#include "tensor/format.h"
#include "base/facts.h"
#include "base/json.h"
#include "session/output_guard.h"
#include "formats/completion_file.h"
#include "tensor/match.h"
#include "base/mem.h"
#include "base/printable.h"
#include "text/index_match.h"
#include "text/label_join.h"

/* A result, and its rows without a learnt entry. They count as zeros. */
typedef struct side {
  amped_ktensor k;
  uint64_t unlearnt[AMPED_MAX_ORDER]; /* their number */
} side;

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

/* Match a mode in which only one model has labels. Numeric labels are indices of the other model,
 * except for values of an array's axis. Other labels are ignored: rows are matched by index. */
static amped_status align_numbers(const amped_index_side *a, const amped_index_side *b, int mode,
                                  alignment *rows) {
  const bool of_a = a->labels[mode].count > 0;
  amped_label_join *join = &rows->joins[mode];
  amped_index_match match;
  const amped_labels *labels = of_a ? &a->labels[mode] : &b->labels[mode];
  if (!amped_index_like_labels(labels) || (labels->of_array && a->dims[mode] == b->dims[mode]))
    return AMPED_OK;
  AMPED_TRY(amped_index_match_create(of_a ? b : a, of_a ? a : b, mode, &match));
  *join = (amped_label_join){match.rows, match.shared};
  rows->numbers[mode] = true;
  if (join->shared == 0)
    return share_none(labels, mode);
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

static void mode_facts(const amped_ktensor *a, const amped_ktensor *b, const alignment *rows,
                       int mode, amped_facts *f) {
  const amped_labels *of_a = &a->labels[mode];
  const amped_labels *of_b = &b->labels[mode];
  const bool by_labels = rows->joins[mode].rows != NULL;
  const uint64_t shared = rows->joins[mode].shared;
  char text[128], left[64], right[64];
  (void)amped_format_mode(text, sizeof text, mode, of_a->count > 0 ? of_a : of_b);
  amped_fact(f, "by", json_string(by_labels ? "labels" : "index"), "%s: by %s", text,
             by_labels ? "labels" : "index");
  if (by_labels) {
    amped_fact_words(f, "%s",
                     !rows->numbers[mode] ? ""
                     : of_a->count > 0    ? ", which are indices of B"
                                          : ", which are indices of A");
    amped_fact(f, "shared", amped_json_count(shared), ", %" PRIu64 " shared%s%s", shared,
               only_in("A", a->dims[mode] - shared, left, sizeof left),
               only_in("B", b->dims[mode] - shared, right, sizeof right));
  } else if (of_a->count > 0 && of_b->count > 0)
    amped_fact_words(f, ", because labels repeat");
  else if (of_a->count > 0 || of_b->count > 0)
    amped_fact_words(f, ", because %s has no labels", of_a->count > 0 ? "B" : "A");
  else
    amped_fact_words(f, ", because there are no labels");
}

/* Rows of a mode of a result without a learnt entry. */
static void unlearnt_facts(const side *of, const char *name, const char *key, int mode,
                           amped_facts *f) {
  amped_fact_json(f, key, amped_json_count(of->unlearnt[mode]));
  if (of->unlearnt[mode] > 0)
    amped_fact_words(f, ", %" PRIu64 " of %" PRIu64 " in %s have no learnt entry and are left out",
                     of->unlearnt[mode], of->k.dims[mode], name);
}

static void alignment_facts(const side *of_a, const side *of_b, const alignment *rows,
                            amped_facts *f) {
  const amped_ktensor *a = &of_a->k;
  const amped_ktensor *b = &of_b->k;
  bool labels = false;
  for (int m = 0; m < a->order; m++)
    labels = labels || a->labels[m].count > 0 || b->labels[m].count > 0;
  if (!labels)
    amped_fact_words(f, "rows are matched by index, because there are no labels\n");
  for (int m = 0; m < a->order; m++) {
    amped_facts mode;
    amped_facts_begin(&mode, NULL);
    if (labels)
      mode_facts(a, b, rows, m, &mode);
    else
      amped_fact_json(&mode, "by", json_string("index"));
    if (!labels && of_a->unlearnt[m] + of_b->unlearnt[m] > 0)
      amped_fact_words(&mode, "mode %d", m + 1);
    unlearnt_facts(of_a, "A", "unlearnt_a", m, &mode);
    unlearnt_facts(of_b, "B", "unlearnt_b", m, &mode);
    amped_facts_row(f, "modes", &mode);
  }
}

/* Pairs with a lesser congruence have no sign in common that means anything. */
#define SIMILAR 0.5

/* Number of similar pairs of which one component is about minus the other: congruences are of
 * absolute cosines. match: with the models' numbers of components. */
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

/* Print the table of pairs, and write a line of JSON for each. */
static amped_status tell_pairs(const amped_match *match, int order, amped_json *json) {
  amped_facts f = {.json = NULL};
  amped_fact_words(&f, "%5s  %5s  %12s  %12s  %8s  %10s", "A", "B", "length A", "length B", "score",
                   "congruence");
  for (int m = 0; m < order; m++)
    amped_fact_words(&f, "   mode %d", m + 1);
  amped_facts_say(&f);
  for (int i = 0; i < match->count; i++) {
    const amped_match_pair *p = &match->pairs[i];
    amped_facts_begin(&f, "match");
    amped_fact(&f, "a", json_integer(p->a), "%5d", p->a);
    amped_fact(&f, "b", json_integer(p->b), "  %5d", p->b);
    amped_fact(&f, "length_a", amped_json_number(p->weight_a), "  %12.6g", p->weight_a);
    amped_fact(&f, "length_b", amped_json_number(p->weight_b), "  %12.6g", p->weight_b);
    amped_fact(&f, "score", amped_json_number(p->score), "  %8.6f", p->score);
    amped_fact(&f, "congruence", amped_json_number(p->congruence), "  %10.6f", p->congruence);
    amped_fact_json(&f, "penalty", amped_json_number(p->penalty));
    amped_fact_json(&f, "cosines", amped_json_numbers(p->cosines, order));
    for (int m = 0; m < order; m++)
      amped_fact_words(&f, "  %+.4f", p->cosines[m]);
    amped_facts_say(&f);
    AMPED_TRY(amped_facts_write(&f, json));
  }
  return AMPED_OK;
}

static void score_facts(const amped_ktensor *a, const amped_ktensor *b, const amped_match *match,
                        int opposite, amped_facts *f) {
  if (a->ncomps != b->ncomps)
    amped_fact_words(f, "%d components of %s have no partner\n", abs(a->ncomps - b->ncomps),
                     a->ncomps > b->ncomps ? "A" : "B");
  amped_fact_json(f, "matched", json_integer(match->count));
  amped_fact_json(f, "matched_zeros", json_integer(match->zeros));
  if (match->zeros > 0)
    amped_fact_words(f, "%d pair%s of zero components take%s no part in the score\n", match->zeros,
                     match->zeros == 1 ? "" : "s", match->zeros == 1 ? "s" : "");
  amped_fact_json(f, "score", amped_json_number(match->score));
  amped_fact_json(f, "congruence", amped_json_number(match->congruence));
  if (isnan(match->score))
    amped_fact_words(f, "no factor match score: all components are zero\n");
  else
    amped_fact_words(f, "factor match score %.6f (%.6f without weights)\n", match->score,
                     match->congruence);
  if (opposite > 0)
    amped_warn(
        "%d of %d pairs have opposite signs: one component is minus the other, which the score "
        "does not see",
        opposite, match->count);
}

static void model_facts(const char *path, const amped_ktensor *k, const char *key,
                        const char *count, const char *name, amped_facts *f) {
  char dims[AMPED_DIMS_TEXT];
  amped_fact(f, key, amped_json_string(path), "%s: %s, %s", name, path,
             amped_format_dims(dims, k->order, k->dims));
  amped_fact(f, count, json_integer(k->ncomps), ", %d components\n", k->ncomps);
}

static amped_status tell(const amped_options *o, const side *of_a, const side *of_b,
                         const alignment *rows, const amped_match *match, int opposite,
                         amped_json *json) {
  const amped_ktensor *a = &of_a->k;
  const amped_ktensor *b = &of_b->k;
  amped_facts f;
  amped_facts_begin(&f, "compare");
  model_facts(o->args[0], a, "a", "components_a", "A", &f);
  model_facts(o->args[1], b, "b", "components_b", "B", &f);
  alignment_facts(of_a, of_b, rows, &f);
  const amped_status status = tell_pairs(match, a->order, json);
  score_facts(a, b, match, opposite, &f);
  return amped_facts_end(&f, json, status);
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

/* Read a result, with weights in the values' own units, and without rows that have learnt nothing.
 * *beside: it has a mean or biases, too. */
static amped_status read_model(const char *path, side *out, bool *beside) {
  amped_completion c = {.order = 0};
  amped_ktensor *k = &out->k;
  AMPED_TRY(amped_result_argument_read("compare", path, k));
  AMPED_TRY(amped_completion_file_read(path, k->order, k->dims, true, &c));
  amped_completion_weigh(&c, k);
  amped_completion_blank(&c, k);
  for (int m = 0; m < c.order; m++)
    out->unlearnt[m] = amped_completion_unlearnt(&c, m);
  *beside = *beside || (c.order > 0 && (c.biased || c.mean != 0.0));
  amped_completion_free(&c);
  return AMPED_OK;
}

static amped_status compare(const amped_options *o, amped_json *json) {
  side of_a = {.k = {.order = 0}};
  side of_b = {.k = {.order = 0}};
  amped_ktensor *a = &of_a.k;
  amped_ktensor *b = &of_b.k;
  alignment rows = {.numbers = {false}};
  amped_match match = {.count = 0};
  int places_a[AMPED_MAX_NCOMPS];
  int places_b[AMPED_MAX_NCOMPS];
  bool beside = false;
  amped_status status = AMPED_OK;
  AMPED_GO(out, read_model(o->args[0], &of_a, &beside));
  AMPED_GO(out, read_model(o->args[1], &of_b, &beside));
  AMPED_GO(out, name_files(o, align(o, a, b, &rows)));
  /* Number the components first: balancing changes the weights. */
  number_components(a, places_a);
  number_components(b, places_b);
  amped_ktensor_balance(a);
  amped_ktensor_balance(b);
  AMPED_GO(out, name_files(o, find_match(a, b, &rows, &match)));
  const int opposite = opposite_pairs(a, b, &match);
  renumber(places_a, places_b, &match);
  status = tell(o, &of_a, &of_b, &rows, &match, opposite, json);
  if (beside)
    amped_note("note: the score is about components; means and biases are not compared");
out:
  amped_match_free(&match);
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    amped_free(rows.joins[m].rows);
  amped_ktensor_free(a);
  amped_ktensor_free(b);
  return status;
}

amped_status amped_cmd_compare(const amped_options *o) {
  amped_json *json = NULL;
  AMPED_TRY(amped_output_json(o->json, o->overwrite, &json));
  return amped_json_close(json, compare(o, json));
}
