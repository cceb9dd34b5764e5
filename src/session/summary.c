/* Tables and JSON lines that compare starts, and numbers of components. */
#include "session/summary.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tensor/format.h"
#include "base/log.h"
#include "session/report.h"
#include "solver/cpd/corcondia.h"

/* --- starts ---------------------------------------------------------------------------------- */

/* Least, mean and greatest of the values added to it. */
typedef struct range {
  double least, sum, most;
  int count;
} range;

static void add(range *r, double x) {
  r->least = r->count == 0 ? x : fmin(r->least, x);
  r->most = r->count == 0 ? x : fmax(r->most, x);
  r->sum += x;
  r->count++;
}

static double mean(const range *r) {
  return r->count > 0 ? r->sum / r->count : (double)NAN;
}

static void find_ranges(const amped_multistart *s, range *values, range *scores) {
  memset(values, 0, sizeof *values);
  memset(scores, 0, sizeof *scores);
  for (int i = 0; i < s->count; i++) {
    add(values, amped_start_value(&s->all[i]));
    for (int j = 0; j < i; j++)
      add(scores, s->match[i * s->count + j]);
  }
}

static void say_starts(const amped_multistart *s, const range *values, const range *scores) {
  const char *metric = s->all[0].result.metric;
  amped_say("start                  seed  %10s  sweeps    seconds  stopped on  match with the best",
            metric);
  for (int i = 0; i < s->count; i++) {
    const amped_start *one = &s->all[i];
    amped_say("%5d  %20" PRIu64 "  %10.8f  %6" PRIu64 "  %9.3f  %-10s  %.6f%s", i + 1, one->seed,
              amped_start_value(one), one->result.sweeps, one->result.times.total,
              one->result.stop_reason, s->match[i * s->count + s->best],
              i == s->best ? "  <- best" : "");
  }
  amped_say("%ss of %d starts: %.8f to %.8f, mean %.8f", metric, s->count, values->least,
            values->most, mean(values));
  if (scores->count > 0)
    amped_say("factor match score of two starts: %.6f to %.6f, mean %.6f", scores->least,
              scores->most, mean(scores));
}

static json_t *json_start(const amped_start *one) {
  return json_pack("{s:o, s:f, s:I, s:f, s:s}", "seed", amped_json_count(one->seed),
                   one->result.metric, amped_start_value(one), "sweeps",
                   (json_int_t)one->result.sweeps, "seconds", one->result.times.total, "reason",
                   one->result.stop_reason);
}

static json_t *json_starts(int ncomps, const amped_multistart *s, const range *values,
                           const range *scores) {
  json_t *list = json_array();
  json_t *match = json_array();
  for (int i = 0; i < s->count; i++) {
    json_t *row = json_array();
    for (int j = 0; j < s->count; j++)
      (void)json_array_append_new(row, json_real(s->match[i * s->count + j]));
    (void)json_array_append_new(match, row);
    (void)json_array_append_new(list, json_start(&s->all[i]));
  }
  const char *metric = s->all[0].result.metric;
  const amped_metric_key least = amped_metric_key_of(metric, "min");
  const amped_metric_key middle = amped_metric_key_of(metric, "mean");
  const amped_metric_key most = amped_metric_key_of(metric, "max");
  return json_pack("{s:s, s:i, s:i, s:f, s:f, s:f, s:o, s:o, s:o}", "event", "starts", "rank",
                   ncomps, "best", s->best + 1, least.text, values->least, middle.text,
                   mean(values), most.text, values->most, "match_mean",
                   amped_json_number(mean(scores)), "starts", list, "match", match);
}

amped_status amped_summary_starts(amped_session *session, const amped_multistart *s) {
  range values;
  range scores;
  amped_status status = AMPED_OK;
  find_ranges(s, &values, &scores);
  say_starts(s, &values, &scores);
  if (session->json != NULL)
    status = amped_json_line(session->json, json_starts(session->plan.ncomps, s, &values, &scores));
  return amped_comm_agree(&session->comm, status);
}

/* --- numbers of components ------------------------------------------------------------------- */

static void say_row(const amped_summary_row *r) {
  char corcondia[AMPED_CORCONDIA_TEXT];
  amped_say("%4d  %10.8f  %6" PRIu64 "  %9.3f  %12s  %s", r->ncomps, r->value, r->sweeps,
            r->seconds, amped_corcondia_text(corcondia, r->corcondia),
            r->path != NULL ? r->path : "-");
}

static json_t *json_row(const amped_summary_row *r) {
  return json_pack("{s:i, s:f, s:I, s:f, s:o, s:o}", "rank", r->ncomps, r->metric, r->value,
                   "sweeps", (json_int_t)r->sweeps, "seconds", r->seconds, "corcondia",
                   amped_json_number(r->corcondia), "output", amped_json_string(r->path));
}

amped_status amped_summary_ranks(amped_session *session, const amped_summary_row *rows, int count) {
  amped_status status = AMPED_OK;
  amped_say("   R  %10s  sweeps    seconds     corcondia  file", rows[0].metric);
  for (int i = 0; i < count; i++)
    say_row(&rows[i]);
  if (session->json != NULL) {
    json_t *list = json_array();
    for (int i = 0; i < count; i++)
      (void)json_array_append_new(list, json_row(&rows[i]));
    status =
        amped_json_line(session->json, json_pack("{s:s, s:o}", "event", "ranks", "results", list));
  }
  return amped_comm_agree(&session->comm, status);
}
