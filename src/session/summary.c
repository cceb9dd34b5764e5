/* Tables and JSON lines that compare starts, and numbers of components. */
#include "session/summary.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tensor/format.h"
#include "base/facts.h"
#include "base/log.h"
#include "session/report.h"
#include "solver/cpd/corcondia.h"

/* --- starts ---------------------------------------------------------------------------------- */

/* Least, mean and greatest of the values added to it, except NaN. */
typedef struct range {
  double least, sum, most;
  int count;
} range;

static void add(range *r, double x) {
  if (isnan(x))
    return;
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

double amped_summary_match(const amped_multistart *s) {
  range values;
  range scores;
  find_ranges(s, &values, &scores);
  return mean(&scores);
}

/* Words of a number from 0 to 1; "-" for NaN. */
static const char *score_text(char *buffer, size_t size, double score) {
  (void)snprintf(buffer, size, isnan(score) ? "-" : "%.6f", score);
  return buffer;
}

static void start_facts(const amped_multistart *s, int i, bool shows, amped_facts *f) {
  const amped_start *one = &s->all[i];
  const amped_solver_result *r = &one->result;
  amped_facts row;
  const char *kind = amped_init_word(one->normal);
  char match[16];
  amped_facts_begin(&row, NULL);
  amped_fact(&row, "init", json_string(kind), "%5d  %6s", one->number, kind);
  amped_fact(&row, "seed", amped_json_count(one->seed), "  %20" PRIu64, one->seed);
  amped_fact(&row, r->metric, amped_json_number(amped_start_value(one)), "  %10.8f",
             amped_start_value(one));
  amped_fact(&row, "sweeps", amped_json_count(r->sweeps), "  %6" PRIu64, r->sweeps);
  amped_fact(&row, "seconds", amped_json_number(r->times.total), "  %9.3f", r->times.total);
  amped_fact(&row, "reason", json_string(r->stop_reason), "  %-10s", r->stop_reason);
  amped_fact_words(&row, "  %s%s",
                   score_text(match, sizeof match, s->match[i * s->count + s->best]),
                   i == s->best ? "  <- best" : "");
  if (!shows)
    amped_facts_silence(&row);
  amped_facts_row(f, "starts", &row);
}

static void ranges_facts(const amped_multistart *s, bool shows, amped_facts *f) {
  const char *metric = s->all[0].result.metric;
  range values;
  range scores;
  f->waits = true;
  find_ranges(s, &values, &scores);
  amped_fact(f, amped_metric_key_of(metric, "min").text, amped_json_number(values.least),
             "%s%s of %d starts: %.8f", metric, strcmp(metric, "fit") == 0 ? "s" : "", s->count,
             values.least);
  amped_fact(f, amped_metric_key_of(metric, "max").text, amped_json_number(values.most), " to %.8f",
             values.most);
  amped_fact(f, amped_metric_key_of(metric, "mean").text, amped_json_number(mean(&values)),
             ", mean %.8f\n", mean(&values));
  amped_fact_json(f, "match_mean", amped_json_number(mean(&scores)));
  if (scores.count > 0)
    amped_fact_words(f, "factor match score of two starts: %.6f to %.6f, mean %.6f\n", scores.least,
                     scores.most, mean(&scores));
  else if (s->count > 1)
    amped_fact_words(f,
                     "factor match score of two starts: none, because all components are zero\n");
  if (shows)
    amped_facts_say(f);
  else
    amped_facts_silence(f);
}

amped_status amped_summary_starts(amped_session *session, const amped_multistart *s, bool shows) {
  amped_facts f;
  amped_facts_begin(&f, "starts");
  amped_fact_json(&f, "rank", json_integer(session->plan.ncomps));
  amped_fact_json(&f, "best", json_integer(s->best + 1));
  if (shows)
    amped_say(
        "start    kind                  seed  %10s  sweeps    seconds  stopped on  match with "
        "the best",
        s->all[0].result.metric);
  for (int i = 0; i < s->count; i++) {
    start_facts(s, i, shows, &f);
    amped_fact_item(&f, "match", amped_json_numbers(s->match + i * s->count, s->count));
  }
  ranges_facts(s, shows, &f);
  return amped_comm_agree(&session->comm, amped_facts_write(&f, session->json));
}

/* --- numbers of components ------------------------------------------------------------------- */

static void row_facts(const amped_summary_row *r, bool compares, amped_facts *f) {
  char corcondia[AMPED_CORCONDIA_TEXT];
  char match[16];
  amped_facts row;
  amped_facts_begin(&row, NULL);
  amped_fact(&row, "rank", json_integer(r->ncomps), "%4d", r->ncomps);
  amped_fact(&row, r->metric, amped_json_number(r->value), "  %10.8f", r->value);
  amped_fact(&row, "sweeps", amped_json_count(r->sweeps), "  %6" PRIu64, r->sweeps);
  amped_fact_json(&row, "best_sweep", amped_json_count(r->best));
  amped_fact(&row, "reason", amped_json_string(r->reason), "  %-10s",
             r->reason != NULL ? r->reason : "-");
  amped_fact(&row, "seconds", amped_json_number(r->seconds), "  %9.3f", r->seconds);
  amped_fact_json(&row, "match_mean", amped_json_number(r->match));
  amped_fact_json(&row, "corcondia", amped_json_number(r->corcondia));
  if (compares)
    amped_fact_words(&row, "  %9s  %12s", score_text(match, sizeof match, r->match),
                     amped_corcondia_text(corcondia, r->corcondia));
  amped_fact(&row, "output", amped_json_string(r->path), "  %s", r->path != NULL ? r->path : "-");
  amped_say_quiet("%s", row.words);
  amped_facts_row(f, "results", &row);
}

/* Note the numbers of components whose sweeps might go on: the last one was the best. */
static void note_iterations(const amped_summary_row *rows, int count) {
  char list[8 * AMPED_MAX_NCOMPS_COUNT];
  int used = 0;
  for (int i = 0; i < count; i++)
    if (rows[i].reason != NULL && strcmp(rows[i].reason, "iterations") == 0 &&
        rows[i].best == rows[i].sweeps)
      used += snprintf(list + used, sizeof list - (size_t)used, "%s%d", used > 0 ? ", " : "",
                       rows[i].ncomps);
  if (used > 0)
    amped_say("note: R = %s reached --iters; more sweeps would improve the %s: give more --iters "
              "before you compare",
              list, rows[0].metric);
}

amped_status amped_summary_ranks(amped_session *session, const amped_summary_row *rows, int count,
                                 bool compares) {
  static const char head[] = "   R  %10s  sweeps  stopped on    seconds%s  file";
  const char *more = compares ? "  agreement     corcondia" : "";
  amped_facts f;
  amped_facts_begin(&f, "ranks");
  amped_say(head, rows[0].metric, more);
  amped_say_quiet(head, rows[0].metric, more);
  for (int i = 0; i < count; i++)
    row_facts(&rows[i], compares, &f);
  note_iterations(rows, count);
  return amped_comm_agree(&session->comm, amped_facts_write(&f, session->json));
}
