/* Load dense: from a dense tensor's file, or from cells that are made, to the slabs of all ranks.
 *
 * With `parallel` every rank reads, or makes, its own slab, and rank 0 no more than that. Else rank
 * 0 reads piece after piece of every rank's slab and sends it. Where cells stay outside
 * (dense_plan.h) they are counted alone. Pieces are whole slices where these
 * are small. Cells go to the worker's format as they are in the file (insert_cells), and are
 * counted on the way (dense_stats.h). */
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
  const amped_generated_cells *cells; /* in its place; all ranks make theirs. NULL: a file's */
  bool parallel;
  const amped_plan *plan;
  const amped_worker *worker;
} amped_dense_load;

/* Bytes of host memory that loading takes on this rank. */
uint64_t amped_load_dense_bytes(const amped_plan *plan, const amped_dense_info *info);

/* Collective; the status is agreed. *stats: of all ranks' cells, of made ones without a hash.
 * AMPED_BAD_INPUT where a cell is not finite, or where the file states other statistics. *seconds:
 * of this rank. */
amped_status amped_load_dense(const amped_dense_load *load, amped_dense_stats *stats,
                              double *seconds);

#endif
