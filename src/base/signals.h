/* Signals that ask a run to stop: SIGTERM, and SIGUSR1, which batch systems send before a time
 * limit. Their default action holds until amped_signals_catch; from then on they are recorded. */
#ifndef AMPED_SIGNALS_H
#define AMPED_SIGNALS_H

#include "base/status.h"

amped_status amped_signals_catch(void);

/* "SIGTERM" or "SIGUSR1": the last one that reached this process; NULL while there was none. */
const char *amped_signals_caught(void);

#endif
