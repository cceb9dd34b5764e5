/* Claim: the first line of a text, if it may be a nonzero or a header of dimensions and nonzeros.
 *
 * "20 15 10 400" is a header if 400 lines follow and all their indices are within 20 x 15 x 10.
 * Only the last line decides this, so the line is first read as a nonzero, and removed if it is a
 * header. Files with few lines, or with lines that fill all cells, are ambiguous and refused. If
 * memory is full before the end, the line is taken for a header if nothing contradicts it yet. If
 * later lines contradict it, the file is refused. With --header there is no claim: the option
 * decides. */
#ifndef AMPED_IO_TNS_CLAIM_H
#define AMPED_IO_TNS_CLAIM_H

#include "tensor/sptensor.h"

typedef struct amped_tns_claim {
  uint64_t line; /* line number; 0: no claim */
  int order;
  uint64_t dims[AMPED_MAX_ORDER];
  uint64_t nnz;
  bool open;    /* row 0 of the tensor is the line, and no index exceeds dims */
  bool assumed; /* taken for a header when memory was full; row 0 is removed */
} amped_tns_claim;

/* Does an index exceed the dimensions? maxima: largest index + 1 of each mode. */
bool amped_tns_claim_exceeded(const amped_tns_claim *claim, const uint64_t *maxima);

/* Called when memory is full and t, whose row 0 is the line, is to be written. Removes row 0 if the
 * header is possible with `behind` nonzeros after the line so far. */
void amped_tns_claim_assume(amped_tns_claim *claim, amped_sptensor *t, uint64_t behind);

/* Decide at the end of the text, with `behind` nonzeros after the line and the maxima of their
 * indices. *header: the line is a header, and row 0 is removed from t. AMPED_USAGE if it may be
 * either. */
amped_status amped_tns_claim_settle(amped_tns_claim *claim, const char *path, uint64_t behind,
                                    const uint64_t *maxima, amped_sptensor *t, bool *header);

#endif
