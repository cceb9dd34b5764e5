/* Tables: comparison with a slow reader, quoting, label order, hostile input; and the interned
 * strings. */
#include <omp.h>

#include "text/intern.h"
#include "text/io_csv.h"
#include "text/io_table.h"
#include "base/log.h"
#include "base/random.h"
#include "tests/lib/testing.h"

static const amped_read_options no_options = {.index_base = AMPED_BASE_AUTO};

static amped_status read_bytes(const char *name, const char *text, size_t length,
                               const amped_read_options *options, amped_sptensor *t) {
  const char *path = testing_path(name);
  testing_write_file(path, text, length);
  amped_status status = amped_table_read(path, options, t);
  unlink(path);
  return status;
}

static amped_status read_csv(const char *text, const amped_read_options *options,
                             amped_sptensor *t) {
  return read_bytes("in.csv", text, strlen(text), options, t);
}

static void check_label(const amped_sptensor *t, int m, uint64_t i, const char *expected) {
  uint64_t length = 0;
  ck_assert_uint_lt(i, t->labels[m].count);
  const char *label = amped_label(&t->labels[m], i, &length);
  ck_assert_msg(length == strlen(expected) && memcmp(label, expected, length) == 0,
                "\"%.*s\" is not \"%s\"", (int)length, label, expected);
}

/* The key of nonzero k in mode m. */
static void check_key(const amped_sptensor *t, int m, uint64_t k, const char *expected) {
  check_label(t, m, t->indices[m][k], expected);
}

/* ---- quoting and columns ---- */

START_TEST(keys_become_labels_in_order_of_appearance) {
  amped_sptensor t = {0};
  amped_read_options o = {.value = "n"};
  o.index_base = AMPED_BASE_AUTO;
  check_ok(read_csv("\xef\xbb\xbfuser,item,n,week\r\n"
                    "bob,tea, 2.5 ,w1\r\n"
                    "\r\n"
                    "ann,\"a \"\"b\"\", c\",-1e2,\"w\r\n2\"\r\n"
                    "bob,-,+3,w1",
                    &o, &t));
  ck_assert_int_eq(t.order, 3);
  ck_assert_uint_eq(t.nnz, 3);
  ck_assert_str_eq(t.labels[0].name, "user");
  ck_assert_str_eq(t.labels[1].name, "item");
  ck_assert_str_eq(t.labels[2].name, "week");
  ck_assert_uint_eq(t.dims[0], 2);
  ck_assert_uint_eq(t.dims[1], 3);
  ck_assert_uint_eq(t.dims[2], 2);
  check_label(&t, 0, 0, "bob");
  check_label(&t, 0, 1, "ann");
  check_label(&t, 1, 0, "tea");
  check_label(&t, 1, 1, "a \"b\", c");
  check_label(&t, 1, 2, "-");
  check_label(&t, 2, 1, "w\r\n2");
  ck_assert_uint_eq(t.indices[0][2], 0);
  ck_assert(t.values[0] == 2.5 && t.values[1] == -100.0 && t.values[2] == 3.0);
  amped_sptensor_free(&t);
  check_no_leak();
}

START_TEST(tabs_split_and_quotes_are_data) {
  amped_sptensor t = {0};
  const char *text = "a\tb\tc\n\"x\ty,z\t\xc3\xa9\nu\ty,z\t\"\"\n";
  check_ok(read_bytes("in.tsv", text, strlen(text), &no_options, &t));
  check_label(&t, 0, 0, "\"x");
  check_label(&t, 1, 0, "y,z");
  check_label(&t, 2, 0, "\xc3\xa9");
  check_label(&t, 2, 1, "\"\"");
  ck_assert_uint_eq(t.dims[1], 1);
  ck_assert(t.values[0] == 1.0 && t.values[1] == 1.0);
  amped_sptensor_free(&t);
  check_no_leak();
}

START_TEST(keys_choose_columns_and_their_order) {
  amped_sptensor t = {0};
  amped_read_options o = {.index_base = AMPED_BASE_AUTO, .keys = "d,\"b,b\",a", .value = "c"};
  check_ok(read_csv("a,\"b,b\",c,d,e\n1,2,3,4,x\n5,6,7,8,y\n", &o, &t));
  ck_assert_int_eq(t.order, 3);
  ck_assert_str_eq(t.labels[1].name, "b,b");
  check_key(&t, 0, 1, "8");
  check_key(&t, 1, 1, "6");
  check_key(&t, 2, 1, "5");
  ck_assert(t.values[1] == 7.0);
  amped_sptensor_free(&t);
  check_no_leak();
}

START_TEST(empty_keys_are_refused_or_have_a_label) {
  amped_sptensor t = {0};
  const amped_read_options o = {.index_base = AMPED_BASE_AUTO, .empty = "none"};
  check_fails(AMPED_BAD_INPUT, "line 3: column \"b\": the key is empty",
              read_csv("a,b,c\nx,y,z\nx,\"\",z\n", &no_options, &t));
  check_ok(read_csv("a,b,c\n,,\nx,\"\",none\n", &o, &t));
  check_key(&t, 0, 0, "none");
  check_key(&t, 1, 1, "none");
  ck_assert_uint_eq(t.dims[2], 1);
  amped_sptensor_free(&t);
  check_no_leak();
}

START_TEST(the_first_row_tells_the_separator) {
  static const struct {
    const char *text;
    char said;
  } same[] = {{"a;b;c;n\n\"x;1\";y;z;2\n", 0},
              {"a\tb\tc\tn\r\n\"x;1\"\ty\tz\t2\r\n", 0},
              {"a;b;c;n\nx;1;y;z;2\n", ','},
              {"a|b|c|n\nx;1|y|z|2\n", '|'},
              {"a, b,c ,n\nx;1,y,z,2\n", 0}};
  for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
    amped_sptensor t = {0};
    amped_read_options o = {.index_base = AMPED_BASE_AUTO, .value = "n", .separator = same[i].said};
    if (same[i].said == ',') {
      check_fails(AMPED_BAD_INPUT, "no column \"n\"", read_csv(same[i].text, &o, &t));
      continue;
    }
    check_ok(read_csv(same[i].text, &o, &t));
    ck_assert_str_eq(t.labels[1].name, "b");
    ck_assert_str_eq(t.labels[2].name, "c");
    check_key(&t, 0, 0, "x;1");
    ck_assert(t.values[0] == 2.0);
    amped_sptensor_free(&t);
  }
  check_no_leak();
}

START_TEST(without_a_header_columns_have_numbers) {
  amped_sptensor t = {0};
  const amped_read_options o = {
      .index_base = AMPED_BASE_AUTO, .no_header = true, .keys = "2,1,4", .value = "3"};
  check_ok(read_csv("\r\n\nx,y,2,z\nx,v,3,z\n", &o, &t));
  ck_assert_uint_eq(t.nnz, 2);
  ck_assert_str_eq(t.labels[0].name, "2"); /* keys in another order keep their numbers */
  check_key(&t, 0, 0, "y");
  check_key(&t, 1, 1, "x");
  ck_assert(t.values[1] == 3.0);
  amped_sptensor_free(&t);
  check_fails(AMPED_BAD_INPUT, "line 2: 2 cells", read_csv("x,y,2,z\nx,v\n", &o, &t));
  check_no_leak();
}

START_TEST(values_are_not_taken_for_keys) {
  static const char *const refused[] = {"a,b,c,stars\nx,y,z,4.5\nx,y,w,-3\n",
                                        "a,b,c,Total Amount\nx,y,z, 4\n",
                                        "a,b,c,num_ratings\nx,y,z,4\n", "a,stars,b,c\nx,4,y,z\n"};
  static const char *const taken[] = {"a,b,c,stars\nx,y,z,4.5\nx,y,w,many\n",
                                      "a,stars,b,c\nx,4,y,z\nx,many,y,z\n",
                                      "a,b,c,countess\nx,y,z,4\n"};
  amped_sptensor t = {0};
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
    check_fails(AMPED_USAGE, "--value=", read_csv(refused[i], &no_options, &t));
  for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++) {
    check_ok(read_csv(taken[i], &no_options, &t));
    ck_assert_int_eq(t.order, 4);
    amped_sptensor_free(&t);
  }
  check_fails(AMPED_USAGE, "line 1 should name the columns, and 7 is a number; say --no-header",
              read_csv("x,y,7\nx,y,8\n", &no_options, &t));
  check_no_leak();
}

START_TEST(modes_share_labels_where_told) {
  amped_sptensor t = {0};
  amped_read_options o = {
      .index_base = AMPED_BASE_AUTO, .keys = "head,relation,tail", .same_labels = "tail,head"};
  check_ok(read_csv("head,relation,tail\na,of,b\nc,of,a\nb,of,d\n", &o, &t));
  ck_assert_uint_eq(t.dims[0], 4);
  ck_assert_uint_eq(t.dims[1], 1);
  ck_assert_uint_eq(t.dims[2], 4);
  for (int m = 0; m < 3; m += 2)
    for (uint64_t i = 0; i < 4; i++)
      check_label(&t, m, i, (const char *[]){"a", "b", "c", "d"}[i]);
  check_key(&t, 0, 2, "b");
  check_key(&t, 2, 1, "a");
  ck_assert_str_eq(t.labels[0].name, "head");
  ck_assert_str_eq(t.labels[2].name, "tail");
  amped_sptensor_free(&t);
  o.same_labels = "head";
  check_fails(AMPED_USAGE, "name two or more", read_csv("head,relation,tail\na,of,b\n", &o, &t));
  o.same_labels = "head,weight";
  check_fails(AMPED_USAGE, "\"weight\" is not a key; keys are head, relation, tail",
              read_csv("head,relation,tail\na,of,b\n", &o, &t));
  check_no_leak();
}

START_TEST(rows_of_a_coordinate_are_found) {
  static const char text[] = "a,b,c\nx,y,z\n\n\"x\n\",y,z\nx,y,w\nx,\"y\",z\nx,y,z\n";
  amped_sptensor t = {0};
  uint64_t lines[2] = {0, 0};
  const char *path = testing_path("rows.csv");
  testing_write_file(path, text, sizeof text - 1);
  check_ok(amped_table_read(path, &no_options, &t));
  check_ok(amped_table_lines(path, &no_options, &t, (const uint64_t[]){0, 0, 0}, lines));
  ck_assert_uint_eq(lines[0], 2);
  ck_assert_uint_eq(lines[1], 7);
  check_ok(amped_table_lines(path, &no_options, &t, (const uint64_t[]){0, 0, 1}, lines));
  ck_assert_uint_eq(lines[0], 6);
  ck_assert_uint_eq(lines[1], 0);
  unlink(path);
  amped_sptensor_free(&t);
  check_no_leak();
}

/* Random blanks around cells and around their quotes, line ends, a separator behind each row: the
 * tensor is the same. */
START_TEST(blanks_around_cells_are_no_part_of_them) {
  static const char *const blanks[] = {"", " ", "  ", "\t", " \t "};
  static const char *const cells[4][4] = {{"user", "item", "week", "n"},
                                          {"ann", "\" tea \"", "\"9, 10\"", "5"},
                                          {"\"ann\"", "a b", "11", "-3"},
                                          {"bob", "\"x\"\"y\"", "11", "0.25"}};
  static const struct {
    const char *name;
    char separator;
  } forms[] = {{"in.csv", ','}, {"in.csv", ';'}, {"in.csv", '|'}};
  for (uint64_t seed = 0; seed < 60; seed++) {
    const char separator = forms[seed % 3].separator;
    const bool trailing = seed / 3 % 2 == 1;
    char text[2000];
    char *p = text;
    amped_sptensor t = {0};
    const amped_read_options o = {
        .index_base = AMPED_BASE_AUTO, .value = "n", .separator = separator};
    for (uint64_t i = 0; i < 16; i++) {
      const uint64_t bits = amped_random_u64(seed, 1, i);
      p += sprintf(p, "%s%s%s", blanks[bits % 5], cells[i / 4][i % 4], blanks[bits / 5 % 5]);
      if (i % 4 < 3 || trailing)
        *p++ = separator;
      if (i % 4 == 3)
        p += sprintf(p, "%s", seed % 2 == 0 ? "\r\n" : "\n");
    }
    check_ok(read_bytes(forms[seed % 3].name, text, (size_t)(p - text), &o, &t));
    ck_assert_int_eq(t.order, 3);
    ck_assert_uint_eq(t.nnz, 3);
    ck_assert_str_eq(t.labels[1].name, "item");
    check_key(&t, 0, 0, "ann");
    check_key(&t, 0, 1, "ann");
    check_key(&t, 1, 0, " tea ");
    check_key(&t, 1, 1, "a b");
    check_key(&t, 1, 2, "x\"y");
    check_key(&t, 2, 0, "9, 10");
    ck_assert_uint_eq(t.dims[0], 2);
    ck_assert_double_eq(t.values[2], 0.25);
    amped_sptensor_free(&t);
  }
  check_no_leak();
}

START_TEST(bad_tables_are_named) {
  static const struct {
    const char *text;
    const char *keys;
    const char *value;
    amped_status status;
    const char *message;
  } cases[] = {
      {"a,b,c,n\nx,y,z,1\nx,y,1\n", NULL, "n", AMPED_BAD_INPUT, "line 3: 3 cells, but the header"},
      {"a,b,c,n\nx,y,z,1\nx,y,z,w,1\n", NULL, "n", AMPED_BAD_INPUT, "line 3: 5 cells"},
      {"a,b,c,n\nx,y,z,1\nx,y,z,\n", NULL, "n", AMPED_BAD_INPUT,
       "line 3: column \"n\": the value is empty"},
      {"a,b,c,n\nx,y,z,1\nx,y,z,1O\n", NULL, "n", AMPED_BAD_INPUT,
       "line 3: column \"n\": \"1O\" is not a finite number"},
      {"a,b,c,n\nx,y,z,nan\n", NULL, "n", AMPED_BAD_INPUT,
       "the value is nan; fill it in, or leave such rows out with --missing=skip"},
      {"a,b,c,n\nx,y,z,1e999\n", NULL, "n", AMPED_BAD_INPUT, "\"1e999\" is not a finite number"},
      {"a,b,c\n\"p\nq\",y,z\nx,y\"y,z\n", NULL, NULL, AMPED_BAD_INPUT,
       "line 4: a quote inside a cell"},
      {"a,b,c\nx,\"y\"y,z\n", NULL, NULL, AMPED_BAD_INPUT, "line 2: text after a closing quote"},
      {"a,b,c\nx,y,z\nx,\"y,z\n1,2,3\n", NULL, NULL, AMPED_BAD_INPUT,
       "line 3: the quote that opens here is never closed"},
      {"a,b,c\nx,y,z\nx,\xff,z\n", NULL, NULL, AMPED_BAD_INPUT,
       "line 3: column \"b\": \"\\xff\" is not UTF-8"},
      {"a,b\xc0\x80,c\nx,y,z\n", NULL, NULL, AMPED_BAD_INPUT, "line 1: column 2: its name is not"},
      {"a,b,c\n", NULL, NULL, AMPED_BAD_INPUT, "holds no rows"},
      {"a,b,c", NULL, NULL, AMPED_BAD_INPUT, "holds no rows"},
      {"\n", NULL, NULL, AMPED_BAD_INPUT, "line 1: 1 key columns"},
      {"a\nx\n", NULL, NULL, AMPED_BAD_INPUT, "line 1: 1 key columns; choose 2 to 8"},
      {"a,b\nx,1\n", NULL, "b", AMPED_BAD_INPUT, "line 1: 1 key columns; choose 2 to 8"},
      {"1,2,3,4,5,6,7,8,9\n", NULL, NULL, AMPED_BAD_INPUT, "9 key columns"},
      {"a,b,c\nx,y,z\n", "a,b,user", NULL, AMPED_BAD_INPUT,
       "no column \"user\"; --keys takes some of: a, b, c"},
      {"a,b,c\nx,y,z\n", NULL, "count", AMPED_BAD_INPUT,
       "no column \"count\"; --value takes some of: a, b, c"},
      {"a,b,b,c\nx,y,z,1\n", "a,b,c", NULL, AMPED_BAD_INPUT, "2 columns are called \"b\""},
      {"a,b,b,c\nx,y,z,1\n", NULL, NULL, AMPED_BAD_INPUT, "2 columns are called \"b\""},
      {"a, b ,\"b\",c\nx,y,z,1\n", NULL, NULL, AMPED_BAD_INPUT, "2 columns are called \"b\""},
      {"a,b,c,\nx,y,z,\nx,y,z,w\n", NULL, NULL, AMPED_BAD_INPUT,
       "line 3: cell 4 is not empty, but its column has no name"},
      {"a,b,c,\nx,y,z\n", NULL, NULL, AMPED_BAD_INPUT, "line 2: 3 cells, but the header has 4"},
      {"a,b,c\nx,  \t,z\n", NULL, NULL, AMPED_BAD_INPUT, "line 2: column \"b\": the key is empty"},
      {"a,b,c\nx,y,z\n", "b", NULL, AMPED_USAGE, "--keys names 1 columns"},
      {"a,b,c\nx,y,z\n", "a,b,a", NULL, AMPED_USAGE, "column \"a\" is named twice"},
      {"a,b,c\nx,y,z\n", "a,b,c", "c", AMPED_USAGE, "column \"c\" is also --value"},
      {"a,b,c\nx,y,z\n", "a,\"b,c", NULL, AMPED_USAGE, "--keys: the quote"},
      {"a,b,c\nx,y,z\n", "a,b\nc", NULL, AMPED_USAGE, "--keys: one line"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    amped_sptensor t = {0};
    amped_read_options o = {
        .index_base = AMPED_BASE_AUTO, .keys = cases[i].keys, .value = cases[i].value};
    check_fails(cases[i].status, cases[i].message, read_csv(cases[i].text, &o, &t));
  }
  check_no_leak();
}

/* A column of weights is no key; it may be read in place of the value, which is none either. */
START_TEST(a_column_of_weights_is_no_key) {
  static const char text[] = "a,b,w,c,n\nx,y,0.5,z,3\nx,y,2,q,4\n";
  amped_sptensor t = {0};
  amped_read_options o = {.index_base = AMPED_BASE_AUTO, .value = "n", .weights = "w"};
  check_ok(read_csv(text, &o, &t));
  ck_assert(t.order == 3 && t.values[0] == 3.0 && t.values[1] == 4.0);
  amped_sptensor_free(&t);
  o.reads_weights = true;
  check_ok(read_csv(text, &o, &t));
  ck_assert(t.order == 3 && t.dims[2] == 2 && t.values[0] == 0.5 && t.values[1] == 2.0);
  amped_sptensor_free(&t);
  o.weights = "v";
  check_fails(AMPED_BAD_INPUT, "no column \"v\"; --weights takes some of", read_csv(text, &o, &t));
  o.reads_weights = false; /* a table of --validate may lack them */
  check_ok(read_csv("a,b,c,n\nx,y,z,3\n", &o, &t));
  amped_sptensor_free(&t);
  o = (amped_read_options){
      .index_base = AMPED_BASE_AUTO, .keys = "a,b,w", .weights = "w", .reads_weights = true};
  check_fails(AMPED_USAGE, "also --weights", read_csv(text, &o, &t));
  check_no_leak();
}

START_TEST(zero_bytes_in_keys_are_refused) {
  static const char text[] = "a,b,c\nx,y,z\nx,\0y,z\n";
  amped_sptensor t = {0};
  check_fails(AMPED_BAD_INPUT, "line 3: column \"b\"",
              read_bytes("in.csv", text, sizeof text - 1, &no_options, &t));
  check_no_leak();
}

START_TEST(utf8_is_told_from_what_is_not) {
  static const char *const good[] = {"",
                                     "abc",
                                     "\xc2\x80",
                                     "\xe0\xa0\x80",
                                     "\xed\x9f\xbf",
                                     "\xf0\x90\x80\x80",
                                     "\xf4\x8f\xbf\xbf"};
  static const char *const bad[] = {
      "\x80", "\xc0\x80",         "\xc1\xbf",         "\xe0\x9f\xbf",     "\xed\xa0\x80",
      "\xc2", "\xf0\x8f\xbf\xbf", "\xf5\x80\x80\x80", "\xf4\x90\x80\x80", "\xe2\x82",
      "a\xff"};
  for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
    ck_assert(amped_csv_is_utf8(good[i], good[i] + strlen(good[i])));
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
    ck_assert_msg(!amped_csv_is_utf8(bad[i], bad[i] + strlen(bad[i])), "%zu", i);
}

/* ---- many rows ---- */

/* The string of a key, by its number; it has all characters that need quotes. */
static int key_text(char *out, uint64_t number) {
  static const char *const kinds[] = {"k%" PRIu64,           "\"%" PRIu64 "\"",
                                      "a,%" PRIu64,          "%" PRIu64 "\nb",
                                      "%" PRIu64 "\r\n\"\"", "\xe2\x82\xac%" PRIu64};
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  return sprintf(out, kinds[number % 6], number);
#pragma GCC diagnostic pop
}

static char *put_cell(char *p, const char *text, int length, bool quote) {
  quote = quote || strpbrk(text, "\",\r\n") != NULL;
  if (quote)
    *p++ = '"';
  for (int i = 0; i < length; i++) {
    if (text[i] == '"')
      *p++ = '"';
    *p++ = text[i];
  }
  if (quote)
    *p++ = '"';
  return p;
}

/* Row i has key numbers key(i, m): few distinct keys in mode 0, many in mode 1, all distinct in
 * mode 2. */
static uint64_t key(uint64_t i, int m) {
  return m == 2 ? i : amped_random_u64(3, (uint64_t)m, i) % (m == 0 ? 17 : 30000);
}

/* Labels are numbered in order of first appearance, for any number of threads. The slow reader
 * finds the number by counting. Chunks have 1, 2, 4, ... MiB, and rows have line ends and quotes,
 * so that chunks are cut at every kind of place. */
START_TEST(any_number_of_threads_numbers_the_same) {
  static const int threads[] = {1, 2, 7, 16};
  uint64_t rows = 120000;
  char *text = malloc(rows * 150);
  char *p = text + sprintf(text, "few,many,all,n\n");
  uint64_t *number[3];
  uint64_t count[3] = {0, 0, 0};
  for (int m = 0; m < 3; m++) {
    uint64_t *seen = calloc(rows, sizeof *seen);
    number[m] = malloc(rows * sizeof **number);
    for (uint64_t i = 0; i < rows; i++) {
      uint64_t k = key(i, m);
      if (seen[k] == 0)
        seen[k] = ++count[m];
      number[m][i] = seen[k] - 1;
    }
    free(seen);
  }
  for (uint64_t i = 0; i < rows; i++) {
    for (int m = 0; m < 3; m++) {
      char cell[64];
      int length = key_text(cell, key(i, m));
      p = put_cell(p, cell, length, amped_random_u64(4, (uint64_t)m, i) % 3 == 0);
      *p++ = ',';
    }
    p += sprintf(p, "%" PRIu64 "%s\n", i, i % 5 == 0 ? "\r" : "");
  }
  int before = omp_get_max_threads();
  for (size_t i = 0; i < sizeof threads / sizeof threads[0]; i++) {
    amped_sptensor t = {0};
    amped_read_options o = {.index_base = AMPED_BASE_AUTO, .value = "n"};
    omp_set_num_threads(threads[i]);
    check_ok(read_bytes("many.csv", text, (size_t)(p - text), &o, &t));
    ck_assert_uint_eq(t.nnz, rows);
    for (int m = 0; m < 3; m++) {
      ck_assert_uint_eq(t.dims[m], count[m]);
      ck_assert_mem_eq(t.indices[m], number[m], rows * sizeof **number);
      for (uint64_t k = 0; k < rows; k += 37) {
        char cell[64];
        (void)key_text(cell, key(k, m));
        check_key(&t, m, k, cell);
      }
    }
    for (uint64_t k = 0; k < rows; k++)
      ck_assert(t.values[k] == (double)k);
    amped_sptensor_free(&t);
  }
  omp_set_num_threads(before);
  for (int m = 0; m < 3; m++)
    free(number[m]);
  free(text);
  check_no_leak();
}

START_TEST(a_stray_quote_is_found_far_behind) {
  uint64_t rows = 300000;
  char *text = malloc(rows * 8 + 100);
  amped_sptensor t = {0};
  size_t n = (size_t)sprintf(text, "a,b,c\n");
  for (uint64_t i = 0; i < rows; i++, n += 6)
    memcpy(text + n, "x,y,z\n", 7);
  text[6 + 6 * 1000 + 3] = '"';
  check_fails(AMPED_BAD_INPUT, "line 1002: a ", read_bytes("stray.csv", text, n, &no_options, &t));
  text[6 + 6 * 2000 + 3] = '"';
  check_fails(AMPED_BAD_INPUT, "line 1002: a ", read_bytes("stray.csv", text, n, &no_options, &t));
  memset(text + 6 + 6 * 1000, 'k', 2u << 20);
  check_fails(AMPED_BAD_INPUT, "1 MiB", read_bytes("long.csv", text, n, &no_options, &t));
  free(text);
  check_no_leak();
}

START_TEST(garbage_does_no_harm) {
  static const char alphabet[] = "abc,,,,\"\"\n\n\r\t\xff\xc3\xa9\x01 1";
  amped_log_verbosity(AMPED_QUIET);
  for (uint64_t round = 0; round < 400; round++) {
    char text[2000];
    amped_sptensor t = {0};
    size_t length = amped_random_u64(9, round, 0) % 1900 + 20;
    size_t n = (size_t)sprintf(text, "a,b,c\n");
    for (; n < length; n++)
      text[n] = round % 2 == 0 ? "x,\"y\",z\n"[n % 8]
                               : alphabet[amped_random_u64(9, round, n) % sizeof alphabet];
    for (size_t i = 0; i < 3 && round % 2 == 0; i++)
      text[amped_random_u64(10, round, i) % length] = (char)(amped_random_u64(11, round, i) % 256);
    amped_status status = read_bytes("garbage.csv", text, length, &no_options, &t);
    ck_assert(status == AMPED_OK || status == AMPED_BAD_INPUT);
    if (status == AMPED_OK)
      check_ok(amped_sptensor_validate(&t, "garbage"));
    amped_sptensor_free(&t);
    amped_status_clear();
  }
  check_no_leak();
}

START_TEST(every_failed_allocation_is_survived) {
  amped_status status = AMPED_FAILED;
  for (int64_t k = 0; status != AMPED_OK; k++) {
    amped_sptensor t = {0};
    amped_read_options o = {.index_base = AMPED_BASE_AUTO, .keys = "c,b,a", .value = "n"};
    ck_assert_int_lt(k, 200);
    amped_mem_fail_at(k);
    status = read_csv("a,b,c,n\nx,\"y\"\"\",z,1\nx,v,w,2\n", &o, &t);
    amped_mem_fail_at(-1);
    if (status != AMPED_OK)
      ck_assert_int_eq(status, AMPED_FAILED);
    amped_sptensor_free(&t);
    amped_status_clear();
    check_no_leak();
  }
}

/* ---- interned strings ---- */

START_TEST(strings_are_numbered_as_they_come) {
  amped_intern in = {0};
  for (uint64_t round = 0; round < 2; round++) {
    for (uint64_t i = 0; i < 200000; i++) {
      char text[32];
      uint64_t id = 0;
      uint64_t k = i % 100000;
      uint64_t length = (uint64_t)sprintf(text, "%" PRIu64, k * k);
      uint64_t hash = amped_intern_hash(text, length);
      if (i == k)
        ck_assert_uint_eq(amped_intern_find(&in, hash, text, length), AMPED_INTERN_NONE);
      check_ok(amped_intern_add(&in, hash, text, length, &id));
      ck_assert_uint_eq(id, k);
      ck_assert_uint_eq(amped_intern_find(&in, hash, text, length), k);
    }
    ck_assert_uint_eq(in.count, 100000);
    if (round == 0)
      amped_intern_clear(&in);
  }
  amped_labels labels = {0};
  uint64_t length = 0;
  check_ok(amped_intern_take(&in, &labels));
  ck_assert_uint_eq(labels.count, 100000);
  const char *label = amped_label(&labels, 99999, &length);
  ck_assert_uint_eq(length, 10);
  ck_assert_mem_eq(label, "9999800001", 10);
  amped_labels_free(&labels);
  amped_intern_free(&in);
  check_no_leak();
}

START_TEST(equal_hashes_do_not_make_equal_strings) {
  amped_intern in = {0};
  uint64_t id = 9;
  check_ok(amped_intern_add(&in, 7, "abc", 3, &id));
  check_ok(amped_intern_add(&in, 7, "abd", 3, &id));
  ck_assert_uint_eq(id, 1);
  check_ok(amped_intern_add(&in, 7, "ab", 2, &id));
  ck_assert_uint_eq(id, 2);
  ck_assert_uint_eq(amped_intern_find(&in, 7, "abd", 3), 1);
  ck_assert_uint_eq(amped_intern_find(&in, 7, "x", 1), AMPED_INTERN_NONE);
  amped_intern_free(&in);
  check_no_leak();
}

TESTING_MAIN("io_table", keys_become_labels_in_order_of_appearance, tabs_split_and_quotes_are_data,
             keys_choose_columns_and_their_order, empty_keys_are_refused_or_have_a_label,
             the_first_row_tells_the_separator, without_a_header_columns_have_numbers,
             values_are_not_taken_for_keys, modes_share_labels_where_told,
             rows_of_a_coordinate_are_found, blanks_around_cells_are_no_part_of_them,
             bad_tables_are_named, a_column_of_weights_is_no_key, zero_bytes_in_keys_are_refused,
             utf8_is_told_from_what_is_not, any_number_of_threads_numbers_the_same,
             a_stray_quote_is_found_far_behind, garbage_does_no_harm,
             every_failed_allocation_is_survived, strings_are_numbered_as_they_come,
             equal_hashes_do_not_make_equal_strings)
