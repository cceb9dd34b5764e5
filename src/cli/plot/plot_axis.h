/* Plot axis: how the indices of a mode are placed on the axis of a panel.
 *
 * Numbers, dates, times and indices without labels have a meaningful order: their whole mode is
 * drawn along it, each label at its value. Names have none. If a mode has more than
 * AMPED_PLOT_NAMES names, each component shows its largest entries. */
#ifndef AMPED_PLOT_AXIS_H
#define AMPED_PLOT_AXIS_H

#include <stdbool.h>

#include "cli/plot/plot.h"
#include "tensor/ktensor.h"

#define AMPED_PLOT_NAMES 14

typedef struct amped_plot_axis {
  const amped_labels *labels; /* borrowed */
  uint64_t dim;
  bool ordered;
  bool numbered;         /* labels add nothing to indices, or there are none */
  uint64_t *order;       /* index of each place, if labels are sorted; else NULL */
  double *at;            /* position of each place, by the labels' values; NULL: 1, 2, 3, ... */
  int64_t *values;       /* for an ordered axis: values at which ticks are round numbers, or NULL */
  double *numbers;       /* labels that are numbers, but not all whole ones, ascending; or NULL */
  const uint64_t *steps; /* possible steps between ticks, of the values or of places; 0-ended */
  char name[AMPED_PLOT_TEXT_BYTES];
} amped_plot_axis;

/* The axis borrows the labels of k. The caller frees it even after a failure. */
amped_status amped_plot_axis_create(const amped_ktensor *k, int mode, amped_plot_axis *axis);
void amped_plot_axis_free(amped_plot_axis *axis);

/* The position of a place on the axis, which goes from 0.5 to dim + 0.5. The places of an order
 * whose values are not evenly spaced stand at their values: hours that are missing leave a gap. */
double amped_plot_axis_at(const amped_plot_axis *axis, uint64_t place);

/* Is there a gap between a place and the next one: a step that is longer than those around it? */
bool amped_plot_axis_is_gap(const amped_plot_axis *axis, uint64_t place);

/* The range of positions that a place covers: up to the middle between two places, but only half of
 * a usual step into a gap. */
void amped_plot_axis_reach(const amped_plot_axis *axis, uint64_t place, double *low, double *high);

/* The index at a place of the axis, counted from 0. */
uint64_t amped_plot_axis_index(const amped_plot_axis *axis, uint64_t place);

/* The label of an index, or its number from 1, as a text of the picture. The buffer has
 * AMPED_PLOT_TEXT_BYTES. */
const char *amped_plot_axis_label(const amped_plot_axis *axis, uint64_t index, char *buffer);

/* Print ticks with labels for an axis of `pixels`, across ('x') or up ('y'). They are at round
 * numbers if possible, and do not touch each other. The script has positions. */
void amped_plot_axis_ticks(amped_plot *f, const amped_plot_axis *axis, char side, int pixels);

#endif
