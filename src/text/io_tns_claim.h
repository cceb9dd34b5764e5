/* Claim: the first line of a text, if it may be a nonzero or a header of dimensions and nonzeros.
 *
 * "20 15 10 400" is a header if 400 lines follow, and every index in them is within 20 x 15 x 10.
 * The last line decides, so the line is read as the first nonzero, which a header gives up. Few
 * lines, or lines that fill all cells, may be either: such a file is refused. If memory is full
 * before the end, the line is taken for a header if nothing contradicts it yet; if something does
 * later, the file is refused. --header says which it is, and there is no claim then. */
#ifndef AMPED_IO_TNS_CLAIM_H
#define AMPED_IO_TNS_CLAIM_H

#include "tensor/sptensor.h"

typedef struct amped_tns_claim {
  uint64_t line; /* 0: there is none */
  int order;
  uint64_t dims[AMPED_MAX_ORDER];
  uint64_t nnz;
  bool open;    /* row 0 of the tensor is the line, and no index is beyond dims */
  bool assumed; /* memory was full, and row 0 is given up */
} amped_tns_claim;

/* Is an index beyond the dimensions? maxima: largest index + 1, of each mode. */
bool amped_tns_claim_exceeded(const amped_tns_claim *claim, const uint64_t *maxima);

/* Memory is full and t, of which row 0 is the line, is to be written: give row 0 up if this many
 * nonzeros behind the line do not contradict the header. */
void amped_tns_claim_assume(amped_tns_claim *claim, amped_sptensor *t, uint64_t behind);

/* The text has ended, with this many nonzeros behind the line, and these maxima of them. *header:
 * the line is a header, and t has its row 0 no more. AMPED_USAGE: it may be either. */
amped_status amped_tns_claim_settle(amped_tns_claim *claim, const char *path, uint64_t behind,
                                    const uint64_t *maxima, amped_sptensor *t, bool *header);

#endif
