/* COO buffers on CPU cores: a format's collect and sort. Twin of
 * cuda/load/coo_buffer_cuda.h.
 *
 * A nonzero is put where those of its iDp are, as it comes: what is sorted later is then a few
 * neighbours at a time, in the cache. */
#ifndef AMPED_COO_BUFFER_CPU_H
#define AMPED_COO_BUFFER_CPU_H

#include "backend/backend.h"
#include "backend/coo_buffer.h"

/* Zero where there is no buffer. Host memory, owned by the struct. */
typedef struct amped_coo_buffer_cpu {
  amped_coo_buffer
      buffer;       /* its numbers are places, its order in an iDp that in which nonzeros came */
  uint64_t *next;   /* [idp_count] the next nonzero's place; that of iDps of others is their end */
  uint64_t *ends;   /* [idp_count] of the iDp's places */
  uint64_t *groups; /* [idp_count + splits] ends of the places, in ascending order */
  uint64_t *places; /* of some nonzeros on their way in */
  void *indices[AMPED_MAX_ORDER];
  void *values;
} amped_coo_buffer_cpu;

/* Add to the buffer of mode, which the first call makes. */
amped_status amped_coo_buffer_cpu_add(amped_coo_buffer_cpu *p, const amped_plan *plan, int mode,
                                      const amped_nonzeros *nonzeros);

/* Hand the buffer on to `insert` of part (backend.h), ordered, and free it, whatever happens. */
amped_status amped_coo_buffer_cpu_sort(amped_coo_buffer_cpu *p, const amped_plan *plan, int mode,
                                       amped_status (*insert)(amped_tensor_part *part, int mode,
                                                              uint64_t offset,
                                                              const amped_batch *batch),
                                       amped_tensor_part *part, uint64_t *repeats);
void amped_coo_buffer_cpu_free(amped_coo_buffer_cpu *p);

/* Host memory that buffers and ordering them take at most on the plan's rank. */
uint64_t amped_coo_buffer_cpu_bytes(const amped_plan *plan);

#endif
