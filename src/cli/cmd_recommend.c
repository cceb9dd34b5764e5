/* recommend: ranks the indices of one mode for the indices of another. */
#include "cli/commands.h"
#include "cli/cell_files.h"
#include "cli/model_mode.h"
#include "cli/model_outputs.h"
#include "cli/ranking_report.h"
#include "cli/result_argument.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/sort.h"
#include "formats/completion_file.h"
#include "formats/result_file.h"
#include "tensor/format.h"
#include "tensor/mode_names.h"
#include "tensor/ranking.h"

typedef struct job {
  const amped_options *o;
  amped_ktensor k;
  amped_completion c;
  amped_predictor p;
  amped_ranking ranking;
  uint64_t first, end;         /* range of targets */
  uint64_t *seen_begin, *seen; /* excluded pairs of the ranking */
} job;

/* ---- modes and labels ----------------------------------------------------------------------- */

static amped_model_mode named_by(const job *j, const char *option) {
  return (amped_model_mode){.path = j->o->args[0], .k = &j->k, .option = option};
}

static amped_status find_target(job *j) {
  const amped_model_mode by = named_by(j, "--for");
  const char *label = NULL;
  AMPED_TRY(amped_model_mode_split(&by, j->o->recommend.target, &j->ranking.target, &label));
  j->first = 0;
  j->end = j->k.dims[j->ranking.target];
  if (label == NULL)
    return AMPED_OK;
  AMPED_TRY(amped_model_mode_index(&by, j->ranking.target, label, &j->first));
  j->end = j->first + 1;
  return AMPED_OK;
}

static amped_status find_of(job *j) {
  const amped_model_mode by = named_by(j, "--of");
  AMPED_TRY(amped_model_mode_find(&by, j->o->recommend.of, &j->ranking.of));
  if (j->ranking.of == j->ranking.target)
    return amped_error(AMPED_USAGE, NULL, "--for and --of name one mode; name two");
  return AMPED_OK;
}

static amped_status find_at(job *j) {
  const amped_model_mode by = named_by(j, "--at");
  for (int m = 0; m < j->k.order; m++)
    j->ranking.at[m] = AMPED_PREDICTOR_COLD;
  for (int i = 0; i < j->o->recommend.at.count; i++) {
    const char *text = j->o->recommend.at.texts[i];
    const char *label = NULL;
    char name[128];
    int mode = 0;
    AMPED_TRY(amped_model_mode_split(&by, text, &mode, &label));
    if (label == NULL)
      return amped_error(AMPED_USAGE, NULL, "--at=%s names no label; use --at=MODE:LABEL", text);
    if (mode == j->ranking.target || mode == j->ranking.of ||
        j->ranking.at[mode] != AMPED_PREDICTOR_COLD)
      return amped_error(AMPED_USAGE, NULL, "--at=%s: %s is named twice; leave out one", text,
                         amped_format_mode(name, sizeof name, mode, &j->k.labels[mode]));
    AMPED_TRY(amped_model_mode_index(&by, mode, label, &j->ranking.at[mode]));
  }
  return AMPED_OK;
}

/* ---- what was seen -------------------------------------------------------------------------- */

/* Sort these cells by target and index, for the ranking. */
static amped_status list_seen(job *j, amped_sptensor *t) {
  const uint64_t targets = j->k.dims[j->ranking.target];
  const uint64_t count = t->nnz;
  uint64_t *target = t->indices[j->ranking.target];
  uint64_t *of = t->indices[j->ranking.of];
  const amped_sort_field fields[2] = {{target, amped_sort_bits(target, count)},
                                      {of, amped_sort_bits(of, count)}};
  void *const arrays[2] = {target, of};
  AMPED_TRY(amped_sort(count, fields, 2, 0, arrays, 2));
  AMPED_TRY(
      amped_calloc(&j->seen_begin, targets + 1, sizeof *j->seen_begin, "the entries to exclude"));
  AMPED_TRY(amped_alloc(&j->seen, count, sizeof *j->seen, "the entries to exclude"));
  for (uint64_t i = 0; i < count; i++) {
    j->seen_begin[target[i] + 1]++;
    j->seen[i] = of[i];
  }
  for (uint64_t i = 0; i < targets; i++)
    j->seen_begin[i + 1] += j->seen_begin[i];
  j->ranking.seen_begin = j->seen_begin;
  j->ranking.seen = j->seen;
  return AMPED_OK;
}

/* Entries to exclude need not have the labels of --at in the modes of --exclude-any. */
static amped_status free_modes(const job *j, amped_cell_files_wanted *wanted) {
  const char *list = j->o->recommend.exclude_any;
  bool any[AMPED_MAX_ORDER] = {false};
  char name[128];
  if (list == NULL)
    return AMPED_OK;
  AMPED_TRY(amped_mode_list_find("--exclude-any", list, j->k.labels, j->k.order, any));
  for (int m = 0; m < j->k.order; m++)
    if (any[m] && !wanted->fixed[m])
      return amped_error(AMPED_USAGE, NULL,
                         "--exclude-any=%s: no --at fixes a label of %s; add one, or leave out the "
                         "mode",
                         list, amped_format_mode(name, sizeof name, m, &j->k.labels[m]));
    else if (any[m])
      wanted->fixed[m] = false;
  return AMPED_OK;
}

static amped_status read_seen(job *j) {
  amped_cell_files_wanted wanted = {.kept = {false}};
  amped_sptensor t = {.order = 0};
  uint64_t own = 0;
  if (j->o->recommend.exclude.count == 0)
    return AMPED_OK;
  wanted.kept[j->ranking.target] = wanted.kept[j->ranking.of] = true;
  for (int m = 0; m < j->k.order; m++) {
    wanted.at[m] = j->ranking.at[m];
    wanted.fixed[m] = j->ranking.at[m] != AMPED_PREDICTOR_COLD;
  }
  AMPED_TRY(free_modes(j, &wanted));
  AMPED_TRY(amped_cell_files_join(j->o, &j->k, &j->c, &wanted, &t, &own));
  amped_status status = list_seen(j, &t);
  amped_sptensor_free(&t);
  return status;
}

/* ---- the command ---------------------------------------------------------------------------- */

static amped_status rank_all(const job *j, amped_json *json) {
  const amped_ranking_report report = {.o = j->o,
                                       .list = "recommended",
                                       .labels = j->k.labels,
                                       .target = j->ranking.target,
                                       .of = j->ranking.of,
                                       .ranking = &j->ranking,
                                       .first = j->first,
                                       .end = j->end};
  const uint64_t all = j->end - j->first;
  uint64_t served = 0;
  AMPED_TRY(amped_ranking_report_write(&report, json, &served));
  if (j->o->output != NULL)
    amped_say("wrote the recommendations for %" PRIu64 " label%s to %s", served,
              served == 1 ? "" : "s", amped_ranking_report_name(j->o));
  if (served < all)
    amped_say("%" PRIu64 " label%s without a recommendation: nothing is left for %s", all - served,
              all - served == 1 ? "" : "s", all - served == 1 ? "it" : "them");
  return AMPED_OK;
}

/* Warn if the model has learnt nothing of a label that the user named. */
static void warn_of_unlearnt(const job *j, int mode, uint64_t index) {
  char name[128];
  char label[128];
  if (index != AMPED_PREDICTOR_COLD && !amped_predictor_knows(&j->p, mode, index))
    amped_warn("%s: %s of %s has no learnt entry; the list is that of an average one",
               j->o->args[0], amped_label_text(&j->k.labels[mode], index, label, sizeof label),
               amped_format_mode(name, sizeof name, mode, &j->k.labels[mode]));
}

/* Warn of labels of which the model has learnt nothing, among all for which lists are made. */
static void warn_of_average_lists(const job *j) {
  const int mode = j->ranking.target;
  char name[128];
  uint64_t count = 0;
  for (uint64_t i = j->first; i < j->end; i++)
    count += !amped_predictor_knows(&j->p, mode, i);
  if (count > 0)
    amped_warn("%s: %" PRIu64 " of %" PRIu64
               " labels of %s have no learnt entry; their lists are that of an average one",
               j->o->args[0], count, j->end - j->first,
               amped_format_mode(name, sizeof name, mode, &j->k.labels[mode]));
}

static amped_status steps(job *j, amped_json *json) {
  const char *model = j->o->args[0];
  const uint64_t number = (uint64_t)j->o->top;
  AMPED_TRY(amped_result_argument_read("recommend", model, &j->k));
  AMPED_TRY(amped_completion_file_read(model, j->k.order, j->k.dims, true, &j->c));
  AMPED_TRY(find_target(j));
  AMPED_TRY(find_of(j));
  AMPED_TRY(find_at(j));
  AMPED_TRY(amped_predictor_create(&j->k, &j->c, &j->p));
  amped_ranking_report_unlearnt(&j->p, j->ranking.of);
  for (int m = 0; m < j->k.order; m++)
    warn_of_unlearnt(j, m, j->ranking.at[m]);
  if (j->end == j->first + 1)
    warn_of_unlearnt(j, j->ranking.target, j->first);
  else
    warn_of_average_lists(j);
  j->ranking.path = model;
  j->ranking.p = &j->p;
  j->ranking.most = number < j->k.dims[j->ranking.of] ? number : j->k.dims[j->ranking.of];
  (void)amped_ranking_report_faint(model, &j->k, &j->c, "lists", true);
  AMPED_TRY(read_seen(j));
  return rank_all(j, json);
}

amped_status amped_cmd_recommend(const amped_options *o) {
  job j = {.o = o};
  amped_model_outputs outputs;
  AMPED_TRY(amped_model_outputs_open(o, "recommendations are", &outputs));
  const amped_status status = amped_model_outputs_close(&outputs, steps(&j, outputs.json));
  amped_free(j.seen_begin);
  amped_free(j.seen);
  amped_predictor_free(&j.p);
  amped_completion_free(&j.c);
  amped_ktensor_free(&j.k);
  return status;
}
