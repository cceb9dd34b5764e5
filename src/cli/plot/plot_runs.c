/* Reads several runs, and writes a plot that compares them. */
#include "cli/plot/plot_runs.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/metric.h"
#include "cli/plot/plot_run.h"
#include "cli/plot/plot_sweeps.h"

/* The picture in pixels: two rows of two panels, with space for names at the right. */
#define WIDTH 1080
#define HEIGHT 610

static const amped_plot_box panels[] = {
    {80, 60, 340, 200}, {520, 60, 340, 200}, {80, 350, 340, 200}, {520, 350, 340, 200}};

#define COLOURS 7
static const char *const colours[COLOURS] = {
    AMPED_PLOT_BLUE,   AMPED_PLOT_VERMILION, AMPED_PLOT_GREEN, AMPED_PLOT_ORANGE,
    AMPED_PLOT_PURPLE, AMPED_PLOT_SKY,       AMPED_PLOT_BLACK};

typedef struct runs {
  amped_plot_sweeps all[AMPED_PLOT_RUNS];
  char names[AMPED_PLOT_RUNS][AMPED_PLOT_TEXT_BYTES];
  int count;
} runs;

/* The file's name without folders and suffix. */
static void name_run(const char *path, char *name) {
  const char *slash = strrchr(path, '/');
  const char *base = slash != NULL ? slash + 1 : path;
  const char *dot = strrchr(base, '.');
  (void)amped_plot_text(name, base, dot != NULL ? (uint64_t)(dot - base) : strlen(base));
}

/* Refuse a file with several decompositions, or with another metric than the first run. */
static amped_status check_run(const runs *r, const amped_plot_sweeps *s, const char *path) {
  for (uint64_t i = 1; i < s->count; i++)
    if (s->all[i].curve != s->all[i - 1].curve || s->all[i].number <= s->all[i - 1].number)
      return amped_error(
          AMPED_BAD_INPUT, path,
          "has several decompositions; to compare runs, name files with one decomposition each");
  if (strcmp(s->metric, r->all[0].metric) != 0)
    return amped_error(AMPED_BAD_INPUT, path,
                       "has the metric %s, and the first run has %s; draw them separately",
                       s->metric, r->all[0].metric);
  return AMPED_OK;
}

static amped_status read_runs(runs *r, const char *const *paths, int count) {
  for (r->count = 0; r->count < count; r->count++) {
    amped_plot_sweeps *s = &r->all[r->count];
    AMPED_TRY(amped_plot_run_read_sweeps(paths[r->count], s));
    AMPED_TRY(check_run(r, s, paths[r->count]));
    name_run(paths[r->count], r->names[r->count]);
  }
  return AMPED_OK;
}

/* The least and the largest value of the metric in all runs. */
static void find_range(const runs *r, double *low, double *high) {
  *low = INFINITY;
  *high = -INFINITY;
  for (int k = 0; k < r->count; k++)
    for (uint64_t i = 0; i < r->all[k].count; i++) {
      *low = fmin(*low, r->all[k].all[i].value);
      *high = fmax(*high, r->all[k].all[i].value);
    }
}

static double best_of(const runs *r) {
  double low = 0.0;
  double high = 0.0;
  find_range(r, &low, &high);
  return amped_metric_rises(r->all[0].metric) ? high : low;
}

/* Write a block of data for each run: $run0, $run1, ... */
static void write_data(amped_plot *f, const runs *r) {
  const double best = best_of(r);
  for (int k = 0; k < r->count; k++) {
    const amped_plot_sweeps *s = &r->all[k];
    double elapsed = 0.0;
    char block[16];
    (void)snprintf(block, sizeof block, "run%d", k);
    amped_plot_block(f, block,
                     "sweep\tmetric\tseconds since the first sweep began\tdistance from the best");
    for (uint64_t i = 0; i < s->count; i++) {
      elapsed += s->all[i].seconds;
      fprintf(f->script, "%.0f\t%.9g\t%.6g\t%.9g\n", s->all[i].number, s->all[i].value, elapsed,
              fabs(best - s->all[i].value));
    }
    amped_plot_block_end(f);
  }
}

static void write_curves(amped_plot *f, const runs *r, int x, int y, bool named) {
  fprintf(f->script, "plot");
  for (int k = 0; k < r->count; k++) {
    fprintf(f->script,
            "%s $run%d using %d:%s%d%s with lines linewidth 1.5 linecolor rgb %s "
            "dashtype %d ",
            k == 0 ? "" : ", \\\n ", k, x, y == 4 ? "($" : "", y, y == 4 ? " > 0 ? $4 : NaN)" : "",
            colours[k % COLOURS], 1 + k / COLOURS);
    if (named)
      fprintf(f->script, "title '%s'", r->names[k]);
    else
      fprintf(f->script, "notitle");
  }
  fprintf(f->script, "\n");
}

static void write_panel(amped_plot *f, const runs *r, int panel, const char *title, int x, int y) {
  double low = 0.0;
  double high = 0.0;
  find_range(r, &low, &high);
  amped_plot_panel(f, &panels[panel], title);
  fprintf(f->script, "set xlabel '%s'\n", x == 1 ? "sweep" : "seconds since the first sweep began");
  if (y == 4)
    fprintf(f->script, "set logscale y\nset format y '%%.0e'\n");
  else
    amped_plot_spread(f, low, high);
  if (panel == 1)
    amped_plot_key(f, &panels[1]);
  write_curves(f, r, x, y, panel == 1);
  if (y == 4)
    fprintf(f->script, "unset logscale y\n");
  amped_plot_panel_end(f);
}

static amped_status draw(amped_plot *f, const runs *r) {
  char name[AMPED_PLOT_TEXT_BYTES];
  char titles[4][AMPED_PLOT_TEXT_BYTES + 48];
  const char *metric = amped_plot_text(name, r->all[0].metric, strlen(r->all[0].metric));
  char title[AMPED_PLOT_TEXT_BYTES + 32];
  (void)snprintf(title, sizeof title, "%s of %d runs", metric, r->count);
  AMPED_TRY(amped_plot_begin(f, WIDTH, HEIGHT, title));
  (void)snprintf(titles[0], sizeof titles[0], "%s over sweeps", metric);
  (void)snprintf(titles[1], sizeof titles[1], "%s over time", metric);
  (void)snprintf(titles[2], sizeof titles[2], "distance from the best %s, over sweeps", metric);
  (void)snprintf(titles[3], sizeof titles[3], "distance from the best %s, over time", metric);
  write_data(f, r);
  for (int panel = 0; panel < 4; panel++)
    write_panel(f, r, panel, titles[panel], panel % 2 == 0 ? 1 : 3, panel < 2 ? 2 : 4);
  return AMPED_OK;
}

amped_status amped_plot_runs(amped_plot *f, const char *const *paths, int count) {
  runs *r = NULL;
  if (count > AMPED_PLOT_RUNS)
    return amped_error(AMPED_USAGE, NULL,
                       "%d runs are too many for one picture, which shows at most %d; name fewer",
                       count, AMPED_PLOT_RUNS);
  AMPED_TRY(amped_calloc(&r, 1, sizeof *r, "the runs"));
  amped_status status = read_runs(r, paths, count);
  if (status == AMPED_OK)
    status = draw(f, r);
  for (int k = 0; k < AMPED_PLOT_RUNS; k++)
    amped_plot_sweeps_free(&r->all[k]);
  amped_free(r);
  return status;
}
