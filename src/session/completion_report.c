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

/* "3, 4" or "none": modes from 1. */
static const char *list_contexts(const amped_complete_problem *p, int order, char *text,
                                 size_t size) {
  size_t at = 0;
  (void)snprintf(text, size, "none");
  for (int m = 0; m < order && at < size; m++)
    if (p->fit.prior[m] != 0.0)
      at += (size_t)snprintf(text + at, size - at, "%s%d", at > 0 ? ", " : "", m + 1);
  return text;
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
  amped_say("values: mean %.6g, scale %.6g; context modes: %s", p->fit.mean, p->fit.scale,
            list_contexts(p, order, contexts, sizeof contexts));
  if (session->json != NULL)
    status = amped_json_line(
        session->json,
        json_pack("{s:s, s:I, s:I, s:I, s:f, s:f, s:s, s:b}", "event", "completion", "train",
                  (json_int_t)p->learnt, "validate", (json_int_t)of_validation(p), "test",
                  (json_int_t)(p->test != NULL ? p->test->total : 0), "mean", p->fit.mean, "scale",
                  p->fit.scale, "context", contexts, "biased", p->fit.biased ? 1 : 0));
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

/* ", test 0.87", where there are such entries. */
static const char *error_text(char *text, size_t size, const char *name,
                              const amped_entry_errors *e) {
  text[0] = '\0';
  if (e->all.count > 0)
    (void)snprintf(text, size, "  %s %.6f", name, amped_errors_rmse(&e->all));
  return text;
}

static void say_sweep(const amped_sweep *s, const amped_complete_sweep *d, double total,
                      const amped_spread *spreads) {
  char test[48];
  amped_say("sweep %3" PRIu64 "  rmse %.6f%s  train %.6f%s  reg %.4g  objective %.6e  %.4f s "
            "(rows %.4f, exchange %.4f, errors %.4f)",
            s->number, s->value, d->is_best ? " *" : "  ", d->train,
            error_text(test, sizeof test, "test", &d->test), d->reg, d->sums.objective, total,
            amped_report_part(spreads[0].mean + spreads[1].mean),
            amped_report_part(spreads[2].mean), amped_report_part(spreads[3].mean));
}

/* Errors at a set of entries; null where there is none. */
static json_t *json_errors(const amped_entry_errors *e, bool with_cold) {
  if (e->all.count == 0)
    return json_null();
  json_t *object = json_pack(
      "{s:I, s:f, s:f, s:f}", "count", (json_int_t)e->all.count, "rmse", amped_errors_rmse(&e->all),
      "clipped", amped_errors_clipped_rmse(&e->all), "mae", e->all.absolute / (double)e->all.count);
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
        json_pack("{s:s, s:I, s:s, s:f, s:o, s:f, s:i, s:f, s:f, s:f, s:o, s:o, s:b, s:f, s:{s:f, "
                  "s:f, s:f, s:i}, s:f, s:f, s:f}",
                  "event", "iteration", "sweep", (json_int_t)s->number, "metric", s->metric,
                  s->metric, s->value, "change", s->number > 1 ? json_real(s->change) : json_null(),
                  "rmse_noise", s->noise, "run", d->run + 1, "reg", d->reg, "objective",
                  d->sums.objective, "train", d->train, "validate",
                  json_errors(&d->validate, false), "test", json_errors(&d->test, false), "best",
                  d->is_best ? 1 : 0, "seconds", spreads[4].max, "mttkrp_seconds", "min",
                  spreads[0].min, "mean", spreads[0].mean, "max", spreads[0].max, "max_rank",
                  spreads[0].max_rank, "solve_seconds", spreads[1].mean, "exchange_seconds",
                  spreads[2].mean, "evaluate_seconds", spreads[3].mean));
  return amped_comm_agree(comm, status);
}

/* "test 0.87 (clipped 0.86; 12 of 100 entries cold: 1.1)" */
static void say_errors(const amped_complete_problem *p, const char *name,
                       const amped_entry_errors *e) {
  char clipped[48] = "";
  char cold[96] = "";
  if (e->all.count == 0)
    return;
  if (isfinite(p->least))
    (void)snprintf(clipped, sizeof clipped, ", clipped %.6f", amped_errors_clipped_rmse(&e->all));
  if (e->cold.count > 0)
    (void)snprintf(cold, sizeof cold,
                   "; %" PRIu64 " of them have a row that was never trained: %.6f", e->cold.count,
                   amped_errors_rmse(&e->cold));
  amped_say("%s: rmse %.6f%s, mae %.6f on %" PRIu64 " entries%s", name, amped_errors_rmse(&e->all),
            clipped, e->all.absolute / (double)e->all.count, e->all.count, cold);
}

static void say_end(const amped_session *session, const amped_complete_problem *p,
                    const amped_complete_best *b, double seconds, const char *path) {
  const int components = session->plan.ncomps - (p->fit.biased ? 1 : 0);
  const bool validates = b->sweep.validate.all.count > 0;
  char line[256];
  (void)snprintf(line, sizeof line,
                 "R = %d: rmse %.6f%s in sweep %" PRIu64 " of run %d (reg %.4g, seed %" PRIu64
                 "), which ended on %s",
                 components, b->value, validates ? "" : " on training", b->number, b->sweep.run + 1,
                 b->sweep.reg, p->seed + (uint64_t)b->sweep.start, b->stop_reason);
  amped_say("%s; %.2f s", line, seconds);
  amped_say_quiet("%s%s%s", line, path != NULL ? "; result: " : "", path != NULL ? path : "");
  amped_say("train: rmse %.6f on %" PRIu64 " entries", b->sweep.train, p->learnt);
  say_errors(p, "validate", &b->sweep.validate);
  say_errors(p, "test", &b->sweep.test);
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
        json_pack("{s:s, s:i, s:o, s:s, s:f, s:I, s:i, s:f, s:f, s:f, s:o, s:o, s:f, s:o}", "event",
                  "end", "rank", session->plan.ncomps - (p->fit.biased ? 1 : 0), "seed",
                  amped_json_count(seed), "reason", b->stop_reason, "rmse", b->value, "sweep",
                  (json_int_t)b->number, "run", b->sweep.run + 1, "reg", b->sweep.reg, "objective",
                  b->sweep.sums.objective, "train", b->sweep.train, "validate",
                  json_errors(&b->sweep.validate, true), "test", json_errors(&b->sweep.test, true),
                  "seconds", seconds, "output",
                  path != NULL ? amped_json_text(path, strlen(path)) : json_null()));
  return amped_comm_agree(&session->comm, status);
}
