#include "distribute.h"

#include <string.h>

#include "log.h"
#include "mem.h"
#include "share.h"
#include "slab.h"
#include "timer.h"
#include "trace.h"

#define TAG_SHARE 17

/* A message that says "the reader failed" instead of a share. */
#define FAILED_BYTES 1

/* Everything one call of amped_distribute works with. */
typedef struct job {
  const amped_comm *comm;
  amped_source *source;
  const amped_tensor_info *info;
  const amped_plan *plan;
  const amped_backend *backend;
  amped_context *ctx;
  uint64_t wire_bytes; /* of one nonzero */
  amped_share_buffers buffers;
  /* Two sets in turn: one is in transit while the other is filled or worked on. wire[s] holds a
   * whole slab on rank 0 (shares of all ranks behind each other), one share elsewhere. */
  char *wire[2];
  MPI_Request *requests[2]; /* [nranks] */
  char **targets;           /* [nranks] into wire */
  uint64_t *counts;         /* [nranks] */
  uint64_t *left;           /* [nranks] */
  /* of the copy in hand */
  int mode;
  uint64_t offset; /* own nonzeros stored so far */
  uint64_t hash;
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

uint64_t amped_distribute_host_bytes(const amped_tensor_info *info, const amped_plan *plan,
                                     bool reads, bool parallel) {
  uint64_t wire = amped_slab_nonzero_bytes(info);
  uint64_t own = share_capacity(info, plan);
  uint64_t bytes = own * amped_plan_nonzero_bytes(plan);
  if (reads)
    bytes += amped_slab_ring_bytes(info);
  if (parallel)
    return bytes + own * wire;
  return bytes + 2 * wire * (reads ? slab_nnz(info) : own);
}

static amped_status allocate_buffers(job *j) {
  amped_share_buffers *b = &j->buffers;
  b->capacity = share_capacity(j->info, j->plan);
  AMPED_TRY(j->backend->host_alloc(j->ctx, b->capacity * j->plan->index_type, &b->rows));
  for (int i = 0; i + 1 < j->plan->order; i++)
    AMPED_TRY(j->backend->host_alloc(j->ctx, b->capacity * j->plan->index_type, &b->inputs[i]));
  return j->backend->host_alloc(j->ctx, b->capacity * j->plan->value_type, &b->values);
}

static amped_status allocate(job *j, bool parallel) {
  uint64_t nranks = (uint64_t)j->comm->nranks;
  bool root = j->comm->rank == 0;
  uint64_t wire = (root && !parallel ? slab_nnz(j->info) : share_capacity(j->info, j->plan));
  for (int s = 0; s < (parallel ? 1 : 2); s++) {
    AMPED_TRY(amped_alloc(&j->wire[s], wire, j->wire_bytes, "the shares in transit"));
    AMPED_TRY(amped_alloc(&j->requests[s], nranks, sizeof *j->requests[s], "the requests"));
    for (uint64_t p = 0; p < nranks; p++)
      j->requests[s][p] = MPI_REQUEST_NULL;
  }
  AMPED_TRY(amped_calloc(&j->targets, nranks, sizeof *j->targets, "the shares in transit"));
  AMPED_TRY(amped_calloc(&j->counts, nranks, sizeof *j->counts, "the shares in transit"));
  AMPED_TRY(amped_calloc(&j->left, nranks, sizeof *j->left, "the shares in transit"));
  return allocate_buffers(j);
}

static void release(job *j) {
  amped_share_buffers *b = &j->buffers;
  j->backend->host_free(j->ctx, b->rows);
  for (int i = 0; i < AMPED_MAX_ORDER - 1; i++)
    j->backend->host_free(j->ctx, b->inputs[i]);
  j->backend->host_free(j->ctx, b->values);
  for (int s = 0; s < 2; s++) {
    amped_free(j->wire[s]);
    amped_free(j->requests[s]);
  }
  amped_free(j->targets);
  amped_free(j->counts);
  amped_free(j->left);
}

static uint64_t own_nnz(const job *j) {
  return j->plan->modes[j->mode].rank_nnz[j->plan->rank];
}

/* Do parts of the block (plan.h) end where the iDp table says? Rows that are told finished must be.
 * The rows of a run ascend, as the backend sees to. */
static bool parts_agree(const job *j, const amped_run *run) {
  const amped_mode_plan *m = &j->plan->modes[j->mode];
  for (int part = 0; part + 1 < m->parts; part++) {
    uint64_t bound = m->part_rows[part + 1];
    uint64_t end = amped_plan_part_nnz(j->plan, j->mode, part) - j->offset; /* wraps if earlier */
    if (end > 0 && end <= run->count &&
        amped_index_get(run->rows, j->plan->index_type, end - 1) >= bound)
      return false;
    if (end < run->count && amped_index_get(run->rows, j->plan->index_type, end) < bound)
      return false;
  }
  return true;
}

/* Translate own nonzeros in wire form and give them to the backend. */
static amped_status store(job *j, const char *wire, uint64_t count) {
  amped_run run;
  uint64_t hash = 0;
  if (count == 0)
    return AMPED_OK;
  amped_trace_begin(AMPED_PHASE_UPLOAD, j->mode);
  if (count > own_nnz(j) - j->offset ||
      !amped_share_translate(j->info, j->plan, j->mode, wire, count, &j->buffers, &run, &hash) ||
      !parts_agree(j, &run))
    return amped_error(AMPED_BAD_INPUT, amped_source_path(j->source),
                       "copy %d disagrees with its iDp table; convert the tensor again", j->mode);
  AMPED_TRY(j->backend->upload(j->ctx, j->mode, j->offset, &run));
  amped_trace_end();
  j->offset += count;
  j->hash += hash;
  return AMPED_OK;
}

static void wait_all(const job *j, int set) {
  AMPED_MPI(j->comm, MPI_Waitall(j->comm->nranks, j->requests[set], MPI_STATUSES_IGNORE));
}

/* Rank 0: send the shares of one slab, packed into wire set `set`, and store its own. */
static amped_status scatter_slab(job *j, const amped_slab *slab, int set,
                                 amped_share_cursor *cursor) {
  amped_share_cursor ahead = *cursor;
  char *at = j->wire[set];
  amped_share_count(j->plan, j->mode, &ahead, slab->count, j->counts);
  for (int p = 0; p < j->comm->nranks; p++) {
    j->targets[p] = at;
    at += j->counts[p] * j->wire_bytes;
    j->progress += j->counts[p];
  }
  wait_all(j, set);
  amped_share_pack(j->info, j->plan, j->mode, cursor, slab, j->counts, j->targets);
  for (int p = 1; p < j->comm->nranks; p++)
    if (j->counts[p] > 0)
      AMPED_MPI(j->comm,
                MPI_Isend(j->targets[p], amped_comm_count(j->comm, j->counts[p] * j->wire_bytes),
                          MPI_BYTE, p, TAG_SHARE, j->comm->mpi, &j->requests[set][p]));
  amped_progress_update(j->progress);
  return store(j, j->targets[0], j->counts[0]);
}

/* Any rank: store its own part of one slab. */
static amped_status keep_slab(job *j, const amped_slab *slab, amped_share_cursor *cursor) {
  amped_share_cursor ahead = *cursor;
  amped_share_count(j->plan, j->mode, &ahead, slab->count, j->counts);
  memset(j->targets, 0, (size_t)j->comm->nranks * sizeof *j->targets);
  j->targets[j->comm->rank] = j->wire[0];
  amped_share_pack(j->info, j->plan, j->mode, cursor, slab, j->counts, j->targets);
  j->progress += j->counts[j->comm->rank] * (uint64_t)j->comm->nranks; /* others do as much */
  amped_progress_update(j->progress);
  return store(j, j->wire[0], j->counts[j->comm->rank]);
}

/* Is there another slab in the walk, or another walk? Then the cursor stands before it, and *count
 * is its nonzeros. */
static bool next_slab(const job *j, amped_share_cursor *cursor, uint64_t *count) {
  uint64_t nnz = j->info->nnz;
  if (cursor->passed == nnz && !cursor->guests && j->plan->modes[j->mode].split_count > 0)
    *cursor = (amped_share_cursor){.guests = true};
  *count = nnz - cursor->passed < AMPED_SLAB_NNZ ? nnz - cursor->passed : AMPED_SLAB_NNZ;
  return *count > 0;
}

/* Rank 0: tell every rank that still waits for nonzeros that none will come. */
static void send_failure(job *j, amped_share_cursor cursor) {
  static const char failed = 0;
  uint64_t count = 0;
  memset(j->left, 0, (size_t)j->comm->nranks * sizeof *j->left);
  while (next_slab(j, &cursor, &count)) {
    amped_share_count(j->plan, j->mode, &cursor, count, j->counts);
    for (int p = 0; p < j->comm->nranks; p++)
      j->left[p] += j->counts[p];
  }
  for (int p = 1; p < j->comm->nranks; p++)
    if (j->left[p] > 0)
      AMPED_MPI(j->comm, MPI_Send(&failed, FAILED_BYTES, MPI_BYTE, p, TAG_SHARE, j->comm->mpi));
}

/* Mark the slabs of a walk that hold nonzeros of this rank, or of any. */
static amped_status find_slabs(job *j, bool guests, bool own, bool **wanted) {
  amped_share_cursor cursor = {.guests = guests};
  uint64_t count = 0;
  AMPED_TRY(amped_calloc(wanted, amped_ceil_div(j->info->nnz, AMPED_SLAB_NNZ), sizeof **wanted,
                         "the list of slabs"));
  for (uint64_t n = 0; next_slab(j, &cursor, &count) && cursor.guests == guests; n++) {
    amped_share_count(j->plan, j->mode, &cursor, count, j->counts);
    for (int p = 0; p < j->comm->nranks; p++)
      if (j->counts[p] > 0 && (!own || p == j->comm->rank))
        (*wanted)[n] = true;
  }
  return AMPED_OK;
}

/* Read the slabs of the cursor's walk; send their nonzeros to all ranks, or keep what is this
 * rank's own. After a failure the cursor stands behind what was sent. */
static amped_status read_walk(job *j, bool own, amped_share_cursor *cursor) {
  amped_slab_ring *ring = NULL;
  const amped_slab *slab = NULL;
  bool *wanted = NULL;
  amped_status status = AMPED_OK;
  AMPED_GO(done, find_slabs(j, cursor->guests, own, &wanted));
  AMPED_GO(done, amped_slab_ring_open(j->source, j->mode, wanted, &ring));
  for (int set = 0;; set = 1 - set) {
    AMPED_GO(done, amped_slab_ring_next(ring, &slab));
    uint64_t next = slab != NULL ? slab->first : j->info->nnz;
    if (next > cursor->passed) /* slabs left out */
      amped_share_count(j->plan, j->mode, cursor, next - cursor->passed, j->counts);
    if (slab == NULL)
      break;
    AMPED_GO(done, own ? keep_slab(j, slab, cursor) : scatter_slab(j, slab, set, cursor));
  }
done:
  amped_slab_ring_close(ring);
  amped_free(wanted);
  return status;
}

/* Both walks over a copy. */
static amped_status read_copy(job *j, bool own) {
  amped_share_cursor cursor = {.guests = false};
  amped_status status = read_walk(j, own, &cursor);
  if (status == AMPED_OK && j->plan->modes[j->mode].split_count > 0) {
    cursor = (amped_share_cursor){.guests = true};
    status = read_walk(j, own, &cursor);
  }
  if (own)
    return status;
  wait_all(j, 0);
  wait_all(j, 1);
  send_failure(j, cursor);
  return status;
}

/* Post the receive of the next slab that holds own nonzeros; *count is 0 where there is none. */
static void post(job *j, int set, amped_share_cursor *cursor, uint64_t *count) {
  uint64_t n = 0;
  *count = 0;
  while (*count == 0 && next_slab(j, cursor, &n)) {
    amped_share_count(j->plan, j->mode, cursor, n, j->counts);
    *count = j->counts[j->comm->rank];
  }
  if (*count > 0)
    AMPED_MPI(j->comm, MPI_Irecv(j->wire[set], amped_comm_count(j->comm, *count * j->wire_bytes),
                                 MPI_BYTE, 0, TAG_SHARE, j->comm->mpi, &j->requests[set][0]));
}

/* Other ranks: receive until all own nonzeros, or the news of a failure, came. A failure of this
 * rank's own lets it receive on, so that rank 0 is not left waiting. */
static amped_status receive(job *j) {
  amped_status status = AMPED_OK;
  amped_share_cursor cursor = {.guests = false};
  uint64_t counts[2] = {0, 0};
  int set = 0;
  post(j, set, &cursor, &counts[set]);
  while (counts[set] > 0) {
    MPI_Status got;
    int bytes = 0;
    post(j, 1 - set, &cursor, &counts[1 - set]);
    AMPED_MPI(j->comm, MPI_Wait(&j->requests[set][0], &got));
    AMPED_MPI(j->comm, MPI_Get_count(&got, MPI_BYTE, &bytes));
    if ((uint64_t)bytes != counts[set] * j->wire_bytes) {
      if (counts[1 - set] > 0) {
        AMPED_MPI(j->comm, MPI_Cancel(&j->requests[1 - set][0]));
        AMPED_MPI(j->comm, MPI_Wait(&j->requests[1 - set][0], MPI_STATUS_IGNORE));
      }
      return status; /* rank 0 says what failed */
    }
    if (status == AMPED_OK)
      status = store(j, j->wire[set], counts[set]);
    set = 1 - set;
  }
  return status;
}

static amped_status distribute_mode(job *j, int mode, bool parallel) {
  amped_status status = AMPED_OK;
  j->mode = mode;
  j->offset = 0;
  j->hash = 0;
  amped_trace_begin(AMPED_PHASE_DISTRIBUTE, mode);
  if (parallel || j->comm->rank == 0)
    status = read_copy(j, parallel);
  else
    status = receive(j);
  AMPED_TRY(amped_comm_agree(j->comm, status)); /* where rank 0 fails, others have a part only */
  if (j->offset == own_nnz(j))
    status = j->backend->loaded(j->ctx, mode);
  else
    status = amped_error(AMPED_BAD_INPUT, amped_source_path(j->source),
                         "copy %d has fewer nonzeros than its iDp table; convert the tensor again",
                         mode);
  AMPED_TRY(amped_comm_agree(j->comm, status));
  amped_comm_sum_u64(j->comm, &j->hash, 1);
  if (j->hash != j->info->hash)
    status = amped_error(AMPED_BAD_INPUT, amped_source_path(j->source),
                         "copy %d disagrees with the tensor's hash (damaged data, or a copy of "
                         "another tensor); convert the tensor again",
                         mode);
  status = amped_comm_agree(j->comm, status);
  amped_trace_end();
  return status;
}

amped_status amped_distribute(const amped_comm *comm, amped_source *source, bool parallel,
                              const amped_plan *plan, const amped_backend *backend,
                              amped_context *ctx, double *seconds) {
  double began = amped_time();
  job j;
  memset(&j, 0, sizeof j);
  j.comm = comm;
  j.source = source;
  j.info = amped_source_info(source);
  j.plan = plan;
  j.backend = backend;
  j.ctx = ctx;
  j.wire_bytes = amped_slab_nonzero_bytes(j.info);
  amped_status status = amped_comm_agree(comm, allocate(&j, parallel));
  amped_progress_begin("reading and distributing", j.info->nnz * (uint64_t)plan->order, "nonzeros");
  for (int m = 0; m < plan->order && status == AMPED_OK; m++)
    status = distribute_mode(&j, m, parallel);
  amped_progress_end();
  release(&j);
  *seconds = amped_time() - began;
  return status;
}
