/* Lines and JSON of a completion: entries, runs, sweeps and the best model. */
#include "session/completion_report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "session/report.h"
#include "tensor/format.h"

static uint64_t of_validation(const amped_complete_problem *p) {
  return p->validate != NULL ? p->validate->total : p->held;
}

/* Format the modes with a context prior, counted from 1: "3, 4", or "none". */
static const char *list_contexts(const amped_complete_problem *p, int order, char *text,
                                 size_t size) {
  size_t at = 0;
  (void)snprintf(text, size, "none");
  for (int m = 0; m < order && at < size; m++)
    if (p->fit.prior[m] != 0.0)
      at += (size_t)snprintf(text + at, size - at, "%s%d", at > 0 ? ", " : "", m + 1);
  return text;
}

/* Report the size of the sample if only some validation entries are ranked. */
static void say_sample(const amped_complete_problem *p) {
  if (p->validate_ranks != NULL && amped_rank_set_count(p->validate_ranks) < of_validation(p))
    amped_say("ranked: a sample of %" PRIu64 " of the %" PRIu64 " entries that validate",
              amped_rank_set_count(p->validate_ranks), of_validation(p));
}

amped_status amped_completion_report_problem(amped_session *session,
                                             const amped_complete_problem *p) {
  const int order = session->plan.order;
  char contexts[64];
  amped_status status = AMPED_OK;
  if (p->held > 0)
    amped_say("held out to validate: %" PRIu64 " of %" PRIu64 " entries (split seed %" PRIu64 ")",
              p->held, session->plan.nnz, p->options->split_seed);
  if (p->validate != NULL)
    amped_say("to validate: %" PRIu64 " entries of %s", p->validate->total, p->options->validate);
  if (p->test != NULL)
    amped_say("to test: %" PRIu64 " entries of %s", p->test->total, p->options->test);
  if (p->options->weights != NULL)
    amped_say("weights: %s, %.6g of %" PRIu64 " entries that are learnt", p->options->weights,
              p->weight, p->learnt);
  list_contexts(p, order, contexts, sizeof contexts);
  if (p->fit.implicit > 0.0)
    amped_say("implicit: entries are ones of weight 1 + %g times their value, other cells zeros of "
              "weight 1; indices of mode %d are ranked; context modes: %s",
              p->fit.implicit, p->ranked + 1, contexts);
  else
    amped_say("values: mean %.6g, scale %.6g; context modes: %s", p->mean, p->scale, contexts);
  if (p->options->block > 0)
    amped_say("blocks of %d component%s", p->options->block, p->options->block > 1 ? "s" : "");
  say_sample(p);
  if (session->json != NULL)
    status = amped_json_line(
        session->json,
        json_pack(
            "{s:s, s:I, s:I, s:I, s:f, s:f, s:s, s:b, s:o, s:f, s:o, s:o, s:I, s:i}", "event",
            "completion", "train", (json_int_t)p->learnt, "validate", (json_int_t)of_validation(p),
            "test", (json_int_t)(p->test != NULL ? p->test->total : 0), "mean", p->mean, "scale",
            p->scale, "context", contexts, "biased", p->fit.biased ? 1 : 0, "weights",
            p->options->weights != NULL
                ? amped_json_text(p->options->weights, strlen(p->options->weights))
                : json_null(),
            "weight", p->weight, "implicit",
            p->fit.implicit > 0.0 ? json_real(p->fit.implicit) : json_null(), "of",
            p->fit.implicit > 0.0 ? json_integer(p->ranked + 1) : json_null(), "ranked",
            (json_int_t)(p->validate_ranks != NULL ? amped_rank_set_count(p->validate_ranks) : 0),
            "block", p->options->block));
  return amped_comm_agree(&session->comm, status);
}

amped_status amped_completion_report_run(amped_session *session, const amped_complete_problem *p,
                                         int run, int start, double reg, const char *init) {
  const int components = session->plan.ncomps - (p->fit.biased ? 1 : 0);
  const uint64_t seed = p->seed + (uint64_t)start;
  const bool falls = p->options->reg_count == 0;
  char from[64];
  amped_status status = AMPED_OK;
  (void)snprintf(from, sizeof from, "random, seed %" PRIu64, seed);
  amped_say("R = %d, run %d of %d: reg %g%s; start: %s", components, run + 1,
            amped_complete_runs(p), reg, falls ? ", which falls later" : "",
            init != NULL ? init : from);
  if (session->json != NULL)
    status = amped_json_line(
        session->json, json_pack("{s:s, s:i, s:i, s:i, s:i, s:o, s:f}", "event", "init", "rank",
                                 components, "run", run + 1, "runs", amped_complete_runs(p),
                                 "start", start + 1, "seed", amped_json_count(seed), "reg", reg));
  return amped_comm_agree(&session->comm, status);
}

/* Format the ranking and test errors that there are, such as "hits 0.87" and "test 0.5". */
static const char *other_text(char *text, size_t size, const amped_complete_sweep *d) {
  char error[AMPED_ERROR_TEXT];
  int at = 0;
  text[0] = '\0';
  if (d->validate_ranks.count > 0)
    at = snprintf(text, size, "  hits %.4f", amped_rank_hit_rate(&d->validate_ranks));
  if (d->test.all.count > 0 || d->test_ranks.count > 0)
    (void)snprintf(text + at, size - (size_t)at, "  test %s",
                   amped_format_error(error, d->test.all.count > 0
                                                 ? amped_errors_rmse(&d->test.all)
                                                 : amped_rank_ndcg(&d->test_ranks)));
  return text;
}

static void say_sweep(const amped_sweep *s, const amped_complete_sweep *d, double total,
                      const amped_spread *spreads) {
  char others[96];
  char value[AMPED_ERROR_TEXT];
  char train[AMPED_ERROR_TEXT];
  char step[48] = "";
  if (d->sums.step > 0.0)
    (void)snprintf(step, sizeof step, "  step %.4g%s", d->sums.step,
                   d->sums.undone ? " (undone)" : "");
  amped_say("sweep %3" PRIu64 "  %s %s%s  train %s%s  reg %.4g%s  objective %.6e  %.4f s "
            "(rows %.4f, exchange %.4f, errors %.4f)",
            s->number, s->metric, amped_format_error(value, s->value), d->is_best ? " *" : "  ",
            amped_format_error(train, d->train), other_text(others, sizeof others, d), d->reg, step,
            d->sums.objective, total, amped_report_part(spreads[0].mean + spreads[1].mean),
            amped_report_part(spreads[2].mean), amped_report_part(spreads[3].mean));
}

/* JSON of the errors at a set of entries; null if the set is empty. */
static json_t *json_errors(const amped_entry_errors *e, const amped_rank_sums *ranks,
                           bool with_cold) {
  if (ranks->count > 0)
    return json_pack("{s:I, s:f, s:f}", "count", (json_int_t)ranks->count, "ndcg",
                     amped_rank_ndcg(ranks), "hit_rate", amped_rank_hit_rate(ranks));
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

amped_status amped_completion_report_sweep(amped_session *session, const amped_sweep *s,
                                           const amped_complete_sweep *d, uint64_t every) {
  const amped_comm *comm = &session->comm;
  const double times[] = {s->times.mttkrp, s->times.solve, s->times.exchange, d->evaluate_sec,
                          s->times.total};
  amped_status status = AMPED_OK;
  amped_spread spreads[5];
  amped_comm_spreads(comm, 5, times, spreads);
  if (amped_report_has_line(s->number, every))
    say_sweep(s, d, spreads[4].max, spreads);
  if (session->json != NULL)
    status = amped_json_line(
        session->json,
        json_pack(
            "{s:s, s:I, s:s, s:o, s:o, s:o, s:i, s:f, s:o, s:o, s:o, s:b, s:o, s:o, s:b, s:f, "
            "s:{s:f, s:f, s:f, s:i}, s:f, s:f, s:f}",
            "event", "iteration", "sweep", (json_int_t)s->number, "metric", s->metric, s->metric,
            amped_json_number(s->value), "change",
            s->number > 1 ? amped_json_number(s->change) : json_null(), "rmse_noise",
            amped_json_number(s->noise), "run", d->run + 1, "reg", d->reg, "objective",
            amped_json_number(d->sums.objective), "train", amped_json_number(d->train), "step",
            d->sums.step > 0.0 ? json_real(d->sums.step) : json_null(), "undone",
            d->sums.undone ? 1 : 0, "validate",
            json_errors(&d->validate, &d->validate_ranks, false), "test",
            json_errors(&d->test, &d->test_ranks, false), "best", d->is_best ? 1 : 0, "seconds",
            spreads[4].max, "mttkrp_seconds", "min", spreads[0].min, "mean", spreads[0].mean, "max",
            spreads[0].max, "max_rank", spreads[0].max_rank, "solve_seconds", spreads[1].mean,
            "exchange_seconds", spreads[2].mean, "evaluate_seconds", spreads[3].mean));
  return amped_comm_agree(comm, status);
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

static void say_ranks(const char *name, const amped_rank_sums *r) {
  if (r->count > 0)
    amped_say("%s: ndcg %.6f, hit rate %.6f at 10 on %" PRIu64 " entries", name, amped_rank_ndcg(r),
              amped_rank_hit_rate(r), r->count);
}

static void say_end(const amped_session *session, const amped_complete_problem *p,
                    const amped_complete_best *b, double seconds, const char *path) {
  const int components = session->plan.ncomps - (p->fit.biased ? 1 : 0);
  const bool validates = b->sweep.validate.all.count > 0 || b->sweep.validate_ranks.count > 0;
  char line[256];
  char value[AMPED_ERROR_TEXT];
  char train[AMPED_ERROR_TEXT];
  amped_format_error(train, b->sweep.train);
  (void)snprintf(line, sizeof line,
                 "R = %d: %s %s%s in sweep %" PRIu64 " of run %d (reg %.4g, seed %" PRIu64
                 "), which ended on %s",
                 components, amped_complete_solver_of(p)->metric,
                 amped_format_error(value, b->value), validates ? "" : " on training", b->number,
                 b->sweep.run + 1, b->sweep.reg, p->seed + (uint64_t)b->sweep.start,
                 b->stop_reason);
  amped_say("%s; %.2f s", line, seconds);
  amped_say_quiet("%s%s%s", line, path != NULL ? "; result: " : "", path != NULL ? path : "");
  if (p->fit.implicit > 0.0)
    amped_say("train: rmse %s over all cells, by weight", train);
  else
    amped_say("train: rmse %s on %" PRIu64 " entries%s", train, p->learnt,
              p->options->weights != NULL ? ", by weight" : "");
  say_errors(p, "validate", &b->sweep.validate);
  say_errors(p, "test", &b->sweep.test);
  say_ranks("validate", &b->sweep.validate_ranks);
  say_ranks("test", &b->sweep.test_ranks);
  if (path != NULL)
    amped_say("result: %s (amped_mpi top %s shows it)", path, path);
}

amped_status amped_completion_report_end(amped_session *session, const amped_complete_problem *p,
                                         const amped_complete_best *b, double seconds,
                                         const char *path) {
  const uint64_t seed = p->seed + (uint64_t)b->sweep.start;
  amped_status status = AMPED_OK;
  say_end(session, p, b, seconds, path);
  if (session->json != NULL)
    status = amped_json_line(
        session->json,
        json_pack("{s:s, s:i, s:o, s:s, s:o, s:I, s:i, s:f, s:o, s:o, s:o, s:o, s:f, s:o}", "event",
                  "end", "rank", session->plan.ncomps - (p->fit.biased ? 1 : 0), "seed",
                  amped_json_count(seed), "reason", b->stop_reason,
                  amped_complete_solver_of(p)->metric, amped_json_number(b->value), "sweep",
                  (json_int_t)b->number, "run", b->sweep.run + 1, "reg", b->sweep.reg, "objective",
                  amped_json_number(b->sweep.sums.objective), "train",
                  amped_json_number(b->sweep.train), "validate",
                  json_errors(&b->sweep.validate, &b->sweep.validate_ranks, true), "test",
                  json_errors(&b->sweep.test, &b->sweep.test_ranks, true), "seconds", seconds,
                  "output", path != NULL ? amped_json_text(path, strlen(path)) : json_null()));
  return amped_comm_agree(&session->comm, status);
}
