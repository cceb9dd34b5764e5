/* JSON lines: one object per line, for programs that follow a run. The library jansson writes the
 * text.
 *
 * Not thread-safe. Only the rank that opened the file writes. */
#ifndef AMPED_JSON_H
#define AMPED_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/status.h"

typedef struct amped_json amped_json;

/* json_loads, with *no_memory set if memory ran out. The library itself may report this as
 * malformed text. */
json_t *amped_json_loads(const char *text, json_error_t *error, bool *no_memory);

/* The number called `name`; NaN if there is none, or if object is NULL. */
double amped_json_number_of(const json_t *object, const char *name);

/* json_dumpf in printable form (base/printable.h), which means the same: in JSON text such
 * characters occur only in strings, where \uXXXX stands for them. Returns 0, or EOF. */
int amped_json_put(const json_t *object, size_t flags, FILE *stream);

/* Open the stream. path "-" is standard output (the log then moves to standard error). path NULL
 * stores NULL in *out, and writing to NULL does nothing. */
amped_status amped_json_open(const char *path, amped_json **out);

/* From here on a file that cannot be written, such as on a full disk, ends no run that has other
 * outputs: a warning says so once, and later lines are left out. Standard output still fails. Does
 * nothing if json is NULL. */
void amped_json_may_end(amped_json *json);

/* AMPED_USAGE if `json`, a name for lines or NULL, names the file of `path`, too. */
amped_status amped_json_check_apart(const char *json, const char *path);
/* The same once the file is open: it exists, so any name for it is recognised. */
amped_status amped_json_apart(const amped_json *json, const char *path);

/* Write one object as a line and flush it. Takes the reference to the object, also on failure. A
 * NULL object, which could not be built, is an out-of-memory error. */
amped_status amped_json_line(amped_json *json, json_t *object);

/* Close the file. Returns `status`; if this is AMPED_OK and a write failed, AMPED_FAILED. A command
 * ends with this call. */
amped_status amped_json_close(amped_json *json, amped_status status);

#endif
