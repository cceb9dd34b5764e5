/* Counts the cells of a dense tensor, and reports its facts. */
#include "cli/info_dense.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/printable.h"
#include "base/timer.h"
#include "load/dense_source.h"
#include "tensor/dense_stats.h"
#include "tensor/form.h"
#include "tensor/format.h"

#define PIECE (UINT64_C(1) << 20)

void amped_info_say_form(double density) {
  amped_say("form         %s", amped_form_text(density));
}

static json_t *form_name(bool dense) {
  return json_string(dense ? "dense" : "sparse");
}

bool amped_info_json_form(double density, json_t *object) {
  return json_object_set_new(object, "faster", form_name(amped_form_dense_is_faster(density))) ==
             0 &&
         json_object_set_new(object, "smaller", form_name(amped_form_dense_is_smaller(density))) ==
             0;
}

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
  amped_dense_source_nan_zero(source);
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

static bool is_fortran(const amped_dense_info *info) {
  return !amped_dense_info_is_c(info);
}

static void say_dense(const amped_dense_source *source, const amped_dense_info *info) {
  const char *dataset = amped_dense_source_dataset(source);
  const uint64_t zeroed = amped_dense_source_zeroed(source);
  char text[AMPED_DIMS_TEXT];
  char bytes[32];
  char name[256];
  amped_say("tensor       %s, dense", amped_dense_source_path(source));
  if (dataset != NULL)
    amped_say("dataset      %s%s", amped_printable_text(name, sizeof name, dataset),
              amped_dense_source_is_matlab(source)
                  ? " of MATLAB: its first dimension is the last mode here"
                  : "");
  amped_say("order        %d", info->order);
  amped_say("dimensions   %s", amped_format_dims(text, info->order, info->dims));
  amped_say("cells        %" PRIu64 " of %s, %s", info->cells, amped_cell_name(info->type),
            amped_format_bytes(bytes, info->cells * amped_cell_bytes(info->type)));
  amped_say("nonzeros     %" PRIu64 " (density %.3g)", info->nnz, density(info));
  if (zeroed > 0)
    amped_say("not finite   %" PRIu64
              " cell%s, or missing (amped_mpi convert --nan=zero makes them 0)",
              zeroed, zeroed == 1 ? "" : "s");
  amped_say("layout       %s, the %s index changes fastest", is_fortran(info) ? "Fortran" : "C",
            is_fortran(info) ? "first" : "last");
  amped_say("norm         %.9g", sqrt(info->norm_squared));
  amped_info_say_form(density(info));
}

static json_t *json_dense(const amped_dense_source *source, const amped_dense_info *info) {
  const char *path = amped_dense_source_path(source);
  const char *dataset = amped_dense_source_dataset(source);
  char hash[32];
  (void)snprintf(hash, sizeof hash, "%016" PRIx64, info->hash);
  return json_pack("{s:s, s:o, s:o, s:b, s:i, s:o, s:o, s:o, s:o, s:f, s:s, s:s, s:o, s:s}", "kind",
                   "dense", "file", amped_json_string(path), "dataset", amped_json_string(dataset),
                   "matlab", (int)amped_dense_source_is_matlab(source), "order", info->order,
                   "dims", amped_json_counts(info->dims, info->order), "cells",
                   amped_json_count(info->cells), "nnz", amped_json_count(info->nnz), "not_finite",
                   amped_json_count(amped_dense_source_zeroed(source)), "density", density(info),
                   "cell_type", amped_cell_name(info->type), "layout",
                   is_fortran(info) ? "fortran" : "c", "norm",
                   amped_json_number(sqrt(info->norm_squared)), "hash", hash);
}

static amped_status tell(const amped_options *o, amped_dense_source *source, amped_json *json) {
  amped_dense_info info = *amped_dense_source_info(source);
  const double began = amped_time();
  if (!info.has_stats || o->info.verify)
    AMPED_TRY(count_cells(source, &info));
  const double sec = amped_time() - began;
  say_dense(source, &info);
  if (o->info.verify)
    amped_say("verified     in %.2f s", sec);
  json_t *object = json_dense(source, &info);
  if (object != NULL && amped_info_json_form(density(&info), object) &&
      (!o->info.verify || json_object_set_new(object, "verify_sec", json_real(sec)) == 0))
    return amped_json_line(json, object);
  json_decref(object);
  return amped_json_line(json, NULL);
}

amped_status amped_info_dense(const amped_options *o, amped_json *json) {
  amped_dense_source *source = NULL;
  AMPED_TRY(amped_dense_source_open(o->args[0], o->session.dataset, &source));
  amped_status status = tell(o, source, json);
  amped_dense_source_close(source);
  return status;
}
