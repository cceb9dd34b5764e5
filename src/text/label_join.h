/* Label join: finds the index in one mode that has the same label as an index in another mode. A
 * pure function of two lists of labels in host memory. */
#ifndef AMPED_LABEL_JOIN_H
#define AMPED_LABEL_JOIN_H

#include "tensor/match.h"

typedef struct amped_label_join {
  /* [a->count] index in b, or AMPED_MATCH_NO_ROW; amped_alloc'd. NULL if labels repeat and so do
   * not identify indices. */
  uint64_t *rows;
  uint64_t shared; /* number of labels that both have */
} amped_label_join;

/* Join the labels of a and b. If the labels of both are indices, one counted from 0 and one from 1,
 * equal indices match. Free out->rows with amped_free. */
amped_status amped_label_join_find(const amped_labels *a, const amped_labels *b,
                                   amped_label_join *out);

#endif
