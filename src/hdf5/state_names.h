/* State names: the four files of a stream's state. They lie beside its target, where the user's
 * name is a link (base/target.h). Host memory; not collective. */
#ifndef AMPED_STATE_NAMES_H
#define AMPED_STATE_NAMES_H

#include "base/status.h"

enum {
  AMPED_STATE_NAME,
  AMPED_STATE_PREVIOUS, /* STATE.prev */
  AMPED_STATE_JOURNAL,  /* STATE.journal */
  AMPED_STATE_OLDER,    /* STATE.journal.prev */
  AMPED_STATE_NAMES
};

/* Zeroed: names of no state, each NULL. */
typedef struct amped_state_names {
  char *list[AMPED_STATE_NAMES];
} amped_state_names;

/* The folder need not be there. On failure there is nothing to free. */
amped_status amped_state_names_make(const char *path, amped_state_names *out);

void amped_state_names_free(amped_state_names *names);

#endif
