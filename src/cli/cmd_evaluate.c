/* evaluate: ranks the index of one mode in each given cell among all indices of that mode. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/cell_files.h"
#include "cli/model_mode.h"
#include "cli/model_outputs.h"
#include "cli/ranking_report.h"
#include "cli/result_argument.h"
#include "base/facts.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/sort.h"
#include "formats/completion_file.h"
#include "formats/result_file.h"
#include "tensor/cell_ranks.h"
#include "tensor/format.h"
#include "text/io.h"

typedef struct job {
  const amped_options *o;
  amped_ktensor k;
  amped_completion c;
  amped_predictor p;
  int of;
  amped_sptensor cells; /* ranked cells, with the model's indices */
  uint64_t given;       /* cells of the file that are events */
  uint64_t zeros;       /* cells that are none */
  bool has_values;      /* cells have values */
  uint64_t low;         /* ranked cells with a value below the mean of a model of values */
  uint64_t known;       /* cells left out: a file of --exclude other than CELLS has them */
  uint64_t unknown;     /* cells left out: the index of mode `of` has no learnt entry */
  uint64_t cold;        /* cells left out, or ranked with an average row: another index has none */
  uint64_t cold_of[AMPED_MAX_ORDER]; /* the same for each mode */
  amped_cell_filter filter;
  uint64_t *popularity; /* [dims[of]] distinct cells of each index in files of --exclude other than
                           CELLS; NULL: there are none */
  double *ranks;
  double *by_popularity; /* ranks by these numbers */
  amped_cell_ranks_found found;
} job;

static const char *name_of(const job *j) {
  return amped_io_name(j->o->args[1]);
}

/* ---- the cells ------------------------------------------------------------------------------ */

/* Is the cell ranked? */
static bool takes(job *j, uint64_t i) {
  const amped_sptensor *t = &j->cells;
  const uint64_t of = t->indices[j->of][i];
  bool cold = false;
  if (of == AMPED_PREDICTOR_COLD || !amped_predictor_knows(&j->p, j->of, of)) {
    j->unknown++;
    return false;
  }
  for (int m = 0; m < t->order; m++) {
    const bool known = amped_predictor_known(&j->p, m, t->indices[m][i]) != AMPED_PREDICTOR_COLD;
    j->cold_of[m] += !known;
    cold = cold || !known;
  }
  j->cold += cold;
  return !cold || j->o->evaluate.cold;
}

/* Is a value one that should not have a high rank? A decomposition, and a model of --implicit, have
 * no mean: their entries are events. */
static bool is_low(const job *j, double value) {
  return j->c.order > 0 && !(j->c.implicit > 0.0) && value < j->c.mean;
}

static void count_low(job *j) {
  for (uint64_t i = 0; i < j->cells.nnz; i++)
    j->low += j->has_values && is_low(j, j->cells.values[i]);
}

/* Move entry i to the end of those that are kept. */
static void keep(amped_sptensor *t, uint64_t i) {
  for (int m = 0; m < t->order; m++)
    t->indices[m][t->nnz] = t->indices[m][i];
  t->values[t->nnz++] = t->values[i];
}

static void keep_ranked(job *j) {
  amped_sptensor *t = &j->cells;
  const uint64_t all = t->nnz;
  t->nnz = 0;
  for (uint64_t i = 0; i < all; i++) {
    if (!amped_cell_files_is_event(&j->c, j->has_values, t->values[i])) {
      j->zeros++;
      continue;
    }
    j->given++;
    if (!takes(j, i))
      continue;
    keep(t, i);
  }
}

/* Warn if the cells, with their values, are the tensor that the model has learnt. */
static void warn_of_learnt(const job *j) {
  if (j->c.order > 0 && j->c.input_hash != 0 && amped_sptensor_hash(&j->cells) == j->c.input_hash)
    amped_warn("%s: is what %s has learnt, so that ranks are too good; give cells that it has not "
               "learnt",
               name_of(j), j->o->args[0]);
}

static amped_status read_cells(job *j) {
  amped_sptensor *t = &j->cells;
  char name[128];
  bool needed[AMPED_MAX_ORDER] = {false};
  needed[j->of] = true;
  AMPED_TRY(amped_cell_files_read(j->o, j->o->args[1], &j->k, needed, t, &j->has_values));
  warn_of_learnt(j);
  keep_ranked(j);
  if (t->nnz > 0)
    return AMPED_OK;
  return amped_error(AMPED_BAD_INPUT, name_of(j),
                     "has no cell to rank: of %" PRIu64 " cells %" PRIu64
                     " have an unknown label of %s and %" PRIu64
                     " one of another mode; give cells of labels that %s has learnt%s",
                     j->given, j->unknown,
                     amped_format_mode(name, sizeof name, j->of, &j->k.labels[j->of]), j->cold,
                     j->o->args[0], j->cold > 0 ? ", or add --cold=predict" : "");
}

/* Does the filter have the cell itself? */
static bool has_cell(const job *j, const amped_cell_filter *filter, uint64_t i) {
  uint64_t first = 0;
  const uint64_t count = amped_cell_filter_find(filter, j->cells.indices, i, &first);
  const uint64_t of = j->cells.indices[j->of][i];
  const uint64_t at = amped_sort_find(filter->of + first, count, of);
  return at < count && filter->of[first + at] == of;
}

/* Leave out cells that the filter has: they were known before, so that nothing is to be found. */
static amped_status drop_known(job *j, const amped_cell_filter *filter) {
  amped_sptensor *t = &j->cells;
  const uint64_t all = t->nnz;
  t->nnz = 0;
  for (uint64_t i = 0; i < all; i++) {
    if (has_cell(j, filter, i))
      continue;
    keep(t, i);
  }
  j->known = all - t->nnz;
  if (t->nnz > 0)
    return AMPED_OK;
  return amped_error(AMPED_BAD_INPUT, name_of(j),
                     "has no cell to rank: files of --exclude have all of its %" PRIu64
                     " cells that could be ranked; give cells that are not known before, or "
                     "exclude other files",
                     all);
}

/* Copy the first `count` entries. */
static amped_status copy_entries(const amped_sptensor *t, uint64_t count, amped_sptensor *out) {
  *out = (amped_sptensor){.order = t->order, .nnz = count};
  for (int m = 0; m < t->order; m++) {
    if (t->indices[m] == NULL)
      continue;
    AMPED_TRY(amped_alloc(&out->indices[m], count, sizeof *out->indices[m], "entries to exclude"));
    memcpy(out->indices[m], t->indices[m], count * sizeof *out->indices[m]);
  }
  return AMPED_OK;
}

/* Count the filter's cells by their index of mode `of`. */
static amped_status count_popularity(job *j, const amped_cell_filter *filter) {
  if (filter->count == 0)
    return AMPED_OK;
  AMPED_TRY(amped_calloc(&j->popularity, j->k.dims[j->of], sizeof *j->popularity,
                         "the numbers of known cells"));
  for (uint64_t i = 0; i < filter->count; i++)
    j->popularity[filter->of[i]]++;
  return AMPED_OK;
}

/* Drop the cells that the first `count` entries to exclude have, and count these entries. */
static amped_status drop_by(job *j, const amped_sptensor *t, uint64_t count, const bool *is_key) {
  amped_cell_filter others = {.count = 0};
  amped_sptensor copy = {.order = 0};
  if (count == 0)
    return AMPED_OK;
  amped_status status = copy_entries(t, count, &copy);
  if (status == AMPED_OK)
    status = amped_cell_filter_create(&copy, is_key, j->of, &others);
  if (status == AMPED_OK)
    status = drop_known(j, &others);
  if (status == AMPED_OK)
    status = count_popularity(j, &others);
  amped_cell_filter_free(&others);
  amped_sptensor_free(&copy);
  return status;
}

/* Read the entries to exclude: by the mode of --for, or by all modes except --of. Cells that CELLS
 * alone has stay; cells that another file has are known before, and are dropped. */
static amped_status read_filter(job *j) {
  const amped_model_mode named = {.path = j->o->args[0], .k = &j->k, .option = "--for"};
  amped_cell_files_wanted wanted = {.kept = {false}};
  bool is_key[AMPED_MAX_ORDER] = {false};
  amped_sptensor t = {.order = 0};
  uint64_t own = 0;
  int by = -1;
  if (j->o->recommend.exclude.count == 0)
    return AMPED_OK;
  if (j->o->evaluate.by != NULL)
    AMPED_TRY(amped_model_mode_find(&named, j->o->evaluate.by, &by));
  if (by == j->of)
    return amped_error(AMPED_USAGE, NULL, "--for and --of name one mode; name two");
  for (int m = 0; m < j->k.order; m++) {
    is_key[m] = by >= 0 ? m == by : m != j->of;
    wanted.kept[m] = is_key[m] || m == j->of;
  }
  AMPED_TRY(amped_cell_files_join(j->o, &j->k, &j->c, &wanted, &t, &own));
  amped_status status = drop_by(j, &t, t.nnz - own, is_key);
  if (status == AMPED_OK)
    status = amped_cell_filter_create(&t, is_key, j->of, &j->filter);
  amped_sptensor_free(&t);
  return status;
}

/* ---- the report ----------------------------------------------------------------------------- */

/* Add a member, and, if it is not 0, a line that counts these cells. */
static void cells_fact(amped_facts *f, const char *key, uint64_t n, const char *what) {
  amped_fact_json(f, key, amped_json_count(n));
  if (n > 0)
    amped_fact_words(f, "%" PRIu64 " cell%s%s\n", n, n == 1 ? "" : "s", what);
}

/* Say which cells are left out. */
static void left_out_facts(const job *j, amped_facts *f) {
  char name[128];
  char what[256];
  const bool ranked = j->o->evaluate.cold;
  cells_fact(f, "zeros", j->zeros, " of value 0, which means that nothing happened: left out");
  (void)snprintf(what, sizeof what, " without a learnt entry of the label of %s: left out",
                 amped_format_mode(name, sizeof name, j->of, &j->k.labels[j->of]));
  cells_fact(f, "unknown", j->unknown, what);
  if (j->o->evaluate.by == NULL)
    (void)snprintf(what, sizeof what, " known before, because --exclude has them: left out");
  else
    (void)snprintf(what, sizeof what,
                   " whose label of %s is known before, because --exclude has it with that of %s: "
                   "left out",
                   amped_format_mode(name, sizeof name, j->of, &j->k.labels[j->of]),
                   j->o->evaluate.by);
  cells_fact(f, "known", j->known, what);
  amped_fact_json(f, "cold", amped_json_count(j->cold));
  amped_fact_json(f, "cold_of", amped_json_counts(j->cold_of, j->k.order));
  for (int m = 0; m < j->k.order; m++)
    if (j->cold_of[m] > 0)
      amped_fact_words(
          f, "%" PRIu64 " cell%s without a learnt entry of the label of %s: %s\n", j->cold_of[m],
          j->cold_of[m] == 1 ? "" : "s", amped_format_mode(name, sizeof name, m, &j->k.labels[m]),
          ranked ? "ranked with the average row" : "left out (--cold=predict ranks them)");
}

/* Add a number of the ranking by popularity; null and no words if it is NaN: there is none. */
static void popular_fact(amped_facts *f, const char *key, double number, const char *format) {
  const bool has = !isnan(number);
  amped_fact_json(f, key, has ? amped_json_number(number) : json_null());
  if (has)
    amped_fact_words(f, format, number);
}

/* A row of the table: hits at one rank. */
static void hits_row(const job *j, int at, amped_facts *f) {
  amped_facts row;
  const uint64_t n = j->cells.nnz;
  const uint64_t popular = j->by_popularity != NULL ? n : 0; /* measures of no ranks are NaN */
  const double hits = amped_ranks_hit_rate(j->ranks, n, at);
  const double ndcg = amped_ranks_ndcg(j->ranks, n, at);
  amped_facts_begin(&row, NULL);
  amped_fact(&row, "rank", json_integer(at), "%7d", at);
  amped_fact(&row, "hit_rate", amped_json_number(hits), "  %10.4f", hits);
  amped_fact(&row, "ndcg", amped_json_number(ndcg), "  %10.4f", ndcg);
  popular_fact(&row, "popular_hit_rate", amped_ranks_hit_rate(j->by_popularity, popular, at),
               "  %23.4f");
  popular_fact(&row, "popular_ndcg", amped_ranks_ndcg(j->by_popularity, popular, at), "  %10.4f");
  amped_facts_row(f, "at", &row);
}

/* MRR and mean rank, and a warning if the model ranks worse than popularity does. */
static void mean_facts(const job *j, amped_facts *f) {
  const uint64_t n = j->cells.nnz;
  const double mrr = amped_ranks_reciprocal(j->ranks, n);
  const double mean = amped_ranks_mean(j->ranks, n);
  const uint64_t ranked = j->by_popularity != NULL ? n : 0; /* measures of no ranks are NaN */
  const double popular = amped_ranks_reciprocal(j->by_popularity, ranked);
  amped_fact(f, "mrr", amped_json_number(mrr), "MRR        %.4f", mrr);
  popular_fact(f, "popular_mrr", popular, ", by popularity %.4f");
  amped_fact_words(f, "\n");
  amped_fact(f, "mean_rank", amped_json_number(mean), "mean rank  %.4g", mean);
  popular_fact(f, "popular_mean_rank", amped_ranks_mean(j->by_popularity, ranked),
               ", by popularity %.4g");
  amped_fact_words(f, "\n");
  if (mrr < popular)
    amped_warn("%s: its MRR is below that of popularity, which ranks labels by the number of "
               "their cells in files of --exclude, without cells that the model does not know; %s",
               j->o->args[0],
               j->c.implicit > 0.0 ? "try other values of --implicit, --rank and --reg"
                                   : "to rank, fit what happened with complete --implicit=A, and "
                                     "try A = 1, 10 and 40");
}

static void rank_facts(const job *j, amped_facts *f) {
  char name[128];
  const uint64_t n = j->cells.nnz;
  const amped_text_list *exclude = &j->o->recommend.exclude;
  amped_fact_json(f, "mode", json_integer(j->of));
  amped_fact_json(f, "name", amped_json_mode_name(&j->k.labels[j->of]));
  amped_fact_json(f, "cells", amped_json_count(j->given));
  amped_fact(f, "ranked", amped_json_count(n), "%" PRIu64 " of %" PRIu64 " cells of %s are ranked",
             n, j->given + j->zeros, name_of(j));
  amped_fact(f, "candidates", amped_json_count(j->found.candidates),
             ", each among %" PRIu64 " labels of %s\n", j->found.candidates,
             amped_format_mode(name, sizeof name, j->of, &j->k.labels[j->of]));
  left_out_facts(j, f);
  amped_fact_json(f, "low", amped_json_count(j->low));
  if (j->low > 0)
    amped_warn("%s: %" PRIu64 " of its cells have values below %.4g, the mean that %s has learnt, "
               "and count as hits like others, because values of cells do not count; give cells "
               "alone that should have high values",
               name_of(j), j->low, j->c.mean, j->o->args[0]);
  amped_fact_json(f, "exclude", json_array());
  for (int i = 0; i < exclude->count; i++)
    amped_fact_item(f, "exclude", amped_json_string(exclude->texts[i]));
  amped_fact_json(f, "excluded", amped_json_count(j->found.removed));
  if (exclude->count > 0)
    amped_fact_words(f, "%s%s %.4g labels of a cell on average\n", amped_io_name(exclude->texts[0]),
                     exclude->count > 1 ? " and other files exclude" : " excludes",
                     (double)j->found.removed / (double)n);
  cells_fact(f, "tied", j->found.tied, " with the value of other labels: the mean of their ranks");
  mean_facts(j, f);
  amped_fact_words(f, "at rank    hit rate        ndcg%s\n",
                   j->by_popularity != NULL ? "  by popularity: hit rate        ndcg" : "");
  for (int i = 0; i < j->o->evaluate.at_ranks.count; i++)
    hits_row(j, j->o->evaluate.at_ranks.numbers[i], f);
}

/* ---- the command ---------------------------------------------------------------------------- */

static amped_status steps(job *j, amped_facts *f) {
  const char *model = j->o->args[0];
  const amped_model_mode named = {.path = model, .k = &j->k, .option = "--of"};
  AMPED_TRY(amped_result_argument_read("evaluate", model, &j->k));
  AMPED_TRY(amped_completion_file_read(model, j->k.order, j->k.dims, true, &j->c));
  AMPED_TRY(amped_model_mode_find(&named, j->o->recommend.of, &j->of));
  AMPED_TRY(amped_predictor_create(&j->k, &j->c, &j->p));
  (void)amped_ranking_report_faint(model, &j->k, &j->c, "ranks", true);
  AMPED_TRY(read_cells(j));
  AMPED_TRY(read_filter(j));
  count_low(j);
  amped_cell_ranks request = {.p = &j->p,
                              .of = j->of,
                              .count = j->cells.nnz,
                              .filter = j->o->recommend.exclude.count > 0 ? &j->filter : NULL};
  memcpy(request.indices, j->cells.indices, sizeof request.indices);
  AMPED_TRY(amped_alloc(&j->ranks, j->cells.nnz, sizeof *j->ranks, "the ranks of cells"));
  AMPED_TRY(amped_cell_ranks_find(&request, model, j->ranks, &j->found));
  if (j->popularity != NULL) {
    AMPED_TRY(amped_alloc(&j->by_popularity, j->cells.nnz, sizeof *j->ranks, "the ranks of cells"));
    AMPED_TRY(amped_cell_ranks_by_counts(&request, j->popularity, j->by_popularity));
  }
  amped_fact_json(f, "result", amped_json_string(model));
  amped_fact_json(f, "input", amped_json_string(j->o->args[1]));
  rank_facts(j, f);
  return AMPED_OK;
}

/* Refuse standard input for two of the files. */
static amped_status check_standard_input(const amped_options *o) {
  const amped_text_list *exclude = &o->recommend.exclude;
  for (int i = 0; i < exclude->count && strcmp(o->args[1], "-") == 0; i++)
    if (strcmp(exclude->texts[i], "-") == 0)
      return amped_error(AMPED_USAGE, NULL,
                         "CELLS and --exclude are both standard input; name a file for one");
  return AMPED_OK;
}

amped_status amped_cmd_evaluate(const amped_options *o) {
  job j = {.o = o};
  amped_facts facts;
  amped_model_outputs outputs;
  AMPED_TRY(check_standard_input(o));
  AMPED_TRY(amped_model_outputs_open(o, NULL, &outputs));
  amped_facts_begin(&facts, "evaluate");
  amped_status status = steps(&j, &facts);
  status = amped_model_outputs_close(&outputs, amped_facts_end(&facts, outputs.json, status));
  amped_free(j.popularity);
  amped_free(j.ranks);
  amped_free(j.by_popularity);
  amped_cell_filter_free(&j.filter);
  amped_sptensor_free(&j.cells);
  amped_predictor_free(&j.p);
  amped_completion_free(&j.c);
  amped_ktensor_free(&j.k);
  return status;
}
