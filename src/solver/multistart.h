/* Starts: several decompositions of the tensor that is loaded, each from random factors of its own,
 * and the best of them. ALS finds local optima: starts that agree are worth more trust. */
#ifndef AMPED_STARTS_H
#define AMPED_STARTS_H

#include "solver/cpd_als.h"
#include "factor/saved_factors.h"

typedef struct amped_start {
  uint64_t seed;
  amped_als_result als;
  amped_kept kept; /* where several are asked for */
} amped_start;

typedef struct amped_starts {
  int asked;
  int count; /* done so far */
  int best;  /* the first of the highest fit */
  amped_start *all;
  double *match; /* [count][count] factor match scores of pairs */
} amped_starts;

/* free takes what was zeroed or freed already. */
amped_status amped_starts_create(int asked, amped_starts *out);
void amped_starts_free(amped_starts *starts);

/* Collective; the status is agreed. Take over a decomposition, whose factors are the run's. */
amped_status amped_starts_add(const amped_run_parts *run, amped_starts *starts, uint64_t seed,
                              amped_als_result *als);

/* Collective, after the last; the status is agreed. Find the best, whose factors become the run's,
 * and the scores. */
amped_status amped_starts_choose(const amped_run_parts *run, amped_starts *starts);

/* Bytes of host memory that so many starts take on every rank, and, with it, the core consistency:
 * of several starts all are kept; the core consistency keeps one. */
uint64_t amped_starts_bytes(const amped_plan *plan, int starts, bool corcondia);

double amped_start_fit(const amped_start *start);

#endif
