/* Byte streams: plain files, gzip (zlib) and zstd, chosen by content when reading (magic bytes) and
 * by suffix when writing; "-" is standard input or output. Host memory; one thread a stream. */
#ifndef AMPED_IO_STREAM_H
#define AMPED_IO_STREAM_H

#include "base/status.h"
#include "base/types.h"

typedef struct amped_stream amped_stream;

amped_status amped_stream_open(const char *path, amped_stream **out);
/* Up to `bytes` decompressed bytes; *got is 0 at the end only. A damaged or truncated compressed
 * file is AMPED_BAD_INPUT. */
amped_status amped_stream_read(amped_stream *stream, void *buffer, uint64_t bytes, uint64_t *got);
/* Another thread's read of this stream ends soon, as at the end of the file: nothing more is
 * wanted, though a pipe's writer may keep it open. */
void amped_stream_stop(amped_stream *stream);
/* Compressed bytes read so far and the file's size (0 where unknown), for progress. */
void amped_stream_progress(const amped_stream *stream, uint64_t *done, uint64_t *total);
void amped_stream_close(amped_stream *stream);

/* Writing goes to a temporary name that finish flushes and renames ("-" is written as it comes).
 * amped_stream_discard drops what was written. Either frees the stream. */
amped_status amped_stream_create(const char *path, amped_stream **out);
amped_status amped_stream_write(amped_stream *stream, const void *buffer, uint64_t bytes);
amped_status amped_stream_finish(amped_stream *stream);
void amped_stream_discard(amped_stream *stream);

#endif
