/* Signals that ask a run to stop: SIGINT (Ctrl-C), SIGTERM, SIGHUP, and SIGUSR1, which batch
 * systems send before a time limit.
 *
 * From amped_signals_watch on they end the process as by default, after one line, and after its
 * locks and unfinished files are removed. From amped_signals_catch on they are recorded instead,
 * but for SIGHUP; a second SIGINT ends the process. Signals that are ignored stay ignored. */
#ifndef AMPED_SIGNALS_H
#define AMPED_SIGNALS_H

#include <stdbool.h>

#include "base/status.h"

/* On the main thread, before others start. speaks: this process prints the line. saves: the line
 * says that nothing was saved. */
amped_status amped_signals_watch(bool speaks, bool saves);

/* What the line says from now on in place of nothing was saved, after a semicolon; static text. */
void amped_signals_saved(const char *text);

/* What the line adds, such as the option that saves something; static text. */
void amped_signals_advise(const char *advice);

/* If *told is not 0, the line is not printed: another process has told why this one ends. If it is
 * AMPED_JOB_ENDS, signals are no longer recorded: they end the process. */
#define AMPED_JOB_ENDS 2
void amped_signals_silence(const volatile int *told);

amped_status amped_signals_catch(void);

/* "SIGTERM", ...: the last one that reached this process since amped_signals_catch; NULL while
 * there was none. */
const char *amped_signals_caught(void);

#endif
