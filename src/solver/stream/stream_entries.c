/* Stream entries: messages with parts of a list, and sums of errors. */
#include "solver/stream/stream_entries.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "solver/complete/entry_set.h"

/* Entries per message; MPI counts them in an int. */
#define MESSAGE (UINT64_C(1) << 24)

/* Bound of the hash of held-out entries, for amped_held_out: the held-out share times 2^64. */
static uint64_t below(const amped_state_head *head) {
  return (uint64_t)ldexp(head->holdout, 64);
}

static uint64_t key_of(const amped_stream_labels *labels, int mode, uint64_t index) {
  const uint64_t count = labels->all != NULL ? labels->all[mode].count : 0;
  if (index < count)
    return amped_label_key(&labels->all[mode], index);
  return labels->added != NULL && index - count < labels->added[mode].count
             ? amped_label_key(&labels->added[mode], index - count)
             : index;
}

bool amped_stream_entry_is_held(const amped_state_head *head, const amped_stream_labels *labels,
                                const amped_sptensor *list, uint64_t entry) {
  uint64_t keys[AMPED_MAX_ORDER];
  if (!(head->holdout > 0.0))
    return false;
  for (int m = 0; m < list->order; m++)
    keys[m] = key_of(labels, m, list->indices[m][entry]);
  return amped_held_out(list->order, keys, head->split_seed, below(head));
}

/* --- distribution ----------------------------------------------------------------------------- */

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

/* Rank 0: send each rank its part of an array whose elements have 8 bytes, or 1. */
static void send_array(const amped_comm *comm, const void *array, uint64_t bytes, uint64_t count) {
  const MPI_Datatype type = bytes == 1 ? MPI_BYTE : MPI_UINT64_T;
  for (int p = 1; p < comm->nranks; p++) {
    const char *from = (const char *)array + amped_stream_share(count, p, comm->nranks) * bytes;
    const uint64_t own = share_of(comm, count, p);
    for (uint64_t at = 0; at < own; at += MESSAGE)
      AMPED_MPI(comm, MPI_Send(from + at * bytes, (int)(own - at < MESSAGE ? own - at : MESSAGE),
                               type, p, 0, comm->mpi));
  }
}

static void receive_array(const amped_comm *comm, void *array, uint64_t bytes, uint64_t own) {
  const MPI_Datatype type = bytes == 1 ? MPI_BYTE : MPI_UINT64_T;
  for (uint64_t at = 0; at < own; at += MESSAGE)
    AMPED_MPI(comm,
              MPI_Recv((char *)array + at * bytes, (int)(own - at < MESSAGE ? own - at : MESSAGE),
                       type, 0, 0, comm->mpi, MPI_STATUS_IGNORE));
}

/* Rank 0: its part is the beginning of its list, without a copy. */
static void show_first(const amped_comm *comm, const amped_sptensor *list, amped_sptensor *mine) {
  mine->order = list->order;
  mine->nnz = share_of(comm, list->nnz, 0);
  mine->values = list->values;
  for (int m = 0; m < list->order; m++)
    mine->indices[m] = list->indices[m];
}

void amped_stream_entries_free(const amped_comm *comm, amped_sptensor *distributed) {
  if (comm->rank == 0)
    memset(distributed, 0, sizeof *distributed);
  amped_sptensor_free(distributed);
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
      send_array(comm, values ? (const void *)list->values : list->indices[a], sizeof(uint64_t),
                 list->nnz);
    else
      receive_array(comm, values ? (void *)mine->values : mine->indices[a], sizeof(uint64_t),
                    mine->nnz);
  }
  if (deals)
    show_first(comm, list, mine);
  return AMPED_OK;
}

amped_status amped_stream_entries_distribute(const amped_comm *comm, const amped_sptensor *list,
                                             amped_sptensor *distributed,
                                             const amped_sptensor **mine) {
  memset(distributed, 0, sizeof *distributed);
  *mine = comm->nranks > 1 ? distributed : list;
  return comm->nranks > 1 ? deal(comm, list, distributed) : AMPED_OK;
}

amped_status amped_stream_entries_hold(const amped_comm *comm, const amped_state_head *head,
                                       const amped_stream_labels *labels,
                                       const amped_sptensor *list, uint64_t own, bool **held) {
  const bool deals = comm->rank == 0;
  const uint64_t count = deals ? list->nnz : own;
  *held = NULL;
  if (!(head->holdout > 0.0))
    return AMPED_OK;
  AMPED_TRY(amped_comm_agree(comm, amped_alloc(held, count > 0 ? count : 1, sizeof **held,
                                               "the marks of held-out entries")));
  if (!deals) {
    receive_array(comm, *held, sizeof **held, own);
    return AMPED_OK;
  }
#pragma omp parallel for schedule(static)
  for (uint64_t k = 0; k < count; k++)
    (*held)[k] = amped_stream_entry_is_held(head, labels, list, k);
  send_array(comm, *held, sizeof **held, count);
  return AMPED_OK;
}

/* --- errors ----------------------------------------------------------------------------------- */

amped_status amped_stream_entries_enter(const amped_comm *comm, const amped_stream_rows *rows,
                                        const amped_sptensor *mine, const bool *held) {
  const uint64_t *indices[AMPED_MAX_ORDER] = {NULL};
  for (int m = 0; m < mine->order; m++)
    indices[m] = mine->indices[m];
  return amped_comm_agree(comm,
                          rows->ops->enter(rows->store, mine->nnz, indices, mine->values, held));
}

amped_status amped_stream_entries_errors(const amped_comm *comm, const amped_stream_rows *rows,
                                         const amped_state_head *head, bool held,
                                         amped_errors *out) {
  const amped_row_model model = {.biased = head->biased,
                                 .mean = head->mean,
                                 .scale = head->scale,
                                 .least = head->least,
                                 .most = head->most};
  memset(out, 0, sizeof *out);
  AMPED_TRY(amped_comm_agree(comm, rows->ops->errors(rows->store, &model, held, out)));
  amped_errors_sum(comm, out);
  return AMPED_OK;
}
