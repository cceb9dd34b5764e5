/* Gap summary: one pass over the expected errors of a mode's indices. */
#include "tensor/gap_summary.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "tensor/format.h"

amped_gap_summary amped_gap_summary_of(const double *rmse, uint64_t dim, double reported) {
  amped_gap_summary s = {.count = 0};
  double squares = 0.0;
  for (uint64_t i = 0; i < dim; i++) {
    if (!(rmse[i] > reported))
      continue;
    if (rmse[i] > s.most) {
      s.most = rmse[i];
      s.worst = i;
    }
    squares += rmse[i] * rmse[i];
    s.count++;
  }
  s.rmse = s.count > 0 ? sqrt(squares / (double)s.count) : 0.0;
  return s;
}

double amped_gap_summary_reported(const amped_completion *c) {
  const double held = amped_completion_error(c, AMPED_COMPLETION_VALIDATE);
  return isnan(held) ? amped_completion_error(c, AMPED_COMPLETION_TRAIN) : held;
}

void amped_gap_summary_facts(const amped_gap_summary *s, amped_facts *facts) {
  const bool any = s->count > 0;
  amped_fact_json(facts, "unsure", amped_json_count(s->count));
  amped_fact_json(facts, "rmse", any ? amped_json_number(s->rmse) : json_null());
  amped_fact_json(facts, "worst", any ? amped_json_count(s->worst) : json_null());
  amped_fact_json(facts, "worst_rmse", any ? amped_json_number(s->most) : json_null());
}

const char *amped_gap_summary_text(char *buffer, const amped_gap_summary *s, int mode, uint64_t dim,
                                   const amped_labels *labels) {
  char name[128];
  char label[128];
  (void)amped_format_mode(name, sizeof name, mode, labels);
  (void)amped_label_text(labels, s->worst, label, sizeof label);
  if (s->count == 1)
    (void)snprintf(buffer, AMPED_GAP_TEXT,
                   "known cells of 1 of %" PRIu64
                   " indices of %s do not determine its gaps: expect rmse %.4g at %s",
                   dim, name, s->most, label);
  else
    (void)snprintf(buffer, AMPED_GAP_TEXT,
                   "known cells of %" PRIu64 " of %" PRIu64
                   " indices of %s do not determine their gaps: expect rmse %.4g there, most at "
                   "%s: %.4g",
                   s->count, dim, name, s->rmse, label, s->most);
  return buffer;
}
