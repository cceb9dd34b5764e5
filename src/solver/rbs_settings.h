/* RBS settings: the numbers of a run of randomised block sampling, from the user's options and the
 * tensor's sizes. Pure functions, the same on every rank. */
#ifndef AMPED_RBS_SETTINGS_H
#define AMPED_RBS_SETTINGS_H

#include "solver/rbs_options.h"
#include "solver/rbs_sample.h"

typedef struct amped_rbs_settings {
  amped_rbs_shape shape;
  uint64_t block;  /* indices of a block in the shortest mode, or slices of a group, about */
  uint64_t epochs; /* at most */
  uint64_t search; /* of them, those without restricted steps */
  uint64_t polish; /* sweeps of ALS behind them */
} amped_rbs_settings;

/* Of a tensor whose slabs the ranks hold, or whose cells stay in their file. The shape borrows the
 * plan's rows. AMPED_USAGE, with numbers, where the sizes do not allow what is asked for. */
amped_status amped_rbs_settings_make(const amped_rbs_options *options, const amped_plan *plan,
                                     amped_rbs_settings *out);

/* The share of the cells that an epoch reads. */
double amped_rbs_epoch_share(const amped_rbs_settings *settings);

/* The weight of the proximal term in a step of an epoch, both counted from 0: in the search it
 * falls from 1 to the least, then it grows up to 100. */
double amped_rbs_lambda(const amped_rbs_settings *settings, uint64_t epoch, uint64_t step);

/* The least of these weights. */
#define AMPED_RBS_LEAST 1e-6

#endif
