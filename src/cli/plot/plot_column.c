/* Draws a column of a factor along an ordered axis, or with names. */
#include "cli/plot/plot_column.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Pixels around axes: numbers on the left and a title above; ticks and a note below. */
#define LEFT 62
#define RIGHT 18
#define TOP 26
#define BOTTOM 42
#define TICKS 20 /* from the axis to the middle of the note below the ticks */

/* Most places for which bars have gaps between them. With more places they are lines, as a box
 * thinner than a pixel vanishes. */
#define THICK 125

/* Entries that the note below an ordered axis names. */
#define NOTED 3

/* Least number of rows for which a panel of names has space. */
#define ROWS 5

static double entry(const amped_ktensor *k, int mode, uint64_t i, int r) {
  return k->factors[mode][i * (uint64_t)k->ncomps + (uint64_t)r];
}

/* Find the largest nonzero entries of a column, by descending absolute value; of equal entries the
 * first. leading: their indices, at most `most`. Returns their number. */
static int find_leading(const amped_ktensor *k, int mode, int r, int most, uint64_t *leading) {
  int count = 0;
  for (uint64_t i = 0; i < k->dims[mode]; i++) {
    const double size = fabs(entry(k, mode, i, r));
    int at = count;
    while (at > 0 && size > fabs(entry(k, mode, leading[at - 1], r)))
      at--;
    if (at == most || !(size > 0.0))
      continue;
    count += count < most;
    memmove(leading + at + 1, leading + at, (size_t)(count - 1 - at) * sizeof *leading);
    leading[at] = i;
  }
  return count;
}

/* The least of 1, 2 or 5 times a power of ten that is at least x. */
static double round_step(double x) {
  const double power = pow(10.0, floor(log10(x)));
  return x <= power         ? power
         : x <= 2.0 * power ? 2.0 * power
         : x <= 5.0 * power ? 5.0 * power
                            : 10.0 * power;
}

/* Print the range of an axis of bars: it includes 0, and a margin beyond the longest bar. */
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
          high > low ? round_step((high - low) / 5.0) : 1.0);
  if (low < 0.0 && axis == 'y')
    fprintf(f->script, "set xzeroaxis linetype 1 linecolor rgb '#888888'\n");
}

/* ---- ordered -------------------------------------------------------------------------------- */

/* The place of the entry of largest absolute value among places first .. end - 1. */
static uint64_t largest(const amped_ktensor *k, int mode, int r, const amped_plot_axis *axis,
                        uint64_t first, uint64_t end) {
  uint64_t best = first;
  for (uint64_t i = first + 1; i < end; i++)
    if (fabs(entry(k, mode, amped_plot_axis_index(axis, i), r)) >
        fabs(entry(k, mode, amped_plot_axis_index(axis, best), r)))
      best = i;
  return best;
}

/* Write a bar for each range of `length` places. */
static void write_bars(amped_plot *f, const amped_ktensor *k, int mode, int r,
                       const amped_plot_axis *axis, uint64_t length, const char *block) {
  char text[AMPED_PLOT_TEXT_BYTES];
  double least = 0.0;
  double most = 0.0;
  amped_plot_block(f, block, "place\tentry\tlabel");
  for (uint64_t first = 0; first < axis->dim;) {
    const uint64_t end = axis->dim - first < length ? axis->dim : first + length;
    const uint64_t index = amped_plot_axis_index(axis, largest(k, mode, r, axis, first, end));
    const double x = entry(k, mode, index, r);
    fprintf(f->script, "%.1f\t%.6g\t%s\n", (double)first + 0.5 * (double)(end - first + 1), x,
            amped_plot_axis_label(axis, index, text));
    least = fmin(least, x);
    most = fmax(most, x);
    first = end;
  }
  amped_plot_block_end(f);
  print_range(f, 'y', least, most);
}

/* Print "largest: 1947, 1951, 1946" below the axis, with the names that fit. */
static void note_leading(amped_plot *f, const amped_ktensor *k, int mode, int r,
                         const amped_plot_axis *axis, const amped_plot_box *axes) {
  char note[NOTED * (AMPED_PLOT_TEXT_BYTES + 2) + 16] = "largest: ";
  char text[AMPED_PLOT_TEXT_BYTES];
  uint64_t leading[NOTED];
  size_t used = strlen(note);
  const int count = find_leading(k, mode, r, NOTED, leading);
  for (int i = 0; i < count; i++) {
    (void)amped_plot_axis_label(axis, leading[i], text);
    if (i > 0 && amped_plot_text_width(note) + amped_plot_text_width(text) > axes->width)
      break;
    used += (size_t)snprintf(note + used, sizeof note - used, "%s%s", i > 0 ? ", " : "", text);
  }
  amped_plot_note(f, axes->left, axes->top + axes->height + TICKS + 14, false,
                  count > 0 ? note : "all entries are 0");
}

static void draw_ordered(amped_plot *f, const amped_ktensor *k, int mode, int r,
                         const amped_plot_axis *axis, const amped_plot_box *outer,
                         const char *block) {
  const amped_plot_box axes = {outer->left + LEFT, outer->top + TOP, outer->width - LEFT - RIGHT,
                               outer->height - TOP - BOTTOM};
  const uint64_t length = amped_ceil_div(axis->dim, AMPED_PLOT_BARS);
  char title[2 * AMPED_PLOT_TEXT_BYTES];
  if (length > 1)
    (void)snprintf(title, sizeof title, "%s, each bar the largest of %" PRIu64, axis->name, length);
  else
    (void)snprintf(title, sizeof title, "%s", axis->name);
  amped_plot_panel(f, &axes, title);
  write_bars(f, k, mode, r, axis, length, block);
  amped_plot_axis_ticks(f, axis, axes.width);
  note_leading(f, k, mode, r, axis, &axes);
  fprintf(f->script,
          "set xrange [0.5:%" PRIu64 ".5]\nset boxwidth 0.8\n"
          "plot $%s using 1:2:($2 < 0 ? 0xd55e00 : 0x0072b2) with ",
          axis->dim, block);
  if (axis->dim <= THICK)
    fprintf(f->script, "boxes linecolor rgb variable\n");
  else
    fprintf(f->script, "impulses linewidth %.2f linecolor rgb variable\n",
            fmax(1.0, axes.width / (double)axis->dim));
}

/* ---- names ---------------------------------------------------------------------------------- */

/* Choose the indices that a panel of names shows: all, in the axis's order, or the largest. Returns
 * their number. */
static int choose_names(const amped_ktensor *k, int mode, int r, const amped_plot_axis *axis,
                        uint64_t *shown) {
  if (k->dims[mode] > AMPED_PLOT_NAMES)
    return find_leading(k, mode, r, AMPED_PLOT_NAMES, shown);
  for (uint64_t i = 0; i < k->dims[mode]; i++)
    shown[i] = amped_plot_axis_index(axis, i);
  return (int)k->dims[mode];
}

static void draw_names(amped_plot *f, const amped_ktensor *k, int mode, int r,
                       const amped_plot_axis *axis, const amped_plot_box *outer,
                       const char *block) {
  uint64_t shown[AMPED_PLOT_NAMES + 1];
  char texts[AMPED_PLOT_NAMES][AMPED_PLOT_TEXT_BYTES];
  char title[2 * AMPED_PLOT_TEXT_BYTES];
  const int count = choose_names(k, mode, r, axis, shown);
  int wide = LEFT;
  double least = 0.0;
  double most = 0.0;
  for (int i = 0; i < count; i++) {
    (void)amped_plot_axis_label(axis, shown[i], texts[i]);
    wide = (int)fmax(wide, amped_plot_text_width(texts[i]) + 12);
  }
  const amped_plot_box axes = {outer->left + wide, outer->top + TOP, outer->width - wide - RIGHT,
                               outer->height - TOP - BOTTOM};
  if ((uint64_t)count < axis->dim)
    (void)snprintf(title, sizeof title, "%s, %d largest of %" PRIu64, axis->name, count, axis->dim);
  else
    (void)snprintf(title, sizeof title, "%s", axis->name);
  amped_plot_panel(f, &axes, title);
  amped_plot_block(f, block, "row\tentry\tlabel");
  if (count == 0) /* a plot without rows would be an error */
    fprintf(f->script, "1\t0\t\n");
  for (int i = 0; i < count; i++) {
    const double x = entry(k, mode, shown[i], r);
    fprintf(f->script, "%d\t%.6g\t%s\n", i + 1, x, texts[i]);
    least = fmin(least, x);
    most = fmax(most, x);
  }
  amped_plot_block_end(f);
  print_range(f, 'x', least, most);
  fprintf(f->script, "set yrange [%d.5:0.5]\nset ytics scale 0 (", count > ROWS ? count : ROWS);
  for (int i = 0; i < count; i++)
    amped_plot_tick(f, i == 0, texts[i], (uint64_t)i + 1);
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
  if (axis->ordered)
    draw_ordered(f, k, mode, r, axis, outer, block);
  else
    draw_names(f, k, mode, r, axis, outer, block);
  amped_plot_panel_end(f);
}
