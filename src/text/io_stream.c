/* Byte streams: reading with zlib or zstd, parallel reading of plain files, and writing. */
#include "text/io_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#define ZLIB_CONST
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/draft.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/magic.h"

/* Buffer of compressed bytes: large enough to make the cost of system calls small. */
#define RAW_BYTES (256u << 10)
/* Bytes that the system is asked to read ahead. */
#define AHEAD_BYTES (UINT64_C(64) << 20)
/* Bytes of a plain file that a thread reads at a time. */
#define PIECE_BYTES (UINT64_C(1) << 20)
/* zlib's level for writing: its own default. */
#define GZIP_LEVEL 6
/* windowBits value that selects the gzip format and the largest window. */
#define GZIP_WINDOW (16 + MAX_WBITS)

typedef enum coding { CODING_PLAIN, CODING_GZIP, CODING_ZSTD } coding;

/* Interval between checks whether a read is still wanted. */
#define LOOK_MSEC 100

struct amped_stream {
  atomic_bool stop;
  char *path;
  amped_draft draft; /* draft being written; closed for standard output */
  int fd;
  bool owns_fd; /* fd was opened here, and is closed here */
  bool seeks;   /* the file has a size: each thread reads at its own offset */
  coding coding;
  /* buffer of compressed bytes. Reading: raw[raw_at .. raw_end) wait for decoding. Writing: raw
   * receives the encoder's output, which is written at once. */
  unsigned char *raw;
  uint64_t raw_at, raw_end;
  bool raw_ended;
  bool frame_open;        /* inside a gzip member or zstd frame */
  bool padded;            /* zero bytes follow a gzip member, up to the end */
  uint64_t done, total;   /* bytes; total 0: unknown */
  uint64_t asked;         /* file offset up to which the system was asked to read ahead */
  amped_file_stamp stamp; /* taken when the file was opened for reading; unused for standard
                             input */
  z_stream gzip;
  bool gzip_live, gzip_deflates;
  ZSTD_DCtx *unzstd;
  ZSTD_CCtx *zstd;
};

static void free_stream(amped_stream *s) {
  if (s->gzip_live && s->gzip_deflates)
    (void)deflateEnd(&s->gzip);
  else if (s->gzip_live)
    (void)inflateEnd(&s->gzip);
  (void)ZSTD_freeDCtx(s->unzstd);
  (void)ZSTD_freeCCtx(s->zstd);
  if (s->owns_fd)
    (void)close(s->fd);
  amped_draft_close(&s->draft);
  amped_free(s->raw);
  amped_free(s->path);
  amped_free(s);
}

/* Create a stream with its raw buffer; no file is open yet. */
static amped_status new_stream(const char *path, amped_stream **out) {
  amped_stream *s = NULL;
  AMPED_TRY(amped_calloc(&s, 1, sizeof *s, "a file"));
  s->fd = -1;
  amped_status status = amped_strdup(&s->path, path);
  if (status == AMPED_OK)
    status = amped_alloc(&s->raw, RAW_BYTES, 1, "a file's buffer");
  if (status != AMPED_OK) {
    free_stream(s);
    return status;
  }
  *out = s;
  return AMPED_OK;
}

static amped_status no_library(const amped_stream *s, const char *library) {
  return amped_error(AMPED_FAILED, s->path, "%s cannot be started; free some memory", library);
}

/* ---- reading ---- */

/* Ask the system to read ahead while the caller parses. */
static void ask_ahead(amped_stream *s) {
  const uint64_t left = s->total > s->done ? s->total - s->done : 0;
  const uint64_t end = s->done + (left < AHEAD_BYTES ? left : AHEAD_BYTES);
  const uint64_t from = s->asked > s->done ? s->asked : s->done;
  if (end <= from || (end < s->total && end - from < AHEAD_BYTES / 2))
    return; /* enough is already requested */
  amped_file_ask(s->fd, from, end - from);
  s->asked = end;
}

/* Wait for bytes to read; returns false if no more bytes are wanted. */
static bool wait_for_bytes(amped_stream *s) {
  struct pollfd fd = {.fd = s->fd, .events = POLLIN};
  while (!atomic_load(&s->stop))
    if (poll(&fd, 1, LOOK_MSEC) != 0) /* also on failure: read reports it */
      return true;
  return false;
}

/* Read up to `bytes` at offset `at` of a file, fewer only at its end. Returns errno, or 0. */
static int read_piece(int fd, char *buffer, uint64_t bytes, uint64_t at, uint64_t *got) {
  *got = 0;
  while (*got < bytes) {
    const ssize_t n = pread(fd, buffer + *got, bytes - *got, (off_t)(at + *got));
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return n < 0 ? errno : 0;
    *got += (uint64_t)n;
  }
  return 0;
}

/* Read with all threads: a single thread copies from the system's memory more slowly than many
 * threads parse. */
static int read_pieces(const amped_stream *s, char *buffer, uint64_t bytes, uint64_t *got) {
  const uint64_t pieces = amped_ceil_div(bytes, PIECE_BYTES);
  uint64_t end = bytes;
  int bad = 0;
#pragma omp parallel for schedule(dynamic) reduction(min : end) reduction(max : bad) if (pieces > 1)
  for (uint64_t p = 0; p < pieces; p++) {
    const uint64_t from = p * PIECE_BYTES;
    const uint64_t want = bytes - from < PIECE_BYTES ? bytes - from : PIECE_BYTES;
    uint64_t n = 0;
    const int code = read_piece(s->fd, buffer + from, want, s->done + from, &n);
    bad = code > bad ? code : bad;
    end = n < want && from + n < end ? from + n : end;
  }
  *got = end;
  return bad;
}

/* Read the available bytes of a pipe. Returns errno, or 0. */
static int read_some(const amped_stream *s, void *buffer, uint64_t bytes, uint64_t *got) {
  ssize_t n;
  do
    n = read(s->fd, buffer, bytes);
  while (n < 0 && errno == EINTR);
  *got = n < 0 ? 0 : (uint64_t)n;
  return n < 0 ? errno : 0;
}

/* Read bytes of the file without decoding; *got is 0 only at its end. */
static amped_status read_raw(amped_stream *s, void *buffer, uint64_t bytes, uint64_t *got) {
  const uint64_t ask = bytes < (1u << 30) ? bytes : UINT64_C(1) << 30;
  *got = 0;
  if (!wait_for_bytes(s))
    return AMPED_OK;
  const int failed = s->seeks ? read_pieces(s, buffer, ask, got) : read_some(s, buffer, ask, got);
  if (failed != 0)
    return amped_error_errno(AMPED_FAILED, failed, s->path,
                             "read error at byte %" PRIu64 "; check the disk and try again",
                             s->done);
  s->done += *got;
  if (*got > 0)
    ask_ahead(s);
  return *got == 0 && s->owns_fd ? amped_file_check_unchanged(s->fd, s->path, &s->stamp) : AMPED_OK;
}

/* Refill an empty raw buffer. */
static amped_status refill(amped_stream *s) {
  s->raw_at = 0;
  s->raw_end = 0;
  if (s->raw_ended)
    return AMPED_OK;
  AMPED_TRY(read_raw(s, s->raw, RAW_BYTES, &s->raw_end));
  s->raw_ended = s->raw_end == 0;
  return AMPED_OK;
}

/* Detect the compression from the first bytes; a pipe may deliver them one by one. */
static amped_status sniff(amped_stream *s) {
  while (s->raw_end < AMPED_MAGIC_BYTES && !s->raw_ended) {
    uint64_t got = 0;
    AMPED_TRY(read_raw(s, s->raw + s->raw_end, RAW_BYTES - s->raw_end, &got));
    s->raw_end += got;
    s->raw_ended = got == 0;
  }
  if (amped_magic_is_gzip(s->raw, s->raw_end)) {
    s->coding = CODING_GZIP;
    if (inflateInit2(&s->gzip, GZIP_WINDOW) != Z_OK)
      return no_library(s, "zlib");
    s->gzip_live = true;
  } else if (amped_magic_is_zstd(s->raw, s->raw_end)) {
    s->coding = CODING_ZSTD;
    s->unzstd = ZSTD_createDCtx();
    if (s->unzstd == NULL)
      return no_library(s, "zstd");
  }
  return AMPED_OK;
}

static bool is_regular(int fd) {
  struct stat about;
  return fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
}

amped_status amped_stream_open(const char *path, amped_stream **out) {
  amped_stream *s = NULL;
  amped_status status = AMPED_OK;
  bool standard = strcmp(path, "-") == 0;
  uint64_t total = 0;
  *out = NULL;
  if (!standard)
    AMPED_TRY(amped_file_check_readable(path, &total));
  AMPED_TRY(new_stream(standard ? "standard input" : path, &s));
  s->total = total;
  s->fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
  s->owns_fd = !standard && s->fd >= 0;
  s->seeks = s->owns_fd && total > 0 && is_regular(s->fd);
  s->stamp = amped_file_stamp_take(s->fd);
  if (s->fd < 0)
    status = amped_error_errno(AMPED_BAD_INPUT, errno, path, "cannot be opened; check its name");
  if (status == AMPED_OK)
    status = sniff(s);
  if (status != AMPED_OK) {
    free_stream(s);
    return status;
  }
  *out = s;
  return AMPED_OK;
}

static amped_status truncated(const amped_stream *s) {
  return amped_error(AMPED_BAD_INPUT, s->path,
                     "the compressed file is truncated after byte %" PRIu64 "; copy it again",
                     s->done);
}

static amped_status damaged(const amped_stream *s, const char *reason) {
  return amped_error(AMPED_BAD_INPUT, s->path,
                     "damaged compressed data before byte %" PRIu64 " (%s); copy it again",
                     s->done - (s->raw_end - s->raw_at), reason);
}

static amped_status read_plain(amped_stream *s, void *buffer, uint64_t bytes, uint64_t *got) {
  uint64_t left = s->raw_end - s->raw_at;
  if (left == 0 && s->raw_ended) {
    *got = 0;
    return AMPED_OK;
  }
  if (left == 0)
    return read_raw(s, buffer, bytes, got);
  *got = left < bytes ? left : bytes;
  memcpy(buffer, s->raw + s->raw_at, *got);
  s->raw_at += *got;
  return AMPED_OK;
}

/* Skip zero bytes after the last gzip member, which fill the last block of a tape or disk. Nothing
 * else may follow them. */
static amped_status skip_padding(amped_stream *s) {
  while (s->raw_at < s->raw_end && s->raw[s->raw_at] == 0) {
    s->raw_at++;
    s->padded = true;
  }
  return !s->padded || s->raw_at == s->raw_end ? AMPED_OK
                                               : damaged(s, "zero bytes between gzip members");
}

/* Run one step of zlib: consumes raw bytes, adds to *got. */
static amped_status inflate_some(amped_stream *s, unsigned char *buffer, uint64_t bytes,
                                 uint64_t *got) {
  z_stream *z = &s->gzip;
  uint64_t room = bytes - *got;
  uInt room_now = room < (1u << 30) ? (uInt)room : 1u << 30;
  if (!s->frame_open) {
    AMPED_TRY(skip_padding(s));
    if (s->padded)
      return AMPED_OK;
  }
  if (!s->frame_open && inflateReset(z) != Z_OK)
    return no_library(s, "zlib");
  s->frame_open = true;
  z->next_in = s->raw + s->raw_at;
  z->avail_in = (uInt)(s->raw_end - s->raw_at);
  z->next_out = buffer + *got;
  z->avail_out = room_now;
  int code = inflate(z, Z_NO_FLUSH);
  s->raw_at = s->raw_end - z->avail_in;
  *got += room_now - z->avail_out;
  if (code == Z_STREAM_END)
    s->frame_open = false;
  else if (code == Z_MEM_ERROR)
    return no_library(s, "zlib");
  else if (code != Z_OK && code != Z_BUF_ERROR)
    return damaged(s, z->msg != NULL ? z->msg : "not gzip data");
  return AMPED_OK;
}

/* Report a frame that zstd does not decode. The file may still be undamaged. */
static amped_status refused_by_zstd(const amped_stream *s, size_t code) {
  switch (ZSTD_getErrorCode(code)) {
  case ZSTD_error_frameParameter_windowTooLarge:
    return amped_error(AMPED_BAD_INPUT, s->path,
                       "compressed with a window above 128 MiB; decompress it first: "
                       "zstd -d --long=31 FILE");
  case ZSTD_error_dictionary_wrong:
    return amped_error(AMPED_BAD_INPUT, s->path,
                       "compressed with a dictionary; decompress it first: zstd -d -D DICTIONARY "
                       "FILE");
  case ZSTD_error_memory_allocation:
    return no_library(s, "zstd");
  default:
    return damaged(s, ZSTD_getErrorName(code));
  }
}

static amped_status unzstd_some(amped_stream *s, void *buffer, uint64_t bytes, uint64_t *got) {
  ZSTD_inBuffer in = {s->raw, s->raw_end, s->raw_at};
  ZSTD_outBuffer out = {buffer, bytes, *got};
  size_t code = ZSTD_decompressStream(s->unzstd, &out, &in);
  s->raw_at = in.pos;
  *got = out.pos;
  if (ZSTD_isError(code))
    return refused_by_zstd(s, code);
  s->frame_open = code != 0;
  return AMPED_OK;
}

void amped_stream_stop(amped_stream *stream) {
  atomic_store(&stream->stop, true);
}

amped_status amped_stream_read(amped_stream *stream, void *buffer, uint64_t bytes, uint64_t *got) {
  amped_stream *s = stream;
  *got = 0;
  if (bytes == 0)
    return AMPED_OK;
  if (s->coding == CODING_PLAIN)
    return read_plain(s, buffer, bytes, got);
  while (*got < bytes) {
    uint64_t before = *got;
    if (s->raw_at == s->raw_end)
      AMPED_TRY(refill(s));
    bool starved = s->raw_at == s->raw_end;
    if (starved && !s->frame_open)
      break;
    if (s->coding == CODING_GZIP)
      AMPED_TRY(inflate_some(s, buffer, bytes, got));
    else
      AMPED_TRY(unzstd_some(s, buffer, bytes, got));
    if (starved && *got == before && s->frame_open)
      return truncated(s);
  }
  return AMPED_OK;
}

void amped_stream_progress(const amped_stream *stream, uint64_t *done, uint64_t *total) {
  *done = stream->done;
  *total = stream->total;
}

void amped_stream_close(amped_stream *stream) {
  if (stream != NULL)
    free_stream(stream);
}

/* ---- writing ---- */

static bool ends_with(const char *path, const char *suffix) {
  size_t n = strlen(path);
  size_t m = strlen(suffix);
  return n >= m && strcasecmp(path + n - m, suffix) == 0;
}

static amped_status start_encoder(amped_stream *s, const char *path) {
  if (ends_with(path, ".gz")) {
    s->coding = CODING_GZIP;
    if (deflateInit2(&s->gzip, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK)
      return no_library(s, "zlib");
    s->gzip_live = true;
    s->gzip_deflates = true;
  } else if (ends_with(path, ".zst")) {
    s->coding = CODING_ZSTD;
    s->zstd = ZSTD_createCCtx();
    if (s->zstd == NULL || ZSTD_isError(ZSTD_CCtx_setParameter(s->zstd, ZSTD_c_checksumFlag, 1)))
      return no_library(s, "zstd");
  }
  return AMPED_OK;
}

amped_status amped_stream_create(const char *path, amped_stream **out) {
  amped_stream *s = NULL;
  amped_status status = AMPED_OK;
  bool standard = strcmp(path, "-") == 0;
  *out = NULL;
  AMPED_TRY(new_stream(standard ? "standard output" : path, &s));
  if (standard) {
    s->fd = STDOUT_FILENO;
  } else {
    AMPED_GO(fail, amped_draft_open(s->path, false, &s->draft));
    s->fd = s->draft.fd;
    AMPED_GO(fail, start_encoder(s, path));
  }
  *out = s;
  return AMPED_OK;
fail:
  amped_stream_discard(s);
  return status;
}

static amped_status write_raw(amped_stream *s, const void *buffer, uint64_t bytes) {
  const unsigned char *p = buffer;
  while (bytes > 0) {
    ssize_t n = write(s->fd, p, bytes < (1u << 30) ? (size_t)bytes : (size_t)1 << 30);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0 && errno == EPIPE)
      return amped_error(AMPED_FAILED, s->path,
                         "closed by its reader after %" PRIu64 " bytes; the rest is not written",
                         s->done);
    if (n < 0)
      return amped_error_errno(AMPED_FAILED, errno, s->path,
                               "write error after %" PRIu64 " bytes; free disk space or name "
                               "another file",
                               s->done);
    p += n;
    bytes -= (uint64_t)n;
    s->done += (uint64_t)n;
  }
  return AMPED_OK;
}

/* Pass bytes to zlib (at most 2^30 at a time) and write its output. */
static amped_status deflate_bytes(amped_stream *s, const unsigned char *p, uint64_t bytes,
                                  bool end) {
  z_stream *z = &s->gzip;
  int code = Z_OK;
  do {
    uInt now = bytes < (1u << 30) ? (uInt)bytes : 1u << 30;
    z->next_in = p;
    z->avail_in = now;
    z->next_out = s->raw;
    z->avail_out = RAW_BYTES;
    code = deflate(z, end ? Z_FINISH : Z_NO_FLUSH);
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
      return no_library(s, "zlib");
    p += now - z->avail_in;
    bytes -= now - z->avail_in;
    AMPED_TRY(write_raw(s, s->raw, RAW_BYTES - z->avail_out));
  } while (end ? code != Z_STREAM_END : bytes > 0);
  return AMPED_OK;
}

static amped_status zstd_bytes(amped_stream *s, const void *buffer, uint64_t bytes, bool end) {
  ZSTD_inBuffer in = {buffer, bytes, 0};
  size_t left = 0;
  do {
    ZSTD_outBuffer out = {s->raw, RAW_BYTES, 0};
    left = ZSTD_compressStream2(s->zstd, &out, &in, end ? ZSTD_e_end : ZSTD_e_continue);
    if (ZSTD_isError(left))
      return amped_error(AMPED_FAILED, s->path, "zstd failed (%s); write it uncompressed",
                         ZSTD_getErrorName(left));
    AMPED_TRY(write_raw(s, s->raw, out.pos));
  } while (end ? left != 0 : in.pos < in.size);
  return AMPED_OK;
}

static amped_status encode(amped_stream *s, const void *buffer, uint64_t bytes, bool end) {
  switch (s->coding) {
  case CODING_GZIP:
    return deflate_bytes(s, buffer, bytes, end);
  case CODING_ZSTD:
    return zstd_bytes(s, buffer, bytes, end);
  case CODING_PLAIN:
    break;
  }
  return write_raw(s, buffer, bytes);
}

amped_status amped_stream_write(amped_stream *stream, const void *buffer, uint64_t bytes) {
  return bytes > 0 ? encode(stream, buffer, bytes, false) : AMPED_OK;
}

amped_status amped_stream_finish(amped_stream *stream) {
  amped_stream *s = stream;
  amped_status status = encode(s, "", 0, true);
  if (status == AMPED_OK && s->draft.open)
    status = amped_draft_publish(&s->draft, false);
  amped_stream_discard(s);
  return status;
}

void amped_stream_discard(amped_stream *stream) {
  if (stream == NULL)
    return;
  free_stream(stream);
}
