/* Starts: several decompositions of the tensor that is loaded, each from random factors of its own,
 * and the best of them. ALS finds local optima: starts that agree are worth more trust. */
#ifndef AMPED_MULTISTART_H
#define AMPED_MULTISTART_H

#include "solver/iterate.h"
#include "factor/saved_factors.h"

typedef struct amped_start {
  uint64_t seed;
  amped_solver_result result;
  amped_saved_factors saved; /* where several are asked for */
} amped_start;

typedef struct amped_multistart {
  int asked;
  int count; /* done so far */
  int best;  /* the first of the best metric */
  amped_start *all;
  double *match; /* [count][count] factor match scores of pairs */
} amped_multistart;

/* free takes what was zeroed or freed already. */
amped_status amped_multistart_create(int asked, amped_multistart *out);
void amped_multistart_free(amped_multistart *starts);

/* Collective; the status is agreed. Take over a decomposition, whose factors are the run's. */
amped_status amped_multistart_add(const amped_context *context, amped_multistart *starts,
                                  uint64_t seed, amped_solver_result *als);

/* Collective, after the last; the status is agreed. Find the best, whose factors become the run's,
 * and the scores. */
amped_status amped_multistart_choose(const amped_context *context, amped_multistart *starts);

/* Bytes of host memory that so many starts take on every rank, and, with it, the core consistency:
 * of several starts all are kept; the core consistency keeps one. */
uint64_t amped_multistart_bytes(const amped_plan *plan, int starts, bool corcondia);

double amped_start_value(const amped_start *start);

#endif
