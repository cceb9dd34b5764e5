/* Byte streams: plain files, gzip (zlib) and zstd; "-" is standard input or output. The format is
 * recognised by its magic bytes on reading, and chosen by the suffix on writing. Host memory; one
 * thread per stream, plus its OpenMP threads for large reads of a plain file. */
#ifndef AMPED_IO_STREAM_H
#define AMPED_IO_STREAM_H

#include "base/status.h"
#include "base/types.h"

typedef struct amped_stream amped_stream;

amped_status amped_stream_open(const char *path, amped_stream **out);
/* Read up to `bytes` decompressed bytes; *got is 0 only at the end. A damaged or truncated
 * compressed file is AMPED_BAD_INPUT. */
amped_status amped_stream_read(amped_stream *stream, void *buffer, uint64_t bytes, uint64_t *got);
/* Make another thread's read on this stream end soon, as at the end of the file. Needed for a pipe
 * whose writer keeps it open although no more data is wanted. */
void amped_stream_stop(amped_stream *stream);
/* Compressed bytes read so far and the file's size (0: unknown), for progress. */
void amped_stream_progress(const amped_stream *stream, uint64_t *done, uint64_t *total);
void amped_stream_close(amped_stream *stream);

/* Write to a draft (base/draft.h), which finish publishes; "-" is written at once.
 * amped_stream_discard removes the written bytes. Both free the stream. */
amped_status amped_stream_create(const char *path, amped_stream **out);
amped_status amped_stream_write(amped_stream *stream, const void *buffer, uint64_t bytes);
amped_status amped_stream_finish(amped_stream *stream);
void amped_stream_discard(amped_stream *stream);

#endif
