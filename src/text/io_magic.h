/* Magic: the first bytes of files that are not text. Pure functions. */
#ifndef AMPED_IO_MAGIC_H
#define AMPED_IO_MAGIC_H

#include <stdbool.h>

#include "base/status.h"
#include "base/types.h"

/* Most bytes needed to recognise a file. */
#define AMPED_MAGIC_BYTES 12

/* Does a zstd frame begin here, or a skippable frame (RFC 8878), with which pzstd begins a file? */
bool amped_magic_is_zstd(const void *bytes, uint64_t count);

/* Does a gzip member begin here? */
bool amped_magic_is_gzip(const void *bytes, uint64_t count);

/* AMPED_BAD_INPUT if a text, decompressed if necessary, begins like another kind of file: another
 * compression, an archive, HDF5, UTF-16. The line names the kind and the remedy. */
amped_status amped_magic_check(const char *path, const void *text, uint64_t count);

#endif
