/* Magic: the first bytes of files that are not text. */
#ifndef AMPED_MAGIC_H
#define AMPED_MAGIC_H

#include <stdbool.h>

#include "base/status.h"
#include "base/types.h"

/* Most bytes needed to recognise a file. */
#define AMPED_MAGIC_BYTES 32

/* Does a zstd frame begin here, or a skippable frame (RFC 8878), with which pzstd begins a file? */
bool amped_magic_is_zstd(const void *bytes, uint64_t count);

/* Does a gzip member begin here? */
bool amped_magic_is_gzip(const void *bytes, uint64_t count);

/* Kind of a file that begins with these bytes, and the remedy: "a Parquet file; write it as .csv,
 * say with pandas". NULL: text, or unknown. Static text. */
const char *amped_magic_kind(const void *bytes, uint64_t count);

/* Does a text begin like JSON: an object, or an array of objects? Some tables without quotes do,
 * too, so only names without a known suffix are refused. */
bool amped_magic_is_json(const void *bytes, uint64_t count);

/* Read the first bytes of a regular file. Returns their number; 0 if it cannot be read. */
uint64_t amped_magic_read(const char *path, unsigned char bytes[AMPED_MAGIC_BYTES]);

/* AMPED_BAD_INPUT if a text, decompressed if necessary, begins like another kind of file: another
 * compression, an archive, HDF5, UTF-16. The line names the kind and the remedy. */
amped_status amped_magic_check(const char *path, const void *text, uint64_t count);

#endif
