/* List source: passes over a coordinate list, read once and held, or read every time. */
#include "load/list_source.h"

#include <string.h>

#include "base/mem.h"

/* Most nonzeros that a rank receives in a round: MPI counts them, and their places, in an int. */
#define RECEIVED_NNZ (UINT64_C(1) << 23)

/* A list is held if it takes at most 1/HELD_PART of the device's memory: copies, and memory for
 * sorting them, are needed in addition. */
#define HELD_PART 4

/* In place of a count: rank 0 cannot continue reading. */
#define FAILED UINT64_MAX

struct amped_list_source {
  const amped_comm *comm;
  amped_input *input;
  const amped_tensor_info *info;
  const amped_worker *worker;
  const uint64_t *parts; /* [nranks] nonzeros of an input in parts; NULL: not in parts */
  uint64_t longest;      /* nonzeros of the longest part */
  bool parallel;
  bool held;
  bool filled; /* all nonzeros of this rank are in its list part */
  amped_list_shape shape;
  amped_list_part *part;
  uint64_t own; /* nonzeros of this rank's slabs, or of its part */
  uint64_t device_bytes;
  /* The pass: */
  uint64_t turn;
  bool *wanted; /* [slabs] slabs that this rank reads */
  amped_slab_reader *reader;
  amped_slab slab; /* slab received from rank 0 */
  bool lost;       /* rank 0 cannot continue reading */
  amped_status status;
};

static uint64_t slabs_of(const amped_list_source *s) {
  return amped_ceil_div(s->info->nnz, AMPED_SLAB_NNZ);
}

/* Slabs of a rank in a turn: for a held list, the number that ranks can receive; else 1. */
static uint64_t turn_slabs(const amped_list_source *s) {
  const uint64_t nranks = (uint64_t)s->comm->nranks;
  const uint64_t most = RECEIVED_NNZ / AMPED_SLAB_NNZ / nranks;
  const uint64_t even = slabs_of(s) / nranks;
  const uint64_t slabs = most < even ? most : even;
  return s->held && slabs > 1 ? slabs : 1;
}

/* Number of ranks that have slabs in a turn. */
static uint64_t readers_of(const amped_list_source *s) {
  return s->held || s->parallel || s->parts != NULL ? (uint64_t)s->comm->nranks : 1;
}

/* Does rank 0 send slabs to other ranks in this pass? */
static bool sends_slabs(const amped_list_source *s) {
  return s->held && !s->filled && !s->parallel && s->parts == NULL && s->comm->nranks > 1;
}

static uint64_t turn_of_parts(const amped_list_source *s) {
  return s->held || s->longest < AMPED_SLAB_NNZ ? s->longest : AMPED_SLAB_NNZ;
}

uint64_t amped_list_source_turn_nnz(const amped_list_source *s) {
  const uint64_t turn = turn_slabs(s) * AMPED_SLAB_NNZ;
  if (s->parts != NULL)
    return turn_of_parts(s);
  return s->info->nnz < turn ? s->info->nnz : turn;
}

static uint64_t count_at(uint64_t first, uint64_t turn, uint64_t nnz) {
  if (first >= nnz)
    return 0;
  return nnz - first < turn ? nnz - first : turn;
}

/* Nonzeros of the number-th share. Shares are assigned round-robin to ranks. */
static uint64_t share_count(const amped_list_source *s, uint64_t number) {
  const uint64_t nranks = (uint64_t)s->comm->nranks;
  if (s->parts != NULL)
    return count_at(number / nranks * turn_of_parts(s), turn_of_parts(s),
                    s->parts[number % nranks]);
  const uint64_t turn = turn_slabs(s) * AMPED_SLAB_NNZ;
  return count_at(number * turn, turn, s->info->nnz);
}

/* Nonzeros of all shares of a rank. */
static uint64_t nnz_of(const amped_list_source *s, int rank, uint64_t readers) {
  uint64_t sum = 0;
  for (uint64_t k = (uint64_t)rank; share_count(s, k) > 0; k += readers)
    sum += share_count(s, k);
  return sum;
}

/* --- memory ---------------------------------------------------------------------------------- */

/* Sets the sizes of the list part. The windows of one round contain distinct nonzeros. */
static void set_shape(amped_list_source *s) {
  const amped_tensor_info *info = s->info;
  const uint64_t readers = readers_of(s);
  const uint64_t turn = amped_list_source_turn_nnz(s);
  amped_list_shape *shape = &s->shape;
  memset(shape, 0, sizeof *shape);
  shape->order = info->order;
  memcpy(shape->dims, info->dims, sizeof shape->dims);
  memcpy(shape->index_types, info->index_types, sizeof shape->index_types);
  shape->value_type = info->value_type;
  shape->nranks = s->comm->nranks;
  shape->device_mpi = s->comm->cuda_aware;
  s->own = (uint64_t)s->comm->rank < readers ? nnz_of(s, s->comm->rank, readers) : 0;
  shape->capacity = s->held || s->own < turn ? s->own : turn;
  shape->window = RECEIVED_NNZ / readers > 0 ? RECEIVED_NNZ / readers : 1;
  shape->window = shape->window < turn ? shape->window : turn;
  shape->arriving = shape->window * readers < info->nnz ? shape->window * readers : info->nnz;
}

/* Collective: does every rank have memory to hold its slabs? A list in host memory is not held a
 * second time there. */
static bool has_room(const amped_list_source *s) {
  uint64_t device_bytes = 0;
  uint64_t host_bytes = 0;
  uint64_t without = 0;
  s->worker->backend->lists->require(s->worker->device, &s->shape, &device_bytes, &host_bytes);
  const uint64_t room = s->worker->backend->device->memory(s->worker->device);
  const bool shares = s->worker->backend->shares_cores;
  const uint64_t ranks = shares ? (uint64_t)s->comm->local_size : 1;
  without = device_bytes + host_bytes > room / ranks / HELD_PART ||
            (amped_input_in_memory(s->input) && shares);
  amped_comm_sum_u64(s->comm, &without, 1);
  return without == 0;
}

/* Collective. Makes the list part; the shape must be set. */
static amped_status make_part(amped_list_source *s) {
  uint64_t host_bytes = 0;
  s->worker->backend->lists->require(s->worker->device, &s->shape, &s->device_bytes, &host_bytes);
  return amped_comm_agree(
      s->comm, s->worker->backend->lists->create(s->worker->device, &s->shape, &s->part));
}

amped_status amped_list_source_open(const amped_comm *comm, amped_input *input, bool parallel,
                                    const amped_worker *worker, amped_list_source **out) {
  amped_list_source *s = NULL;
  amped_status status = amped_calloc(&s, 1, sizeof *s, "the list");
  *out = NULL;
  AMPED_TRY(amped_comm_agree(comm, status));
  s->comm = comm;
  s->input = input;
  s->info = amped_input_info(input);
  s->parts = amped_input_part_counts(input);
  for (int p = 0; p < comm->nranks && s->parts != NULL; p++)
    s->longest = s->parts[p] > s->longest ? s->parts[p] : s->longest;
  s->parallel = parallel;
  s->worker = worker;
  s->held = true;
  set_shape(s);
  if (!has_room(s)) {
    s->held = false;
    set_shape(s);
  }
  status = make_part(s);
  if (status == AMPED_OK)
    *out = s;
  else
    amped_list_source_close(s);
  return status;
}

void amped_list_source_close(amped_list_source *s) {
  if (s == NULL)
    return;
  amped_slab_reader_close(s->reader);
  amped_free(s->wanted);
  amped_slab_free(&s->slab, s->worker);
  s->worker->backend->lists->destroy(s->part);
  amped_free(s);
}

amped_status amped_list_source_release(amped_list_source *s) {
  if (!s->held)
    return AMPED_OK;
  s->worker->backend->lists->destroy(s->part);
  s->part = NULL;
  s->held = false;
  s->filled = false;
  set_shape(s);
  return make_part(s);
}

/* --- queries ---------------------------------------------------------------------------------- */

bool amped_list_source_held(const amped_list_source *s) {
  return s->held;
}

/* Does this rank read the file in future passes? */
static bool reads(const amped_list_source *s) {
  return !s->filled && s->parts == NULL && (s->parallel || s->comm->rank == 0);
}

amped_list_part *amped_list_source_part(const amped_list_source *s) {
  return s->part;
}

uint64_t amped_list_source_device_bytes(const amped_list_source *s) {
  return s->device_bytes;
}

uint64_t amped_list_source_host_bytes(const amped_list_source *s) {
  return reads(s) ? amped_slab_reader_bytes(s->info) : 0;
}

uint64_t amped_list_source_window(const amped_list_source *s) {
  return s->shape.window;
}

uint64_t amped_list_source_arriving(const amped_list_source *s) {
  return s->shape.arriving;
}

uint64_t amped_list_source_turns(const amped_list_source *s) {
  if (s->parts != NULL)
    return amped_ceil_div(s->longest, turn_of_parts(s));
  return amped_ceil_div(slabs_of(s), turn_slabs(s) * readers_of(s));
}

/* --- a pass ---------------------------------------------------------------------------------- */

static amped_status open_reader(amped_list_source *s) {
  const uint64_t readers = s->parallel ? (uint64_t)s->comm->nranks : 1;
  AMPED_TRY(amped_calloc(&s->wanted, slabs_of(s), sizeof *s->wanted, "the list of slabs"));
  for (uint64_t i = 0; i < slabs_of(s); i++)
    s->wanted[i] = i / turn_slabs(s) % readers == (uint64_t)s->comm->rank % readers;
  return amped_slab_reader_open(s->input, AMPED_INPUT_LIST, s->wanted, s->worker, &s->reader);
}

amped_status amped_list_source_begin(amped_list_source *s) {
  s->turn = 0;
  s->lost = false;
  s->status = AMPED_OK;
  if (!s->filled)
    s->worker->backend->lists->clear(s->part);
  if (reads(s))
    s->status = open_reader(s);
  else if (sends_slabs(s))
    s->status = amped_slab_create(&s->slab, s->info, amped_slab_nnz(s->info), s->worker);
  if (sends_slabs(s)) /* a slab is sent only if every rank has memory for it */
    s->status = amped_comm_agree(s->comm, s->status);
  return s->status;
}

/* Appends the rank's next slab to the list part. NULL: no slab is left. */
static void append_slab(amped_list_source *s, const amped_slab *slab) {
  if (s->status == AMPED_OK && slab != NULL)
    s->status =
        s->worker->backend->lists->append(s->part, slab->count, slab->indices, slab->values);
  if (s->status == AMPED_OK && slab != NULL)
    amped_input_count_values(s->input, s->info->value_type, slab->count, slab->values);
}

/* Reads the next slab; NULL at the end, and after a failure. */
static const amped_slab *read_slab(amped_list_source *s) {
  const amped_slab *slab = NULL;
  if (s->status == AMPED_OK && s->reader != NULL)
    s->status = amped_slab_reader_next(s->reader, &slab);
  return s->status == AMPED_OK ? slab : NULL;
}

/* Rank 0: sends a slab to a rank. */
static void send_slab(const amped_list_source *s, const amped_slab *slab, int rank) {
  for (int m = 0; m < s->info->order; m++)
    AMPED_MPI(s->comm, MPI_Send(slab->indices[m],
                                amped_comm_count(s->comm, slab->count * s->info->index_types[m]),
                                MPI_BYTE, rank, m, s->comm->mpi));
  AMPED_MPI(s->comm,
            MPI_Send(slab->values, amped_comm_count(s->comm, slab->count * s->info->value_type),
                     MPI_BYTE, rank, s->info->order, s->comm->mpi));
}

static void receive_slab(const amped_list_source *s, const amped_slab *slab) {
  for (int m = 0; m < s->info->order; m++)
    AMPED_MPI(s->comm, MPI_Recv(slab->indices[m],
                                amped_comm_count(s->comm, slab->count * s->info->index_types[m]),
                                MPI_BYTE, 0, m, s->comm->mpi, MPI_STATUS_IGNORE));
  AMPED_MPI(s->comm,
            MPI_Recv(slab->values, amped_comm_count(s->comm, slab->count * s->info->value_type),
                     MPI_BYTE, 0, s->info->order, s->comm->mpi, MPI_STATUS_IGNORE));
}

/* Rank 0: reads a slab for `rank`. Rank 0 keeps its own slab; other ranks are sent the count, then
 * the slab. */
static void read_for(amped_list_source *s, int rank) {
  const amped_slab *slab = read_slab(s);
  uint64_t count = s->status != AMPED_OK ? FAILED : slab != NULL ? slab->count : 0;
  if (rank == 0) {
    append_slab(s, slab);
    return;
  }
  AMPED_MPI(s->comm, MPI_Send(&count, 1, MPI_UINT64_T, rank, AMPED_MAX_ORDER + 1, s->comm->mpi));
  if (slab != NULL)
    send_slab(s, slab, rank);
}

/* Rank 0: reads a turn's slabs, the same number for every rank. */
static void send_turn(amped_list_source *s) {
  const uint64_t slabs = turn_slabs(s);
  for (int p = 0; p < s->comm->nranks; p++)
    for (uint64_t i = 0; i < slabs; i++)
      read_for(s, p);
}

static void receive_next(amped_list_source *s) {
  amped_slab *slab = &s->slab;
  AMPED_MPI(s->comm, MPI_Recv(&slab->count, 1, MPI_UINT64_T, 0, AMPED_MAX_ORDER + 1, s->comm->mpi,
                              MPI_STATUS_IGNORE));
  s->lost = s->lost || slab->count == FAILED;
  if (s->lost || slab->count == 0)
    return;
  receive_slab(s, slab);
  append_slab(s, slab);
}

/* Appends the turn's share of this rank's part. */
static void append_own(amped_list_source *s) {
  const amped_input_part *own = amped_input_own_part(s->input);
  const uint64_t first = s->turn * turn_of_parts(s);
  amped_slab slab = {.first = first, .count = count_at(first, turn_of_parts(s), own->count)};
  for (int m = 0; m < s->info->order && slab.count > 0; m++)
    slab.indices[m] = (char *)own->indices[m] + first * s->info->index_types[m];
  slab.values = (double *)own->values + first;
  append_slab(s, slab.count > 0 ? &slab : NULL);
}

/* Fills this turn's window of the list part. */
static void fill_window(amped_list_source *s) {
  const uint64_t slabs = turn_slabs(s);
  if (sends_slabs(s) && s->comm->rank == 0) {
    send_turn(s);
    return;
  }
  if (!s->held)
    s->worker->backend->lists->clear(s->part);
  if (s->parts != NULL) {
    append_own(s);
    return;
  }
  for (uint64_t i = 0; i < slabs; i++)
    if (sends_slabs(s))
      receive_next(s);
    else
      append_slab(s, read_slab(s));
}

amped_status amped_list_source_next(amped_list_source *s, uint64_t *first, uint64_t *count) {
  const uint64_t readers = readers_of(s);
  const bool has = (uint64_t)s->comm->rank < readers;
  if (!s->filled)
    fill_window(s);
  *first = s->held ? s->turn * amped_list_source_turn_nnz(s) : 0;
  *count = has ? share_count(s, s->turn * readers + (uint64_t)s->comm->rank) : 0;
  s->turn++;
  if (s->status != AMPED_OK || s->lost)
    *count = 0;
  return s->status;
}

amped_status amped_list_source_end(amped_list_source *s) {
  amped_slab_reader_close(s->reader);
  s->reader = NULL;
  amped_free(s->wanted);
  s->wanted = NULL;
  amped_slab_free(&s->slab, s->worker);
  s->filled = s->held && s->status == AMPED_OK && !s->lost && s->turn == amped_list_source_turns(s);
  return s->status;
}
