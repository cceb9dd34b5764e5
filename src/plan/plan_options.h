/* Plan options: the user's choices for the distribution of work. */
#ifndef AMPED_PLAN_OPTIONS_H
#define AMPED_PLAN_OPTIONS_H

#include "base/option.h"
#include "plan/placement.h"

typedef struct amped_plan_options {
  amped_placement placement;
  int parts; /* see amped_plan_cut (overlap.h) */
} amped_plan_options;

extern const amped_option_group amped_plan_option_rows; /* --placement, --overlap */

#endif
