/* Redistribute: rounds of partitioning, counting and exchanging nonzeros between ranks. */
#include "load/redistribute.h"

#include <string.h>

#include "base/log.h"
#include "base/buffers.h"
#include "base/mem.h"
#include "base/trace.h"

/* In place of a count: the sender has failed. */
#define FAILED UINT64_MAX

struct amped_redistribute {
  const amped_comm *comm;
  amped_input *input;
  amped_list_source *source;
  const amped_tensor_info *info;
  const amped_plan *plan;
  const amped_list_ops *lists;
  amped_list_part *part;
  uint64_t window; /* nonzeros that a rank partitions at a time */
  /* The current mode: */
  int mode;           /* mode, or AMPED_BY_COORDINATE */
  uint64_t splits;    /* split iDps of the mode */
  uint64_t *numbers;  /* [splits] for each split iDp: the number in it of the nonzero that this rank
                         partitions next */
  uint64_t *in_slab;  /* [splits] nonzeros in this rank's share of the turn */
  uint64_t *in_slabs; /* [splits] nonzeros in all shares of the turn */
  uint64_t *passed;   /* [splits] number of the first nonzero of the next turn */
  /* Buffers of one round, [nranks] each: */
  uint64_t *counts;   /* nonzeros for every rank */
  uint64_t *arriving; /* nonzeros from every rank */
  int *send_counts, *send_places, *receive_counts, *receive_places;
  void *fetched[AMPED_MAX_ORDER + 1]; /* by coordinate: nonzeros in host memory; last, values */
};

/* One pass over the list on this rank. */
typedef struct pass {
  uint64_t expected; /* nonzeros that have not arrived yet */
  bool reads_again;  /* the file is read again, so its hash is checked */
  uint64_t hash;
  amped_redistribute_receiver take;
  void *context;       /* context of take */
  amped_status status; /* status of this rank */
} pass;

/* This rank's current slab; done = nonzeros already partitioned. */
typedef struct turn {
  uint64_t first, count, done;
} turn;

static uint64_t most_splits(const amped_plan *plan) {
  uint64_t most = 0;
  for (int m = 0; m < plan->order; m++)
    most = plan->modes[m].copy.split_count > most ? plan->modes[m].copy.split_count : most;
  return most;
}

/* The tables of iDps and splits are small compared with the plan's own. */
uint64_t amped_redistribute_host_bytes(const amped_plan *plan) {
  return 4 * most_splits(plan) * sizeof(uint64_t);
}

/* --- buffers --------------------------------------------------------------------------------- */

static amped_buffers buffers(amped_redistribute *d) {
  amped_buffers b = {.what = "the nonzeros in transit"};
  const uint64_t nranks = (uint64_t)d->comm->nranks;
  const uint64_t splits = most_splits(d->plan);
  AMPED_BUFFER(&b, ZEROED, d->numbers, splits);
  AMPED_BUFFER(&b, ZEROED, d->in_slab, splits);
  AMPED_BUFFER(&b, ZEROED, d->in_slabs, splits);
  AMPED_BUFFER(&b, ZEROED, d->passed, splits);
  AMPED_BUFFER(&b, ZEROED, d->counts, nranks);
  AMPED_BUFFER(&b, ZEROED, d->arriving, nranks);
  AMPED_BUFFER(&b, ZEROED, d->send_counts, nranks);
  AMPED_BUFFER(&b, ZEROED, d->send_places, nranks);
  AMPED_BUFFER(&b, ZEROED, d->receive_counts, nranks);
  AMPED_BUFFER(&b, ZEROED, d->receive_places, nranks);
  return b;
}

amped_status amped_redistribute_create(const amped_comm *comm, amped_input *input,
                                       amped_list_source *source, const amped_plan *plan,
                                       const amped_worker *worker, amped_redistribute **out) {
  amped_redistribute *d = NULL;
  AMPED_TRY(amped_calloc(out, 1, sizeof **out, "the nonzeros in transit"));
  d = *out;
  d->comm = comm;
  d->input = input;
  d->source = source;
  d->info = amped_input_info(input);
  d->plan = plan;
  d->lists = worker->backend->lists;
  d->part = amped_list_source_part(source);
  d->window = amped_list_source_window(source);
  return amped_buffers_allocate(buffers(d));
}

void amped_redistribute_destroy(amped_redistribute *d) {
  if (d == NULL)
    return;
  amped_buffers_free(buffers(d));
  for (int a = 0; a <= AMPED_MAX_ORDER; a++)
    amped_free(d->fetched[a]);
  amped_free(d);
}

static amped_status changed(const amped_redistribute *d) {
  return amped_error(AMPED_BAD_INPUT, amped_input_path(d->input),
                     "changed while it was read; run again when it is complete");
}

/* --- incoming nonzeros ------------------------------------------------------------------------ */

/* Index of an array in `fetched`: values come after the arrays of indices. */
static int array_number(int array) {
  return array == AMPED_LIST_VALUES ? AMPED_MAX_ORDER : array;
}

static uint64_t element_bytes(const amped_redistribute *d, int array) {
  return array == AMPED_LIST_VALUES ? (uint64_t)d->info->value_type
                                    : (uint64_t)amped_itype_for(d->info->dims[array]);
}

static amped_status fetch_array(amped_redistribute *d, int array, uint64_t count,
                                const void **values) {
  const uint64_t bytes = element_bytes(d, array);
  void **to = &d->fetched[array_number(array)];
  if (*to == NULL) {
    const uint64_t arriving = amped_list_source_arriving(d->source);
    AMPED_TRY(amped_alloc(to, arriving, bytes, "the search for repeated coordinates"));
  }
  AMPED_TRY(d->lists->fetch(d->part, *values, count * bytes, *to));
  *values = *to;
  return AMPED_OK;
}

/* Hands nonzeros to the caller; by coordinate, in host memory. */
static amped_status hand_over(amped_redistribute *d, const pass *s, amped_nonzeros *nonzeros) {
  if (d->mode == AMPED_BY_COORDINATE) {
    for (int m = 0; m < d->info->order; m++)
      AMPED_TRY(fetch_array(d, m, nonzeros->count, &nonzeros->indices[m]));
    AMPED_TRY(fetch_array(d, AMPED_LIST_VALUES, nonzeros->count, &nonzeros->values));
  }
  return s->take(s->context, nonzeros);
}

/* The current mode, for the trace. */
static int32_t number_of(const amped_redistribute *d) {
  return d->mode == AMPED_BY_COORDINATE ? AMPED_NO_NUMBER : d->mode;
}

static amped_status take_nonzeros(amped_redistribute *d, pass *s, amped_nonzeros *nonzeros) {
  if (nonzeros->count > s->expected)
    return changed(d);
  s->expected -= nonzeros->count;
  amped_trace_begin(AMPED_PHASE_COLLECT, number_of(d));
  amped_status status = nonzeros->count > 0 ? hand_over(d, s, nonzeros) : AMPED_OK;
  amped_trace_end();
  return status;
}

static amped_status take_received(amped_redistribute *d, pass *s, uint64_t received) {
  amped_nonzeros nonzeros = {.count = received, .value_type = d->info->value_type};
  for (int m = 0; m < d->info->order; m++)
    nonzeros.indices[m] = d->lists->arriving(d->part, m);
  nonzeros.values = d->lists->arriving(d->part, AMPED_LIST_VALUES);
  return take_nonzeros(d, s, &nonzeros);
}

/* --- sending ---------------------------------------------------------------------------------- */

static MPI_Datatype mpi_type(uint64_t bytes) {
  return bytes == 1   ? MPI_UINT8_T
         : bytes == 2 ? MPI_UINT16_T
         : bytes == 4 ? MPI_UINT32_T
                      : MPI_UINT64_T;
}

/* Collective: exchanges one array of this round's nonzeros. A device failure aborts the run: other
 * ranks expect the bytes that this rank's counts announced, and this rank has none. */
static void exchange_array(const amped_redistribute *d, int array, uint64_t count) {
  const MPI_Datatype type = mpi_type(element_bytes(d, array));
  void *sent = NULL;
  amped_status status = count > 0 ? d->lists->distributed(d->part, array, &sent) : AMPED_OK;
  if (status != AMPED_OK)
    amped_comm_abort(d->comm, status);
  AMPED_MPI(d->comm, MPI_Alltoallv(sent, d->send_counts, d->send_places, type,
                                   d->lists->arriving(d->part, array), d->receive_counts,
                                   d->receive_places, type, d->comm->mpi));
}

/* Collective: exchanges counts. Returns false if some rank has failed; then no rank sends. */
static bool exchange_counts(const amped_redistribute *d, bool failed, uint64_t *received) {
  int sent = 0;
  bool go_on = true;
  *received = 0;
  for (int p = 0; p < d->comm->nranks && failed; p++)
    d->counts[p] = FAILED;
  AMPED_MPI(d->comm,
            MPI_Alltoall(d->counts, 1, MPI_UINT64_T, d->arriving, 1, MPI_UINT64_T, d->comm->mpi));
  for (int p = 0; p < d->comm->nranks; p++)
    go_on = go_on && d->arriving[p] != FAILED;
  for (int p = 0; p < d->comm->nranks && go_on; p++) {
    d->send_counts[p] = amped_comm_count(d->comm, d->counts[p]);
    d->send_places[p] = sent;
    sent += d->send_counts[p];
    d->receive_counts[p] = amped_comm_count(d->comm, d->arriving[p]);
    d->receive_places[p] = amped_comm_count(d->comm, *received);
    *received += d->arriving[p];
  }
  return go_on;
}

/* --- split iDps ------------------------------------------------------------------------------ */

/* Sets the mode, or AMPED_BY_COORDINATE, of the next pass. */
static amped_status set_mode(amped_redistribute *d, int mode) {
  d->mode = mode;
  d->splits = 0;
  if (mode != AMPED_BY_COORDINATE && d->comm->nranks > 1) {
    const amped_copy_plan *copy = &d->plan->modes[mode].copy;
    d->splits = copy->split_count;
    for (uint64_t k = 0; k < copy->split_count; k++)
      d->passed[k] = copy->splits[k].first;
  }
  return d->lists->distribute_by(d->part, d->plan, mode);
}

/* Collective: numbers[k] = number of the first nonzero of split k in this rank's share of the turn.
 * Shares of lower ranks come before it in the list. The status is this rank's own. */
static amped_status number_slab(amped_redistribute *d, const turn *t) {
  const int splits = amped_comm_count(d->comm, d->splits);
  amped_status status = AMPED_OK;
  if (splits == 0)
    return AMPED_OK;
  memset(d->in_slab, 0, d->splits * sizeof *d->in_slab);
  if (t->count > 0)
    status = d->lists->count_splits(d->part, t->first, t->count, d->in_slab);
  AMPED_MPI(d->comm,
            MPI_Exscan(d->in_slab, d->numbers, splits, MPI_UINT64_T, MPI_SUM, d->comm->mpi));
  if (d->comm->rank == 0)
    memset(d->numbers, 0, d->splits * sizeof *d->numbers);
  memcpy(d->in_slabs, d->in_slab, d->splits * sizeof *d->in_slabs);
  amped_comm_sum_u64(d->comm, d->in_slabs, d->splits);
  for (uint64_t k = 0; k < d->splits; k++) {
    d->numbers[k] += d->passed[k];
    d->passed[k] += d->in_slabs[k];
    if (status == AMPED_OK && d->passed[k] > d->plan->modes[d->mode].copy.splits[k + 1].first)
      status = changed(d); /* a split has more nonzeros than were counted */
  }
  return status;
}

/* --- rounds ---------------------------------------------------------------------------------- */

/* Collective: every rank partitions and sends a part of its slab. Returns false if some rank has
 * failed. */
static bool send_part(amped_redistribute *d, pass *s, turn *t) {
  uint64_t left = s->status == AMPED_OK ? t->count - t->done : 0;
  uint64_t count = left < d->window ? left : d->window;
  uint64_t received = 0;
  memset(d->counts, 0, (size_t)d->comm->nranks * sizeof *d->counts);
  amped_trace_begin(AMPED_PHASE_DEAL, number_of(d));
  if (count > 0)
    s->status = d->lists->deal(d->part, t->first + t->done, count, d->numbers, d->counts);
  amped_trace_end();
  amped_trace_begin(AMPED_PHASE_SEND, number_of(d));
  const bool go_on = exchange_counts(d, s->status != AMPED_OK, &received);
  for (int m = 0; m < d->info->order && go_on; m++)
    exchange_array(d, m, count);
  if (go_on)
    exchange_array(d, AMPED_LIST_VALUES, count);
  amped_trace_end();
  t->done += count;
  if (go_on)
    s->status = take_received(d, s, received);
  return go_on;
}

/* Collective: every rank partitions and sends its slab of a turn. Returns false if some rank has
 * failed. */
static bool send_slab(amped_redistribute *d, pass *s, turn *t) {
  const uint64_t nnz = amped_list_source_turn_nnz(d->source);
  bool go_on = true;
  amped_status numbered = number_slab(d, t);
  if (s->status == AMPED_OK)
    s->status = numbered;
  for (uint64_t at = 0; at < nnz && go_on; at += d->window)
    go_on = send_part(d, s, t);
  return go_on;
}

/* Takes the slab as it is, if there is only one rank. */
static bool take_slab(amped_redistribute *d, pass *s, const turn *t) {
  amped_nonzeros nonzeros;
  if (s->status == AMPED_OK && t->count > 0) {
    d->lists->view(d->part, t->first, t->count, &nonzeros);
    s->status = take_nonzeros(d, s, &nonzeros);
  }
  return s->status == AMPED_OK;
}

/* Collective: one pass over the list. The status is this rank's own. */
static amped_status send_list(amped_redistribute *d, int mode, uint64_t progress_before, pass *s) {
  const uint64_t turns = amped_list_source_turns(d->source);
  bool go_on = true;
  s->reads_again = !amped_list_source_held(d->source);
  s->status = set_mode(d, mode);
  amped_status begun = amped_list_source_begin(d->source);
  s->status = s->status == AMPED_OK ? begun : s->status;
  for (uint64_t i = 0; i < turns && go_on; i++) {
    turn t = {0, 0, 0};
    amped_status read = amped_list_source_next(d->source, &t.first, &t.count);
    s->status = s->status == AMPED_OK ? read : s->status;
    if (s->status == AMPED_OK && s->reads_again)
      s->status = d->lists->hash(d->part, t.first, t.count, &s->hash);
    go_on = d->comm->nranks > 1 ? send_slab(d, s, &t) : take_slab(d, s, &t);
    amped_progress_update(progress_before +
                          (uint64_t)((double)d->info->nnz * (double)(i + 1) / (double)turns));
  }
  amped_status ended = amped_list_source_end(d->source);
  return s->status == AMPED_OK ? ended : s->status;
}

amped_status amped_redistribute_mode(amped_redistribute *d, int mode, uint64_t hash,
                                     uint64_t progress_before, amped_redistribute_receiver take,
                                     void *context) {
  pass s = {.expected = d->plan->modes[mode].copy.rank_nnz[d->plan->rank],
            .take = take,
            .context = context};
  AMPED_TRY(amped_comm_agree(d->comm, send_list(d, mode, progress_before, &s)));
  amped_comm_sum_u64(d->comm, &s.hash, 1);
  return amped_comm_agree(d->comm, s.expected > 0 || (s.reads_again && s.hash != hash) ? changed(d)
                                                                                       : AMPED_OK);
}

amped_status amped_redistribute_coordinates(amped_redistribute *d, amped_redistribute_receiver take,
                                            void *context) {
  pass s = {.expected = d->info->nnz, .take = take, .context = context};
  return amped_comm_agree(d->comm, send_list(d, AMPED_BY_COORDINATE, 0, &s));
}
