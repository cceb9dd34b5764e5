/* Pager: text for people goes through the user's pager where standard output is a terminal.
 *
 * $PAGER, else less, more or cat; text that fits one screen is shown by less as without it.
 * Elsewhere, and where TERM is dumb or not set, nothing changes. A child process shows the text, so
 * only serial commands call it, from the main thread. */
#ifndef AMPED_PAGER_H
#define AMPED_PAGER_H

#include "base/status.h"

/* Characters of a line of the terminal; 0 where standard output is no terminal. */
int amped_pager_columns(void);

/* Send what is written to standard output to the pager, and wait until the user leaves it. The end
 * may be called without a begin. */
amped_status amped_pager_begin(void);
void amped_pager_end(void);

#endif
