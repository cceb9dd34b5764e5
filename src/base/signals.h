/* Signals that ask a run to stop: SIGTERM, and SIGUSR1, which batch systems send ahead of a time
 * limit. What they do by default holds until amped_signals_catch; from then on they are noted. */
#ifndef AMPED_SIGNALS_H
#define AMPED_SIGNALS_H

#include "base/status.h"

amped_status amped_signals_catch(void);

/* "SIGTERM" or "SIGUSR1", whichever came last to this process; NULL while none did. */
const char *amped_signals_caught(void);

#endif
