/* Counts the cells of a dense tensor, and reports its facts. */
#include "cli/info_dense.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/facts.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/printable.h"
#include "base/timer.h"
#include "cli/info_text.h"
#include "load/dense_source.h"
#include "tensor/dense_stats.h"
#include "tensor/format.h"

#define PIECE (UINT64_C(1) << 20)

/* --- counting --------------------------------------------------------------------------------- */

static amped_status count_pieces(amped_dense_source *source, void *cells, uint64_t piece,
                                 amped_dense_stats *stats) {
  const amped_dense_info *info = amped_dense_source_info(source);
  const amped_dense_slab whole = {0, 0, info->dims[0]};
  amped_status status = AMPED_OK;
  amped_progress_begin("reading", info->cells, "cells");
  for (uint64_t first = 0; first < info->cells && status == AMPED_OK; first += piece) {
    const uint64_t n = info->cells - first < piece ? info->cells - first : piece;
    status = amped_dense_source_read(source, 0, 0, info->dims[0], first, n, cells);
    if (status == AMPED_OK)
      amped_dense_stats_add(stats, info, &whole, first, n, cells);
    amped_progress_update(first + n);
  }
  amped_progress_end();
  return status;
}

/* Read all cells. Cells that are not finite count as 0, and their number is reported. */
static amped_status count_cells(amped_dense_source *source, amped_dense_info *info) {
  const uint64_t piece = info->cells < PIECE ? info->cells : PIECE;
  amped_dense_stats stats;
  memset(&stats, 0, sizeof stats);
  void *cells = NULL;
  AMPED_TRY(amped_alloc(&cells, piece, amped_cell_bytes(info->type), "cells"));
  amped_dense_source_set_missing(source, AMPED_MISSING_ZERO);
  amped_status status = count_pieces(source, cells, piece, &stats);
  amped_free(cells);
  AMPED_TRY(status);
  AMPED_TRY(amped_dense_info_check(info, stats.nnz, stats.hash, amped_dense_source_path(source)));
  amped_dense_stats_tell(&stats, info);
  return AMPED_OK;
}

/* --- reports ---------------------------------------------------------------------------------- */

static double density(const amped_dense_info *info) {
  return (double)info->nnz / (double)info->cells;
}

static void dense_facts(const amped_dense_source *source, const amped_dense_info *info,
                        const amped_labels *labels, amped_facts *f) {
  const char *path = amped_dense_source_path(source);
  const char *dataset = amped_dense_source_dataset(source);
  const uint64_t zeroed = amped_dense_source_zeroed(source);
  const bool matlab = amped_dense_source_is_matlab(source);
  const bool fortran = !amped_dense_info_is_c(info);
  char text[AMPED_DIMS_TEXT];
  char bytes[32];
  char name[256];
  char hash[32];
  amped_fact_json(f, "kind", json_string("dense"));
  amped_fact(f, "file", amped_json_string(path), "tensor       %s, dense\n", path);
  amped_fact_json(f, "dataset", amped_json_string(dataset));
  amped_fact_json(f, "matlab", json_boolean(matlab));
  if (dataset != NULL)
    amped_fact_words(f, "dataset      %s%s\n", amped_printable_text(name, sizeof name, dataset),
                     matlab ? " of MATLAB" : "");
  amped_fact(f, "order", json_integer(info->order), "order        %d\n", info->order);
  amped_fact(f, "dims", amped_json_counts(info->dims, info->order), "dimensions   %s\n",
             amped_format_dims(text, info->order, info->dims));
  for (int m = 0; m < info->order; m++)
    amped_info_labels(f, m, &labels[m], labels[m].count);
  if (amped_dense_source_has_scales(source))
    amped_fact_words(
        f, "coordinates  of its dimensions are not read; convert --axis stores labels of a mode\n");
  amped_fact(f, "cells", amped_json_count(info->cells), "cells        %" PRIu64, info->cells);
  amped_fact(f, "cell_type", json_string(amped_cell_name(info->type)), " of %s, %s\n",
             amped_cell_name(info->type),
             amped_format_bytes(bytes, info->cells * amped_cell_bytes(info->type)));
  amped_fact(f, "nnz", amped_json_count(info->nnz), "nonzeros     %" PRIu64, info->nnz);
  amped_fact(f, "density", amped_json_number(density(info)), " (density %.3g)\n", density(info));
  amped_fact_json(f, "not_finite", amped_json_count(zeroed));
  if (zeroed > 0)
    amped_fact_words(
        f,
        "not finite   %" PRIu64
        " cell%s, or missing (amped_mpi complete takes the other cells, if none is infinite)\n",
        zeroed, zeroed == 1 ? "" : "s");
  amped_fact(f, "layout", json_string(fortran ? "fortran" : "c"),
             "layout       %s, the %s index changes fastest\n", fortran ? "Fortran" : "C",
             fortran ? "first" : "last");
  amped_info_norm(f, info->norm_squared, info->nnz);
  (void)snprintf(hash, sizeof hash, "%016" PRIx64, info->hash);
  amped_fact_json(f, "hash", json_string(hash));
  amped_info_form(f, density(info));
}

static amped_status tell(const amped_options *o, amped_dense_source *source,
                         const amped_labels *labels, amped_json *json) {
  amped_dense_info info = *amped_dense_source_info(source);
  const double began = amped_time();
  if (!info.has_stats || o->info.verify)
    AMPED_TRY(count_cells(source, &info));
  const double sec = amped_time() - began;
  amped_facts f;
  amped_facts_begin(&f, NULL);
  dense_facts(source, &info, labels, &f);
  if (o->info.verify)
    amped_fact(&f, "verify_sec", amped_json_number(sec), "verified     in %.2f s\n", sec);
  return amped_facts_write(&f, json);
}

amped_status amped_info_dense(const amped_options *o, amped_json *json) {
  amped_dense_source *source = NULL;
  AMPED_TRY(amped_dense_source_open(o->args[0], o->session.dataset, &source));
  amped_labels labels[AMPED_MAX_ORDER] = {{.count = 0}};
  amped_status status = amped_dense_source_labels(source, NULL, labels);
  if (status == AMPED_OK)
    status = tell(o, source, labels, json);
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    amped_labels_free(&labels[m]);
  amped_dense_source_close(source);
  return status;
}
