/* Collects the sweeps of a run, and writes their plot. */
#include "cli/plot/plot_sweeps.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "hdf5/hdf5_metric.h"
#include "session/session_options.h"

/* The picture in pixels: two rows of two panels. */
#define WIDTH 1000
#define HEIGHT 610

static const amped_plot_box panels[] = {
    {70, 60, 320, 200}, {570, 60, 320, 200}, {70, 350, 320, 200}, {570, 350, 320, 200}};

/* Most decompositions of a run. */
#define MOST_CURVES (AMPED_MAX_NCOMPS_COUNT * AMPED_MAX_NCOMPS_COUNT)

/* Most numbers of components that get a line in the legend; dashes of lines, which change when all
 * colours are used; colours. */
#define TITLED 12
#define DASHES 4
#define COLOURS 7
static const char *const colours[COLOURS] = {
    AMPED_PLOT_BLUE,   AMPED_PLOT_VERMILION, AMPED_PLOT_GREEN, AMPED_PLOT_ORANGE,
    AMPED_PLOT_PURPLE, AMPED_PLOT_SKY,       AMPED_PLOT_BLACK};

static void take_metric(amped_plot_sweeps *s, const json_t *object) {
  const char *name = json_string_value(json_object_get(object, "metric"));
  if (s->count == 0)
    (void)snprintf(s->metric, sizeof s->metric, "%s", name != NULL ? name : AMPED_METRIC_UNNAMED);
}

static amped_status append(amped_plot_sweeps *s, const char *path, uint64_t line,
                           const json_t *object) {
  const json_t *mttkrp = json_object_get(object, "mttkrp_seconds");
  const int now = s->curves_count > 0 ? s->curves_count - 1 : 0;
  take_metric(s, object);
  const amped_plot_sweep one = {now,
                                amped_json_number_of(object, "sweep"),
                                amped_json_number_of(object, s->metric),
                                amped_json_number_of(object, "seconds"),
                                amped_json_number_of(mttkrp, "min"),
                                amped_json_number_of(mttkrp, "mean"),
                                amped_json_number_of(mttkrp, "max"),
                                amped_json_number_of(object, "solve_seconds"),
                                amped_json_number_of(object, "exchange_seconds")};
  if (!isfinite(one.number + one.value + one.seconds + one.mttkrp_min + one.mttkrp_mean +
                one.mttkrp_max + one.solve + one.exchange))
    return amped_error(AMPED_BAD_INPUT, path,
                       "line %" PRIu64 ": an iteration without its numbers; name a file that "
                       "amped_mpi cpd --json wrote",
                       line);
  if (s->count == s->room) {
    s->room = s->room > 0 ? 2 * s->room : 64;
    AMPED_TRY(amped_realloc(&s->all, s->room, sizeof *s->all, "the sweeps"));
  }
  s->all[s->count++] = one;
  return AMPED_OK;
}

static amped_status begin_curve(amped_plot_sweeps *s, const char *path, const json_t *object) {
  const int n = s->curves_count;
  if (n == MOST_CURVES)
    return amped_error(
        AMPED_BAD_INPUT, path,
        "has more than %d decompositions; name a file that amped_mpi cpd --json wrote",
        MOST_CURVES);
  amped_plot_curve one = {.ncomps = (int)json_integer_value(json_object_get(object, "rank")),
                          .group = s->groups,
                          .first = true};
  for (int c = 0; c < n && one.first; c++)
    if (s->curves[c].ncomps == one.ncomps) {
      one.group = s->curves[c].group;
      one.first = false;
    }
  AMPED_TRY(amped_realloc(&s->curves, (uint64_t)n + 1, sizeof *s->curves, "the curves"));
  s->curves[s->curves_count++] = one;
  s->groups += one.first;
  return AMPED_OK;
}

amped_status amped_plot_sweeps_take(amped_plot_sweeps *s, const char *path, uint64_t line,
                                    const char *event, const json_t *object) {
  if (strcmp(event, "iteration") == 0)
    return append(s, path, line, object);
  return strcmp(event, "init") == 0 ? begin_curve(s, path, object) : AMPED_OK;
}

/* Write the data. The rest of a sweep is the time outside MTTKRP, solve and exchange; times are
 * means over ranks. A blank line ends a curve: sweeps of a new decomposition count from 1 again. */
static void write_data(amped_plot *f, const amped_plot_sweeps *s, const char *metric) {
  double elapsed = 0.0;
  char columns[256];
  (void)snprintf(columns, sizeof columns,
                 "sweep\t%s\tseconds since the first sweep began\tseconds\tmttkrp min\tmttkrp "
                 "mean\tmttkrp max\tsolve\texchange\tsweep of the run",
                 metric);
  amped_plot_block(f, "sweeps", columns);
  for (uint64_t i = 0; i < s->count; i++) {
    const amped_plot_sweep *x = &s->all[i];
    elapsed += x->seconds;
    if (i > 0 && (x->curve != s->all[i - 1].curve || x->number <= s->all[i - 1].number))
      fprintf(f->script, "\n");
    fprintf(f->script, "%.0f\t%.9g\t%.6g\t%.9g\t%.9g\t%.9g\t%.9g\t%.9g\t%.9g\t%" PRIu64 "\n",
            x->number, x->value, elapsed, x->seconds, x->mttkrp_min, x->mttkrp_mean, x->mttkrp_max,
            x->solve, x->exchange, i + 1);
  }
  amped_plot_block_end(f);
}

/* Draw the metric over a column: a curve for each decomposition that has sweeps. Curves of the same
 * R share a colour and a line in the legend. */
static void write_metric(amped_plot *f, const amped_plot_sweeps *s, int column) {
  int drawn = 0;
  int last = -1;
  if (s->curves_count < 2) {
    fprintf(f->script,
            "plot $sweeps using %d:2 with linespoints pointtype 7 pointsize 0.4 linecolor rgb %s\n",
            column, colours[0]);
    return;
  }
  fprintf(f->script, "plot");
  for (uint64_t i = 0; i < s->count; i++) {
    const int c = s->all[i].curve;
    if (c == last)
      continue;
    last = c;
    const amped_plot_curve *one = &s->curves[c];
    fprintf(f->script,
            "%s $sweeps every :::%d::%d using %d:2 with linespoints pointtype 7 pointsize 0.4 "
            "linecolor rgb %s dashtype %d ",
            drawn == 0 ? "" : ", \\\n ", drawn, drawn, column, colours[one->group % COLOURS],
            1 + one->group / COLOURS % DASHES);
    if (one->first && one->group < TITLED)
      fprintf(f->script, "title 'R = %d'", one->ncomps);
    else
      fprintf(f->script, "notitle");
    drawn++;
  }
  fprintf(f->script, "\n");
}

static void write_metrics(amped_plot *f, const amped_plot_sweeps *s, const char *metric) {
  char title[AMPED_PLOT_TEXT_BYTES + 32];
  double most = 0.0;
  double low = INFINITY;
  double high = -INFINITY;
  for (uint64_t i = 0; i < s->count; i++) {
    most = fmax(most, s->all[i].number);
    low = fmin(low, s->all[i].value);
    high = fmax(high, s->all[i].value);
  }
  (void)snprintf(title, sizeof title, "%s over sweeps", metric);
  amped_plot_panel(f, &panels[0], title);
  amped_plot_spread(f, low, high);
  amped_plot_whole_ticks(f, 1, (uint64_t)most, panels[0].width);
  fprintf(f->script, "set xlabel 'sweep'\n");
  write_metric(f, s, 1);
  amped_plot_panel_end(f);
  (void)snprintf(title, sizeof title, "%s over time", metric);
  amped_plot_panel(f, &panels[1], title);
  amped_plot_spread(f, low, high);
  fprintf(f->script, "set xlabel 'seconds since the first sweep began'\n");
  if (s->curves_count > 1)
    amped_plot_key(f, &panels[1]);
  write_metric(f, s, 3);
  amped_plot_panel_end(f);
}

static void write_times(amped_plot *f, const amped_plot_sweeps *s) {
  amped_plot_panel(f, &panels[2], "time of a sweep, seconds (means over ranks)");
  amped_plot_key(f, &panels[2]);
  amped_plot_whole_ticks(f, 1, s->count, panels[2].width);
  fprintf(f->script,
          "set xlabel 'sweep of the run'\n"
          "set xrange [0.5:%" PRIu64 ".5]\nset yrange [0:*]\n"
          "set boxwidth %s\n"
          "plot $sweeps using 10:4 with boxes linecolor rgb " AMPED_PLOT_GREY " title 'rest', \\\n"
          "  $sweeps using 10:($6+$8+$9) with boxes linecolor rgb " AMPED_PLOT_ORANGE
          " title 'exchange', \\\n"
          "  $sweeps using 10:($6+$8) with boxes linecolor rgb " AMPED_PLOT_GREEN
          " title 'solve', \\\n"
          "  $sweeps using 10:6 with boxes linecolor rgb " AMPED_PLOT_BLUE " title 'mttkrp'\n",
          s->count, s->count < 100 ? "0.8" : "1");
  amped_plot_panel_end(f);
  amped_plot_panel(f, &panels[3], "mttkrp of a sweep over ranks, seconds");
  amped_plot_key(f, &panels[3]);
  amped_plot_whole_ticks(f, 1, s->count, panels[3].width);
  fprintf(f->script,
          "set xlabel 'sweep of the run'\n"
          "set xrange [0.5:%" PRIu64 ".5]\nset yrange [0:*]\n"
          "plot $sweeps using 10:7 with lines linecolor rgb " AMPED_PLOT_VERMILION
          " title 'most', \\\n"
          "  $sweeps using 10:5 with lines linecolor rgb " AMPED_PLOT_SKY " title 'least', \\\n"
          "  $sweeps using 10:6 with lines linecolor rgb " AMPED_PLOT_BLUE " title 'mean'\n",
          s->count);
  amped_plot_panel_end(f);
}

amped_status amped_plot_sweeps_draw(const amped_plot_sweeps *s, amped_plot *f, const char *title) {
  char name[AMPED_PLOT_TEXT_BYTES];
  const char *metric = amped_plot_text(name, s->metric, strlen(s->metric));
  AMPED_TRY(amped_plot_begin(f, WIDTH, HEIGHT, title));
  write_data(f, s, metric);
  write_metrics(f, s, metric);
  write_times(f, s);
  return AMPED_OK;
}

void amped_plot_sweeps_free(amped_plot_sweeps *s) {
  amped_free(s->curves);
  amped_free(s->all);
}
