/* NumPy's .npy files: reading boxes of cells, and writing. */
#include "text/io_npy.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/draft.h"
#include "base/file.h"
#include "base/log.h"
#include "base/magic.h"
#include "base/mem.h"
#include "text/io_npy_header.h"

static const unsigned char magic[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

/* Longest header accepted: no array of numbers has a longer one. */
#define MOST_HEADER (UINT64_C(1) << 20)

/* Size of the window. If a box consists of short runs with short gaps, runs and gaps are read
 * together. GAP_SHARE: the runs must be at least 1/8 of these bytes. */
#define WINDOW_BYTES (UINT64_C(1) << 20)
#define GAP_SHARE 8

/* Most bytes per read call: the system reads at most about 2^31. */
#define MOST_BYTES (UINT64_C(1) << 30)

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "cells are written as they lie here");

struct amped_npy {
  int fd;
  char *path;
  amped_file_stamp stamp;
  amped_npy_header header;
  uint64_t data; /* file offset of the first cell */
};

/* --- reading ---------------------------------------------------------------------------------- */

static amped_status read_at(const amped_npy *f, uint64_t at, uint64_t bytes, void *to) {
  char *next = to;
  while (bytes > 0) {
    const size_t most = (size_t)(bytes < MOST_BYTES ? bytes : MOST_BYTES);
    const ssize_t n = pread(f->fd, next, most, (off_t)at);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return amped_error_errno(AMPED_FAILED, errno, f->path, "cannot be read");
    if (n == 0)
      return amped_error(AMPED_BAD_INPUT, f->path,
                         "ends before its last cell; the file is cut off, save the array again");
    next += n;
    at += (uint64_t)n;
    bytes -= (uint64_t)n;
  }
  return AMPED_OK;
}

static uint64_t little(const unsigned char *bytes, int count) {
  uint64_t number = 0;
  for (int i = count - 1; i >= 0; i--)
    number = number << 8 | bytes[i];
  return number;
}

static amped_status no_npy(const amped_npy *f, const char *what) {
  return amped_error(AMPED_BAD_INPUT, f->path, "%s; save the array again with numpy.save", what);
}

/* Refuse a file of another kind. start: its first bytes. */
static amped_status no_magic(const amped_npy *f, const unsigned char *start, uint64_t count) {
  const char *kind = amped_magic_kind(start, count);
  return kind == NULL ? no_npy(f, "is not a .npy file")
                      : amped_error(AMPED_BAD_INPUT, f->path, "is not a .npy file but %s", kind);
}

/* Find the offset and the length of the header's text. */
static amped_status find_header(const amped_npy *f, uint64_t *at, uint64_t *length) {
  unsigned char start[AMPED_MAGIC_BYTES] = {0};
  const uint64_t there = f->stamp.bytes < sizeof start ? f->stamp.bytes : sizeof start;
  AMPED_TRY(read_at(f, 0, there, start));
  if (there < sizeof magic || memcmp(start, magic, sizeof magic) != 0)
    return no_magic(f, start, there);
  if (there < 12)
    return no_npy(f, "is cut off in its header");
  if (start[6] < 1 || start[6] > 3)
    return no_npy(f, "has a version of .npy other than 1 to 3");
  *at = start[6] == 1 ? 10 : 12;
  *length = start[6] == 1 ? little(start + 8, 2) : little(start + 8, 4);
  return *at + *length <= f->stamp.bytes && *length <= MOST_HEADER
             ? AMPED_OK
             : no_npy(f, "has a header that is cut off or too long");
}

static amped_status read_header(amped_npy *f) {
  uint64_t at = 0;
  uint64_t length = 0;
  char *text = NULL;
  AMPED_TRY(find_header(f, &at, &length));
  AMPED_TRY(amped_alloc(&text, length, 1, "the header of an array"));
  amped_status status = read_at(f, at, length, text);
  if (status == AMPED_OK)
    status = amped_npy_header_read(text, length, f->path, &f->header);
  amped_free(text);
  f->data = at + length;
  return status;
}

static amped_status check_size(const amped_npy *f) {
  const amped_dense_info *info = &f->header.info;
  const uint64_t need = info->cells * amped_cell_bytes(info->type);
  const uint64_t have = f->stamp.bytes - f->data;
  if (need == have)
    return AMPED_OK;
  return amped_error(AMPED_BAD_INPUT, f->path,
                     "has %" PRIu64 " bytes of cells, and its shape %" PRIu64 "; the file is %s, "
                     "save the array again",
                     have, need, have < need ? "cut off" : "too long");
}

static amped_status open_file(amped_npy *f) {
  struct stat st;
  AMPED_TRY(amped_file_check_readable(f->path, NULL));
  f->fd = open(f->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (f->fd < 0)
    return amped_error_errno(AMPED_BAD_INPUT, errno, f->path, "cannot be read; check its name");
  if (fstat(f->fd, &st) != 0 || !S_ISREG(st.st_mode))
    return no_npy(f, "is not a regular file");
  f->stamp = amped_file_stamp_take(f->fd);
  AMPED_TRY(read_header(f));
  return check_size(f);
}

amped_status amped_npy_open(const char *path, amped_npy **out) {
  amped_npy *f = NULL;
  *out = NULL;
  AMPED_TRY(amped_calloc(&f, 1, sizeof *f, "an array file"));
  f->fd = -1;
  amped_status status = amped_strdup(&f->path, path);
  if (status == AMPED_OK)
    status = open_file(f);
  if (status == AMPED_OK)
    *out = f;
  else
    amped_npy_close(f);
  return status;
}

void amped_npy_close(amped_npy *f) {
  if (f == NULL)
    return;
  if (f->fd >= 0)
    (void)close(f->fd);
  amped_free(f->path);
  amped_free(f);
}

const amped_dense_info *amped_npy_info(const amped_npy *f) {
  return &f->header.info;
}

/* A box as runs of contiguous bytes. Levels are the layout's; all levels after `inner` are
 * complete. */
typedef struct runs {
  int inner;
  uint64_t bytes;                   /* bytes per run */
  uint64_t count;                   /* number of runs */
  uint64_t stride[AMPED_MAX_ORDER]; /* bytes per index of a level */
} runs;

static runs runs_of(const amped_dense_info *info, const uint64_t *count) {
  runs r = {.count = 1};
  uint64_t stride = amped_cell_bytes(info->type);
  for (int i = info->order - 1; i >= 0; i--) {
    r.stride[i] = stride;
    stride *= info->dims[info->layout[i]];
  }
  r.inner = info->order - 1;
  while (r.inner > 0 && count[info->layout[r.inner]] == info->dims[info->layout[r.inner]])
    r.inner--;
  r.bytes = count[info->layout[r.inner]] * r.stride[r.inner];
  for (int i = 0; i < r.inner; i++)
    r.count *= count[info->layout[i]];
  return r;
}

static uint64_t place_of(const amped_npy *f, const runs *r, const uint64_t *first,
                         const uint64_t *count, uint64_t run) {
  const amped_dense_info *info = &f->header.info;
  uint64_t at = f->data + first[info->layout[r->inner]] * r->stride[r->inner];
  for (int i = r->inner - 1; i >= 0; i--) {
    const int m = info->layout[i];
    at += (first[m] + run % count[m]) * r->stride[i];
    run /= count[m];
  }
  return at;
}

/* Part of the file held in memory. */
typedef struct window {
  char *bytes;
  uint64_t at, count;
} window;

static amped_status read_through(const amped_npy *f, window *w, uint64_t at, uint64_t bytes,
                                 char *to) {
  if (at < w->at || at + bytes > w->at + w->count) {
    const uint64_t left = f->stamp.bytes - at;
    w->at = at;
    w->count = left < WINDOW_BYTES ? left : WINDOW_BYTES;
    AMPED_TRY(read_at(f, at, w->count, w->bytes));
  }
  memcpy(to, w->bytes + (at - w->at), bytes);
  return AMPED_OK;
}

static amped_status read_runs(const amped_npy *f, const runs *r, const uint64_t *first,
                              const uint64_t *count, char *to) {
  window w = {NULL, 0, 0};
  amped_status status = AMPED_OK;
  const uint64_t period = r->inner > 0 ? r->stride[r->inner - 1] : r->bytes;
  const bool narrow =
      r->count > 1 && r->bytes <= WINDOW_BYTES / 4 && r->bytes >= period / GAP_SHARE;
  if (narrow)
    AMPED_TRY(amped_alloc(&w.bytes, WINDOW_BYTES, 1, "a window of an array"));
  for (uint64_t i = 0; i < r->count && status == AMPED_OK; i++, to += r->bytes) {
    const uint64_t at = place_of(f, r, first, count, i);
    status = narrow ? read_through(f, &w, at, r->bytes, to) : read_at(f, at, r->bytes, to);
  }
  amped_free(w.bytes);
  return status;
}

#define SWAP(T, SWAPPED)                                                                           \
  for (uint64_t i = 0; i < count; i++)                                                             \
  ((T *)cells)[i] = SWAPPED(((T *)cells)[i])

static void swap(void *cells, uint64_t bytes, uint64_t count) {
  if (bytes == 2)
    SWAP(uint16_t, __builtin_bswap16);
  else if (bytes == 4)
    SWAP(uint32_t, __builtin_bswap32);
  else
    SWAP(uint64_t, __builtin_bswap64);
}

amped_status amped_npy_read(amped_npy *f, const uint64_t *first, const uint64_t *count,
                            void *cells) {
  const amped_dense_info *info = &f->header.info;
  const runs r = runs_of(info, count);
  const uint64_t bytes = amped_cell_bytes(info->type);
  for (int m = 0; m < info->order; m++)
    if (first[m] > info->dims[m] || count[m] > info->dims[m] - first[m])
      return amped_error(AMPED_FAILED, f->path,
                         "mode %d has no indices %" PRIu64 " + %" PRIu64
                         " (from 0); this is a mistake of amped_mpi, please report it",
                         m + 1, first[m], count[m]);
  if (r.bytes == 0)
    return AMPED_OK;
  amped_status status = read_runs(f, &r, first, count, cells);
  if (f->header.swapped)
    swap(cells, bytes, r.count * (r.bytes / bytes));
  AMPED_TRY(amped_file_check_unchanged(f->fd, f->path, &f->stamp));
  return status;
}

/* --- writing ---------------------------------------------------------------------------------- */

struct amped_npy_writer {
  char *path;
  amped_draft draft;
  uint64_t cell_bytes, cells, appended;
  uint64_t at; /* file offset of the next cell */
};

static amped_status put(amped_npy_writer *w, uint64_t bytes, const void *from) {
  const int failed = amped_file_write_at(w->draft.fd, from, bytes, w->at);
  w->at += bytes;
  return failed == 0 ? AMPED_OK
                     : amped_error_errno(AMPED_FAILED, failed, w->path,
                                         "cannot be written; free disk space or name another file");
}

/* Write the header, padded with blanks and a line end: cells begin at a multiple of 64 bytes. */
static amped_status put_header(amped_npy_writer *w, const amped_dense_info *info) {
  char start[10 + AMPED_NPY_HEADER + 64] = {0};
  memcpy(start, magic, sizeof magic);
  uint64_t bytes = 10 + amped_npy_header_text(info, start + 10) + 1;
  const uint64_t whole = amped_ceil_div(bytes, 64) * 64;
  memset(start + bytes - 1, ' ', whole - bytes);
  start[whole - 1] = '\n';
  start[6] = 1;
  start[8] = (char)((whole - 10) & 255);
  start[9] = (char)((whole - 10) >> 8);
  return put(w, whole, start);
}

static amped_status begin(amped_npy_writer *w, const amped_dense_info *info) {
  const amped_file_need need = {w->path, w->cells * w->cell_bytes + 10 + AMPED_NPY_HEADER + 64,
                                "name another file"};
  AMPED_TRY(amped_draft_open(w->path, true, &w->draft));
  AMPED_TRY(amped_file_check_room(&need, 1));
  return put_header(w, info);
}

amped_status amped_npy_writer_create(const char *path, const amped_dense_info *info,
                                     amped_npy_writer **out) {
  amped_npy_writer *w = NULL;
  *out = NULL;
  AMPED_TRY(amped_calloc(&w, 1, sizeof *w, "an array file"));
  w->cells = info->cells;
  w->cell_bytes = amped_cell_bytes(info->type);
  amped_progress_begin("writing", info->cells, "cells");
  amped_status status = amped_strdup(&w->path, path);
  if (status == AMPED_OK)
    status = begin(w, info);
  if (status == AMPED_OK)
    *out = w;
  else
    amped_npy_writer_discard(w);
  return status;
}

amped_status amped_npy_writer_append(amped_npy_writer *w, uint64_t count, const void *cells) {
  if (count > w->cells - w->appended)
    return amped_error(AMPED_FAILED, w->path,
                       "has %" PRIu64 " cells, and more come; this is a mistake of amped_mpi, "
                       "please report it",
                       w->cells);
  AMPED_TRY(put(w, count * w->cell_bytes, cells));
  w->appended += count;
  amped_progress_update(w->appended);
  return AMPED_OK;
}

amped_status amped_npy_writer_publish(amped_npy_writer *w) {
  amped_status status = amped_draft_publish(&w->draft, false);
  amped_npy_writer_discard(w);
  return status;
}

void amped_npy_writer_discard(amped_npy_writer *w) {
  if (w == NULL)
    return;
  amped_progress_end();
  amped_draft_close(&w->draft);
  amped_free(w->path);
  amped_free(w);
}
