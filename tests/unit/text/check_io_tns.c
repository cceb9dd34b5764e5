/* FROSTT text: comparison of parallel reading with a slow reader, dialects, exact numbers, hostile
 * input. */
#include <float.h>
#include <math.h>
#include <omp.h>

#include "text/io_number.h"
#include "text/io_stream.h"
#include "text/io_tns.h"
#include "base/random.h"
#include "tests/lib/testing.h"

static const amped_read_options no_options = {.index_base = AMPED_BASE_AUTO};

static amped_status read_text(const char *text, const amped_read_options *options,
                              amped_sptensor *t) {
  const char *path = testing_path("in.tns");
  testing_write_file(path, text, strlen(text));
  amped_status status = amped_tns_read(path, options, t);
  unlink(path);
  return status;
}

static void check_same(const amped_sptensor *a, const amped_sptensor *b) {
  ck_assert_int_eq(a->order, b->order);
  ck_assert_uint_eq(a->nnz, b->nnz);
  for (int m = 0; m < a->order; m++) {
    ck_assert_uint_eq(a->dims[m], b->dims[m]);
    ck_assert_mem_eq(a->indices[m], b->indices[m], a->nnz * sizeof(uint64_t));
  }
  ck_assert_mem_eq(a->values, b->values, a->nnz * sizeof(double));
}

/* ---- against a slow reader ---- */

/* The slow reader: one line at a time, with conversions of the C library. dims are the largest
 * indices. */
static void slow_read(const char *text, int order, amped_sptensor *t) {
  uint64_t lines = 0;
  for (const char *p = text; *p != '\0'; p++)
    lines += *p == '\n';
  check_ok(amped_sptensor_create(t, order, lines + 1));
  t->nnz = 0;
  for (const char *p = text; *p != '\0';) {
    const char *end = strchr(p, '\n');
    size_t length = end != NULL ? (size_t)(end - p) : strlen(p);
    char line[512];
    ck_assert_uint_lt(length, sizeof line);
    memcpy(line, p, length);
    line[length] = '\0';
    p += length + (end != NULL);
    char *hash = strchr(line, '#');
    if (hash != NULL)
      *hash = '\0';
    if (strspn(line, " \t\r") == strlen(line))
      continue;
    char *at = line;
    for (int m = 0; m < order; m++) {
      uint64_t index = strtoull(at, &at, 10);
      t->indices[m][t->nnz] = index - 1;
      if (index > t->dims[m])
        t->dims[m] = index;
    }
    t->values[t->nnz++] = strtod(at, &at);
  }
}

/* Random lines with every kind of blank, comment and number. */
static char *random_text(uint64_t seed, int order, uint64_t lines) {
  static const char *const blanks[] = {" ", "\t", "  ", " \t "};
  static const char *const formats[] = {"%.17g", "%.3f", "%.0f", "%e", "%.25g", "+%.1f", "%.40f"};
  char *text = malloc(lines * 300 + 1);
  char *p = text;
  uint64_t c = 0;
  for (uint64_t i = 0; i < lines; i++) {
    uint64_t kind = amped_random_u64(seed, 1, i) % 20;
    if (kind == 0)
      p += sprintf(p, "  # a comment, 1 2 3\n");
    if (kind == 1)
      p += sprintf(p, " \t\n");
    if (kind == 2)
      p += sprintf(p, " ");
    for (int m = 0; m < order; m++) {
      uint64_t bits = amped_random_u64(seed, 2, c++);
      p += sprintf(p, "%" PRIu64 "%s", (bits >> (bits % 50 + 4)) % 1000000 + 1, blanks[bits % 4]);
    }
    uint64_t bits = amped_random_u64(seed, 3, i);
    double x = ldexp(amped_random_double(seed, 4, i), (int)(bits % 60) - 30);
    p += sprintf(p, formats[bits / 64 % 7], x);
    p += sprintf(p, "%s", kind == 3 ? " # why" : kind == 4 ? "\r" : kind == 5 ? "  " : "");
    *p++ = '\n';
  }
  p[seed % 2 == 0 ? 0 : -1] = '\0'; /* with and without a last line end */
  return text;
}

START_TEST(any_number_of_threads_reads_what_the_slow_reader_reads) {
  static const int threads[] = {1, 2, 5, 16};
  int before = omp_get_max_threads();
  for (uint64_t seed = 0; seed < 6; seed++) {
    int order = 3 + (int)seed;
    char *text = random_text(seed, order, seed < 2 ? 60000 : 5000);
    amped_sptensor slow = {0};
    slow_read(text, order, &slow);
    for (size_t i = 0; i < 4; i++) {
      amped_sptensor fast = {0};
      omp_set_num_threads(threads[i]);
      check_ok(read_text(text, &no_options, &fast));
      check_same(&fast, &slow);
      amped_sptensor_free(&fast);
    }
    amped_sptensor_free(&slow);
    free(text);
  }
  omp_set_num_threads(before);
  check_no_leak();
}

/* The first chunk ends at one MiB: move a line end across this place. */
START_TEST(lines_may_end_anywhere_in_a_chunk) {
  uint64_t lines = (UINT64_C(1) << 20) / 14 + 2000;
  char *text = malloc(lines * 16 + 100);
  for (int shift = 0; shift < 16; shift++) {
    char *p = text + sprintf(text, "#%.*s\n", shift, "................");
    for (uint64_t i = 0; i < lines; i++)
      p += sprintf(p, "%05u 7 2 1.5\n", (unsigned)(i % 90000 + 1));
    amped_sptensor t = {0};
    check_ok(read_text(text, &no_options, &t));
    ck_assert_uint_eq(t.nnz, lines);
    for (uint64_t i = 0; i < lines; i++)
      ck_assert(t.indices[0][i] == i % 90000 && t.values[i] == 1.5);
    amped_sptensor_free(&t);
  }
  free(text);
  check_no_leak();
}

/* ---- numbers ---- */

static void check_decimal(const char *text) {
  double x = 0.0;
  char *end = NULL;
  double expected = strtod(text, &end);
  const char *stop = amped_number_decimal(text, &x);
  ck_assert_msg(stop == end, "%s", text);
  ck_assert_msg(memcmp(&x, &expected, sizeof x) == 0, "%s: %a, not %a", text, x, expected);
}

START_TEST(decimals_are_rounded_as_the_library_does) {
  static const char *const hard[] = {"0",
                                     "-0",
                                     "-0.0e99999999999999",
                                     "0.1",
                                     ".5",
                                     "5.",
                                     "1e22",
                                     "1e23",
                                     "9007199254740993",
                                     "9007199254740991e22",
                                     "9007199254740993e-22",
                                     "1e999",
                                     "-1e999",
                                     "1e-999",
                                     "4.9e-324",
                                     "2.4703282292062327e-324",
                                     "2.4703282292062328e-324",
                                     "1.7976931348623157e308",
                                     "1.7976931348623159e308",
                                     "18446744073709551616",
                                     "0.000000000000000000000000000000000000000000000000001",
                                     "100000000000000000000000000000000000000000000000000e-50",
                                     "1e00000000000000000000000000000000000001",
                                     "1E+5"};
  for (size_t i = 0; i < sizeof hard / sizeof hard[0]; i++)
    check_decimal(hard[i]);
  for (uint64_t i = 0; i < 200000; i++) {
    char text[400];
    uint64_t bits = amped_random_u64(5, 0, i);
    uint64_t digits = amped_random_u64(5, 1, i) >> (bits % 64);
    int n = sprintf(text, "%s%" PRIu64, bits % 3 == 0 ? "-" : "", digits);
    if (bits % 5 == 0)
      n += sprintf(text + n, ".%" PRIu64, amped_random_u64(5, 2, i) >> (bits % 61));
    if (bits % 7 < 4)
      (void)sprintf(text + n, "e%d", (int)(bits / 64 % 60) - 30);
    check_decimal(text);
  }
}

START_TEST(what_is_no_number_is_refused) {
  static const char *const bad[] = {"",    "+",  "-",    ".",    "e5", "1e",  "1e+", "--1",
                                    "nan", "x1", "inf ", "-.e1", " 1", "+-1", "1e-", ".e"};
  double x = 0.0;
  uint64_t v = 0;
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
    ck_assert_msg(amped_number_decimal(bad[i], &x) == NULL, "%s", bad[i]);
  ck_assert_ptr_null(amped_number_u64("18446744073709551616", &v));
  ck_assert_ptr_null(amped_number_u64("99999999999999999999", &v));
  ck_assert_ptr_null(amped_number_u64("100000000000000000000000", &v));
  ck_assert_ptr_null(amped_number_u64("-1", &v));
  ck_assert_ptr_nonnull(amped_number_u64("18446744073709551615", &v));
  ck_assert_uint_eq(v, UINT64_MAX);
  ck_assert_ptr_nonnull(amped_number_u64("0000000000000000000000000012", &v));
  ck_assert_uint_eq(v, 12);
}

START_TEST(printed_numbers_read_back_exactly_and_are_short) {
  static const struct {
    double x;
    const char *text;
  } known[] = {{0.0, "0"},      {-0.0, "-0"}, {1.0, "1"},
               {-17.0, "-17"},  {0.1, "0.1"}, {9007199254740991.0, "9007199254740991"},
               {1e22, "1e+22"}, {2.5, "2.5"}, {1.0 / 3.0, "0.3333333333333333"}};
  char text[AMPED_NUMBER_BYTES];
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    ck_assert_int_eq(amped_number_print(text, known[i].x), (int)strlen(known[i].text));
    ck_assert_str_eq(text, known[i].text);
  }
  for (uint64_t i = 0; i < 200000; i++) {
    uint64_t bits = amped_random_u64(6, 0, i);
    double x = 0.0;
    double back = 0.0;
    memcpy(&x, &bits, sizeof x);
    if (!isfinite(x))
      continue;
    int n = amped_number_print(text, x);
    ck_assert_int_lt(n, AMPED_NUMBER_BYTES);
    const char *end = amped_number_decimal(text, &back);
    ck_assert(end == text + n && memcmp(&x, &back, sizeof x) == 0);
  }
  ck_assert_int_eq(amped_number_print_u64(text, UINT64_MAX), 20);
  ck_assert_str_eq(text, "18446744073709551615");
}

/* ---- dialects and options ---- */

static void check_dims(const amped_sptensor *t, uint64_t a, uint64_t b, uint64_t c) {
  ck_assert_int_eq(t->order, 3);
  ck_assert_uint_eq(t->dims[0], a);
  ck_assert_uint_eq(t->dims[1], b);
  ck_assert_uint_eq(t->dims[2], c);
}

START_TEST(headers_of_all_dialects_are_understood) {
  static const struct {
    const char *text;
    uint64_t dims[3];
    uint64_t first; /* index of the first nonzero in mode 0 */
  } cases[] = {
      {"2 1 3 1\n1 2 3 4.5\n", {2, 2, 3}, 1},
      {"sptensor\n3\n4 5 6\n2\n2 1 3 1\n1 2 3 4.5\n", {4, 5, 6}, 1},
      {"sptensor \r\n3 \r\n4 5 6 \r\n2\r\n2 1 3 1\r\n1 2 3 4.5\r\n", {4, 5, 6}, 1},
      {"sptensor indices-start-at-one\n3\n4 5 6\n2\n2 1 3 1\n1 2 3 4.5\n", {4, 5, 6}, 1},
      {"sptensor indices-start-at-zero\n3\n4 5 6\n2\n2 0 3 1\n0 2 3 4.5\n", {4, 5, 6}, 2},
      {"# c\n\n3\n  4 5\t6\n2 1 3 1\n1 2 3 4.5", {4, 5, 6}, 1},
      {"# dims: 4 5 6\n# nnz: 2\n2 1 3 1\n1 2 3 4.5\n", {4, 5, 6}, 1},
      {"\xef\xbb\xbf# dims: 4 5 9223372036854775808\n2 1 3 1\n1 2 3 4.5\n",
       {4, 5, UINT64_C(1) << 63},
       1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    amped_sptensor t = {0};
    check_ok(read_text(cases[i].text, &no_options, &t));
    check_dims(&t, cases[i].dims[0], cases[i].dims[1], cases[i].dims[2]);
    ck_assert_uint_eq(t.nnz, 2);
    ck_assert_uint_eq(t.indices[0][0], cases[i].first);
    ck_assert_double_eq(t.values[1], 4.5);
    amped_sptensor_free(&t);
  }
  check_no_leak();
}

/* ---- first lines that are headers, or look like one ---- */

typedef struct sample {
  int order;
  uint64_t dims[AMPED_MAX_ORDER];
  uint64_t nnz;
  bool has_dims;     /* else they are the largest indices */
  bool needs_header; /* --header=dims */
  char text[60000];
} sample;

static void print_comments(char **p, uint64_t bits, bool percent) {
  static const char *const comments[] = {"# a comment, 1 2 3\n", "\n", " \t\r\n", "#\n",
                                         "  # 20 15 10 400\n"};
  for (uint64_t i = 0; i < bits % 4; i++)
    *p += sprintf(*p, "%s", comments[(bits >> (8 + 4 * i)) % 5]);
  if (percent)
    *p += sprintf(*p, "%% 1 2 3 4\n");
}

static void print_dims(char **p, const sample *s, const char *behind) {
  for (int m = 0; m < s->order; m++)
    *p += sprintf(*p, "%" PRIu64 "%s", s->dims[m], m + 1 < s->order ? "  " : behind);
}

static void print_header(char **p, sample *s, uint64_t kind, uint64_t bits) {
  const char *end = bits % 3 == 0 ? " \r\n" : "\n";
  const bool percent = bits % 7 == 0;
  s->has_dims = kind != 0;
  s->needs_header = kind == 8;
  if (kind == 2)
    *p += sprintf(*p, "%%%%MatrixMarket tensor coordinate real general\n%%\n%% a comment\n");
  if (kind == 3)
    *p += sprintf(*p, "# extended FROSTT format%s%d %" PRIu64 "%s", end, s->order, s->nnz, end);
  if (kind == 4 || kind == 5 || kind == 6)
    *p += sprintf(*p, "%s%s%d%s", kind == 6 ? "sptensor" : "", kind == 6 ? end : "", s->order, end);
  if (kind == 7)
    *p += sprintf(*p, "%d ", s->order);
  if (kind != 0 && kind != 7 && kind != 9)
    print_comments(p, bits >> 8, percent);
  if (kind == 9) {
    *p += sprintf(*p, "# dims: ");
    print_dims(p, s, "\n# nnz: ");
  } else if (kind != 0)
    print_dims(p, s, kind == 1 || kind == 2 || kind == 7 ? " " : end);
  if (kind == 1 || kind == 2 || kind == 5 || kind == 6 || kind == 7 || kind == 9)
    *p += sprintf(*p, "%" PRIu64 "%s", s->nnz, end);
  print_comments(p, bits >> 30, percent);
}

/* Kinds of headers: none; dims nnz; Matrix Market; extended FROSTT; ParTI; Tensor Toolbox without
 * its word, and with it; order, dims and nnz in a line; dims alone; our own comments. */
#define KINDS 10
#define ORDERS (AMPED_MAX_ORDER - AMPED_MIN_ORDER + 1)

static void make_sample(sample *s, uint64_t seed, uint64_t kind, uint64_t base, amped_sptensor *t) {
  char *p = s->text;
  s->order = AMPED_MIN_ORDER + (int)(seed / KINDS % ORDERS);
  s->nnz = 16 + amped_random_u64(seed, 1, 0) % 300;
  for (int m = 0; m < s->order; m++)
    s->dims[m] = 5 + amped_random_u64(seed, 2, (uint64_t)m) % 40;
  print_comments(&p, amped_random_u64(seed, 3, 0), false);
  print_header(&p, s, kind, amped_random_u64(seed, 4, 0));
  check_ok(amped_sptensor_create(t, s->order, s->nnz));
  for (int m = 0; m < s->order; m++)
    t->labels[m].from_zero = base == 0;
  for (uint64_t k = 0; k < s->nnz; k++) {
    if (amped_random_u64(seed, 5, k) % 20 == 0)
      p += sprintf(p, "# 1 2 3 4\n");
    for (int m = 0; m < s->order; m++) {
      const uint64_t i = amped_random_u64(seed, 6 + (uint64_t)m, k) % s->dims[m];
      t->indices[m][k] = i;
      t->dims[m] = s->has_dims ? s->dims[m] : i >= t->dims[m] ? i + 1 : t->dims[m];
      p += sprintf(p, "%" PRIu64 " ", i + base);
    }
    t->values[k] = amped_random_double(seed, 20, k) - 0.5;
    p += sprintf(p, "%.17g%s", t->values[k], k % 5 == 0 ? " # why\n" : "\n");
  }
}

START_TEST(headers_of_all_kinds_are_no_nonzeros) {
  static const char *const names[] = {"in.tns", "in.tns.gz", "in.tns.zst"};
  sample *s = malloc(sizeof *s);
  for (uint64_t seed = 0; seed < 2 * KINDS * ORDERS; seed++) {
    const uint64_t base = seed / KINDS / ORDERS;
    const char *path = testing_path(names[seed / KINDS % 3]);
    amped_read_options options = {.index_base = base == 0 ? AMPED_BASE_0 : AMPED_BASE_AUTO};
    amped_sptensor want = {0};
    amped_sptensor t = {0};
    amped_stream *stream = NULL;
    make_sample(s, seed, seed % KINDS, base, &want);
    check_ok(amped_stream_create(path, &stream));
    check_ok(amped_stream_write(stream, s->text, strlen(s->text)));
    check_ok(amped_stream_finish(stream));
    if (s->needs_header) {
      check_fails(AMPED_BAD_INPUT, "--header=dims", amped_tns_read(path, &options, &t));
      options.header = AMPED_HEADER_DIMS;
    }
    check_ok(amped_tns_read(path, &options, &t));
    check_same(&t, &want);
    amped_sptensor_free(&t);
    amped_sptensor_free(&want);
    unlink(path);
  }
  free(s);
  check_no_leak();
}

/* head, then `lines` lines within 9 x 9 x 9. */
static char *with_head(const char *head, int lines) {
  char *text = malloc(strlen(head) + (size_t)lines * 16 + 1);
  char *p = text + sprintf(text, "%s", head);
  for (int i = 0; i < lines; i++)
    p += sprintf(p, "%d %d %d 0.5\n", i % 9 + 1, i / 9 % 9 + 1, i / 81 % 9 + 1);
  return text;
}

/* Only a whole number of as many lines, with no index beyond, is a header. What may be either is
 * refused, and the option tells. */
START_TEST(a_first_line_is_read_as_what_it_is) {
  static const struct {
    const char *head;
    int lines;
    amped_read_header option;
    const char *message; /* NULL: it is read */
    uint64_t nnz, dim;   /* of mode 0 */
  } cases[] = {
      {"9 9 9 100\n", 100, AMPED_HEADER_AUTO, NULL, 100, 9},
      {"20 9 9 100\n", 100, AMPED_HEADER_AUTO, NULL, 100, 20},
      {"20 9 9 100\n", 100, AMPED_HEADER_NONE, NULL, 101, 20},
      {"20 9 9 100\n", 100, AMPED_HEADER_DIMS_NNZ, NULL, 100, 20},
      {"9 9 9 101\n", 100, AMPED_HEADER_AUTO, NULL, 101, 9},
      {"9 9 9 99\n", 100, AMPED_HEADER_AUTO, NULL, 101, 9},
      {"9 9 9 1000000\n", 100, AMPED_HEADER_AUTO, NULL, 101, 9},
      {"9 9 9 100.0\n", 100, AMPED_HEADER_AUTO, NULL, 101, 9},
      {"9 9 9 1e2\n", 100, AMPED_HEADER_AUTO, NULL, 101, 9},
      {"8 9 9 100\n", 100, AMPED_HEADER_AUTO, NULL, 101, 9},
      {"9 9 9 101\n", 100, AMPED_HEADER_DIMS_NNZ, "line 1: 101 nonzeros are announced", 0, 0},
      {"8 9 9 100\n", 100, AMPED_HEADER_DIMS_NNZ, "too large for dimension 8 of the header", 0, 0},
      {"# dims: 9 9 9\n# nnz: 101\n9 9 9 100\n", 100, AMPED_HEADER_AUTO, NULL, 101, 9},
      {"# c\n\n9 9 9 10\n", 10, AMPED_HEADER_AUTO, "line 3 (9 9 9 10) may be a nonzero", 0, 0},
      {"9 9 9 10\n", 10, AMPED_HEADER_NONE, NULL, 11, 9},
      {"9 9 9 10\n", 10, AMPED_HEADER_DIMS_NNZ, NULL, 10, 9},
      {"9 9 9 728\n", 728, AMPED_HEADER_AUTO, "--header=none if it is a nonzero", 0, 0},
      {"9 9 9 729\n", 729, AMPED_HEADER_AUTO, "may be a nonzero", 0, 0},
      {"9 9 9\n", 100, AMPED_HEADER_AUTO, "line 2: 4 fields, not 3", 0, 0},
      {"9 9 9\n", 100, AMPED_HEADER_DIMS, NULL, 100, 9},
      {"3 101\n9 9 9\n", 100, AMPED_HEADER_AUTO, "101 nonzeros are announced, but 100", 0, 0},
      {"%%MatrixMarket tensor coordinate real general\n9 9 9 10\n", 10, AMPED_HEADER_AUTO, NULL, 10,
       9},
      {"%%MatrixMarket tensor array real general\n9 9 9 10\n", 10, AMPED_HEADER_AUTO,
       "line 1: a Matrix Market file of kind array", 0, 0},
      {"%%MatrixMarket matrix coordinate Pattern general\n9 9 10\n", 10, AMPED_HEADER_AUTO,
       "of kind pattern", 0, 0},
      {"%%MatrixMarket matrix coordinate real general\n9 9 10\n", 10, AMPED_HEADER_AUTO,
       "line 3: 4 fields, not 3", 0, 0},
      {"%%MatrixMarket matrix coordinate real general\n9 10\n", 10, AMPED_HEADER_AUTO,
       "line 2: a tensor of order 1", 0, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const amped_read_options options = {.index_base = AMPED_BASE_AUTO, .header = cases[i].option};
    char *text = with_head(cases[i].head, cases[i].lines);
    amped_sptensor t = {0};
    const amped_status status = read_text(text, &options, &t);
    if (cases[i].message != NULL) {
      check_fails(status, cases[i].message, status);
      ck_assert_int_ne(status, AMPED_OK);
    } else {
      check_ok(status);
      ck_assert_uint_eq(t.nnz, cases[i].nnz);
      ck_assert_uint_eq(t.dims[0], cases[i].dim);
      ck_assert_double_eq(t.values[t.nnz - 1], 0.5);
      amped_sptensor_free(&t);
    }
    free(text);
  }
  check_no_leak();
}

/* An overflow that counts what it takes. */
static amped_status count_rows(void *context, amped_sptensor *t, double fraction) {
  (void)fraction;
  for (uint64_t k = 0; k < t->nnz; k++)
    *(double *)context += t->values[k];
  t->nnz = 0;
  return AMPED_OK;
}

START_TEST(a_first_line_is_read_as_what_it_is_when_memory_is_full) {
  static const struct {
    const char *head, *tail;
    const char *message; /* NULL: it is read */
    double sum;
  } cases[] = {
      {"9 9 9 400000\n", "", NULL, 200000.0},
      {"9 9 8 400000\n", "", NULL, 600000.0},
      {"9 9 9 7\n", "", NULL, 200007.0},
      {"9 9 9 400001\n", "", "(9 9 9 400001) looked like a header", 0.0},
      {"9 9 9 399999\n", "", "later lines contradict it; say --header=none", 0.0},
      {"9 9 9 400001\n", "10 1 1 1\n", "later lines contradict it", 0.0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    double sum = 0.0;
    const amped_overflow overflow = {.memory = 1, .take = count_rows, .context = &sum};
    const amped_read_options options = {.index_base = AMPED_BASE_AUTO, .overflow = &overflow};
    char *text = with_head(cases[i].head, 400000);
    text = realloc(text, strlen(text) + 100);
    memcpy(text + strlen(text), cases[i].tail, strlen(cases[i].tail) + 1);
    amped_sptensor t = {0};
    const amped_status status = read_text(text, &options, &t);
    if (cases[i].message != NULL) {
      check_fails(AMPED_USAGE, cases[i].message, status);
    } else {
      check_ok(status);
      (void)count_rows(&sum, &t, 1.0);
      ck_assert_double_eq(sum, cases[i].sum);
      amped_sptensor_free(&t);
    }
    free(text);
  }
  check_no_leak();
}

/* The first index changes fastest; zeros are dropped; comments and blank lines do not count. */
/* As in every text: the line does not depend on where chunks end. */
START_TEST(a_long_comment_in_a_dense_tensor_is_refused) {
  static const char head[] = "tensor\n3\n1 1 2\n5\n#";
  const char *path = testing_path("comment.tns");
  const size_t length = (UINT64_C(3) << 20);
  char *text = malloc(length);
  ck_assert_ptr_nonnull(text);
  memset(text, 'x', length);
  memcpy(text, head, strlen(head));
  memcpy(text + length - 3, "\n7\n", 3);
  for (size_t early = 0; early < 2; early++) {
    amped_read_options options = {.index_base = AMPED_BASE_AUTO};
    amped_sptensor t;
    if (early == 1)
      memcpy(text + (UINT64_C(1) << 20) - 100, "\n#", 2); /* the second line is in several chunks */
    testing_write_file(path, text, length);
    check_fails(AMPED_BAD_INPUT, "longer than 1 MiB", amped_tns_read(path, &options, &t));
  }
  free(text);
  (void)remove(path);
  check_no_leak();
}

START_TEST(dense_tensors_lose_their_zeros) {
  static const char text[] = "tensor\n3\n2 3 2\n1\n0\n\n# c\n 2.5 \n0\n0\n-3\n0\n0.0\n0\n4e0\n"
                             "0\n-0\n";
  static const uint64_t want[][3] = {{0, 0, 0}, {0, 1, 0}, {1, 2, 0}, {1, 1, 1}};
  static const double values[] = {1.0, 2.5, -3.0, 4.0};
  amped_sptensor t = {0};
  amped_read_options zero = {.index_base = AMPED_BASE_0};
  check_ok(read_text(text, &no_options, &t));
  check_dims(&t, 2, 3, 2);
  ck_assert_uint_eq(t.nnz, 4);
  for (int k = 0; k < 4; k++) {
    for (int m = 0; m < 3; m++)
      ck_assert_uint_eq(t.indices[m][k], want[k][m]);
    ck_assert_double_eq(t.values[k], values[k]);
  }
  amped_sptensor_free(&t);
  check_fails(AMPED_USAGE, "has no indices", read_text(text, &zero, &t));
  check_no_leak();
}

START_TEST(options_override_the_file) {
  amped_sptensor t = {0};
  amped_read_options zero = {.index_base = AMPED_BASE_0};
  check_ok(read_text("2 1 3 1\n0 2 3 4.5\n", &zero, &t));
  check_dims(&t, 3, 3, 4);
  amped_sptensor_free(&t);
  amped_read_options dims = {.index_base = AMPED_BASE_AUTO, .dims_order = 3, .dims = {2, 9, 3}};
  check_ok(read_text("# dims: 7 7 7\n2 1 3 1\n", &dims, &t));
  check_dims(&t, 2, 9, 3);
  amped_sptensor_free(&t);
  check_fails(AMPED_BAD_INPUT, "line 2: field 1: index 3 is too large for dimension 2 of --dims",
              read_text("1 1 1 1\n3 1 1 1\n", &dims, &t));
  check_fails(AMPED_USAGE, "--dims has 3", read_text("1 1 1 1 1\n", &dims, &t));
  check_no_leak();
}

/* ---- hostile input ---- */

START_TEST(bad_lines_are_named) {
  static const struct {
    const char *text;
    const char *message;
  } cases[] = {
      {"1 1 1 1\n0 1 1 1\n", "line 2: field 1: index 0"},
      {"1 1 1 1\n0 1 1 1\n", "--index-base=0"},
      {"1 1 1 1\n\n# c\n1 -3 1 1\n", "line 4: field 2: negative index -3"},
      {"1 1 1 1\n1 1 18446744073709551616 1\n",
       "line 2: field 3: index 18446744073709551616 is ab"},
      {"1 1 9223372036854775809 1\n", "line 1: field 3: index 9223372036854775809 is above 2^63"},
      {"1 1 1 1\n1 1 1\n", "line 2: 3 fields, not 4"},
      {"1 1 1 1\n1 1 1 1 1\n", "line 2: 5 fields, not 4"},
      {"1 1 1 1\n1\n", "line 2: 1 fields, not 4"},
      {"1 1 1 1\n1 1 x 1\n", "line 2: field 3: \"x\" is not a whole number"},
      {"1 1 1 1\n1 1 1.0 1\n", "line 2: field 3: \"1.0\" is not a whole number"},
      {"1 1 1 1\n1 1 +1 1\n", "line 2: field 3: \"+1\" is not a whole number"},
      {"1 1 1 5\r2 2 2 1\r", "line 1: field 4: \"5\\u000d2\" is not a whole number"},
      {"1 1 1\r2 2 2 1\n", "line 1: field 3: \"1\\u000d2\" is not a whole number"},
      {"1 1 1 1\n1 1 1 x\n", "line 2: field 4: \"x\" is not a number"},
      {"1 1 1 1\n1 1 1 0x10\n", "line 2: field 4: \"0x10\" is not a number"},
      {"1 1 1 1\n1 1 1 1,5\n", "line 2: field 4: \"1,5\" is not a number"},
      {"1 1 1 1\n1 1 1 nan\n", "line 2: field 4: value nan is not finite"},
      {"1 1 1 1\n1 1 1 -inf\n", "line 2: field 4: value -inf is not finite"},
      {"1 1 1 1\n1 1 1 1e999\n", "line 2: field 4: value 1e999 is not finite"},
      {"1 1\n", "line 1: a tensor of order 1; orders 2 to 8"},
      {"1 1 1 1 1 1 1 1 1 1\n", "line 1: a tensor of order 9; orders 2 to 8"},
      {"1\n3\n1 1\n", "line 1: a tensor of order 1; orders 2 to 8"},
      {"2\n3 4\n1 1 1 1\n", "line 3: 4 fields, not 3"},
      {"3\n3 4\n1 1 1\n", "line 2: 2 fields, but the header has 3"},
      {"3\n3 0 4\n1 1 1 1\n", "line 2: dimension 2 is 0"},
      {"3\n3 9223372036854775809 4\n1 1 1 1\n", "line 2: \"9223372036854775809\" is not"},
      {"3\n3 4 5\n4 1 1 1\n",
       "line 3: field 1: index 4 is too large for dimension 3 of the header"},
      {"sptensor\n3\n3 4 5\n2\n1 1 1 1\n", "line 4: 2 nonzeros are announced, but 1 follow"},
      {"sptensor\n3\n3 4 5\n9223372036854775807\n1 1 1 1\n", "line 4: 9223372036854775807 nonz"},
      {"sptensor\n3\n3 4 5\n-1\n1 1 1 1\n", "line 4: \"-1\" is not a number of nonzeros"},
      {"sptensor\n3\n3 4 5\n1 1 1 1\n", "line 4: 4 fields, but the header has 1"},
      {"sptensor\n3\n3 4 5\n1\n0 1 1 1\n", "line 5: field 1: index 0"},
      {"tensor\n3\n1 1 2\n1\n", "1 values, but the dimensions have 2 elements"},
      {"tensor\n3\n1 1 2\n1\n2\n3\n", "line 6: more values than"},
      {"tensor\n3\n1 1 2\n1\nx\n", "line 5: not one finite number"},
      {"tensor\n3\n1 1 2\n1 2\n", "line 4: not one finite number"},
      {"tensor\n3\n1 1 2\n1\n1e999\n", "line 5: not one finite number"},
      {"tensor\n3\n1 1 2\n0\n0\n", "holds no nonzeros"},
      {"tensor\n3\n4294967296 4294967296 4\n0\n", "more than 2^64 elements"},
      {"tensor of mine\n3\n", "line 1: 3 fields, but the header has 1"},
      {"ktensor\n3\n", "line 1: a ktensor is a model"},
      {"sptensor of mine\n3\n", "line 1: \"of\" after sptensor"},
      {"# nnz: 3\n1 1 1 1\n", "line 1: 3 nonzeros are announced, but 1 follow"},
      {"# dims: 3\n1 1 1 1\n", "line 1: a tensor of order 1"},
      {"# dims: 3 3\n1 1 1 1\n", "line 2: 4 fields, not 3"},
      {"# dims: 3 3 3\n1 1 1 1 1\n", "line 2: 5 fields, not 4"},
      {"# dims: 3x3x3 4 5\n1 1 1 1\n", "line 1: \"3x3x3\" is not a dimension"},
      {"# only a comment\n\n", "holds no nonzeros"},
      {"3\n4 4 4\n", "holds no nonzeros"},
      {"sptensor\n", "holds no nonzeros"},
      {"\x01\x02\x7f\x45LF\n", "line 1: \"\\u0001\\u0002\\u007fELF\" is not"},
      {"1 1 1 1\n1 1 1 1\r1 1 1 1\n", "line 2: 7 fields, not 4"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    amped_sptensor t = {0};
    check_fails(AMPED_BAD_INPUT, cases[i].message, read_text(cases[i].text, &no_options, &t));
    ck_assert_ptr_null(t.values);
  }
  check_no_leak();
}

START_TEST(the_first_of_several_bad_lines_is_named) {
  uint64_t lines = 200000;
  char *text = malloc(lines * 8 + 1);
  for (uint64_t i = 0; i < lines; i++)
    memcpy(text + 8 * i, "1 2 3 4\n", 9);
  for (uint64_t round = 0; round < 12; round++) {
    uint64_t first = lines;
    char message[64];
    amped_sptensor t = {0};
    char *broken = strdup(text);
    for (uint64_t k = 0; k < 5; k++) {
      uint64_t line = amped_random_u64(8, round, k) % lines;
      broken[8 * line + 6] = 'x';
      first = line < first ? line : first;
    }
    (void)snprintf(message, sizeof message, "line %" PRIu64 ": field 4", first + 1);
    check_fails(AMPED_BAD_INPUT, message, read_text(broken, &no_options, &t));
    free(broken);
  }
  free(text);
  check_no_leak();
}

START_TEST(absurd_lines_are_refused) {
  static const char fills[] = {'1', ' ', 'x', '#', '\0'};
  size_t bytes = 3u << 20;
  char *text = malloc(bytes + 32);
  for (size_t i = 0; i < sizeof fills; i++) {
    amped_sptensor t = {0};
    const char *path = testing_path("long.tns");
    memcpy(text, "1 1 1 1\n", 8);
    memset(text + 8, fills[i], bytes);
    memcpy(text + bytes, "\n1 1 1 1\n", 9);
    testing_write_file(path, text, bytes + 9);
    check_fails(AMPED_BAD_INPUT, "line 2: longer than 1 MiB",
                amped_tns_read(path, &no_options, &t));
    unlink(path);
  }
  free(text);
  check_no_leak();
}

/* Random bytes, and a valid file with random bytes inserted: the result is an error or a valid
 * tensor. */
START_TEST(garbage_does_no_harm) {
  static const char alphabet[] = "0123456789   \t\n\n\n##-+.eEsptensor\r\xff\x01:";
  for (uint64_t round = 0; round < 400; round++) {
    char text[2000];
    amped_sptensor t = {0};
    size_t length = amped_random_u64(9, round, 0) % 1900 + 1;
    const char *path = testing_path("garbage.tns");
    for (size_t i = 0; i < length; i++)
      text[i] = round % 2 == 0 ? "1 2 3 4\n"[i % 8]
                               : alphabet[amped_random_u64(9, round, i + 1) % sizeof alphabet];
    for (size_t i = 0; i < 3 && round % 2 == 0; i++)
      text[amped_random_u64(10, round, i) % length] =
          (char)(amped_random_u64(11, round, i) % (i == 0 ? 256 : 64));
    testing_write_file(path, text, length);
    amped_status status = amped_tns_read(path, &no_options, &t);
    ck_assert(status == AMPED_OK || status == AMPED_BAD_INPUT);
    if (status == AMPED_OK) {
      check_ok(amped_sptensor_validate(&t, path));
      amped_sptensor_free(&t);
    }
    amped_status_clear();
    unlink(path);
  }
  check_no_leak();
}

START_TEST(every_failed_allocation_is_survived) {
  amped_status status = AMPED_FAILED;
  for (int64_t k = 0; status != AMPED_OK; k++) {
    amped_sptensor t = {0};
    ck_assert_int_lt(k, 100);
    amped_mem_fail_at(k);
    status = read_text("3\n4 4 4\n1 2 3 4\n", &no_options, &t);
    amped_mem_fail_at(-1);
    if (status != AMPED_OK)
      ck_assert_int_eq(status, AMPED_FAILED);
    amped_sptensor_free(&t);
    amped_status_clear();
    check_no_leak();
  }
}

/* ---- out ---- */

START_TEST(what_is_written_reads_back_the_same) {
  static const char *const names[] = {"out.tns", "out.tns.gz", "out.tns.zst"};
  static const double values[] = {0.1,     -0.0,    DBL_MAX, 4.9e-324, 1e22, 9007199254740993.0,
                                  1.0 / 3, -2.5e-7, 3.0};
  uint64_t nnz = 50000;
  amped_sptensor t = {0};
  check_ok(amped_sptensor_create(&t, 5, nnz));
  for (int m = 0; m < 5; m++) {
    t.dims[m] = m == 4 ? AMPED_MAX_DIM : 1000;
    for (uint64_t k = 0; k < nnz; k++)
      t.indices[m][k] = amped_random_u64(12, (uint64_t)m, k) % t.dims[m];
  }
  t.indices[4][7] = AMPED_MAX_DIM - 1;
  for (uint64_t k = 0; k < nnz; k++)
    t.values[k] = k < 9 ? values[k] : amped_random_double(13, 0, k);
  for (size_t i = 0; i < 3; i++) {
    amped_sptensor back = {0};
    const char *path = testing_path(names[i]);
    check_ok(amped_tns_write(path, &t, false));
    check_ok(amped_tns_read(path, &no_options, &back));
    check_same(&back, &t);
    amped_sptensor_free(&back);
    unlink(path);
  }
  check_fails(AMPED_FAILED, "No such file", amped_tns_write("no/such/out.tns", &t, false));
  amped_sptensor_free(&t);
  check_no_leak();
}

START_TEST(written_text_is_plain) {
  amped_sptensor t = {0};
  char text[200] = "";
  const char *path = testing_path("plain.tns");
  check_ok(read_text("# dims: 4 5 6\n2 1 3 1.50\n1 2 3 -4\n", &no_options, &t));
  check_ok(amped_tns_write(path, &t, false));
  FILE *file = fopen(path, "r");
  ck_assert_uint_gt(fread(text, 1, sizeof text - 1, file), 0);
  (void)fclose(file);
  ck_assert_str_eq(text, "# dims: 4 5 6\n# nnz: 2\n# base: 1\n2 1 3 1.5\n1 2 3 -4\n");
  unlink(path);
  amped_sptensor_free(&t);
  check_no_leak();
}

/* ---- real tensors ---- */

START_TEST(real_tensors_have_their_recorded_sums) {
  static const struct {
    const char *name;
    int order;
    uint64_t dims[5]; /* largest indices */
    uint64_t nnz;
    double sum;
  } known[] = {{"uber-aprmay14.tns.gz", 4, {61, 24, 776, 1285}, 893450, 1216951.0},
               {"matmul-222.tns.gz", 3, {4, 4, 4}, 8, 8.0},
               {"nations.tns.gz", 3, {14, 55, 14}, 1992, 1992.0}};
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    const char *path = testing_data(known[i].name);
    amped_sptensor t = {0};
    double sum = 0.0;
    if (path == NULL)
      continue;
    check_ok(amped_tns_read(path, &no_options, &t));
    check_ok(amped_sptensor_validate(&t, path));
    ck_assert_int_eq(t.order, known[i].order);
    ck_assert_uint_eq(t.nnz, known[i].nnz);
    for (int m = 0; m < t.order; m++)
      ck_assert_uint_eq(t.dims[m], known[i].dims[m]);
    for (uint64_t k = 0; k < t.nnz; k++)
      sum += t.values[k]; /* whole numbers: exact */
    ck_assert(sum == known[i].sum);
    amped_sptensor_free(&t);
  }
  check_no_leak();
}

TESTING_MAIN("io_tns", any_number_of_threads_reads_what_the_slow_reader_reads,
             lines_may_end_anywhere_in_a_chunk, decimals_are_rounded_as_the_library_does,
             what_is_no_number_is_refused, printed_numbers_read_back_exactly_and_are_short,
             headers_of_all_dialects_are_understood, headers_of_all_kinds_are_no_nonzeros,
             a_first_line_is_read_as_what_it_is,
             a_first_line_is_read_as_what_it_is_when_memory_is_full, dense_tensors_lose_their_zeros,
             a_long_comment_in_a_dense_tensor_is_refused, options_override_the_file,
             bad_lines_are_named, the_first_of_several_bad_lines_is_named, absurd_lines_are_refused,
             garbage_does_no_harm, every_failed_allocation_is_survived,
             what_is_written_reads_back_the_same, written_text_is_plain,
             real_tensors_have_their_recorded_sums)
