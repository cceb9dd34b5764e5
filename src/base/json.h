/* JSON lines: one object a line, for programs that follow a run. Writing is jansson's work.
 *
 * Not thread-safe. Only the rank that opened it writes. */
#ifndef AMPED_JSON_H
#define AMPED_JSON_H

#include <jansson.h>

#include "base/status.h"

typedef struct amped_json amped_json;

/* path "-" is standard output (the log then moves to standard error); path NULL stores NULL in
 * *out, and writing to NULL does nothing. */
amped_status amped_json_open(const char *path, amped_json **out);

/* AMPED_USAGE where path is the file that the lines go to: nothing else may replace it. */
amped_status amped_json_apart(const amped_json *json, const char *path);

/* Write one object as a line, flushed; takes the reference (also on failure). An object that could
 * not be built (NULL) is an out-of-memory error. */
amped_status amped_json_line(amped_json *json, json_t *object);

/* `status`, or where that is AMPED_OK whether all was written: what a command ends with. */
amped_status amped_json_close(amped_json *json, amped_status status);

#endif
