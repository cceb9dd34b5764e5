#include "backend/backend.h"

#include <string.h>

/* In order of preference for --backend=auto. */
static const amped_backend *const backends[] = {
#ifdef AMPED_HAVE_CUDA
    &amped_backend_cuda,
#endif
    &amped_backend_cpu,
};

amped_status amped_backend_mttkrp(const amped_backend *b, amped_backend_context *ctx, int mode,
                                  amped_mttkrp_times *times) {
  AMPED_TRY(b->mttkrp_begin(ctx, mode));
  return b->mttkrp_wait(ctx, mode, AMPED_MAX_PARTS, times);
}

const amped_backend *amped_backend_list(int i) {
  return i >= 0 && (size_t)i < sizeof backends / sizeof backends[0] ? backends[i] : NULL;
}

const amped_backend *amped_backend_find(const char *name) {
  for (size_t i = 0; i < sizeof backends / sizeof backends[0]; i++)
    if (strcmp(backends[i]->name, name) == 0)
      return backends[i];
  return NULL;
}
