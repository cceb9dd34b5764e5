/* Load copies: slabs of ordered copies are read, packed, sent and stored, overlapped. */
#include "load/load_copies.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "load/shard.h"
#include "load/slab_reader.h"
#include "base/timer.h"
#include "base/trace.h"

#define TAG_SHARD 17

/* Length of the message that replaces a shard after the reader failed. */
#define FAILED_BYTES 1

/* One call of amped_load_copies. Buffers are host memory of this struct. */
typedef struct loader {
  const amped_comm *comm;
  amped_input *input;
  const amped_tensor_info *info;
  const amped_plan *plan;
  const amped_worker *worker;
  uint64_t wire_bytes; /* bytes of one nonzero in a message */
  amped_shard_buffers buffers;
  int readers; /* slab n of mode m is read by rank (n + m) % readers */
  /* Buffers of a rank that reads: out[set] holds the shards of one slab, rank after rank. Two sets
   * alternate, so that a slab is packed while the previous one is sent. One set suffices if ranks
   * take turns reading. NULL on other ranks. */
  int out_sets;
  char *out[2];
  MPI_Request *sends[2]; /* [nranks] */
  char **targets;        /* [nranks] begin of each rank's shard in a set */
  /* Buffers of a rank that receives: in[set] holds a shard that another rank read. Two sets
   * alternate; a receive is posted for each. NULL on other ranks. */
  char *in[2];
  MPI_Request arrivals[2];
  /* [nranks] nonzeros of every rank: in the current slab, and in a later slab. */
  uint64_t *counts;
  uint64_t *next_counts;
  /* The current copy: */
  int mode;
  uint64_t offset; /* own nonzeros stored so far */
  uint64_t hash;
  bool stopped;      /* another rank has failed */
  uint64_t progress; /* nonzeros of all copies so far */
} loader;

/* Most nonzeros that this rank gets of one slab. */
static uint64_t shard_capacity(const amped_tensor_info *info, const amped_plan *plan) {
  uint64_t most = 0;
  for (int m = 0; m < plan->order; m++)
    if (amped_plan_has_copy(plan, m) && plan->modes[m].copy.rank_nnz[plan->rank] > most)
      most = plan->modes[m].copy.rank_nnz[plan->rank];
  return most < amped_slab_nnz(info) ? most : amped_slab_nnz(info);
}

static int out_sets(bool parallel) {
  return parallel ? 1 : 2;
}

static bool receives(const amped_plan *plan, bool reads, bool parallel) {
  return plan->nranks > 1 && (parallel || !reads);
}

uint64_t amped_load_copies_host_bytes(const amped_tensor_info *info, const amped_plan *plan,
                                      bool reads, bool parallel) {
  uint64_t wire = amped_slab_nonzero_bytes(info);
  uint64_t own = shard_capacity(info, plan);
  uint64_t bytes = own * amped_plan_nonzero_bytes(plan);
  if (reads)
    bytes +=
        amped_slab_reader_bytes(info) + (uint64_t)out_sets(parallel) * wire * amped_slab_nnz(info);
  if (receives(plan, reads, parallel))
    bytes += 2 * wire * own;
  return bytes;
}

static amped_status allocate_buffers(loader *l) {
  amped_shard_buffers *b = &l->buffers;
  b->capacity = shard_capacity(l->info, l->plan);
  AMPED_TRY(l->worker->backend->device->host_alloc(l->worker->device,
                                                   b->capacity * l->plan->index_type, &b->rows));
  for (int i = 0; i + 1 < l->plan->order; i++)
    AMPED_TRY(l->worker->backend->device->host_alloc(
        l->worker->device, b->capacity * l->plan->index_type, &b->inputs[i]));
  return l->worker->backend->device->host_alloc(l->worker->device,
                                                b->capacity * l->plan->value_type, &b->values);
}

static amped_status allocate(loader *l, bool parallel) {
  static const char what[] = "the shards in transit";
  uint64_t nranks = (uint64_t)l->comm->nranks;
  bool reads = parallel || l->comm->rank == 0;
  l->readers = parallel ? l->comm->nranks : 1;
  l->out_sets = out_sets(parallel);
  for (int s = 0; s < l->out_sets && reads; s++) {
    AMPED_TRY(amped_alloc(&l->out[s], amped_slab_nnz(l->info), l->wire_bytes, what));
    AMPED_TRY(amped_alloc(&l->sends[s], nranks, sizeof *l->sends[s], what));
    for (uint64_t p = 0; p < nranks; p++)
      l->sends[s][p] = MPI_REQUEST_NULL;
  }
  for (int s = 0; s < 2 && receives(l->plan, reads, parallel); s++)
    AMPED_TRY(amped_alloc(&l->in[s], shard_capacity(l->info, l->plan), l->wire_bytes, what));
  AMPED_TRY(amped_calloc(&l->targets, nranks, sizeof *l->targets, what));
  AMPED_TRY(amped_calloc(&l->counts, nranks, sizeof *l->counts, what));
  AMPED_TRY(amped_calloc(&l->next_counts, nranks, sizeof *l->next_counts, what));
  return allocate_buffers(l);
}

static void release(loader *l) {
  amped_shard_buffers *b = &l->buffers;
  l->worker->backend->device->host_free(l->worker->device, b->rows);
  for (int i = 0; i < AMPED_MAX_ORDER - 1; i++)
    l->worker->backend->device->host_free(l->worker->device, b->inputs[i]);
  l->worker->backend->device->host_free(l->worker->device, b->values);
  for (int s = 0; s < 2; s++) {
    amped_free(l->out[s]);
    amped_free(l->sends[s]);
    amped_free(l->in[s]);
  }
  amped_free(l->targets);
  amped_free(l->counts);
  amped_free(l->next_counts);
}

static uint64_t own_nnz(const loader *l) {
  return l->plan->modes[l->mode].copy.rank_nnz[l->plan->rank];
}

/* Do the parts of the rank's block of rows (plan.h) end as the iDp table says? The backend uses the
 * table to know when a part is finished. The backend itself checks that rows of a batch ascend. */
static bool parts_agree(const loader *l, const amped_batch *batch) {
  const amped_mode_plan *m = &l->plan->modes[l->mode];
  for (int part = 0; part + 1 < m->rows.parts; part++) {
    uint64_t bound = m->rows.part_rows[part + 1];
    uint64_t end = amped_plan_part_nnz(l->plan, l->mode, part) - l->offset; /* wraps if earlier */
    if (end > 0 && end <= batch->count &&
        amped_index_get(batch->rows, l->plan->index_type, end - 1) >= bound)
      return false;
    if (end < batch->count && amped_index_get(batch->rows, l->plan->index_type, end) < bound)
      return false;
  }
  return true;
}

/* Translates a shard of this rank and hands it to the backend. */
static amped_status store(loader *l, const char *wire, uint64_t count) {
  amped_batch batch;
  uint64_t hash = 0;
  if (count == 0)
    return AMPED_OK;
  amped_trace_begin(AMPED_PHASE_UPLOAD, l->mode);
  if (count > own_nnz(l) - l->offset ||
      !amped_shard_translate(l->info, l->plan, l->mode, wire, count, &l->buffers, &batch, &hash) ||
      !parts_agree(l, &batch))
    return amped_error(AMPED_BAD_INPUT, amped_input_path(l->input),
                       "the copy of mode %d disagrees with its iDp table; convert the tensor again",
                       l->mode + 1);
  amped_status status = l->worker->format->insert(l->worker->tensor, l->mode, l->offset, &batch);
  if (status == AMPED_BAD_INPUT) /* a device does not know the file */
    amped_status_place(amped_input_path(l->input));
  AMPED_TRY(status);
  if (l->mode == 0)
    amped_input_count_values(l->input, l->plan->value_type, count, batch.values);
  amped_trace_end();
  l->offset += count;
  l->hash += hash;
  return AMPED_OK;
}

/* --- traversal of a copy ---------------------------------------------------------------------- */

/* Every rank traverses all slabs of a copy. The plan gives, for each slab, the number of its
 * nonzeros per rank. Therefore a rank knows every message that it sends and receives, without
 * asking.
 *
 * Step for slab n:
 *   its reader       waits for the slab, packs the shards, sends them and stores its own;
 *   the other ranks  wait for their shard, if they have one, store it, and post the next receive.
 *
 * A rank that fails continues without reading or storing: it sends failure messages in place of
 * shards, and receives the shards that were sent to it. So no rank hangs. */

/* A slab number, and the cursor before the slab's first nonzero. */
typedef struct place {
  amped_shard_cursor cursor;
  uint64_t slab;
} place;

typedef struct traversal {
  place here;                /* the next slab */
  place ahead;               /* after the last slab whose receive is posted */
  bool *wanted;              /* [slabs] slabs that this rank reads */
  amped_slab_reader *reader; /* NULL if it reads none */
  int out;                   /* set for the next slab that this rank reads */
  int in;                    /* set for the next shard that arrives */
  amped_status status;       /* status of this rank */
} traversal;

static bool at_end(const loader *l, const place *at) {
  return at->cursor.passed == l->info->nnz;
}

/* counts[p] = nonzeros of rank p in the slab at a place. Returns the next place. */
static place count_slab(const loader *l, place at, uint64_t *counts) {
  uint64_t left = l->info->nnz - at.cursor.passed;
  amped_shard_count(l->plan, l->mode, &at.cursor, left < AMPED_SLAB_NNZ ? left : AMPED_SLAB_NNZ,
                    counts);
  at.slab++;
  return at;
}

static int reader_of(const loader *l, uint64_t slab) {
  return (int)((slab + (uint64_t)l->mode) % (uint64_t)l->readers);
}

static uint64_t sum_counts(const loader *l, const uint64_t *counts) {
  uint64_t sum = 0;
  for (int p = 0; p < l->comm->nranks; p++)
    sum += counts[p];
  return sum;
}

/* Starts reading this rank's slabs, except slabs without nonzeros of this traversal. */
static amped_status open_reader(loader *l, traversal *w) {
  place at = w->here;
  bool reads = false;
  AMPED_TRY(amped_calloc(&w->wanted, amped_ceil_div(l->info->nnz, AMPED_SLAB_NNZ),
                         sizeof *w->wanted, "the list of slabs"));
  while (!at_end(l, &at)) {
    uint64_t slab = at.slab;
    at = count_slab(l, at, l->next_counts);
    if (reader_of(l, slab) == l->comm->rank && sum_counts(l, l->next_counts) > 0)
      w->wanted[slab] = reads = true;
  }
  return reads ? amped_slab_reader_open(l->input, l->mode, w->wanted, NULL, &w->reader) : AMPED_OK;
}

/* Packs the shards of a slab, sends them, and stores this rank's own shard. */
static amped_status send_shards(loader *l, int set, const amped_slab *slab,
                                amped_shard_cursor *cursor) {
  char *at = l->out[set];
  for (int i = 0; i < l->comm->nranks; i++) { /* own shard first: it is then aligned for store */
    int p = (l->comm->rank + i) % l->comm->nranks;
    l->targets[p] = at;
    at += l->counts[p] * l->wire_bytes;
  }
  AMPED_MPI(l->comm, MPI_Waitall(l->comm->nranks, l->sends[set], MPI_STATUSES_IGNORE));
  amped_shard_pack(l->info, l->plan, l->mode, cursor, slab, l->counts, l->targets);
  for (int p = 0; p < l->comm->nranks; p++)
    if (l->counts[p] > 0 && p != l->comm->rank)
      AMPED_MPI(l->comm,
                MPI_Isend(l->targets[p], amped_comm_count(l->comm, l->counts[p] * l->wire_bytes),
                          MPI_BYTE, p, TAG_SHARD, l->comm->mpi, &l->sends[set][p]));
  return store(l, l->targets[l->comm->rank], l->counts[l->comm->rank]);
}

/* Sends a failure message to every rank that waits for a shard of this slab. */
static void send_failure(loader *l) {
  static const char failed = 0;
  for (int p = 0; p < l->comm->nranks; p++)
    if (l->counts[p] > 0 && p != l->comm->rank)
      AMPED_MPI(l->comm, MPI_Send(&failed, FAILED_BYTES, MPI_BYTE, p, TAG_SHARD, l->comm->mpi));
}

static void read_and_send(loader *l, traversal *w, amped_shard_cursor cursor) {
  const amped_slab *slab = NULL;
  if (w->status == AMPED_OK && !l->stopped)
    w->status = amped_slab_reader_next(w->reader, &slab);
  if (w->status == AMPED_OK && !l->stopped)
    w->status = send_shards(l, w->out, slab, &cursor);
  else
    send_failure(l);
  w->out = (w->out + 1) % l->out_sets;
}

/* Posts the receive of the next shard that another rank reads. */
static void post_receive(loader *l, traversal *w, int set) {
  l->arrivals[set] = MPI_REQUEST_NULL;
  while (!at_end(l, &w->ahead)) {
    int reader = reader_of(l, w->ahead.slab);
    w->ahead = count_slab(l, w->ahead, l->next_counts);
    uint64_t count = l->next_counts[l->comm->rank];
    if (reader == l->comm->rank || count == 0)
      continue;
    AMPED_MPI(l->comm, MPI_Irecv(l->in[set], amped_comm_count(l->comm, count * l->wire_bytes),
                                 MPI_BYTE, reader, TAG_SHARD, l->comm->mpi, &l->arrivals[set]));
    return;
  }
}

static void receive_shard(loader *l, traversal *w, uint64_t count) {
  MPI_Status got;
  int bytes = 0;
  AMPED_MPI(l->comm, MPI_Wait(&l->arrivals[w->in], &got));
  AMPED_MPI(l->comm, MPI_Get_count(&got, MPI_BYTE, &bytes));
  l->stopped = l->stopped || (uint64_t)bytes != count * l->wire_bytes;
  if (w->status == AMPED_OK && !l->stopped) /* otherwise the reader reports its error */
    w->status = store(l, l->in[w->in], count);
  post_receive(l, w, w->in);
  w->in = 1 - w->in;
}

static void traversal_begin(loader *l, traversal *w, bool shared) {
  *w = (traversal){.here = {.cursor = {.shared = shared}}};
  w->ahead = w->here;
  w->status = open_reader(l, w);
  post_receive(l, w, 0);
  post_receive(l, w, 1);
}

static amped_status traversal_end(loader *l, traversal *w) {
  for (int s = 0; s < l->out_sets && l->sends[s] != NULL; s++)
    AMPED_MPI(l->comm, MPI_Waitall(l->comm->nranks, l->sends[s], MPI_STATUSES_IGNORE));
  amped_slab_reader_close(w->reader);
  amped_free(w->wanted);
  return w->status;
}

/* Traverses a copy; shared: its split iDps only. The status is this rank's own. */
static amped_status traverse_slabs(loader *l, bool shared) {
  const int rank = l->comm->rank;
  traversal w;
  traversal_begin(l, &w, shared);
  while (!at_end(l, &w.here)) {
    place slab = w.here;
    w.here = count_slab(l, slab, l->counts);
    uint64_t count = sum_counts(l, l->counts);
    if (count == 0)
      continue;
    if (reader_of(l, slab.slab) == rank)
      read_and_send(l, &w, slab.cursor);
    else if (l->counts[rank] > 0)
      receive_shard(l, &w, l->counts[rank]);
    l->progress += count;
    amped_progress_update(l->progress);
  }
  return traversal_end(l, &w);
}

/* --- copies ----------------------------------------------------------------------------------- */

static amped_status load_mode(loader *l, int mode) {
  l->mode = mode;
  l->offset = 0;
  l->hash = 0;
  amped_trace_begin(AMPED_PHASE_DISTRIBUTE, mode);
  amped_status status = traverse_slabs(l, false);
  AMPED_TRY(amped_comm_agree(l->comm, status)); /* if a reader failed, others have only a part */
  if (l->plan->modes[mode].copy.split_count > 0) {
    status = traverse_slabs(l, true);
    AMPED_TRY(amped_comm_agree(l->comm, status));
  }
  if (l->offset == own_nnz(l))
    status = l->worker->format->finish(l->worker->tensor, mode);
  else
    status = amped_error(
        AMPED_BAD_INPUT, amped_input_path(l->input),
        "the copy of mode %d has fewer nonzeros than its iDp table; convert the tensor again",
        mode + 1);
  AMPED_TRY(amped_comm_agree(l->comm, status));
  amped_comm_sum_u64(l->comm, &l->hash, 1);
  if (l->hash != l->info->hash)
    status = amped_error(
        AMPED_BAD_INPUT, amped_input_path(l->input),
        "the copy of mode %d disagrees with the tensor's hash (damaged data, or a copy of "
        "another tensor); convert the tensor again",
        mode + 1);
  status = amped_comm_agree(l->comm, status);
  amped_trace_end();
  return status;
}

amped_status amped_load_copies(const amped_comm *comm, amped_input *input, bool parallel,
                               const amped_plan *plan, const amped_worker *worker,
                               double *seconds) {
  double began = amped_time();
  loader l;
  memset(&l, 0, sizeof l);
  l.comm = comm;
  l.input = input;
  l.info = amped_input_info(input);
  l.plan = plan;
  l.worker = worker;
  l.wire_bytes = amped_slab_nonzero_bytes(l.info);
  amped_status status = amped_comm_agree(comm, allocate(&l, parallel));
  amped_progress_begin("reading and distributing", l.info->nnz * (uint64_t)amped_plan_copies(plan),
                       "nonzeros");
  for (int m = 0; m < plan->order && status == AMPED_OK; m++)
    if (amped_plan_has_copy(plan, m))
      status = load_mode(&l, m);
  amped_progress_end();
  release(&l);
  *seconds = amped_time() - began;
  return status;
}
