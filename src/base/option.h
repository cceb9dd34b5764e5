/* Option: one row of the command line's options: name, type, range, help, and the field of a struct
 * that it sets.
 *
 * Every folder owns a struct of its options and the rows that fill it, in a file of its own (for
 * example plan/plan_options.h). Rows that commands use together are a group. The command line joins
 * groups (cli/options.h); --help, the messages about wrong values and the completion of the shell
 * come from the same rows.
 *
 *   static const amped_option rows[] = {
 *       {.name = "starts",
 *        .type = AMPED_OPTION_INT,
 *        .value = "K",
 *        .help = "random starts, of seeds --seed, --seed + 1, ...",
 *        .initial = "1",
 *        .least = 1,
 *        .most = AMPED_MAX_STARTS,
 *        AMPED_OPTION_FIELD(amped_session_options, starts)},
 *   };
 *   const amped_option_group amped_start_option_rows = AMPED_OPTION_GROUP(rows);
 *
 * If the user gives an option twice, the row decides: texts of TEXTS add up, a row with `once` is
 * refused, and of all others the last value counts.
 *
 * Invariants, tested by tests/unit/base/check_option.c: a field has the size that its type needs;
 * `initial` is a value that the row itself accepts; the texts of a row fit in AMPED_OPTION_CHARS.
 * Rows are constants. Texts that a field keeps are borrowed from the caller or from the row. */
#ifndef AMPED_OPTION_H
#define AMPED_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum amped_option_type {
  AMPED_OPTION_FLAG,  /* takes no value; sets a bool to true, or an enum to `on` */
  AMPED_OPTION_INT,   /* int; a whole number, with suffixes as for COUNT */
  AMPED_OPTION_COUNT, /* uint64_t; K, M, G, ... are powers of 1000 */
  AMPED_OPTION_BYTES, /* uint64_t; K, M, G, ... are powers of 1024 */
  AMPED_OPTION_REAL,  /* double */
  AMPED_OPTION_WORD,  /* int, enum or bool; a word of `words` stands for its number */
  AMPED_OPTION_NAME,  /* const char *; a word of `words`, kept as text */
  AMPED_OPTION_TEXT,  /* const char *; any nonempty text */
  AMPED_OPTION_TEXTS, /* amped_text_list; nonempty texts, one per use of the option */
  AMPED_OPTION_CUSTOM /* `parse` sets fields of the struct: for lists, and values of two kinds */
} amped_option_type;

/* Texts of an option that adds up, in the user's order. Borrowed. */
#define AMPED_MAX_TEXTS 32
typedef struct amped_text_list {
  int count;
  const char *texts[AMPED_MAX_TEXTS];
} amped_text_list;

typedef struct amped_option {
  const char *name; /* without dashes */
  char letter;      /* 0: none */
  amped_option_type type;
  size_t offset, size; /* place of the field: AMPED_OPTION_FIELD; unused by CUSTOM */

  /* Allowed values. */
  double least, most;       /* bounds of INT, COUNT, BYTES and REAL, up to 2^53; most 0: no bound */
  const char *const *words; /* NULL-ended; TEXT and CUSTOM: some of the values, for the shell */
  bool once;                /* a second use is refused: for names of files, modes and labels */
  const int *numbers;       /* numbers of WORD's words; NULL: 0, 1, ... */
  int on;                   /* value that FLAG stores in an enum */
  /* Returns false if the text is malformed or out of range; fields are then undefined. */
  bool (*parse)(void *options, const char *text);

  /* Default: `initial`, in the user's notation. If it is NULL, a number becomes `unsaid`, and
   * anything else stays zero. */
  const char *initial;
  double unsaid;

  /* Value if the user gives the option without one. NULL: a value is required. */
  const char *bare;

  /* Texts for the user. */
  const char *value;         /* name of the value in --help; NULL: the words */
  const char *help;          /* one sentence, without its default */
  const char *initially;     /* the default in --help; NULL: `initial` */
  const char *expected_text; /* expected form, for messages about wrong values; NULL: from type,
                                range and words */
} amped_option;

typedef struct amped_option_group {
  const amped_option *rows;
  int count;
} amped_option_group;

/* Parts of a row, and a group of an array of rows. */
#define AMPED_OPTION_FIELD(type, field)                                                            \
  .offset = offsetof(type, field), .size = sizeof(((type *)NULL)->field)
#define AMPED_OPTION_WORDS(...)                                                                    \
  (const char *const[]) {                                                                          \
    __VA_ARGS__, NULL                                                                              \
  }
#define AMPED_OPTION_NUMBERS(...)                                                                  \
  (const int[]) {                                                                                  \
    __VA_ARGS__                                                                                    \
  }
#define AMPED_OPTION_GROUP(array)                                                                  \
  { array, (int)(sizeof(array) / sizeof((array)[0])) }

/* Set the field of a zeroed struct to its default. */
void amped_option_default(const amped_option *row, void *options);

/* Set the field to a text of the user, or add the text to the field of TEXTS; "" for a FLAG.
 * Returns false if the text is malformed or out of range, or the list is full. The field is then
 * unchanged, except for CUSTOM. */
bool amped_option_set(const amped_option *row, void *options, const char *text);

/* Texts about a row, in a caller's buffer of AMPED_OPTION_CHARS bytes, which is returned. value: as
 * in --help ("auto|cuda|cpu", "" for a FLAG). help: with its default in brackets. expected: as in
 * messages ("auto, cuda or cpu"). */
#define AMPED_OPTION_CHARS 512
const char *amped_option_value(const amped_option *row, char *buffer);
const char *amped_option_help(const amped_option *row, char *buffer);
const char *amped_option_expected(const amped_option *row, char *buffer);

/* "10G", "512M", "1.5GiB", "4096": bytes. "100M" as a count has powers of 1000. Returns false, with
 * *out unchanged, if the text is malformed or 64 bits cannot hold the number. */
bool amped_parse_bytes(const char *text, uint64_t *out);
bool amped_parse_count(const char *text, uint64_t *out);

/* parse_int: a whole number, with the suffixes of a count. parse_real: a number with a point or an
 * exponent. Both return false, with *out unchanged, if the text is malformed or not from least to
 * most. */
bool amped_parse_int(const char *text, int least, int most, int *out);
bool amped_parse_real(const char *text, double least, double most, double *out);

/* The position of a word in a NULL-ended list; -1 if it is not in the list. */
int amped_parse_word(const char *text, const char *const *words);

#endif
