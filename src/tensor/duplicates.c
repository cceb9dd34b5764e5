/* Duplicates: names of the rules, and texts for messages. */
#include "tensor/duplicates.h"

#include <stddef.h>
#include <string.h>

static const char *const names[] = {
    [AMPED_DUPLICATES_NONE] = "none", [AMPED_DUPLICATES_SUM] = "sum",
    [AMPED_DUPLICATES_MEAN] = "mean", [AMPED_DUPLICATES_LAST] = "last",
    [AMPED_DUPLICATES_KEEP] = "keep",
};

#define NAMES (sizeof names / sizeof names[0])

const char *amped_duplicates_name(amped_duplicates d) {
  return (size_t)d < NAMES ? names[d] : NULL;
}

amped_duplicates amped_duplicates_named(const char *name) {
  for (size_t i = 0; i < NAMES; i++)
    if (names[i] != NULL && strcmp(names[i], name) == 0)
      return (amped_duplicates)i;
  return AMPED_DUPLICATES_UNKNOWN;
}

bool amped_duplicates_merge(amped_duplicates d) {
  return d == AMPED_DUPLICATES_SUM || d == AMPED_DUPLICATES_MEAN || d == AMPED_DUPLICATES_LAST;
}

const char *amped_duplicates_policy_name(amped_duplicates policy) {
  return policy == AMPED_DUPLICATES_ERROR ? "error" : names[policy];
}

amped_duplicates amped_duplicates_after(amped_duplicates before, amped_duplicates policy,
                                        uint64_t found) {
  if (found > 0)
    return policy;
  /* Sums made by an earlier run are still sums. */
  return before == AMPED_DUPLICATES_KEEP ? AMPED_DUPLICATES_NONE : before;
}

const char *amped_duplicates_deed(amped_duplicates policy) {
  switch (policy) {
  case AMPED_DUPLICATES_MEAN:
    return "values at the same coordinate were averaged";
  case AMPED_DUPLICATES_LAST:
    return "of values at the same coordinate the last one was taken";
  case AMPED_DUPLICATES_KEEP:
    return "all were kept";
  default:
    return "values at the same coordinate were added up";
  }
}
