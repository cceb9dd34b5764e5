/* Log: lines, warnings and progress on standard output and standard error. */
#include "base/log.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/launcher.h"
#include "base/printable.h"
#include "base/timer.h"

/* Seconds between two updates of a live line. */
#define LIVE_PERIOD_SEC 0.1

/* Least seconds between two plain lines of a phase, and least share of the phase's time between
 * them: about ten lines in a minute, fifty in an hour. */
#define PLAIN_PERIOD_SEC 5.0
#define PLAIN_PERIOD_PART 0.1

static struct {
  amped_verbosity verbosity;
  bool answers; /* lines are what the user asked for */
  bool silent;  /* another rank writes */
  bool to_stderr;
  amped_progress_when when;
  bool launched; /* by mpirun or srun */
  /* the phase in progress */
  const char *label; /* `text`; NULL: no phase */
  char text[64];
  const char *unit;
  uint64_t total;
  double began;
  double last;
  bool live_line; /* the terminal's cursor stands after a live line */
} state = {.verbosity = AMPED_NORMAL};

void amped_log_open(void) {
  static char buffer[4096]; /* no line is longer; a static buffer works without free memory */
  (void)setvbuf(stderr, buffer, _IOLBF, sizeof buffer);
}

void amped_log_verbosity(amped_verbosity verbosity) {
  state.verbosity = verbosity;
}

void amped_log_answers(void) {
  state.answers = true;
}

void amped_log_speaker(bool speaks) {
  state.silent = !speaks;
}

void amped_log_to_stderr(void) {
  state.to_stderr = true;
}

void amped_log_progress(amped_progress_when when) {
  state.when = when;
  state.launched = amped_launcher_rank() >= 0;
}

bool amped_log_is_verbose(void) {
  return state.verbosity == AMPED_VERBOSE;
}

bool amped_log_on_terminal(void) {
  return amped_launcher_shows(state.to_stderr ? STDERR_FILENO : STDOUT_FILENO);
}

bool amped_log_has_live_line(void) {
  return state.live_line;
}

static void clear_live_line(void) {
  if (state.live_line) {
    (void)fputs("\r\033[K", stderr);
    (void)fflush(stderr);
    state.live_line = false;
  }
}

/* Writes a line of any length in printable form. Without memory for it the line is cut. */
static void put_line(FILE *out, const char *format, va_list args) {
  char room[4096];
  char *line = room;
  va_list again;
  va_copy(again, args);
  const int length = vsnprintf(room, sizeof room, format, args);
  if (length >= (int)sizeof room) {
    line = malloc((size_t)length + 1);
    if (line != NULL)
      (void)vsnprintf(line, (size_t)length + 1, format, again);
    else
      line = room;
  }
  va_end(again);
  (void)amped_printable_put(out, line, amped_printable_whole(line, strlen(line)));
  (void)fputc('\n', out);
  if (line != room)
    free(line);
}

static void say(const char *format, va_list args) {
  FILE *out = state.to_stderr ? stderr : stdout;
  if (state.silent)
    return;
  clear_live_line();
  put_line(out, format, args);
  (void)fflush(out);
}

void amped_say(const char *format, ...) {
  va_list args;
  if (state.verbosity < AMPED_NORMAL && !state.answers)
    return;
  va_start(args, format);
  say(format, args);
  va_end(args);
}

void amped_note(const char *format, ...) {
  va_list args;
  if (state.verbosity < AMPED_NORMAL)
    return;
  va_start(args, format);
  say(format, args);
  va_end(args);
}

void amped_say_verbose(const char *format, ...) {
  va_list args;
  if (state.verbosity < AMPED_VERBOSE)
    return;
  va_start(args, format);
  say(format, args);
  va_end(args);
}

/* Did the user close the stream of lines (`>&-`)? main then holds its number, for reading only. */
static bool is_closed(void) {
  int flags = fcntl(state.to_stderr ? STDERR_FILENO : STDOUT_FILENO, F_GETFL);
  return flags < 0 || (flags & O_ACCMODE) == O_RDONLY;
}

void amped_say_quiet(const char *format, ...) {
  va_list args;
  if (state.verbosity > AMPED_QUIET || is_closed())
    return;
  va_start(args, format);
  say(format, args);
  va_end(args);
}

void amped_warn(const char *format, ...) {
  char line[1024];
  char form[1024];
  va_list args;
  if (state.silent)
    return;
  va_start(args, format);
  (void)vsnprintf(line, sizeof line, format, args);
  va_end(args);
  clear_live_line();
  line[amped_printable_whole(line, strlen(line))] = '\0';
  (void)fprintf(stderr, "amped_mpi: warning: %s\n", amped_printable_text(form, sizeof form, line));
}

void amped_progress_begin(const char *label, uint64_t total, const char *unit) {
  (void)snprintf(state.text, sizeof state.text, "%s", label);
  state.label = state.text;
  state.total = total;
  state.unit = unit;
  state.began = amped_time();
  state.last = state.began;
}

/* Is a progress line due? */
static bool is_due(bool live, double now) {
  const double part = PLAIN_PERIOD_PART * (now - state.began);
  const double period = live ? LIVE_PERIOD_SEC : fmax(PLAIN_PERIOD_SEC, part);
  if (state.label == NULL || state.silent || state.verbosity == AMPED_QUIET ||
      state.when == AMPED_PROGRESS_NEVER)
    return false;
  return (live || state.launched || state.when == AMPED_PROGRESS_ALWAYS) &&
         now - state.last >= period;
}

void amped_progress_update(uint64_t done) {
  bool live = isatty(STDERR_FILENO) == 1;
  double now = amped_time();
  char amount[32];
  char rate[32];
  char left[48] = "";
  char percent[16] = "";
  bool bytes = state.label != NULL && strcmp(state.unit, "B") == 0;
  double per_sec = now > state.began ? (double)done / (now - state.began) : 0.0;

  if (!is_due(live, now))
    return;
  state.last = now;
  if (bytes) {
    amped_format_bytes(amount, done);
    amped_format_bytes(rate, (uint64_t)per_sec);
  } else {
    amped_format_count(amount, (double)done);
    amped_format_count(rate, per_sec);
  }
  if (state.total > 0) {
    (void)snprintf(percent, sizeof percent, " %3.0f %%",
                   100.0 * (double)done / (double)state.total);
    if (per_sec > 0.0 && done <= state.total)
      (void)snprintf(left, sizeof left, ", %.0f s left", (double)(state.total - done) / per_sec);
  }
  (void)fprintf(stderr, "%s%s%s: %s%s%s, %s%s/s%s%s", live ? "\r\033[K" : "", state.label, percent,
                amount, bytes ? "" : " ", bytes ? "" : state.unit, rate, "", left,
                live ? "" : "\n");
  (void)fflush(stderr);
  state.live_line = live;
}

void amped_progress_end(void) {
  clear_live_line();
  state.label = NULL;
}

const char *amped_format_bytes(char *buffer, uint64_t bytes) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double amount = (double)bytes;
  size_t u = 0;
  while (amount >= 1024.0 && u + 1 < sizeof units / sizeof units[0]) {
    amount /= 1024.0;
    u++;
  }
  (void)snprintf(buffer, 32, u == 0 ? "%.0f %s" : "%.2f %s", amount, units[u]);
  return buffer;
}

const char *amped_format_count(char *buffer, double count) {
  static const char *const units[] = {"", " k", " M", " G", " T", " P", " E"};
  size_t u = 0;
  while (count >= 1000.0 && u + 1 < sizeof units / sizeof units[0]) {
    count /= 1000.0;
    u++;
  }
  (void)snprintf(buffer, 32, u == 0 ? "%.0f%s" : "%.2f%s", count, units[u]);
  return buffer;
}
