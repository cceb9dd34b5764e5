/* Multistart: several decompositions of the loaded tensor, each from its own random factors, and
 * the best of them. ALS finds local optima: starts that agree are worth more trust. */
#ifndef AMPED_MULTISTART_H
#define AMPED_MULTISTART_H

#include "solver/iterate.h"
#include "factor/saved_factors.h"

typedef struct amped_start {
  uint64_t seed;
  bool normal; /* begun from normal factors, not from uniform ones (factor/factors.h) */
  amped_solver_result result;
  amped_saved_factors saved; /* if several starts are asked for */
} amped_start;

typedef struct amped_multistart {
  int asked;
  int count; /* done so far */
  int best;  /* index of the best start; the first if equal */
  amped_start *all;
  double *match; /* [count][count] factor match scores of pairs */
} amped_multistart;

/* free accepts a zeroed or freed object. */
amped_status amped_multistart_create(int asked, amped_multistart *out);
void amped_multistart_free(amped_multistart *starts);

/* Collective; the status is agreed. Takes ownership of the result, whose factors are the
 * context's. */
amped_status amped_multistart_add(const amped_context *context, amped_multistart *starts,
                                  uint64_t seed, bool normal, amped_solver_result *result);

/* Collective, after the last start; the status is agreed. Computes the scores and finds the best
 * start; its factors become the context's. */
amped_status amped_multistart_choose(const amped_context *context, amped_multistart *starts);

/* Bytes of host memory that `starts` starts take on every rank, with the core consistency if
 * corcondia. Several starts save their factors each; the core consistency saves one set. */
uint64_t amped_multistart_bytes(const amped_plan *plan, int starts, bool corcondia);

/* The metric after the start's last sweep. */
double amped_start_value(const amped_start *start);

#endif
