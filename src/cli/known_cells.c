/* Known cells: reading, translating, and leaving out what excludes nothing. */
#include "cli/known_cells.h"

#include "base/log.h"
#include "text/io.h"
#include "text/model_cells.h"

bool amped_known_cells_event(const amped_options *o, const amped_completion *c, amped_format format,
                             const amped_sptensor *t, uint64_t i) {
  const bool has_values = format != AMPED_FORMAT_TABLE || o->read.value != NULL;
  return !(c->implicit > 0.0) || !has_values || t->values[i] != 0.0;
}

static bool is_known(const bool *needed, const amped_sptensor *t, uint64_t i) {
  bool known = true;
  for (int m = 0; m < t->order; m++)
    known = known && (!needed[m] || t->indices[m][i] != AMPED_PREDICTOR_COLD);
  return known;
}

/* Keep known events, and count the others. */
static void keep(const amped_options *o, const char *path, amped_format format,
                 const amped_completion *c, const bool *needed, amped_sptensor *t) {
  const uint64_t all = t->nnz;
  uint64_t zeros = 0;
  uint64_t unknown = 0;
  t->nnz = 0;
  for (uint64_t i = 0; i < all; i++) {
    if (!amped_known_cells_event(o, c, format, t, i)) {
      zeros++;
      continue;
    }
    if (!is_known(needed, t, i)) {
      unknown++;
      continue;
    }
    for (int m = 0; m < t->order; m++)
      t->indices[m][t->nnz] = t->indices[m][i];
    t->values[t->nnz++] = t->values[i];
  }
  if (unknown > 0)
    (10 * unknown >= 9 * all ? amped_warn : amped_say)(
        "%s: %" PRIu64 " of its %" PRIu64
        " entries have an index that the model does not have, and exclude nothing",
        amped_io_name(path), unknown, all);
  if (zeros > 0)
    amped_say("%s: %" PRIu64
              " entries have the value 0, which means that nothing happened, and are ignored",
              amped_io_name(path), zeros);
}

amped_status amped_known_cells_read(const amped_options *o, const char *path,
                                    const amped_ktensor *k, const amped_completion *c,
                                    const bool *needed, amped_sptensor *out) {
  const char *const files[] = {o->nargs > 1 ? o->args[1] : NULL, path};
  amped_read_options read = amped_io_options_of(path, files, 2, &o->read);
  amped_format format = AMPED_FORMAT_TNS;
  amped_status status = AMPED_OK;
  *out = (amped_sptensor){.order = 0};
  amped_read_options_know(&read, k->order, k->labels);
  AMPED_GO(fail, amped_io_input_format(path, &read, &format));
  AMPED_GO(fail, amped_io_read(path, &read, out));
  AMPED_GO(fail, amped_model_cells_translate(o->args[0], k, amped_io_name(path), read.keys != NULL,
                                             needed, out));
  keep(o, path, format, c, needed, out);
  return AMPED_OK;
fail:
  amped_sptensor_free(out);
  return status;
}
