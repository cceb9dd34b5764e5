/* Partition of one mode's tensor copy into iDps (inter-device partitions): all nonzeros whose
 * output index lies in one block of `width` consecutive indices. AMPED, section 3.
 *
 * Pure functions on host arrays. */
#ifndef AMPED_PARTITION_H
#define AMPED_PARTITION_H

#include "status.h"
#include "types.h"

/* At most this many iDps a mode, unless the user asks otherwise. */
#define AMPED_IDP_COUNT 65536

/* A row is heavy when it holds more than nnz / AMPED_HEAVY_SHARE nonzeros. */
#define AMPED_HEAVY_SHARE 1024

typedef struct amped_heavy_row {
  uint64_t row;   /* output index */
  uint64_t first; /* number of its first nonzero in the copy */
  uint64_t nnz;
} amped_heavy_row;

/* What a tensor file says about one copy. idp_nnz and heavy are amped_alloc'd and belong to the
 * struct. */
typedef struct amped_partition {
  uint64_t dim;
  uint64_t width;     /* indices per iDp */
  uint64_t idp_count; /* ceil(dim / width) */
  uint64_t *idp_nnz;  /* [idp_count] */
  uint64_t heavy_count;
  amped_heavy_row *heavy; /* [heavy_count], ascending rows */
} amped_partition;

/* Count the iDps of a copy whose output indices, ascending, are rows[0..nnz). */
amped_status amped_partition_create(amped_partition *p, uint64_t dim, const uint64_t *rows,
                                    uint64_t nnz);
void amped_partition_free(amped_partition *p);

/* The width that gives at most AMPED_IDP_COUNT iDps: ceil(dim / AMPED_IDP_COUNT). */
uint64_t amped_partition_width(uint64_t dim);

#endif
