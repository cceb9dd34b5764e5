/* Tensor info: facts about a tensor that are known without reading a nonzero. Host memory. */
#ifndef AMPED_TENSOR_INFO_H
#define AMPED_TENSOR_INFO_H

#include "tensor/dense_info.h"
#include "tensor/dictionary.h"
#include "tensor/partition.h"
#include "tensor/sptensor.h"

/* The arrays belong to the file or input that gave the info. */
typedef struct amped_tensor_info {
  int order;
  uint64_t dims[AMPED_MAX_ORDER];
  uint64_t nnz;
  double norm_squared;
  uint64_t hash; /* amped_sptensor_hash of the tensor */
  amped_itype index_types[AMPED_MAX_ORDER];
  amped_vtype value_type;
  bool has_hash;               /* norm_squared and hash are known */
  bool is_merged;              /* no coordinate is repeated */
  amped_duplicates duplicates; /* rule applied to repeated coordinates, if there were any */
  bool is_searched;            /* all coordinates were compared: `duplicates` is certain */
  bool has_copies;             /* false: the members below are zero */
  amped_partition partitions[AMPED_MAX_ORDER]; /* one for each mode's copy */
  amped_dictionary dictionary;                 /* distinct values of the tensor */
  const amped_dense_info *dense; /* for a dense tensor, whose iDps count cells; else NULL */
} amped_tensor_info;

/* Make the info of a dense tensor, which is borrowed: iDps count cells, nnz is the number of cells.
 * norm_squared is the cells' if known, else 0. Free with amped_tensor_info_free. */
amped_status amped_tensor_info_of_cells(const amped_dense_info *dense, amped_tensor_info *out);

/* Is it certain that some cells have several entries? A file with a hash was searched by convert. A
 * list of another program, or a text that is read with --duplicates=keep, has the record KEEP too,
 * but no hash: until it is searched, only more nonzeros than cells make repeats certain. */
bool amped_tensor_info_repeats(const amped_tensor_info *info);

/* Free the tables of an info that belong to the caller. */
void amped_tensor_info_free(amped_tensor_info *info);

#endif
