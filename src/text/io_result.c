/* Results as text or NumPy files: names of the files, and their writers. */
#include "text/io_result.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "text/io_stream.h"
#include "text/io_table_write.h"
#include "base/mem.h"

/* One file for the weights and one per factor; at most the same number again for mean and
 * biases. */
#define MAX_FILES (2 * (AMPED_MAX_ORDER + 1))

#define TEXT_BYTES 65536
#define NUMBER_BYTES 32

static bool is_text(const char *path) {
  return amped_file_has_suffix(path, ".txt");
}

int amped_io_result_files(int order, const amped_completion *c) {
  return 1 + order + (c == NULL ? 0 : c->biased ? 1 + order : 1);
}

/* Part of a file's name: "weights", "mode0", ..., "mean", "bias0", ... */
static void name_part(int order, int file, char *out, size_t size) {
  if (file == 0)
    (void)snprintf(out, size, "weights");
  else if (file <= order)
    (void)snprintf(out, size, "mode%d", file - 1);
  else if (file == order + 1)
    (void)snprintf(out, size, "mean");
  else
    (void)snprintf(out, size, "bias%d", file - order - 2);
}

amped_status amped_io_result_name(const char *path, int order, int file, char **out) {
  const char *slash = strrchr(path, '/');
  const char *base = slash != NULL ? slash + 1 : path;
  const char *dot = strrchr(base, '.');
  int stem = dot != NULL ? (int)(dot - path) : (int)strlen(path);
  uint64_t bytes = strlen(path) + 32;
  char part[16];
  name_part(order, file, part, sizeof part);
  AMPED_TRY(amped_alloc(out, bytes, 1, "a path"));
  (void)snprintf(*out, bytes, "%.*s.%s%s", stem, path, part, is_text(path) ? ".txt" : ".npy");
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
  AMPED_TRY(amped_io_result_name(path, 0, 0, &name));
  amped_status status = amped_file_check_writable(name);
  amped_free(name);
  return status;
}

/* Write NumPy format, version 1.0: magic, a length, and a header that ends at a multiple of 64
 * bytes. */
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

static amped_status write_file(const char *path, amped_stream *stream, const amped_ktensor *k,
                               const amped_completion *c, int file) {
  const int mode = file <= k->order ? file - 1 : file - k->order - 2;
  if (file == 0)
    return write_matrix(path, stream, k->weights, (uint64_t)k->ncomps, 0);
  if (file <= k->order)
    return write_matrix(path, stream, k->factors[mode], k->dims[mode], k->ncomps);
  return mode < 0 ? write_matrix(path, stream, &c->mean, 1, 0)
                  : write_matrix(path, stream, c->bias[mode], k->dims[mode], 0);
}

amped_status amped_io_result_write(const char *path, const amped_ktensor *k,
                                   const amped_completion *c) {
  const int files = amped_io_result_files(k->order, c);
  amped_status status = AMPED_OK;
  amped_stream *streams[MAX_FILES] = {NULL};
  char *names[MAX_FILES] = {NULL};
  if (amped_table_named(path))
    return amped_table_write_result(path, k, c);
  for (int i = 0; i < files; i++) {
    AMPED_GO(out, amped_io_result_name(path, k->order, i, &names[i]));
    AMPED_GO(out, amped_stream_create(names[i], &streams[i]));
    AMPED_GO(out, write_file(path, streams[i], k, c, i));
  }
  for (int i = 0; i < files; i++) {
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
