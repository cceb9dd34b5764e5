/* For targets that read a file: the bytes as a file in memory, and the checks that all readers must
 * pass. */
#ifndef AMPED_FUZZ_FILE_H
#define AMPED_FUZZ_FILE_H

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "text/io_format.h"
#include "base/mem.h"

/* Write the bytes to a file with a fixed name; returns the name. */
static inline const char *fuzz_file(const uint8_t *bytes, size_t count) {
  static char path[64];
  static int fd = -1;
  if (fd < 0) {
    fd = memfd_create("fuzz", MFD_CLOEXEC);
    fuzz_require(fd >= 0);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  }
  fuzz_require(ftruncate(fd, 0) == 0);
  fuzz_require(pwrite(fd, bytes, count, 0) == (ssize_t)count);
  return path;
}

/* The number of one of `variants` ways to read the bytes: a pure function of the bytes, with even
 * frequencies. */
static inline unsigned fuzz_variant(const uint8_t *bytes, size_t count, unsigned variants) {
  uint32_t sum = 2166136261u;
  for (size_t i = 0; i < count; i++)
    sum = (sum ^ bytes[i]) * 16777619u;
  return (sum >> 8) % variants;
}

/* A failure must have one line that names the file; the line is then cleared. */
static inline void fuzz_check_line(amped_status status, const char *path) {
  const char *line = amped_status_message();
  fuzz_require(status == AMPED_BAD_INPUT || status == AMPED_USAGE);
  fuzz_require(status == AMPED_USAGE || strstr(line, path) != NULL);
  fuzz_require(strchr(line, '\n') == NULL);
  amped_status_clear();
}

/* Check the end of a read: it gave a valid tensor, or one line that names the file. */
static inline void fuzz_check(amped_status status, const char *path, amped_sptensor *t) {
  if (status == AMPED_OK) {
    for (int m = 0; m < t->order; m++)
      fuzz_require(t->labels[m].count == 0 || t->labels[m].count == t->dims[m]);
    fuzz_require(amped_sptensor_validate(t, path) == AMPED_OK);
    amped_sptensor_free(t);
  } else {
    fuzz_check_line(status, path);
  }
  fuzz_require(amped_mem_live() == 0);
}

#endif
