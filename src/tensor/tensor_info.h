/* Tensor info: what is known of a tensor without reading a nonzero. Host memory. */
#ifndef AMPED_TENSOR_INFO_H
#define AMPED_TENSOR_INFO_H

#include "tensor/dictionary.h"
#include "tensor/partition.h"
#include "tensor/sptensor.h"

/* Belongs to the file or input it is of. */
typedef struct amped_tensor_info {
  int order;
  uint64_t dims[AMPED_MAX_ORDER];
  uint64_t nnz;
  double norm_squared;
  uint64_t hash; /* amped_sptensor_hash of the tensor */
  amped_itype index_types[AMPED_MAX_ORDER];
  amped_vtype value_type;
  bool has_hash;                               /* norm_squared and hash are known */
  bool has_copies;                             /* false: what follows is zero */
  amped_partition partitions[AMPED_MAX_ORDER]; /* one a mode, of that mode's copy */
  amped_dictionary dictionary;                 /* of all values */
} amped_tensor_info;

/* For an info whose tables are the caller's own. */
void amped_tensor_info_free(amped_tensor_info *info);

#endif
