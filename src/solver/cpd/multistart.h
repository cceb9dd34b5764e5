/* Multistart: several decompositions of the loaded tensor, each from its own random factors, and
 * the best of them. ALS finds local optima: starts that agree are worth more trust. */
#ifndef AMPED_MULTISTART_H
#define AMPED_MULTISTART_H

#include "solver/iterate.h"
#include "factor/saved_factors.h"

typedef struct amped_start {
  int number; /* from 1 */
  bool is_done;
  uint64_t seed;
  bool normal; /* begun from normal factors, not from uniform ones (factor/factors.h) */
  amped_solver_result result;
  amped_saved_factors saved; /* if the starts are saved */
} amped_start;

typedef struct amped_multistart {
  int asked;
  bool saves; /* save the factors of each start, because others follow in the context */
  bool sums;  /* weights are of columns that sum to 1, not of unit length: counts */
  int count;  /* done so far */
  int enough; /* starts after this number are needless; `asked` until one reaches its goal */
  int best;   /* index of the best start; the first if equal */
  amped_start *all;
  double *match; /* [count][count] factor match scores of pairs */
} amped_multistart;

/* saves: even if one start is asked for. free accepts a zeroed or freed object. */
amped_status amped_multistart_create(int asked, bool saves, amped_multistart *out);
void amped_multistart_free(amped_multistart *starts);

/* Collective; the status is agreed. Add the start of this number, from 1, in any order. Takes
 * ownership of the result, whose factors are the context's. */
amped_status amped_multistart_add(const amped_context *context, amped_multistart *starts,
                                  int number, uint64_t seed, bool normal,
                                  amped_solver_result *result);
/* Forget all starts after this number. */
void amped_multistart_keep(amped_multistart *starts, int number);

/* Collective, after the last start; the status is agreed. Sorts the starts that are done to the
 * front, computes the scores and finds the best
 * start; if starts were saved, its factors become the context's. */
amped_status amped_multistart_choose(const amped_context *context, amped_multistart *starts);

/* Bytes of host memory that `saved` saved starts take on every rank, with the core consistency if
 * corcondia, which saves one set of factors. */
uint64_t amped_multistart_bytes(const amped_plan *plan, int saved, bool corcondia);

/* The metric after the start's last sweep. */
double amped_start_value(const amped_start *start);

#endif
