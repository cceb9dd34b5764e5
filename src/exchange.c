#include "exchange.h"

#include <limits.h>
#include <string.h>

#include "mem.h"
#include "trace.h"

/* Bytes that pass through the host at a time, all ranks together. */
#define STAGE_BYTES (UINT64_C(64) << 20)

struct amped_exchange {
  const amped_comm *comm;
  const amped_backend *backend;
  amped_context *ctx;
  const amped_plan *plan;
  bool direct; /* MPI works on the factors themselves */
  char *stage; /* else: host memory of stage_rows rows of every rank */
  uint64_t stage_rows;
  int *counts;        /* [nranks] of the call in hand */
  int *displs;        /* [nranks] */
  MPI_Datatype row;   /* ld elements */
  MPI_Datatype group; /* AMPED_ROW_GROUP rows */
};

static uint64_t row_bytes(const amped_plan *plan) {
  return plan->ld * plan->value_type;
}

static bool is_direct(const amped_comm *comm, const amped_backend *backend) {
  return !backend->device_pointers || comm->cuda_aware;
}

/* Rows of each rank that fit the stage. */
static uint64_t rows_at_a_time(const amped_plan *plan) {
  uint64_t most = 1;
  uint64_t fit = STAGE_BYTES / (row_bytes(plan) * (uint64_t)plan->nranks);
  for (int m = 0; m < plan->order; m++)
    if (plan->modes[m].block_rows > most)
      most = plan->modes[m].block_rows;
  if (fit < 1)
    fit = 1;
  return fit < most ? fit : most;
}

uint64_t amped_exchange_host_bytes(const amped_comm *comm, const amped_backend *backend,
                                   const amped_plan *plan) {
  if (comm->nranks == 1 || is_direct(comm, backend))
    return 0;
  return rows_at_a_time(plan) * (uint64_t)plan->nranks * row_bytes(plan);
}

amped_status amped_exchange_create(const amped_comm *comm, const amped_backend *backend,
                                   amped_context *ctx, const amped_plan *plan,
                                   amped_exchange **out) {
  amped_status status = AMPED_OK;
  amped_exchange *x = NULL;
  MPI_Datatype element = plan->value_type == AMPED_F32 ? MPI_FLOAT : MPI_DOUBLE;
  uint64_t nranks = (uint64_t)comm->nranks;
  *out = NULL;
  AMPED_GO(agree, amped_calloc(&x, 1, sizeof *x, "the exchange"));
  x->comm = comm;
  x->backend = backend;
  x->ctx = ctx;
  x->plan = plan;
  x->direct = is_direct(comm, backend);
  x->row = MPI_DATATYPE_NULL;
  x->group = MPI_DATATYPE_NULL;
  AMPED_MPI(comm, MPI_Type_contiguous((int)plan->ld, element, &x->row));
  AMPED_MPI(comm, MPI_Type_commit(&x->row));
  AMPED_MPI(comm, MPI_Type_contiguous(AMPED_ROW_GROUP, x->row, &x->group));
  AMPED_MPI(comm, MPI_Type_commit(&x->group));
  AMPED_GO(agree, amped_calloc(&x->counts, nranks, sizeof *x->counts, "the exchange"));
  AMPED_GO(agree, amped_calloc(&x->displs, nranks, sizeof *x->displs, "the exchange"));
  if (!x->direct && comm->nranks > 1) {
    void *stage = NULL;
    x->stage_rows = rows_at_a_time(plan);
    AMPED_GO(agree,
             backend->host_alloc(ctx, amped_exchange_host_bytes(comm, backend, plan), &stage));
    x->stage = stage;
  }
agree:
  status = amped_comm_agree(comm, status);
  if (status != AMPED_OK)
    amped_exchange_destroy(x);
  else
    *out = x;
  return status;
}

void amped_exchange_destroy(amped_exchange *x) {
  if (x == NULL)
    return;
  if (x->stage != NULL)
    x->backend->host_free(x->ctx, x->stage);
  if (x->group != MPI_DATATYPE_NULL)
    AMPED_MPI(x->comm, MPI_Type_free(&x->group));
  if (x->row != MPI_DATATYPE_NULL)
    AMPED_MPI(x->comm, MPI_Type_free(&x->row));
  amped_free(x->counts);
  amped_free(x->displs);
  amped_free(x);
}

const char *amped_exchange_describe(const amped_exchange *x) {
  if (x->comm->nranks == 1)
    return "none (one rank)";
  if (!x->backend->device_pointers)
    return "MPI_Allgatherv in place on host memory";
  return x->direct ? "MPI_Allgatherv in place on device memory (CUDA-aware MPI)"
                   : "MPI_Allgatherv through pinned host memory (this MPI is not CUDA-aware)";
}

/* All-gather `rows` rows of every rank in place; rank p's begin at row p * rows of data. */
static void gather(amped_exchange *x, void *data, uint64_t rows) {
  bool grouped = rows * (uint64_t)x->comm->nranks > INT_MAX;
  uint64_t count = grouped ? rows / AMPED_ROW_GROUP : rows;
  for (int p = 0; p < x->comm->nranks; p++) {
    x->counts[p] = amped_comm_count(x->comm, count);
    x->displs[p] = amped_comm_count(x->comm, count * (uint64_t)p);
  }
  AMPED_MPI(x->comm, MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, x->counts, x->displs,
                                    grouped ? x->group : x->row, x->comm->mpi));
}

static amped_status gather_staged(amped_exchange *x, int mode) {
  uint64_t bytes = row_bytes(x->plan);
  uint64_t block = x->plan->modes[mode].block_rows;
  uint64_t me = (uint64_t)x->comm->rank;
  for (uint64_t first = 0; first < block; first += x->stage_rows) {
    uint64_t rows = block - first < x->stage_rows ? block - first : x->stage_rows;
    AMPED_TRY(x->backend->stage_out(x->ctx, mode, (me * block + first) * bytes, rows * bytes,
                                    x->stage + me * rows * bytes));
    gather(x, x->stage, rows);
    for (uint64_t p = 0; p < (uint64_t)x->comm->nranks; p++)
      if (p != me)
        AMPED_TRY(x->backend->stage_in(x->ctx, mode, (p * block + first) * bytes, rows * bytes,
                                       x->stage + p * rows * bytes));
  }
  return AMPED_OK;
}

void amped_exchange_rows(amped_exchange *x, int mode) {
  if (x->comm->nranks == 1)
    return;
  amped_trace_begin(AMPED_PHASE_EXCHANGE, mode);
  if (x->direct)
    gather(x, x->backend->factor(x->ctx, mode), x->plan->modes[mode].block_rows);
  else if (gather_staged(x, mode) != AMPED_OK)
    amped_comm_abort(x->comm, AMPED_FAILED);
  amped_trace_end();
}
