/* Chooses the components of a result, and writes its plot. */
#include "cli/plot/plot_result.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "cli/completion_text.h"
#include "cli/model_mode.h"
#include "cli/plot/plot_column.h"
#include "cli/plot/plot_heat.h"
#include "tensor/format.h"
#include "tensor/mode_names.h"

/* Sizes in pixels: the title at the top, a panel, the line above the panels of a component. */
#define HEAD 54
#define PANEL_WIDTH AMPED_PLOT_PANEL_WIDTH
#define PANEL_HEIGHT 280
#define ROW_HEAD 26

/* Pixels of the legend on the right of the errors of a completion model. */
#define LEGEND 76

/* Most characters of component numbers that are listed one by one. */
#define LISTED 80

/* Bytes for "1-6, 8, 10-12" with AMPED_MAX_NCOMPS numbers. */
#define LIST_BYTES (6 * AMPED_MAX_NCOMPS)

typedef struct job {
  amped_plot *f;
  const amped_ktensor *k;
  int order[AMPED_MAX_NCOMPS];    /* components by weight */
  double sizes[AMPED_MAX_NCOMPS]; /* norms of components, whatever their columns' lengths */
  double all_sizes;
  amped_number_list shown;
  bool is_shown[AMPED_MAX_NCOMPS + 1];
  amped_plot_axis axes[AMPED_MAX_ORDER];
  bool has_heat;
  amped_plot_heat heat;
} job;

/* ---- which components ----------------------------------------------------------------------- */

static void choose(job *j, const amped_number_list *asked) {
  const int first = j->k->ncomps < AMPED_PLOT_COMPONENTS ? j->k->ncomps : AMPED_PLOT_COMPONENTS;
  j->shown = *asked;
  if (asked->count == 0)
    for (int i = 0; i < first; i++)
      j->shown.numbers[j->shown.count++] = i + 1;
  for (int i = 0; i < j->shown.count; i++)
    j->is_shown[j->shown.numbers[i]] = true;
}

/* List the components that are shown, or not shown, as --components takes them: "1-6,8". */
static const char *list_numbers(const job *j, bool shown, char *text) {
  size_t used = 0;
  *text = '\0';
  for (int n = 1; n <= j->k->ncomps; n++) {
    int last = n;
    if (j->is_shown[n] != shown)
      continue;
    while (last < j->k->ncomps && j->is_shown[last + 1] == shown)
      last++;
    used += (size_t)snprintf(text + used, LIST_BYTES - used, "%s%d", used > 0 ? "," : "", n);
    if (last > n)
      used += (size_t)snprintf(text + used, LIST_BYTES - used, "-%d", last);
    n = last;
  }
  return text;
}

/* Find the modes of --heat. A name may contain commas: the first comma that ends a mode counts. */
static amped_status find_heat(job *j, const char *path, const char *text) {
  const amped_model_mode model = {path, j->k, "--heat"};
  int *modes = j->heat.modes;
  const char *comma = strchr(text, ',');
  modes[0] = AMPED_MODE_NONE;
  for (; comma != NULL && modes[0] < 0; comma = strchr(comma, ',')) {
    modes[0] = amped_mode_find(j->k->labels, j->k->order, text, (size_t)(comma - text));
    comma++;
    if (modes[0] >= 0)
      AMPED_TRY(amped_model_mode_find(&model, comma, &modes[1]));
  }
  if (modes[0] < 0)
    return amped_model_mode_find(&model, text, &modes[0]) != AMPED_OK
               ? AMPED_USAGE
               : amped_error(AMPED_USAGE, path, "--heat=%s is one mode; name two, with a comma",
                             text);
  if (modes[0] == modes[1])
    return amped_error(AMPED_USAGE, path, "--heat=%s names one mode twice; name two", text);
  j->has_heat = true;
  j->heat.k = j->k;
  for (int i = 0; i < 2; i++)
    j->heat.axes[i] = &j->axes[modes[i]];
  return AMPED_OK;
}

/* Find the norm of each component, for its share in the sum of all norms: its weight, if columns
 * have unit length. Rows without a learnt entry do not count: they are means of others. The size of
 * a model of counts is its sum, which is the weight, too. */
static void find_sizes(job *j, const amped_completion *c, bool has_sums) {
  const amped_ktensor *k = j->k;
  for (int r = 0; r < k->ncomps; r++) {
    j->sizes[r] = fabs(k->weights[r]);
    for (int m = 0; m < k->order; m++) {
      double square = 0.0;
      double sum = 0.0;
      for (uint64_t i = 0; i < k->dims[m]; i++) {
        const bool counts = c->observed[m] == NULL || c->observed[m][i] != 0;
        const double x = counts ? k->factors[m][i * (uint64_t)k->ncomps + (uint64_t)r] : 0.0;
        square += x * x;
        sum += fabs(x);
      }
      j->sizes[r] *= has_sums ? sum : sqrt(square);
    }
    j->all_sizes += j->sizes[r];
  }
}

/* ---- panels --------------------------------------------------------------------------------- */

static void draw_metric(const job *j, const amped_result_metric *metric,
                        const amped_plot_box *axes) {
  amped_plot *f = j->f;
  char name[AMPED_PLOT_TEXT_BYTES];
  char title[AMPED_PLOT_TEXT_BYTES + 64];
  (void)amped_plot_text(name, metric->name, strlen(metric->name));
  (void)snprintf(title, sizeof title, "%s %.6g after %" PRIu64 " sweep%s", name,
                 metric->sweeps.last, metric->sweeps.count, metric->sweeps.count == 1 ? "" : "s");
  amped_plot_panel(f, axes, title);
  double least = INFINITY;
  double most = -INFINITY;
  for (uint64_t s = 0; s < metric->sweeps.count; s++) {
    least = fmin(least, metric->sweeps.values[s]);
    most = fmax(most, metric->sweeps.values[s]);
  }
  amped_plot_spread(f, least, most);
  amped_plot_block(f, "metric", name);
  for (uint64_t s = 0; s < metric->sweeps.count; s++)
    fprintf(f->script, "%" PRIu64 "\t%.9g\n", s + 1, metric->sweeps.values[s]);
  amped_plot_block_end(f);
  amped_plot_whole_ticks(f, 1, metric->sweeps.count, axes->width);
  fprintf(f->script,
          "set xlabel 'sweep'\nset xrange [0.5:%" PRIu64 ".5]\n"
          "plot $metric using 1:2 with linespoints pointtype 7 pointsize 0.4 linecolor "
          "rgb " AMPED_PLOT_BLUE "\n",
          metric->sweeps.count);
  amped_plot_panel_end(f);
}

/* Draw the errors of a completion model: a curve for each set of entries. */
static void draw_errors(const job *j, const char *metric, const amped_completion *c,
                        const amped_plot_box *panel) {
  const amped_plot_box narrow = {panel->left, panel->top, panel->width - LEGEND, panel->height};
  const amped_plot_box *axes = &narrow;
  static const char *const colours[] = {AMPED_PLOT_BLUE, AMPED_PLOT_VERMILION, AMPED_PLOT_GREEN};
  amped_plot *f = j->f;
  char text[AMPED_COMPLETION_TEXT];
  char title[AMPED_COMPLETION_TEXT + AMPED_METRIC_NAME];
  uint64_t sweeps = 0;
  bool first = true;
  (void)snprintf(title, sizeof title, "%s %s", metric, amped_completion_errors_text(c, text));
  amped_plot_panel(f, axes, title);
  for (int s = 0; s < AMPED_COMPLETION_SETS; s++) {
    const amped_completion_errors *e = &c->errors[s];
    sweeps = e->count > sweeps ? e->count : sweeps;
    if (e->count == 0)
      continue;
    amped_plot_block(f, amped_completion_set_names[s], metric);
    for (uint64_t i = 0; i < e->count; i++)
      fprintf(f->script, "%" PRIu64 "\t%.9g\n", i + 1, e->values[i]);
    amped_plot_block_end(f);
  }
  amped_plot_whole_ticks(f, 1, sweeps, axes->width);
  amped_plot_key(f, axes);
  fprintf(f->script, "set xlabel 'sweep'\nset xrange [0.5:%" PRIu64 ".5]\n", sweeps);
  for (int s = 0; s < AMPED_COMPLETION_SETS; s++) {
    if (c->errors[s].count == 0)
      continue;
    fprintf(f->script,
            "%s $%s using 1:2 with linespoints pointtype 7 pointsize 0.4 linecolor rgb %s title "
            "'%s'",
            first ? "plot" : ",", amped_completion_set_names[s], colours[s],
            amped_completion_set_names[s]);
    first = false;
  }
  fprintf(f->script, "\n");
  amped_plot_panel_end(f);
}

static void draw_weights(const job *j, const amped_plot_box *axes) {
  amped_plot *f = j->f;
  const amped_ktensor *k = j->k;
  const bool all = j->shown.count == k->ncomps;
  amped_plot_panel(f, axes, all ? "weights" : "weights (grey: not drawn below)");
  amped_plot_block(f, "weights", "component\tweight\tdrawn below");
  for (int i = 0; i < k->ncomps; i++)
    fprintf(f->script, "%d\t%.9g\t%d\n", i + 1, k->weights[j->order[i]], j->is_shown[i + 1]);
  amped_plot_block_end(f);
  amped_plot_whole_ticks(f, 1, (uint64_t)k->ncomps, axes->width);
  fprintf(
      f->script,
      "set xlabel 'component'\nset boxwidth 0.8\nset xrange [0.5:%d.5]\nset yrange [%s:*]\n"
      "plot $weights using 1:2:($3 == 1 ? 0x0072b2 : 0xb0b0b0) with boxes linecolor rgb variable\n",
      k->ncomps, k->weights[j->order[k->ncomps - 1]] < 0.0 ? "*" : "0");
  amped_plot_panel_end(f);
}

/* Print a component's number, weight and share above its panels. */
static void head_component(const job *j, int number, int top) {
  const int r = j->order[number - 1];
  char text[128];
  char share[48] = "";
  if (isfinite(j->all_sizes) && j->all_sizes > 0.0)
    (void)snprintf(share, sizeof share, ", share %.3g %%", 100.0 * j->sizes[r] / j->all_sizes);
  (void)snprintf(text, sizeof text, "component %d: weight %.4g%s", number, j->k->weights[r], share);
  amped_plot_note(j->f, 12, top + ROW_HEAD / 2 + 2, true, text);
}

static void draw_component(const job *j, int number, int top) {
  int left = 0;
  head_component(j, number, top);
  for (int m = 0; m < j->k->order; m++) {
    char block[64];
    const amped_plot_box outer = {left, top + ROW_HEAD, amped_plot_column_width(&j->axes[m]),
                                  PANEL_HEIGHT - ROW_HEAD};
    left += outer.width;
    (void)snprintf(block, sizeof block, "component_%d_mode_%d", number, m + 1);
    amped_plot_column(j->f, j->k, m, j->order[number - 1], &j->axes[m], &outer, block);
  }
  if (j->has_heat) {
    char block[64];
    (void)snprintf(block, sizeof block, "component_%d_heat", number);
    amped_plot_heat_draw(j->f, &j->heat, j->order[number - 1], left, top + ROW_HEAD, block);
  }
}

/* ---- the picture ---------------------------------------------------------------------------- */

/* Width of the rows of components; two panels stand above them. */
static int width_of(const job *j) {
  int width = 0;
  for (int m = 0; m < j->k->order; m++)
    width += amped_plot_column_width(&j->axes[m]);
  width += j->has_heat ? amped_plot_heat_width(&j->heat) : 0;
  return width > 2 * PANEL_WIDTH ? width : 2 * PANEL_WIDTH;
}

/* Height of the row of a component. */
static int height_of(const job *j) {
  const int heat = j->has_heat ? ROW_HEAD + amped_plot_heat_height(&j->heat) : 0;
  return heat > PANEL_HEIGHT ? heat : PANEL_HEIGHT;
}

/* Print the title, and a note about components that are not drawn, in the picture and as a line. */
static amped_status head(const job *j, const char *path, int height) {
  const amped_ktensor *k = j->k;
  char name[AMPED_PLOT_TEXT_BYTES];
  char dims[AMPED_DIMS_TEXT];
  char title[AMPED_PLOT_TEXT_BYTES + AMPED_DIMS_TEXT + 64];
  char shown[LIST_BYTES];
  char others[LIST_BYTES];
  char text[LISTED + 192];
  const char *slash = strrchr(path, '/');
  const char *base = slash != NULL ? slash + 1 : path;
  (void)snprintf(title, sizeof title, "%s: %s, %d component%s",
                 amped_plot_text(name, base, strlen(base)),
                 amped_format_dims(dims, k->order, k->dims), k->ncomps, k->ncomps == 1 ? "" : "s");
  AMPED_TRY(amped_plot_begin(j->f, width_of(j), height, title));
  if (j->shown.count == k->ncomps)
    return AMPED_OK;
  list_numbers(j, true, shown);
  list_numbers(j, false, others);
  if (strlen(shown) + strlen(others) <= LISTED)
    (void)snprintf(text, sizeof text,
                   "component%s %.*s of %d, by weight; the others with --components=%.*s",
                   j->shown.count == 1 ? "" : "s", LISTED, shown, k->ncomps, LISTED, others);
  else
    (void)snprintf(text, sizeof text, "%d of %d components; others with --components",
                   j->shown.count, k->ncomps);
  amped_plot_note(j->f, 12, 36, false, text);
  amped_say("%s: %s", path, text);
  return AMPED_OK;
}

static amped_status draw(job *j, const char *path, const amped_result_metric *metric,
                         const amped_completion *c) {
  const int rows = j->shown.count;
  AMPED_TRY(head(j, path, HEAD + PANEL_HEIGHT + rows * height_of(j)));
  amped_plot_box axes = {62, HEAD + 24, PANEL_WIDTH - 80, PANEL_HEIGHT - 84};
  if (metric->sweeps.count > 0) {
    if (c->order > 0)
      draw_errors(j, metric->name, c, &axes);
    else
      draw_metric(j, metric, &axes);
    axes.left += PANEL_WIDTH;
  }
  draw_weights(j, &axes);
  for (int i = 0; i < rows; i++)
    draw_component(j, j->shown.numbers[i], HEAD + PANEL_HEIGHT + i * height_of(j));
  return AMPED_OK;
}

amped_status amped_plot_result(amped_plot *f, const char *path, const amped_ktensor *k,
                               const amped_result_metric *metric, const amped_completion *c,
                               const amped_number_list *asked, const char *heat) {
  job *j = NULL;
  bool has_sums = false;
  AMPED_TRY(amped_result_file_has_sums(path, &has_sums));
  AMPED_TRY(amped_calloc(&j, 1, sizeof *j, "a plot"));
  j->f = f;
  j->k = k;
  amped_ktensor_order(k, j->order);
  find_sizes(j, c, has_sums);
  choose(j, asked);
  amped_status status = AMPED_OK;
  for (int m = 0; m < k->order && status == AMPED_OK; m++)
    status = amped_plot_axis_create(k, m, &j->axes[m]);
  if (status == AMPED_OK && heat != NULL)
    status = find_heat(j, path, heat);
  if (status == AMPED_OK)
    status = draw(j, path, metric, c);
  for (int m = 0; m < k->order; m++)
    amped_plot_axis_free(&j->axes[m]);
  amped_free(j);
  return status;
}
