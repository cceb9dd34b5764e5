/* COO buffer (backend/coo_buffer.h) on CPU cores: amped_format_ops' collect and sort. Twin of
 * cuda/load/coo_buffer_cuda.h.
 *
 * Every iDp has its places in the buffer, and a nonzero goes to the next place of its iDp. So the
 * sort later works on a few neighbours at a time, which fit the cache. Not collective. */
#ifndef AMPED_COO_BUFFER_CPU_H
#define AMPED_COO_BUFFER_CPU_H

#include "backend/backend.h"
#include "backend/coo_buffer.h"

/* All zero where there is no buffer. Arrays are host memory, owned by the struct. */
typedef struct amped_coo_buffer_cpu {
  amped_coo_buffer buffer; /* nonzeros by place; in an iDp, in the order in which they came */
  uint64_t *next;   /* [idp_count] the next nonzero's place; the end, in iDps of other ranks */
  uint64_t *ends;   /* [idp_count] end of the iDp's places */
  uint64_t *groups; /* [idp_count + splits] the same ends, ascending: groups of sort_copy_cpu.h */
  uint64_t *places; /* of the nonzeros that are being added */
  void *indices[AMPED_MAX_ORDER];
  void *values;
} amped_coo_buffer_cpu;

/* Add nonzeros to the buffer of mode. The first call allocates it, for all nonzeros that the plan
 * gives the rank; AMPED_FAILED where more come, or memory is short. */
amped_status amped_coo_buffer_cpu_add(amped_coo_buffer_cpu *p, const amped_plan *plan, int mode,
                                      const amped_nonzeros *nonzeros);

/* Sort the buffer, give it to `insert` (backend.h) with part, and free it, on failure too. *repeats
 * = nonzeros at the coordinate of the nonzero before. */
amped_status amped_coo_buffer_cpu_sort(amped_coo_buffer_cpu *p, const amped_plan *plan, int mode,
                                       amped_status (*insert)(amped_tensor_part *part, int mode,
                                                              uint64_t offset,
                                                              const amped_batch *batch),
                                       amped_tensor_part *part, uint64_t *repeats);

/* Frees the arrays; the struct is all zero then. */
void amped_coo_buffer_cpu_free(amped_coo_buffer_cpu *p);

/* Bytes of host memory that a buffer and its sort take at most on the plan's rank. */
uint64_t amped_coo_buffer_cpu_bytes(const amped_plan *plan);

#endif
