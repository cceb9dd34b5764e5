/* COO buffer (backend/coo_buffer.h) on CPU cores: amped_format_ops' collect and sort. Twin of
 * cuda/load/coo_buffer_cuda.h.
 *
 * Every iDp has its own places in the buffer, and a nonzero goes to the next place of its iDp. The
 * sort can therefore work on a few neighbours at a time, which fit in the cache. Not collective. */
#ifndef AMPED_COO_BUFFER_CPU_H
#define AMPED_COO_BUFFER_CPU_H

#include "backend/backend.h"
#include "backend/coo_buffer.h"

/* All zero if there is no buffer. Arrays are host memory, owned by the struct. */
typedef struct amped_coo_buffer_cpu {
  amped_coo_buffer buffer; /* nonzeros by place; within an iDp in order of arrival */
  uint64_t *next;   /* [idp_count] the next nonzero's place; for other ranks' iDps, the end */
  uint64_t *ends;   /* [idp_count] end of each iDp's places */
  uint64_t *groups; /* [idp_count + splits] ends, ascending: groups of sort_copy_cpu.h */
  uint64_t *places; /* places of the nonzeros being added */
  void *indices[AMPED_MAX_ORDER];
  void *values;
} amped_coo_buffer_cpu;

/* Add nonzeros to the buffer of mode. The first call allocates memory for all nonzeros of the
 * plan's rank. Returns AMPED_FAILED if more nonzeros come, or if memory is short. */
amped_status amped_coo_buffer_cpu_add(amped_coo_buffer_cpu *p, const amped_plan *plan, int mode,
                                      const amped_nonzeros *nonzeros);

/* Sort the buffer and pass it to `insert` (backend.h) with part. Frees the buffer, also on failure.
 * *repeats = number of nonzeros with the coordinates of the nonzero before them. */
amped_status amped_coo_buffer_cpu_sort(amped_coo_buffer_cpu *p, const amped_plan *plan, int mode,
                                       amped_status (*insert)(amped_tensor_part *part, int mode,
                                                              uint64_t offset,
                                                              const amped_batch *batch),
                                       amped_tensor_part *part, uint64_t *repeats);

/* Free the arrays and zero the struct. */
void amped_coo_buffer_cpu_free(amped_coo_buffer_cpu *p);

/* Upper bound on the host memory of a buffer and its sort on the plan's rank, in bytes. */
uint64_t amped_coo_buffer_cpu_bytes(const amped_plan *plan);

#endif
