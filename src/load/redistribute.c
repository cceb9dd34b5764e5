#include "load/redistribute.h"

#include <omp.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "backend/scatter.h"

/* Nonzeros that a rank receives in a round at most: MPI counts them, and their places, in an int.
 */
#define RECEIVED_NNZ (UINT64_C(1) << 23)

/* In place of a mode: nonzeros go by their coordinates. */
#define BY_COORDINATE (-1)

/* In place of a count: the sender has failed. */
#define FAILED UINT64_MAX

struct amped_redistribute {
  const amped_comm *comm;
  amped_input *input;
  const amped_tensor_info *info;
  const amped_plan *plan;
  const amped_worker *worker;
  bool parallel;
  uint64_t part;     /* nonzeros of a slab that a reader redistributes in a round */
  uint64_t capacity; /* nonzeros that a rank receives in a round at most */
  int threads;
  /* The part in hand, on ranks that read; element i is the part's nonzero i: */
  int *receivers;          /* [part] the rank that gets it; before that, see find_receivers */
  uint32_t *places;        /* [part] its place in `sent` */
  void *sent;              /* [part] one array of all nonzeros, in the order of receivers */
  uint64_t *thread_counts; /* [threads][nranks] nonzeros of every rank in a thread's range */
  uint64_t *thread_splits; /* [threads][splits] nonzeros of every split iDp in a thread's range */
  /* The mode in hand: */
  int mode;           /* or BY_COORDINATE */
  uint64_t splits;    /* split iDps of the mode */
  int *idp_receivers; /* [most iDps] the rank that gets an iDp, or nranks + number of its split */
  uint64_t *numbers;  /* [splits] of the next nonzero that this rank redistributes */
  uint64_t *in_slab;  /* [splits] nonzeros in this rank's slab */
  uint64_t *in_slabs; /* [splits] nonzeros in the slabs of all readers */
  uint64_t *passed;   /* [splits] number of the first nonzero in the slabs to come */
  /* One round, [nranks] each: */
  uint64_t *counts;   /* nonzeros for every rank */
  uint64_t *arriving; /* nonzeros from every rank */
  int *send_counts, *send_places, *receive_counts, *receive_places;
  /* [capacity] nonzeros that have arrived, host memory of the backend: */
  void *indices[AMPED_MAX_ORDER];
  void *values;
};

/* One pass over the list on this rank. */
typedef struct pass {
  bool *wanted;              /* [slabs] that this rank reads */
  amped_slab_reader *reader; /* NULL where nothing is left to read */
  const amped_slab *slab;    /* NULL where nothing is left to send */
  uint64_t sent;             /* nonzeros of the slab sent so far */
  uint64_t expected;         /* nonzeros that are yet to arrive */
  amped_redistribute_receiver take;
  void *context;       /* of take */
  amped_status status; /* of this rank */
} pass;

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
    most = plan->modes[m].rows.idp_count > most ? plan->modes[m].rows.idp_count : most;
  return most;
}

static uint64_t most_splits(const amped_plan *plan) {
  uint64_t most = 0;
  for (int m = 0; m < plan->order; m++)
    most = plan->modes[m].copy.split_count > most ? plan->modes[m].copy.split_count : most;
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
  AMPED_TRY(amped_alloc(&d->idp_receivers, most_idps(d->plan), sizeof *d->idp_receivers, what));
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
    AMPED_TRY(amped_alloc(&d->receivers, d->part, sizeof *d->receivers, what));
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

amped_status amped_redistribute_create(const amped_comm *comm, amped_input *input, bool parallel,
                                       const amped_plan *plan, const amped_worker *worker,
                                       amped_redistribute **out) {
  amped_redistribute *d = NULL;
  AMPED_TRY(amped_calloc(out, 1, sizeof **out, "the nonzeros in transit"));
  d = *out;
  d->comm = comm;
  d->input = input;
  d->info = amped_input_info(input);
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
  amped_free(d->receivers);
  amped_free(d->places);
  amped_free(d->sent);
  amped_free(d->thread_counts);
  amped_free(d->idp_receivers);
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

amped_status amped_redistribute_read(const amped_comm *comm, amped_input *input, bool parallel,
                                     bool **wanted, amped_slab_reader **reader) {
  uint64_t slabs = amped_ceil_div(amped_input_info(input)->nnz, AMPED_SLAB_NNZ);
  uint64_t readers = (uint64_t)readers_of(comm->nranks, parallel);
  *wanted = NULL;
  *reader = NULL;
  if ((uint64_t)comm->rank >= readers)
    return AMPED_OK;
  AMPED_TRY(amped_calloc(wanted, slabs, sizeof **wanted, "the list of slabs"));
  for (uint64_t s = (uint64_t)comm->rank; s < slabs; s += readers)
    (*wanted)[s] = true;
  return amped_slab_reader_open(input, AMPED_INPUT_LIST, *wanted, reader);
}

/* This rank's next slab, if it has one. */
static amped_status next_slab(pass *s) {
  s->sent = 0;
  s->slab = NULL;
  if (s->reader == NULL)
    return AMPED_OK;
  AMPED_TRY(amped_slab_reader_next(s->reader, &s->slab));
  if (s->slab == NULL) {
    amped_slab_reader_close(s->reader);
    s->reader = NULL;
  }
  return AMPED_OK;
}

/* Nonzeros of the slab's next part; 0 at its end. */
static uint64_t next_part(const amped_redistribute *d, const pass *s) {
  if (s->slab == NULL)
    return 0;
  return s->slab->count - s->sent < d->part ? s->slab->count - s->sent : d->part;
}

/* --- who gets a part's nonzeros ----------------------------------------------------------------
 */

/* A part of `count` nonzeros is cut into one range a thread. Four steps follow, each but the second
 * by all threads:
 *
 *   find_receivers   A nonzero of an iDp with one owner goes to that rank. A nonzero of a split iDp
 *                    goes by its number in the split, which is not known yet.
 *   number_threads   From the threads' counts: the number of each range's first nonzero in each
 *                    split.
 *   split_receivers  Every nonzero of a split iDp gets its number, and so its rank.
 *   place_nonzeros   Nonzeros of one rank come one behind another, in the order of the list. */

static amped_status changed(const amped_redistribute *d) {
  return amped_error(AMPED_BAD_INPUT, amped_input_path(d->input),
                     "changed while it was read; run again when it is complete");
}

/* The first nonzero of a thread's range. */
static uint64_t range_begin(const amped_redistribute *d, int thread, uint64_t count) {
  return count * (uint64_t)thread / (uint64_t)d->threads;
}

static uint64_t *counts_of(const amped_redistribute *d, int thread) {
  return d->thread_counts + (uint64_t)thread * (uint64_t)d->comm->nranks;
}

static uint64_t *splits_of(const amped_redistribute *d, int thread) {
  return d->thread_splits + (uint64_t)thread * d->splits;
}

/* The rank that gets nonzero i of a slab, or nranks + number of the split that it is of. */
static int receiver_of(const amped_redistribute *d, const amped_slab *slab, uint64_t i) {
  const amped_tensor_info *info = d->info;
  if (d->mode != BY_COORDINATE) {
    uint64_t index = amped_index_get(slab->indices[d->mode], info->index_types[d->mode], i);
    return d->idp_receivers[index / d->plan->modes[d->mode].rows.width];
  }
  uint64_t index[AMPED_MAX_ORDER];
  for (int m = 0; m < info->order; m++)
    index[m] = amped_index_get(slab->indices[m], info->index_types[m], i);
  return (int)(amped_nonzero_hash(info->order, index, 0.0) % (uint64_t)d->comm->nranks);
}

/* Fills receivers (see receiver_of), and each thread's counts of ranks and of splits. */
static void find_receivers(const amped_redistribute *d, const pass *s, uint64_t count) {
  const int nranks = d->comm->nranks;
#pragma omp parallel for schedule(static, 1) num_threads(d->threads)
  for (int thread = 0; thread < d->threads; thread++) {
    uint64_t *counts = counts_of(d, thread);
    uint64_t *splits = splits_of(d, thread);
    uint64_t end = range_begin(d, thread + 1, count);
    memset(counts, 0, (size_t)nranks * sizeof *counts);
    for (uint64_t k = 0; k < d->splits; k++)
      splits[k] = 0;
    for (uint64_t i = range_begin(d, thread, count); i < end; i++) {
      int receiver = receiver_of(d, s->slab, s->sent + i);
      d->receivers[i] = receiver;
      if (receiver < nranks)
        counts[receiver]++;
      else
        splits[receiver - nranks]++;
    }
  }
}

/* Counts of splits become numbers of the threads' first nonzeros. False where a split has more
 * nonzeros than were counted. */
static bool number_threads(const amped_redistribute *d) {
  const amped_split *splits = d->plan->modes[d->mode].copy.splits;
  bool right = true;
  for (uint64_t k = 0; k < d->splits; k++) {
    for (int thread = 0; thread < d->threads; thread++) {
      uint64_t *own = &splits_of(d, thread)[k];
      uint64_t n = *own;
      *own = d->numbers[k];
      d->numbers[k] += n;
    }
    right = right && d->numbers[k] <= splits[k + 1].first;
  }
  return right;
}

static void split_receivers(const amped_redistribute *d, uint64_t count) {
  const int nranks = d->comm->nranks;
#pragma omp parallel for schedule(static, 1) num_threads(d->threads)
  for (int thread = 0; thread < d->threads; thread++) {
    uint64_t *counts = counts_of(d, thread);
    uint64_t *numbers = splits_of(d, thread);
    uint64_t end = range_begin(d, thread + 1, count);
    for (uint64_t i = range_begin(d, thread, count); i < end; i++) {
      if (d->receivers[i] < nranks)
        continue;
      uint64_t number = numbers[d->receivers[i] - nranks]++;
      d->receivers[i] = amped_plan_split_rank(&d->plan->modes[d->mode], nranks, number);
      counts[d->receivers[i]]++;
    }
  }
}

/* Fills counts and places. Each thread's counts become its next places. */
static void place_nonzeros(const amped_redistribute *d, uint64_t count) {
  uint64_t next = 0;
  for (int p = 0; p < d->comm->nranks; p++) {
    uint64_t first = next;
    for (int thread = 0; thread < d->threads; thread++) {
      uint64_t *own = &counts_of(d, thread)[p];
      uint64_t n = *own;
      *own = next;
      next += n;
    }
    d->counts[p] = next - first;
  }
#pragma omp parallel for schedule(static, 1) num_threads(d->threads)
  for (int thread = 0; thread < d->threads; thread++) {
    uint64_t *places = counts_of(d, thread);
    uint64_t end = range_begin(d, thread + 1, count);
    for (uint64_t i = range_begin(d, thread, count); i < end; i++)
      d->places[i] = (uint32_t)places[d->receivers[i]]++;
  }
}

/* All four steps for the next `count` nonzeros of the slab. */
static amped_status sort_part(const amped_redistribute *d, const pass *s, uint64_t count) {
  find_receivers(d, s, count);
  if (d->splits > 0) {
    if (!number_threads(d))
      return changed(d);
    split_receivers(d, count);
  }
  place_nonzeros(d, count);
  return AMPED_OK;
}

/* --- sending ---------------------------------------------------------------------------------- */

AMPED_DEFINE_SCATTER(uint32_t)

/* The same for indices of a wider type than their dimension asks for. */
static void scatter_narrowed(const amped_redistribute *d, const pass *s, int m, uint64_t count) {
  const amped_itype from = d->info->index_types[m];
  const amped_itype to = amped_itype_for(d->info->dims[m]);
#pragma omp parallel for schedule(static)
  for (uint64_t i = 0; i < count; i++)
    amped_index_put(d->sent, to, d->places[i],
                    amped_index_get(s->slab->indices[m], from, s->sent + i));
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

static void exchange_arrays(const amped_redistribute *d, const pass *s, uint64_t count) {
  const amped_tensor_info *info = d->info;
  for (int m = 0; m < info->order; m++) {
    uint64_t bytes = amped_itype_for(info->dims[m]);
    if (count > 0 && (uint64_t)info->index_types[m] == bytes)
      scatter(d->sent, (const char *)s->slab->indices[m] + s->sent * bytes, bytes, d->places,
              count);
    else if (count > 0)
      scatter_narrowed(d, s, m, count);
    exchange_array(d, bytes, d->indices[m]);
  }
  if (count > 0)
    scatter(d->sent, (const char *)s->slab->values + s->sent * info->value_type, info->value_type,
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

/* The next pass redistributes for this mode, or BY_COORDINATE. */
static void set_mode(amped_redistribute *d, int mode) {
  d->mode = mode;
  d->splits = 0;
  if (mode == BY_COORDINATE)
    return;
  const amped_mode_plan *m = &d->plan->modes[mode];
  d->splits = m->copy.split_count;
  for (uint64_t i = 0; i < m->rows.idp_count; i++)
    d->idp_receivers[i] = m->rows.owner[i];
  for (uint64_t k = 0; k < m->copy.split_count; k++) {
    d->idp_receivers[m->copy.splits[k].idp] = d->comm->nranks + (int)k;
    d->passed[k] = m->copy.splits[k].first;
  }
}

/* in_slab[k] += nonzeros of split k. */
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

/* Collective: numbers[k] = number of the first nonzero of split k in this rank's slab. Slabs of
 * lower ranks come before it in the list. */
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
  for (uint64_t k = 0; k < d->splits; k++) {
    d->numbers[k] += d->passed[k];
    d->passed[k] += d->in_slabs[k];
  }
}

/* --- rounds ---------------------------------------------------------------------------------- */

static amped_status take_received(const amped_redistribute *d, pass *s, uint64_t received) {
  amped_nonzeros nonzeros = {.count = received, .values = d->values};
  if (received > s->expected)
    return changed(d);
  s->expected -= received;
  for (int m = 0; m < d->info->order; m++)
    nonzeros.indices[m] = d->indices[m];
  return received > 0 ? s->take(s->context, &nonzeros) : AMPED_OK;
}

/* Collective: every reader redistributes a part of its slab. False where some rank has failed. */
static bool send_part(amped_redistribute *d, pass *s) {
  uint64_t count = s->status == AMPED_OK ? next_part(d, s) : 0;
  uint64_t received = 0;
  memset(d->counts, 0, (size_t)d->comm->nranks * sizeof *d->counts);
  if (count > 0)
    s->status = sort_part(d, s, count);
  if (!exchange_counts(d, s->status != AMPED_OK, &received))
    return false;
  exchange_arrays(d, s, count);
  s->sent += count;
  s->status = take_received(d, s, received);
  return true;
}

/* Collective: every reader redistributes one slab. False where some rank has failed. */
static bool send_slabs(amped_redistribute *d, pass *s) {
  const uint64_t nnz = d->info->nnz < AMPED_SLAB_NNZ ? d->info->nnz : AMPED_SLAB_NNZ;
  bool go_on = true;
  if (s->status == AMPED_OK)
    s->status = next_slab(s);
  number_slab(d, s->status == AMPED_OK ? s->slab : NULL);
  for (uint64_t at = 0; at < nnz && go_on; at += d->part)
    go_on = send_part(d, s);
  return go_on;
}

/* Collective. The status is this rank's own. */
static amped_status send_list(amped_redistribute *d, int mode, uint64_t progress_before, pass *s) {
  const uint64_t nnz = d->info->nnz;
  const uint64_t readers = (uint64_t)readers_of(d->comm->nranks, d->parallel);
  const uint64_t turns = amped_ceil_div(amped_ceil_div(nnz, AMPED_SLAB_NNZ), readers);
  bool go_on = true;
  s->status = amped_redistribute_read(d->comm, d->input, d->parallel, &s->wanted, &s->reader);
  set_mode(d, mode);
  for (uint64_t turn = 0; turn < turns && go_on; turn++) {
    go_on = send_slabs(d, s);
    amped_progress_update(progress_before +
                          (uint64_t)((double)nnz * (double)(turn + 1) / (double)turns));
  }
  amped_slab_reader_close(s->reader);
  amped_free(s->wanted);
  return s->status;
}

amped_status amped_redistribute_mode(amped_redistribute *d, int mode, uint64_t progress_before,
                                     amped_redistribute_receiver take, void *context) {
  pass s = {.expected = d->plan->modes[mode].copy.rank_nnz[d->plan->rank],
            .take = take,
            .context = context};
  AMPED_TRY(amped_comm_agree(d->comm, send_list(d, mode, progress_before, &s)));
  return amped_comm_agree(d->comm, s.expected > 0 ? changed(d) : AMPED_OK);
}

amped_status amped_redistribute_coordinates(amped_redistribute *d, amped_redistribute_receiver take,
                                            void *context) {
  pass s = {.expected = d->info->nnz, .take = take, .context = context};
  return amped_comm_agree(d->comm, send_list(d, BY_COORDINATE, 0, &s));
}
