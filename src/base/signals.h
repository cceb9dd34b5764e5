/* Signals that ask a run to stop: SIGINT (Ctrl-C), SIGTERM, SIGHUP, and SIGUSR1, which batch
 * systems send before a time limit.
 *
 * After amped_signals_watch they end the process as by default, after one line, and after its locks
 * and unfinished files are removed. After amped_signals_catch they are recorded instead, except
 * SIGHUP; a second SIGINT ends the process. Ignored signals stay ignored. */
#ifndef AMPED_SIGNALS_H
#define AMPED_SIGNALS_H

#include <stdbool.h>

#include "base/status.h"

/* On the main thread, before others start. speaks: this process prints the line. saves: the
 * command saves something, so the line adds that nothing was saved. */
amped_status amped_signals_watch(bool speaks, bool saves);

/* Replace "nothing was saved" in the line by this static text; it comes after a semicolon. */
void amped_signals_saved(const char *text);

/* Append this static text to the line, such as the option that saves something. */
void amped_signals_advise(const char *advice);

/* Do not print a signal's line while `*told` is not 0: another process has reported the reason. If
 * `*told` is AMPED_JOB_ENDS, signals are no longer recorded: they end the process. */
#define AMPED_JOB_ENDS 2
void amped_signals_silence(const volatile int *told);

amped_status amped_signals_catch(void);

/* "SIGTERM", ...: the last signal that reached this process since amped_signals_catch; NULL if none
 * has. */
const char *amped_signals_caught(void);

#endif
