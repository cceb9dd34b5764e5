/* Exchange: chooses between an all-gather on factors and shared memory, and calls the sums over
 * ranks. */
#include "factor/exchange.h"

#include "mpi/allgather.h"
#include "base/mem.h"
#include "factor/row_reduce.h"
#include "factor/row_scatter.h"
#include "factor/shm_exchange.h"
#include "base/trace.h"

struct amped_exchange {
  const amped_comm *comm;
  const amped_worker *worker;
  const amped_plan *plan;
  int *rank_at;              /* [nranks] rank at each place in the ring */
  amped_allgather *gather;   /* all-gather of rows in the ring's order; NULL if MPI cannot access
                                factors */
  amped_shm_exchange *shm;   /* NULL if factors are in host memory */
  uint64_t *firsts, *counts; /* [nranks] rows of each place in the current call */
  amped_row_reduce *reduce;
  amped_row_scatter *scatter; /* NULL if no format has partial sums of rows */
};

static bool is_direct(const amped_comm *comm, bool device_pointers) {
  return !device_pointers || comm->cuda_aware;
}

/* Does this node need shared memory? If MPI takes device memory, only small messages of many ranks
 * use shared memory. For them, copies to the host and back cost less than an all-gather on a
 * device, which takes many steps or packs rows. */
static bool needs_shm(const amped_comm *comm, const amped_backend *backend) {
  if (comm->nranks == 1 || !backend->device_pointers)
    return false;
  return !comm->cuda_aware || (comm->nranks > comm->ring_ranks && comm->chosen[0] == '\0' &&
                               comm->way == AMPED_WAY_AUTO);
}

uint64_t amped_exchange_host_bytes(const amped_comm *comm, const amped_worker *worker,
                                   const amped_plan *plan) {
  const amped_backend *backend = worker->backend;
  uint64_t shm =
      needs_shm(comm, backend) && comm->local_rank == 0 ? amped_shm_exchange_bytes(plan) : 0;
  return shm + amped_row_reduce_host_bytes(plan, (uint64_t)plan->ncomps) +
         amped_row_scatter_host_bytes(comm, worker, plan);
}

static amped_status get_output(void *self, int mode, uint64_t row, uint64_t count, double *rows) {
  const amped_worker *worker = self;
  return worker->backend->factors->get_output(worker->factors, mode, row, count, rows);
}

static amped_status put_output(void *self, int mode, uint64_t row, uint64_t count,
                               const double *rows) {
  const amped_worker *worker = self;
  return worker->backend->factors->put_output(worker->factors, mode, row, count, rows);
}

static amped_status allocate(amped_exchange *x) {
  uint64_t nranks = (uint64_t)x->comm->nranks;
  static const char what[] = "the exchange";
  AMPED_TRY(amped_alloc(&x->rank_at, nranks, sizeof *x->rank_at, what));
  AMPED_TRY(amped_alloc(&x->firsts, nranks, sizeof *x->firsts, what));
  AMPED_TRY(amped_alloc(&x->counts, nranks, sizeof *x->counts, what));
  if (is_direct(x->comm, x->worker->backend->device_pointers))
    AMPED_TRY(
        amped_allgather_create(x->comm, x->comm->ring, amped_plan_row_bytes(x->plan), &x->gather));
  return AMPED_OK;
}

amped_status amped_exchange_create(const amped_comm *comm, const amped_worker *worker,
                                   const amped_plan *plan, amped_exchange **out) {
  const amped_result_rows output = {.length = (uint64_t)plan->ncomps,
                                    .get = get_output,
                                    .put = put_output,
                                    .self = (amped_worker *)worker};
  amped_status status = AMPED_OK;
  amped_exchange *x = NULL;
  *out = NULL;
  AMPED_GO(agree, amped_calloc(&x, 1, sizeof *x, "the exchange"));
  x->comm = comm;
  x->worker = worker;
  x->plan = plan;
  AMPED_GO(agree, allocate(x));
  AMPED_GO(agree, amped_row_reduce_create(comm, plan, &output, &x->reduce));
  AMPED_GO(agree, amped_row_scatter_create(comm, worker, plan, x->rank_at, &x->scatter));
agree:
  AMPED_GO(failed, amped_comm_agree(comm, status));
  AMPED_MPI(comm, MPI_Allgather(&comm->rank, 1, MPI_INT, x->rank_at, 1, MPI_INT, comm->ring));
  if (x->gather != NULL)
    AMPED_GO(failed, amped_comm_agree(comm, amped_allgather_find_rails(x->gather)));
  AMPED_GO(failed, amped_comm_agree(comm, amped_row_scatter_find_nodes(x->scatter)));
  if (needs_shm(comm, worker->backend))
    AMPED_GO(failed, amped_shm_exchange_create(comm, worker, plan, x->rank_at, &x->shm));
  *out = x;
  return AMPED_OK;
failed:
  amped_exchange_destroy(x);
  return status;
}

void amped_exchange_destroy(amped_exchange *x) {
  if (x == NULL)
    return;
  amped_shm_exchange_destroy(x->shm);
  amped_allgather_destroy(x->gather);
  amped_free(x->rank_at);
  amped_free(x->firsts);
  amped_free(x->counts);
  amped_row_reduce_destroy(x->reduce);
  amped_row_scatter_destroy(x->scatter);
  amped_free(x);
}

const char *amped_exchange_describe(const amped_comm *comm, bool device_pointers) {
  static const char *const here[][2] = {
      [AMPED_WAY_RAILS] = {"rails in place on host memory",
                           "rails in place on device memory (CUDA-aware MPI)"},
      [AMPED_WAY_RING] = {"ring in place on host memory",
                          "ring in place on device memory (CUDA-aware MPI)"},
      [AMPED_WAY_ALLGATHERV] = {"MPI_Allgatherv in place on host memory, as chosen",
                                "MPI_Allgatherv in place on device memory, as chosen"}};
  if (comm->nranks == 1)
    return "none (one rank)";
  if (!is_direct(comm, device_pointers))
    return comm->nodes == 1
               ? "through host memory that a node's ranks share (this MPI takes no device memory)"
           : comm->way == AMPED_WAY_RING || comm->rails == 1
               ? "through host memory that a node's ranks share, one of which sends it (this MPI "
                 "takes no device memory)"
               : "through host memory that a node's ranks share, which send it by rails (this MPI "
                 "takes no device memory)";
  return here[amped_allgather_way_of(comm)][device_pointers];
}

uint64_t amped_exchange_bytes(const amped_exchange *x, uint64_t rows) {
  return (uint64_t)(x->comm->nranks - 1) * rows * amped_plan_row_bytes(x->plan);
}

amped_status amped_exchange_reduce(amped_exchange *x, int mode) {
  amped_status status = amped_row_reduce_sum(x->reduce, mode);
  AMPED_ALSO(status, amped_row_scatter_sum(x->scatter, mode));
  return status;
}

amped_status amped_exchange_rows(amped_exchange *x, int mode) {
  return amped_exchange_part(x, mode, 0, x->plan->modes[mode].rows.block_rows);
}

static void gather(amped_exchange *x, int mode, uint64_t first, uint64_t rows) {
  for (int i = 0; i < x->comm->nranks; i++) {
    x->firsts[i] = (uint64_t)x->rank_at[i] * x->plan->modes[mode].rows.block_rows + first;
    x->counts[i] = rows;
  }
  amped_allgather_parts(x->gather, x->worker->backend->factors->rows(x->worker->factors, mode),
                        x->firsts, x->counts);
}

amped_status amped_exchange_part(amped_exchange *x, int mode, uint64_t first, uint64_t end) {
  uint64_t rows = end - first;
  amped_status status = AMPED_OK;
  if (x->comm->nranks == 1)
    return AMPED_OK;
  amped_trace_begin(AMPED_PHASE_EXCHANGE, mode);
  if (x->gather != NULL &&
      (x->shm == NULL || amped_allgather_way(x->gather, rows) != AMPED_WAY_ALLGATHERV))
    gather(x, mode, first, rows);
  else
    status = amped_shm_exchange_rows(x->shm, mode, first, end);
  amped_trace_end();
  return status;
}
