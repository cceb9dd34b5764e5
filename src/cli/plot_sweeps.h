/* Plot of sweeps, from the JSON lines of cpd --json: the metric over sweeps and over time, the
 * parts of the time of a sweep, and the balance of MTTKRP over ranks. */
#ifndef AMPED_PLOT_SWEEPS_H
#define AMPED_PLOT_SWEEPS_H

#include <jansson.h>

#include "cli/plot.h"
#include "hdf5/hdf5_metric.h"

/* One sweep, as event "iteration" tells of it. */
typedef struct amped_plot_sweep {
  int curve; /* from 0 */
  double number, value, seconds;
  double mttkrp_min, mttkrp_mean, mttkrp_max;
  double solve, exchange;
} amped_plot_sweep;

/* A decomposition of R components, as event "init" tells of it. */
typedef struct amped_plot_curve {
  int ncomps;
  int group;  /* from 0: curves of one R are a group */
  bool first; /* of its group */
} amped_plot_curve;

typedef struct amped_plot_sweeps {
  char metric[AMPED_METRIC_NAME]; /* its name, from the first sweep */
  amped_plot_sweep *all;
  uint64_t count, room;
  amped_plot_curve *curves; /* of those that "init" told of */
  int curves_count;
  int groups;
} amped_plot_sweeps;

/* Take a line, of a zeroed struct at first: what tells of sweeps is kept, others are passed over.
 * AMPED_BAD_INPUT: an event without its numbers. */
amped_status amped_plot_sweeps_take(amped_plot_sweeps *s, const char *path, uint64_t line,
                                    const char *event, const json_t *object);

/* The plot is open and empty; the caller draws it. */
amped_status amped_plot_sweeps_draw(const amped_plot_sweeps *s, amped_plot *f, const char *title);

void amped_plot_sweeps_free(amped_plot_sweeps *s);

#endif
