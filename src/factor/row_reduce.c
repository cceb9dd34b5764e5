/* Row reduce: gathers shared rows on all ranks and adds them on their owners. */
#include "factor/row_reduce.h"

#include <string.h>

#include "base/mem.h"
#include "base/trace.h"

struct amped_row_reduce {
  const amped_comm *comm;
  const amped_plan *plan;
  amped_result_rows rows;
  int *counts; /* [nranks] number of shared rows in the current call */
  int *displs; /* [nranks] */
  MPI_Datatype row;
  double *parts; /* shared rows of all ranks, in the order of ranks */
  double *sum;   /* rows of one iDp */
};

/* Number of a rank's shared rows. */
static uint64_t shared_rows(const amped_mode_plan *m, int rank) {
  uint64_t first = 0;
  uint64_t end = 0;
  amped_plan_shared_idps(m, rank, &first, &end);
  return m->copy.splits[end].row - m->copy.splits[first].row;
}

/* Rows of the buffers `parts` and `sum`: the maximum over modes. */
static void count_rows(const amped_plan *plan, uint64_t *parts, uint64_t *sum) {
  *parts = 0;
  *sum = 0;
  for (int mode = 0; mode < plan->order; mode++) {
    const amped_mode_plan *m = &plan->modes[mode];
    uint64_t rows = 0;
    for (int p = 0; p < plan->nranks; p++)
      rows += shared_rows(m, p);
    *parts = rows > *parts ? rows : *parts;
    *sum = m->copy.split_count > 0 && m->rows.width > *sum ? m->rows.width : *sum;
  }
}

uint64_t amped_row_reduce_host_bytes(const amped_plan *plan, uint64_t length) {
  uint64_t parts = 0;
  uint64_t sum = 0;
  count_rows(plan, &parts, &sum);
  return (parts + sum) * length * sizeof(double);
}

amped_status amped_row_reduce_create(const amped_comm *comm, const amped_plan *plan,
                                     const amped_result_rows *rows, amped_row_reduce **out) {
  static const char what[] = "the sums of split iDps";
  const uint64_t row_bytes = rows->length * sizeof(double); /* below 2^34 */
  uint64_t nranks = (uint64_t)plan->nranks;
  uint64_t parts = 0;
  uint64_t sum = 0;
  amped_status status = AMPED_OK;
  amped_row_reduce *x = NULL;
  *out = NULL;
  AMPED_TRY(amped_calloc(&x, 1, sizeof *x, what));
  x->comm = comm;
  x->plan = plan;
  x->rows = *rows;
  AMPED_MPI(comm, MPI_Type_contiguous((int)rows->length, MPI_DOUBLE, &x->row));
  AMPED_MPI(comm, MPI_Type_commit(&x->row));
  count_rows(plan, &parts, &sum);
  AMPED_GO(fail, amped_calloc(&x->counts, nranks, sizeof *x->counts, what));
  AMPED_GO(fail, amped_calloc(&x->displs, nranks, sizeof *x->displs, what));
  AMPED_GO(fail, amped_alloc(&x->parts, parts, row_bytes, what));
  AMPED_GO(fail, amped_alloc(&x->sum, sum, row_bytes, what));
  *out = x;
  return AMPED_OK;
fail:
  amped_row_reduce_destroy(x);
  return status;
}

void amped_row_reduce_destroy(amped_row_reduce *x) {
  if (x == NULL)
    return;
  AMPED_MPI(x->comm, MPI_Type_free(&x->row));
  amped_free(x->counts);
  amped_free(x->displs);
  amped_free(x->parts);
  amped_free(x->sum);
  amped_free(x);
}

/* Add up the rows of split iDp s over the ranks that hold a part. The sum is written to its owner's
 * own rows. */
static amped_status sum_split(amped_row_reduce *x, int mode, uint64_t s) {
  const amped_mode_plan *m = &x->plan->modes[mode];
  const uint64_t idp = m->copy.splits[s].idp;
  const uint64_t rows = m->copy.splits[s + 1].row - m->copy.splits[s].row;
  const uint64_t elements = rows * x->rows.length;
  memset(x->sum, 0, elements * sizeof *x->sum);
  for (int p = 0; p < x->plan->nranks; p++) {
    uint64_t first = 0;
    uint64_t end = 0;
    amped_plan_shared_idps(m, p, &first, &end);
    if (s < first || s >= end)
      continue;
    const double *part =
        x->parts + ((uint64_t)x->displs[p] + m->copy.splits[s].row - m->copy.splits[first].row) *
                       x->rows.length;
    for (uint64_t i = 0; i < elements; i++)
      x->sum[i] += part[i];
  }
  return x->rows.put(x->rows.self, mode,
                     m->rows.position[idp] - (uint64_t)x->plan->rank * m->rows.block_rows, rows,
                     x->sum);
}

amped_status amped_row_reduce_sum(amped_row_reduce *x, int mode) {
  const amped_mode_plan *m = &x->plan->modes[mode];
  amped_status status = AMPED_OK;
  int me = x->plan->rank;
  uint64_t rows = 0;
  if (m->copy.split_count == 0)
    return AMPED_OK;
  amped_trace_begin(AMPED_PHASE_EXCHANGE, mode);
  for (int p = 0; p < x->plan->nranks; p++) {
    x->displs[p] = amped_comm_count(x->comm, rows);
    x->counts[p] = amped_comm_count(x->comm, shared_rows(m, p));
    rows += shared_rows(m, p);
  }
  double *own = x->parts + (uint64_t)x->displs[me] * x->rows.length;
  if (x->counts[me] > 0)
    status = x->rows.get(x->rows.self, mode, m->rows.block_rows, (uint64_t)x->counts[me], own);
  AMPED_MPI(x->comm, MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, x->parts, x->counts,
                                    x->displs, x->row, x->comm->mpi));
  for (uint64_t s = 0; s < m->copy.split_count; s++)
    if (m->rows.owner[m->copy.splits[s].idp] == me)
      AMPED_NEXT(status, sum_split(x, mode, s));
  amped_trace_end();
  return status;
}
