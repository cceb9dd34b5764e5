/* For each kind of output: is the file in its place one that this program may replace? */
#include "session/output_guard.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "hdf5/hdf5_probe.h"
#include "formats/dense_file.h"
#include "state/state_journal.h"
#include "state/state_names.h"
#include "formats/tensor_file.h"

/* Bytes at the beginning and at the end of a file in which a mark is searched. */
#define EDGE_BYTES 4096

static const char foreign[] = "was not made by amped_mpi";
static const char other_text[] = "was not written by --json";
static const char other_trace[] = "was not written by --trace";
static const char unknown[] = "does not say what made it";

/* --- HDF5 files ------------------------------------------------------------------------------ */

/* Read the dimensions of a result's input. */
static amped_status read_dims(amped_hdf5 *file, amped_output *out) {
  long double dims[AMPED_MAX_ORDER];
  AMPED_TRY(amped_hdf5_get_numbers(file, "/", "input_dims", AMPED_MAX_ORDER, dims, &out->order));
  for (int m = 0; m < out->order; m++) {
    if (!(dims[m] >= 1.0L && dims[m] < 0x1p64L))
      return amped_error(AMPED_BAD_INPUT, out->path,
                         "a dimension of its input is no 64-bit number");
    out->dims[m] = (uint64_t)dims[m];
  }
  return AMPED_OK;
}

/* Read the facts of a file of this program. The caller frees *format. */
static amped_status read_facts(amped_hdf5 *file, char **format, amped_output *out) {
  amped_hdf5_dataset weights;
  AMPED_TRY(amped_hdf5_get_text(file, "/", "amped_format", format));
  if (strcmp(*format, "ktensor") != 0)
    return AMPED_OK;
  AMPED_TRY(amped_hdf5_get_u64(file, "/", "input_hash", 1, &out->hash));
  AMPED_TRY(amped_hdf5_dataset_open(file, "/weights", 1, &weights));
  out->ncomps = weights.dims[0];
  amped_hdf5_dataset_close(&weights);
  return read_dims(file, out);
}

static bool is_tensor(const char *path, amped_output *out) {
  amped_tensor_file *file = NULL;
  bool known = amped_tensor_file_open(path, &file) == AMPED_OK;
  if (known) {
    known = amped_tensor_file_info(file)->has_hash;
    out->hash = amped_tensor_file_info(file)->hash;
  }
  amped_tensor_file_close(file);
  return known;
}

/* Is the file a dense tensor file of this program? As is_tensor. */
static bool is_dense(const char *path, amped_output *out) {
  amped_dense_file *file = NULL;
  bool known = amped_dense_file_open(path, NULL, &file) == AMPED_OK;
  if (known) {
    known = amped_dense_file_info(file)->has_stats;
    out->hash = amped_dense_file_info(file)->hash;
  }
  amped_dense_file_close(file);
  return known;
}

/* Does the file begin with the HDF5 signature? Other files are not given to a probe. */
static bool is_hdf5(const char *path) {
  static const char signature[8] = {(char)0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
  char found[sizeof signature];
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  bool is = fd >= 0 && pread(fd, found, sizeof found, 0) == (ssize_t)sizeof found &&
            memcmp(found, signature, sizeof found) == 0;
  if (fd >= 0)
    (void)close(fd);
  return is;
}

/* Returns the reason why a file of format `wanted` may not replace this file; NULL: it may. */
static const char *look_at_hdf5(const char *path, const char *wanted, amped_output *out) {
  static const struct {
    const char *format, *reason;
  } others[] = {{"ktensor", "is a result"},
                {"tensor", "is a tensor file"},
                {"checkpoint", "is a checkpoint"},
                {"state", "is the state of a stream"}};
  amped_hdf5 file = {.open = false};
  char *format = NULL;
  const char *reason = foreign;
  if (!is_hdf5(path))
    return foreign;
  amped_status status = amped_hdf5_open(path, &file);
  if (status == AMPED_OK)
    status = read_facts(&file, &format, out);
  amped_hdf5_close(&file);
  for (size_t i = 0; format != NULL && i < sizeof others / sizeof others[0]; i++)
    if (strcmp(format, others[i].format) == 0)
      reason = others[i].reason;
  if (status == AMPED_OK && strcmp(format, wanted) == 0)
    reason = strcmp(wanted, "tensor") != 0 || is_tensor(path, out) || is_dense(path, out) ? NULL
                                                                                          : foreign;
  amped_free(format);
  amped_status_clear(); /* a file that cannot be read is not ours */
  return reason;
}

static const char *look_at_result(const char *path, amped_output *out) {
  return look_at_hdf5(path, "ktensor", out);
}

static const char *look_at_tensor(const char *path, amped_output *out) {
  return look_at_hdf5(path, "tensor", out);
}

static const char *look_at_checkpoint(const char *path, amped_output *out) {
  const char *reason = look_at_hdf5(path, "checkpoint", out);
  return reason != NULL ? reason : "is the checkpoint of a run, which --resume continues";
}

/* --- others ---------------------------------------------------------------------------------- */

/* Is the text within the first or the last EDGE_BYTES of a file? at_begin: only at offset 0. */
static bool has_text(const char *path, const char *text, bool at_begin) {
  char edge[EDGE_BYTES];
  const size_t length = strlen(text);
  bool found = false;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  off_t bytes = fd >= 0 ? lseek(fd, 0, SEEK_END) : 0;
  for (int end = 0; end < 2 && fd >= 0 && !found; end++) {
    off_t first = end == 1 && bytes > EDGE_BYTES ? bytes - EDGE_BYTES : 0;
    ssize_t n = pread(fd, edge, sizeof edge, first);
    found = n > 0 && (at_begin ? end == 0 && (size_t)n >= length && memcmp(edge, text, length) == 0
                               : memmem(edge, (size_t)n, text, length) != NULL);
  }
  if (fd >= 0)
    (void)close(fd);
  return found;
}

/* A state is never replaced, even if its input is the same: it has learnt batches. */
static const char *look_at_state(const char *path, amped_output *out) {
  if (has_text(path, AMPED_JOURNAL_MARK, true))
    return "is the journal of a stream's state";
  const char *reason = look_at_hdf5(path, "state", out);
  return reason != NULL ? reason : "is the state of a stream";
}

static const char *look_at_lines(const char *path, amped_output *out) {
  (void)out;
  return has_text(path, "{\"event\":\"", true) || has_text(path, "{\"kind\":\"", true) ? NULL
                                                                                       : other_text;
}

static const char *look_at_trace(const char *path, amped_output *out) {
  static const char head[] = "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"program\":\"amped_mpi\"";
  (void)out;
  return has_text(path, head, true) ? NULL : other_trace;
}

static const char *look_at_plot(const char *path, amped_output *out) {
  (void)out;
  return has_text(path, AMPED_OUTPUT_PLOT_MARK, false) ? NULL : foreign;
}

static const char *look_at_plain(const char *path, amped_output *out) {
  (void)path;
  (void)out;
  return unknown;
}

/* --- the rule -------------------------------------------------------------------------------- */

/* The kinds of output, each with the check of the file that it would replace. */
static const struct {
  const char *noun;
  /* Returns the reason why the file may not be replaced; NULL: it may, or the comparison
   * decides. */
  const char *(*look)(const char *path, amped_output *out);
  bool is_compared;
} kinds[] = {
    [AMPED_OUTPUT_RESULT] = {.noun = "result", .look = look_at_result, .is_compared = true},
    [AMPED_OUTPUT_TENSOR] = {.noun = "tensor", .look = look_at_tensor, .is_compared = true},
    [AMPED_OUTPUT_CHECKPOINT] = {.noun = "checkpoint",
                                 .look = look_at_checkpoint,
                                 .is_compared = false},
    [AMPED_OUTPUT_STATE] = {.noun = "state", .look = look_at_state, .is_compared = false},
    [AMPED_OUTPUT_LINES] = {.noun = "JSON lines", .look = look_at_lines, .is_compared = false},
    [AMPED_OUTPUT_TRACE] = {.noun = "trace", .look = look_at_trace, .is_compared = false},
    [AMPED_OUTPUT_PLOT] = {.noun = "plot", .look = look_at_plot, .is_compared = false},
    [AMPED_OUTPUT_PLAIN] = {.noun = "text", .look = look_at_plain, .is_compared = false},
};

static amped_status refuse(const char *path, const char *reason) {
  return amped_error(AMPED_FAILED, path,
                     "exists and %s; name another file, or replace it with --overwrite", reason);
}

static amped_status look(const char *path, amped_output_kind kind, amped_output *out) {
  if (!amped_file_holds(path))
    return AMPED_OK;
  const char *reason = kinds[kind].look(path, out);
  out->compared = reason == NULL && kinds[kind].is_compared;
  return reason != NULL ? refuse(path, reason) : AMPED_OK;
}

static amped_status look_at_previous(const char *path, amped_output *out) {
  char *previous = NULL;
  AMPED_TRY(amped_file_previous(path, &previous));
  amped_status status = look(previous, AMPED_OUTPUT_CHECKPOINT, out);
  amped_free(previous);
  return status;
}

/* If STATE is missing, its other files still are a state: check each of them. */
static amped_status look_beside_state(const char *path, amped_output *out) {
  amped_state_names names;
  amped_status status = AMPED_OK;
  AMPED_TRY(amped_state_names_make(path, &names));
  for (int i = 0; i < AMPED_STATE_NAMES && status == AMPED_OK; i++)
    if (i != AMPED_STATE_NAME)
      status = look(names.list[i], AMPED_OUTPUT_STATE, out);
  amped_state_names_free(&names);
  return status;
}

/* Is the file made by another program, or has it another format? False for a damaged HDF5 file. */
static bool is_other(const char *path, const char *wanted) {
  amped_hdf5 file = {.open = false};
  amped_output facts = {.path = path};
  char *format = NULL;
  bool other = true;
  if (is_hdf5(path)) {
    amped_status status = amped_hdf5_open(path, &file);
    if (status == AMPED_OK)
      status = read_facts(&file, &format, &facts);
    amped_hdf5_close(&file);
    other = status == AMPED_OK && (format == NULL || strcmp(format, wanted) != 0);
    amped_free(format);
    amped_status_clear();
  }
  return other;
}

amped_status amped_output_look_previous(const char *path, amped_output_kind kind) {
  const char *noun = kinds[kind].noun;
  char *previous = NULL;
  amped_status status = AMPED_OK;
  AMPED_TRY(amped_file_previous(path, &previous));
  if (amped_file_holds(previous) && is_other(previous, noun))
    status = amped_error(
        AMPED_FAILED, previous,
        "is not a %s of amped_mpi, and would be overwritten when %s is saved again; rename it",
        noun, path);
  amped_free(previous);
  return status;
}

amped_status amped_output_look(const char *path, amped_output_kind kind, bool overwrite,
                               amped_output *out) {
  *out = (amped_output){.path = path};
  if (overwrite)
    return AMPED_OK;
  AMPED_TRY(look(path, kind, out));
  if (kind == AMPED_OUTPUT_CHECKPOINT)
    return look_at_previous(path, out);
  return kind == AMPED_OUTPUT_STATE ? look_beside_state(path, out) : AMPED_OK;
}

static amped_status refuse_hash(const amped_output *o, const char *noun) {
  char reason[128];
  (void)snprintf(reason, sizeof reason, "is the %s of another input (hash %016" PRIx64 ")", noun,
                 o->hash);
  return refuse(o->path, reason);
}

static void say_replaced(const amped_output *o, const char *noun) {
  amped_say("%s: exists, and will be replaced: it is the %s of the same input", o->path, noun);
}

static bool are_dims(int order, const uint64_t *dims, int other_order, const uint64_t *others) {
  return order == other_order && memcmp(dims, others, (size_t)order * sizeof *dims) == 0;
}

amped_status amped_output_compare_result(const amped_output *o, uint64_t hash, int order,
                                         const uint64_t *dims, int ncomps) {
  char reason[128];
  if (!o->compared)
    return AMPED_OK;
  if (o->hash != hash)
    return refuse_hash(o, "result");
  if (dims != NULL && o->order > 0 && !are_dims(o->order, o->dims, order, dims))
    return refuse(o->path, "is the result of an input of other dimensions");
  if (o->ncomps != (uint64_t)ncomps) {
    (void)snprintf(reason, sizeof reason,
                   "is the result of the same input with %" PRIu64 " components, not %d", o->ncomps,
                   ncomps);
    return refuse(o->path, reason);
  }
  say_replaced(o, "result");
  return AMPED_OK;
}

/* An open tensor file: a list, or an array. */
typedef struct old_tensor {
  amped_tensor_file *list;
  amped_dense_file *array;
} old_tensor;

static amped_status old_labels(const old_tensor *t, int mode, amped_labels *out) {
  return t->list != NULL ? amped_tensor_file_labels(t->list, mode, out)
                         : amped_dense_file_labels(t->array, mode, out);
}

/* Has the file's tensor these labels? */
static amped_status has_labels(const old_tensor *t, const amped_output_shape *shape, bool *same) {
  static const amped_labels none = {.count = 0};
  for (int m = 0; m < shape->order && *same; m++) {
    amped_labels theirs;
    AMPED_TRY(old_labels(t, m, &theirs));
    *same = amped_labels_are_equal(&theirs, shape->labels != NULL ? &shape->labels[m] : &none);
    amped_labels_free(&theirs);
  }
  return AMPED_OK;
}

/* Opens the file at path; false if it is no tensor of this program. */
static bool open_old(const char *path, old_tensor *t) {
  *t = (old_tensor){.list = NULL};
  return amped_tensor_file_open(path, &t->list) == AMPED_OK ||
         amped_dense_file_open(path, NULL, &t->array) == AMPED_OK;
}

static bool has_dims(const old_tensor *t, const amped_output_shape *shape) {
  if (t->array != NULL) {
    const amped_dense_info *a = amped_dense_file_info(t->array);
    return are_dims(a->order, a->dims, shape->order, shape->dims);
  }
  const amped_tensor_info *l = amped_tensor_file_info(t->list);
  return are_dims(l->order, l->dims, shape->order, shape->dims);
}

/* NULL, or the reason why the file's tensor is another one in spite of the same nonzeros. */
static const char *find_difference(const char *path, const amped_output_shape *shape) {
  old_tensor t;
  const char *reason = NULL;
  bool same = true;
  if (!open_old(path, &t))
    reason = foreign;
  else if (!has_dims(&t, shape))
    reason = "is a tensor of other dimensions";
  else if (has_labels(&t, shape, &same) != AMPED_OK || !same)
    reason = "is a tensor of other labels";
  amped_tensor_file_close(t.list);
  amped_dense_file_close(t.array);
  amped_status_clear(); /* a file that cannot be read is not ours */
  return reason;
}

amped_status amped_output_compare_tensor(const amped_output *o, uint64_t hash,
                                         const amped_output_shape *shape) {
  if (!o->compared)
    return AMPED_OK;
  if (o->hash != hash)
    return refuse_hash(o, "tensor");
  const char *reason = find_difference(o->path, shape);
  if (reason != NULL)
    return refuse(o->path, reason);
  say_replaced(o, "tensor");
  return AMPED_OK;
}

amped_status amped_output_json(const char *path, bool overwrite, amped_json **out) {
  amped_output found;
  *out = NULL;
  if (path != NULL && strcmp(path, "-") != 0)
    AMPED_TRY(amped_output_look(path, AMPED_OUTPUT_LINES, overwrite, &found));
  return amped_json_open(path, out);
}
