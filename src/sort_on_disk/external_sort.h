/* External: a tensor that memory does not hold, ordered on disk.
 *
 * A reader gives away what overflows; order makes one sequence of it, sorted by mode 0 and treated
 * as told; then it is written, mode by mode. Every result is what the same steps give in memory, to
 * the bit. Disk space is checked before it is taken. */
#ifndef AMPED_EXTERNAL_SORT_H
#define AMPED_EXTERNAL_SORT_H

#include "tensor/overflow.h"
#include "tensor/tensor_info.h"

typedef struct amped_external_sort amped_external_sort;

typedef struct amped_external_sort_spec {
  const char *input;  /* in messages */
  const char *output; /* file that will be written, or NULL: standard output */
  bool tensor_file;   /* it is one, with copies or without; else text */
  bool copies;
  const char *temporary; /* folder of temporary files, or NULL: beside the output */
  uint64_t memory;
  amped_duplicates duplicates;
  bool drop_zeros;
} amped_external_sort_spec;

amped_status amped_external_sort_create(const amped_external_sort_spec *spec,
                                        amped_external_sort **out);
void amped_external_sort_free(amped_external_sort *x);

/* For the reader; whether it was needed. */
const amped_overflow *amped_external_sort_overflow(const amped_external_sort *x);
bool amped_external_sort_used(const amped_external_sort *x);

/* With the last nonzeros, which are taken off t, and its dims: order all. Where nothing remains,
 * the nnz that is then told is 0, and there is nothing to write. */
amped_status amped_external_sort_order(amped_external_sort *x, amped_sptensor *t);

/* What was found, when ordered; valid until the free. has_copies is the spec's. */
typedef struct amped_external_sort_found {
  const amped_tensor_info *info;
  uint64_t nnz_read;
  uint64_t duplicates;
  uint64_t zeros;
  uint64_t temporary_bytes; /* on disk, at most at a time so far */
} amped_external_sort_found;
amped_external_sort_found amped_external_sort_tell(const amped_external_sort *x);

/* Write the output. labels: one a mode. used[m] becomes the number of indices that occur, of each
 * mode whose copy was written. */
amped_status amped_external_sort_write(amped_external_sort *x, const amped_labels *labels,
                                       uint64_t *used);

#endif
