/* Plot fonts: ranges of characters, and what replaces characters without font. */
#include <string.h>

#include "base/mem.h"
#include "cli/plot/plot_fonts.h"
#include "tests/lib/testing.h"

static void replaces(const amped_plot_fonts *fonts, const char *text, const char *expected,
                     uint64_t count, uint32_t first) {
  char buffer[64];
  uint64_t length = strlen(text);
  uint32_t found = 0;
  memcpy(buffer, text, length);
  ck_assert_uint_eq(amped_plot_fonts_replace(fonts, buffer, &length, &found), count);
  ck_assert_uint_eq(found, first);
  ck_assert_uint_eq(length, strlen(expected));
  ck_assert_mem_eq(buffer, expected, length);
}

START_TEST(ranges_decide_what_is_replaced) {
  static const char list[] = "20-7e a0 e4\n 4eac-6771 x 1f600-1f64f";
  amped_plot_fonts fonts = {.count = 0};
  check_ok(amped_plot_fonts_parse(list, sizeof list - 1, &fonts));
  ck_assert_uint_eq(fonts.count, 5);
  replaces(&fonts, "a\xc3\xa4", "a\xc3\xa4", 0, 0);                         /* U+00E4 */
  replaces(&fonts, "a\xc3\xb6z", "a?z", 1, 0xf6);                           /* U+00F6 */
  replaces(&fonts, "\xe6\x9d\xb1\xe4\xba\xab", "\xe6\x9d\xb1?", 1, 0x4eab); /* U+6771, U+4EAB */
  replaces(&fonts, "\xf0\x9f\x98\x80\xf0\x9f\x9a\x80", "\xf0\x9f\x98\x80?", 1, 0x1f680);
  replaces(&fonts, "cut \xe6\x9d", "cut \xe6\x9d", 0, 0); /* the end of a text */
  amped_free(fonts.ranges);
  check_no_leak();
}

START_TEST(letters_are_assumed_without_ranges) {
  const amped_plot_fonts none = {.count = 0};
  replaces(&none, "\xc3\xa4\xce\xb1\xd0\x96\xe2\x80\x99", "\xc3\xa4\xce\xb1\xd0\x96\xe2\x80\x99", 0,
           0);
  replaces(&none, "\xe6\x9d\xb1", "?", 1, 0x6771);
}

START_TEST(every_failed_allocation_is_survived) {
  char list[4096];
  amped_status status = AMPED_FAILED;
  for (size_t i = 0; i + 4 <= sizeof list; i += 4)
    memcpy(list + i, "20a ", 4);
  for (int64_t k = 0; status != AMPED_OK; k++) {
    amped_plot_fonts fonts = {.count = 0};
    ck_assert_int_lt(k, 20);
    amped_mem_fail_at(k);
    status = amped_plot_fonts_parse(list, sizeof list, &fonts);
    amped_mem_fail_at(-1);
    amped_free(fonts.ranges);
    amped_status_clear();
    check_no_leak();
  }
}

TESTING_MAIN("plot fonts", ranges_decide_what_is_replaced, letters_are_assumed_without_ranges,
             every_failed_allocation_is_survived)
