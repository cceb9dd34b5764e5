/* Prober: a child process that receives names of HDF5 files and returns the results of their
 * probes. */
#include "hdf5/hdf5_prober.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int socket_of = -1; /* connection to the prober */
static pid_t prober;

typedef struct answer {
  int status;
  amped_file_stamp stamp; /* stamp of the file that was probed */
  char line[1024];
} answer;

/* Returns the number of bytes received; 0 or less: the other end is closed. */
static ssize_t receive(int fd, void *to, size_t room) {
  ssize_t n = 0;
  do
    n = recv(fd, to, room, 0);
  while (n < 0 && errno == EINTR);
  return n;
}

static bool send_all(int fd, const void *from, size_t bytes) {
  ssize_t n = 0;
  do
    n = send(fd, from, bytes, MSG_NOSIGNAL);
  while (n < 0 && errno == EINTR);
  return n == (ssize_t)bytes;
}

static void serve(int fd, amped_hdf5_look *look) {
  static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
  char path[PATH_MAX + 1];
  ssize_t n = 0;
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a child has the parent's locks, and ends with it */
  for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
    (void)signal(ignored[i], SIG_IGN);
  while ((n = receive(fd, path, sizeof path - 1)) > 0) {
    answer a;
    memset(&a, 0, sizeof a);
    path[n] = '\0';
    amped_status_clear();
    a.status = (int)look(path, &a.stamp);
    (void)snprintf(a.line, sizeof a.line, "%s", amped_status_message());
    if (!send_all(fd, &a, sizeof a))
      break;
  }
  _exit(0);
}

amped_status amped_hdf5_prober_start(amped_hdf5_look *look) {
  int ends[2];
  if (socket_of >= 0)
    return AMPED_OK;
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return amped_error_errno(AMPED_FAILED, errno, NULL, "HDF5 files cannot be probed");
  prober = fork();
  if (prober < 0) {
    const int failed = errno;
    (void)close(ends[0]);
    (void)close(ends[1]);
    return amped_error_errno(AMPED_FAILED, failed, NULL, "HDF5 files cannot be probed");
  }
  if (prober == 0) {
    (void)close(ends[0]);
    serve(ends[1], look);
  }
  (void)close(ends[1]);
  socket_of = ends[0];
  return AMPED_OK;
}

void amped_hdf5_prober_stop(void) {
  if (socket_of < 0)
    return;
  (void)close(socket_of);
  socket_of = -1;
  while (waitpid(prober, NULL, 0) < 0 && errno == EINTR)
    ;
}

bool amped_hdf5_prober_runs(void) {
  return socket_of >= 0;
}

amped_status amped_hdf5_prober_ask(const char *path, const amped_file_stamp *stamp) {
  answer a;
  const size_t length = strlen(path);
  if (length > PATH_MAX || !send_all(socket_of, path, length) ||
      receive(socket_of, &a, sizeof a) != (ssize_t)sizeof a)
    return amped_error(
        AMPED_FAILED, path,
        "cannot be checked: the process that checks HDF5 files has ended; run again");
  a.line[sizeof a.line - 1] = '\0';
  if (!amped_file_stamp_same(&a.stamp, stamp))
    return amped_file_changed(path);
  if (a.status == AMPED_OK)
    return AMPED_OK;
  return amped_error((amped_status)a.status, NULL, "%s", amped_status_bare(a.line));
}
