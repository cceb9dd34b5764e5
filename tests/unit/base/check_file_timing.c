/* What bounds a run: files that are read again, or written and flushed; the start of the process.
 */
#include "base/file_timing.h"

#include <glob.h>
#include <math.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/timer.h"
#include "tests/lib/testing.h"

/* More than two pieces. */
#define BYTES ((UINT64_C(5) << 19) + 7)

static void make_file(const char *path, uint64_t bytes) {
  FILE *file = fopen(path, "w");
  ck_assert_ptr_nonnull(file);
  ck_assert_int_eq(ftruncate(fileno(file), (off_t)bytes), 0);
  ck_assert_int_eq(fclose(file), 0);
}

START_TEST(any_bytes_of_a_file_are_read) {
  static const uint64_t ends[][2] = {{0, BYTES}, {0, 1}, {BYTES - 1, BYTES}, {5, 5}, {3, 2000000}};
  const char *path = testing_path("file");
  make_file(path, BYTES);
  for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
    double seconds = -1.0;
    check_ok(amped_file_timing_read(path, ends[i][0], ends[i][1], &seconds));
    ck_assert(seconds >= 0.0 && isfinite(seconds));
  }
  ck_assert_int_eq(unlink(path), 0);
  check_no_leak();
}

START_TEST(a_file_that_is_not_what_it_was_is_refused) {
  const char *path = testing_path("short");
  double seconds = 0.0;
  make_file(path, BYTES);
  check_fails(AMPED_BAD_INPUT, path, amped_file_timing_read(path, 0, BYTES + 1, &seconds));
  check_fails(AMPED_BAD_INPUT, path, amped_file_timing_read(path, BYTES, 3 * BYTES, &seconds));
  ck_assert_int_eq(unlink(path), 0);
  check_fails(AMPED_BAD_INPUT, path, amped_file_timing_read(path, 0, BYTES, &seconds));
  check_no_leak();
}

/* Files whose names begin so. */
static size_t files_of(const char *path) {
  char pattern[512];
  glob_t found;
  (void)snprintf(pattern, sizeof pattern, "%s*", path);
  const size_t count = glob(pattern, 0, NULL, &found) == 0 ? found.gl_pathc : 0;
  globfree(&found);
  return count;
}

START_TEST(writing_leaves_what_was_there) {
  static const uint64_t sizes[] = {0, 1, (UINT64_C(9) << 20) + 5};
  const char *path = testing_path("old");
  struct stat about;
  make_file(path, 77);
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    double seconds = -1.0;
    check_ok(amped_file_timing_write(path, sizes[i], &seconds));
    ck_assert(seconds >= 0.0 && isfinite(seconds));
    ck_assert_uint_eq(files_of(path), 1);
    ck_assert_int_eq(stat(path, &about), 0);
    ck_assert_int_eq(about.st_size, 77);
  }
  ck_assert_int_eq(unlink(path), 0);
  check_no_leak();
}

START_TEST(what_cannot_be_written_is_told) {
  double seconds = 0.0;
  check_fails(AMPED_FAILED, "nowhere", amped_file_timing_write("nowhere/file", 10, &seconds));
  check_no_leak();
}

/* The system counts in steps of 10 ms, and the clock may be read a step later. */
START_TEST(a_process_starts_after_its_parent_made_it) {
  const double before = amped_time();
  int how = 0;
  const pid_t child = fork();
  ck_assert_int_ge(child, 0);
  if (child == 0) {
    const double began = amped_time_of_process();
    _exit(began > before - 0.021 && began <= amped_time() ? 0 : 1);
  }
  ck_assert_int_eq(waitpid(child, &how, 0), child);
  ck_assert_int_eq(how, 0);
  ck_assert(amped_time_of_process() < amped_time());
}

TESTING_MAIN("file_timing", any_bytes_of_a_file_are_read, a_file_that_is_not_what_it_was_is_refused,
             writing_leaves_what_was_there, what_cannot_be_written_is_told,
             a_process_starts_after_its_parent_made_it)
