#include "text/io_result.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "text/io_stream.h"
#include "text/io_table_write.h"
#include "base/mem.h"

/* A file for the weights and one for each factor. */
#define MAX_FILES (AMPED_MAX_ORDER + 1)

#define TEXT_BYTES 65536
#define NUMBER_BYTES 32

static bool is_text(const char *path) {
  return amped_file_has_suffix(path, ".txt");
}

amped_status amped_io_result_name(const char *path, int mode, char **out) {
  const char *slash = strrchr(path, '/');
  const char *base = slash != NULL ? slash + 1 : path;
  const char *dot = strrchr(base, '.');
  int stem = dot != NULL ? (int)(dot - path) : (int)strlen(path);
  uint64_t bytes = strlen(path) + 32;
  AMPED_TRY(amped_alloc(out, bytes, 1, "a path"));
  if (mode == AMPED_RESULT_WEIGHTS)
    (void)snprintf(*out, bytes, "%.*s.weights%s", stem, path, is_text(path) ? ".txt" : ".npy");
  else
    (void)snprintf(*out, bytes, "%.*s.mode%d%s", stem, path, mode, is_text(path) ? ".txt" : ".npy");
  return AMPED_OK;
}

amped_status amped_io_result_check(const char *path) {
  const char *slash = strrchr(path, '/');
  const char *base = slash != NULL ? slash + 1 : path;
  char *name = NULL;
  if (amped_table_named(path)) {
    AMPED_TRY(amped_file_check_writable(path));
    AMPED_TRY(amped_table_weights_name(path, &name));
    amped_status status = amped_file_check_writable(name);
    amped_free(name);
    return status;
  }
  if (*base == '\0' || strcmp(path, "-") == 0 ||
      (strchr(base, '.') != NULL && !is_text(base) && !amped_file_has_suffix(base, ".npy")))
    return amped_error(
        AMPED_USAGE, path,
        "a result can be written as .csv, .tsv, .npy or .txt; name OUT.csv, for one");
  AMPED_TRY(amped_io_result_name(path, AMPED_RESULT_WEIGHTS, &name));
  amped_status status = amped_file_check_writable(name);
  amped_free(name);
  return status;
}

/* NumPy format, version 1.0: magic, a length, and a header whose end is at a multiple of 64. */
static amped_status write_npy(amped_stream *stream, const double *a, uint64_t rows, int columns) {
  char header[192];
  char shape[64];
  if (columns == 0)
    (void)snprintf(shape, sizeof shape, "(%" PRIu64 ",)", rows);
  else
    (void)snprintf(shape, sizeof shape, "(%" PRIu64 ", %d)", rows, columns);
  int used = snprintf(header + 10, sizeof header - 10,
                      "{'descr': '%cf8', 'fortran_order': False, 'shape': %s, }",
                      __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? '<' : '>', shape);
  size_t end = ((size_t)used + 10 + 1 + 63) / 64 * 64;
  memcpy(header, "\x93NUMPY\x01\x00", 8);
  header[8] = (char)((end - 10) & 0xff);
  header[9] = (char)((end - 10) >> 8);
  memset(header + 10 + used, ' ', end - 10 - (size_t)used);
  header[end - 1] = '\n';
  AMPED_TRY(amped_stream_write(stream, header, end));
  return amped_stream_write(stream, a, rows * (uint64_t)(columns > 0 ? columns : 1) * sizeof *a);
}

static amped_status write_text(amped_stream *stream, const double *a, uint64_t rows, int columns) {
  char text[TEXT_BYTES];
  size_t used = 0;
  uint64_t width = (uint64_t)(columns > 0 ? columns : 1);
  for (uint64_t i = 0; i < rows * width; i++) {
    char end = (i + 1) % width == 0 ? '\n' : ' ';
    used += (size_t)snprintf(text + used, NUMBER_BYTES, "%.17g%c", a[i], end);
    if (used > sizeof text - NUMBER_BYTES || i + 1 == rows * width) {
      AMPED_TRY(amped_stream_write(stream, text, used));
      used = 0;
    }
  }
  return AMPED_OK;
}

/* Write a matrix; columns 0: a vector. */
static amped_status write_matrix(const char *path, amped_stream *stream, const double *a,
                                 uint64_t rows, int columns) {
  return is_text(path) ? write_text(stream, a, rows, columns) : write_npy(stream, a, rows, columns);
}

amped_status amped_io_result_write(const char *path, const amped_ktensor *k) {
  amped_status status = AMPED_OK;
  amped_stream *streams[MAX_FILES] = {NULL};
  char *names[MAX_FILES] = {NULL};
  if (amped_table_named(path))
    return amped_table_write_result(path, k);
  for (int i = 0; i <= k->order; i++) {
    AMPED_GO(out, amped_io_result_name(path, i - 1, &names[i]));
    AMPED_GO(out, amped_stream_create(names[i], &streams[i]));
    if (i == 0)
      AMPED_GO(out, write_matrix(path, streams[0], k->weights, (uint64_t)k->ncomps, 0));
    else
      AMPED_GO(out, write_matrix(path, streams[i], k->factors[i - 1], k->dims[i - 1], k->ncomps));
  }
  for (int i = 0; i <= k->order; i++) {
    amped_stream *stream = streams[i];
    streams[i] = NULL;
    AMPED_GO(out, amped_stream_finish(stream));
  }
out:
  for (int i = 0; i < MAX_FILES; i++) {
    if (streams[i] != NULL)
      amped_stream_discard(streams[i]);
    amped_free(names[i]);
  }
  return status;
}
