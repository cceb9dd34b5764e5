/* Facts of a completion model, for info and top. */
#include "cli/completion_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "tensor/format.h"
#include "tensor/predictor.h"

/* The number of sweeps: the length of the longest list of errors. */
static uint64_t sweeps_of(const amped_completion *c) {
  uint64_t sweeps = 0;
  for (int s = 0; s < AMPED_COMPLETION_SETS; s++)
    sweeps = c->errors[s].count > sweeps ? c->errors[s].count : sweeps;
  return sweeps;
}

const char *amped_completion_errors_text(const amped_completion *c, char *buffer) {
  int used = 0;
  buffer[0] = '\0';
  for (int s = 0; s < AMPED_COMPLETION_SETS; s++) {
    const double error = amped_completion_error(c, s);
    if (!isnan(error))
      used += snprintf(buffer + used, AMPED_COMPLETION_TEXT - (size_t)used, "%s%.6g %s",
                       used > 0 ? ", " : "", error, amped_completion_set_names[s]);
  }
  if (used > 0)
    (void)snprintf(buffer + used, AMPED_COMPLETION_TEXT - (size_t)used,
                   " in the best sweep, %" PRIu64 " of %" PRIu64, c->best_sweep, sweeps_of(c));
  return buffer;
}

static void context_facts(const amped_completion *c, const amped_labels *labels, amped_facts *f) {
  char name[128];
  bool first = true;
  for (int m = 0; m < c->order; m++) {
    amped_fact_item(f, "context", json_boolean(c->context[m]));
    if (!c->context[m])
      continue;
    amped_fact_words(f, "%s%s", first ? "context      " : ", ",
                     amped_format_mode(name, sizeof name, m, &labels[m]));
    first = false;
  }
  if (!first)
    amped_fact_words(f, "\n");
}

/* Fill a mode's rows; the predictor keeps their mean. Returns the number of rows. */
static uint64_t fill_mode(const amped_predictor *p, int mode, amped_completion *c,
                          amped_ktensor *k) {
  const uint64_t n = (uint64_t)k->ncomps;
  uint64_t count = 0;
  for (uint64_t i = 0; i < k->dims[mode]; i++) {
    if (amped_predictor_known(p, mode, i) != AMPED_PREDICTOR_COLD)
      continue;
    memcpy(k->factors[mode] + i * n, amped_predictor_row(p, mode, AMPED_PREDICTOR_COLD),
           n * sizeof(double));
    if (c->biased)
      c->bias[mode][i] = amped_predictor_bias(p, mode, AMPED_PREDICTOR_COLD);
    count++;
  }
  return count;
}

amped_status amped_completion_fill(const char *path, amped_completion *c, amped_ktensor *k) {
  amped_predictor p;
  char name[128];
  if (c->order == 0)
    return AMPED_OK;
  AMPED_TRY(amped_predictor_create(k, c, &p));
  for (int m = 0; m < k->order; m++) {
    const uint64_t count = amped_completion_unlearnt(c, m) > 0 ? fill_mode(&p, m, c, k) : 0;
    if (count > 0)
      amped_say("%s: %s: %" PRIu64 " of %" PRIu64
                " indices have no learnt entry; their rows are the mean of the others",
                path, amped_format_mode(name, sizeof name, m, &k->labels[m]), count, k->dims[m]);
  }
  amped_predictor_free(&p);
  return AMPED_OK;
}

void amped_completion_facts(const amped_completion *c, const amped_labels *labels,
                            const char *metric, amped_facts *f) {
  char text[AMPED_COMPLETION_TEXT];
  amped_fact(f, "model", json_string("completion"), "model        completion: ");
  amped_fact(f, "mean", amped_json_number(c->mean), "mean %.9g", c->mean);
  amped_fact(f, "scale", amped_json_number(c->scale), ", scale %.9g", c->scale);
  amped_fact(f, "biased", json_boolean(c->biased), ", %s biases\n", c->biased ? "with" : "without");
  amped_fact(f, "reg", amped_json_number(c->reg), "lambda       %.9g\n", c->reg);
  amped_fact_json(f, "implicit", c->implicit > 0.0 ? amped_json_number(c->implicit) : json_null());
  if (c->implicit > 0.0)
    amped_fact_words(f,
                     "implicit     entries are ones of weight 1 + %.9g times their value, other "
                     "cells zeros\n",
                     c->implicit);
  context_facts(c, labels, f);
  amped_fact_json(f, "holdout", amped_json_number(c->holdout));
  amped_fact_json(f, "split_seed", amped_json_count(c->split_seed));
  for (int m = 0; m < c->order; m++)
    amped_fact_item(f, "holdout_by", json_boolean(c->fibres[m]));
  if (c->holdout > 0.0)
    amped_fact_words(f, "held out     %.6g %% of the entries, seed %" PRIu64 "%s\n",
                     100.0 * c->holdout, c->split_seed,
                     memchr(c->fibres, 1, sizeof c->fibres) != NULL ? ", whole fibres" : "");
  for (int s = 0; s < AMPED_COMPLETION_SETS; s++)
    amped_fact_json(f, amped_completion_set_names[s],
                    amped_json_number(amped_completion_error(c, s)));
  amped_fact_json(f, "best_sweep", amped_json_count(c->best_sweep));
  if (sweeps_of(c) > 0)
    amped_fact_words(f, "%-12s %s\n", metric, amped_completion_errors_text(c, text));
}
