/* Reads the JSON lines of a run, and writes the plot of its sweeps or batches. */
#include "cli/plot/plot_run.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/plot/plot_batches.h"
#include "cli/plot/plot_sweeps.h"

/* Most bytes that are read, enough for a few million sweeps; and most bytes of a line, which is in
 * memory. */
#define FILE_BYTES (UINT64_C(1) << 28)
#define LINE_BYTES (UINT64_C(1) << 20)

/* The data that was read. One of the two is empty. */
typedef struct run {
  amped_plot_sweeps sweeps;
  amped_plot_batches batches;
} run;

static amped_status take_line(run *r, const char *path, uint64_t line, const char *text) {
  json_error_t error;
  bool no_memory = false;
  json_t *object = amped_json_loads(text, &error, &no_memory);
  if (no_memory)
    return amped_error(AMPED_FAILED, path, "out of memory for line %" PRIu64, line);
  if (object == NULL)
    return amped_error(AMPED_BAD_INPUT, path,
                       "line %" PRIu64 " is not a JSON object; name a file that --json wrote",
                       line);
  const char *event = json_string_value(json_object_get(object, "event"));
  amped_status status = AMPED_OK;
  if (event != NULL)
    status = amped_plot_sweeps_take(&r->sweeps, path, line, event, object);
  if (event != NULL && status == AMPED_OK)
    status = amped_plot_batches_take(&r->batches, path, line, event, object);
  json_decref(object);
  return status;
}

static amped_status too_long(const char *path, uint64_t bytes) {
  char have[32];
  char most[32];
  return amped_error(AMPED_BAD_INPUT, path,
                     "has %s%s, and plot reads %s of lines at most; name a file that "
                     "--json wrote, or its last lines (tail)",
                     bytes == 0 ? "more than " : "",
                     amped_format_bytes(have, bytes > 0 ? bytes : FILE_BYTES),
                     amped_format_bytes(most, FILE_BYTES));
}

/* Read the next line, without its end, into a buffer of LINE_BYTES. *more false: there is none, or
 * its end is not written yet. */
static amped_status read_line(FILE *file, const char *path, uint64_t line, char *text, bool *more) {
  errno = 0;
  *more = fgets(text, (int)LINE_BYTES, file) != NULL;
  if (!*more)
    return ferror(file) == 0
               ? AMPED_OK
               : amped_error_errno(AMPED_FAILED, errno, path, "cannot be read; try again");
  const size_t length = strlen(text);
  const bool whole = length > 0 && text[length - 1] == '\n';
  *more = whole || feof(file) == 0;
  if (whole || !*more)
    return AMPED_OK;
  return amped_error(AMPED_BAD_INPUT, path,
                     "line %" PRIu64 " has more than 1 MiB, or a null; name a file that --json "
                     "wrote",
                     line);
}

static amped_status read_lines(FILE *file, const char *path, char *text, run *r) {
  uint64_t bytes = 0;
  bool more = true;
  for (uint64_t line = 1; more; line++) {
    AMPED_TRY(read_line(file, path, line, text, &more));
    if (!more)
      break;
    bytes += strlen(text);
    if (bytes > FILE_BYTES) /* the input is a pipe, or the file grows */
      return too_long(path, 0);
    AMPED_TRY(take_line(r, path, line, text));
  }
  return AMPED_OK;
}

static amped_status read_run(const char *path, run *r) {
  char *text = NULL;
  uint64_t bytes = 0;
  AMPED_TRY(amped_file_check_readable(path, &bytes));
  if (bytes > FILE_BYTES)
    return too_long(path, bytes);
  AMPED_TRY(amped_alloc(&text, LINE_BYTES, 1, "a line"));
  FILE *file = fopen(path, "re");
  amped_status status = file != NULL ? read_lines(file, path, text, r)
                                     : amped_error_errno(AMPED_BAD_INPUT, errno, path,
                                                         "cannot be read; check its name");
  if (file != NULL)
    (void)fclose(file);
  amped_free(text);
  return status;
}

static amped_status check(const run *r, const char *path) {
  if (r->sweeps.count == 0 && r->batches.count == 0)
    return amped_error(
        AMPED_BAD_INPUT, path,
        "has no sweep and no batch; name a file that cpd, complete or stream wrote with --json");
  if (r->sweeps.count > 0 && r->batches.count > 0)
    return amped_error(AMPED_BAD_INPUT, path,
                       "has both sweeps and batches of a stream; name a file of one run");
  return AMPED_OK;
}

amped_status amped_plot_run_read_sweeps(const char *path, amped_plot_sweeps *sweeps) {
  run r;
  memset(&r, 0, sizeof r);
  amped_status status = read_run(path, &r);
  if (status == AMPED_OK)
    status = check(&r, path);
  if (status == AMPED_OK && r.batches.count > 0)
    status = amped_error(AMPED_BAD_INPUT, path, "has batches of a stream; draw it alone");
  amped_plot_batches_free(&r.batches);
  *sweeps = r.sweeps;
  return status;
}

amped_status amped_plot_run(amped_plot *f, const char *path) {
  char text[AMPED_PLOT_TEXT_BYTES];
  const char *slash = strrchr(path, '/');
  const char *base = slash != NULL ? slash + 1 : path;
  const char *title = amped_plot_text(text, base, strlen(base));
  run r;
  memset(&r, 0, sizeof r);
  amped_status status = read_run(path, &r);
  if (status == AMPED_OK)
    status = check(&r, path);
  if (status == AMPED_OK)
    status = r.batches.count > 0 ? amped_plot_batches_draw(&r.batches, f, title)
                                 : amped_plot_sweeps_draw(&r.sweeps, f, title);
  amped_plot_sweeps_free(&r.sweeps);
  amped_plot_batches_free(&r.batches);
  return status;
}
