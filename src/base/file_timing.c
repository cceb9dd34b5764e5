/* File timing: parallel reads, and sequential writes with a flush. */
#include "base/file_timing.h"

#include <errno.h>
#include <fcntl.h>
#include <omp.h>
#include <unistd.h>

#include "base/draft.h"
#include "base/file.h"
#include "base/heartbeat.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/timer.h"

/* Bytes of a read, which fit in a core's cache, and of a write. */
#define READ_BYTES (UINT64_C(1) << 20)
#define WRITE_BYTES (UINT64_C(4) << 20)

/* In place of an errno: the file ends early. */
#define ENDS (-1)

/* Reads one piece. Returns 0, errno or ENDS. */
static int read_piece(int fd, uint64_t first, uint64_t end, char *to) {
  while (first < end) {
    const ssize_t n = pread(fd, to, (size_t)(end - first), (off_t)first);
    if (n == 0)
      return ENDS;
    if (n < 0 && errno != EINTR)
      return errno;
    first += n > 0 ? (uint64_t)n : 0;
  }
  return 0;
}

/* Reads all pieces. Returns 0, errno or ENDS. */
static int read_pieces(int fd, uint64_t first, uint64_t end, char *buffers) {
  const uint64_t pieces = amped_ceil_div(end - first, READ_BYTES);
  int failed = 0;
#pragma omp parallel for schedule(dynamic)
  for (uint64_t i = 0; i < pieces; i++) {
    const uint64_t from = first + i * READ_BYTES;
    const uint64_t to = end - from < READ_BYTES ? end : from + READ_BYTES;
    const int now = read_piece(fd, from, to, buffers + (uint64_t)omp_get_thread_num() * READ_BYTES);
    if (now != 0) {
#pragma omp atomic write
      failed = now;
    }
    amped_heartbeat_step();
  }
  return failed;
}

amped_status amped_file_timing_read(const char *path, uint64_t first, uint64_t end,
                                    double *seconds) {
  char *buffers = NULL;
  *seconds = 0.0;
  AMPED_TRY(amped_alloc(&buffers, (uint64_t)omp_get_max_threads(), READ_BYTES, "pieces of a file"));
  const double began = amped_time();
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  const int failed = fd < 0 ? errno : read_pieces(fd, first, end, buffers);
  *seconds = amped_time() - began;
  if (fd >= 0)
    (void)close(fd);
  amped_free(buffers);
  if (failed == ENDS)
    return amped_file_changed(path);
  return failed == 0
             ? AMPED_OK
             : amped_error_errno(AMPED_BAD_INPUT, failed, path, "cannot be read a second time");
}

/* Fills with random bytes, because some disks and file systems skip or compress other bytes. */
static void fill(uint64_t *words, uint64_t count) {
  for (uint64_t i = 0; i < count; i++)
    words[i] = amped_random_u64(1, 0, i);
}

/* Writes and flushes. Returns 0 or errno. */
static int write_all(int fd, const char *from, uint64_t bytes) {
  for (uint64_t done = 0; done < bytes;) {
    const uint64_t at = done % WRITE_BYTES;
    const uint64_t left = bytes - done < WRITE_BYTES - at ? bytes - done : WRITE_BYTES - at;
    const ssize_t n = write(fd, from + at, (size_t)left);
    if (n < 0 && errno != EINTR)
      return errno;
    done += n > 0 ? (uint64_t)n : 0;
    amped_heartbeat_step();
  }
  return fsync(fd) == 0 ? 0 : errno;
}

amped_status amped_file_timing_write(const char *path, uint64_t bytes, double *seconds) {
  amped_draft draft = {.open = false};
  uint64_t *words = NULL;
  *seconds = 0.0;
  AMPED_TRY(amped_alloc(&words, WRITE_BYTES, 1, "bytes to write"));
  fill(words, WRITE_BYTES / sizeof *words);
  const double began = amped_time();
  amped_status status = amped_draft_open(path, false, &draft);
  if (status == AMPED_OK) {
    const int failed = write_all(draft.fd, (const char *)words, bytes);
    *seconds = amped_time() - began;
    if (failed != 0)
      status = amped_error_errno(AMPED_FAILED, failed, path,
                                 "cannot be written; free disk space or name another file");
  }
  amped_draft_close(&draft);
  amped_free(words);
  return status;
}
