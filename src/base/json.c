/* JSON lines: writing objects with jansson, and the stream that receives them. */
#include "base/json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/draft.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/printable.h"

struct amped_json {
  FILE *file;
  const char *path;
  amped_draft draft; /* for a file, not for standard output */
  bool may_end;      /* a failed write is a warning */
  bool ended;        /* a write failed: no more lines */
};

/* Opens the file. Its lines are visible as they are written. */
static amped_status open_file(amped_json *json) {
  AMPED_TRY(amped_draft_open(json->path, false, &json->draft));
  AMPED_TRY(amped_draft_show(&json->draft));
  json->file = fdopen(json->draft.fd, "w");
  if (json->file != NULL)
    return AMPED_OK;
  int error = errno;
  amped_draft_close(&json->draft);
  return amped_error_errno(AMPED_FAILED, error, json->path,
                           "cannot be written; name another file with --json");
}

json_t *amped_json_loads(const char *text, json_error_t *error, bool *no_memory) {
  errno = 0;
  json_t *value = json_loads(text, 0, error);
  *no_memory = value == NULL && errno == ENOMEM;
  return value;
}

double amped_json_number_of(const json_t *object, const char *name) {
  const json_t *value = json_object_get(object, name);
  return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

int amped_json_put(const json_t *object, size_t flags, FILE *stream) {
  char *text = json_dumps(object, flags);
  const int result = text != NULL ? amped_printable_put(stream, text, strlen(text)) : EOF;
  free(text);
  return result;
}

amped_status amped_json_open(const char *path, amped_json **out) {
  *out = NULL;
  if (path == NULL)
    return AMPED_OK;
  amped_json *json = NULL;
  AMPED_TRY(amped_calloc(&json, 1, sizeof *json, "the JSON stream"));
  json->path = path;
  if (strcmp(path, "-") == 0) {
    json->file = stdout;
    amped_log_to_stderr();
  } else {
    amped_status status = open_file(json);
    if (status != AMPED_OK) {
      amped_free(json);
      return status;
    }
  }
  *out = json;
  return AMPED_OK;
}

amped_status amped_json_check_apart(const char *json, const char *path) {
  if (json == NULL || strcmp(json, "-") == 0 || !amped_file_is_one(json, path))
    return AMPED_OK;
  return amped_error(AMPED_USAGE, path,
                     "is named for two outputs of this run; name another with --json");
}

amped_status amped_json_apart(const amped_json *json, const char *path) {
  return json != NULL ? amped_json_check_apart(json->path, path) : AMPED_OK;
}

void amped_json_may_end(amped_json *json) {
  if (json != NULL)
    json->may_end = json->file != stdout;
}

/* A write failed. */
static amped_status fail(amped_json *json, int error) {
  if (!json->may_end)
    return amped_error_errno(AMPED_FAILED, error, json->path,
                             "cannot be written; free disk space or leave --json out");
  if (!json->ended)
    amped_warn("%s: cannot be written: %s; the run goes on without more lines of --json",
               json->path, strerror(error));
  json->ended = true;
  return AMPED_OK;
}

amped_status amped_json_line(amped_json *json, json_t *object) {
  amped_status status = AMPED_OK;
  if (json != NULL && json->ended) {
    json_decref(object);
    return AMPED_OK;
  }
  errno = 0;
  bool failed = json != NULL && object != NULL &&
                (amped_json_put(object, JSON_COMPACT, json->file) != 0 ||
                 fputc('\n', json->file) == EOF || fflush(json->file) != 0);
  if (json != NULL && (object == NULL || (failed && errno == ENOMEM)))
    status = amped_error(AMPED_FAILED, json->path, "out of memory for a JSON line");
  else if (failed)
    status = fail(json, errno);
  json_decref(object);
  return status;
}

amped_status amped_json_close(amped_json *json, amped_status status) {
  if (json == NULL)
    return status;
  if (json->file != stdout) {
    json->draft.fd = -1; /* owned by the stream */
    if (fclose(json->file) != 0 && status == AMPED_OK)
      status = fail(json, errno);
    amped_draft_close(&json->draft);
  }
  amped_free(json);
  return status;
}
