#include "base/status.h"

#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static struct {
  pthread_mutex_t lock;
  char line[2048];
  bool placed; /* the line says where */
  bool reported;
} first = {PTHREAD_MUTEX_INITIALIZER, "", false, false};

static const char prefix[] = "amped_mpi: ";

/* Replace control characters of file names and data: they must not reach the user's terminal. */
static void make_one_line(char *s) {
  for (; *s != '\0'; s++)
    if ((unsigned char)*s < 0x20 || *s == 0x7f)
      *s = '?';
}

static void record(int errno_value, const char *where, const char *format, va_list args) {
  char message[1536];
  char reason[128] = "";
  (void)vsnprintf(message, sizeof message, format, args);
  if (errno_value != 0)
    (void)snprintf(reason, sizeof reason, ": %s", strerror(errno_value));
  (void)pthread_mutex_lock(&first.lock);
  if (first.line[0] == '\0') {
    (void)snprintf(first.line, sizeof first.line, "%s%.300s%s%s%s", prefix,
                   where != NULL ? where : "", where != NULL ? ": " : "", message, reason);
    make_one_line(first.line);
    first.placed = where != NULL;
    first.reported = false;
  }
  (void)pthread_mutex_unlock(&first.lock);
}

amped_status amped_error(amped_status status, const char *where, const char *format, ...) {
  va_list args;
  va_start(args, format);
  record(0, where, format, args);
  va_end(args);
  return status;
}

amped_status amped_error_errno(amped_status status, int errno_value, const char *where,
                               const char *format, ...) {
  va_list args;
  va_start(args, format);
  record(errno_value, where, format, args);
  va_end(args);
  return status;
}

static volatile sig_atomic_t was_reported;

bool amped_status_was_reported(void) {
  return was_reported != 0;
}

void amped_status_place(const char *where) {
  char message[sizeof first.line];
  (void)pthread_mutex_lock(&first.lock);
  if (first.line[0] != '\0' && !first.placed) {
    memcpy(message, first.line, sizeof message);
    (void)snprintf(first.line, sizeof first.line, "%s%.300s: %.1600s", prefix, where,
                   message + sizeof prefix - 1);
    make_one_line(first.line);
    first.placed = true;
  }
  (void)pthread_mutex_unlock(&first.lock);
}

const char *amped_status_message(void) {
  return first.line;
}

void amped_status_report(void) {
  (void)pthread_mutex_lock(&first.lock);
  if (first.line[0] != '\0' && !first.reported) {
    was_reported = 1; /* before: a launcher may end this process as soon as another has failed */
    (void)fflush(stdout);
    (void)fprintf(stderr, "%s\n", first.line);
    first.reported = true;
  }
  (void)pthread_mutex_unlock(&first.lock);
}

void amped_status_clear(void) {
  (void)pthread_mutex_lock(&first.lock);
  first.line[0] = '\0';
  first.reported = false;
  (void)pthread_mutex_unlock(&first.lock);
}
