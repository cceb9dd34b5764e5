/* Plot of batches, from the JSON lines of stream --json: errors of each batch, the parts of its
 * time, its entries and rows, and the time of a sweep. */
#ifndef AMPED_PLOT_BATCHES_H
#define AMPED_PLOT_BATCHES_H

#include <jansson.h>

#include "cli/plot/plot.h"

/* Sets of entries whose errors are drawn. */
enum {
  AMPED_PLOT_BEFORE,
  AMPED_PLOT_AFTER,
  AMPED_PLOT_HELD,
  AMPED_PLOT_ALL_HELD,
  AMPED_PLOT_ERRORS
};

/* Parts of a batch's time. */
#define AMPED_PLOT_PHASES 5

/* One batch, from event "batch". */
typedef struct amped_plot_batch {
  double number, seconds, sweep_seconds, entries, touched, new_rows;
  double errors[AMPED_PLOT_ERRORS]; /* NaN: there are no such entries */
  double phases[AMPED_PLOT_PHASES];
} amped_plot_batch;

typedef struct amped_plot_batches {
  amped_plot_batch *all;
  uint64_t count, room;
} amped_plot_batches;

/* Take a line. Batches are kept; other events are ignored. *b must be zeroed before the first line.
 * AMPED_BAD_INPUT: numbers of a batch are missing. */
amped_status amped_plot_batches_take(amped_plot_batches *b, const char *path, uint64_t line,
                                     const char *event, const json_t *object);

/* Write the plot of at least one batch. *f must be open and empty; the caller draws it. */
amped_status amped_plot_batches_draw(const amped_plot_batches *b, amped_plot *f, const char *title);

void amped_plot_batches_free(amped_plot_batches *b);

#endif
