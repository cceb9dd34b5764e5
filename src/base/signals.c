#include "base/signals.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>

static volatile sig_atomic_t caught;

static void note(int number) {
  caught = number;
}

amped_status amped_signals_catch(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = note;
  action.sa_flags = SA_RESTART;
  (void)sigemptyset(&action.sa_mask);
  if (sigaction(SIGTERM, &action, NULL) != 0 || sigaction(SIGUSR1, &action, NULL) != 0)
    return amped_error_errno(AMPED_FAILED, errno, NULL, "signals cannot be caught");
  return AMPED_OK;
}

const char *amped_signals_caught(void) {
  if (caught == 0)
    return NULL;
  return caught == SIGTERM ? "SIGTERM" : "SIGUSR1";
}
