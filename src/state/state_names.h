/* State names: the four file names of a stream's state. If the user's name is a link, they lie in
 * the folder of its target (base/target.h). Host memory; not collective. */
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

/* Zeroed: no names, each NULL. */
typedef struct amped_state_names {
  char *list[AMPED_STATE_NAMES];
} amped_state_names;

/* Make the names for `path`; its folder may be missing. Free with amped_state_names_free. On
 * failure there is nothing to free. */
amped_status amped_state_names_make(const char *path, amped_state_names *out);

void amped_state_names_free(amped_state_names *names);

#endif
