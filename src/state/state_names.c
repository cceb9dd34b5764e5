/* State names: STATE, its journal, and the previous ones of both. */
#include "state/state_names.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/target.h"

static const char *const suffixes[] = {[AMPED_STATE_NAME] = "",
                                       [AMPED_STATE_PREVIOUS] = ".prev",
                                       [AMPED_STATE_JOURNAL] = ".journal",
                                       [AMPED_STATE_OLDER] = ".journal.prev"};

/* All names share one allocation, at list[0]. */
amped_status amped_state_names_make(const char *path, amped_state_names *out) {
  amped_target target;
  char *all = NULL;
  const char *found = amped_target_look(path, &target) ? target.path : path;
  const size_t room = strlen(found) + sizeof ".journal.prev";
  memset(out, 0, sizeof *out);
  amped_status status = amped_alloc(&all, AMPED_STATE_NAMES * room, 1, "the names of a state");
  for (size_t i = 0; i < AMPED_STATE_NAMES && status == AMPED_OK; i++) {
    out->list[i] = all + i * room;
    (void)snprintf(out->list[i], room, "%s%s", found, suffixes[i]);
  }
  amped_target_close(&target);
  return status;
}

void amped_state_names_free(amped_state_names *names) {
  amped_free(names->list[0]);
  memset(names, 0, sizeof *names);
}
