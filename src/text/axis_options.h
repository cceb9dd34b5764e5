/* Axis options: names and values of the modes of an array, as the user gives them (axes.h). */
#ifndef AMPED_AXIS_OPTIONS_H
#define AMPED_AXIS_OPTIONS_H

#include "base/option.h"
#include "base/types.h"

typedef struct amped_axis_options {
  const char *modes; /* names with commas, or NULL */
  int count;
  const char *axes[AMPED_MAX_ORDER]; /* MODE:FIRST:LAST or MODE:FILE; borrowed */
} amped_axis_options;

extern const amped_option_group amped_axis_option_rows; /* --modes, --axis */

/* Are there any names or axes? options may be NULL. */
bool amped_axes_given(const amped_axis_options *options);

#endif
