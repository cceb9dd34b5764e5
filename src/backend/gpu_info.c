/* GPU info: merging lists of GPUs. */
#include "backend/gpu_info.h"

#include <string.h>

int amped_gpus_find(const amped_gpus *gpus, const char *identity) {
  for (int i = 0; i < gpus->count; i++)
    if (strcmp(gpus->gpu[i].identity, identity) == 0)
      return i;
  return -1;
}

void amped_gpus_join(amped_gpus *to, const amped_gpus *from) {
  int place[AMPED_MAX_GPUS];
  for (int i = 0; i < from->count; i++) {
    place[i] = amped_gpus_find(to, from->gpu[i].identity);
    if (place[i] >= 0 || to->count == AMPED_MAX_GPUS)
      continue;
    place[i] = to->count++;
    to->gpu[place[i]] = from->gpu[i];
    memset(to->gpu[place[i]].links, AMPED_LINK_UNKNOWN, sizeof to->gpu[place[i]].links);
  }
  for (int i = 0; i < from->count; i++)
    for (int j = 0; j < from->count; j++)
      if (i != j && place[i] >= 0 && place[j] >= 0)
        to->gpu[place[i]].links[place[j]] = from->gpu[i].links[j];
}
