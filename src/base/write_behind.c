/* Write behind: a writing thread and a ring of buffers. */
#include "base/write_behind.h"

#include <fcntl.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"

static struct amped_write_behind_buffer *buffer_of(amped_write_behind *w, uint64_t number) {
  return &w->buffers[number % AMPED_WRITE_BEHIND_BUFFERS];
}

/* Writes a buffer. Returns errno, or 0. The request to start writing to the disk may be declined by
 * the system. */
static int write_buffer(int fd, const struct amped_write_behind_buffer *b) {
  const int failed = amped_file_write_at(fd, b->data, b->bytes, b->at);
  if (failed == 0)
    (void)sync_file_range(fd, (off_t)b->at, (off_t)b->bytes, SYNC_FILE_RANGE_WRITE);
  return failed;
}

static void *write_buffers(void *argument) {
  amped_write_behind *w = argument;
  (void)pthread_mutex_lock(&w->lock);
  while (true) {
    while (w->written == w->put && !w->stop)
      (void)pthread_cond_wait(&w->changed, &w->lock);
    if (w->stop)
      break;
    const bool goes_on = w->error == 0;
    (void)pthread_mutex_unlock(&w->lock);
    const int failed = goes_on ? write_buffer(w->fd, buffer_of(w, w->written)) : 0;
    (void)pthread_mutex_lock(&w->lock);
    w->error = goes_on ? failed : w->error;
    w->written++;
    (void)pthread_cond_broadcast(&w->changed);
  }
  (void)pthread_mutex_unlock(&w->lock);
  return NULL;
}

static amped_status start(amped_write_behind *w, int fd) {
  w->fd = fd;
  (void)pthread_mutex_init(&w->lock, NULL);
  (void)pthread_cond_init(&w->changed, NULL);
  const int failed = pthread_create(&w->thread, NULL, write_buffers, w);
  w->started = failed == 0;
  if (w->started)
    return AMPED_OK;
  (void)pthread_cond_destroy(&w->changed);
  (void)pthread_mutex_destroy(&w->lock);
  return amped_error_errno(AMPED_FAILED, failed, NULL, "no thread for writing");
}

/* Waits until at most `most` buffers are unwritten. Returns the error so far. */
static int wait_for(amped_write_behind *w, uint64_t most) {
  (void)pthread_mutex_lock(&w->lock);
  while (w->put - w->written > most)
    (void)pthread_cond_wait(&w->changed, &w->lock);
  const int error = w->error;
  (void)pthread_mutex_unlock(&w->lock);
  return error;
}

amped_status amped_write_behind_room(amped_write_behind *w, int fd, uint64_t bytes, void **out) {
  *out = NULL;
  if (!w->started)
    AMPED_TRY(start(w, fd));
  (void)wait_for(w, AMPED_WRITE_BEHIND_BUFFERS - 1);
  struct amped_write_behind_buffer *b = buffer_of(w, w->put);
  if (b->room < bytes) {
    amped_free(b->data);
    b->room = 0;
    AMPED_TRY(amped_alloc(&b->data, bytes, 1, "a buffer of a file"));
    b->room = bytes;
  }
  *out = b->data;
  return AMPED_OK;
}

bool amped_write_behind_is_room(const amped_write_behind *w, const void *data) {
  return w->started && data != NULL && data == w->buffers[w->put % AMPED_WRITE_BEHIND_BUFFERS].data;
}

int amped_write_behind_put(amped_write_behind *w, uint64_t at, uint64_t bytes) {
  (void)pthread_mutex_lock(&w->lock);
  buffer_of(w, w->put)->at = at;
  buffer_of(w, w->put)->bytes = bytes;
  w->put++;
  const int error = w->error;
  (void)pthread_cond_broadcast(&w->changed);
  (void)pthread_mutex_unlock(&w->lock);
  return error;
}

int amped_write_behind_wait(amped_write_behind *w) {
  return w->started ? wait_for(w, 0) : 0;
}

void amped_write_behind_end(amped_write_behind *w) {
  if (w->started) {
    (void)pthread_mutex_lock(&w->lock);
    w->stop = true;
    (void)pthread_cond_broadcast(&w->changed);
    (void)pthread_mutex_unlock(&w->lock);
    (void)pthread_join(w->thread, NULL);
    (void)pthread_cond_destroy(&w->changed);
    (void)pthread_mutex_destroy(&w->lock);
  }
  for (int i = 0; i < AMPED_WRITE_BEHIND_BUFFERS; i++)
    amped_free(w->buffers[i].data);
  memset(w, 0, sizeof *w);
}
