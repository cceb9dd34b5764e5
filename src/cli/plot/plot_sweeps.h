/* Plot of sweeps, from the JSON lines of cpd --json: the metric over sweeps and over time, the
 * parts of the time of a sweep, and the balance of MTTKRP over ranks. */
#ifndef AMPED_PLOT_SWEEPS_H
#define AMPED_PLOT_SWEEPS_H

#include <jansson.h>

#include "cli/plot/plot.h"
#include "hdf5/hdf5_metric.h"

/* One sweep, from event "iteration". */
typedef struct amped_plot_sweep {
  int curve; /* number of its curve, from 0 */
  double number, value, seconds;
  double mttkrp_min, mttkrp_mean, mttkrp_max;
  double solve, exchange;
} amped_plot_sweep;

/* A decomposition of R components, from event "init". */
typedef struct amped_plot_curve {
  int ncomps;
  int group;  /* group of all curves with the same R, from 0 */
  bool first; /* the first curve of its group */
} amped_plot_curve;

typedef struct amped_plot_sweeps {
  char metric[AMPED_METRIC_NAME]; /* name of the metric, from the first sweep */
  amped_plot_sweep *all;
  uint64_t count, room;
  amped_plot_curve *curves; /* decompositions with an event "init" */
  int curves_count;
  int groups;
} amped_plot_sweeps;

/* Take a line. Sweeps and decompositions are kept; other events are ignored. *s must be zeroed
 * before the first line. AMPED_BAD_INPUT: numbers of an event are missing. */
amped_status amped_plot_sweeps_take(amped_plot_sweeps *s, const char *path, uint64_t line,
                                    const char *event, const json_t *object);

/* Write the plot. *f must be open and empty; the caller draws it. */
amped_status amped_plot_sweeps_draw(const amped_plot_sweeps *s, amped_plot *f, const char *title);

void amped_plot_sweeps_free(amped_plot_sweeps *s);

#endif
