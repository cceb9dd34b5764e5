/* Gap summary: the indices of a mode whose gaps a completion model does not know. The expected rmse
 * of an index's gaps (tensor/completion.h) is above the model's reported error there. */
#ifndef AMPED_GAP_SUMMARY_H
#define AMPED_GAP_SUMMARY_H

#include "base/facts.h"
#include "tensor/completion.h"

typedef struct amped_gap_summary {
  uint64_t count; /* number of these indices; 0: all else is 0 */
  double rmse;    /* expected rmse of their gaps: root mean square over these indices */
  uint64_t worst; /* the index of the largest expected rmse, from 0 */
  double most;    /* its expected rmse */
} amped_gap_summary;

/* rmse: expected rmse of the gaps of each index. reported: the error that the model reports. */
amped_gap_summary amped_gap_summary_of(const double *rmse, uint64_t dim, double reported);

/* The error that a model reports: at the entries that validated it, else at its training entries;
 * NaN if unknown. */
double amped_gap_summary_reported(const amped_completion *c);

/* Facts for JSON: `unsure` (count), `rmse`, `worst` and `worst_rmse`, which are null if count is 0.
 */
void amped_gap_summary_facts(const amped_gap_summary *s, amped_facts *facts);

/* "known cells of 22 of 36 indices of mode 3 (excitation) do not determine their gaps: expect rmse
 * 57.8 there, most at 450: 98.4"; of one index: "... do not determine its gaps: expect rmse 98.4 at
 * 450". Returns the buffer. */
#define AMPED_GAP_TEXT 512
const char *amped_gap_summary_text(char *buffer, const amped_gap_summary *s, int mode, uint64_t dim,
                                   const amped_labels *labels);

#endif
