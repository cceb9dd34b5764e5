/* Outcome: the text about a solver's end. */
#include "solver/outcome.h"
#include "tensor/format.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Write the change with enough digits: a change below tol must not be rounded to tol. */
static const char *format_change(char *buffer, size_t size, double change, double tol) {
  int digits = 2;
  do
    (void)snprintf(buffer, size, "%.*e", digits, change);
  while (change < tol && strtod(buffer, NULL) >= tol && digits++ < 17);
  return buffer;
}

/* A reason to stop, for the user. */
static const char *words_of(const char *reason) {
  static const struct {
    const char *reason, *words;
  } rows[] = {
      {.reason = "iterations", .words = "--iters reached"},
      {.reason = AMPED_TIME, .words = "--time is over"},
      {.reason = "kkt", .words = "--kkt reached"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    if (strcmp(rows[i].reason, reason) == 0)
      return rows[i].words;
  return reason;
}

/* Why a run ended that did not reach its goal. */
static void write_why(const amped_solver_result *result, double tol, char *why, size_t size) {
  const uint64_t n = result->sweeps;
  const bool converged = strcmp(result->stop_reason, "tolerance") == 0;
  char number[32];
  size_t at = 0;
  why[0] = '\0';
  if (!converged)
    at = (size_t)snprintf(why, size, "%s%s", words_of(result->stop_reason), n > 1 ? "; " : "");
  if (n > 1 && at < size) {
    const double change = result->history[n - 1] - result->moved - result->history[n - 2];
    at += (size_t)snprintf(why + at, size - at, "%s changed by %s", result->metric,
                           format_change(number, sizeof number, fabs(change), tol));
  }
  if (n > 1 && tol > 0.0 && at < size)
    (void)snprintf(why + at, size - at, converged ? " < %g = --tol" : ", --tol=%g", tol);
}

amped_outcome amped_outcome_of(const amped_solver_result *result, double tol, double goal) {
  const uint64_t n = result->sweeps;
  amped_outcome out;
  char why[128];
  char missed[48] = "";
  if (strcmp(result->stop_reason, AMPED_GOAL) == 0) {
    (void)snprintf(why, sizeof why, "at least --stop-fit=%.15g", goal);
  } else {
    write_why(result, tol, why, sizeof why);
    if (goal > 0.0 && !amped_solver_result_has_reached(result, goal))
      (void)snprintf(missed, sizeof missed, ", below --stop-fit=%.15g", goal);
  }
  (void)snprintf(out.text, sizeof out.text, "%s %.8f after %" PRIu64 " sweep%s (%s%s)",
                 result->metric, amped_solver_result_value(result), n, n == 1 ? "" : "s", why,
                 missed);
  return out;
}

void amped_outcome_steps(amped_facts *facts, const char *how, double accepted, double refused) {
  amped_facts steps;
  amped_facts_begin(&steps, NULL);
  amped_fact_json(&steps, "accelerate", amped_json_string(how));
  amped_fact(&steps, "accepted", amped_json_count((uint64_t)accepted), "%.0f accepted", accepted);
  amped_fact(&steps, "refused", amped_json_count((uint64_t)refused), ", %.0f refused", refused);
  amped_fact_words(facts, "%s: %s\n", how != NULL ? "accelerated steps" : "steps", steps.words);
  amped_fact_json(facts, "steps", json_incref(steps.json));
  amped_facts_free(&steps);
}

/* A JSON number: an integer if x is one. */
static json_t *whole_if_possible(double x) {
  return x == floor(x) ? amped_json_count((uint64_t)x) : amped_json_number(x);
}

void amped_outcome_passes(amped_facts *facts, const amped_solver_result *result, double passes,
                          const char *name, double rate) {
  amped_facts list;
  amped_facts_begin(&list, NULL);
  amped_fact_json(&list, "total", whole_if_possible(passes + (double)result->residuals));
  if (name != NULL)
    amped_fact_json(&list, name, amped_json_number(rate));
  amped_fact_json(&list, "of_fits", amped_json_count(result->residuals));
  amped_facts_take(facts, "passes", &list);
}
