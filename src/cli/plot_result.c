#include "cli/plot_result.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Leading entries of a component and mode that are labelled. */
#define LABELS 3

/* Up to so many indices, entries are bars. */
#define BARS 200

static double entry(const amped_ktensor *k, int mode, uint64_t i, int r) {
  return k->factors[mode][i * (uint64_t)k->ncomps + (uint64_t)r];
}

static void write_metric(amped_plot *f, const amped_result_metric *metric) {
  char columns[AMPED_METRIC_NAME + 16];
  (void)snprintf(columns, sizeof columns, "sweep\t%s", metric->name);
  amped_plot_block(f, metric->name, columns);
  for (uint64_t s = 0; s < metric->sweeps; s++)
    fprintf(f->data, "%" PRIu64 "\t%.9g\n", s + 1, metric->history[s]);
  fprintf(f->script,
          "set title '%s'\nset xlabel 'sweep'\n"
          "plot data index '%s' using 1:2 with linespoints pointtype 7 pointsize 0.4\n",
          metric->name, metric->name);
}

static void write_weights(amped_plot *f, const amped_ktensor *k, const int *order) {
  amped_plot_block(f, "weights", "component\tweight");
  for (int i = 0; i < k->ncomps; i++)
    fprintf(f->data, "%d\t%.9g\n", i + 1, k->weights[order[i]]);
  fprintf(f->script,
          "set title 'weights'\nset xlabel 'component'\nset boxwidth 0.8\n"
          "set xrange [0.5:%d.5]\nset yrange [0:*]\n"
          "plot data index 'weights' using 1:2 with boxes\n"
          "set xrange [*:*]\nset yrange [*:*]\n",
          k->ncomps);
}

/* The index of the entry of largest absolute value among first .. end - 1. */
static uint64_t largest(const amped_ktensor *k, int mode, int r, uint64_t first, uint64_t end) {
  uint64_t best = first;
  for (uint64_t i = first + 1; i < end; i++)
    if (fabs(entry(k, mode, i, r)) > fabs(entry(k, mode, best, r)))
      best = i;
  return best;
}

static void write_entries(amped_plot *f, const amped_ktensor *k, int mode, int r) {
  uint64_t dim = k->dims[mode];
  uint64_t points = dim < AMPED_PLOT_POINTS ? dim : AMPED_PLOT_POINTS;
  uint64_t length = amped_ceil_div(dim, points);
  for (uint64_t first = 0; first < dim; first += length) {
    uint64_t end = dim - first < length ? dim : first + length;
    uint64_t i = largest(k, mode, r, first, end);
    fprintf(f->data, "%" PRIu64 "\t%.6g\n", i + 1, entry(k, mode, i, r));
  }
}

/* The leading entries by repeated search, as there are few. */
static void write_leading(amped_plot *f, const amped_ktensor *k, int mode, int r) {
  uint64_t found[LABELS];
  for (int n = 0; n < LABELS && (uint64_t)n < k->dims[mode]; n++) {
    uint64_t best = UINT64_MAX;
    for (uint64_t i = 0; i < k->dims[mode]; i++) {
      bool known = false;
      for (int j = 0; j < n; j++)
        known = known || found[j] == i;
      if (!known &&
          (best == UINT64_MAX || fabs(entry(k, mode, i, r)) > fabs(entry(k, mode, best, r))))
        best = i;
    }
    char text[AMPED_PLOT_TEXT_BYTES];
    uint64_t length = 0;
    const char *label = amped_label(&k->labels[mode], best, &length);
    found[n] = best;
    fprintf(f->data, "%" PRIu64 "\t%.6g\t%s\n", best + 1, entry(k, mode, best, r),
            amped_plot_text(text, label, length));
  }
}

static void write_panel(amped_plot *f, const amped_ktensor *k, int mode, int place, int r) {
  char block[64];
  char name[AMPED_PLOT_TEXT_BYTES];
  const char *known = k->labels[mode].name != NULL ? k->labels[mode].name : "";
  bool labelled = k->labels[mode].count > 0;
  (void)snprintf(block, sizeof block, "component-%d-mode-%d", place, mode);
  amped_plot_block(f, block, "index\tentry");
  write_entries(f, k, mode, r);
  fprintf(f->script, "set title 'component %d, mode %d%s%s'\nset xrange [0:%" PRIu64 "]\n", place,
          mode, *known != '\0' ? ": " : "", amped_plot_text(name, known, strlen(known)),
          k->dims[mode] + 1);
  fprintf(f->script, "plot data index '%s' using 1:2 with %s linecolor %d", block,
          k->dims[mode] <= BARS ? "boxes" : "impulses", mode + 1);
  if (labelled) {
    (void)snprintf(block, sizeof block, "component-%d-mode-%d-leading", place, mode);
    amped_plot_block(f, block, "index\tentry\tlabel");
    write_leading(f, k, mode, r);
    fprintf(f->script,
            ", \\\n  data index '%s' using 1:2:3 with labels left offset 0.3,0.3 font ',8'", block);
  }
  fprintf(f->script, "\n");
}

void amped_plot_result(amped_plot *f, const char *path, const amped_ktensor *k,
                       const amped_result_metric *metric) {
  int order[AMPED_MAX_NCOMPS];
  char title[AMPED_PLOT_TEXT_BYTES];
  const char *slash = strrchr(path, '/');
  const char *base = slash != NULL ? slash + 1 : path;
  int shown = k->ncomps < AMPED_PLOT_COMPONENTS ? k->ncomps : AMPED_PLOT_COMPONENTS;
  amped_ktensor_order(k, order);
  amped_plot_layout(f, shown + 1, k->order, amped_plot_text(title, base, strlen(base)));
  if (metric->sweeps > 0)
    write_metric(f, metric);
  write_weights(f, k, order);
  for (int i = metric->sweeps > 0 ? 2 : 1; i < k->order; i++)
    fprintf(f->script, "set multiplot next\n");
  fprintf(f->script, "unset xlabel\nset boxwidth 0.9\n");
  for (int i = 0; i < shown; i++)
    for (int m = 0; m < k->order; m++)
      write_panel(f, k, m, i + 1, order[i]);
}
