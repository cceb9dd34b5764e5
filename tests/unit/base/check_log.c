/* The log on a terminal while a command runs: the test makes a terminal for standard error. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
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

/* Wait for longer than the period of a live line. */
static void wait_for_line(void) {
  struct timespec left = {0, 200000000};
  while (nanosleep(&left, &left) != 0 && errno == EINTR)
    continue;
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

TESTING_MAIN("log", a_live_line_tells_share_amount_rate_and_time_left,
             bytes_of_an_unknown_length_have_no_share, a_warning_takes_the_place_of_a_live_line,
             no_live_line_where_none_is_wanted)
