/* Completion errors: errors of the context's factors at the entries that validate and test. */
#ifndef AMPED_COMPLETE_ERRORS_H
#define AMPED_COMPLETE_ERRORS_H

#include "solver/complete/complete_problem.h"

/* In the values' own units; count 0: there are no such entries. */
typedef struct amped_complete_errors {
  amped_entry_errors validate, test;
} amped_complete_errors;

/* Collective; the status is agreed. Validation entries come from a file; without one, they are
 * the nonzeros that are held out. */
amped_status amped_complete_errors_find(const amped_context *context,
                                        const amped_complete_problem *problem,
                                        const amped_row_fit *fit, amped_complete_errors *out);

#endif
