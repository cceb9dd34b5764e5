/* Reads dense tensors as lists, and writes dense outputs from lists or dense inputs. */
#include "cli/convert_dense.h"

#include <math.h>
#include <string.h>

#include "base/facts.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/system_memory.h"
#include "cli/option_rules.h"
#include "load/dense_list.h"
#include "load/dense_output.h"
#include "tensor/format.h"
#include "text/io.h"

/* --- which input ------------------------------------------------------------------------------ */

static amped_status check_output(const amped_options *o) {
  if (!o->session.cells.made || amped_dense_output_is(o->args[1]))
    return AMPED_OK;
  return amped_error(AMPED_USAGE, o->args[1],
                     "--dense writes .h5, .hdf5 or .npy; name such a file");
}

amped_status amped_convert_is_dense(const amped_options *o, bool *out) {
  const char *in = o->args[0];
  amped_format format = AMPED_FORMAT_TNS;
  *out = false;
  AMPED_TRY(check_output(o));
  if (o->read.format == AMPED_READ_AUTO)
    AMPED_TRY(amped_dense_source_is(in, o->session.dataset, out));
  else if (o->session.dataset != NULL)
    return amped_error(AMPED_USAGE, in, "--dataset is for HDF5 files; leave out --format");
  else {
    AMPED_TRY(amped_io_input_format(in, &o->read, &format));
    AMPED_TRY(amped_io_check(in, format, &o->read));
  }
  return amped_option_rules_check(o, *out ? "dense" : "sparse");
}

/* --- a dense tensor that is read -------------------------------------------------------------- */

static amped_status open_source(const amped_options *o, amped_dense_source **out) {
  char dims[AMPED_DIMS_TEXT];
  AMPED_TRY(amped_dense_source_open(o->args[0], o->session.dataset, out));
  const amped_dense_info *info = amped_dense_source_info(*out);
  amped_dense_source_set_missing(*out, o->convert.missing);
  amped_say("dense tensor %s: %s, %" PRIu64 " cells of %s", o->args[0],
            amped_format_dims(dims, info->order, info->dims), info->cells,
            amped_cell_name(info->type));
  return AMPED_OK;
}

/* lost: observed zeros that a list leaves out like cells that became 0. */
static void say_zeroed(uint64_t zeroed, uint64_t lost, const char *path) {
  char also[128] = "";
  if (lost > 0)
    (void)snprintf(
        also, sizeof also,
        ", and %" PRIu64 " observed zeros are left out with them; --nan=missing keeps these", lost);
  if (zeroed > 0)
    amped_warn("%s: %" PRIu64 " cell%s missing or not finite, and became 0%s", path, zeroed,
               zeroed == 1 ? " was" : "s were", also);
}

amped_status amped_convert_read_dense(const amped_options *o, const amped_overflow *overflow,
                                      amped_sptensor *out, uint64_t *not_finite) {
  const bool observed = o->convert.missing == AMPED_MISSING_KEEP;
  amped_dense_source *source = NULL;
  amped_dense_counts counts = {.zeros = 0};
  AMPED_TRY(open_source(o, &source));
  amped_status status = amped_dense_list_read(source, overflow, out, &counts);
  if (status == AMPED_OK && observed)
    amped_dense_list_say(o->args[0], amped_dense_source_info(source), &counts);
  if (status == AMPED_OK)
    status = amped_dense_source_labels(source, &o->axes, out->labels);
  *not_finite = observed ? counts.missing : amped_dense_source_zeroed(source);
  amped_dense_source_close(source);
  AMPED_TRY(status);
  if (!observed)
    say_zeroed(*not_finite, counts.zeros - *not_finite, o->args[0]);
  return out->nnz > 0
             ? AMPED_OK
             : amped_error(AMPED_BAD_INPUT, o->args[0],
                           observed ? "has only missing cells; give a tensor with observed cells"
                                    : "has only zeros; give a tensor with nonzero cells");
}

/* --- cells of a list -------------------------------------------------------------------------- */

static amped_status create_output(const amped_options *o, const amped_dense_info *info,
                                  amped_dense_output **out) {
  char bytes[32];
  amped_say("writing %s: %" PRIu64 " cells of %s, %s", o->args[1], info->cells,
            amped_cell_name(info->type),
            amped_format_bytes(bytes, info->cells * amped_cell_bytes(info->type)));
  return amped_dense_output_create(o->args[1], info, out);
}

/* Cells that are filled with nonzeros, and appended piece by piece. */
typedef struct cells {
  const amped_dense_info *info;
  amped_dense_output *output;
  char *piece;
  uint64_t first, count; /* cells of the piece */
} cells;

static amped_status append_piece(cells *c) {
  AMPED_TRY(amped_dense_output_append(c->output, c->count, c->piece));
  const uint64_t left = c->info->cells - c->first - c->count;
  c->first += c->count;
  c->count = left < c->count ? left : c->count;
  memset(c->piece, 0, c->count * amped_cell_bytes(c->info->type));
  return AMPED_OK;
}

static amped_status put_nonzeros(void *context, const amped_sptensor *t) {
  cells *c = context;
  const amped_vtype type = c->info->type == AMPED_CELL_F32 ? AMPED_F32 : AMPED_F64;
  for (uint64_t k = 0; k < t->nnz; k++) {
    uint64_t cell = 0;
    for (int m = 0; m < c->info->order; m++)
      cell = cell * c->info->dims[m] + t->indices[m][k];
    while (cell - c->first >= c->count)
      AMPED_TRY(append_piece(c));
    amped_value_put(c->piece, type, cell - c->first, t->values[k]);
  }
  return AMPED_OK;
}

static amped_status put_all(cells *c, const amped_external_sort *x, const amped_sptensor *t) {
  const uint64_t all = c->info->cells;
  c->count = all < AMPED_DENSE_OUTPUT_PIECE ? all : AMPED_DENSE_OUTPUT_PIECE;
  AMPED_TRY(amped_calloc(&c->piece, c->count, amped_cell_bytes(c->info->type), "cells"));
  AMPED_TRY(amped_external_sort_used(x) ? amped_external_sort_look(x, put_nonzeros, c)
                                        : put_nonzeros(c, t));
  while (c->first < all)
    AMPED_TRY(append_piece(c));
  return AMPED_OK;
}

static amped_status find_info(const amped_options *o, const amped_external_sort *x,
                              const amped_sptensor *t, amped_dense_info *info) {
  const bool on_disk = amped_external_sort_used(x);
  const bool is_float = on_disk ? amped_external_sort_tell(x).info->value_type == AMPED_F32
                                : amped_sptensor_fits_float(t);
  memset(info, 0, sizeof *info);
  info->order = t->order;
  info->type = is_float ? AMPED_CELL_F32 : AMPED_CELL_F64;
  for (int m = 0; m < t->order; m++) {
    info->dims[m] = t->dims[m];
    info->layout[m] = m;
  }
  if (!amped_dense_info_count(info))
    return amped_error(AMPED_BAD_INPUT, amped_io_name(o->args[0]),
                       "has more cells than 63 bits count; it cannot be made dense");
  return AMPED_OK;
}

amped_status amped_convert_write_cells(const amped_options *o, const amped_external_sort *x,
                                       const amped_sptensor *t, amped_dense_info *info) {
  cells c = {.info = info};
  AMPED_TRY(find_info(o, x, t, info));
  AMPED_TRY(create_output(o, info, &c.output));
  amped_status status = amped_dense_output_set_labels(c.output, t->labels);
  if (status == AMPED_OK)
    status = put_all(&c, x, t);
  amped_free(c.piece);
  if (status != AMPED_OK) {
    amped_dense_output_discard(c.output);
    return status;
  }
  *info = *amped_dense_output_info(c.output);
  return amped_dense_output_publish(c.output);
}

/* --- cells of a dense tensor ------------------------------------------------------------------ */

static amped_status copy_all(const amped_options *o, amped_dense_source *source,
                             amped_dense_output *output) {
  const amped_dense_info *info = amped_dense_source_info(source);
  const uint64_t memory = o->convert.memory > 0 ? o->convert.memory : amped_mem_available() / 4;
  /* The source takes the same memory again to bring cells into C's order. */
  const uint64_t piece = amped_dense_output_piece(info, memory, 2 * amped_cell_bytes(info->type));
  amped_status status = AMPED_OK;
  void *buffer = NULL;
  AMPED_TRY(amped_alloc(&buffer, piece, amped_cell_bytes(info->type), "cells"));
  for (uint64_t first = 0; first < info->cells && status == AMPED_OK; first += piece) {
    const uint64_t n = info->cells - first < piece ? info->cells - first : piece;
    status = amped_dense_source_read_c(source, first, n, buffer);
    if (status == AMPED_OK)
      status = amped_dense_output_append(output, n, buffer);
  }
  amped_free(buffer);
  return status;
}

static amped_status copy(const amped_options *o, const amped_output *found,
                         amped_dense_source *source, const amped_labels *labels,
                         amped_dense_info *info) {
  amped_dense_output *output = NULL;
  *info = *amped_dense_source_info(source);
  for (int m = 0; m < info->order; m++)
    info->layout[m] = m;
  AMPED_TRY(create_output(o, info, &output));
  amped_status status = amped_dense_output_set_labels(output, labels);
  if (status == AMPED_OK)
    status = copy_all(o, source, output);
  if (status == AMPED_OK) {
    *info = *amped_dense_output_info(output);
    status =
        amped_dense_info_check(amped_dense_source_info(source), info->nnz, info->hash, o->args[0]);
  }
  if (status == AMPED_OK)
    status = amped_output_compare_tensor(
        found, info->hash,
        &(amped_output_shape){.order = info->order, .dims = info->dims, .labels = labels});
  if (status == AMPED_OK)
    return amped_dense_output_publish(output);
  amped_dense_output_discard(output);
  return status;
}

amped_status amped_convert_copy_cells(const amped_options *o, const amped_output *found,
                                      amped_json *json) {
  amped_dense_source *source = NULL;
  amped_dense_info info;
  amped_labels labels[AMPED_MAX_ORDER] = {{.count = 0}};
  AMPED_TRY(open_source(o, &source));
  amped_status status = amped_dense_source_labels(source, &o->axes, labels);
  if (status == AMPED_OK)
    status = copy(o, found, source, labels, &info);
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    amped_labels_free(&labels[m]);
  const uint64_t zeroed = amped_dense_source_zeroed(source);
  amped_dense_source_close(source);
  AMPED_TRY(status);
  say_zeroed(zeroed, 0, o->args[0]);
  const double norm = sqrt(info.norm_squared);
  amped_facts f;
  amped_facts_begin(&f, "convert");
  amped_fact_json(&f, "input", amped_json_string(o->args[0]));
  amped_fact_json(&f, "order", json_integer(info.order));
  amped_fact_json(&f, "dims", amped_json_counts(info.dims, info.order));
  amped_fact_json(&f, "cells", amped_json_count(info.cells));
  amped_fact_json(&f, "cell_type", json_string(amped_cell_name(info.type)));
  amped_fact_json(&f, "not_finite", amped_json_count(zeroed));
  amped_fact(&f, "output", amped_json_string(o->args[1]), "wrote %s", o->args[1]);
  amped_fact(&f, "nnz", amped_json_count(info.nnz), ": %" PRIu64 " cells are not 0 (density %.3g)",
             info.nnz, (double)info.nnz / (double)info.cells);
  amped_fact(&f, "norm", amped_json_number(norm), ", norm %.10g\n", norm);
  return amped_facts_write(&f, json);
}
