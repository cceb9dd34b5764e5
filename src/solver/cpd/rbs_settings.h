/* RBS settings: the numbers of a run of randomised block sampling, from the user's options and the
 * tensor's sizes. Pure functions, the same on every rank. */
#ifndef AMPED_RBS_SETTINGS_H
#define AMPED_RBS_SETTINGS_H

#include "solver/cpd/rbs_options.h"
#include "solver/cpd/rbs_sample.h"

typedef struct amped_rbs_settings {
  amped_rbs_shape shape;
  uint64_t block;     /* indices of a block in the shortest mode, or slices per group, about */
  uint64_t epochs;    /* maximum number of epochs */
  uint64_t search;    /* epochs without restricted steps, included in `epochs` */
  uint64_t polish;    /* maximum number of sweeps of ALS after the epochs */
  uint64_t fit_cells; /* number of random cells whose fit an epoch reports (cell_sample.h) */
} amped_rbs_settings;

/* Make the settings for a tensor whose slabs the ranks hold, or whose cells stay in their file. The
 * shape borrows the plan's rows. Returns AMPED_USAGE, with numbers, if the sizes do not allow the
 * options. */
amped_status amped_rbs_settings_make(const amped_rbs_options *options, const amped_plan *plan,
                                     amped_rbs_settings *out);

/* Share of the cells that an epoch reads. */
double amped_rbs_epoch_share(const amped_rbs_settings *settings);

/* Weight of the proximal term in a step of an epoch, both counted from 0. In the search it falls
 * from 1 to AMPED_RBS_LEAST. Afterwards it grows up to 100. The first step of blocks has
 * AMPED_RBS_LEAST, so that the components of a start separate. */
double amped_rbs_lambda(const amped_rbs_settings *settings, uint64_t epoch, uint64_t step);

/* Smallest of these weights. */
#define AMPED_RBS_LEAST 1e-6

#endif
