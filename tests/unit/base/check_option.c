/* Typed rows of options: every type, ranges, malformed values, defaults; and all rows there are. */
#include <limits.h>
#include <math.h>

#include "base/option.h"
#include "cli/commands.h"
#include "cli/option_rules.h"
#include "generate/paper_shapes.h"
#include "tests/lib/testing.h"

typedef enum colour { RED, GREEN, BLUE = 7 } colour;

typedef struct sample {
  bool flag;
  colour colour;
  int number;
  uint64_t count;
  uint64_t bytes;
  double real;
  colour word;
  bool second;
  const char *name;
  const char *text;
  amped_text_list texts;
  int pair[2];
} sample;

static bool parse_pair(void *options, const char *text) {
  sample *s = options;
  return sscanf(text, "%dx%d", &s->pair[0], &s->pair[1]) == 2;
}

enum { FLAG, ON, INT, COUNT, BYTES, REAL, WORD, BOOL, NAME, TEXT, TEXTS, CUSTOM, ROWS };

static const amped_option rows[ROWS] = {
    [FLAG] = {.name = "flag", .type = AMPED_OPTION_FLAG, AMPED_OPTION_FIELD(sample, flag)},
    [ON] = {.name = "on",
            .type = AMPED_OPTION_FLAG,
            .on = BLUE,
            .unsaid = GREEN,
            AMPED_OPTION_FIELD(sample, colour)},
    [INT] = {.name = "int",
             .type = AMPED_OPTION_INT,
             .least = 2,
             .most = 1000,
             .value = "N",
             .help = "a number",
             .initial = "5",
             AMPED_OPTION_FIELD(sample, number)},
    [COUNT] = {.name = "count",
               .type = AMPED_OPTION_COUNT,
               .unsaid = 3.0,
               .value = "N",
               .help = "a count",
               AMPED_OPTION_FIELD(sample, count)},
    [BYTES] = {.name = "bytes",
               .type = AMPED_OPTION_BYTES,
               .least = 1024,
               .value = "SIZE",
               .help = "a size",
               .initially = "what there is",
               AMPED_OPTION_FIELD(sample, bytes)},
    [REAL] = {.name = "real",
              .type = AMPED_OPTION_REAL,
              .least = 0.5,
              .most = 1e6,
              .unsaid = -1.0,
              .value = "X",
              AMPED_OPTION_FIELD(sample, real)},
    [WORD] = {.name = "word",
              .type = AMPED_OPTION_WORD,
              .words = AMPED_OPTION_WORDS("red", "green", "blue"),
              .numbers = AMPED_OPTION_NUMBERS(RED, GREEN, BLUE),
              .help = "a colour",
              .initial = "blue",
              .initially = "blue: as the sky",
              AMPED_OPTION_FIELD(sample, word)},
    [BOOL] = {.name = "bool",
              .type = AMPED_OPTION_WORD,
              .words = AMPED_OPTION_WORDS("first", "second"),
              AMPED_OPTION_FIELD(sample, second)},
    [NAME] = {.name = "name",
              .type = AMPED_OPTION_NAME,
              .words = AMPED_OPTION_WORDS("one"),
              .initial = "one",
              AMPED_OPTION_FIELD(sample, name)},
    [TEXT] = {.name = "text",
              .type = AMPED_OPTION_TEXT,
              .value = "FILE",
              .once = true,
              AMPED_OPTION_FIELD(sample, text)},
    [TEXTS] = {.name = "texts",
               .type = AMPED_OPTION_TEXTS,
               .value = "FILE",
               .help = "more files",
               .initially = "none",
               AMPED_OPTION_FIELD(sample, texts)},
    [CUSTOM] = {.name = "pair",
                .type = AMPED_OPTION_CUSTOM,
                .parse = parse_pair,
                .value = "AxB",
                .initial = "3x4",
                .expected_text = "two numbers"},
};

/* A field that says it was not touched. */
static sample untouched(void) {
  return (sample){.number = -9, .count = 99, .bytes = 99, .real = 0.25, .word = GREEN};
}

static bool sets(int row, sample *s, const char *text) {
  return amped_option_set(&rows[row], s, text);
}

START_TEST(whole_numbers_have_suffixes_and_bounds) {
  sample s = untouched();
  static const char *const wrong[] = {"",   "1",  "1001", "2K",          "-3",
                                      "x",  "3x", "3.5",  "99999999999", "99999999999999999999999",
                                      "3 ", " 3", "1e9K"};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
    ck_assert_msg(!sets(INT, &s, wrong[i]), "'%s' was taken", wrong[i]);
  ck_assert_int_eq(s.number, -9);
  ck_assert(sets(INT, &s, "2") && s.number == 2);
  ck_assert(sets(INT, &s, "1K") && s.number == 1000);
}

START_TEST(integers_end_with_their_type) {
  int n = 7;
  ck_assert(amped_parse_int("2147483647", 0, INT_MAX, &n) && n == INT_MAX);
  ck_assert(!amped_parse_int("2147483648", 0, INT_MAX, &n) && n == INT_MAX);
}

START_TEST(counts_have_powers_of_1000) {
  sample s = untouched();
  ck_assert(sets(COUNT, &s, "0") && s.count == 0);
  ck_assert(sets(COUNT, &s, "1M") && s.count == 1000000);
  ck_assert(sets(COUNT, &s, "1.5k") && s.count == 1500);
  ck_assert(sets(COUNT, &s, "18446744073709551615") && s.count == UINT64_MAX);
  ck_assert(!sets(COUNT, &s, "18446744073709551616"));
  ck_assert(!sets(COUNT, &s, "10E") && !sets(COUNT, &s, "1Z") && !sets(COUNT, &s, "1KiB"));
  ck_assert(!sets(COUNT, &s, "0.5") && !sets(COUNT, &s, "-1") && !sets(COUNT, &s, "+1"));
  ck_assert(!sets(COUNT, &s, "nan") && !sets(COUNT, &s, "inf"));
  ck_assert_uint_eq(s.count, UINT64_MAX);
}

START_TEST(sizes_have_powers_of_1024) {
  sample s = untouched();
  ck_assert(!sets(BYTES, &s, "1023") && s.bytes == 99);
  ck_assert(sets(BYTES, &s, "1024") && s.bytes == 1024);
  ck_assert(sets(BYTES, &s, "512M") && s.bytes == UINT64_C(512) << 20);
  ck_assert(sets(BYTES, &s, "1.5GiB") && s.bytes == UINT64_C(3) << 29);
  ck_assert(sets(BYTES, &s, "2tb") == false && sets(BYTES, &s, "2tB"));
  ck_assert_uint_eq(s.bytes, UINT64_C(2) << 40);
  ck_assert(!sets(BYTES, &s, "8E") && !sets(BYTES, &s, "1GiBx") && !sets(BYTES, &s, ""));
  ck_assert_uint_eq(s.bytes, UINT64_C(2) << 40);
}

START_TEST(reals_have_bounds) {
  sample s = untouched();
  ck_assert(!sets(REAL, &s, "0.4") && !sets(REAL, &s, "1000001") && !sets(REAL, &s, "nan"));
  ck_assert(!sets(REAL, &s, "inf") && !sets(REAL, &s, "") && !sets(REAL, &s, "1s"));
  ck_assert(s.real == 0.25);
  ck_assert(sets(REAL, &s, "5e-1") && s.real == 0.5);
  ck_assert(sets(REAL, &s, "1e6") && s.real == 1e6);
}

START_TEST(words_stand_for_their_numbers) {
  sample s = untouched();
  ck_assert(!sets(WORD, &s, "yellow") && !sets(WORD, &s, "") && !sets(WORD, &s, "redd"));
  ck_assert_int_eq(s.word, GREEN);
  ck_assert(sets(WORD, &s, "blue") && s.word == BLUE);
  ck_assert(sets(BOOL, &s, "second") && s.second);
  ck_assert(sets(BOOL, &s, "first") && !s.second);
  ck_assert(!sets(NAME, &s, "two") && s.name == NULL);
  ck_assert(sets(NAME, &s, "one"));
  ck_assert_str_eq(s.name, "one");
}

START_TEST(flags_texts_and_lists_set_their_fields) {
  sample s = untouched();
  ck_assert(sets(FLAG, &s, "") && s.flag);
  ck_assert(sets(ON, &s, "") && s.colour == BLUE);
  ck_assert(!sets(TEXT, &s, "") && s.text == NULL);
  ck_assert(sets(TEXT, &s, "-"));
  ck_assert_str_eq(s.text, "-");
  ck_assert(!sets(CUSTOM, &s, "5"));
  ck_assert(sets(CUSTOM, &s, "5x6") && s.pair[0] == 5 && s.pair[1] == 6);
}

START_TEST(texts_of_a_list_add_up_until_it_is_full) {
  sample s = untouched();
  ck_assert(!sets(TEXTS, &s, "") && s.texts.count == 0);
  for (int i = 0; i < AMPED_MAX_TEXTS; i++)
    ck_assert(sets(TEXTS, &s, i == 1 ? "second" : "other") && s.texts.count == i + 1);
  ck_assert_str_eq(s.texts.texts[1], "second");
  ck_assert(!sets(TEXTS, &s, "more") && s.texts.count == AMPED_MAX_TEXTS);
}

START_TEST(defaults_are_what_rows_say) {
  sample s;
  memset(&s, 0, sizeof s);
  for (int i = 0; i < ROWS; i++)
    amped_option_default(&rows[i], &s);
  ck_assert(!s.flag && s.colour == GREEN && s.number == 5 && s.count == 3 && s.bytes == 0);
  ck_assert(s.real == -1.0 && s.word == BLUE && !s.second && s.text == NULL);
  ck_assert_str_eq(s.name, "one");
  ck_assert(s.pair[0] == 3 && s.pair[1] == 4);
}

START_TEST(users_are_told_what_rows_hold) {
  char text[AMPED_OPTION_CHARS];
  ck_assert_str_eq(amped_option_value(&rows[FLAG], text), "");
  ck_assert_str_eq(amped_option_value(&rows[INT], text), "N");
  ck_assert_str_eq(amped_option_value(&rows[WORD], text), "red|green|blue");
  ck_assert_str_eq(amped_option_help(&rows[INT], text), "a number [5]");
  ck_assert_str_eq(amped_option_help(&rows[COUNT], text), "a count");
  ck_assert_str_eq(amped_option_help(&rows[BYTES], text), "a size [what there is]");
  ck_assert_str_eq(amped_option_help(&rows[TEXTS], text),
                   "more files; repeat the option for more [none]");
  ck_assert_str_eq(amped_option_expected(&rows[TEXTS], text), "a file's name");
  ck_assert_str_eq(amped_option_help(&rows[WORD], text), "a colour [blue: as the sky]");
  ck_assert_str_eq(amped_option_expected(&rows[INT], text), "a whole number from 2 to 1000");
  ck_assert_str_eq(amped_option_expected(&rows[COUNT], text), "a whole number");
  ck_assert_str_eq(amped_option_expected(&rows[REAL], text), "a number from 0.5 to 1000000");
  ck_assert_str_eq(amped_option_expected(&rows[WORD], text), "red, green or blue");
  ck_assert_str_eq(amped_option_expected(&rows[NAME], text), "one");
  ck_assert_str_eq(amped_option_expected(&rows[TEXT], text), "a file's name");
  ck_assert_str_eq(amped_option_expected(&rows[CUSTOM], text), "two numbers");
}

/* Bytes that a type's field has; two sizes where it may be an enum or a bool. */
static bool is_size_of(const amped_option *row) {
  switch (row->type) {
  case AMPED_OPTION_FLAG:
  case AMPED_OPTION_WORD:
    return row->size == sizeof(bool) || row->size == sizeof(colour);
  case AMPED_OPTION_INT:
    return row->size == sizeof(int);
  case AMPED_OPTION_COUNT:
  case AMPED_OPTION_BYTES:
    return row->size == sizeof(uint64_t);
  case AMPED_OPTION_REAL:
    return row->size == sizeof(double);
  case AMPED_OPTION_NAME:
  case AMPED_OPTION_TEXT:
    return row->size == sizeof(char *);
  case AMPED_OPTION_TEXTS:
    return row->size == sizeof(amped_text_list) && row->initial == NULL;
  case AMPED_OPTION_CUSTOM:
    return row->parse != NULL;
  }
  return false;
}

/* Options that differ from command to command; no command has two of one name (tests/cli/cli.sh).
 */
static const char *const of_several[] = {"init",   "method",   "block", "memory", "nonnegative",
                                         "copies", "observed", "order", "for",    "cold",
                                         "by",     "time",     "loss"};

static bool are_apart(const amped_option *a, const amped_option *b) {
  for (size_t i = 0; i < sizeof of_several / sizeof *of_several; i++)
    if (strcmp(a->name, of_several[i]) == 0)
      return true;
  return strcmp(a->name, b->name) != 0 && (a->letter == 0 || a->letter != b->letter);
}

START_TEST(every_row_of_the_program_is_whole) {
  const amped_option *all[AMPED_MAX_OPTIONS];
  int count = amped_options_rows(NULL, all, 0);
  amped_options o;
  amped_command_default(amped_command_find("cpd"), &o);
  ck_assert_int_gt(count, 50);
  for (int i = 0; i < count; i++) {
    const amped_option *row = all[i];
    char text[AMPED_OPTION_CHARS];
    const bool is_flag = row->type == AMPED_OPTION_FLAG;
    ck_assert_msg(is_size_of(row), "--%s: the field's size", row->name);
    ck_assert_msg(row->initial == NULL || amped_options_set(&o, row, row->initial),
                  "--%s=%s is not taken", row->name, row->initial);
    ck_assert_msg(strlen(amped_option_help(row, text)) + 1 < sizeof text, "--%s: help", row->name);
    ck_assert_msg(is_flag == (*amped_option_value(row, text) == '\0'), "--%s: value", row->name);
    ck_assert_msg(is_flag == (*amped_option_expected(row, text) == '\0'), "--%s: expected",
                  row->name);
    ck_assert_msg(is_flag || row->type == AMPED_OPTION_COUNT || !amped_options_set(&o, row, ""),
                  "--%s takes an empty value", row->name);
    for (int w = 0; row->words != NULL && row->words[w] != NULL; w++)
      ck_assert_msg(amped_options_set(&o, row, row->words[w]), "--%s=%s", row->name, row->words[w]);
    for (int j = 0; j < i; j++)
      ck_assert_msg(are_apart(row, all[j]), "--%s and --%s", row->name, all[j]->name);
  }
}

/* Has the command an option of the term, with its value as a word or a number? */
static bool has_term(const amped_command *command, const char *term, size_t length) {
  const amped_option *all[AMPED_MAX_OPTIONS];
  const char *equals = memchr(term, '=', length);
  const size_t name = equals != NULL ? (size_t)(equals - term) : length;
  const int count = amped_command_rows(command, all);
  char word[64] = "";
  if (equals != NULL)
    (void)snprintf(word, sizeof word, "%.*s", (int)(length - name - 1), equals + 1);
  for (int i = 0; i < count; i++)
    if (strlen(all[i]->name) == name && strncmp(all[i]->name, term, name) == 0)
      return equals == NULL || all[i]->words == NULL || amped_parse_word(word, all[i]->words) >= 0;
  return false;
}

/* Does every term name an option of a command of the list? */
static void check_terms(const char *commands, const char *terms) {
  for (const char *at = terms; at != NULL && *at != '\0';) {
    const size_t length = strcspn(at, "|");
    bool found = *at >= 'A' && *at <= 'Z';
    for (const amped_command *c = amped_commands; c->name != NULL; c++)
      found = found ||
              ((commands == NULL || strstr(commands, c->name) != NULL) && has_term(c, at, length));
    ck_assert_msg(found, "%.*s of %s", (int)length, at, commands != NULL ? commands : "any");
    at += length + (at[length] == '|');
  }
}

START_TEST(every_rule_names_options_that_exist) {
  for (const amped_option_rule *r = amped_option_rules; r->why != NULL; r++) {
    ck_assert_msg(r->needs == NULL || r->excludes == NULL, "%s", r->why);
    ck_assert_msg(r->when != NULL || r->needs != NULL, "%s", r->why);
    check_terms(r->command, r->when);
    check_terms(r->command, r->needs);
    check_terms(r->command, r->excludes);
  }
  for (const amped_option_default_row *d = amped_option_defaults; d->command != NULL; d++) {
    check_terms(d->command, d->option);
    check_terms(d->command, d->when);
  }
  for (const amped_command *c = amped_commands; c->name != NULL; c++) {
    amped_options o;
    amped_command_default(c, &o); /* it takes the command's own defaults */
    ck_assert(o.command == c);
    for (const amped_option_text *t = c->texts; t != NULL && t->name != NULL; t++)
      check_terms(c->name, t->name);
  }
}

START_TEST(options_begin_as_the_manual_says) {
  amped_options o;
  amped_command_default(amped_command_find("cpd"), &o);
  ck_assert(o.session.ncomps == 32 && o.session.ncomps_count == 1 &&
            o.session.ncomps_list[0] == 32 && o.session.starts == 1);
  ck_assert(o.session.precision == AMPED_F32 && o.session.readers == AMPED_READERS_AUTO &&
            !o.session.plan_only);
  ck_assert(o.session.init == NULL && o.session.trace == NULL && o.session.hang_timeout == 0.0);
  ck_assert(o.session.shape.name == NULL && o.session.shape.scale == 1.0 &&
            o.session.shape.nnz == 0 && o.session.shape.skew_count == 0 &&
            o.session.shape.values == AMPED_VALUES_AS_SHAPE);
  ck_assert(o.session.plan.placement == AMPED_PLACEMENT_GREEDY && o.session.plan.parts == 0);
  ck_assert_str_eq(o.session.backend.name, "auto");
  ck_assert(o.session.backend.residency == AMPED_RESIDENCY_AUTO &&
            o.session.backend.device_memory == 0 && o.session.backend.tile_bytes == 0 &&
            strcmp(o.session.backend.format, "sorted") == 0);
  ck_assert(o.cpd.iters == 50 && o.cpd.tol == 1e-5 && !o.cpd.corcondia);
  ck_assert(o.checkpoint.file == NULL && o.checkpoint.every_sweeps == 0 &&
            o.checkpoint.every_sec == 0.0 && !o.checkpoint.resume);
  ck_assert(o.read.index_base == AMPED_BASE_AUTO && o.read.dims_order == 0 && o.read.keys == NULL);
  ck_assert(o.log.verbosity == AMPED_NORMAL && o.log.progress == AMPED_PROGRESS_AUTO);
  ck_assert(o.read.duplicates == AMPED_DUPLICATES_UNKNOWN && !o.convert.no_copies &&
            o.convert.memory == 0);
  ck_assert(o.seed == 1 && o.threads == 0 && o.top == 10 && o.repeat == 5 && o.json == NULL);
  ck_assert(o.generate.planted == 0 && o.generate.noise == 0.0 && !o.info.system);
}

/* Set an option of the program by its name. */
static bool says(amped_options *o, const char *name, const char *text) {
  const amped_option *all[AMPED_MAX_OPTIONS];
  int count = amped_options_rows(NULL, all, 0);
  for (int i = 0; i < count; i++)
    if (strcmp(all[i]->name, name) == 0)
      return amped_options_set(o, all[i], text);
  ck_abort_msg("no option --%s", name);
  return false;
}

START_TEST(lists_and_mixed_values_are_parsed) {
  amped_options o;
  amped_command_default(amped_command_find("cpd"), &o);
  ck_assert(says(&o, "rank", "4,16,8") && o.session.ncomps == 16 && o.session.ncomps_count == 3 &&
            o.session.ncomps_list[2] == 8);
  ck_assert(!says(&o, "rank", "4,4") && !says(&o, "rank", "4,") && !says(&o, "rank", ",4"));
  ck_assert(!says(&o, "rank", "1025") && !says(&o, "rank", "0"));
  ck_assert(says(&o, "dims", "10x2K,30") && o.read.dims_order == 3 && o.read.dims[1] == 2000);
  ck_assert(!says(&o, "dims", "3") && !says(&o, "dims", "1x2x0") && !says(&o, "dims", "1x2x"));
  ck_assert(!says(&o, "dims", "1x2x3x4x5x6x7x8x9"));
  ck_assert(says(&o, "skew", "0,10,0.5") && o.session.shape.skew_count == 3);
  ck_assert(!says(&o, "skew", "11") && !says(&o, "skew", "1,") && !says(&o, "skew", "1x2"));
  ck_assert(says(&o, "checkpoint-every", "600s") && o.checkpoint.every_sec == 600.0 &&
            o.checkpoint.every_sweeps == 0);
  ck_assert(says(&o, "checkpoint-every", "7") && o.checkpoint.every_sec == 0.0 &&
            o.checkpoint.every_sweeps == 7);
  ck_assert(!says(&o, "checkpoint-every", "5m") && !says(&o, "checkpoint-every", "0") &&
            !says(&o, "checkpoint-every", "0s") && !says(&o, "checkpoint-every", "infs"));
  ck_assert(says(&o, "overlap", "off") && o.session.plan.parts == 1);
  ck_assert(says(&o, "overlap", "8") && o.session.plan.parts == 8);
  ck_assert(!says(&o, "overlap", "1") && !says(&o, "overlap", "9"));
  ck_assert(says(&o, "tiles", "off") && o.session.backend.tile_bytes == UINT64_MAX);
  ck_assert(says(&o, "tiles", "16M") && o.session.backend.tile_bytes == UINT64_C(16) << 20);
  ck_assert(!says(&o, "tiles", "0") && !says(&o, "tiles", "on"));
  ck_assert(says(&o, "init", "a.h5"));
  ck_assert_str_eq(o.session.init, "a.h5");
  ck_assert(says(&o, "init", "random") && o.session.init == NULL);
  ck_assert(!says(&o, "trace", "-") && says(&o, "trace", "t.json"));
  ck_assert(says(&o, "quiet", "") && o.log.verbosity == AMPED_QUIET);
  ck_assert(says(&o, "verbose", "") && o.log.verbosity == AMPED_VERBOSE);
  ck_assert(!says(&o, "memory", "1023K") && says(&o, "memory", "1M"));
}

START_TEST(shapes_that_the_shell_offers_are_there) {
  for (const char *const *name = amped_shape_option_rows.rows[0].words; *name != NULL; name++) {
    amped_shape shape;
    check_ok(amped_shape_get(*name, 1.0, 0, &shape));
  }
}

TESTING_MAIN("option", whole_numbers_have_suffixes_and_bounds, integers_end_with_their_type,
             counts_have_powers_of_1000, sizes_have_powers_of_1024, reals_have_bounds,
             words_stand_for_their_numbers, flags_texts_and_lists_set_their_fields,
             texts_of_a_list_add_up_until_it_is_full, defaults_are_what_rows_say,
             users_are_told_what_rows_hold, every_row_of_the_program_is_whole,
             every_rule_names_options_that_exist, options_begin_as_the_manual_says,
             lists_and_mixed_values_are_parsed, shapes_that_the_shell_offers_are_there)
