#include "load/redistribute.h"

#include <omp.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "backend/scatter.h"

/* Nonzeros that one rank receives in a round at most: an int counts them and their places. */
#define RECEIVED_NNZ (UINT64_C(1) << 23)

/* In place of a mode: nonzeros go by their coordinates. */
#define BY_COORDINATE (-1)

/* In place of a count: the sender has failed. */
#define FAILED UINT64_MAX

struct amped_redistribute {
  const amped_comm *comm;
  amped_input *source;
  const amped_tensor_info *info;
  const amped_plan *plan;
  const amped_worker *worker;
  bool parallel;
  uint64_t part;     /* nonzeros that a reader redistributes in a round */
  uint64_t capacity; /* that a rank receives */
  int threads;
  /* of a reader */
  int *owners;             /* [part] rank that gets a nonzero */
  uint32_t *places;        /* [part] in what is sent */
  void *sent;              /* [part] elements of 8 bytes */
  uint64_t *thread_counts; /* [threads][nranks] */
  /* of the mode in hand; splits are those of the plan */
  int mode;
  uint64_t splits;
  int *receivers;          /* [most iDps] rank that gets an iDp, or nranks + number of its split */
  uint64_t *numbers;       /* [splits] of the next nonzero that this rank redistributes */
  uint64_t *in_slab;       /* [splits] nonzeros of the slab in hand */
  uint64_t *in_slabs;      /* [splits] of all readers' slabs in hand */
  uint64_t *passed;        /* [splits] in the slabs before */
  uint64_t *thread_splits; /* [threads][splits] */
  /* [nranks] each */
  uint64_t *counts;
  uint64_t *arriving;
  int *send_counts, *send_places, *receive_counts, *receive_places;
  /* received */
  void *indices[AMPED_MAX_ORDER];
  void *values;
};

/* What a reader is at. */
typedef struct turn {
  bool *wanted;
  amped_slab_reader *ring;
  const amped_slab *slab; /* NULL where nothing is left */
  uint64_t at;            /* of the slab, sent so far */
} turn;

static int readers_of(int nranks, bool parallel) {
  return parallel ? nranks : 1;
}

static uint64_t part_of(const amped_tensor_info *info, int nranks, bool parallel) {
  uint64_t part = RECEIVED_NNZ / (uint64_t)readers_of(nranks, parallel);
  if (part > AMPED_SLAB_NNZ)
    part = AMPED_SLAB_NNZ;
  if (part == 0)
    part = 1;
  return part < info->nnz ? part : info->nnz;
}

/* The parts of one round are different nonzeros. */
uint64_t amped_redistribute_capacity_of(const amped_tensor_info *info, int nranks, bool parallel) {
  uint64_t most = part_of(info, nranks, parallel) * (uint64_t)readers_of(nranks, parallel);
  return most < info->nnz ? most : info->nnz;
}

static uint64_t most_idps(const amped_plan *plan) {
  uint64_t most = 0;
  for (int m = 0; m < plan->order; m++)
    most = plan->modes[m].idp_count > most ? plan->modes[m].idp_count : most;
  return most;
}

static uint64_t most_splits(const amped_plan *plan) {
  uint64_t most = 0;
  for (int m = 0; m < plan->order; m++)
    most = plan->modes[m].split_count > most ? plan->modes[m].split_count : most;
  return most;
}

uint64_t amped_redistribute_host_bytes(const amped_tensor_info *info, const amped_plan *plan,
                                       bool reads, bool parallel) {
  const int nranks = plan->nranks;
  uint64_t received = info->value_type;
  uint64_t bytes = 0;
  for (int m = 0; m < info->order; m++)
    received += amped_itype_for(info->dims[m]);
  bytes = amped_redistribute_capacity_of(info, nranks, parallel) * received;
  bytes += most_idps(plan) * sizeof(int) +
           (4 + (uint64_t)omp_get_max_threads()) * most_splits(plan) * sizeof(uint64_t);
  if (reads)
    bytes += amped_slab_reader_bytes(info) +
             part_of(info, nranks, parallel) * (sizeof(int) + sizeof(uint32_t) + sizeof(uint64_t));
  return bytes;
}

/* --- buffers --------------------------------------------------------------------------------- */

static amped_status allocate_splits(amped_redistribute *d) {
  static const char what[] = "the split iDps";
  uint64_t splits = most_splits(d->plan);
  uint64_t of_threads = 0;
  if (!amped_mul(splits, (uint64_t)d->threads, &of_threads))
    return amped_error(AMPED_FAILED, NULL, "too many split iDps: %" PRIu64, splits);
  AMPED_TRY(amped_alloc(&d->receivers, most_idps(d->plan), sizeof *d->receivers, what));
  AMPED_TRY(amped_alloc(&d->numbers, splits, sizeof *d->numbers, what));
  AMPED_TRY(amped_alloc(&d->in_slab, splits, sizeof *d->in_slab, what));
  AMPED_TRY(amped_alloc(&d->in_slabs, splits, sizeof *d->in_slabs, what));
  AMPED_TRY(amped_alloc(&d->passed, splits, sizeof *d->passed, what));
  return amped_alloc(&d->thread_splits, of_threads, sizeof *d->thread_splits, what);
}

static amped_status allocate(amped_redistribute *d) {
  static const char what[] = "the nonzeros in transit";
  const amped_tensor_info *info = d->info;
  const uint64_t nranks = (uint64_t)d->comm->nranks;
  if (d->parallel || d->comm->rank == 0) {
    AMPED_TRY(amped_alloc(&d->owners, d->part, sizeof *d->owners, what));
    AMPED_TRY(amped_alloc(&d->places, d->part, sizeof *d->places, what));
    AMPED_TRY(amped_alloc(&d->sent, d->part, sizeof(uint64_t), what));
  }
  AMPED_TRY(amped_alloc(&d->thread_counts, nranks * (uint64_t)d->threads, sizeof(uint64_t), what));
  AMPED_TRY(allocate_splits(d));
  AMPED_TRY(amped_calloc(&d->counts, nranks, sizeof *d->counts, what));
  AMPED_TRY(amped_calloc(&d->arriving, nranks, sizeof *d->arriving, what));
  AMPED_TRY(amped_calloc(&d->send_counts, nranks, sizeof *d->send_counts, what));
  AMPED_TRY(amped_calloc(&d->send_places, nranks, sizeof *d->send_places, what));
  AMPED_TRY(amped_calloc(&d->receive_counts, nranks, sizeof *d->receive_counts, what));
  AMPED_TRY(amped_calloc(&d->receive_places, nranks, sizeof *d->receive_places, what));
  for (int m = 0; m < info->order; m++)
    AMPED_TRY(d->worker->backend->device->host_alloc(
        d->worker->device, d->capacity * amped_itype_for(info->dims[m]), &d->indices[m]));
  return d->worker->backend->device->host_alloc(d->worker->device, d->capacity * info->value_type,
                                                &d->values);
}

amped_status amped_redistribute_create(const amped_comm *comm, amped_input *source, bool parallel,
                                       const amped_plan *plan, const amped_worker *worker,
                                       amped_redistribute **out) {
  amped_redistribute *d = NULL;
  AMPED_TRY(amped_calloc(out, 1, sizeof **out, "the nonzeros in transit"));
  d = *out;
  d->comm = comm;
  d->source = source;
  d->info = amped_input_info(source);
  d->plan = plan;
  d->worker = worker;
  d->parallel = parallel;
  d->part = part_of(d->info, comm->nranks, parallel);
  d->capacity = amped_redistribute_capacity_of(d->info, comm->nranks, parallel);
  d->threads = amped_slab_caller_threads(omp_get_max_threads());
  return allocate(d);
}

void amped_redistribute_destroy(amped_redistribute *d) {
  if (d == NULL)
    return;
  amped_free(d->owners);
  amped_free(d->places);
  amped_free(d->sent);
  amped_free(d->thread_counts);
  amped_free(d->receivers);
  amped_free(d->numbers);
  amped_free(d->in_slab);
  amped_free(d->in_slabs);
  amped_free(d->passed);
  amped_free(d->thread_splits);
  amped_free(d->counts);
  amped_free(d->arriving);
  amped_free(d->send_counts);
  amped_free(d->send_places);
  amped_free(d->receive_counts);
  amped_free(d->receive_places);
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    d->worker->backend->device->host_free(d->worker->device, d->indices[m]);
  d->worker->backend->device->host_free(d->worker->device, d->values);
  amped_free(d);
}

/* --- reading --------------------------------------------------------------------------------- */

amped_status amped_redistribute_read(const amped_comm *comm, amped_input *source, bool parallel,
                                     bool **wanted, amped_slab_reader **ring) {
  uint64_t slabs = amped_ceil_div(amped_input_info(source)->nnz, AMPED_SLAB_NNZ);
  uint64_t readers = (uint64_t)readers_of(comm->nranks, parallel);
  *wanted = NULL;
  *ring = NULL;
  if ((uint64_t)comm->rank >= readers)
    return AMPED_OK;
  AMPED_TRY(amped_calloc(wanted, slabs, sizeof **wanted, "the list of slabs"));
  for (uint64_t s = (uint64_t)comm->rank; s < slabs; s += readers)
    (*wanted)[s] = true;
  return amped_slab_reader_open(source, AMPED_INPUT_LIST, *wanted, ring);
}

/* This rank's next slab, if it has one. */
static amped_status next_slab(turn *t) {
  t->at = 0;
  t->slab = NULL;
  if (t->ring == NULL)
    return AMPED_OK;
  AMPED_TRY(amped_slab_reader_next(t->ring, &t->slab));
  if (t->slab == NULL) {
    amped_slab_reader_close(t->ring);
    t->ring = NULL;
  }
  return AMPED_OK;
}

/* Nonzeros of the next part of the slab, from t->at: none at its end. */
static uint64_t next_part(const amped_redistribute *d, const turn *t) {
  if (t->slab == NULL)
    return 0;
  return t->slab->count - t->at < d->part ? t->slab->count - t->at : d->part;
}

/* --- sending --------------------------------------------------------------------------------- */

static uint64_t part_begin(uint64_t count, int thread, int threads) {
  return count * (uint64_t)thread / (uint64_t)threads;
}

static amped_status changed(const amped_redistribute *d) {
  return amped_error(AMPED_BAD_INPUT, amped_input_path(d->source),
                     "changed while it was read; run again when it is complete");
}

static int receiver_of(const amped_redistribute *d, const amped_slab *slab, uint64_t i) {
  const amped_tensor_info *info = d->info;
  if (d->mode != BY_COORDINATE) {
    uint64_t index = amped_index_get(slab->indices[d->mode], info->index_types[d->mode], i);
    return d->receivers[index / d->plan->modes[d->mode].width];
  }
  uint64_t index[AMPED_MAX_ORDER];
  for (int m = 0; m < info->order; m++)
    index[m] = amped_index_get(slab->indices[m], info->index_types[m], i);
  return (int)(amped_nonzero_hash(info->order, index, 0.0) % (uint64_t)d->comm->nranks);
}

/* Each thread counts, in its part of the nonzeros, those of each rank and of each split. */
static void find_receivers(const amped_redistribute *d, const turn *t, uint64_t count) {
  const int nranks = d->comm->nranks;
#pragma omp parallel for schedule(static, 1) num_threads(d->threads)
  for (int thread = 0; thread < d->threads; thread++) {
    uint64_t *counts = d->thread_counts + (uint64_t)thread * (uint64_t)nranks;
    uint64_t *splits = d->thread_splits + (uint64_t)thread * d->splits;
    uint64_t end = part_begin(count, thread + 1, d->threads);
    memset(counts, 0, (size_t)nranks * sizeof *counts);
    for (uint64_t s = 0; s < d->splits; s++)
      splits[s] = 0;
    for (uint64_t i = part_begin(count, thread, d->threads); i < end; i++) {
      int receiver = receiver_of(d, t->slab, t->at + i);
      d->owners[i] = receiver;
      if (receiver < nranks)
        counts[receiver]++;
      else
        splits[receiver - nranks]++;
    }
  }
}

/* The first number of each thread in each split. False where there are more than were counted. */
static bool number_threads(const amped_redistribute *d) {
  const amped_split *splits = d->plan->modes[d->mode].splits;
  bool right = true;
  for (uint64_t s = 0; s < d->splits; s++) {
    for (int thread = 0; thread < d->threads; thread++) {
      uint64_t *own = &d->thread_splits[(uint64_t)thread * d->splits + s];
      uint64_t n = *own;
      *own = d->numbers[s];
      d->numbers[s] += n;
    }
    right = right && d->numbers[s] <= splits[s + 1].first;
  }
  return right;
}

/* Who gets which of the part's nonzeros. */
static amped_status find_owners(const amped_redistribute *d, const turn *t, uint64_t count) {
  const int nranks = d->comm->nranks;
  find_receivers(d, t, count);
  if (d->splits == 0)
    return AMPED_OK;
  if (!number_threads(d))
    return changed(d);
#pragma omp parallel for schedule(static, 1) num_threads(d->threads)
  for (int thread = 0; thread < d->threads; thread++) {
    uint64_t *counts = d->thread_counts + (uint64_t)thread * (uint64_t)nranks;
    uint64_t *numbers = d->thread_splits + (uint64_t)thread * d->splits;
    uint64_t end = part_begin(count, thread + 1, d->threads);
    for (uint64_t i = part_begin(count, thread, d->threads); i < end; i++) {
      if (d->owners[i] < nranks)
        continue;
      uint64_t number = numbers[d->owners[i] - nranks]++;
      d->owners[i] = amped_plan_split_rank(&d->plan->modes[d->mode], nranks, number);
      counts[d->owners[i]]++;
    }
  }
  return AMPED_OK;
}

/* Nonzeros of each owner behind each other, in the order of the list. */
static void place_nonzeros(const amped_redistribute *d, uint64_t count) {
  const int nranks = d->comm->nranks;
  uint64_t next = 0;
  for (int p = 0; p < nranks; p++) {
    d->counts[p] = next;
    for (int thread = 0; thread < d->threads; thread++) {
      uint64_t *own = &d->thread_counts[(uint64_t)thread * (uint64_t)nranks + (uint64_t)p];
      uint64_t n = *own;
      *own = next;
      next += n;
    }
    d->counts[p] = next - d->counts[p];
  }
#pragma omp parallel for schedule(static, 1) num_threads(d->threads)
  for (int thread = 0; thread < d->threads; thread++) {
    uint64_t *places = d->thread_counts + (uint64_t)thread * (uint64_t)nranks;
    uint64_t end = part_begin(count, thread + 1, d->threads);
    for (uint64_t i = part_begin(count, thread, d->threads); i < end; i++)
      d->places[i] = (uint32_t)places[d->owners[i]]++;
  }
}

AMPED_DEFINE_SCATTER(uint32_t)

/* The same for indices of a wider type than their dimension asks for. */
static void scatter_narrowed(const amped_redistribute *d, const turn *t, int m, uint64_t count) {
  const amped_itype from = d->info->index_types[m];
  const amped_itype to = amped_itype_for(d->info->dims[m]);
#pragma omp parallel for schedule(static)
  for (uint64_t i = 0; i < count; i++)
    amped_index_put(d->sent, to, d->places[i],
                    amped_index_get(t->slab->indices[m], from, t->at + i));
}

static MPI_Datatype mpi_type(uint64_t bytes) {
  return bytes == 1   ? MPI_UINT8_T
         : bytes == 2 ? MPI_UINT16_T
         : bytes == 4 ? MPI_UINT32_T
                      : MPI_UINT64_T;
}

/* Collective: one array of this round's nonzeros, which lie in d->sent, to where it is received. */
static void exchange_array(const amped_redistribute *d, uint64_t bytes, void *received) {
  AMPED_MPI(d->comm,
            MPI_Alltoallv(d->sent, d->send_counts, d->send_places, mpi_type(bytes), received,
                          d->receive_counts, d->receive_places, mpi_type(bytes), d->comm->mpi));
}

static void exchange_arrays(const amped_redistribute *d, const turn *t, uint64_t count) {
  const amped_tensor_info *info = d->info;
  for (int m = 0; m < info->order; m++) {
    uint64_t bytes = amped_itype_for(info->dims[m]);
    if (count > 0 && (uint64_t)info->index_types[m] == bytes)
      scatter(d->sent, (const char *)t->slab->indices[m] + t->at * bytes, bytes, d->places, count);
    else if (count > 0)
      scatter_narrowed(d, t, m, count);
    exchange_array(d, bytes, d->indices[m]);
  }
  if (count > 0)
    scatter(d->sent, (const char *)t->slab->values + t->at * info->value_type, info->value_type,
            d->places, count);
  exchange_array(d, info->value_type, d->values);
}

/* Collective: who gets how much from whom. False where some rank has failed; then nobody sends. */
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

/* What follows is of mode, from the start of the list. */
static void set_mode(amped_redistribute *d, int mode) {
  d->mode = mode;
  d->splits = 0;
  if (mode == BY_COORDINATE)
    return;
  const amped_mode_plan *m = &d->plan->modes[mode];
  d->splits = m->split_count;
  for (uint64_t i = 0; i < m->idp_count; i++)
    d->receivers[i] = m->owner[i];
  for (uint64_t s = 0; s < m->split_count; s++) {
    d->receivers[m->splits[s].idp] = d->comm->nranks + (int)s;
    d->passed[s] = m->splits[s].first;
  }
}

static void count_splits(const amped_redistribute *d, const amped_slab *slab) {
  const int nranks = d->comm->nranks;
  uint64_t *counts = d->in_slab;
  const uint64_t splits = d->splits;
#pragma omp parallel for schedule(static) reduction(+ : counts[:splits])
  for (uint64_t i = 0; i < slab->count; i++) {
    int receiver = receiver_of(d, slab, i);
    if (receiver >= nranks)
      counts[receiver - nranks]++;
  }
}

/* Collective: numbers of the first nonzeros of split iDps in this rank's slab. */
static void number_slab(amped_redistribute *d, const amped_slab *slab) {
  const int splits = amped_comm_count(d->comm, d->splits);
  if (splits == 0)
    return;
  memset(d->in_slab, 0, d->splits * sizeof *d->in_slab);
  if (slab != NULL)
    count_splits(d, slab);
  AMPED_MPI(d->comm,
            MPI_Exscan(d->in_slab, d->numbers, splits, MPI_UINT64_T, MPI_SUM, d->comm->mpi));
  if (d->comm->rank == 0)
    memset(d->numbers, 0, d->splits * sizeof *d->numbers);
  memcpy(d->in_slabs, d->in_slab, d->splits * sizeof *d->in_slabs);
  amped_comm_sum_u64(d->comm, d->in_slabs, splits);
  for (uint64_t s = 0; s < d->splits; s++) {
    d->numbers[s] += d->passed[s];
    d->passed[s] += d->in_slabs[s];
  }
}

/* --- rounds ---------------------------------------------------------------------------------- */

static amped_status take_received(const amped_redistribute *d, uint64_t received, uint64_t expected,
                                  amped_redistribute_receiver take, void *context) {
  amped_nonzeros nonzeros = {.count = received, .values = d->values};
  if (received > expected)
    return changed(d);
  for (int m = 0; m < d->info->order; m++)
    nonzeros.indices[m] = d->indices[m];
  return received > 0 ? take(context, &nonzeros) : AMPED_OK;
}

/* Collective. False where this was the end, for whatever reason. *status is this rank's own. */
static bool play_round(amped_redistribute *d, turn *t, uint64_t *expected,
                       amped_redistribute_receiver take, void *context, amped_status *status) {
  uint64_t count = *status == AMPED_OK ? next_part(d, t) : 0;
  uint64_t received = 0;
  memset(d->counts, 0, (size_t)d->comm->nranks * sizeof *d->counts);
  if (count > 0)
    *status = find_owners(d, t, count);
  if (count > 0 && *status == AMPED_OK)
    place_nonzeros(d, count);
  if (!exchange_counts(d, *status != AMPED_OK, &received))
    return false;
  exchange_arrays(d, t, count);
  t->at += count;
  *status = take_received(d, received, *expected, take, context);
  *expected -= received < *expected ? received : *expected;
  return true;
}

/* Collective: every reader redistributes one slab. */
static bool send_slabs(amped_redistribute *d, turn *t, uint64_t *expected,
                       amped_redistribute_receiver take, void *context, amped_status *status) {
  const uint64_t nnz = d->info->nnz < AMPED_SLAB_NNZ ? d->info->nnz : AMPED_SLAB_NNZ;
  bool go_on = true;
  if (*status == AMPED_OK)
    *status = next_slab(t);
  number_slab(d, *status == AMPED_OK ? t->slab : NULL);
  for (uint64_t at = 0; at < nnz && go_on; at += d->part)
    go_on = play_round(d, t, expected, take, context, status);
  return go_on;
}

/* Collective. *left = those of the expected nonzeros that did not come. */
static amped_status send_list(amped_redistribute *d, int mode, uint64_t progress_before,
                              uint64_t *left, amped_redistribute_receiver take, void *context) {
  const uint64_t nnz = d->info->nnz;
  const uint64_t readers = (uint64_t)readers_of(d->comm->nranks, d->parallel);
  const uint64_t turns = amped_ceil_div(amped_ceil_div(nnz, AMPED_SLAB_NNZ), readers);
  turn t = {.ring = NULL};
  amped_status status =
      amped_redistribute_read(d->comm, d->source, d->parallel, &t.wanted, &t.ring);
  bool go_on = true;
  set_mode(d, mode);
  for (uint64_t r = 0; r < turns && go_on; r++) {
    go_on = send_slabs(d, &t, left, take, context, &status);
    amped_progress_update(progress_before +
                          (uint64_t)((double)nnz * (double)(r + 1) / (double)turns));
  }
  amped_slab_reader_close(t.ring);
  amped_free(t.wanted);
  return status;
}

amped_status amped_redistribute_mode(amped_redistribute *d, int mode, uint64_t progress_before,
                                     amped_redistribute_receiver take, void *context) {
  uint64_t left = d->plan->modes[mode].rank_nnz[d->plan->rank];
  amped_status status = send_list(d, mode, progress_before, &left, take, context);
  status = amped_comm_agree(d->comm, status);
  if (status == AMPED_OK)
    status = amped_comm_agree(d->comm, left > 0 ? changed(d) : AMPED_OK);
  return status;
}

amped_status amped_redistribute_coordinates(amped_redistribute *d, amped_redistribute_receiver take,
                                            void *context) {
  uint64_t left = d->info->nnz;
  amped_status status = send_list(d, BY_COORDINATE, 0, &left, take, context);
  return amped_comm_agree(d->comm, status);
}
