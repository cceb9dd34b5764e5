/* Common parts of all unit tests: a main around one Check suite, and assertions on statuses.
 *
 * TESTING_MAIN(suite_name, case...) is the whole main. A status assertion that fails prints the
 * recorded error line. Tests must free all allocations: the macro checks amped_mem_live. */
#ifndef AMPED_TESTING_H
#define AMPED_TESTING_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/status.h"
#include "base/types.h"

/* Check writes where each assertion that holds stands to a file, for a test that dies: one system
 * call each. Of a loop over elements that took most of a test's time, so the two places before are
 * not written again. */
static inline void testing_mark(const char *file, int line) {
  static int last[2];
  static int turn;
  if (line == last[0] || line == last[1])
    return;
  last[turn] = line;
  turn = 1 - turn;
  _mark_point(file, line);
}
#define _mark_point(file, line) testing_mark(file, line)

#define check_ok(call)                                                                             \
  do {                                                                                             \
    amped_status check_status_ = (call);                                                           \
    ck_assert_msg(check_status_ == AMPED_OK, "%s: status %d, %s", #call, (int)check_status_,       \
                  amped_status_message());                                                         \
  } while (0)

/* The call must fail with this status and a line that contains `text`; the line is then cleared. */
#define check_fails(expected, text, call)                                                          \
  do {                                                                                             \
    amped_status check_status_ = (call);                                                           \
    ck_assert_msg(check_status_ == (expected), "%s: status %d, not %d (%s)", #call,                \
                  (int)check_status_, (int)(expected), amped_status_message());                    \
    ck_assert_msg(strstr(amped_status_message(), (text)) != NULL, "%s: \"%s\" lacks \"%s\"",       \
                  #call, amped_status_message(), (text));                                          \
    amped_status_clear();                                                                          \
  } while (0)

#define check_no_leak() ck_assert_int_eq(amped_mem_live(), 0)

/* The name of a scratch file in the test's folder, "testing.PID.NAME"; the test removes the file.
 * There are four static buffers in turn. */
static inline const char *testing_path(const char *name) {
  static char buffers[4][256];
  static int turn;
  char *buffer = buffers[turn++ % 4];
  (void)snprintf(buffer, sizeof buffers[0], "testing.%ld.%s", (long)getpid(), name);
  return buffer;
}

/* A file of the real tensors ($AMPED_DATA, default: data beside the source folder's parent). NULL
 * where it is missing: the test then says so and passes. */
static inline const char *testing_data(const char *name) {
  static char path[1024];
  const char *folder = getenv("AMPED_DATA");
  const char *source = getenv("srcdir");
  if (folder != NULL)
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
  else
    (void)snprintf(path, sizeof path, "%s/../shared/data/%s", source != NULL ? source : ".", name);
  if (access(path, R_OK) == 0)
    return path;
  (void)fprintf(stderr, "skipped: no %s\n", path);
  return NULL;
}

static inline void testing_write_file(const char *path, const void *bytes, size_t count) {
  FILE *file = fopen(path, "w");
  ck_assert_ptr_nonnull(file);
  ck_assert_uint_eq(fwrite(bytes, 1, count, file), count);
  ck_assert_int_eq(fclose(file), 0);
}

/* No test depends on speed: a case that takes this long hangs, under a sanitizer on a loaded
 * machine as well. */
#define HANG_SEC 3600

static inline int testing_run(const char *name, const TTest *const *tests, size_t count) {
  Suite *suite = suite_create(name);
  for (size_t i = 0; i < count; i++) { /* one case for each test: CK_RUN_CASE selects one by name */
    TCase *tcase = tcase_create(tests[i]->name);
    tcase_set_timeout(tcase, HANG_SEC);
    tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
  }
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#define TESTING_MAIN(name, ...)                                                                    \
  int main(void) {                                                                                 \
    const TTest *const tests[] = {__VA_ARGS__};                                                    \
    return testing_run(name, tests, sizeof tests / sizeof tests[0]);                               \
  }

#endif
