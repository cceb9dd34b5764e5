/* Learnt cells: a sample of each rank's nonzeros, then one of all on rank 0. */
#include "solver/complete/learnt_cells.h"

#include <string.h>

#include "base/buffers.h"
#include "base/mem.h"
#include "tensor/entry_sample.h"

/* Nonzeros per slab. */
#define SLAB UINT64_C(65536)

/* Numbers per message; MPI counts them in an int. */
#define MESSAGE (UINT64_C(1) << 24)

typedef struct work {
  uint64_t *index[AMPED_MAX_ORDER]; /* file index of each position of a mode */
  uint64_t *positions[AMPED_MAX_ORDER];
  uint64_t *indices[AMPED_MAX_ORDER];
  double *values;
  double *weights;
  bool *held;
} work;

static amped_buffers buffers(const amped_plan *plan, work *w) {
  amped_buffers b = {.what = "the cells that are learnt"};
  for (int m = 0; m < plan->order; m++) {
    AMPED_BUFFER(&b, HOST, w->index[m], amped_plan_factor_rows(plan, m));
    AMPED_BUFFER(&b, HOST, w->positions[m], SLAB);
    AMPED_BUFFER(&b, HOST, w->indices[m], SLAB);
  }
  AMPED_BUFFER(&b, HOST, w->values, SLAB);
  AMPED_BUFFER(&b, HOST, w->weights, SLAB);
  AMPED_BUFFER(&b, HOST, w->held, SLAB);
  return b;
}

uint64_t amped_learnt_cells_bytes(const amped_plan *plan) {
  return amped_buffers_bytes(buffers(plan, &(work){.values = NULL}));
}

/* Add the learnt cells of this rank's nonzeros. */
static amped_status find_own(const amped_context *context, const work *w, bool held, uint64_t seed,
                             uint64_t most, amped_sptensor *out) {
  const amped_plan *plan = context->plan;
  const amped_worker *worker = context->worker;
  const uint64_t nnz = plan->modes[0].copy.rank_nnz[plan->rank];
  amped_sptensor slab = {.order = plan->order, .values = w->values};
  memset(w->values, 0, SLAB * sizeof *w->values);
  for (int m = 0; m < plan->order; m++) {
    slab.indices[m] = w->indices[m];
    for (uint64_t i = 0; i < plan->dims[m]; i++)
      w->index[m][amped_plan_position(plan, m, i)] = i;
  }
  for (uint64_t first = 0; first < nnz; first += SLAB) {
    const uint64_t count = nnz - first < SLAB ? nnz - first : SLAB;
    AMPED_TRY(worker->format->row_fit->view(worker->tensor, first, count, w->positions, w->held,
                                            w->weights, NULL));
    slab.nnz = 0;
    for (uint64_t k = 0; k < count; k++) {
      if (!w->held[k] && (held || !(w->weights[k] > 0.0)))
        continue;
      for (int m = 0; m < plan->order; m++)
        slab.indices[m][slab.nnz] = w->index[m][w->positions[m][k]];
      slab.nnz++;
    }
    AMPED_TRY(amped_entry_sample_add(out, &slab, seed, most));
  }
  return AMPED_OK;
}

static amped_status find_here(const amped_context *context, bool held, uint64_t seed, uint64_t most,
                              amped_sptensor *out) {
  work w = {.values = NULL};
  amped_status status = amped_buffers_allocate(buffers(context->plan, &w));
  if (status == AMPED_OK)
    status = find_own(context, &w, held, seed, most, out);
  amped_buffers_free(buffers(context->plan, &w));
  return status;
}

/* Send an array to rank 0, or receive it there from rank p. */
static void pass_array(const amped_comm *comm, int p, uint64_t *array, uint64_t count) {
  for (uint64_t at = 0; at < count; at += MESSAGE) {
    const int n = (int)(count - at < MESSAGE ? count - at : MESSAGE);
    if (comm->rank == 0)
      AMPED_MPI(comm, MPI_Recv(array + at, n, MPI_UINT64_T, p, 0, comm->mpi, MPI_STATUS_IGNORE));
    else
      AMPED_MPI(comm, MPI_Send(array + at, n, MPI_UINT64_T, 0, 0, comm->mpi));
  }
}

/* Collective; the status is agreed. Rank 0 adds the list of rank p, and loses nothing but memory if
 * that fails. */
static amped_status take(const amped_comm *comm, int p, uint64_t seed, uint64_t most,
                         amped_sptensor *list) {
  const bool receives = comm->rank == 0;
  const int order = list->order;
  uint64_t count = comm->rank == p ? list->nnz : 0;
  amped_sptensor more = {.order = 0};
  amped_status status = AMPED_OK;
  amped_comm_sum_u64(comm, &count, 1);
  if (receives)
    status = amped_sptensor_create(&more, order, count);
  AMPED_TRY(amped_comm_agree(comm, status));
  for (int m = 0; m < order && (receives || comm->rank == p); m++)
    pass_array(comm, p, receives ? more.indices[m] : list->indices[m], count);
  if (receives) {
    memset(more.values, 0, count * sizeof *more.values);
    status = amped_entry_sample_add(list, &more, seed, most);
  }
  amped_sptensor_free(&more);
  return amped_comm_agree(comm, status);
}

amped_status amped_learnt_cells_find(const amped_context *context, bool held, uint64_t seed,
                                     uint64_t most, amped_sptensor *out) {
  const amped_comm *comm = context->comm;
  *out = (amped_sptensor){.order = context->plan->order};
  amped_status status = amped_comm_agree(comm, find_here(context, held, seed, most, out));
  for (int p = 1; p < comm->nranks && status == AMPED_OK; p++)
    status = take(comm, p, seed, most, out);
  if (status != AMPED_OK || comm->rank != 0)
    amped_sptensor_free(out);
  return status;
}
