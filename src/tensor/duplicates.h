/* Duplicates: rules for repeated coordinates, and a tensor's record of the rule applied to it.
 *
 * A tensor file records the rule as text, under the names below (docs/file-format.md). Code that
 * treats absent entries as missing needs it: a sum of two ratings is no rating. */
#ifndef AMPED_DUPLICATES_H
#define AMPED_DUPLICATES_H

#include <stdbool.h>
#include <stdint.h>

typedef enum amped_duplicates {
  /* records only */
  AMPED_DUPLICATES_UNKNOWN, /* the file states none */
  AMPED_DUPLICATES_NONE,    /* no coordinate was repeated */
  /* rules, and records of tensors with repeated coordinates */
  AMPED_DUPLICATES_SUM,  /* one nonzero with the sum of the values, added in their order */
  AMPED_DUPLICATES_MEAN, /* with their arithmetic mean */
  AMPED_DUPLICATES_LAST, /* with the value that came last */
  AMPED_DUPLICATES_KEEP, /* keep all; as a record: duplicates are still there, if there were any */
  /* a rule only */
  AMPED_DUPLICATES_ERROR /* refuse; the line names the first repeated coordinate */
} amped_duplicates;

/* The name of a record, such as "sum"; NULL: unknown. And the inverse. */
const char *amped_duplicates_name(amped_duplicates d);
amped_duplicates amped_duplicates_named(const char *name);

/* Does a rule or record make repeated coordinates one nonzero? */
bool amped_duplicates_merge(amped_duplicates d);

/* The name of a rule, "sum" to "error". */
const char *amped_duplicates_policy_name(amped_duplicates policy);

/* The record of a tensor after a rule was applied and `found` duplicates were found. */
amped_duplicates amped_duplicates_after(amped_duplicates before, amped_duplicates policy,
                                        uint64_t found);

/* Effect of a rule, for messages: "values at the same coordinate were added up". */
const char *amped_duplicates_deed(amped_duplicates policy);

#endif
