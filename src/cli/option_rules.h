/* Option rules: which options go only with others, which exclude each other, and which defaults
 * depend on other options or on the kind of input. All such facts stand in the tables of
 * option_rules.c.
 *
 * A rule has terms, with | between alternatives. A term is true in these cases:
 *
 * - sweeps: the user gave --sweeps, whatever its value.
 * - history=model: the value of --history is model, by the user or by default.
 * - FILE, FILES, BATCHES: there are at least one, two, three files.
 * - RANKS, STARTS: there are several values of --rank, several starts.
 * - VALIDATION: --holdout holds out a share above 0.
 * - UNHELD: --holdout=0 is given.
 * - RACE: held-out errors choose among several runs of complete.
 * - PENALTY: --ridge or --l1 is above 0.
 * - TEXT: an option for reading text and tables is given, other than --dims.
 *
 * Not collective; all ranks have the same options. */
#ifndef AMPED_OPTION_RULES_H
#define AMPED_OPTION_RULES_H

#include "cli/commands.h"

typedef struct amped_option_rule {
  const char *command; /* commands, with | between them; NULL: every command */
  const char *input;   /* kind of input for which the rule holds, or NULL: any */
  const char *when;    /* terms, one of which must hold; NULL: always */
  /* At most one of these. If both are NULL, `when` is wrong by itself. */
  const char *needs;    /* one of these terms must hold, too */
  const char *excludes; /* none of these may hold */
  const char *why;      /* the message; {1}: option of `when`, {2}: option of `excludes` */
} amped_option_rule;

/* A default that depends on other options. The first row whose `when` holds counts. */
typedef struct amped_option_default_row {
  const char *command, *option;
  const char *when;
  const char *initial;
} amped_option_default_row;

/* The tables; their last rows have no `why` and no `command`. */
extern const amped_option_rule amped_option_rules[];
extern const amped_option_default_row amped_option_defaults[];

/* AMPED_USAGE, with the remedy, if the options break a rule. input NULL: rules that the command
 * line alone decides; else a kind of input ("dense", "sparse", "result"), and the error names the
 * first file. */
amped_status amped_option_rules_check(const amped_options *options, const char *input);

/* Set the defaults that depend on other options. */
void amped_option_rules_default(amped_options *options);

/* Returns the option of the first term that holds, such as "--keys", in a buffer of
 * AMPED_OPTION_CHARS bytes; NULL if none holds. */
const char *amped_option_rules_find(const amped_options *options, const char *terms, char *buffer);

/* Does one of the terms hold? */
bool amped_option_rules_hold(const amped_options *options, const char *terms);

#endif
