/* MTTKRP and fit sums on CPU cores over a box copy.
 *
 * Threads take the units of a traversal dynamically (box_traversal_cpu.h). Rows without nonzeros
 * become zero. There are no atomic additions, and any number of threads gives the same bits. The
 * error of an output element stays below 1e-5 of the sum of |x| prod |a|, for rows of any length.
 */
#ifndef AMPED_BOX_MTTKRP_CPU_H
#define AMPED_BOX_MTTKRP_CPU_H

#include "cpu/boxes/box_traversal_cpu.h"
#include "cpu/sorted/codebook_cpu.h"
#include "cpu/factor/model_cpu.h"

/* Addresses of a rank's factor rows, in host memory of the caller. */
typedef struct amped_box_factors {
  const void *rows[AMPED_MAX_ORDER]; /* by position; for the copy's mode: own rows */
  const void *shared;                /* shared rows of the copy's mode, in their order */
} amped_box_factors;

typedef struct amped_box_mttkrp {
  const amped_box_copy *copy;
  const amped_box_traversal *traversal; /* traversal of mode */
  int mode;
  const amped_codebook_cpu *codebook;
  amped_box_factors factors; /* all modes' rows except mode's */
  void *out;                 /* traversal->rows rows of plan->ld elements of plan->value_type */
  double *slots;             /* workspace: amped_box_traversal_slot_rows */
  char *own;                 /* workspace: own_bytes per thread */
  uint64_t own_bytes;
} amped_box_mttkrp;

/* Bytes of a thread's workspace for mode, a multiple of a cache line. */
uint64_t amped_box_mttkrp_own_bytes(const amped_plan *plan, int mode);

/* Compute m->out. Cannot fail. */
void amped_box_mttkrp_cpu(const amped_box_mttkrp *m, int threads);

typedef struct amped_box_products {
  const amped_box_copy *copy;
  const amped_codebook_cpu *codebook;
  amped_box_factors factors; /* all modes' rows */
  double scale;
  const double *weights;  /* [ncomps] */
  amped_products *pieces; /* workspace: one per piece */
} amped_box_products;

/* *out = the sums that amped_format_ops.products defines. Cannot fail. */
void amped_box_products_cpu(const amped_box_products *p, int threads, amped_products *out);

#endif
