/* Dense list: reads a dense file piece by piece, and keeps nonzero or observed cells. */
#include "load/dense_list.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "tensor/dense_stats.h"

/* PIECE: cells read together. BLOCK: cells converted to double together. */
#define PIECE (UINT64_C(1) << 20)
#define BLOCK UINT64_C(4096)

/* The list during reading. */
typedef struct list {
  const amped_dense_source *source;
  const amped_dense_info *info;
  const amped_overflow *overflow;
  bool observed; /* the list has all cells that are not missing */
  amped_sptensor *t;
  uint64_t capacity;
  amped_dense_stats stats;
  amped_dense_counts counts;
} list;

static amped_status grow(list *l, uint64_t most) {
  uint64_t capacity = l->capacity + l->capacity / 2 + PIECE;
  capacity = capacity < most ? capacity : most;
  for (int m = 0; m < l->info->order; m++)
    AMPED_TRY(amped_realloc(&l->t->indices[m], capacity, sizeof **l->t->indices, "nonzeros"));
  AMPED_TRY(amped_realloc(&l->t->values, capacity, sizeof *l->t->values, "nonzeros"));
  l->capacity = capacity;
  return AMPED_OK;
}

/* Makes space for one more nonzero. `cell` = cells read so far, for the overflow handler. */
static amped_status make_room(list *l, uint64_t cell) {
  const amped_overflow *o = l->overflow;
  const uint64_t most = o == NULL ? l->info->cells : amped_overflow_most(o->memory, l->info->order);
  if (l->t->nnz < l->capacity)
    return AMPED_OK;
  if (l->capacity < most)
    return grow(l, most);
  return o->take(o->context, l->t, (double)cell / (double)l->info->cells);
}

static amped_status add_cell(list *l, uint64_t cell, double value) {
  const amped_dense_info *info = l->info;
  amped_sptensor *t = l->t;
  uint64_t index[AMPED_MAX_ORDER];
  AMPED_TRY(make_room(l, cell));
  amped_dense_index(info->order, info->dims, info->layout, cell, index);
  for (int m = 0; m < info->order; m++)
    t->indices[m][t->nnz] = index[m];
  t->values[t->nnz++] = value;
  return AMPED_OK;
}

/* Get the values of a block; NaN: missing. */
static amped_status get_block(const list *l, uint64_t first, uint64_t count, const void *cells,
                              double *values) {
  if (l->observed)
    return amped_dense_source_values(l->source, l->info->layout, first, count, cells, values);
  amped_cells_get(cells, l->info->type, 0, count, values);
  return AMPED_OK;
}

static amped_status add_block(list *l, uint64_t first, uint64_t count, const double *values) {
  for (uint64_t i = 0; i < count; i++) {
    const bool missing = isnan(values[i]);
    l->counts.zeros += values[i] == 0.0;
    l->counts.missing += missing;
    if (l->observed ? !missing : values[i] != 0.0)
      AMPED_TRY(add_cell(l, first + i, values[i]));
  }
  return AMPED_OK;
}

static amped_status add_cells(list *l, uint64_t first, uint64_t count, const void *cells) {
  const amped_dense_slab whole = {0, 0, l->info->dims[0]};
  double values[BLOCK];
  amped_dense_stats_add(&l->stats, l->info, &whole, first, count, cells);
  for (uint64_t begin = 0; begin < count; begin += BLOCK) {
    const uint64_t n = count - begin < BLOCK ? count - begin : BLOCK;
    const char *block = (const char *)cells + begin * amped_cell_bytes(l->info->type);
    AMPED_TRY(get_block(l, first + begin, n, block, values));
    AMPED_TRY(add_block(l, first + begin, n, values));
  }
  return AMPED_OK;
}

static amped_status read_pieces(amped_dense_source *source, list *l) {
  const amped_dense_info *info = l->info;
  const uint64_t piece = info->cells < PIECE ? info->cells : PIECE;
  amped_status status = AMPED_OK;
  void *cells = NULL;
  AMPED_TRY(amped_alloc(&cells, piece, amped_cell_bytes(info->type), "cells"));
  amped_progress_begin("reading", info->cells, "cells");
  for (uint64_t first = 0; first < info->cells && status == AMPED_OK; first += piece) {
    const uint64_t n = info->cells - first < piece ? info->cells - first : piece;
    status = amped_dense_source_read(source, 0, 0, info->dims[0], first, n, cells);
    if (status == AMPED_OK)
      status = add_cells(l, first, n, cells);
    amped_progress_update(first + n);
  }
  amped_progress_end();
  amped_free(cells);
  return status;
}

amped_status amped_dense_list_read(amped_dense_source *source, const amped_overflow *overflow,
                                   amped_sptensor *out, amped_dense_counts *counts) {
  list l = {.source = source,
            .info = amped_dense_source_info(source),
            .overflow = overflow,
            .observed = amped_dense_source_missing(source) == AMPED_MISSING_KEEP,
            .t = out};
  AMPED_TRY(amped_sptensor_create(out, l.info->order, 0));
  memcpy(out->dims, l.info->dims, sizeof out->dims);
  out->duplicates = AMPED_DUPLICATES_NONE;
  AMPED_TRY(read_pieces(source, &l));
  *counts = l.counts;
  amped_cut_integers_warn(amped_dense_source_cut(source), l.info->order,
                          amped_dense_source_path(source));
  return amped_dense_info_check(l.info, l.stats.nnz, l.stats.hash, amped_dense_source_path(source));
}

void amped_dense_list_say(const char *path, const amped_dense_info *info,
                          const amped_dense_counts *counts) {
  amped_note("%s: %" PRIu64 " of %" PRIu64 " cells are observed, and %" PRIu64
             " of these are 0; %" PRIu64 " are missing",
             path, info->cells - counts->missing, info->cells, counts->zeros, counts->missing);
}

amped_status amped_dense_list_load(const char *path, const char *dataset,
                                   const amped_axis_options *axes, const amped_overflow *overflow,
                                   amped_sptensor *out) {
  amped_dense_source *source = NULL;
  amped_dense_counts counts = {.zeros = 0};
  memset(out, 0, sizeof *out);
  AMPED_TRY(amped_dense_source_open(path, dataset, &source));
  amped_dense_source_set_missing(source, AMPED_MISSING_KEEP);
  amped_status status = amped_dense_list_read(source, overflow, out, &counts);
  if (status == AMPED_OK)
    status = amped_dense_source_labels(source, axes, out->labels);
  if (status == AMPED_OK)
    amped_dense_list_say(path, amped_dense_source_info(source), &counts);
  amped_dense_source_close(source);
  if (status == AMPED_OK && out->nnz == 0)
    status = amped_error(AMPED_BAD_INPUT, path,
                         "all of its cells are missing; give an array that has observed cells");
  if (status != AMPED_OK)
    amped_sptensor_free(out);
  return status;
}
