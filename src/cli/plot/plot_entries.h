/* Plot entries: which entries of a column of a factor a picture shows.
 *
 * An ordered axis shows all places, or ranges of them; an axis of names shows all names, or the
 * largest. Pure functions of a model and an axis. */
#ifndef AMPED_PLOT_ENTRIES_H
#define AMPED_PLOT_ENTRIES_H

#include "cli/plot/plot_axis.h"

/* The column r of a mode's factor, along its axis. */
typedef struct amped_plot_entries {
  const amped_ktensor *k;
  const amped_plot_axis *axis;
  int mode, r;
} amped_plot_entries;

/* The entry of an index, and the entry at a place of the axis. */
double amped_plot_entry(const amped_plot_entries *e, uint64_t index);
double amped_plot_entry_at(const amped_plot_entries *e, uint64_t place);

/* Divide the places into `ranges` ranges whose lengths differ by one at most, each where the i-th
 * of equal ranges would be: the first place of range i. The first place of range `ranges` is the
 * number of places. ranges: from 1 to this number, below 2^31. */
uint64_t amped_plot_range_first(const amped_plot_entries *e, uint64_t ranges, uint64_t i);

/* Find the places of the least and the largest entry among places first .. end - 1; of equal ones
 * the first. */
void amped_plot_extremes(const amped_plot_entries *e, uint64_t first, uint64_t end, uint64_t *least,
                         uint64_t *most);

/* Find the largest nonzero entries by descending absolute value; of equal ones the first. leading:
 * their indices, at most `most`. Returns their number. */
int amped_plot_leading(const amped_plot_entries *e, int most, uint64_t *leading);

/* Choose the indices that an axis of names shows: all, in the axis's order, or the largest. shown:
 * [AMPED_PLOT_NAMES]. Returns their number. */
int amped_plot_choose_names(const amped_plot_entries *e, uint64_t *shown);

#endif
