/* Completion problem: the entries on which a completion trains and validates, and the parameters of
 * its fit. It is the same in all runs of a search.
 *
 * Values in memory are mapped by the plan's map (tensor/value_map.h). The fit's mean and scale, and
 * the values of entry sets, are in units of values in memory. All other numbers of a problem are in
 * the values' own units. Functions are collective and their statuses are agreed, unless a comment
 * says otherwise. */
#ifndef AMPED_COMPLETE_PROBLEM_H
#define AMPED_COMPLETE_PROBLEM_H

#include "solver/complete/complete_options.h"
#include "solver/complete/complete_start.h"
#include "solver/complete/entry_set.h"
#include "solver/complete/rank_set.h"
#include "solver/fixed_modes.h"
#include "tensor/labels.h"

typedef struct amped_complete_problem {
  const amped_complete_options *options;
  uint64_t iters; /* maximum number of sweeps per run */
  double tol;
  uint64_t seed; /* seed of the first start */
  int starts;
  amped_row_fit fit;       /* all members except reg. nonnegative: components of all modes are */
  uint64_t nonnegative;    /* bit m: components of mode m are nonnegative */
  amped_fixed_modes fixed; /* --fix; then the fixed model gives mean and scale */
  double mean, scale;      /* mean and scale of the model, in the values' units */
  bool constant;           /* all training values are equal */
  uint64_t learnt, held;   /* numbers of training and of held-out nonzeros */
  uint64_t ignored;        /* number of nonzeros of weight 0, which are neither */
  bool fibres[AMPED_MAX_ORDER];  /* modes whose indices decide what is held out; all false: all
                                    modes */
  bool lasting[AMPED_MAX_ORDER]; /* modes whose labels are no dates or times, if there are two or
                                    more, and a mode of dates or times; else all false */
  uint64_t repeated; /* held-out nonzeros with the indices of these modes of a learnt one */
  /* Held-out nonzeros with a row without training nonzeros (unlearnt_entries.h), and the number of
   * those with such a row of each mode; NULL: none. Implicit fits only count them. */
  const amped_entry_set *unlearnt;
  uint64_t unlearnt_of[AMPED_MAX_ORDER];
  const amped_entry_set *validate; /* validation entries; NULL: held-out nonzeros */
  const amped_entry_set *test;     /* test entries; NULL: none */
  /* If gaps are measured: by mode, numbers of entries at rows without training nonzeros
   * (amped_entry_set_find_untrained). judged: validation entries. tested: test entries. */
  uint64_t *judged[AMPED_MAX_ORDER], *tested[AMPED_MAX_ORDER];
  const amped_row_counts *counts; /* training nonzeros per row; NULL: no entry is judged */
  double weight;                  /* total weight of the training entries */
  uint64_t weights_hash;          /* hash of --weights; 0: none */
  int ranked;                     /* implicit fits: mode whose indices are ranked */
  double cells;                   /* implicit fits: total weight of all cells */
  const amped_rank_set *validate_ranks, *test_ranks; /* implicit fits; NULL: none */
  const char *checkpoint; /* file of the resumed state, for messages; or NULL */
  const struct amped_complete_baselines *baselines; /* errors without components; NULL: none */
  double least, most; /* bounds to which model values are clipped; infinite: not clipped */
} amped_complete_problem;

/* Modes that options name. */
typedef struct amped_complete_named {
  bool context[AMPED_MAX_ORDER]; /* --context */
  bool fibres[AMPED_MAX_ORDER];  /* --holdout-by; all false: not given */
  uint64_t nonnegative;          /* --nonnegative: bits of modes */
  int ranked;                    /* --of: the mode whose indices are ranked */
} amped_complete_named;

/* Not collective. Find the modes that options name. of = NULL: the shorter of the two longest
 * modes. labels: labels of all modes; NULL: names are not known yet and are accepted. Returns
 * AMPED_USAGE if there is no such mode, or if --holdout-by names one mode or all. */
amped_status amped_complete_modes_find(const amped_complete_options *options, const char *of,
                                       const amped_plan *plan, const amped_labels *labels,
                                       amped_complete_named *out);

/* Collective; the status is agreed. Find the modes that options name with rank 0's labels, and set
 * them on every rank: the problem's ranked mode, fibres and nonnegative modes, the fit's priors and
 * pulls, and the start's context modes and nonnegative modes. */
amped_status amped_complete_problem_set_modes(const amped_context *context, const char *of,
                                              const amped_labels *labels,
                                              amped_complete_problem *problem,
                                              amped_complete_start *start);

/* Hold out nonzeros: the same in any order of the file and of rank 0's labels. With `fibres`, all
 * nonzeros that share the indices of these modes are held out together. input: name of the
 * input, for messages. Returns AMPED_BAD_INPUT if no nonzero is held out although some should be,
 * or if all are. */
amped_status amped_complete_problem_hold_out(const amped_context *context, const char *input,
                                             const amped_labels *labels,
                                             amped_complete_problem *problem);

/* Find mean and scale of the training values; with fixed modes, those that the problem has stay.
 * weights: name of the file or column of weights;
 * NULL: none. Returns AMPED_BAD_INPUT if values or weights are out of range. */
amped_status amped_complete_problem_set_scale(const amped_context *context, const char *input,
                                              const char *weights, amped_complete_problem *problem,
                                              amped_complete_start *start);

/* Not collective. Convert errors from units of values in memory to the values' own units. */
amped_errors amped_complete_errors_of(amped_value_map map, const amped_errors *errors);

/* Mean and scale of values in memory, computed from their moments. Unless `centred`, the mean is
 * the image of value 0 under the map. */
typedef struct amped_complete_scale {
  double mean, scale; /* in units of values in memory */
  double level;       /* mean / scale, both in the values' own units */
  bool constant;      /* all values are equal */
} amped_complete_scale;

/* Not collective. scale_of: mean and scale from moments. moments_of: moments of `count` values as
 * they would be stored in memory, summed in the order of the list. */
amped_complete_scale amped_complete_scale_of(const amped_moments *moments, amped_value_map map,
                                             bool centred);
amped_moments amped_complete_moments_of(const double *values, uint64_t count, amped_value_map map);

/* Sum the moments (row_fit.h) of all ranks' nonzeros. */
amped_status amped_complete_moments_find(const amped_context *context, amped_moments *out);

#endif
