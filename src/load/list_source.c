#include "load/list_source.h"

#include <string.h>

#include "base/mem.h"

/* Nonzeros that a rank receives in a round at most: MPI counts them, and their places, in an int.
 */
#define RECEIVED_NNZ (UINT64_C(1) << 23)

/* A list is held where it takes at most this part of the device's memory: copies, and room to sort
 * them, come on top. */
#define HELD_PART 4

/* In place of a count: rank 0 cannot read on. */
#define FAILED UINT64_MAX

struct amped_list_source {
  const amped_comm *comm;
  amped_input *input;
  const amped_tensor_info *info;
  const amped_worker *worker;
  bool parallel;
  bool held;
  bool filled; /* all nonzeros of this rank are in its part */
  amped_list_shape shape;
  amped_list_part *part;
  uint64_t own; /* nonzeros of this rank's slabs, where it has slabs */
  uint64_t device_bytes;
  /* The pass: */
  uint64_t turn;
  bool *wanted; /* [slabs] that this rank reads; NULL: all */
  amped_slab_reader *reader;
  void *indices[AMPED_MAX_ORDER]; /* a slab that rank 0 sent */
  void *values;
  bool lost; /* rank 0 cannot read on */
  amped_status status;
};

static uint64_t slabs_of(const amped_list_source *s) {
  return amped_ceil_div(s->info->nnz, AMPED_SLAB_NNZ);
}

/* Ranks that have slabs in a turn. */
static uint64_t readers_of(const amped_list_source *s) {
  return s->held || s->parallel ? (uint64_t)s->comm->nranks : 1;
}

/* Does rank 0 send slabs to their ranks in this pass? */
static bool sends_slabs(const amped_list_source *s) {
  return s->held && !s->filled && !s->parallel && s->comm->nranks > 1;
}

static uint64_t slab_count(const amped_list_source *s, uint64_t slab) {
  const uint64_t first = slab * AMPED_SLAB_NNZ;
  if (first >= s->info->nnz)
    return 0;
  return s->info->nnz - first < AMPED_SLAB_NNZ ? s->info->nnz - first : AMPED_SLAB_NNZ;
}

/* Nonzeros of the slabs that go round to a rank. */
static uint64_t share_of(const amped_list_source *s, int rank, uint64_t readers) {
  uint64_t sum = 0;
  for (uint64_t slab = (uint64_t)rank; slab < slabs_of(s); slab += readers)
    sum += slab_count(s, slab);
  return sum;
}

/* --- memory ---------------------------------------------------------------------------------- */

/* The parts of one round are different nonzeros. */
static void set_shape(amped_list_source *s) {
  const amped_tensor_info *info = s->info;
  const uint64_t readers = readers_of(s);
  const uint64_t slab = info->nnz < AMPED_SLAB_NNZ ? info->nnz : AMPED_SLAB_NNZ;
  amped_list_shape *shape = &s->shape;
  memset(shape, 0, sizeof *shape);
  shape->order = info->order;
  memcpy(shape->dims, info->dims, sizeof shape->dims);
  memcpy(shape->index_types, info->index_types, sizeof shape->index_types);
  shape->value_type = info->value_type;
  shape->nranks = s->comm->nranks;
  shape->device_mpi = s->comm->cuda_aware;
  s->own = (uint64_t)s->comm->rank < readers ? share_of(s, s->comm->rank, readers) : 0;
  shape->capacity = s->held || s->own < slab ? s->own : slab;
  shape->window = RECEIVED_NNZ / readers > 0 ? RECEIVED_NNZ / readers : 1;
  shape->window = shape->window < slab ? shape->window : slab;
  shape->arriving = shape->window * readers < info->nnz ? shape->window * readers : info->nnz;
}

/* Collective: has every rank room to hold its slabs? What host memory holds is not held twice. */
static bool has_room(const amped_list_source *s) {
  uint64_t device_bytes = 0;
  uint64_t host_bytes = 0;
  uint64_t without = 0;
  s->worker->backend->lists->require(s->worker->device, &s->shape, &device_bytes, &host_bytes);
  const uint64_t room = s->worker->backend->device->memory(s->worker->device);
  const uint64_t ranks =
      s->worker->backend->device_pointers ? 1 : (uint64_t)s->comm->local_size; /* share the room */
  without = device_bytes + host_bytes > room / ranks / HELD_PART ||
            (amped_input_in_memory(s->input) && !s->worker->backend->device_pointers);
  amped_comm_sum_u64(s->comm, &without, 1);
  return without == 0;
}

/* Collective. The shape is set. */
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

static void free_slab(amped_list_source *s) {
  for (int m = 0; m < AMPED_MAX_ORDER; m++) {
    amped_free(s->indices[m]);
    s->indices[m] = NULL;
  }
  amped_free(s->values);
  s->values = NULL;
}

void amped_list_source_close(amped_list_source *s) {
  if (s == NULL)
    return;
  amped_slab_reader_close(s->reader);
  amped_free(s->wanted);
  free_slab(s);
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

/* --- what is asked of it ---------------------------------------------------------------------- */

bool amped_list_source_held(const amped_list_source *s) {
  return s->held;
}

/* Does this rank read the file in the passes to come? */
static bool reads(const amped_list_source *s) {
  return !s->filled && (s->parallel || s->comm->rank == 0);
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
  return amped_ceil_div(slabs_of(s), readers_of(s));
}

/* --- a pass ---------------------------------------------------------------------------------- */

static amped_status alloc_slab(amped_list_source *s) {
  const uint64_t slab = s->info->nnz < AMPED_SLAB_NNZ ? s->info->nnz : AMPED_SLAB_NNZ;
  for (int m = 0; m < s->info->order; m++)
    AMPED_TRY(amped_alloc(&s->indices[m], slab, s->info->index_types[m], "a slab"));
  return amped_alloc(&s->values, slab, s->info->value_type, "a slab");
}

static amped_status open_reader(amped_list_source *s) {
  const uint64_t step = s->parallel ? (uint64_t)s->comm->nranks : 1;
  AMPED_TRY(amped_calloc(&s->wanted, slabs_of(s), sizeof *s->wanted, "the list of slabs"));
  for (uint64_t i = s->parallel ? (uint64_t)s->comm->rank : 0; i < slabs_of(s); i += step)
    s->wanted[i] = true;
  return amped_slab_reader_open(s->input, AMPED_INPUT_LIST, s->wanted, &s->reader);
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
    s->status = alloc_slab(s);
  if (sends_slabs(s)) /* nothing is sent to a rank that has no room for it */
    s->status = amped_comm_agree(s->comm, s->status);
  return s->status;
}

/* The rank's next slab of the file, appended to the part. */
static void append_slab(amped_list_source *s, uint64_t count, void *const *indices,
                        const void *values) {
  if (s->status == AMPED_OK && count > 0)
    s->status = s->worker->backend->lists->append(s->part, count, indices, values);
}

/* The reader's next slab; NULL at the end, and after a failure. */
static const amped_slab *read_slab(amped_list_source *s) {
  const amped_slab *slab = NULL;
  if (s->status == AMPED_OK && s->reader != NULL)
    s->status = amped_slab_reader_next(s->reader, &slab);
  return s->status == AMPED_OK ? slab : NULL;
}

/* Rank 0: send a slab to a rank. */
static void send_slab(const amped_list_source *s, const amped_slab *slab, int rank) {
  for (int m = 0; m < s->info->order; m++)
    AMPED_MPI(s->comm, MPI_Send(slab->indices[m],
                                amped_comm_count(s->comm, slab->count * s->info->index_types[m]),
                                MPI_BYTE, rank, m, s->comm->mpi));
  AMPED_MPI(s->comm,
            MPI_Send(slab->values, amped_comm_count(s->comm, slab->count * s->info->value_type),
                     MPI_BYTE, rank, s->info->order, s->comm->mpi));
}

static void receive_slab(const amped_list_source *s, uint64_t count) {
  for (int m = 0; m < s->info->order; m++)
    AMPED_MPI(s->comm,
              MPI_Recv(s->indices[m], amped_comm_count(s->comm, count * s->info->index_types[m]),
                       MPI_BYTE, 0, m, s->comm->mpi, MPI_STATUS_IGNORE));
  AMPED_MPI(s->comm, MPI_Recv(s->values, amped_comm_count(s->comm, count * s->info->value_type),
                              MPI_BYTE, 0, s->info->order, s->comm->mpi, MPI_STATUS_IGNORE));
}

/* Rank 0 reads a turn's slabs and sends each to its rank, with its count before it. */
static void send_turn(amped_list_source *s) {
  for (int p = 0; p < s->comm->nranks; p++) {
    const amped_slab *slab = read_slab(s);
    uint64_t count = s->status != AMPED_OK ? FAILED : slab != NULL ? slab->count : 0;
    if (p == 0) {
      if (slab != NULL)
        append_slab(s, slab->count, slab->indices, slab->values);
      continue;
    }
    AMPED_MPI(s->comm, MPI_Send(&count, 1, MPI_UINT64_T, p, AMPED_MAX_ORDER + 1, s->comm->mpi));
    if (slab != NULL)
      send_slab(s, slab, p);
  }
}

static void receive_turn(amped_list_source *s) {
  uint64_t count = 0;
  AMPED_MPI(s->comm, MPI_Recv(&count, 1, MPI_UINT64_T, 0, AMPED_MAX_ORDER + 1, s->comm->mpi,
                              MPI_STATUS_IGNORE));
  s->lost = s->lost || count == FAILED;
  if (s->lost || count == 0)
    return;
  receive_slab(s, count);
  append_slab(s, count, s->indices, s->values);
}

/* Fill this turn's window of the part. */
static void fill_window(amped_list_source *s) {
  if (sends_slabs(s)) {
    if (s->comm->rank == 0)
      send_turn(s);
    else
      receive_turn(s);
    return;
  }
  const amped_slab *slab = read_slab(s);
  if (!s->held)
    s->worker->backend->lists->clear(s->part);
  if (slab != NULL)
    append_slab(s, slab->count, slab->indices, slab->values);
}

amped_status amped_list_source_next(amped_list_source *s, uint64_t *first, uint64_t *count) {
  const uint64_t readers = readers_of(s);
  const bool has = (uint64_t)s->comm->rank < readers;
  if (!s->filled)
    fill_window(s);
  *first = s->held ? s->turn * AMPED_SLAB_NNZ : 0;
  *count = has ? slab_count(s, s->turn * readers + (uint64_t)s->comm->rank) : 0;
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
  free_slab(s);
  s->filled = s->held && s->status == AMPED_OK && !s->lost && s->turn == amped_list_source_turns(s);
  return s->status;
}
