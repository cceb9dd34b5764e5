#include "load/load_copies.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "load/shard.h"
#include "load/slab_reader.h"
#include "base/timer.h"
#include "base/trace.h"

#define TAG_SHARE 17

/* A message that says "the reader failed" instead of a share. */
#define FAILED_BYTES 1

/* Everything one call of amped_load_copies works with. */
typedef struct job {
  const amped_comm *comm;
  amped_input *source;
  const amped_tensor_info *info;
  const amped_plan *plan;
  const amped_worker *worker;
  uint64_t wire_bytes; /* of one nonzero */
  amped_share_buffers buffers;
  /* Sets are used in turn. out[s] holds a slab that this rank read, the shares of all ranks behind
   * each other; one set suffices where ranks take turns in reading. in[s] holds a share that
   * another rank read; both receives are posted ahead. NULL where the rank does not read, or
   * receive. */
  int readers; /* slab n of mode m is read by rank (n + m) % readers */
  int out_sets;
  char *out[2];
  MPI_Request *sends[2]; /* [nranks] */
  char *in[2];
  MPI_Request arrivals[2];
  char **targets;        /* [nranks] into out */
  uint64_t *counts;      /* [nranks] of the slab in hand */
  uint64_t *next_counts; /* [nranks] of one that is looked at ahead */
  /* of the copy in hand */
  int mode;
  uint64_t offset; /* own nonzeros stored so far */
  uint64_t hash;
  bool stopped;      /* another rank failed */
  uint64_t progress; /* nonzeros of all copies */
} job;

static uint64_t slab_nnz(const amped_tensor_info *info) {
  return info->nnz < AMPED_SLAB_NNZ ? info->nnz : AMPED_SLAB_NNZ;
}

/* The most nonzeros that this rank gets of one slab. */
static uint64_t share_capacity(const amped_tensor_info *info, const amped_plan *plan) {
  uint64_t most = 0;
  for (int m = 0; m < plan->order; m++)
    if (plan->modes[m].rank_nnz[plan->rank] > most)
      most = plan->modes[m].rank_nnz[plan->rank];
  return most < slab_nnz(info) ? most : slab_nnz(info);
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
  uint64_t own = share_capacity(info, plan);
  uint64_t bytes = own * amped_plan_nonzero_bytes(plan);
  if (reads)
    bytes += amped_slab_reader_bytes(info) + (uint64_t)out_sets(parallel) * wire * slab_nnz(info);
  if (receives(plan, reads, parallel))
    bytes += 2 * wire * own;
  return bytes;
}

static amped_status allocate_buffers(job *j) {
  amped_share_buffers *b = &j->buffers;
  b->capacity = share_capacity(j->info, j->plan);
  AMPED_TRY(j->worker->backend->device->host_alloc(j->worker->device,
                                                   b->capacity * j->plan->index_type, &b->rows));
  for (int i = 0; i + 1 < j->plan->order; i++)
    AMPED_TRY(j->worker->backend->device->host_alloc(
        j->worker->device, b->capacity * j->plan->index_type, &b->inputs[i]));
  return j->worker->backend->device->host_alloc(j->worker->device,
                                                b->capacity * j->plan->value_type, &b->values);
}

static amped_status allocate(job *j, bool parallel) {
  static const char what[] = "the shares in transit";
  uint64_t nranks = (uint64_t)j->comm->nranks;
  bool reads = parallel || j->comm->rank == 0;
  j->readers = parallel ? j->comm->nranks : 1;
  j->out_sets = out_sets(parallel);
  for (int s = 0; s < j->out_sets && reads; s++) {
    AMPED_TRY(amped_alloc(&j->out[s], slab_nnz(j->info), j->wire_bytes, what));
    AMPED_TRY(amped_alloc(&j->sends[s], nranks, sizeof *j->sends[s], what));
    for (uint64_t p = 0; p < nranks; p++)
      j->sends[s][p] = MPI_REQUEST_NULL;
  }
  for (int s = 0; s < 2 && receives(j->plan, reads, parallel); s++)
    AMPED_TRY(amped_alloc(&j->in[s], share_capacity(j->info, j->plan), j->wire_bytes, what));
  AMPED_TRY(amped_calloc(&j->targets, nranks, sizeof *j->targets, what));
  AMPED_TRY(amped_calloc(&j->counts, nranks, sizeof *j->counts, what));
  AMPED_TRY(amped_calloc(&j->next_counts, nranks, sizeof *j->next_counts, what));
  return allocate_buffers(j);
}

static void release(job *j) {
  amped_share_buffers *b = &j->buffers;
  j->worker->backend->device->host_free(j->worker->device, b->rows);
  for (int i = 0; i < AMPED_MAX_ORDER - 1; i++)
    j->worker->backend->device->host_free(j->worker->device, b->inputs[i]);
  j->worker->backend->device->host_free(j->worker->device, b->values);
  for (int s = 0; s < 2; s++) {
    amped_free(j->out[s]);
    amped_free(j->sends[s]);
    amped_free(j->in[s]);
  }
  amped_free(j->targets);
  amped_free(j->counts);
  amped_free(j->next_counts);
}

static uint64_t own_nnz(const job *j) {
  return j->plan->modes[j->mode].rank_nnz[j->plan->rank];
}

/* Do parts of the block (plan.h) end where the iDp table says? Rows that are told finished must be.
 * The rows of a run ascend, as the backend sees to. */
static bool parts_agree(const job *j, const amped_batch *batch) {
  const amped_mode_plan *m = &j->plan->modes[j->mode];
  for (int part = 0; part + 1 < m->parts; part++) {
    uint64_t bound = m->part_rows[part + 1];
    uint64_t end = amped_plan_part_nnz(j->plan, j->mode, part) - j->offset; /* wraps if earlier */
    if (end > 0 && end <= batch->count &&
        amped_index_get(batch->rows, j->plan->index_type, end - 1) >= bound)
      return false;
    if (end < batch->count && amped_index_get(batch->rows, j->plan->index_type, end) < bound)
      return false;
  }
  return true;
}

/* Translate own nonzeros in wire form and give them to the backend. */
static amped_status store(job *j, const char *wire, uint64_t count) {
  amped_batch batch;
  uint64_t hash = 0;
  if (count == 0)
    return AMPED_OK;
  amped_trace_begin(AMPED_PHASE_UPLOAD, j->mode);
  if (count > own_nnz(j) - j->offset ||
      !amped_share_translate(j->info, j->plan, j->mode, wire, count, &j->buffers, &batch, &hash) ||
      !parts_agree(j, &batch))
    return amped_error(AMPED_BAD_INPUT, amped_input_path(j->source),
                       "copy %d disagrees with its iDp table; convert the tensor again", j->mode);
  AMPED_TRY(j->worker->format->insert(j->worker->tensor, j->mode, j->offset, &batch));
  amped_trace_end();
  j->offset += count;
  j->hash += hash;
  return AMPED_OK;
}

/* Where a rank stands in a walk over a copy's slabs. All ranks walk alike: which slab holds how
 * many nonzeros of which rank follows from the plan. */
typedef struct place {
  amped_share_cursor cursor; /* before the slab */
  uint64_t slab;
} place;

static bool at_end(const job *j, const place *at) {
  return at->cursor.passed == j->info->nnz;
}

/* Nonzeros of every rank in the place's slab, and the place behind it. */
static place count_slab(const job *j, place at, uint64_t *counts) {
  uint64_t left = j->info->nnz - at.cursor.passed;
  amped_share_count(j->plan, j->mode, &at.cursor, left < AMPED_SLAB_NNZ ? left : AMPED_SLAB_NNZ,
                    counts);
  at.slab++;
  return at;
}

static int reader_of(const job *j, uint64_t slab) {
  return (int)((slab + (uint64_t)j->mode) % (uint64_t)j->readers);
}

static bool any(const job *j, const uint64_t *counts) {
  for (int p = 0; p < j->comm->nranks; p++)
    if (counts[p] > 0)
      return true;
  return false;
}

/* Mark the slabs of a walk that this rank reads. */
static amped_status find_slabs(job *j, bool shared, bool **wanted, bool *reads) {
  place at = {.cursor = {.shared = shared}};
  *reads = false;
  AMPED_TRY(amped_calloc(wanted, amped_ceil_div(j->info->nnz, AMPED_SLAB_NNZ), sizeof **wanted,
                         "the list of slabs"));
  while (!at_end(j, &at)) {
    uint64_t slab = at.slab;
    at = count_slab(j, at, j->next_counts);
    if (reader_of(j, slab) == j->comm->rank && any(j, j->next_counts))
      (*wanted)[slab] = *reads = true;
  }
  return AMPED_OK;
}

/* Send the shares of a slab, packed into a set, and store one's own. */
static amped_status send_shares(job *j, const amped_slab *slab, int set,
                                amped_share_cursor *cursor) {
  char *at = j->out[set];
  for (int i = 0; i < j->comm->nranks; i++) { /* one's own first: it is worked on, and aligned */
    int p = (j->comm->rank + i) % j->comm->nranks;
    j->targets[p] = at;
    at += j->counts[p] * j->wire_bytes;
  }
  AMPED_MPI(j->comm, MPI_Waitall(j->comm->nranks, j->sends[set], MPI_STATUSES_IGNORE));
  amped_share_pack(j->info, j->plan, j->mode, cursor, slab, j->counts, j->targets);
  for (int p = 0; p < j->comm->nranks; p++)
    if (j->counts[p] > 0 && p != j->comm->rank)
      AMPED_MPI(j->comm,
                MPI_Isend(j->targets[p], amped_comm_count(j->comm, j->counts[p] * j->wire_bytes),
                          MPI_BYTE, p, TAG_SHARE, j->comm->mpi, &j->sends[set][p]));
  return store(j, j->targets[j->comm->rank], j->counts[j->comm->rank]);
}

/* Tell every rank that waits for its share of a slab that none will come. */
static void send_failure(job *j) {
  static const char failed = 0;
  for (int p = 0; p < j->comm->nranks; p++)
    if (j->counts[p] > 0 && p != j->comm->rank)
      AMPED_MPI(j->comm, MPI_Send(&failed, FAILED_BYTES, MPI_BYTE, p, TAG_SHARE, j->comm->mpi));
}

/* Post the receive of the next share that another rank reads; `ahead` is then behind its slab. */
static void post(job *j, int set, place *ahead) {
  j->arrivals[set] = MPI_REQUEST_NULL;
  while (!at_end(j, ahead)) {
    int reader = reader_of(j, ahead->slab);
    *ahead = count_slab(j, *ahead, j->next_counts);
    uint64_t count = j->next_counts[j->comm->rank];
    if (reader == j->comm->rank || count == 0)
      continue;
    AMPED_MPI(j->comm, MPI_Irecv(j->in[set], amped_comm_count(j->comm, count * j->wire_bytes),
                                 MPI_BYTE, reader, TAG_SHARE, j->comm->mpi, &j->arrivals[set]));
    return;
  }
}

/* The share that was to come next. A failure of this rank's own lets it receive on, so that no
 * reader is left waiting. */
static amped_status take_share(job *j, int set, uint64_t count, amped_status status) {
  MPI_Status got;
  int bytes = 0;
  AMPED_MPI(j->comm, MPI_Wait(&j->arrivals[set], &got));
  AMPED_MPI(j->comm, MPI_Get_count(&got, MPI_BYTE, &bytes));
  j->stopped = j->stopped || (uint64_t)bytes != count * j->wire_bytes;
  if (status == AMPED_OK && !j->stopped) /* the reader says what failed */
    status = store(j, j->in[set], count);
  return status;
}

/* Every rank, slab by slab: read it and send the shares, or receive one's own. Where something
 * failed ranks go on walking, without reading, until none waits for another. */
static amped_status walk(job *j, bool shared) {
  amped_slab_reader *ring = NULL;
  const amped_slab *slab = NULL;
  bool *wanted = NULL;
  bool reads = false;
  int out = 0;
  int in = 0;
  place here = {.cursor = {.shared = shared}};
  place ahead = here;
  amped_status status = find_slabs(j, shared, &wanted, &reads);
  if (status == AMPED_OK && reads)
    status = amped_slab_reader_open(j->source, j->mode, wanted, &ring);
  post(j, 0, &ahead);
  post(j, 1, &ahead);
  while (!at_end(j, &here)) {
    place before = here;
    here = count_slab(j, here, j->counts);
    if (reader_of(j, before.slab) == j->comm->rank) {
      if (!any(j, j->counts))
        continue;
      if (status == AMPED_OK && !j->stopped)
        status = amped_slab_reader_next(ring, &slab);
      if (status == AMPED_OK && !j->stopped)
        status = send_shares(j, slab, out, &before.cursor);
      else
        send_failure(j);
      out = (out + 1) % j->out_sets;
    } else if (j->counts[j->comm->rank] > 0) {
      status = take_share(j, in, j->counts[j->comm->rank], status);
      post(j, in, &ahead);
      in = 1 - in;
    }
    for (int p = 0; p < j->comm->nranks; p++)
      j->progress += j->counts[p];
    amped_progress_update(j->progress);
  }
  for (int s = 0; s < j->out_sets && j->sends[s] != NULL; s++)
    AMPED_MPI(j->comm, MPI_Waitall(j->comm->nranks, j->sends[s], MPI_STATUSES_IGNORE));
  amped_slab_reader_close(ring);
  amped_free(wanted);
  return status;
}

static amped_status distribute_mode(job *j, int mode) {
  j->mode = mode;
  j->offset = 0;
  j->hash = 0;
  amped_trace_begin(AMPED_PHASE_DISTRIBUTE, mode);
  amped_status status = walk(j, false);
  AMPED_TRY(amped_comm_agree(j->comm, status)); /* where a reader fails, others have a part only */
  if (j->plan->modes[mode].split_count > 0) {
    status = walk(j, true);
    AMPED_TRY(amped_comm_agree(j->comm, status));
  }
  if (j->offset == own_nnz(j))
    status = j->worker->format->finish(j->worker->tensor, mode);
  else
    status = amped_error(AMPED_BAD_INPUT, amped_input_path(j->source),
                         "copy %d has fewer nonzeros than its iDp table; convert the tensor again",
                         mode);
  AMPED_TRY(amped_comm_agree(j->comm, status));
  amped_comm_sum_u64(j->comm, &j->hash, 1);
  if (j->hash != j->info->hash)
    status = amped_error(AMPED_BAD_INPUT, amped_input_path(j->source),
                         "copy %d disagrees with the tensor's hash (damaged data, or a copy of "
                         "another tensor); convert the tensor again",
                         mode);
  status = amped_comm_agree(j->comm, status);
  amped_trace_end();
  return status;
}

amped_status amped_load_copies(const amped_comm *comm, amped_input *source, bool parallel,
                               const amped_plan *plan, const amped_worker *worker,
                               double *seconds) {
  double began = amped_time();
  job j;
  memset(&j, 0, sizeof j);
  j.comm = comm;
  j.source = source;
  j.info = amped_input_info(source);
  j.plan = plan;
  j.worker = worker;
  j.wire_bytes = amped_slab_nonzero_bytes(j.info);
  amped_status status = amped_comm_agree(comm, allocate(&j, parallel));
  amped_progress_begin("reading and distributing", j.info->nnz * (uint64_t)plan->order, "nonzeros");
  for (int m = 0; m < plan->order && status == AMPED_OK; m++)
    status = distribute_mode(&j, m);
  amped_progress_end();
  release(&j);
  *seconds = amped_time() - began;
  return status;
}
