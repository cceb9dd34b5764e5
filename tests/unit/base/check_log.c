/* The log on a terminal while a command runs: the test makes a terminal for standard error. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <time.h>

#include "base/log.h"
#include "tests/lib/testing.h"

static int terminal; /* the output of the terminal is read here */
static int saved;

/* false: this system has no pseudo-terminals. */
static bool begin_terminal(void) {
  terminal = posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0) {
    (void)fprintf(stderr, "skipped: no pseudo-terminal\n");
    return false;
  }
  int shown = open(ptsname(terminal), O_RDWR | O_NOCTTY);
  ck_assert_int_ge(shown, 0);
  saved = dup(STDERR_FILENO);
  ck_assert_int_ge(dup2(shown, STDERR_FILENO), 0);
  (void)close(shown);
  return true;
}

/* All output since begin_terminal. */
static const char *end_terminal(void) {
  static char text[4096];
  size_t count = 0;
  ck_assert_int_eq(fcntl(terminal, F_SETFL, O_NONBLOCK), 0);
  for (ssize_t n = 1; n > 0;) {
    n = read(terminal, text + count, sizeof text - 1 - count);
    count += n > 0 ? (size_t)n : 0;
  }
  text[count] = '\0';
  ck_assert_int_ge(dup2(saved, STDERR_FILENO), 0);
  (void)close(saved);
  (void)close(terminal);
  return text;
}

static void wait_for(struct timespec left) {
  while (nanosleep(&left, &left) != 0 && errno == EINTR)
    continue;
}

/* Wait for longer than the period of a live line. */
static void wait_for_line(void) {
  wait_for((struct timespec){0, 200000000});
}

static void show(const char *label, uint64_t total, const char *unit, uint64_t done) {
  amped_progress_begin(label, total, unit);
  amped_progress_update(0); /* too soon for a line */
  wait_for_line();
  amped_progress_update(done);
}

static void require_text(const char *text, const char *part) {
  ck_assert_msg(strstr(text, part) != NULL, "\"%s\" lacks \"%s\"", text, part);
}

START_TEST(a_live_line_tells_share_amount_rate_and_time_left) {
  if (!begin_terminal())
    return;
  show("reading", 4000, "nonzeros", 1000);
  amped_progress_end();
  const char *text = end_terminal();
  require_text(text, "\r\033[Kreading  25 %: 1.00 k nonzeros, ");
  require_text(text, "/s, ");
  require_text(text, " s left\r\033[K"); /* removed at the end */
}

START_TEST(bytes_of_an_unknown_length_have_no_share) {
  if (!begin_terminal())
    return;
  show("reading", 0, "B", 3 << 20);
  amped_progress_end();
  const char *text = end_terminal();
  require_text(text, "\r\033[Kreading: 3.00 MiB, ");
  ck_assert_ptr_null(strstr(text, "%"));
  ck_assert_ptr_null(strstr(text, "left"));
}

START_TEST(a_warning_takes_the_place_of_a_live_line) {
  if (!begin_terminal())
    return;
  show("reading", 10, "B", 5);
  amped_warn("it is late");
  amped_progress_end();
  require_text(end_terminal(), "\r\033[Kamped_mpi: warning: it is late\r\n");
}

START_TEST(no_live_line_where_none_is_wanted) {
  if (!begin_terminal())
    return;
  amped_log_verbosity(AMPED_QUIET);
  show("reading", 10, "B", 5);
  amped_log_verbosity(AMPED_NORMAL);
  amped_log_progress(AMPED_PROGRESS_NEVER);
  show("reading", 10, "B", 5);
  amped_log_progress(AMPED_PROGRESS_AUTO);
  amped_log_speaker(false);
  show("reading", 10, "B", 5);
  amped_log_speaker(true);
  amped_progress_end();
  ck_assert_str_eq(end_terminal(), "");
}

/* In a process of its own: does a long warning arrive in one piece? The pipe keeps pieces apart. */
static bool writes_a_line_whole(void) {
  char piece[2048];
  char text[1001];
  int ends[2];
  memset(text, 'x', sizeof text - 1);
  text[sizeof text - 1] = '\0';
  if (pipe2(ends, O_DIRECT) != 0 || dup2(ends[1], STDERR_FILENO) < 0)
    return false;
  amped_log_open();
  amped_warn("%s", text);
  return read(ends[0], piece, sizeof piece) == (ssize_t)strlen("amped_mpi: warning: \n") + 1000;
}

START_TEST(a_line_is_written_whole) {
  int status = -1;
  pid_t child = fork();
  ck_assert_int_ge(child, 0);
  if (child == 0)
    _exit(writes_a_line_whole() ? 0 : 1);
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert_int_eq(status, 0);
}

/* Standard error is a pipe: plain lines, for ranks and for who asks for them, of long phases. */
static const struct {
  const char *rank; /* NULL: no launcher */
  amped_progress_when when;
  bool plain;
} cases[] = {{.rank = NULL, .when = AMPED_PROGRESS_AUTO, .plain = false},
             {.rank = NULL, .when = AMPED_PROGRESS_ALWAYS, .plain = true},
             {.rank = "0", .when = AMPED_PROGRESS_AUTO, .plain = true},
             {.rank = "0", .when = AMPED_PROGRESS_NEVER, .plain = false}};

/* In a process of its own: is there a plain line where the case has one? */
static bool run_case(int i) {
  char text[1024] = "";
  int ends[2];
  if (pipe(ends) != 0 || dup2(ends[1], STDERR_FILENO) < 0)
    return false;
  if (cases[i].rank != NULL)
    (void)setenv("PMIX_RANK", cases[i].rank, 1);
  amped_log_progress(cases[i].when);
  show("reading", 4000, "nonzeros", 1000);
  wait_for((struct timespec){5, 0});
  amped_progress_update(2000);
  amped_progress_end();
  (void)fputs("end\n", stderr);
  if (read(ends[0], text, sizeof text - 1) <= 0)
    return false;
  return cases[i].plain ? strstr(text, "reading  50 %: 2.00 k nonzeros, ") != NULL
                        : strcmp(text, "end\n") == 0;
}

START_TEST(plain_lines_are_for_ranks_and_for_long_phases) {
  enum { count = sizeof cases / sizeof cases[0] };
  pid_t children[count];
  for (int i = 0; i < count; i++) {
    children[i] = fork(); /* they wait at one time */
    ck_assert_int_ge(children[i], 0);
    if (children[i] == 0)
      _exit(run_case(i) ? 0 : 1);
  }
  for (int i = 0; i < count; i++) {
    int status = -1;
    ck_assert_int_eq(waitpid(children[i], &status, 0), children[i]);
    ck_assert_msg(status == 0, "case %d", i);
  }
}

TESTING_MAIN("log", a_live_line_tells_share_amount_rate_and_time_left,
             bytes_of_an_unknown_length_have_no_share, a_warning_takes_the_place_of_a_live_line,
             no_live_line_where_none_is_wanted, a_line_is_written_whole,
             plain_lines_are_for_ranks_and_for_long_phases)
