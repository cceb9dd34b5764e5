/* What became of a call, and the one line that tells the user why.
 *
 * A status is also the exit status of the program. Whoever first sees an error records its line
 * with amped_error and returns the status; callers pass the status up and add nothing. The line is
 * printed once, by amped_status_report (main of a serial command) or by amped_comm_agree (which
 * picks one rank). All functions may be called from any thread. */
#ifndef AMPED_STATUS_H
#define AMPED_STATUS_H

typedef enum amped_status {
  AMPED_OK = 0,
  AMPED_FAILED = 1,    /* the run failed: read error, output path, disk full, MPI, CUDA, memory */
  AMPED_USAGE = 2,     /* wrong options */
  AMPED_BAD_INPUT = 3, /* the input is missing, unreadable or not what it should be */
  AMPED_STOPPED = 85   /* stopped on a signal; what is complete is saved */
} amped_status;

/* Record "amped_mpi: WHERE: message" (WHERE may be NULL: left out) and return status. The message
 * is one line: what is wrong, where exactly; then "; " and the remedy. Only the first error since
 * the start (or amped_status_clear) is kept: later ones are consequences. */
amped_status amped_error(amped_status status, const char *where, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for a failed system call: appends strerror(errno_value). */
amped_status amped_error_errno(amped_status status, int errno_value, const char *where,
                               const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The recorded line without newline, or "" ; print it to standard error once; forget it. */
const char *amped_status_message(void);
void amped_status_report(void);
void amped_status_clear(void);

/* Return from, or go to LABEL of, the calling function where CALL fails. AMPED_GO sets the local
 * variable `status`. */
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

#endif
