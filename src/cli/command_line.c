/* Parses argv with getopt_long, from the rows of options; suggests names for words that it does not
 * know. */
#include "cli/command_line.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli/help.h"

/* ---- nearest names ------------------------------------------------------------------------- */

static size_t least(size_t a, size_t b) {
  return a < b ? a : b;
}

/* Edit distance (Levenshtein 1966) of two short words. */
static size_t distance(const char *a, const char *b) {
  size_t row[64];
  size_t n = strlen(b);
  if (n >= 64 || strlen(a) >= 64)
    return 64;
  for (size_t j = 0; j <= n; j++)
    row[j] = j;
  for (size_t i = 1; a[i - 1] != '\0'; i++) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= n; j++) {
      size_t above = row[j];
      row[j] = least(least(row[j], row[j - 1]) + 1, diagonal + (a[i - 1] != b[j - 1]));
      diagonal = above;
    }
  }
  return row[n];
}

/* Is the candidate near enough to be meant? At most half of the letters differ, or the name is its
 * beginning. */
static bool is_near(const char *name, const char *candidate) {
  size_t n = strlen(name);
  return distance(name, candidate) <= (n + 1) / 2 || (n > 1 && strncmp(name, candidate, n) == 0);
}

/* Format "did you mean --rank? "; "" if no option is near. */
static const char *suggest_option(char *text, size_t size, const amped_command *command,
                                  const char *name) {
  const amped_option *rows[AMPED_MAX_OPTIONS];
  int count = amped_command_rows(command, rows);
  const char *best = NULL;
  text[0] = '\0';
  for (int i = 0; i < count; i++)
    if (is_near(name, rows[i]->name) &&
        (best == NULL || distance(name, rows[i]->name) < distance(name, best)))
      best = rows[i]->name;
  if (best != NULL)
    (void)snprintf(text, size, "did you mean --%s? ", best);
  return text;
}

/* Words that other programs use for a command's purpose. */
static const struct {
  const char *word, *command;
} synonyms[] = {
    {"decompose", "cpd"},     {"decomposition", "cpd"},
    {"factor", "cpd"},        {"factorize", "cpd"},
    {"factorise", "cpd"},     {"parafac", "cpd"},
    {"candecomp", "cpd"},     {"cp", "cpd"},
    {"als", "cpd"},           {"cp-als", "cpd"},
    {"cp_als", "cpd"},        {"fit", "cpd"},
    {"run", "cpd"},           {"import", "convert"},
    {"export", "convert"},    {"read", "convert"},
    {"write", "convert"},     {"save", "convert"},
    {"show", "top"},          {"labels", "top"},
    {"leading", "top"},       {"print", "top"},
    {"list", "info"},         {"describe", "info"},
    {"stats", "info"},        {"check", "info"},
    {"verify", "info"},       {"system", "info --system"},
    {"diff", "compare"},      {"match", "compare"},
    {"score", "compare"},     {"guess", "predict"},
    {"mrr", "evaluate"},      {"rmse", "predict"},
    {"hits", "evaluate"},     {"ndcg", "evaluate"},
    {"nearest", "similar"},   {"cosine", "similar"},
    {"suggest", "recommend"}, {"rank", "recommend"},
    {"draw", "plot"},         {"figure", "plot"},
    {"graph", "plot"},        {"make", "generate"},
    {"random", "generate"},   {"synthetic", "generate"},
    {"benchmark", "bench"},   {"time", "bench"},
    {"mttkrp", "bench"},      {"help", "--help"},
    {"version", "--version"},
};

static const char *find_synonym(const char *name) {
  for (size_t i = 0; i < sizeof synonyms / sizeof synonyms[0]; i++)
    if (strcasecmp(name, synonyms[i].word) == 0)
      return synonyms[i].command;
  return NULL;
}

/* Format "did you mean 'cpd'? ": the command with this meaning, else with a near name; "" if there
 * is none. */
static const char *suggest_command(char *text, size_t size, const char *name) {
  const char *best = find_synonym(name);
  const bool meant = best != NULL;
  text[0] = '\0';
  for (const amped_command *c = amped_commands; c->name != NULL && !meant; c++)
    if (is_near(name, c->name) && (best == NULL || distance(name, c->name) < distance(name, best)))
      best = c->name;
  if (best != NULL)
    (void)snprintf(text, size, "did you mean '%s'? ", best);
  return text;
}

/* ---- parsing ------------------------------------------------------------------------------- */

/* Choose the command that the first argument names, and skip this argument. Otherwise the command
 * is cpd. */
static amped_status choose_command(int *argc, char ***argv, amped_options *o) {
  const char *first = *argc > 1 ? (*argv)[1] : "";
  o->command = amped_command_find(first);
  if (o->command != NULL) {
    (*argc)--;
    (*argv)++;
    return AMPED_OK;
  }
  o->command = amped_command_find("cpd");
  /* The word was meant as a command if it is not an option, names no file and does not look like
   * one. */
  if (*argc > 1 && first[0] != '-' && strpbrk(first, "./") == NULL) {
    char meant[64];
    if (access(first, F_OK) != 0) /* not opened: a pipe can be opened only once, by its reader */
      return amped_error(AMPED_USAGE, NULL,
                         "no command and no file is called '%s'; %ssee amped_mpi --help", first,
                         suggest_command(meant, sizeof meant, first));
  }
  return AMPED_OK;
}

static amped_status refuse_option(const amped_command *command, const char *argument) {
  const amped_option *rows[AMPED_MAX_OPTIONS];
  int count = amped_options_rows(NULL, rows, 0);
  char name[64];
  char meant[64];
  size_t n = strcspn(argument, "=");
  if (n >= sizeof name)
    n = sizeof name - 1;
  memcpy(name, argument, n);
  name[n] = '\0';
  const char *bare = name + strspn(name, "-");
  for (int i = 0; i < count; i++)
    if (strcmp(bare, rows[i]->name) == 0 ||
        (bare[0] == rows[i]->letter && bare[0] != '\0' && bare[1] == '\0'))
      return amped_error(AMPED_USAGE, NULL, "%s has no option %s; see amped_mpi %s --help",
                         command->name, name, command->name);
  if (strcmp(bare, "help") == 0 || strcmp(bare, "version") == 0)
    return amped_error(AMPED_USAGE, NULL, "%s takes no value", name);
  return amped_error(AMPED_USAGE, NULL, "no option %s; %ssee amped_mpi %s --help", name,
                     suggest_option(meant, sizeof meant, command, bare), command->name);
}

static amped_status apply(amped_options *o, const amped_option *row, const char *value) {
  char expected[AMPED_OPTION_CHARS];
  const char *before = amped_options_said(o, row);
  if (row->once && before != NULL)
    return amped_error(AMPED_USAGE, NULL, "--%s is given twice, with %s and %s; give one",
                       row->name, before, value);
  if (amped_options_set(o, row, value))
    return AMPED_OK;
  if (row->type == AMPED_OPTION_TEXTS && *value != '\0')
    return amped_error(AMPED_USAGE, NULL, "--%s is given more than %d times; join its files",
                       row->name, AMPED_MAX_TEXTS);
  return amped_error(AMPED_USAGE, NULL, "--%s=%s: %s is expected; see amped_mpi %s --help",
                     row->name, value, amped_option_expected(row, expected), o->command->name);
}

static amped_status check_arguments(int argc, char **argv, amped_options *o) {
  for (int i = optind; i < argc; i++) {
    if (o->nargs == o->command->max_args)
      return amped_error(AMPED_USAGE, NULL, "too many files: '%s'; usage: amped_mpi %s %s", argv[i],
                         o->command->name, o->command->arguments);
    o->args[o->nargs++] = argv[i];
  }
  if (o->nargs < o->command->min_args)
    return amped_error(
        AMPED_USAGE, NULL, "%s is missing; usage: amped_mpi %s %s; see amped_mpi --help",
        o->command->writes && o->nargs == o->command->max_args - 1 ? "the output file"
                                                                   : "the input file",
        o->command->name, o->command->arguments);
  return AMPED_OK;
}

/* The rows that a command accepts, as getopt needs them. val is FIRST_ROW + the row's number, above
 * all letters. */
#define FIRST_ROW 256
typedef struct getopt_tables {
  const amped_option *rows[AMPED_MAX_OPTIONS];
  int count;
  struct option longs[AMPED_MAX_OPTIONS + 3]; /* --help, --version and the end */
  char shorts[2 * AMPED_MAX_OPTIONS + 4];
} getopt_tables;

static void make_tables(const amped_command *command, getopt_tables *t) {
  struct option *l = t->longs;
  char *s = t->shorts;
  t->count = amped_command_rows(command, t->rows);
  *s++ = ':';
  for (int i = 0; i < t->count; i++) {
    const amped_option *row = t->rows[i];
    int argument = row->bare != NULL                ? optional_argument
                   : row->type != AMPED_OPTION_FLAG ? required_argument
                                                    : no_argument;
    *l++ = (struct option){row->name, argument, NULL, i + FIRST_ROW};
    if (row->letter != 0) {
      *s++ = row->letter;
      if (argument == required_argument)
        *s++ = ':';
    }
  }
  *s++ = 'h';
  *s++ = 'V';
  *s = '\0';
  *l++ = (struct option){"help", no_argument, NULL, 'h'};
  *l++ = (struct option){"version", no_argument, NULL, 'V'};
  *l = (struct option){NULL, 0, NULL, 0};
}

/* The row that getopt found, by its number or by its letter. */
static const amped_option *row_of(const getopt_tables *t, int found) {
  for (int i = 0; i < t->count; i++)
    if (found == i + FIRST_ROW || (found < FIRST_ROW && found == t->rows[i]->letter))
      return t->rows[i];
  return NULL;
}

/* Did the user mean an option of another command? getopt accepts the beginning of a name for the
 * name. But --value, the whole name of an option, must not be taken for --values. */
static bool means_another(const char *argument, const amped_option *row) {
  const amped_option *rows[AMPED_MAX_OPTIONS];
  const int count = amped_options_rows(NULL, rows, 0);
  const size_t length = strcspn(argument + 2, "=");
  if (length == strlen(row->name))
    return false;
  for (int i = 0; i < count; i++)
    if (strlen(rows[i]->name) == length && strncmp(argument + 2, rows[i]->name, length) == 0)
      return true;
  return false;
}

/* Refuse an option that getopt does not know, or a value for an option that takes none. */
static amped_status refuse_argument(const amped_options *o, const getopt_tables *t,
                                    const char *argument) {
  char letter[3] = {'-', (char)optopt, '\0'};
  if (optopt >= FIRST_ROW)
    return amped_error(AMPED_USAGE, NULL, "--%s takes no value", row_of(t, optopt)->name);
  if (optopt == '=' && strncmp(argument, "--", 2) != 0)
    return amped_error(AMPED_USAGE, NULL,
                       "a letter takes no '=': write -r 8 or --rank=8, and letters without a value "
                       "alone; see amped_mpi %s --help",
                       o->command->name);
  return refuse_option(o->command,
                       optopt != 0 && strncmp(argument, "--", 2) != 0 ? letter : argument);
}

static void answer(const amped_options *o, int found, bool named) {
  if (found == 'V')
    amped_help_version();
  else if (named)
    amped_help_command(o->command);
  else
    amped_help_program();
}

amped_status amped_command_line_parse(int argc, char **argv, amped_options *o, bool *done) {
  getopt_tables tables;
  *done = true;
  if (argc > 1 && strcmp(argv[1], "--complete") == 0)
    return amped_help_complete(argc - 2, argv + 2);
  *done = false;
  AMPED_TRY(choose_command(&argc, &argv, o));
  amped_command_default(o->command, o);
  const bool named = amped_command_find(argv[0]) == o->command;
  make_tables(o->command, &tables);
  opterr = 0;
  optind = 1;
  for (;;) {
    int c = getopt_long(argc, argv, tables.shorts, tables.longs, NULL);
    if (c == -1)
      return check_arguments(argc, argv, o);
    if (c == 'h' || c == 'V') {
      answer(o, c, named);
      *done = true;
      return AMPED_OK;
    }
    if (c == ':')
      return amped_error(AMPED_USAGE, NULL, "%s needs a value; see amped_mpi %s --help",
                         argv[optind - 1], o->command->name);
    if (c == '?') /* getopt has moved the files behind the options */
      return refuse_argument(o, &tables, argv[optind - 1]);
    const char *argument = argv[optind - (optarg == argv[optind - 1] ? 2 : 1)];
    if (c >= FIRST_ROW && means_another(argument, row_of(&tables, c)))
      return refuse_option(o->command, argument);
    const amped_option *row = row_of(&tables, c);
    if (c < FIRST_ROW && optarg != NULL && *optarg == '=' && optarg != argv[optind - 1])
      return amped_error(AMPED_USAGE, NULL, "-%c%s: write -%c %s or --%s%s", c, optarg, c,
                         optarg + 1, row->name, optarg);
    const char *unsaid = row->bare != NULL ? row->bare : "";
    AMPED_TRY(apply(o, row, optarg != NULL ? optarg : unsaid));
  }
}
