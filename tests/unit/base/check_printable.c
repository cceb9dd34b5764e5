/* The printable form: always UTF-8, without any character that misleads; else the text itself. */

#include "base/printable.h"
#include "base/random.h"
#include "tests/lib/testing.h"

/* The least character of sequences of so many bytes. */
static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};

#define INVALID UINT32_MAX

/* The next character of UTF-8. (Check writes each assertion to a file: there are few in loops.) */
static uint32_t next_of(const char *text, uint64_t length, uint64_t *at) {
  const unsigned char a = (unsigned char)text[*at];
  const uint64_t n = a < 0x80 ? 1 : a < 0xC0 ? 0 : a < 0xE0 ? 2 : a < 0xF0 ? 3 : a < 0xF8 ? 4 : 0;
  uint32_t c = n == 1 ? a : a & (0x7Fu >> n);
  if (n == 0 || *at + n > length)
    return INVALID;
  for (uint64_t k = 1; k < n; k++) {
    const unsigned char b = (unsigned char)text[*at + k];
    if ((b & 0xC0) != 0x80)
      return INVALID;
    c = c << 6 | (b & 0x3Fu);
  }
  *at += n;
  return c >= least[n] && c <= 0x10FFFF && (c < 0xD800 || c > 0xDFFF) ? c : INVALID;
}

static void check_utf8(const char *text) {
  const uint64_t length = strlen(text);
  for (uint64_t at = 0; at < length;)
    if (next_of(text, length, &at) == INVALID)
      ck_abort_msg("no UTF-8: %s", text);
}

/* The sequence of a character, by arithmetic, surrogates included. */
static uint64_t encode(uint32_t c, char *out) {
  if (c < 0x80) {
    out[0] = (char)c;
    return 1;
  }
  const uint64_t bytes = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  for (uint64_t i = bytes - 1; i > 0; i--, c >>= 6)
    out[i] = (char)(0x80 | (c & 0x3F));
  out[0] = (char)((bytes == 2 ? 0xC0u : bytes == 3 ? 0xE0u : 0xF0u) | c);
  return bytes;
}

/* Classes that must never come out. */
static bool is_banned(uint32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x061C || c == 0x200E || c == 0x200F ||
         c == 0x2028 || c == 0x2029 || (c >= 0x202A && c <= 0x202E) ||
         (c >= 0x2066 && c <= 0x2069) || c == 0x200B || c == 0x2060 || c == 0xFEFF || c == 0xAD ||
         (c & 0xFFFE) == 0xFFFE || (c >= 0xE0000 && c <= 0xE007F);
}

/* Valid, without the classes, the form of itself, and cut to any size without harm. */
static void check_form(const char *text, uint64_t length) {
  char form[256];
  char again[256];
  if (6 * length >= sizeof form)
    ck_abort_msg("no room");
  (void)amped_printable(form, sizeof form, text, length);
  const uint64_t bytes = strlen(form);
  for (uint64_t at = 0; at < bytes;) {
    const uint32_t c = next_of(form, bytes, &at);
    if (c == INVALID || is_banned(c))
      ck_abort_msg("U+%04X came out", c);
  }
  if (strcmp(amped_printable_text(again, sizeof again, form), form) != 0)
    ck_abort_msg("'%s' is not its own form", form);
}

START_TEST(every_character_stays_or_is_escaped) {
  char text[8] = "a";
  char form[32];
  char escape[32];
  for (uint32_t c = 0; c <= 0x10FFFF; c++) {
    const uint64_t bytes = encode(c, text + 1);
    text[1 + bytes] = 'z';
    text[2 + bytes] = '\0';
    check_form(text, bytes + 2);
    (void)amped_printable(form, sizeof form, text, bytes + 2);
    if (c >= 0xD800 && c <= 0xDFFF)
      (void)snprintf(escape, sizeof escape, "a\\x%02x\\x%02x\\x%02xz", (unsigned char)text[1],
                     (unsigned char)text[2], (unsigned char)text[3]);
    else if (c < 0x10000)
      (void)snprintf(escape, sizeof escape, "a\\u%04xz", c);
    else
      (void)snprintf(escape, sizeof escape, "a\\u%04x\\u%04xz", 0xD800 + ((c - 0x10000) >> 10),
                     0xDC00 + ((c - 0x10000) & 0x3FF));
    const bool stays = memcmp(form, text, bytes + 2) == 0;
    const bool banned = is_banned(c) || (c >= 0xD800 && c <= 0xDFFF);
    if ((!stays && strcmp(form, escape) != 0) || (stays && banned))
      ck_abort_msg("U+%04X: %s", c, form);
  }
}

START_TEST(letters_of_all_scripts_stay) {
  static const char *const texts[] = {
      "",
      "plain text, 100 %",
      "C:\\new\\x41 \\u0041",
      "Zürich, Łódź, Ñandú",
      "Ελλάδα Москва ירושלים القاهرة",
      "東京 서울 ไทย हिन्दी",
      "e\xCC\x81 \xF0\x9F\x98\x80 \xE2\x9D\xA4\xEF\xB8\x8F \xC2\xA0"};
  char form[256];
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
    ck_assert_str_eq(amped_printable_text(form, sizeof form, texts[i]), texts[i]);
}

START_TEST(attacks_are_seen) {
  static const char *const pairs[][2] = {
      {"\x1b[2J\x07", "\\u001b[2J\\u0007"},
      {"a\tb\r\nc\x7f", "a\\u0009b\\u000d\\u000ac\\u007f"},
      {"\xC2\x9B"
       "31m",
       "\\u009b31m"},
      {"\x9B"
       "31m",
       "\\x9b31m"},
      {"abc\xE2\x80\xAE"
       "fed",
       "abc\\u202efed"},
      {"\xE2\x81\xA6x\xE2\x81\xA9", "\\u2066x\\u2069"},
      {"a\xE2\x80\xA8"
       "b\xE2\x80\xA9",
       "a\\u2028b\\u2029"},
      {"\xEF\xBB\xBFx\xE2\x80\x8By", "\\ufeffx\\u200by"},
      {"\xC0\xAF \xE0\x80\xAF \xF0\x80\x80\xAF", "\\xc0\\xaf \\xe0\\x80\\xaf \\xf0\\x80\\x80\\xaf"},
      {"\xED\xA0\x80 \xF4\x90\x80\x80 \xF8\x88", "\\xed\\xa0\\x80 \\xf4\\x90\\x80\\x80 \\xf8\\x88"},
      {"\xC3", "\\xc3"},
      {"\xE6\x9D", "\\xe6\\x9d"},
      {"\xF3\xA0\x81\x81", "\\udb40\\udc41"}};
  char form[256];
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
    ck_assert_str_eq(amped_printable_text(form, sizeof form, pairs[i][0]), pairs[i][1]);
  ck_assert_str_eq(amped_printable(form, sizeof form, "a\0b", 3), "a\\u0000b");
}

/* Every byte at every place of sequences of two, three and four bytes: of the last one those that
 * begin, go on or end a range. */
START_TEST(every_byte_at_every_place_of_a_sequence) {
  static const unsigned char edges[] = {0x00, 0x1B, 0x41, 0x7F, 0x80, 0x84, 0x8D, 0x8E,
                                        0x8F, 0x90, 0x9B, 0x9F, 0xA0, 0xA6, 0xA8, 0xAD,
                                        0xAE, 0xBB, 0xBE, 0xBF, 0xC0, 0xC2, 0xE2, 0xED,
                                        0xEF, 0xF0, 0xF3, 0xF4, 0xF5, 0xFE, 0xFF};
  char text[5];
  for (unsigned a = 0; a < 256; a++)
    for (unsigned b = 0; b < 256; b++) {
      text[0] = (char)a;
      text[1] = (char)b;
      check_form(text, 1);
      check_form(text, 2);
      for (size_t i = 0; i < sizeof edges && a >= 0xC0; i++) {
        text[2] = (char)edges[i];
        check_form(text, 3);
        for (size_t k = 0; k < sizeof edges && a >= 0xE0; k += 4) {
          text[3] = (char)edges[k];
          check_form(text, 4);
        }
      }
    }
}

START_TEST(random_bytes) {
  char text[40];
  for (uint64_t round = 0; round < 20000; round++) {
    const uint64_t length = amped_random_u64(1, round, 0) % sizeof text;
    for (uint64_t i = 0; i < length; i++) {
      const uint64_t x = amped_random_u64(1, round, i + 1);
      text[i] = (char)(x & 1 ? x >> 8 : 0x80 | ((x >> 8) & 0x3F) | ((x & 2) << 5));
    }
    check_form(text, length);
  }
}

START_TEST(a_cut_form_is_whole) {
  static const char text[] = "é\x1b東\xF0\x9F\x98\x80\xE2\x80\xAE\xFF";
  static const char form[] = "é\\u001b東\xF0\x9F\x98\x80\\u202e\\xff";
  char buffer[64];
  for (uint64_t size = 1; size <= sizeof form; size++) {
    (void)amped_printable_text(buffer, size, text);
    ck_assert_uint_lt(strlen(buffer), size);
    check_utf8(buffer);
    ck_assert_int_eq(strncmp(buffer, form, strlen(buffer)), 0);
    ck_assert(buffer[0] == '\0' || buffer[strlen(buffer) - 1] != '\\');
  }
  ck_assert_str_eq(buffer, form);
}

START_TEST(a_text_is_cut_between_sequences) {
  static const char text[] = "aé東\xF0\x9F\x98\x80z";
  static const uint64_t whole[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11};
  for (uint64_t length = 0; length < sizeof text; length++)
    ck_assert_uint_eq(amped_printable_whole(text, length), whole[length]);
  ck_assert_uint_eq(amped_printable_whole("\x80\x80\x80\x80", 4), 4); /* no sequence at all */
  ck_assert_uint_eq(amped_printable_whole("a\xFF", 2), 2);
}

START_TEST(a_stream_gets_the_same) {
  const char *path = testing_path("printable");
  char found[32] = "";
  FILE *file = fopen(path, "w");
  ck_assert_ptr_nonnull(file);
  ck_assert_int_eq(amped_printable_put(file, "a\0\xC2\x85", 4), 0);
  ck_assert_int_eq(fclose(file), 0);
  file = fopen(path, "r");
  ck_assert_ptr_nonnull(fgets(found, sizeof found, file));
  ck_assert_int_eq(fclose(file), 0);
  ck_assert_str_eq(found, "a\\u0000\\u0085");
  (void)remove(path);
}

/* Lines of errors, and what JSON keeps. */
START_TEST(errors_are_printable) {
  check_fails(AMPED_FAILED, "a\\u001b\\u202e\\xff: b\\u009b",
              amped_error(AMPED_FAILED, "a\x1b\xE2\x80\xAE\xFF", "b\xC2\x9B"));
  char where[601];
  for (size_t i = 0; i + 3 <= sizeof where; i += 3)
    memcpy(where + i, "東", 3);
  where[sizeof where - 1] = '\0';
  check_fails(AMPED_FAILED, "東: b", amped_error(AMPED_FAILED, where, "b"));
  (void)amped_error(AMPED_FAILED, NULL, "%s%s%s%s", where, where, where, where);
  check_utf8(amped_status_message());
  ck_assert_ptr_null(strchr(amped_status_message(), '\\'));
  amped_status_clear();
}

TESTING_MAIN("printable", every_character_stays_or_is_escaped, letters_of_all_scripts_stay,
             attacks_are_seen, every_byte_at_every_place_of_a_sequence, random_bytes,
             a_cut_form_is_whole, a_text_is_cut_between_sequences, a_stream_gets_the_same,
             errors_are_printable)
