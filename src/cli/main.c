/* amped_mpi: the common start and end of all commands. */
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <omp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/launcher.h"
#include "base/signals.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/options_check.h"
#include "mpi/comm.h"

/* Check that standard output was written. A reader that ends early, such as head, is no failure. */
static amped_status check_output(void) {
  struct pollfd output = {.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
  if (fflush(stdout) == 0 && ferror(stdout) == 0)
    return AMPED_OK;
  if (poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0)
    return AMPED_OK;
  return amped_error(AMPED_FAILED, "standard output",
                     "cannot be written; free disk space or send it elsewhere");
}

/* Open the standard streams that are closed: otherwise the next file would get the number of one of
 * them, and receive messages. Standard output is opened for reading only, so that a write to it
 * still fails. */
static void hold_standard_streams(void) {
  static const int modes[] = {O_RDONLY, O_RDONLY, O_WRONLY};
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
    if (fcntl(fd, F_GETFD) < 0)
      (void)open("/dev/null", modes[fd]);
}

static bool has_started(void) {
  int started = 0;
  return MPI_Initialized(&started) == MPI_SUCCESS && started != 0;
}

static bool returned; /* main has returned */
static const char *input;

/* Print an error if a library ended the program: HDF5 does so silently if some of its allocations
 * fail. */
static void tell_of_exit(void) {
  if (returned || errno != ENOMEM)
    return;
  (void)amped_error(AMPED_FAILED, input,
                    "out of memory: a library ended the program; use a machine with more memory, "
                    "or allow more (ulimit -v)");
  amped_status_report();
  _exit(AMPED_FAILED);
}

/* Does the command run on the ranks of a job? Other commands run in one process and never ask the
 * launcher: its variables are also set for programs that a job's script starts. */
static bool needs_ranks(const amped_options *options) {
  return options->command == NULL || options->command->parallel || options->info.system;
}

/* Report wrong options, which every rank finds before MPI starts. The launcher's rank 0 prints its
 * error at once. Then MPI starts on all ranks, as in a session. They agree, and another rank prints
 * an error only if rank 0 has none. */
static void agree_on_failure(amped_status status, int launcher_rank) {
  amped_comm comm;
  if (launcher_rank == 0)
    amped_status_report();
  if (amped_comm_start(&comm) == AMPED_OK)
    (void)amped_comm_agree(&comm, status);
  amped_comm_stop(&comm);
}

/* Print the error of a failure, unless a rank printed one. AMPED_FAILED before MPI starts is a
 * rank's own failure, such as missing memory, which MPI would meet as well. */
static void report_failure(amped_status status, bool ranks, int launcher_rank) {
  if (ranks && !has_started() && launcher_rank >= 0 && status != AMPED_FAILED)
    agree_on_failure(status, launcher_rank);
  amped_status_report();
}

/* Are the lines what the user asked for? -q keeps them, unless they go to a file. The output of a
 * parallel command is not these lines. */
static bool is_answer(const amped_options *options) {
  return (options->command->answers || options->session.plan_only) &&
         (options->output == NULL || options->command->parallel) && options->json == NULL;
}

static const volatile int elsewhere = 1;

int main(int argc, char **argv) {
  amped_options options = {.command = NULL};
  bool done = false;
  int rank = amped_launcher_rank();
  (void)atexit(tell_of_exit);
  hold_standard_streams();
  amped_log_open();
  /* Writing to a closed pipe fails that write, and does not end the program. */
  (void)signal(SIGPIPE, SIG_IGN);
  (void)signal(SIGXFSZ, SIG_IGN); /* ulimit -f: the write fails, with an error */
  amped_status status = amped_command_line_parse(argc, argv, &options, &done);
  bool ranks = needs_ranks(&options);
  if (status == AMPED_OK && !done)
    status = amped_options_check(&options);
  if (status == AMPED_OK && !done)
    status = amped_signals_watch(!ranks || rank <= 0,
                                 options.command->parallel || options.command->writes);
  /* A launcher ends the other ranks of a job if a rank fails. Until the ranks share a flag, assume
   * that another rank may have failed. */
  if (ranks && rank >= 0)
    amped_signals_silence(&elsewhere);
  if (status == AMPED_OK && !done) {
    input = options.nargs > 0 ? options.args[0] : NULL;
    amped_log_verbosity(options.log.verbosity);
    if (is_answer(&options))
      amped_log_answers();
    amped_log_progress(options.log.progress);
    if (options.threads > 0)
      omp_set_num_threads(options.threads);
    amped_log_speaker(!ranks || rank <= 0); /* until MPI gives the rank */
    status = options.command->run(&options);
  }
  if (status != AMPED_OK)
    report_failure(status, ranks, rank);
  if (status == AMPED_OK) {
    status = check_output();
    amped_status_report();
  }
  returned = true;
  return (int)status;
}
