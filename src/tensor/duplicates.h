/* Duplicates: what is done where a coordinate comes several times, and what a tensor tells of it.
 *
 * A tensor file records it as text, under the names below (docs/file-format.md). Whoever takes
 * absent entries for missing ones wants to know: a sum of two ratings is no rating. */
#ifndef AMPED_DUPLICATES_H
#define AMPED_DUPLICATES_H

#include <stdint.h>

typedef enum amped_duplicates {
  /* of tensors alone */
  AMPED_DUPLICATES_UNKNOWN, /* the file does not tell */
  AMPED_DUPLICATES_NONE,    /* no coordinate came twice */
  /* policies, and of tensors where some coordinate came twice */
  AMPED_DUPLICATES_SUM,  /* one nonzero with the sum of the values, added in their order */
  AMPED_DUPLICATES_MEAN, /* with their arithmetic mean */
  AMPED_DUPLICATES_LAST, /* with the value that came last */
  AMPED_DUPLICATES_KEEP, /* all; of tensors: duplicates are still there, if there were any */
  /* a policy alone */
  AMPED_DUPLICATES_ERROR /* refuse; the line names the first coordinate that occurs twice */
} amped_duplicates;

/* The name of what a tensor tells, such as "sum"; NULL: unknown. And back. */
const char *amped_duplicates_name(amped_duplicates d);
amped_duplicates amped_duplicates_named(const char *name);

/* The name of a policy, "sum" to "error". */
const char *amped_duplicates_policy_name(amped_duplicates policy);

/* What a tensor tells after a policy found `found` duplicates in it. */
amped_duplicates amped_duplicates_after(amped_duplicates before, amped_duplicates policy,
                                        uint64_t found);

/* What a policy did, for messages: "values at the same coordinate were added up". */
const char *amped_duplicates_deed(amped_duplicates policy);

#endif
