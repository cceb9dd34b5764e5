/* Pager: starts the user's pager as a child process, and waits for it. */
#include "cli/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
  pid_t child; /* 0: none */
  int output;  /* the terminal, while the pager replaces it */
  void (*interrupt)(int);
} state;

int amped_pager_columns(void) {
  struct winsize size = {.ws_col = 0};
  if (isatty(STDOUT_FILENO) != 1 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
    return 0;
  return size.ws_col;
}

/* Can a pager run here? Some terminals, such as an editor's, cannot move the cursor. */
static bool can_page(void) {
  const char *terminal = getenv("TERM");
  return isatty(STDOUT_FILENO) == 1 && terminal != NULL && strcmp(terminal, "dumb") != 0;
}

static void become_pager(int input) {
  const char *pager = getenv("PAGER");
  (void)signal(SIGINT, SIG_DFL);
  (void)signal(SIGPIPE, SIG_DFL);
  (void)dup2(input, STDIN_FILENO);
  if (pager != NULL && *pager != '\0')
    (void)execl("/bin/sh", "sh", "-c", pager, (char *)NULL);
  (void)execlp("less", "less", (char *)NULL);
  (void)execlp("more", "more", (char *)NULL);
  (void)execlp("cat", "cat", (char *)NULL);
  _exit(127);
}

static amped_status refuse(void) {
  return amped_error_errno(AMPED_FAILED, errno, "standard output",
                           "the pager cannot be started; pipe the output through cat");
}

amped_status amped_pager_begin(void) {
  int ends[2];
  if (!can_page())
    return AMPED_OK;
  /* less: leave at once if all text fits the screen, and leave the text there. */
  (void)setenv("LESS", "FRX", 0);
  (void)fflush(stdout);
  if (pipe2(ends, O_CLOEXEC) != 0)
    return refuse();
  state.output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
  state.child = fork();
  if (state.child == 0)
    become_pager(ends[0]);
  (void)close(ends[0]);
  if (state.child < 0 || state.output < 0 || dup2(ends[1], STDOUT_FILENO) < 0) {
    amped_status status = refuse();
    (void)close(ends[1]);
    amped_pager_end();
    return status;
  }
  (void)close(ends[1]);
  /* Ctrl-C is for the pager. */
  state.interrupt = signal(SIGINT, SIG_IGN);
  return AMPED_OK;
}

void amped_pager_end(void) {
  if (state.child <= 0)
    return;
  (void)fflush(stdout);
  clearerr(stdout); /* a user who leaves the pager early has seen enough */
  (void)dup2(state.output, STDOUT_FILENO);
  (void)close(state.output);
  while (waitpid(state.child, NULL, 0) < 0 && errno == EINTR)
    continue;
  (void)signal(SIGINT, state.interrupt);
  state.child = 0;
}
