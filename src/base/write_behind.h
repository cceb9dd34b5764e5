/* Write behind: a thread writes buffers to a file while the caller fills the next ones, and asks
 * the system to start writing to the disk.
 *
 * The caller takes a free buffer, fills it, and puts it at its place in the file; buffers are
 * written in this order. Host memory; one thread calls. A file has one such object; other code may
 * write other places of the file at the same time. A zeroed object has no thread and no buffers. */
#ifndef AMPED_WRITE_BEHIND_H
#define AMPED_WRITE_BEHIND_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define AMPED_WRITE_BEHIND_BUFFERS 4

typedef struct amped_write_behind {
  int fd; /* borrowed */
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool started;
  bool stop;
  struct amped_write_behind_buffer {
    void *data;
    uint64_t room, at, bytes;
  } buffers[AMPED_WRITE_BEHIND_BUFFERS];
  uint64_t put, written; /* numbers of buffers; number k is buffers[k % BUFFERS] */
  int error;             /* errno of the first failed write: nothing is written after it */
} amped_write_behind;

/* *out = a free buffer of `bytes` bytes, valid until the next call; waits for one. The first call
 * starts the thread. */
amped_status amped_write_behind_room(amped_write_behind *w, int fd, uint64_t bytes, void **out);
/* Is this the buffer of the last amped_write_behind_room, not yet put? */
bool amped_write_behind_is_room(const amped_write_behind *w, const void *data);
/* Write the first `bytes` bytes of this buffer at byte `at` of the file. Returns the errno of an
 * earlier write, or 0. */
int amped_write_behind_put(amped_write_behind *w, uint64_t at, uint64_t bytes);
/* Wait until all buffers are written. Returns errno of the write that failed, or 0. */
int amped_write_behind_wait(amped_write_behind *w);
/* Drop unwritten buffers, end the thread and free the memory. Accepts a zeroed object. */
void amped_write_behind_end(amped_write_behind *w);

#endif
