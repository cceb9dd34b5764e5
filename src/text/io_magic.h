/* Magic: the first bytes of files that are no text. Pure functions. */
#ifndef AMPED_IO_MAGIC_H
#define AMPED_IO_MAGIC_H

#include <stdbool.h>

#include "base/status.h"
#include "base/types.h"

/* Bytes that tell the most. */
#define AMPED_MAGIC_BYTES 12

/* Does a frame of zstd begin here, or a frame to skip (RFC 8878), with which pzstd begins a file?
 */
bool amped_magic_is_zstd(const void *bytes, uint64_t count);

/* Does a gzip member begin here? */
bool amped_magic_is_gzip(const void *bytes, uint64_t count);

/* AMPED_BAD_INPUT: a text, decompressed if it was compressed, begins as another kind of file does:
 * another compression, an archive, HDF5, UTF-16. The line names the kind and the remedy. */
amped_status amped_magic_check(const char *path, const void *text, uint64_t count);

#endif
