/* External sort: sorts on disk a tensor that does not fit into memory.
 *
 * A reader passes nonzeros to an overflow. amped_external_sort_order makes one sequence of them,
 * sorted by mode 0, with duplicates and zeros treated as the spec says. amped_external_sort_write
 * then writes it, mode by mode. Every result is equal, bit for bit, to the result of the same steps
 * in memory. Disk space is checked before it is used. Not collective; uses all threads. */
#ifndef AMPED_EXTERNAL_SORT_H
#define AMPED_EXTERNAL_SORT_H

#include "tensor/overflow.h"
#include "tensor/tensor_info.h"
#include "text/io_format.h"

typedef struct amped_external_sort amped_external_sort;

typedef struct amped_external_sort_spec {
  const char *input;   /* name for messages */
  const char *output;  /* the output file, or NULL: standard output, or the caller writes */
  amped_format format; /* format of the output: a tensor file with copies or without, text, a
                          table */
  bool copies;
  const char *temporary; /* folder of temporary files, or NULL: the output's folder */
  uint64_t memory;
  amped_duplicates duplicates;
  bool drop_zeros;
} amped_external_sort_spec;

amped_status amped_external_sort_create(const amped_external_sort_spec *spec,
                                        amped_external_sort **out);
void amped_external_sort_free(amped_external_sort *x);

/* Overflow for the reader; whether the reader used it. */
const amped_overflow *amped_external_sort_overflow(const amped_external_sort *x);
bool amped_external_sort_used(const amped_external_sort *x);

/* Change the indices of all nonzeros on disk. Before amped_external_sort_order, these are the
 * nonzeros that the overflow took, and their order may change. Afterwards these are all nonzeros,
 * and their order must stay; `dims` are the new dimensions, and the facts below are computed
 * again. */
typedef void (*amped_external_sort_changer)(const void *context, amped_sptensor *t);
amped_status amped_external_sort_change(amped_external_sort *x, const uint64_t *dims,
                                        amped_external_sort_changer change, const void *context);

/* After amped_external_sort_order: pass all nonzeros to `look`, piece by piece. */
typedef amped_status (*amped_external_sort_looker)(void *context, const amped_sptensor *t);
amped_status amped_external_sort_look(const amped_external_sort *x, amped_external_sort_looker look,
                                      void *context);

/* Sort all nonzeros. t has the last nonzeros, which this call removes from it, and the dims. If no
 * nonzero remains, or a duplicate is refused, the nnz in amped_external_sort_tell is 0, and there
 * is nothing to write. */
amped_status amped_external_sort_order(amped_external_sort *x, amped_sptensor *t);

/* Facts about the sorted tensor; valid until amped_external_sort_free. has_copies is the spec's. */
typedef struct amped_external_sort_found {
  const amped_tensor_info *info;
  uint64_t nnz_read;
  uint64_t duplicates;
  const uint64_t *refused; /* coordinate of the first duplicate, with AMPED_DUPLICATES_ERROR;
                              otherwise NULL */
  uint64_t zeros;
  uint64_t temporary_bytes; /* most bytes on disk at any time so far */
} amped_external_sort_found;
amped_external_sort_found amped_external_sort_tell(const amped_external_sort *x);

/* Write the output. labels has one entry per mode. For each mode whose copy is written, used[m]
 * becomes the number of indices that occur. */
amped_status amped_external_sort_write(amped_external_sort *x, const amped_labels *labels,
                                       uint64_t *used);

#endif
