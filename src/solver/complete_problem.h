/* Completion problem: what a completion fits and validates on, the same in all runs of a search.
 *
 * Values lie in memory by the plan's map (tensor/value_map.h). The fit's mean and scale, and the
 * values of entry sets, are those of values in memory; all other numbers of a problem are in the
 * values' own units. Functions are collective, and their statuses agreed, unless they say
 * otherwise. */
#ifndef AMPED_COMPLETE_PROBLEM_H
#define AMPED_COMPLETE_PROBLEM_H

#include "solver/complete_options.h"
#include "solver/complete_start.h"
#include "solver/entry_set.h"
#include "solver/rank_set.h"
#include "tensor/labels.h"

typedef struct amped_complete_problem {
  const amped_complete_options *options;
  uint64_t iters; /* sweeps of a run at most */
  double tol;
  uint64_t seed; /* of the first start */
  int starts;
  amped_row_fit fit;               /* all but reg */
  double mean, scale;              /* of the values that are learnt, as the model has them */
  bool constant;                   /* these are all equal */
  uint64_t learnt, held;           /* nonzeros that are learnt, and that are held out */
  const amped_entry_set *validate; /* NULL: what is held out validates */
  const amped_entry_set *test;     /* NULL: none */
  double weight;                   /* of all entries that are learnt */
  uint64_t weights_hash;           /* of --weights; 0: there are none */
  int ranked;                      /* implicit fits: the mode whose indices are ranked, */
  double cells;                    /* the weight of all cells, */
  const amped_rank_set *validate_ranks, *test_ranks; /* and what is ranked; NULL: nothing */
  const char *checkpoint; /* file of the state that is resumed, for messages; or NULL */
  double least, most;     /* of clipped models; infinite: they are not clipped */
} amped_complete_problem;

/* Not collective. The context modes of --context, and the mode that --of ranks (NULL: of the two
 * modes of most indices the shorter one). labels: of all modes; NULL: names are not known yet, and
 * pass. AMPED_USAGE: there is no such mode. */
amped_status amped_complete_modes_find(const amped_complete_options *options, const char *of,
                                       const amped_plan *plan, const amped_labels *labels,
                                       bool context[AMPED_MAX_ORDER], int *ranked);

/* The same with the labels of rank 0: sets the problem's ranked mode and the fit's priors, and the
 * start's context modes. */
amped_status amped_complete_problem_set_modes(const amped_context *context, const char *of,
                                              const amped_labels *labels,
                                              amped_complete_problem *problem,
                                              amped_complete_start *start);

/* Hold nonzeros out. input: its name. AMPED_BAD_INPUT: none is held out, though some were to be, or
 * all are. */
amped_status amped_complete_problem_hold_out(const amped_context *context, const char *input,
                                             amped_complete_problem *problem);

/* Mean and scale of the values that are learnt. weights: the name of the file or column that has
 * them; NULL: there are none. AMPED_BAD_INPUT: values or weights are what they may not be. */
amped_status amped_complete_problem_set_scale(const amped_context *context, const char *input,
                                              const char *weights, amped_complete_problem *problem,
                                              amped_complete_start *start);

/* Not collective. Errors in the values' own units of errors in those of memory. */
amped_errors amped_complete_errors_of(amped_value_map map, const amped_errors *errors);

/* Mean and scale of values in memory by their moments; a mean of values of 0 unless `centred`. */
typedef struct amped_complete_scale {
  double mean, scale; /* of values in memory */
  double level;       /* the values' own mean over their own scale */
  bool constant;      /* all values are equal */
} amped_complete_scale;

/* Not collective. The second: of values in the order of a list, the moments as they would lie in
 * memory by the map. */
amped_complete_scale amped_complete_scale_of(const amped_moments *moments, amped_value_map map,
                                             bool centred);
amped_moments amped_complete_moments_of(const double *values, uint64_t count, amped_value_map map);

/* The moments of all ranks' nonzeros. */
amped_status amped_complete_moments_find(const amped_context *context, amped_moments *out);

#endif
