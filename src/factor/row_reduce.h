/* Row reduce: adds up the shared rows of split iDps (plan.h) on their owners.
 *
 * Several ranks hold nonzeros of a split iDp, so each rank's result has a part of the sum of its
 * rows. The parts are added in double, in the order of ranks. The sum is written to the owner's own
 * rows of its result. So the bits are the same in every run on the same number of ranks. Rows pass
 * through host memory, because they are few. */
#ifndef AMPED_ROW_REDUCE_H
#define AMPED_ROW_REDUCE_H

#include "mpi/comm.h"
#include "plan/plan.h"

typedef struct amped_row_reduce amped_row_reduce;

/* Access to the rows to be added: `count` rows from `row` of mode's result, copied to and from host
 * memory. Own rows come first, then shared rows. MTTKRP's output is one such result; rows may have
 * any length. */
typedef struct amped_result_rows {
  uint64_t length; /* doubles per row, at most INT_MAX */
  amped_status (*get)(void *self, int mode, uint64_t row, uint64_t count, double *rows);
  amped_status (*put)(void *self, int mode, uint64_t row, uint64_t count, const double *rows);
  void *self;
} amped_result_rows;

/* Not collective. comm, plan and rows->self must outlive the row reduce; *rows is copied. */
amped_status amped_row_reduce_create(const amped_comm *comm, const amped_plan *plan,
                                     const amped_result_rows *rows, amped_row_reduce **out);
void amped_row_reduce_destroy(amped_row_reduce *reduce);

/* Bytes of host memory that create will allocate for rows of this length. */
uint64_t amped_row_reduce_host_bytes(const amped_plan *plan, uint64_t length);

/* Collective, when mode's result is complete on every rank. Returns at once if the mode has no
 * split iDps. The status is this rank's own: a rank that fails exchanges like the others. */
amped_status amped_row_reduce_sum(amped_row_reduce *reduce, int mode);

#endif
