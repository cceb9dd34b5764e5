/* Status: the line of the first error, which is printed at most once. */
#include "base/status.h"

#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/printable.h"

/* Bytes of the printable form of a place. */
#define PLACE_BYTES 301

static struct {
  pthread_mutex_t lock;
  char line[2048];
  bool placed; /* the line names a place */
  bool reported;
  bool settled; /* another process prints a line */
} first = {.lock = PTHREAD_MUTEX_INITIALIZER, .line = ""};

static const char prefix[] = "amped_mpi: ";

/* Composes the line in printable form: names of files and their data must not control the user's
 * terminal. where may be NULL. */
static void compose(const char *where, const char *message, const char *reason) {
  char place[PLACE_BYTES] = "";
  char line[sizeof first.line + PLACE_BYTES];
  if (where != NULL)
    (void)amped_printable_text(place, sizeof place, where);
  (void)snprintf(line, sizeof line, "%s%s%s%s%s", prefix, place, where != NULL ? ": " : "", message,
                 reason);
  (void)amped_printable_text(first.line, sizeof first.line, line);
  first.placed = where != NULL;
}

static void record(int errno_value, const char *where, const char *format, va_list args) {
  char message[1536];
  char reason[128] = "";
  const int length = vsnprintf(message, sizeof message, format, args);
  if (length >= (int)sizeof message)
    message[amped_printable_whole(message, sizeof message - 1)] = '\0';
  if (errno_value != 0)
    (void)snprintf(reason, sizeof reason, ": %s", strerror(errno_value));
  (void)pthread_mutex_lock(&first.lock);
  if (first.line[0] == '\0') {
    compose(where, message, reason);
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
  char message[sizeof first.line - sizeof prefix - PLACE_BYTES - 2];
  (void)pthread_mutex_lock(&first.lock);
  if (first.line[0] != '\0' && !first.placed) {
    (void)snprintf(message, sizeof message, "%.*s", (int)sizeof message - 1,
                   first.line + sizeof prefix - 1);
    message[amped_printable_whole(message, strlen(message))] = '\0';
    compose(where, message, "");
  }
  (void)pthread_mutex_unlock(&first.lock);
}

const char *amped_status_message(void) {
  return first.line;
}

const char *amped_status_bare(const char *line) {
  return strncmp(line, prefix, sizeof prefix - 1) == 0 ? line + sizeof prefix - 1 : line;
}

void amped_status_report(void) {
  (void)pthread_mutex_lock(&first.lock);
  if (first.line[0] != '\0' && !first.reported && !first.settled) {
    was_reported = 1; /* set before the output: a launcher may end this process as soon as another
                         has failed */
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
  first.settled = false;
  (void)pthread_mutex_unlock(&first.lock);
}

void amped_status_settle(void) {
  (void)pthread_mutex_lock(&first.lock);
  first.settled = true;
  (void)pthread_mutex_unlock(&first.lock);
}

bool amped_status_is_unreported(void) {
  (void)pthread_mutex_lock(&first.lock);
  const bool is = first.line[0] != '\0' && !first.reported && !first.settled;
  (void)pthread_mutex_unlock(&first.lock);
  return is;
}
