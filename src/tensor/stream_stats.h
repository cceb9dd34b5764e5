/* Stream stats: the statistics that a tensor file stores about all nonzeros, computed from pieces
 * of nonzeros, sorted by mode 0. They are equal, to the bit, to the results of sptensor.h and
 * dictionary.h for the whole tensor. Host memory. */
#ifndef AMPED_STREAM_STATS_H
#define AMPED_STREAM_STATS_H

#include "tensor/dictionary.h"
#include "base/kahan.h"
#include "tensor/tensor_info.h"

typedef struct amped_stream_stats {
  uint64_t nnz;
  uint64_t hash;
  bool wide; /* a value changes when converted to float */
  amped_dictionary_search distinct;
  /* The norm: every section of nonzeros has a sum of its own; total adds up these sums. */
  amped_kahan total, section;
  uint64_t section_number;
  double group; /* sum of the values of the current coordinate */
  uint64_t last[AMPED_MAX_ORDER];
} amped_stream_stats;

amped_status amped_stream_stats_begin(amped_stream_stats *m);
/* Add the next nonzeros. */
void amped_stream_stats_add(amped_stream_stats *m, const amped_sptensor *t);
/* Store nnz, hash, norm_squared, value_type and dictionary in info; the caller frees the
 * dictionary. Ends the stats; amped_stream_stats_drop ends them without a result. */
amped_status amped_stream_stats_end(amped_stream_stats *m, amped_tensor_info *info);
void amped_stream_stats_drop(amped_stream_stats *m);

#endif
