/* Pager: shows text for people in the user's pager if standard output is a terminal.
 *
 * $PAGER, else less, more or cat; less shows text that fits one screen as if there were no pager.
 * If standard output is no terminal, or TERM is dumb or not set, nothing changes. A child process
 * shows the text, so only serial commands call it, from the main thread. */
#ifndef AMPED_PAGER_H
#define AMPED_PAGER_H

#include "base/status.h"

/* Characters in a line of the terminal; 0 if standard output is no terminal. */
int amped_pager_columns(void);

/* begin: send standard output to the pager. end: wait until the user leaves it; may be called
 * without a begin. */
amped_status amped_pager_begin(void);
void amped_pager_end(void);

#endif
