/* Draws a column of a factor along an ordered axis, or with names. */
#include "cli/plot/plot_column.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/plot/plot_entries.h"

/* Pixels around axes: numbers on the left and a title above; ticks and a note below. */
#define LEFT 62
#define RIGHT 18
#define TOP 26
#define BOTTOM 42
#define TICKS 20 /* from the axis to the middle of the note below the ticks */

/* Most bars: each has two pixels. */
#define BARS 160

/* Most places that are marked on a line. */
#define MARKED 60

/* Places per pixel of a long order, and the most pixels of its axis. */
#define PLACES 2
#define WIDEST 1200

/* Entries that the note below an ordered axis names. */
#define NOTED 3

/* Least number of rows for which a panel of names has space. */
#define ROWS 5

/* Print the range of an axis of entries: it includes 0, and a margin beyond the largest. */
static void print_range(amped_plot *f, char axis, double least, double most) {
  const double low = fmin(least, 0.0);
  const double high = fmax(most, 0.0);
  const double room = 0.05 * (high - low);
  if (high > low)
    fprintf(f->script, "set %crange [%.6g:%.6g]\n", axis, low < 0.0 ? low - room : 0.0,
            high > 0.0 ? high + room : 0.0);
  else
    fprintf(f->script, "set %crange [0:1]\n", axis);
  fprintf(f->script, "set %ctics scale 0.5 %.6g\n", axis,
          high > low ? amped_plot_round_step((high - low) / 5.0) : 1.0);
  if (low < 0.0 && axis == 'y')
    fprintf(f->script, "set xzeroaxis linetype 1 linecolor rgb '#888888'\n");
}

/* ---- ordered -------------------------------------------------------------------------------- */

/* Is the axis drawn as a line? Indices that have only numbers may be in no order, and are bars. */
static bool is_line(const amped_plot_axis *axis) {
  return axis->dim > 1 && (!axis->numbered || axis->dim > BARS);
}

int amped_plot_column_width(const amped_plot_axis *axis) {
  const uint64_t wanted = axis->dim / PLACES;
  const bool is_order = axis->ordered && axis->labels->count > 0;
  const int least = AMPED_PLOT_PANEL_WIDTH - LEFT - RIGHT;
  if (!is_order || wanted <= (uint64_t)least)
    return AMPED_PLOT_PANEL_WIDTH;
  return LEFT + (wanted < WIDEST ? (int)wanted : WIDEST) + RIGHT;
}

/* Write a place of the line. The line ends before gaps after `previous`; an empty line ends it. A
 * first or a last place alone stays joined, as a line without length is not seen. */
static void write_place(amped_plot *f, const amped_plot_entries *e, uint64_t previous,
                        uint64_t place) {
  char text[AMPED_PLOT_TEXT_BYTES];
  bool gap = false;
  for (uint64_t i = previous; i < place && place < e->axis->dim - 1; i++)
    gap = gap || (i > 0 && amped_plot_axis_is_gap(e->axis, i));
  if (gap)
    fprintf(f->script, "\n");
  fprintf(f->script, "%.9g\t%.6g\t%s\n", amped_plot_axis_at(e->axis, place),
          amped_plot_entry_at(e, place),
          amped_plot_axis_label(e->axis, amped_plot_axis_index(e->axis, place), text));
}

/* Write all places; or if there are more than two for each column of pixels, the least and the
 * largest entry of each column, in the order of their places. */
static void write_places(amped_plot *f, const amped_plot_entries *e, int columns,
                         const char *block) {
  const uint64_t dim = e->axis->dim;
  const uint64_t ranges = (uint64_t)columns;
  uint64_t least = 0;
  uint64_t most = 0;
  uint64_t previous = 0;
  amped_plot_block(f, block, "position\tentry\tlabel");
  for (uint64_t i = 0; dim <= 2 * ranges && i < dim; previous = i++)
    write_place(f, e, previous, i);
  for (uint64_t i = 0; dim > 2 * ranges && i < ranges; i++) {
    amped_plot_extremes(e, amped_plot_range_first(e, ranges, i),
                        amped_plot_range_first(e, ranges, i + 1), &least, &most);
    write_place(f, e, previous, least < most ? least : most);
    if (least != most)
      write_place(f, e, least < most ? least : most, least < most ? most : least);
    previous = least < most ? most : least;
  }
  amped_plot_block_end(f);
  amped_plot_extremes(e, 0, dim, &least, &most);
  print_range(f, 'y', amped_plot_entry_at(e, least), amped_plot_entry_at(e, most));
}

/* Print "largest: 1947, 1951, 1946" below the axis, with the names that fit. */
static void note_leading(amped_plot *f, const amped_plot_entries *e, const amped_plot_box *axes) {
  char note[NOTED * (AMPED_PLOT_TEXT_BYTES + 2) + 16] = "largest: ";
  char text[AMPED_PLOT_TEXT_BYTES];
  uint64_t leading[NOTED];
  size_t used = strlen(note);
  const int count = amped_plot_leading(e, NOTED, leading);
  for (int i = 0; i < count; i++) {
    (void)amped_plot_axis_label(e->axis, leading[i], text);
    if (i > 0 && amped_plot_text_width(note) + amped_plot_text_width(text) > axes->width)
      break;
    used += (size_t)snprintf(note + used, sizeof note - used, "%s%s", i > 0 ? ", " : "", text);
  }
  amped_plot_note(f, axes->left, axes->top + axes->height + TICKS + 14, false,
                  count > 0 ? note : "all entries are 0");
}

static void draw_ordered(amped_plot *f, const amped_plot_entries *e, const amped_plot_box *outer,
                         const char *block) {
  const amped_plot_axis *axis = e->axis;
  const amped_plot_box axes = {outer->left + LEFT, outer->top + TOP, outer->width - LEFT - RIGHT,
                               outer->height - TOP - BOTTOM};
  amped_plot_panel(f, &axes, axis->name);
  write_places(f, e, axes.width, block);
  amped_plot_axis_ticks(f, axis, 'x', axes.width);
  note_leading(f, e, &axes);
  fprintf(f->script, "set xrange [0.5:%" PRIu64 ".5]\nset boxwidth 0.8\nplot $%s using 1:2",
          axis->dim, block);
  if (!is_line(axis))
    fprintf(f->script, ":($2 < 0 ? 0xd55e00 : 0x0072b2) with boxes linecolor rgb variable\n");
  else if (axis->dim <= MARKED)
    fprintf(f->script,
            " with linespoints pointtype 7 pointsize 0.4 linecolor rgb " AMPED_PLOT_BLUE "\n");
  else
    fprintf(f->script, " with lines linecolor rgb " AMPED_PLOT_BLUE "\n");
}

/* ---- names ---------------------------------------------------------------------------------- */

static void draw_names(amped_plot *f, const amped_plot_entries *e, const amped_plot_box *outer,
                       const char *block) {
  const amped_plot_axis *axis = e->axis;
  uint64_t shown[AMPED_PLOT_NAMES];
  char texts[AMPED_PLOT_NAMES][AMPED_PLOT_TEXT_BYTES];
  char title[2 * AMPED_PLOT_TEXT_BYTES];
  const int count = amped_plot_choose_names(e, shown);
  int wide = LEFT;
  double least = 0.0;
  double most = 0.0;
  for (int i = 0; i < count; i++) {
    (void)amped_plot_axis_label(axis, shown[i], texts[i]);
    wide = (int)fmax(wide, amped_plot_text_width(texts[i]) + 12);
  }
  const amped_plot_box axes = {outer->left + wide, outer->top + TOP, outer->width - wide - RIGHT,
                               outer->height - TOP - BOTTOM};
  if (count == 0)
    (void)snprintf(title, sizeof title, "%s, all entries are 0", axis->name);
  else if ((uint64_t)count < axis->dim)
    (void)snprintf(title, sizeof title, "%s, %d largest of %" PRIu64, axis->name, count, axis->dim);
  else
    (void)snprintf(title, sizeof title, "%s", axis->name);
  amped_plot_panel(f, &axes, title);
  amped_plot_block(f, block, "row\tentry\tlabel");
  if (count == 0) /* a plot without rows would be an error */
    fprintf(f->script, "1\t0\t\n");
  for (int i = 0; i < count; i++) {
    const double x = amped_plot_entry(e, shown[i]);
    fprintf(f->script, "%d\t%.6g\t%s\n", i + 1, x, texts[i]);
    least = fmin(least, x);
    most = fmax(most, x);
  }
  amped_plot_block_end(f);
  print_range(f, 'x', least, most);
  fprintf(f->script, "set yrange [%d.5:0.5]\nset ytics scale 0 (", count > ROWS ? count : ROWS);
  for (int i = 0; i < count; i++)
    amped_plot_tick(f, i == 0, texts[i], i + 1.0);
  if (count == 0) /* an empty list would be numbers */
    amped_plot_tick(f, true, "", 1.0);
  fprintf(f->script,
          ")\nunset grid\nset grid xtics linetype 1 linecolor rgb '#dddddd'\n"
          "set format x '%%.4g'\n"
          "plot $%s using 2:1:(0):2:($1 - 0.35):($1 + 0.35):($2 < 0 ? 0xd55e00 : 0x0072b2) "
          "with boxxyerror linecolor rgb variable\n",
          block);
}

void amped_plot_column(amped_plot *f, const amped_ktensor *k, int mode, int r,
                       const amped_plot_axis *axis, const amped_plot_box *outer,
                       const char *block) {
  const amped_plot_entries e = {.k = k, .axis = axis, .mode = mode, .r = r};
  if (axis->ordered)
    draw_ordered(f, &e, outer, block);
  else
    draw_names(f, &e, outer, block);
  amped_plot_panel_end(f);
}
