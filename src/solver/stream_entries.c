/* Stream entries: messages with parts of a list, and sums of errors. */
#include "solver/stream_entries.h"

#include <math.h>
#include <string.h>

#include "solver/entry_set.h"

/* Entries per message; MPI counts them in an int. */
#define MESSAGE (UINT64_C(1) << 24)

/* Bound of the hash of held-out entries, for amped_held_out: the held-out share times 2^64. */
static uint64_t below(const amped_state_head *head) {
  return (uint64_t)ldexp(head->holdout, 64);
}

bool amped_stream_entry_is_held(const amped_state_head *head, const amped_sptensor *list,
                                uint64_t entry) {
  uint64_t index[AMPED_MAX_ORDER];
  if (!(head->holdout > 0.0))
    return false;
  for (int m = 0; m < list->order; m++)
    index[m] = list->indices[m][entry];
  return amped_held_out(list->order, index, head->split_seed, below(head));
}

/* --- distribution ---------------------------------------------------------------------------- */

uint64_t amped_stream_share(uint64_t count, int rank, int nranks) {
  const uint64_t n = (uint64_t)nranks;
  const uint64_t p = (uint64_t)rank;
  return count / n * p + count % n * p / n;
}

/* Number of a rank's entries, if `count` entries are distributed. */
static uint64_t share_of(const amped_comm *comm, uint64_t count, int rank) {
  return amped_stream_share(count, rank + 1, comm->nranks) -
         amped_stream_share(count, rank, comm->nranks);
}

/* Rank 0: send each rank its part of an array of 8-byte elements. */
static void send_array(const amped_comm *comm, const void *array, uint64_t count) {
  for (int p = 1; p < comm->nranks; p++) {
    const uint64_t *from = (const uint64_t *)array + amped_stream_share(count, p, comm->nranks);
    const uint64_t own = share_of(comm, count, p);
    for (uint64_t at = 0; at < own; at += MESSAGE)
      AMPED_MPI(comm, MPI_Send(from + at, (int)(own - at < MESSAGE ? own - at : MESSAGE),
                               MPI_UINT64_T, p, 0, comm->mpi));
  }
}

static void receive_array(const amped_comm *comm, void *array, uint64_t own) {
  for (uint64_t at = 0; at < own; at += MESSAGE)
    AMPED_MPI(comm, MPI_Recv((uint64_t *)array + at, (int)(own - at < MESSAGE ? own - at : MESSAGE),
                             MPI_UINT64_T, 0, 0, comm->mpi, MPI_STATUS_IGNORE));
}

/* Rank 0: its part is the beginning of its list, without a copy. */
static void show_first(const amped_comm *comm, const amped_sptensor *list, amped_sptensor *mine) {
  mine->order = list->order;
  mine->nnz = share_of(comm, list->nnz, 0);
  mine->values = list->values;
  for (int m = 0; m < list->order; m++)
    mine->indices[m] = list->indices[m];
}

void amped_stream_entries_free(const amped_comm *comm, amped_sptensor *dealt) {
  if (comm->rank == 0)
    memset(dealt, 0, sizeof *dealt);
  amped_sptensor_free(dealt);
}

static amped_status deal(const amped_comm *comm, const amped_sptensor *list, amped_sptensor *mine) {
  const bool deals = comm->rank == 0;
  uint64_t shape[2] = {deals ? list->nnz : 0, deals ? (uint64_t)list->order : 0};
  amped_status status = AMPED_OK;
  amped_comm_broadcast(comm, shape, sizeof shape);
  if (!deals)
    status = amped_sptensor_create(mine, (int)shape[1], share_of(comm, shape[0], comm->rank));
  status = amped_comm_agree(comm, status);
  if (status != AMPED_OK) {
    amped_stream_entries_free(comm, mine);
    return status;
  }
  for (int a = 0; a <= (int)shape[1]; a++) {
    const bool values = a == (int)shape[1];
    if (deals)
      send_array(comm, values ? (const void *)list->values : list->indices[a], list->nnz);
    else
      receive_array(comm, values ? (void *)mine->values : mine->indices[a], mine->nnz);
  }
  if (deals)
    show_first(comm, list, mine);
  return AMPED_OK;
}

amped_status amped_stream_entries_deal(const amped_comm *comm, const amped_sptensor *list,
                                       amped_sptensor *dealt, const amped_sptensor **mine) {
  memset(dealt, 0, sizeof *dealt);
  *mine = comm->nranks > 1 ? dealt : list;
  return comm->nranks > 1 ? deal(comm, list, dealt) : AMPED_OK;
}

/* --- errors ---------------------------------------------------------------------------------- */

amped_status amped_stream_entries_enter(const amped_comm *comm, const amped_stream_rows *rows,
                                        const amped_sptensor *mine) {
  const uint64_t *indices[AMPED_MAX_ORDER] = {NULL};
  for (int m = 0; m < mine->order; m++)
    indices[m] = mine->indices[m];
  return amped_comm_agree(comm, rows->ops->enter(rows->store, mine->nnz, indices, mine->values));
}

amped_status amped_stream_entries_errors(const amped_comm *comm, const amped_stream_rows *rows,
                                         const amped_state_head *head, bool held,
                                         amped_errors *out) {
  const amped_row_model model = {.biased = head->biased,
                                 .mean = head->mean,
                                 .scale = head->scale,
                                 .least = head->least,
                                 .most = head->most,
                                 .seed = head->split_seed,
                                 .below = below(head)};
  memset(out, 0, sizeof *out);
  AMPED_TRY(amped_comm_agree(comm, rows->ops->errors(rows->store, &model, held, out)));
  amped_errors_sum(comm, out);
  return AMPED_OK;
}
