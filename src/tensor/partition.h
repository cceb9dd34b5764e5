/* Partition of one mode's tensor copy into iDps (inter-device partitions; AMPED, section 3). An iDp
 * is all nonzeros whose output index lies in one block of `width` consecutive indices.
 *
 * Functions on host arrays; the results do not depend on the number of threads. */
#ifndef AMPED_PARTITION_H
#define AMPED_PARTITION_H

#include "base/status.h"
#include "base/types.h"

/* Most iDps of a mode, unless the user asks for another number. */
#define AMPED_IDP_COUNT 65536

/* The table of one copy's iDps. idp_nnz is amped_alloc'd and belongs to the struct. */
typedef struct amped_partition {
  uint64_t dim;
  uint64_t width;     /* indices per iDp */
  uint64_t idp_count; /* ceil(dim / width) */
  uint64_t *idp_nnz;  /* [idp_count] */
} amped_partition;

/* Count the iDps of a copy whose output indices, ascending, are rows[0..nnz). */
amped_status amped_partition_create(amped_partition *p, uint64_t dim, const uint64_t *rows,
                                    uint64_t nnz);
void amped_partition_free(amped_partition *p);

/* Count the iDps of output indices of any type, in pieces: begin, append every piece. All threads
 * count. The caller frees p. */
typedef struct amped_partition_count {
  amped_partition *p;
  uint64_t row;  /* last output index so far */
  uint64_t rows; /* distinct output indices so far */
} amped_partition_count;
amped_status amped_partition_begin(amped_partition_count *c, amped_partition *p, uint64_t dim);
void amped_partition_append(amped_partition_count *c, const void *rows, amped_itype type,
                            uint64_t n);

/* The width that gives at most AMPED_IDP_COUNT iDps: ceil(dim / AMPED_IDP_COUNT). */
uint64_t amped_partition_width(uint64_t dim);

#endif
