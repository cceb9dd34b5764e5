/* Load dense: from a dense tensor's file, or from generated cells, to the slabs of all ranks.
 *
 * With `parallel` every rank, rank 0 too, reads or makes only its own slab. Otherwise rank 0 reads
 * every rank's slab piece by piece and sends it. Pieces are whole slices if slices are small. Cells
 * go to the worker's format as they are in the file (insert_cells), and are counted
 * (dense_stats.h). Cells that stay outside (dense_plan.h) are only counted. */
#ifndef AMPED_LOAD_DENSE_H
#define AMPED_LOAD_DENSE_H

#include "backend/backend.h"
#include "generate/generated_cells.h"
#include "load/dense_source.h"
#include "mpi/comm.h"
#include "tensor/dense_stats.h"

typedef struct amped_dense_load {
  const amped_comm *comm;
  const char *path; /* for messages */
  const amped_dense_info *info;
  amped_dense_source *source;         /* on ranks that read; else NULL */
  const amped_generated_cells *cells; /* generator, on all ranks, in place of a file; NULL: file */
  bool parallel;
  const amped_plan *plan;
  const amped_worker *worker;
} amped_dense_load;

/* Bytes of host memory that loading takes on this rank. */
uint64_t amped_load_dense_bytes(const amped_plan *plan, const amped_dense_info *info);

/* Collective; the status is agreed. *stats: sums over all ranks' cells; generated cells have no
 * hash. AMPED_BAD_INPUT if a cell is not finite, or if the file states other statistics. *seconds:
 * wall time of this rank. */
amped_status amped_load_dense(const amped_dense_load *load, amped_dense_stats *stats,
                              double *seconds);

#endif
