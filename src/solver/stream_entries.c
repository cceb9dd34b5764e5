#include "solver/stream_entries.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "solver/entry_set.h"

/* Entries that are dealt at a time: MPI counts them in an int. */
#define ROUND (UINT64_C(1) << 24)

/* The share of entries that are held out, for amped_held_out. */
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

/* --- dealing -----------------------------------------------------------------------------------
 */

uint64_t amped_stream_share(uint64_t count, int rank, int nranks) {
  const uint64_t n = (uint64_t)nranks;
  const uint64_t p = (uint64_t)rank;
  return count / n * p + count % n * p / n;
}

typedef struct dealer {
  const amped_comm *comm;
  int *counts, *places; /* [nranks] of a round */
} dealer;

static void deal_round(const dealer *d, uint64_t count) {
  for (int p = 0; p < d->comm->nranks; p++) {
    const uint64_t first = amped_stream_share(count, p, d->comm->nranks);
    d->places[p] = (int)first;
    d->counts[p] = (int)(amped_stream_share(count, p + 1, d->comm->nranks) - first);
  }
}

/* Elements of 8 bytes. */
static void scatter(const dealer *d, const void *from, uint64_t first, void *to, uint64_t at) {
  const int mine = d->counts[d->comm->rank];
  AMPED_MPI(d->comm, MPI_Scatterv(from != NULL ? (const uint64_t *)from + first : NULL, d->counts,
                                  d->places, MPI_UINT64_T, to != NULL ? (uint64_t *)to + at : NULL,
                                  mine, MPI_UINT64_T, 0, d->comm->mpi));
}

static amped_status deal(const amped_comm *comm, const amped_sptensor *list, amped_sptensor *mine) {
  const bool deals = comm->rank == 0;
  dealer d = {.comm = comm};
  uint64_t shape[2] = {deals ? list->nnz : 0, deals ? (uint64_t)list->order : 0};
  uint64_t own = 0;
  amped_status status = AMPED_OK;
  amped_comm_broadcast(comm, shape, sizeof shape);
  AMPED_GO(agree, amped_alloc(&d.counts, (uint64_t)comm->nranks, sizeof *d.counts, "entries"));
  AMPED_GO(agree, amped_alloc(&d.places, (uint64_t)comm->nranks, sizeof *d.places, "entries"));
  for (uint64_t first = 0; first < shape[0]; first += ROUND) {
    deal_round(&d, shape[0] - first < ROUND ? shape[0] - first : ROUND);
    own += (uint64_t)d.counts[comm->rank];
  }
  status = amped_sptensor_create(mine, (int)shape[1], own);
agree:
  status = amped_comm_agree(comm, status);
  own = 0;
  for (uint64_t first = 0; first < shape[0] && status == AMPED_OK; first += ROUND) {
    deal_round(&d, shape[0] - first < ROUND ? shape[0] - first : ROUND);
    for (int m = 0; m < mine->order; m++)
      scatter(&d, deals ? list->indices[m] : NULL, first, mine->indices[m], own);
    scatter(&d, deals ? list->values : NULL, first, mine->values, own);
    own += (uint64_t)d.counts[comm->rank];
  }
  amped_free(d.counts);
  amped_free(d.places);
  if (status != AMPED_OK)
    amped_sptensor_free(mine);
  return status;
}

amped_status amped_stream_entries_deal(const amped_comm *comm, const amped_sptensor *list,
                                       amped_sptensor *dealt, const amped_sptensor **mine) {
  memset(dealt, 0, sizeof *dealt);
  *mine = comm->nranks > 1 ? dealt : list;
  return comm->nranks > 1 ? deal(comm, list, dealt) : AMPED_OK;
}

/* --- errors ------------------------------------------------------------------------------------
 */

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
