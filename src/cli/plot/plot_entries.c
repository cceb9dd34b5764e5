/* Finds extremes, ranges and the largest entries of a column of a factor. */
#include "cli/plot/plot_entries.h"

#include <math.h>
#include <string.h>

double amped_plot_entry(const amped_plot_entries *e, uint64_t index) {
  return e->k->factors[e->mode][index * (uint64_t)e->k->ncomps + (uint64_t)e->r];
}

double amped_plot_entry_at(const amped_plot_entries *e, uint64_t place) {
  return amped_plot_entry(e, amped_plot_axis_index(e->axis, place));
}

uint64_t amped_plot_range_first(const amped_plot_entries *e, uint64_t ranges, uint64_t i) {
  const uint64_t dim = e->axis->dim; /* i * dim / ranges, without overflow */
  return dim / ranges * i + dim % ranges * i / ranges;
}

void amped_plot_extremes(const amped_plot_entries *e, uint64_t first, uint64_t end, uint64_t *least,
                         uint64_t *most) {
  double low = amped_plot_entry_at(e, first);
  double high = low;
  *least = first;
  *most = first;
  for (uint64_t i = first + 1; i < end; i++) {
    const double x = amped_plot_entry_at(e, i);
    if (x < low) {
      low = x;
      *least = i;
    }
    if (x > high) {
      high = x;
      *most = i;
    }
  }
}

int amped_plot_leading(const amped_plot_entries *e, int most, uint64_t *leading) {
  int count = 0;
  for (uint64_t i = 0; i < e->axis->dim; i++) {
    const double size = fabs(amped_plot_entry(e, i));
    int at = count;
    while (at > 0 && size > fabs(amped_plot_entry(e, leading[at - 1])))
      at--;
    if (at == most || !(size > 0.0))
      continue;
    count += count < most;
    memmove(leading + at + 1, leading + at, (size_t)(count - 1 - at) * sizeof *leading);
    leading[at] = i;
  }
  return count;
}

int amped_plot_choose_names(const amped_plot_entries *e, uint64_t *shown) {
  if (e->axis->dim > AMPED_PLOT_NAMES)
    return amped_plot_leading(e, AMPED_PLOT_NAMES, shown);
  for (uint64_t i = 0; i < e->axis->dim; i++)
    shown[i] = amped_plot_axis_index(e->axis, i);
  return (int)e->axis->dim;
}
