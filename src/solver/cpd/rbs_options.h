/* RBS options: the user's options of randomised block sampling (cpd_rbs.h). */
#ifndef AMPED_RBS_OPTIONS_H
#define AMPED_RBS_OPTIONS_H

#include "base/option.h"

typedef enum amped_rbs_sampler {
  AMPED_SAMPLE_AUTO,
  AMPED_SAMPLE_BLOCKS,
  AMPED_SAMPLE_SLICES
} amped_rbs_sampler;

/* Numbers below 0: not given. */
typedef struct amped_rbs_options {
  amped_rbs_sampler sampler;
  uint64_t block; /* indices of a block in the shortest mode, or slices per group; 0: not given */
  int epochs, search, polish;
  uint64_t memory; /* bytes per rank for cells; 0: as much as fits */
} amped_rbs_options;

extern const amped_option_group amped_rbs_option_rows; /* --sample, --block, --epochs, ... */

#endif
