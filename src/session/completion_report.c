/* Lines and JSON of a completion: entries, runs, sweeps and the best model. */
#include "session/completion_report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "session/report.h"
#include "solver/complete/complete_baselines.h"
#include "solver/complete/complete_race.h"
#include "tensor/format.h"
#include "tensor/gap_summary.h"

/* Training error of weighted entries, relative to the scale, that float hides (complete_search.h);
 * below WEIGHTED_NEAR times the scale, a line says so. */
#define WEIGHTED_NOISE 1e-3
#define WEIGHTED_NEAR 1e-2

/* Bytes of the names of all context modes. */
#define MODES (AMPED_MAX_ORDER * 66)

/* Largest relative rise of the error on a plateau. */
#define PLATEAU 1e-3

static uint64_t of_validation(const amped_complete_problem *p) {
  return p->validate != NULL ? p->validate->total : p->held;
}

/* Format the chosen modes: "3, 4" by number, or "month, hour" by the names in labels; "none".
 * labels NULL: by number. */
static const char *list_modes(const bool *chosen, int order, const amped_labels *labels,
                              const char *between, char *text, size_t size) {
  char name[64];
  size_t at = 0;
  (void)snprintf(text, size, "none");
  for (int m = 0; m < order && at < size; m++) {
    if (!chosen[m])
      continue;
    (void)snprintf(name, sizeof name, "%d", m + 1);
    if (labels != NULL && amped_labels_are_named(&labels[m]))
      (void)amped_format_name(name, sizeof name, &labels[m]);
    at += (size_t)snprintf(text + at, size - at, "%s%s", at > 0 ? between : "", name);
  }
  return text;
}

/* Is a mode chosen? */
static bool has_any(const bool *chosen) {
  bool any = false;
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    any = any || chosen[m];
  return any;
}

/* Words for held-out entries that repeat a learnt one at another time. */
static void add_repeated(const amped_complete_problem *p, int order, const amped_labels *labels,
                         amped_facts *f) {
  char names[MODES];
  char times[MODES];
  bool others[AMPED_MAX_ORDER] = {false};
  for (int m = 0; m < order; m++)
    others[m] = !p->lasting[m];
  amped_fact_words(f, "%" PRIu64 " of them have the %s of a learnt entry, with another %s",
                   p->repeated, list_modes(p->lasting, order, labels, " and ", names, sizeof names),
                   list_modes(others, order, labels, " or ", times, sizeof times));
  amped_fact_words(f, "; for the error at new ones: --holdout-by=%s\n",
                   list_modes(p->lasting, order, labels, ",", names, sizeof names));
}

/* Words for held-out entries with a row that has learnt nothing. */
static void add_unlearnt(const amped_complete_problem *p, int order, const amped_labels *labels,
                         amped_facts *f) {
  const amped_count_words words = {.first = "", .next = "", .unnamed = " index of"};
  char text[AMPED_COUNTS_TEXT];
  amped_fact_words(
      f, "%" PRIu64 " of them have a label without a learnt entry (%s): %s\n", p->unlearnt->total,
      amped_format_counts(text, order, labels, p->unlearnt_of, &words),
      p->fit.implicit > 0.0 ? "the ndcg has the prior in its row, which ranks nothing"
                            : "the mean of the others stands for its row, as in predict");
}

/* Facts of the held-out nonzeros. */
static void add_held(const amped_session *session, const amped_complete_problem *p,
                     const amped_labels *labels, amped_facts *f) {
  char names[MODES];
  const int order = session->plan.order;
  const bool together = has_any(p->fibres);
  if (p->held > 0)
    amped_fact_words(f, "held out to validate: %" PRIu64 " of %" PRIu64 " entries", p->held,
                     session->plan.nnz);
  if (p->held > 0 && together)
    amped_fact_words(f, ", all of the same %s together",
                     list_modes(p->fibres, order, labels, " and ", names, sizeof names));
  if (p->held > 0)
    amped_fact_words(f, " (split seed %" PRIu64 ")\n", p->options->split_seed);
  if (p->unlearnt != NULL)
    add_unlearnt(p, order, labels, f);
  amped_fact_json(f, "unlearnt", amped_json_count(p->unlearnt != NULL ? p->unlearnt->total : 0));
  if (p->repeated > 0)
    add_repeated(p, order, labels, f);
  amped_fact_json(f, "repeated", has_any(p->lasting) ? amped_json_count(p->repeated) : json_null());
  amped_fact_json(f, "holdout_by",
                  together
                      ? json_string(list_modes(p->fibres, order, NULL, ",", names, sizeof names))
                      : json_null());
}

void amped_completion_report_gaps(const amped_session *session, const bool *fibres,
                                  const amped_labels *labels) {
  char names[MODES];
  char option[MODES];
  const int order = session->plan.order;
  amped_warn("%s: its gaps are whole: most missing cells share their indices of modes %s with no "
             "entry. Entries held out one by one have such neighbours, so their error is too low; "
             "use --holdout-by=%s",
             session->options->input,
             list_modes(fibres, order, labels, " and ", names, sizeof names),
             list_modes(fibres, order, labels, ",", option, sizeof option));
}

/* Facts of the values, or of the weights of an implicit fit. */
static void add_values(const amped_complete_problem *p, int order, const amped_labels *labels,
                       amped_facts *f) {
  char numbers[64];
  char names[MODES];
  bool context[AMPED_MAX_ORDER] = {false};
  char mode[128];
  const bool implicit = p->fit.implicit > 0.0;
  amped_fact_json(f, "mean", amped_json_number(p->mean));
  amped_fact_json(f, "scale", amped_json_number(p->scale));
  amped_fact_json(f, "implicit", implicit ? amped_json_number(p->fit.implicit) : json_null());
  amped_fact_json(f, "of", implicit ? json_integer(p->ranked + 1) : json_null());
  if (implicit)
    amped_fact_words(f,
                     "implicit: entries are ones of weight 1 + %g times their value, other "
                     "cells zeros of weight 1; indices of %s are ranked",
                     p->fit.implicit,
                     amped_format_mode(mode, sizeof mode, p->ranked, &labels[p->ranked]));
  else
    amped_fact_words(f, "values: mean %.6g, scale %.6g", p->mean, p->scale);
  for (int m = 0; m < order; m++)
    context[m] = p->fit.prior[m] != 0.0;
  amped_fact(
      f, "context", json_string(list_modes(context, order, NULL, ", ", numbers, sizeof numbers)),
      "; context modes: %s\n", list_modes(context, order, labels, ", ", names, sizeof names));
}

/* Entries whose label or index the tensor does not have, for each mode; null: no file. */
static json_t *json_new(const amped_entry_set *set) {
  return set != NULL ? amped_json_counts(set->unknown, set->order) : json_null();
}

amped_status amped_completion_report_problem(amped_session *session,
                                             const amped_complete_problem *p,
                                             const amped_labels *labels) {
  const amped_complete_options *o = p->options;
  const uint64_t validate = of_validation(p);
  const uint64_t test = p->test != NULL ? p->test->total : 0;
  const uint64_t ranked = p->validate_ranks != NULL ? amped_rank_set_count(p->validate_ranks) : 0;
  amped_facts f;
  amped_facts_begin(&f, "completion");
  add_held(session, p, labels, &f);
  if (p->validate != NULL)
    amped_fact_words(&f, "to validate: %" PRIu64 " entries of %s\n", validate, o->validate);
  if (p->test != NULL)
    amped_fact_words(&f, "to test: %" PRIu64 " entries of %s%s\n", test, o->test.texts[0],
                     o->test.count > 1 ? " and other files" : "");
  if (o->weights != NULL)
    amped_fact_words(&f, "weights: %s, %.6g in all for the %" PRIu64 " entries that are learnt",
                     o->weights, p->weight, p->learnt);
  if (p->ignored > 0)
    amped_fact_words(&f, "; %" PRIu64 " entries of weight 0 are neither learnt nor held out",
                     p->ignored);
  if (o->weights != NULL)
    amped_fact_words(&f, "\n");
  amped_fact_json(&f, "train", amped_json_count(p->learnt));
  amped_fact_json(&f, "validate", amped_json_count(validate));
  amped_fact_json(&f, "test", amped_json_count(test));
  amped_fact_json(&f, "new_validate", json_new(p->validate));
  amped_fact_json(&f, "new_test", json_new(p->test));
  add_values(p, session->plan.order, labels, &f);
  amped_fact_json(&f, "biased", json_boolean(p->fit.biased));
  amped_fact_json(&f, "weights", amped_json_string(o->weights));
  amped_fact_json(&f, "weight", amped_json_number(p->weight));
  amped_fact_json(&f, "ignored", amped_json_count(p->ignored));
  amped_fact_json(&f, "ranked", amped_json_count(ranked));
  amped_fact_json(&f, "block", json_integer(o->block));
  if (o->block > 0)
    amped_fact_words(&f, "blocks of %d component%s\n", o->block, o->block > 1 ? "s" : "");
  if (ranked > 0 && ranked < validate)
    amped_fact_words(&f,
                     "ranked: a sample of %" PRIu64 " of the %" PRIu64 " entries that validate\n",
                     ranked, validate);
  amped_facts_say(&f);
  return amped_comm_agree(&session->comm, amped_facts_write(&f, session->json));
}

static int components_of(const amped_session *session, const amped_complete_problem *p) {
  return session->plan.ncomps - (p->fit.biased ? 1 : 0);
}

/* The facts that name a run. */
static void run_facts(const amped_session *session, const amped_complete_problem *p, int run,
                      int start, double reg, const char *init, amped_facts *f) {
  const int components = components_of(session, p);
  const uint64_t seed = p->seed + (uint64_t)start;
  amped_fact(f, "rank", json_integer(components), "R = %d", components);
  amped_fact(f, "run", json_integer(run + 1), ", run %d", run + 1);
  amped_fact(f, "runs", json_integer(amped_complete_runs(p)), " of %d", amped_complete_runs(p));
  amped_fact_json(f, "start", json_integer(start + 1));
  amped_fact(f, "reg", amped_json_number(reg), ": reg %g%s", reg,
             p->options->reg_count == 0 ? ", which falls later" : "");
  amped_fact_json(f, "seed", amped_json_count(seed));
  if (init != NULL)
    amped_fact_words(f, "; start: %s", init);
  else
    amped_fact_words(f, "; start: random, seed %" PRIu64, seed);
}

amped_status amped_completion_report_run(amped_session *session, const amped_complete_problem *p,
                                         int run, int start, double reg, const char *init,
                                         bool shows) {
  amped_facts f;
  amped_facts_begin(&f, "init");
  run_facts(session, p, run, start, reg, init, &f);
  if (!shows)
    amped_facts_silence(&f);
  amped_facts_say(&f);
  return amped_comm_agree(&session->comm, amped_facts_write(&f, session->json));
}

/* Why a run ended, for the user. best: number of the best run, from 0. */
static const char *words_of_end(const char *reason, int best, char *text, size_t size) {
  if (strcmp(reason, AMPED_RACE_BEHIND) == 0)
    (void)snprintf(text, size, "ended early: behind run %d, not converged", best + 1);
  else if (strcmp(reason, AMPED_RACE_VANISHED) == 0)
    (void)snprintf(text, size, "ended early: its components vanished, not converged");
  else
    (void)snprintf(text, size, "ended on %s", reason);
  return text;
}

/* Facts of the best sweep of a run. */
static void add_best_of_run(const amped_solver_result *r, int best_run, uint64_t sweep,
                            amped_facts *f) {
  char text[AMPED_ERROR_TEXT];
  char why[64];
  const double value = r->history[sweep - 1];
  amped_fact(f, r->metric, amped_json_number(value), ": %s %s", r->metric,
             amped_format_error(text, value));
  amped_fact(f, "sweep", amped_json_count(sweep), " in sweep %" PRIu64, sweep);
  amped_fact(f, "sweeps", amped_json_count(r->sweeps), " of %" PRIu64, r->sweeps);
  amped_fact(f, "reason", json_string(r->stop_reason), ", which %s",
             words_of_end(r->stop_reason, best_run, why, sizeof why));
}

static bool is_early(const char *reason) {
  return strcmp(reason, AMPED_RACE_BEHIND) == 0 || strcmp(reason, AMPED_RACE_VANISHED) == 0;
}

amped_status amped_completion_report_run_end(amped_session *session,
                                             const amped_complete_problem *p, int run, int start,
                                             double reg, const char *init, int best, uint64_t sweep,
                                             const amped_solver_result *r, bool shows) {
  amped_facts f;
  amped_facts_begin(&f, "run");
  run_facts(session, p, run, start, reg, init, &f);
  add_best_of_run(r, best, sweep, &f);
  if (!shows && !is_early(r->stop_reason))
    amped_facts_silence(&f);
  amped_facts_say(&f);
  return amped_comm_agree(&session->comm, amped_facts_write(&f, session->json));
}

static json_t *json_ranks(const amped_rank_sums *ranks) {
  return json_pack("{s:I, s:o, s:o}", "count", (json_int_t)ranks->count, "ndcg",
                   amped_json_number(amped_rank_ndcg(ranks)), "hit_rate",
                   amped_json_number(amped_rank_hit_rate(ranks)));
}

/* JSON of the errors at a set of entries, and of cold ones among them; null if the set is empty. */
static json_t *json_errors(const amped_entry_errors *e, const amped_rank_sums *ranks,
                           const amped_rank_sums *cold, bool with_cold) {
  if (ranks->count > 0) {
    json_t *object = json_ranks(ranks);
    if (object != NULL && with_cold)
      (void)json_object_set_new(object, "cold", json_ranks(cold));
    return object;
  }
  if (e->all.count == 0)
    return json_null();
  json_t *object = json_pack("{s:I, s:o, s:o, s:o}", "count", (json_int_t)e->all.count, "rmse",
                             amped_json_number(amped_errors_rmse(&e->all)), "clipped",
                             amped_json_number(amped_errors_clipped_rmse(&e->all)), "mae",
                             amped_json_number(e->all.absolute / (double)e->all.count));
  if (object != NULL && with_cold)
    (void)json_object_set_new(object, "cold",
                              json_pack("{s:I, s:o}", "count", (json_int_t)e->cold.count, "rmse",
                                        amped_json_number(amped_errors_rmse(&e->cold))));
  return object;
}

/* The errors of the held-out and test entries of a sweep; words for those that the metric is not.
 */
static void add_errors(const amped_complete_sweep *d, bool with_cold, amped_facts *f) {
  amped_fact_json(f, "validate",
                  json_errors(&d->validate, &d->validate_ranks, &d->validate_cold, with_cold));
  amped_fact_json(f, "test", json_errors(&d->test, &d->test_ranks, &d->test_cold, with_cold));
}

/* Words about ranks and the test, such as "  hits 0.87  test 0.5". */
static void add_other_words(const amped_complete_sweep *d, amped_facts *f) {
  char error[AMPED_ERROR_TEXT];
  if (d->validate_ranks.count > 0)
    amped_fact_words(f, "  hits %.4f", amped_rank_hit_rate(&d->validate_ranks));
  if (d->test.all.count > 0 || d->test_ranks.count > 0)
    amped_fact_words(f, "  test %s",
                     amped_format_error(error, d->test.all.count > 0
                                                   ? amped_errors_rmse(&d->test.all)
                                                   : amped_rank_ndcg(&d->test_ranks)));
}

amped_status amped_completion_report_sweep(amped_session *session, const amped_sweep *s,
                                           const amped_complete_sweep *d, uint64_t every) {
  enum { ROWS, SOLVE, EXCHANGE, ERRORS, TOTAL, TIMES };
  const double times[] = {[ROWS] = s->times.mttkrp,
                          [SOLVE] = s->times.solve,
                          [EXCHANGE] = s->times.exchange,
                          [ERRORS] = d->evaluate_sec,
                          [TOTAL] = s->times.total};
  const amped_complete_sums *sums = &d->sums;
  char text[AMPED_ERROR_TEXT];
  amped_spread t[TIMES];
  amped_facts f;
  amped_comm_spreads(&session->comm, TIMES, times, t);
  amped_report_sweep_head(&f, s);
  amped_fact(&f, s->metric, amped_json_number(s->value), "  %s %s", s->metric,
             amped_format_error(text, s->value));
  amped_fact_json(&f, "change", s->number > 1 ? amped_json_number(s->change) : json_null());
  amped_fact_json(&f, "rmse_noise", amped_json_number(s->noise));
  amped_fact(&f, "best", json_boolean(d->is_best), "%s", d->is_best ? " *" : "  ");
  amped_fact_json(&f, "run", json_integer(d->run + 1));
  amped_fact(&f, "train", amped_json_number(d->train), "  train %s",
             amped_format_error(text, d->train));
  add_errors(d, false, &f);
  add_other_words(d, &f);
  amped_fact(&f, "reg", amped_json_number(d->reg), "  reg %.4g", d->reg);
  amped_fact_json(&f, "step", sums->step > 0.0 ? amped_json_number(sums->step) : json_null());
  amped_fact_json(&f, "undone", json_boolean(sums->undone));
  if (sums->step > 0.0)
    amped_fact_words(&f, "  step %.4g%s", sums->step, sums->undone ? " (undone)" : "");
  amped_fact(&f, "objective", amped_json_number(sums->objective), "  objective %.6e",
             sums->objective);
  amped_fact(&f, "seconds", amped_json_number(t[TOTAL].max), "  %.4f s", t[TOTAL].max);
  amped_fact_words(&f, " (rows %.4f, exchange %.4f, errors %.4f)",
                   amped_report_part(t[ROWS].mean + t[SOLVE].mean),
                   amped_report_part(t[EXCHANGE].mean), amped_report_part(t[ERRORS].mean));
  amped_report_sweep_times(&f, &t[ROWS], t[SOLVE].mean, t[EXCHANGE].mean);
  amped_fact_json(&f, "evaluate_seconds", amped_json_number(t[ERRORS].mean));
  if (amped_report_has_line(s->number, every))
    amped_facts_say(&f);
  return amped_comm_agree(&session->comm, amped_facts_write(&f, session->json));
}

/* Print a line of the errors at a set of entries: rmse, clipped rmse, mae, and errors of cold
 * rows. */
static void say_errors(const amped_complete_problem *p, const char *name,
                       const amped_entry_errors *e) {
  char text[4][AMPED_ERROR_TEXT];
  char clipped[48] = "";
  char cold[128] = "";
  if (e->all.count == 0)
    return;
  if (isfinite(p->least))
    (void)snprintf(clipped, sizeof clipped, ", clipped %s",
                   amped_format_error(text[0], amped_errors_clipped_rmse(&e->all)));
  if (e->cold.count > 0)
    (void)snprintf(cold, sizeof cold, "; %" PRIu64 " of them have a row that was never trained: %s",
                   e->cold.count, amped_format_error(text[1], amped_errors_rmse(&e->cold)));
  amped_say("%s: rmse %s%s, mae %s on %" PRIu64 " entries%s", name,
            amped_format_error(text[2], amped_errors_rmse(&e->all)), clipped,
            amped_format_error(text[3], e->all.absolute / (double)e->all.count), e->all.count,
            cold);
}

/* Print the errors of models without components at the same entries. */
static void say_baselines(const char *name, const amped_entry_errors *mean,
                          const amped_entry_errors *biases) {
  char text[2][AMPED_ERROR_TEXT];
  char more[64] = "";
  if (mean->all.count == 0)
    return;
  if (biases->all.count > 0)
    (void)snprintf(more, sizeof more, ", of mean and biases %s",
                   amped_format_error(text[0], amped_errors_rmse(&biases->all)));
  amped_say("%s: without components, rmse of the mean %s%s", name,
            amped_format_error(text[1], amped_errors_rmse(&mean->all)), more);
}

/* JSON of a model without components. */
static void add_baseline(const char *key, const amped_complete_errors *e, amped_facts *f) {
  const amped_rank_sums none = {.count = 0};
  amped_facts part;
  amped_facts_begin(&part, NULL);
  amped_fact_json(&part, "validate", json_errors(&e->validate, &none, &none, false));
  amped_fact_json(&part, "test", json_errors(&e->test, &none, &none, false));
  amped_facts_take(f, key, &part);
}

static void say_ranks(const char *name, const amped_rank_sums *r, const amped_rank_sums *cold) {
  char words[128] = "";
  if (cold->count > 0)
    (void)snprintf(words, sizeof words,
                   "; %" PRIu64 " of them have a row that was never trained: ndcg %.6f, hit rate "
                   "%.6f",
                   cold->count, amped_rank_ndcg(cold), amped_rank_hit_rate(cold));
  if (r->count > 0)
    amped_say("%s: ndcg %.6f, hit rate %.6f at 10 on %" PRIu64 " entries%s", name,
              amped_rank_ndcg(r), amped_rank_hit_rate(r), r->count, words);
}

/* Did the best run end on a plateau? Its validation error had not fallen in the last sweeps and had
 * hardly risen, and its training error still fell. */
static bool is_on_plateau(const amped_complete_problem *p, const amped_complete_best *b) {
  const amped_completion_errors *train = &b->errors[AMPED_COMPLETION_TRAIN];
  const amped_completion_errors *error = &b->errors[AMPED_COMPLETION_VALIDATE];
  const uint64_t best = b->number - 1;
  if (strcmp(b->stop_reason, "patience") != 0 || train->count == 0 || error->count != train->count)
    return false;
  const uint64_t last = error->count - 1;
  return error->values[last] <= (1.0 + PLATEAU) * error->values[best] &&
         train->values[last] < (1.0 - p->tol) * train->values[best];
}

/* Say how a run goes on that ended on a plateau. */
static void say_plateau(const amped_complete_problem *p, const amped_complete_best *b) {
  const int patience = p->options->patience;
  if (is_on_plateau(p, b))
    amped_say("note: the error had not fallen for %d sweeps, but had not risen by more than %g %% "
              "either, and the training error still fell; it may fall again: --patience=%d goes "
              "on, and --starts=4 tries other starts",
              patience, 100.0 * PLATEAU, 4 * patience);
}

/* --- gaps --------------------------------------------------------------------------------------
 */

/* Indices of a mode without a training entry. */
typedef struct lost_indices {
  uint64_t count;
  uint64_t unjudged; /* without a validation entry: the reported error does not cover them */
  uint64_t tested;   /* unjudged indices with a test entry */
  uint64_t first;    /* the first of the unjudged */
} lost_indices;

static lost_indices find_lost(const amped_plan *plan, const amped_complete_problem *p, int mode,
                              const double *known) {
  const uint64_t *judged = p->judged[mode];
  const uint64_t *tested = p->tested[mode];
  lost_indices lost = {.count = 0};
  for (uint64_t i = plan->dims[mode]; i-- > 0;) {
    const uint64_t at = amped_plan_position(plan, mode, i);
    if (known[i] > 0.0)
      continue;
    lost.count++;
    if (judged != NULL && judged[at] > 0)
      continue;
    lost.unjudged++;
    lost.tested += tested != NULL && tested[at] > 0;
    lost.first = i;
  }
  return lost;
}

static void warn_of_lost(const amped_session *session, const amped_complete_problem *p,
                         const char *error, int mode, const lost_indices *lost,
                         const amped_labels *labels) {
  char name[128];
  char label[128];
  char test[128] =
      "to measure it, leave cells of known indices out, and give these with --test=FILE";
  if (lost->tested == lost->unjudged)
    (void)snprintf(test, sizeof test, "the test error does");
  else if (lost->tested > 0)
    (void)snprintf(test, sizeof test, "the test error covers %" PRIu64 " of them", lost->tested);
  amped_warn("%s: %" PRIu64 " of %" PRIu64
             " indices of %s have no known cell%s (the first: %s) and count as the mean of the "
             "others. The %s error does not cover them; %s",
             session->options->input, lost->unjudged, session->plan.dims[mode],
             amped_format_mode(name, sizeof name, mode, labels),
             p->ignored > 0 ? " of a weight above 0" : "",
             amped_label_text(labels, lost->first, label, sizeof label), error, test);
}

static void warn_of_unsure(const amped_session *session, const char *error, double reg, int mode,
                           const amped_gap_summary *s, double known, const amped_labels *labels) {
  char text[AMPED_GAP_TEXT];
  amped_warn("%s: %s (%.0f known cells). The %s error does not cover such gaps. --reg decides "
             "there (now %.3g): a higher one makes components 0. Known cells, such as zeros, "
             "determine them",
             session->options->input,
             amped_gap_summary_text(text, s, mode, session->plan.dims[mode], labels), known, error,
             reg);
}

/* Warn of the gaps of a mode that the model does not know, and add them to JSON. error: "held-out"
 * or "training". */
static void add_gaps(const amped_session *session, const amped_complete_problem *p,
                     const amped_complete_best *b, const char *error, int mode,
                     const amped_labels *labels, const amped_gap_errors *gaps, amped_facts *f) {
  const uint64_t dim = session->plan.dims[mode];
  const amped_gap_summary s = amped_gap_summary_of(gaps->rmse[mode], dim, b->value);
  const lost_indices lost = find_lost(&session->plan, p, mode, gaps->known[mode]);
  amped_facts part;
  amped_facts_begin(&part, NULL);
  amped_fact_json(&part, "mode", json_integer(mode));
  amped_fact_json(&part, "lost", amped_json_count(lost.count));
  amped_gap_summary_facts(&s, &part);
  amped_facts_row(f, "gaps", &part);
  if (session->comm.rank == 0 && lost.unjudged > 0)
    warn_of_lost(session, p, error, mode, &lost, labels);
  if (session->comm.rank == 0 && s.count > 0)
    warn_of_unsure(session, error, b->sweep.reg, mode, &s, gaps->cells[mode][s.worst], labels);
}

amped_status amped_completion_report_end(amped_session *session, const amped_complete_problem *p,
                                         const amped_complete_best *b, const amped_labels *labels,
                                         const amped_gap_errors *gaps, double seconds,
                                         const char *path) {
  const int components = components_of(session, p);
  const char *metric = amped_complete_solver_of(p)->metric;
  const amped_complete_baselines *base = p->baselines;
  const uint64_t seed = p->seed + (uint64_t)b->sweep.start;
  const bool validates = b->sweep.validate.all.count > 0 || b->sweep.validate_ranks.count > 0;
  char text[AMPED_ERROR_TEXT];
  char why[64];
  amped_facts f;
  amped_facts_begin(&f, "end");
  amped_fact(&f, "rank", json_integer(components), "R = %d: ", components);
  amped_fact(&f, metric, amped_json_number(b->value), "%s %s%s", metric,
             amped_format_error(text, b->value), validates ? "" : " on training");
  amped_fact(&f, "sweep", amped_json_count(b->number), " in sweep %" PRIu64, b->number);
  amped_fact(&f, "run", json_integer(b->sweep.run + 1), " of run %d", b->sweep.run + 1);
  amped_fact(&f, "reg", amped_json_number(b->sweep.reg), " (reg %.4g", b->sweep.reg);
  amped_fact(&f, "seed", amped_json_count(seed), ", seed %" PRIu64 ")", seed);
  amped_fact(&f, "reason", json_string(b->stop_reason), ", which %s",
             words_of_end(b->stop_reason, b->sweep.run, why, sizeof why));
  amped_say_quiet("%s%s%s", f.words, path != NULL ? "; result: " : "", path != NULL ? path : "");
  amped_fact(&f, "seconds", amped_json_number(seconds), "; %.2f s\n", seconds);
  amped_fact(&f, "train", amped_json_number(b->sweep.train), "train: rmse %s",
             amped_format_error(text, b->sweep.train));
  if (p->fit.implicit > 0.0)
    amped_fact_words(&f, " over all cells, by weight");
  else
    amped_fact_words(&f, " on %" PRIu64 " entries%s", p->learnt,
                     p->options->weights != NULL ? ", by weight" : "");
  if ((p->options->weights != NULL || p->fit.implicit > 0.0) &&
      session->plan.value_type == AMPED_F32 && b->sweep.train < WEIGHTED_NEAR * p->scale)
    amped_fact_words(&f, " (below %.1g float hides it; give --precision=double)",
                     WEIGHTED_NOISE * p->scale);
  amped_fact_json(&f, "objective", amped_json_number(b->sweep.sums.objective));
  add_errors(&b->sweep, true, &f);
  if (base != NULL)
    add_baseline("mean_alone", &base->mean, &f);
  if (base != NULL && p->fit.biased)
    add_baseline("biases_alone", &base->biases, &f);
  amped_fact_json(&f, "output", amped_json_string(path));
  amped_facts_say(&f);
  say_errors(p, "validate", &b->sweep.validate);
  if (base != NULL)
    say_baselines("validate", &base->mean.validate, &base->biases.validate);
  say_errors(p, "test", &b->sweep.test);
  if (base != NULL)
    say_baselines("test", &base->mean.test, &base->biases.test);
  say_ranks("validate", &b->sweep.validate_ranks, &b->sweep.validate_cold);
  say_ranks("test", &b->sweep.test_ranks, &b->sweep.test_cold);
  if (b->sweep.validate_ranks.count > 0 || b->sweep.test_ranks.count > 0)
    amped_say(
        "these ranks leave out labels that are learnt with the entry's other labels, and keep "
        "other held-out ones; amped_mpi evaluate --exclude leaves out what its files have");
  if (gaps->rmse[0] == NULL)
    amped_fact_json(&f, "gaps", json_null());
  for (int m = 0; m < session->plan.order && gaps->rmse[0] != NULL; m++)
    add_gaps(session, p, b, validates ? "held-out" : "training", m, &labels[m], gaps, &f);
  say_plateau(p, b);
  if (path != NULL)
    amped_say("result: %s (amped_mpi top %s shows it)", path, path);
  return amped_comm_agree(&session->comm, amped_facts_write(&f, session->json));
}
