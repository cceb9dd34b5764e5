/* Load dense: slabs of a dense tensor, read or made, piece by piece. */
#include "load/load_dense.h"

#include "base/heartbeat.h"
#include "base/timer.h"
#include "base/trace.h"
#include "load/cut_share.h"

/* Bytes read together, unless a slice is larger. */
#define PIECE_BYTES (UINT64_C(64) << 20)

/* In place of a piece's number of cells: rank 0 has failed. */
#define FAILED UINT64_MAX

typedef struct loading {
  const amped_dense_load *l;
  amped_dense_stats *stats;
  void *piece;
  amped_status status; /* status of this rank */
} loading;

static uint64_t cell_bytes(const loading *g) {
  return amped_cell_bytes(g->l->info->type);
}

/* Cells of a piece: a multiple of a slice (all cells of one index of the slowest mode), if a slice
 * fits. */
static uint64_t piece_cells(const amped_dense_info *info, const amped_dense_slab *slab) {
  const uint64_t most = PIECE_BYTES / amped_cell_bytes(info->type);
  uint64_t slice = 1;
  for (int k = 1; k < info->order; k++)
    slice *= info->layout[k] == slab->mode ? slab->count : info->dims[info->layout[k]];
  return slice > 0 && slice <= most ? most / slice * slice : most;
}

static uint64_t slab_cells(const amped_dense_info *info, const amped_dense_slab *slab) {
  return info->cells / info->dims[slab->mode] * slab->count;
}

/* The slab of a rank: placement BLOCK gives every rank consecutive indices. */
static amped_dense_slab slab_of(const amped_plan *plan, int rank) {
  const uint64_t *rows = plan->modes[plan->dense.slab_mode].rows.rank_rows;
  amped_dense_slab slab = {plan->dense.slab_mode, 0, rows[rank]};
  for (int p = 0; p < rank; p++)
    slab.first += rows[p];
  return slab;
}

uint64_t amped_load_dense_bytes(const amped_plan *plan, const amped_dense_info *info) {
  (void)plan;
  const uint64_t bytes = info->cells * amped_cell_bytes(info->type);
  return bytes < PIECE_BYTES ? bytes : PIECE_BYTES;
}

/* Counts a piece of this rank's slab, and hands it to the backend. */
static amped_status take(loading *g, const amped_dense_slab *slab, uint64_t first, uint64_t count) {
  const amped_worker *worker = g->l->worker;
  amped_heartbeat_step();
  amped_dense_stats_add(g->stats, g->l->info, g->l->cells == NULL ? slab : NULL, first, count,
                        g->piece);
  return g->l->plan->dense.outside
             ? AMPED_OK
             : worker->format->insert_cells(worker->tensor, first, count, g->piece);
}

/* Makes cells first .. first + count of the slab, in runs that are consecutive in the tensor. */
static void make_piece(const loading *g, const amped_dense_slab *slab, uint64_t first,
                       uint64_t count) {
  const amped_dense_info *info = g->l->info;
  uint64_t run = slab->count;
  for (int m = slab->mode + 1; m < info->order; m++)
    run *= info->dims[m];
  const uint64_t index_cells = run / slab->count; /* cells of one index of the slab mode */
  for (uint64_t done = 0, n = 0; done < count; done += n) {
    const uint64_t outer = (first + done) / run;
    const uint64_t inner = (first + done) % run;
    n = count - done < run - inner ? count - done : run - inner;
    amped_generated_cells_get(g->l->cells,
                              (outer * info->dims[slab->mode] + slab->first) * index_cells + inner,
                              n, (char *)g->piece + done * cell_bytes(g));
  }
}

static amped_status read_piece(const loading *g, const amped_dense_slab *slab, uint64_t first,
                               uint64_t count) {
  if (g->l->cells != NULL) {
    make_piece(g, slab, first, count);
    return AMPED_OK;
  }
  return amped_dense_source_read(g->l->source, slab->mode, slab->first, slab->count, first, count,
                                 g->piece);
}

static amped_status read_own(loading *g) {
  const amped_dense_slab slab = slab_of(g->l->plan, g->l->comm->rank);
  const uint64_t cells = slab_cells(g->l->info, &slab);
  const uint64_t most = piece_cells(g->l->info, &slab);
  for (uint64_t first = 0; first < cells; first += most) {
    const uint64_t count = cells - first < most ? cells - first : most;
    AMPED_TRY(read_piece(g, &slab, first, count));
    AMPED_TRY(take(g, &slab, first, count));
  }
  return AMPED_OK;
}

/* Rank 0: sends another rank's slab, piece by piece; after a failure, only the failure. */
static void send_slab(loading *g, int to) {
  const amped_comm *comm = g->l->comm;
  const amped_dense_slab slab = slab_of(g->l->plan, to);
  const uint64_t cells = slab_cells(g->l->info, &slab);
  const uint64_t most = piece_cells(g->l->info, &slab);
  for (uint64_t first = 0; first < cells; first += most) {
    uint64_t count = cells - first < most ? cells - first : most;
    if (g->status == AMPED_OK)
      g->status = read_piece(g, &slab, first, count);
    if (g->status != AMPED_OK)
      count = FAILED;
    AMPED_MPI(comm, MPI_Send(&count, 1, MPI_UINT64_T, to, 0, comm->mpi));
    if (count == FAILED)
      return;
    AMPED_MPI(comm, MPI_Send(g->piece, amped_comm_count(comm, count * cell_bytes(g)), MPI_BYTE, to,
                             0, comm->mpi));
  }
}

static void receive_slab(loading *g) {
  const amped_comm *comm = g->l->comm;
  const amped_dense_slab slab = slab_of(g->l->plan, comm->rank);
  const uint64_t cells = slab_cells(g->l->info, &slab);
  for (uint64_t first = 0, count = 0; first < cells; first += count) {
    AMPED_MPI(comm, MPI_Recv(&count, 1, MPI_UINT64_T, 0, 0, comm->mpi, MPI_STATUS_IGNORE));
    if (count == FAILED)
      return; /* rank 0 reports the error */
    AMPED_MPI(comm, MPI_Recv(g->piece, amped_comm_count(comm, count * cell_bytes(g)), MPI_BYTE, 0,
                             0, comm->mpi, MPI_STATUS_IGNORE));
    if (g->status == AMPED_OK)
      g->status = take(g, &slab, first, count);
  }
}

static void read_slabs(loading *g) {
  const amped_comm *comm = g->l->comm;
  if (g->l->parallel || comm->rank == 0)
    g->status = read_own(g);
  if (g->l->parallel)
    return;
  for (int p = 1; p < comm->nranks && comm->rank == 0; p++)
    send_slab(g, p);
  if (comm->rank > 0)
    receive_slab(g);
}

/* Collective: adds the statistics of all ranks, in rank order. */
static void sum_stats(const amped_comm *comm, amped_dense_stats *stats) {
  uint64_t counts[2] = {stats->nnz, stats->hash};
  double squares = amped_kahan_value(&stats->squares);
  amped_dd sum = {squares,
                  (double)(stats->squares.sum + stats->squares.error - (long double)squares)};
  amped_comm_sum_u64(comm, counts, 2);
  if (comm->nranks > 1)
    amped_comm_sum_dd(comm, &sum, 1);
  amped_comm_sum(comm, &stats->negative, 1);
  stats->nnz = counts[0];
  stats->hash = counts[1];
  stats->squares = (amped_kahan){(long double)sum.hi, (long double)sum.lo};
}

/* Collective: warn of cells that a double does not hold. */
static void warn_of_cut(const amped_dense_load *l) {
  const amped_cut_integers none = {.count = 0};
  amped_cut_share_warn(l->comm, l->source != NULL ? amped_dense_source_cut(l->source) : &none,
                       l->info->order, l->path);
}

amped_status amped_load_dense(const amped_dense_load *l, amped_dense_stats *stats,
                              double *seconds) {
  const amped_device_ops *device = l->worker->backend->device;
  loading g = {.l = l, .stats = stats};
  const double began = amped_time();
  *stats = (amped_dense_stats){.nnz = 0};
  amped_trace_begin(AMPED_PHASE_READ, AMPED_NO_NUMBER);
  amped_status status =
      device->host_alloc(l->worker->device, amped_load_dense_bytes(l->plan, l->info), &g.piece);
  status = amped_comm_agree(l->comm, status);
  if (status == AMPED_OK) {
    read_slabs(&g);
    if (g.status == AMPED_OK)
      g.status = l->worker->format->finish(l->worker->tensor, 0);
    status = amped_comm_agree(l->comm, g.status);
  }
  if (g.piece != NULL)
    device->host_free(l->worker->device, g.piece);
  AMPED_TRY(status);
  sum_stats(l->comm, stats);
  warn_of_cut(l);
  AMPED_TRY(
      amped_comm_agree(l->comm, amped_dense_info_check(l->info, stats->nnz, stats->hash, l->path)));
  amped_trace_end();
  *seconds = amped_time() - began;
  return AMPED_OK;
}
