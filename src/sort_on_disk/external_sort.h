/* External: a tensor that memory does not hold, ordered on disk.
 *
 * A reader gives away what overflows; order makes one sequence of it, sorted by mode 0 and treated
 * as told; then it is written, mode by mode. Every result is what the same steps give in memory, to
 * the bit. Disk space is checked before it is taken. */
#ifndef AMPED_EXTERNAL_H
#define AMPED_EXTERNAL_H

#include "tensor/overflow.h"
#include "tensor/tensor_info.h"

typedef struct amped_external amped_external;

typedef struct amped_external_spec {
  const char *input;  /* in messages */
  const char *output; /* file that will be written, or NULL: standard output */
  bool tensor_file;   /* it is one, with copies or without; else text */
  bool copies;
  const char *temporary; /* folder of temporary files, or NULL: beside the output */
  uint64_t memory;
  amped_duplicates duplicates;
  bool drop_zeros;
} amped_external_spec;

amped_status amped_external_create(const amped_external_spec *spec, amped_external **out);
void amped_external_free(amped_external *x);

/* For the reader; whether it was needed. */
const amped_overflow *amped_external_overflow(const amped_external *x);
bool amped_external_used(const amped_external *x);

/* With the last nonzeros, which are taken off t, and its dims: order all. Where nothing remains,
 * the nnz that is then told is 0, and there is nothing to write. */
amped_status amped_external_order(amped_external *x, amped_sptensor *t);

/* What was found, when ordered; valid until the free. has_copies is the spec's. */
typedef struct amped_external_found {
  const amped_tensor_info *info;
  uint64_t nnz_read;
  uint64_t duplicates;
  uint64_t zeros;
  uint64_t temporary_bytes; /* on disk, at most at a time so far */
} amped_external_found;
amped_external_found amped_external_tell(const amped_external *x);

/* Write the output. labels: one a mode. used[m] becomes the number of indices that occur, of each
 * mode whose copy was written. */
amped_status amped_external_write(amped_external *x, const amped_labels *labels, uint64_t *used);

#endif
