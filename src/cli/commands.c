/* Finds commands and their option rows in the table of main.c. */
#include "cli/commands.h"

#include <string.h>

const amped_command *amped_command_find(const char *name) {
  for (const amped_command *c = amped_commands; c->name != NULL; c++)
    if (strcmp(c->name, name) == 0)
      return c;
  return NULL;
}

int amped_command_rows(const amped_command *command, const amped_option *rows[AMPED_MAX_OPTIONS]) {
  int count = amped_options_rows(command->groups, rows, 0);
  return amped_options_rows(amped_common_groups, rows, count);
}
