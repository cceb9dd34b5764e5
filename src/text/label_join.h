/* Label join: which index of one mode has the label of an index of another. A pure function of two
 * lists of labels in host memory. */
#ifndef AMPED_LABEL_JOIN_H
#define AMPED_LABEL_JOIN_H

#include "tensor/match.h"

typedef struct amped_label_join {
  /* [a->count] the index in b, or AMPED_MATCH_NO_ROW; amped_alloc'd. NULL where labels repeat:
   * these cannot tell indices apart. */
  uint64_t *rows;
  uint64_t shared; /* labels that both have */
} amped_label_join;

/* Free rows with amped_free. */
amped_status amped_label_join_find(const amped_labels *a, const amped_labels *b,
                                   amped_label_join *out);

#endif
