/* Prints the help texts and the word lists. */
#include "cli/help.h"

#include <stdio.h>
#include <string.h>

#include "backend/backend.h"
#include "base/version.h"
#include "cli/option_rules.h"

/* ---- help ---------------------------------------------------------------------------------- */

/* First column of the texts beside options and commands, and the width of a line. */
#define TEXT_COLUMN 28
#define LINE_WIDTH 79

/* Print text wrapped to LINE_WIDTH columns and indented by `indent`. The first line is already at
 * `column`. */
static void print_wrapped(const char *text, int indent, int column) {
  bool has_word = false; /* this line has one */
  while (*text != '\0') {
    int word = (int)strcspn(text, " \n");
    if ((has_word || column > indent) && column + has_word + word > LINE_WIDTH) {
      printf("\n%*s", indent, "");
      column = indent;
      has_word = false;
    }
    column += printf("%s%.*s", has_word ? " " : "", word, text);
    has_word = true;
    text += word;
    if (*text == '\n') {
      printf("\n%*s", indent, "");
      column = indent;
      has_word = false;
    }
    text += *text != '\0';
  }
  putchar('\n');
}

/* Print a text beside the name that it explains. The name, already printed, ends at `column`; the
 * text of a long name follows it on the same line. */
static void print_beside(int column, const char *text) {
  int blanks = column < TEXT_COLUMN - 1 ? TEXT_COLUMN - column : 2;
  printf("%*s", blanks, "");
  print_wrapped(text, TEXT_COLUMN, column + blanks);
}

/* may_be_bare: the value may be omitted. */
static void print_option(char letter, const char *name, const char *value, bool may_be_bare,
                         const char *help) {
  int column = printf("  %c%c%c --%s%s%s%s%s", letter ? '-' : ' ', letter ? letter : ' ',
                      letter ? ',' : ' ', name, may_be_bare ? "[" : "", *value != '\0' ? "=" : "",
                      value, may_be_bare ? "]" : "");
  print_beside(column, help);
}

/* Format the default of a command's option with those that depend on other options:
 * "1e-5; --method=rbs: 1e-3". */
static const char *defaults_of(const amped_option *row, const amped_command *command,
                               char *buffer) {
  int used = snprintf(buffer, AMPED_OPTION_CHARS, "%s", amped_command_initial(command, row));
  for (const amped_option_default_row *d = amped_option_defaults; d->command != NULL; d++)
    if (strcmp(d->command, command->name) == 0 && strcmp(d->option, row->name) == 0)
      used += snprintf(buffer + used, AMPED_OPTION_CHARS - (size_t)used, "; --%s: %s", d->when,
                       d->initial);
  return buffer;
}

/* The text of a row: the command's own, or the row's. command may be NULL. */
static const char *help_of(const amped_option *row, const amped_command *command, char *buffer) {
  amped_option said = *row;
  char defaults[AMPED_OPTION_CHARS];
  const amped_option_text *text = command != NULL ? command->texts : NULL;
  for (; text != NULL && text->name != NULL; text++)
    if (strcmp(text->name, row->name) == 0) {
      said.help = text->help != NULL ? text->help : row->help;
      said.initially = text->initially;
    }
  if (command != NULL && said.initially == NULL && row->initial != NULL)
    said.initially = defaults_of(row, command, defaults);
  return amped_option_help(&said, buffer);
}

static void print_rows(const amped_option *const *rows, int count, const amped_command *command) {
  char value[AMPED_OPTION_CHARS], help[AMPED_OPTION_CHARS];
  for (int i = 0; i < count; i++)
    print_option(rows[i]->letter, rows[i]->name, amped_option_value(rows[i], value),
                 rows[i]->bare != NULL, help_of(rows[i], command, help));
}

void amped_help_command(const amped_command *command) {
  const amped_option *rows[AMPED_MAX_OPTIONS];
  printf("Usage: %samped_mpi %s [OPTION]... %s\n", command->parallel ? "[mpirun -np RANKS] " : "",
         command->name, command->arguments);
  print_wrapped(command->summary, 0, 0);
  printf("\nOptions [defaults]:\n");
  print_rows(rows, amped_command_rows(command, rows), command);
  print_option('h', "help", "", false, "print this and exit");
  putchar('\n');
  print_wrapped("If an option is given twice, the last value counts. Options that say so add up; a "
                "second name of a file is refused.",
                0, 0);
  if (command->help != NULL) {
    putchar('\n');
    print_wrapped(command->help, 0, 0);
  }
  printf("\nExample:\n  %s\n", command->example);
}

void amped_help_program(void) {
  const amped_option *rows[AMPED_MAX_OPTIONS];
  printf("Usage: [mpirun -np RANKS] amped_mpi [COMMAND] [OPTION]... FILE...\n"
         "CP decomposition of sparse and dense tensors on many GPUs, or CPU cores.\n\n"
         "Commands (without a command, FILE is decomposed as by cpd):\n");
  for (const amped_command *c = amped_commands; c->name != NULL; c++)
    print_beside(printf("  %s %s", c->name, c->arguments), c->summary);
  printf("\nOptions of all commands [defaults]:\n");
  print_rows(rows, amped_options_rows(amped_common_groups, rows, 0), NULL);
  print_option('h', "help", "", false, "print this, or with a command its options, and exit");
  print_option('V', "version", "", false, "print the version and exit");
  printf("\nExit status: 0 done; 1 the run failed; 2 wrong usage; 3 bad input; 85 stopped by\n"
         "a signal, with a checkpoint or with the results finished so far.\n\n"
         "Examples:\n"
         "  amped_mpi convert ratings.csv ratings.h5 --keys=user,item,week --value=stars\n"
         "  mpirun -np 4 amped_mpi ratings.h5 --rank=16\n"
         "  amped_mpi top ratings.cpd.h5\n");
}

void amped_help_version(void) {
  const char *revision = amped_revision();
  printf("amped_mpi %s%s%s%s\n", amped_version(), *revision ? " (" : "", revision,
         *revision ? ")" : "");
  printf("backends:");
  for (int i = 0; amped_backend_list(i) != NULL; i++)
    printf(" %s", amped_backend_list(i)->name);
  printf("\n");
}

/* ---- lists for the shell ------------------------------------------------------------------- */

static void list_commands(void) {
  for (const amped_command *c = amped_commands; c->name != NULL; c++)
    printf("%s\n", c->name);
}

static void list_options(const amped_option *const *rows, int count) {
  for (int i = 0; i < count; i++)
    printf("--%s%s\n", rows[i]->name,
           rows[i]->type != AMPED_OPTION_FLAG && rows[i]->bare == NULL ? "=" : "");
  if (count > 0)
    printf("--help\n");
}

static void list_words(const amped_option *const *rows, int count, const char *option) {
  for (int i = 0; i < count; i++)
    if (rows[i]->words != NULL && strcmp(rows[i]->name, option + strspn(option, "-")) == 0)
      for (const char *const *word = rows[i]->words; *word != NULL; word++)
        printf("%s\n", *word);
}

amped_status amped_help_complete(int argc, char **argv) {
  const amped_option *rows[AMPED_MAX_OPTIONS];
  const char *asked = argc > 0 ? argv[0] : "";
  const amped_command *command = argc > 1 ? amped_command_find(argv[1]) : NULL;
  int count = command != NULL ? amped_command_rows(command, rows) : 0;
  if (strcmp(asked, "commands") == 0 && argc == 1)
    list_commands();
  else if (strcmp(asked, "options") == 0 && argc == 2)
    list_options(rows, count);
  else if (strcmp(asked, "words") == 0 && argc == 3)
    list_words(rows, count, argv[2]);
  else
    return amped_error(
        AMPED_USAGE, NULL,
        "--complete is followed by commands, options COMMAND or words COMMAND OPTION");
  return AMPED_OK;
}
