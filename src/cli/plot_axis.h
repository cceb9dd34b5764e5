/* Plot axis: how the indices of a mode stand on the axis of a panel.
 *
 * Numbers, dates, times and indices without labels have an order that means something: a mode of
 * these is drawn along it, all of it. Names have none: of a mode of more than AMPED_PLOT_NAMES,
 * each component shows its largest entries. */
#ifndef AMPED_PLOT_AXIS_H
#define AMPED_PLOT_AXIS_H

#include <stdbool.h>

#include "cli/plot.h"
#include "tensor/ktensor.h"

#define AMPED_PLOT_NAMES 14

typedef struct amped_plot_axis {
  const amped_labels *labels; /* borrowed */
  uint64_t dim;
  bool ordered;
  uint64_t *order;       /* where labels are sorted: the index of each place; else NULL */
  int64_t *values;       /* of an ordered axis: numbers that ticks are round in, or NULL */
  const uint64_t *steps; /* from tick to tick, 0-ended: those of the values, or of places */
  char name[AMPED_PLOT_TEXT_BYTES];
} amped_plot_axis;

/* The axis borrows the labels of k. The caller frees it after a failure, too. */
amped_status amped_plot_axis_create(const amped_ktensor *k, int mode, amped_plot_axis *axis);
void amped_plot_axis_free(amped_plot_axis *axis);

/* The index at a place of the axis, from 0. */
uint64_t amped_plot_axis_index(const amped_plot_axis *axis, uint64_t place);

/* The label of an index, or its number from 1, as a text of the picture. The buffer has
 * AMPED_PLOT_TEXT_BYTES. */
const char *amped_plot_axis_label(const amped_plot_axis *axis, uint64_t index, char *buffer);

/* Print ticks with labels for an axis of `width` pixels: at round numbers where it can be, so far
 * from each other that they do not touch. Places count from 1 there. */
void amped_plot_axis_ticks(amped_plot *f, const amped_plot_axis *axis, int width);

#endif
