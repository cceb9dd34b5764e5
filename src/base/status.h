/* Status: the outcome of a call, and one line that gives the user the reason of a failure.
 *
 * A status is also the exit status of the program. The function that first sees an error records
 * its line with amped_error and returns the status; its callers pass the status up and add nothing.
 * The line is printed once: by amped_status_report (main of a serial command) or by
 * amped_comm_agree (which picks one rank). All functions may be called from any thread. */
#ifndef AMPED_STATUS_H
#define AMPED_STATUS_H

#include <stdbool.h>

typedef enum amped_status {
  AMPED_OK = 0,
  AMPED_FAILED = 1,    /* the run failed: read error, output path, disk full, MPI, CUDA, memory */
  AMPED_USAGE = 2,     /* wrong options */
  AMPED_BAD_INPUT = 3, /* the input is missing, unreadable or wrong */
  AMPED_STOPPED = 85   /* stopped on a signal; all complete results are saved */
} amped_status;

/* Record "amped_mpi: WHERE: message" (without "WHERE: " if WHERE is NULL) and return status. The
 * message is one line: the error and its exact place; then "; " and the remedy. Only the first
 * error since the start (or amped_status_clear) is recorded: later errors are its consequences. */
amped_status amped_error(amped_status status, const char *where, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* amped_error for a failed system call: appends strerror(errno_value). */
amped_status amped_error_errno(amped_status status, int errno_value, const char *where,
                               const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Name WHERE in the recorded line, if it names no place: for a caller that knows the file. */
void amped_status_place(const char *where);

/* The recorded line without newline, or ""; print the line to standard error, once; forget it. */
const char *amped_status_message(void);
void amped_status_report(void);
void amped_status_clear(void);
/* A recorded line without the program's name, which amped_error and amped_warn add. */
const char *amped_status_bare(const char *line);
/* Report no line until clear: another process of the job prints the line of this failure. */
void amped_status_settle(void);
/* Is a line recorded, and would report print it? */
bool amped_status_is_unreported(void);
/* Was a line ever printed? For signal handlers, too. */
bool amped_status_was_reported(void);

/* Return from the calling function, or go to its LABEL, if CALL fails. AMPED_GO sets the local
 * variable `status`. AMPED_NEXT and AMPED_ALSO keep the first failure in the variable STATUS, for
 * code that must reach its next agreement of all ranks: NEXT makes the call unless STATUS is
 * already a failure; ALSO always makes it, because it is collective. */
#define AMPED_TRY(call)                                                                            \
  do {                                                                                             \
    amped_status try_ = (call);                                                                    \
    if (try_ != AMPED_OK)                                                                          \
      return try_;                                                                                 \
  } while (0)
#define AMPED_GO(label, call)                                                                      \
  do {                                                                                             \
    status = (call);                                                                               \
    if (status != AMPED_OK)                                                                        \
      goto label;                                                                                  \
  } while (0)
#define AMPED_NEXT(status, call)                                                                   \
  do {                                                                                             \
    if ((status) == AMPED_OK)                                                                      \
      (status) = (call);                                                                           \
  } while (0)
#define AMPED_ALSO(status, call)                                                                   \
  do {                                                                                             \
    amped_status also_ = (call);                                                                   \
    if ((status) == AMPED_OK)                                                                      \
      (status) = also_;                                                                            \
  } while (0)

#endif
