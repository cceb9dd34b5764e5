/* Measure: what a tensor file says of all nonzeros, from nonzeros that come in pieces, sorted by
 * mode 0. The same numbers, to the bit, as the functions of sptensor.h and dictionary.h give of a
 * whole tensor. Host memory. */
#ifndef AMPED_STREAM_STATS_H
#define AMPED_STREAM_STATS_H

#include "tensor/dictionary.h"
#include "base/kahan.h"
#include "tensor/tensor_info.h"

typedef struct amped_stream_stats {
  uint64_t nnz;
  uint64_t hash;
  bool wide; /* a value does not survive as a float */
  amped_dictionary_search distinct;
  /* The norm: blocks of nonzeros are summed by themselves, then added up. */
  amped_kahan total, block;
  uint64_t block_number;
  double group; /* sum of the equal coordinates in hand */
  uint64_t last[AMPED_MAX_ORDER];
} amped_stream_stats;

amped_status amped_stream_stats_begin(amped_stream_stats *m);
/* The nonzeros that follow. */
void amped_stream_stats_add(amped_stream_stats *m, const amped_sptensor *t);
/* Into info (whose dictionary is then to be freed): nnz, hash, norm_squared, value_type,
 * dictionary. Ends the measure, as amped_stream_stats_drop does without a result. */
amped_status amped_stream_stats_end(amped_stream_stats *m, amped_tensor_info *info);
void amped_stream_stats_drop(amped_stream_stats *m);

#endif
