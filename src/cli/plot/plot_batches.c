/* Collects the batches of a stream, and writes their plot. */
#include "cli/plot/plot_batches.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"

/* The picture in pixels: two rows of two panels. */
#define WIDTH 1000
#define HEIGHT 610

static const amped_plot_box panels[] = {
    {70, 60, 300, 200}, {600, 60, 300, 200}, {70, 350, 300, 200}, {600, 350, 300, 200}};

/* JSON keys, titles and colours of errors and of phases. */
static const struct {
  const char *key, *title, *colour;
} errors[AMPED_PLOT_ERRORS] = {{"before", "before it is learnt", AMPED_PLOT_VERMILION},
                               {"after", "after", AMPED_PLOT_BLUE},
                               {"held_out", "held out, after", AMPED_PLOT_GREEN},
                               {"all_held_out", "all held out so far", AMPED_PLOT_BLACK}},
  phases[AMPED_PLOT_PHASES] = {{"load", "load", AMPED_PLOT_SKY},
                               {"rows", "rows", AMPED_PLOT_BLUE},
                               {"exchange", "exchange", AMPED_PLOT_ORANGE},
                               {"errors", "errors", AMPED_PLOT_GREEN},
                               {"write", "write", AMPED_PLOT_PURPLE}};

/* Columns of the data, from 1. */
#define COLUMN_ERRORS 2
#define COLUMN_PHASES (COLUMN_ERRORS + AMPED_PLOT_ERRORS)
#define COLUMN_SECONDS (COLUMN_PHASES + AMPED_PLOT_PHASES)

/* The sum of a list of numbers. NaN: it is no such list. */
static double sum_of(const json_t *object, const char *name) {
  const json_t *list = json_object_get(object, name);
  double sum = json_is_array(list) ? 0.0 : (double)NAN;
  for (size_t i = 0; i < json_array_size(list); i++) {
    const json_t *value = json_array_get(list, i);
    sum += json_is_number(value) ? json_number_value(value) : (double)NAN;
  }
  return sum;
}

static amped_plot_batch batch_of(const json_t *object) {
  const json_t *parts = json_object_get(object, "seconds_of");
  amped_plot_batch b = {.number = amped_json_number_of(object, "batch"),
                        .seconds = amped_json_number_of(object, "seconds"),
                        .sweep_seconds = amped_json_number_of(object, "sweep_seconds"),
                        .entries = amped_json_number_of(object, "learnt") +
                                   amped_json_number_of(object, "held") +
                                   amped_json_number_of(object, "dropped"),
                        .touched = sum_of(object, "touched"),
                        .new_rows = sum_of(object, "new_rows")};
  for (int e = 0; e < AMPED_PLOT_ERRORS; e++)
    b.errors[e] = amped_json_number_of(json_object_get(object, errors[e].key), "rmse");
  for (int p = 0; p < AMPED_PLOT_PHASES; p++)
    b.phases[p] = amped_json_number_of(parts, phases[p].key);
  return b;
}

static bool is_whole(const amped_plot_batch *b) {
  double sum = b->number + b->seconds + b->sweep_seconds + b->entries + b->touched + b->new_rows;
  for (int p = 0; p < AMPED_PLOT_PHASES; p++)
    sum += b->phases[p];
  return isfinite(sum);
}

amped_status amped_plot_batches_take(amped_plot_batches *b, const char *path, uint64_t line,
                                     const char *event, const json_t *object) {
  if (strcmp(event, "batch") != 0)
    return AMPED_OK;
  const amped_plot_batch one = batch_of(object);
  if (!is_whole(&one))
    return amped_error(AMPED_BAD_INPUT, path,
                       "line %" PRIu64 ": a batch without its numbers; name a file that amped_mpi "
                       "stream --json wrote",
                       line);
  if (b->count == b->room) {
    b->room = b->room > 0 ? 2 * b->room : 64;
    AMPED_TRY(amped_realloc(&b->all, b->room, sizeof *b->all, "the batches"));
  }
  b->all[b->count++] = one;
  return AMPED_OK;
}

/* Write the data. Phases are written as running sums, so that they can be drawn as boxes, one
 * behind another. */
static void write_data(amped_plot *f, const amped_plot_batches *b) {
  amped_plot_block(f, "batches",
                   "batch\trmse before\tafter\theld out\tall held out\tload\tand rows\tand "
                   "exchange\tand errors\tand write\tseconds\tentries\ttouched rows\tnew "
                   "rows\tms of a sweep");
  for (uint64_t i = 0; i < b->count; i++) {
    const amped_plot_batch *x = &b->all[i];
    double end = 0.0;
    fprintf(f->script, "%.0f", x->number);
    for (int e = 0; e < AMPED_PLOT_ERRORS; e++)
      if (isfinite(x->errors[e]))
        fprintf(f->script, "\t%.9g", x->errors[e]);
      else
        fprintf(f->script, "\tNaN");
    for (int p = 0; p < AMPED_PLOT_PHASES; p++)
      fprintf(f->script, "\t%.6g", end += x->phases[p]);
    fprintf(f->script, "\t%.6g\t%.0f\t%.0f\t%.0f\t%.6g\n", x->seconds, x->entries, x->touched,
            x->new_rows, 1e3 * x->sweep_seconds);
  }
  amped_plot_block_end(f);
}

/* Begin a panel whose x axis is the batches. */
static void begin_panel(amped_plot *f, const amped_plot_batches *b, int panel, const char *title,
                        bool has_key) {
  const double first = b->all[0].number;
  const double last = b->all[b->count - 1].number;
  amped_plot_panel(f, &panels[panel], title);
  if (has_key)
    amped_plot_key(f, &panels[panel]);
  if (first >= 0.0 && last >= first && last < 0x1p53)
    amped_plot_whole_ticks(f, (uint64_t)first, (uint64_t)last, panels[panel].width);
  fprintf(f->script,
          "set xlabel 'batch'\nset xrange [%.0f-0.5:%.0f+0.5]\nset boxwidth %s\n"
          "points = 'linespoints pointtype 7 pointsize 0.4'\n",
          first, last, b->count < 100 ? "0.8" : "1");
}

static void draw_errors(amped_plot *f, const amped_plot_batches *b) {
  bool drawn = false;
  begin_panel(f, b, 0, "root mean square error of a batch", true);
  for (int e = 0; e < AMPED_PLOT_ERRORS; e++) {
    bool any = false;
    for (uint64_t i = 0; i < b->count; i++)
      any = any || isfinite(b->all[i].errors[e]);
    if (!any)
      continue;
    fprintf(f->script, "%s $batches using 1:%d with @points linecolor rgb %s title '%s'",
            drawn ? ", \\\n " : "plot", COLUMN_ERRORS + e, errors[e].colour, errors[e].title);
    drawn = true;
  }
  fprintf(f->script, "\n");
  amped_plot_panel_end(f);
}

static void draw_phases(amped_plot *f, const amped_plot_batches *b) {
  begin_panel(f, b, 1, "time of a batch, seconds (means over ranks)", true);
  fprintf(f->script,
          "set yrange [0:*]\nplot $batches using 1:%d with boxes linecolor rgb " AMPED_PLOT_GREY
          " title 'rest'",
          COLUMN_SECONDS);
  for (int p = AMPED_PLOT_PHASES - 1; p >= 0; p--)
    fprintf(f->script, ", \\\n  $batches using 1:%d with boxes linecolor rgb %s title '%s'",
            COLUMN_PHASES + p, phases[p].colour, phases[p].title);
  fprintf(f->script, "\n");
  amped_plot_panel_end(f);
}

static void draw_sizes(amped_plot *f, const amped_plot_batches *b) {
  begin_panel(f, b, 2, "size of a batch", true);
  fprintf(f->script,
          "set yrange [0:*]\n"
          "plot $batches using 1:%d with @points linecolor rgb " AMPED_PLOT_BLACK
          " title 'entries', \\\n"
          "  $batches using 1:%d with @points linecolor rgb " AMPED_PLOT_BLUE
          " title 'rows with entries', \\\n"
          "  $batches using 1:%d with @points linecolor rgb " AMPED_PLOT_ORANGE
          " title 'new rows'\n",
          COLUMN_SECONDS + 1, COLUMN_SECONDS + 2, COLUMN_SECONDS + 3);
  amped_plot_panel_end(f);
}

static void draw_sweeps(amped_plot *f, const amped_plot_batches *b) {
  begin_panel(f, b, 3, "time of a sweep over a batch, milliseconds", false);
  fprintf(f->script,
          "set yrange [0:*]\nplot $batches using 1:%d with boxes linecolor rgb " AMPED_PLOT_BLUE
          "\n",
          COLUMN_SECONDS + 4);
  amped_plot_panel_end(f);
}

amped_status amped_plot_batches_draw(const amped_plot_batches *b, amped_plot *f,
                                     const char *title) {
  AMPED_TRY(amped_plot_begin(f, WIDTH, HEIGHT, title));
  write_data(f, b);
  draw_errors(f, b);
  draw_phases(f, b);
  draw_sizes(f, b);
  draw_sweeps(f, b);
  return AMPED_OK;
}

void amped_plot_batches_free(amped_plot_batches *b) {
  amped_free(b->all);
}
