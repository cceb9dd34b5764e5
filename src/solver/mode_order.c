/* Mode order: a shuffle of the modes (Fisher and Yates 1938; Durstenfeld 1964). */
#include "solver/mode_order.h"

#include <string.h>

#include "base/random.h"

void amped_mode_order_of(const amped_mode_order *o, uint64_t sweep, int *out) {
  memcpy(out, o->modes, (size_t)o->count * sizeof *out);
  for (int m = o->count - 1; m > 0 && o->random; m--) {
    const uint64_t draw =
        amped_random_u64(o->seed, o->stream, sweep * AMPED_MAX_ORDER + (uint64_t)m);
    const int other = (int)(draw % (uint64_t)(m + 1));
    const int swap = out[m];
    out[m] = out[other];
    out[other] = swap;
  }
}
