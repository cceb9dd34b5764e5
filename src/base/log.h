/* Log: lines, warnings and progress that the user sees while a command runs.
 *
 * Lines go to standard output, or to standard error after amped_log_to_stderr (when standard output
 * carries data or JSON). Only the process that called amped_log_speaker(true) writes them (default:
 * true). Warnings go to standard error. Main thread only, except amped_warn. */
#ifndef AMPED_LOG_H
#define AMPED_LOG_H

#include <stdbool.h>
#include <stdint.h>

typedef enum amped_verbosity { AMPED_QUIET, AMPED_NORMAL, AMPED_VERBOSE } amped_verbosity;
typedef enum amped_progress_when {
  AMPED_PROGRESS_AUTO, /* like ALWAYS on a terminal or in ranks of a launcher; else NEVER */
  AMPED_PROGRESS_NEVER,
  AMPED_PROGRESS_ALWAYS /* a live line on a terminal, plain lines elsewhere */
} amped_progress_when;

/* Before the first line. From now on a line on standard error is written whole: the C library would
 * write pieces of 128 bytes, which lines of other ranks may separate and mpirun may lose. */
void amped_log_open(void);

void amped_log_verbosity(amped_verbosity verbosity);
/* From now on lines are what the user asked for, and amped_say prints them at quiet level, too. */
void amped_log_answers(void);
void amped_log_speaker(bool speaks);
void amped_log_to_stderr(void);
/* Before MPI starts. */
void amped_log_progress(amped_progress_when when);

/* say: a line at normal and verbose level. note: the same, also after amped_log_answers: what the
 * user did not ask for. verbose: at verbose level only. quiet: at quiet level only, unless the user
 * closed the stream. warn: a warning ("amped_mpi: warning: ...") at all levels. */
void amped_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void amped_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void amped_say_verbose(const char *format, ...) __attribute__((format(printf, 1, 2)));
void amped_say_quiet(const char *format, ...) __attribute__((format(printf, 1, 2)));
void amped_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool amped_log_is_verbose(void);
/* Does the cursor of the terminal stand after a live line? For signal handlers. */
bool amped_log_has_live_line(void);

/* Does the user read the lines on a terminal, rather than in a file? */
bool amped_log_on_terminal(void);

/* One phase of known (total > 0) or unknown (0) length: a live line on standard error with done,
 * rate and time left, or plain lines: the first after some seconds, then ever fewer. `unit` is "B"
 * (shown as KiB, MiB, ...) or a noun such as "nonzeros"; static text. The label is copied. */
void amped_progress_begin(const char *label, uint64_t total, const char *unit);
void amped_progress_update(uint64_t done);
void amped_progress_end(void);

/* "1.50 GiB" / "1.69 G" into a caller's buffer of at least 32 bytes, which is returned. */
const char *amped_format_bytes(char *buffer, uint64_t bytes);
const char *amped_format_count(char *buffer, double count);

#endif
