/* Cell files: reading, translating, and joining what excludes something. */
#include "cli/cell_files.h"

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/printable.h"
#include "hdf5/hdf5_file.h"
#include "hdf5/hdf5_probe.h"
#include "state/state_file.h"
#include "text/io.h"
#include "text/model_cells.h"

/* ---- inputs --------------------------------------------------------------------------------- */

/* Most files that list_inputs finds. */
#define MOST_INPUTS (AMPED_MAX_TEXTS + 1)

/* CELLS, if the command has it, and the files of --exclude. Returns their number. */
static int list_inputs(const amped_options *o, const char **files) {
  const amped_text_list *list = &o->recommend.exclude;
  int count = 0;
  if (o->nargs > 1)
    files[count++] = o->args[1];
  for (int i = 0; i < list->count; i++)
    files[count++] = list->texts[i];
  return count;
}

/* A state holds sums of its entries, and of their cells no more than a sample. */
static amped_status refuse_state(const char *path) {
  amped_state_file *file = NULL;
  char name[256];
  AMPED_TRY(amped_state_file_open(path, false, &file));
  const amped_state_batch first = amped_state_file_batch(file, 1);
  const uint64_t batches = amped_state_file_head(file)->batches;
  const amped_status status = amped_error(
      AMPED_BAD_INPUT, path,
      "is the state of a stream, which keeps sums of entries and a sample of their cells; name "
      "the files of its %" PRIu64 " batch%s instead, with an --exclude for each; the "
      "first is %s",
      batches, batches == 1 ? "" : "es", amped_printable_text(name, sizeof name, first.name));
  amped_state_file_close(file);
  return status;
}

bool amped_cell_files_is_state(const char *path) {
  bool is = false;
  const bool looked = amped_hdf5_is(path) && amped_hdf5_probe(path) == AMPED_OK &&
                      amped_state_file_is(path, &is) == AMPED_OK;
  amped_status_clear();
  return looked && is;
}

static amped_status probe_input(const amped_options *o, const char *path) {
  amped_format format = AMPED_FORMAT_TNS;
  AMPED_TRY(amped_io_input_format(path, &o->read, &format));
  return format == AMPED_FORMAT_HDF5 ? amped_hdf5_probe(path) : AMPED_OK;
}

/* The name of a state has the suffix of HDF5, or no suffix of a tensor. */
static amped_status probe_excluded(const amped_options *o, const char *path) {
  amped_format format = AMPED_FORMAT_HDF5;
  const amped_status status = amped_io_input_format(path, &o->read, &format);
  if ((status == AMPED_BAD_INPUT || format == AMPED_FORMAT_HDF5) && amped_cell_files_is_state(path))
    return refuse_state(path);
  return probe_input(o, path);
}

amped_status amped_cell_files_probe(const amped_options *o) {
  const amped_text_list *list = &o->recommend.exclude;
  if (o->nargs > 1)
    AMPED_TRY(probe_input(o, o->args[1]));
  for (int i = 0; i < list->count; i++)
    AMPED_TRY(probe_excluded(o, list->texts[i]));
  return AMPED_OK;
}

/* ---- one file ------------------------------------------------------------------------------- */

amped_status amped_cell_files_read(const amped_options *o, const char *path, const amped_ktensor *k,
                                   const bool *needed, amped_sptensor *out, bool *has_values) {
  const char *files[MOST_INPUTS];
  const int count = list_inputs(o, files);
  amped_format format = AMPED_FORMAT_TNS;
  amped_status status = AMPED_OK;
  amped_read_options read = amped_io_options_of(path, files, count, &o->read);
  *out = (amped_sptensor){.order = 0};
  amped_read_options_know(&read, k->order, k->labels);
  AMPED_GO(fail, amped_io_input_format(path, &read, &format));
  AMPED_GO(fail, amped_io_read(path, &read, out));
  AMPED_GO(fail, amped_model_cells_translate(o->args[0], k, amped_io_name(path), read.keys != NULL,
                                             needed, out));
  *has_values = format != AMPED_FORMAT_TABLE || read.value != NULL;
  return AMPED_OK;
fail:
  amped_sptensor_free(out);
  return status;
}

bool amped_cell_files_is_event(const amped_completion *c, bool has_values, double value) {
  return !(c->implicit > 0.0) || !has_values || value != 0.0;
}

/* ---- all files of --exclude ----------------------------------------------------------------- */

/* A file of --exclude, and its entries by what they exclude. */
typedef struct exclusion {
  const char *path;
  amped_sptensor t;
  bool has_values;
  uint64_t zeros;     /* no events */
  uint64_t unknown;   /* entries with an unknown index in a kept mode */
  uint64_t elsewhere; /* another index than a fixed one */
  uint64_t joined;    /* entries that exclude something */
} exclusion;

static bool is_known(const amped_cell_files_wanted *w, const amped_sptensor *t, uint64_t i) {
  for (int m = 0; m < t->order; m++)
    if (w->kept[m] && t->indices[m][i] == AMPED_PREDICTOR_COLD)
      return false;
  return true;
}

static bool is_at(const amped_cell_files_wanted *w, const amped_sptensor *t, uint64_t i) {
  for (int m = 0; m < t->order; m++)
    if (w->fixed[m] && t->indices[m][i] != w->at[m])
      return false;
  return true;
}

/* Append the wanted entries to the cells. */
static amped_status join(const amped_cell_files_wanted *w, const amped_completion *c, exclusion *e,
                         amped_sptensor *out) {
  const amped_sptensor *t = &e->t;
  uint64_t room = 0;
  if (!amped_add(out->nnz, t->nnz, &room))
    return amped_error(AMPED_BAD_INPUT, e->path, "has too many entries for 64-bit sizes");
  for (int m = 0; m < t->order; m++)
    if (w->kept[m])
      AMPED_TRY(
          amped_realloc(&out->indices[m], room, sizeof *out->indices[m], "entries to exclude"));
  for (uint64_t i = 0; i < t->nnz; i++) {
    if (!amped_cell_files_is_event(c, e->has_values, t->values[i])) {
      e->zeros++;
    } else if (!is_known(w, t, i)) {
      e->unknown++;
    } else if (!is_at(w, t, i)) {
      e->elsewhere++;
    } else {
      for (int m = 0; m < t->order; m++)
        if (w->kept[m])
          out->indices[m][out->nnz] = t->indices[m][i];
      out->nnz++;
      e->joined++;
    }
  }
  return AMPED_OK;
}

static void say_exclusion(const exclusion *e) {
  const uint64_t nnz = e->t.nnz;
  if (e->unknown > 0)
    (10 * e->unknown >= 9 * nnz ? amped_warn : amped_note)(
        "%s: %" PRIu64 " of its %" PRIu64
        " entries have an index that the model does not have, and exclude nothing",
        e->path, e->unknown, nnz);
  if (e->zeros > 0)
    amped_note("%s: %" PRIu64
               " entries have the value 0, which means that nothing happened, and are ignored",
               e->path, e->zeros);
  if (e->elsewhere > 0)
    (e->joined == 0 ? amped_warn : amped_note)("%s: %" PRIu64 " of its %" PRIu64
                                               " entries have other labels than --at, and exclude "
                                               "nothing (--exclude-any takes any labels)",
                                               e->path, e->elsewhere, nnz);
}

/* Does this file of --exclude hold the command's CELLS? */
static bool is_own(const amped_options *o, const char *path) {
  return o->nargs > 1 && amped_file_same(path, o->args[1]);
}

amped_status amped_cell_files_join(const amped_options *o, const amped_ktensor *k,
                                   const amped_completion *c, const amped_cell_files_wanted *wanted,
                                   amped_sptensor *out, uint64_t *own) {
  const amped_text_list *list = &o->recommend.exclude;
  bool needed[AMPED_MAX_ORDER];
  amped_status status = AMPED_OK;
  *own = 0;
  *out = (amped_sptensor){.order = k->order};
  for (int m = 0; m < k->order; m++)
    needed[m] = wanted->kept[m] || wanted->fixed[m];
  for (int i = 0; i < 2 * list->count && status == AMPED_OK; i++) {
    const char *path = list->texts[i % list->count];
    exclusion e = {.path = amped_io_name(path)};
    if (is_own(o, path) != (i >= list->count))
      continue;
    status = amped_cell_files_read(o, path, k, needed, &e.t, &e.has_values);
    if (status == AMPED_OK)
      status = join(wanted, c, &e, out);
    if (status == AMPED_OK)
      say_exclusion(&e);
    *own += i >= list->count ? e.joined : 0;
    amped_sptensor_free(&e.t);
  }
  if (status != AMPED_OK)
    amped_sptensor_free(out);
  return status;
}
