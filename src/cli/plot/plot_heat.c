/* Chooses the entries of two columns, and draws their products. */
#include "cli/plot/plot_heat.h"

#include <inttypes.h>
#include <math.h>

#include "cli/plot/plot_column.h"
#include "cli/plot/plot_entries.h"

/* Pixels around the cells: a title above; ticks and a name below and on the left; the bar of
 * colours and its numbers on the right. */
#define TOP 26
#define BOTTOM 46
#define LEFT 72
#define RIGHT 84
#define HEIGHT 182 /* height of the cells */

/* The bar of colours: its distance from the cells, and its width. */
#define BAR_GAP 12
#define BAR 14

/* Pixels between a name and the cells, and for the mode's name beyond them. */
#define NAME_GAP 10
#define MODE_NAME 20

/* Places per pixel up to which each place has a cell of its own. An image of more cells than pixels
 * would lose some of them. */
#define FINEST 1

/* Fewer cells are rectangles, more an image, which takes less space in an .svg. Readers blur the
 * pixels of an image, so a cell is repeated until an image has the pixels of the picture. */
#define IMAGE_CELLS UINT64_C(2500)

/* One side of the map. */
typedef struct side {
  amped_plot_entries e;
  uint64_t cells;
  uint64_t repeated;                /* pixels of an image for a cell; 0: rectangles */
  bool by_value;                    /* cells are equal ranges of positions, not of places */
  int names;                        /* number of names; 0: an order */
  uint64_t shown[AMPED_PLOT_NAMES]; /* indices of the names */
} side;

/* Most pixels of a label of this axis. */
static int label_width(const amped_plot_axis *axis) {
  char text[AMPED_PLOT_TEXT_BYTES];
  int widest = 0;
  for (uint64_t i = 0; i < axis->dim; i++) {
    const int width = amped_plot_text_width(amped_plot_axis_label(axis, i, text));
    widest = width > widest ? width : widest;
  }
  return widest;
}

static int left_of(const amped_plot_heat *heat) {
  const int names = label_width(heat->axes[1]) + NAME_GAP + MODE_NAME;
  return names > LEFT ? names : LEFT;
}

static int bottom_of(const amped_plot_heat *heat) {
  const int names = heat->axes[0]->ordered ? 0 : label_width(heat->axes[0]) + NAME_GAP + MODE_NAME;
  return names > BOTTOM ? names : BOTTOM;
}

/* Pixels of the cells across, equal to the width of the axis in the panel of the column. */
static int across(const amped_plot_heat *heat) {
  return amped_plot_column_width(heat->axes[0]) - 80;
}

int amped_plot_heat_width(const amped_plot_heat *heat) {
  return left_of(heat) + across(heat) + RIGHT;
}

int amped_plot_heat_height(const amped_plot_heat *heat) {
  return TOP + HEIGHT + bottom_of(heat);
}

static void choose(const amped_plot_heat *heat, int i, int r, int pixels, side *s) {
  *s = (side){.e = {.k = heat->k, .axis = heat->axes[i], .mode = heat->modes[i], .r = r}};
  const uint64_t dim = s->e.axis->dim;
  s->names = s->e.axis->ordered ? 0 : amped_plot_choose_names(&s->e, s->shown);
  s->cells = s->names > 0                       ? (uint64_t)s->names
             : dim <= FINEST * (uint64_t)pixels ? dim
                                                : (uint64_t)pixels;
  if (!s->e.axis->ordered && s->names == 0) { /* all entries are 0 */
    s->shown[0] = 0;
    s->names = 1;
    s->cells = 1;
  }
}

/* In an image, places at uneven positions are drawn by pixels. */
static void show_values(side *s, int pixels) {
  s->by_value = s->names == 0 && s->e.axis->at != NULL;
  if (s->by_value)
    s->cells = (uint64_t)pixels;
}

/* The first place from this position on. */
static uint64_t place_from(const amped_plot_axis *axis, double position) {
  uint64_t begin = 0;
  uint64_t end = axis->dim;
  while (begin < end) {
    const uint64_t middle = begin + (end - begin) / 2;
    if (amped_plot_axis_at(axis, middle) < position)
      begin = middle + 1;
    else
      end = middle;
  }
  return begin;
}

/* Find places first .. end - 1 of a cell, a range of positions: those in it, or the place that
 * covers its middle. No place: the cell is in a gap. */
static void places_in(const side *s, uint64_t cell, uint64_t *first, uint64_t *end) {
  const amped_plot_axis *axis = s->e.axis;
  const double width = (double)axis->dim / (double)s->cells;
  const double begin = 0.5 + (double)cell * width;
  const double middle = begin + 0.5 * width;
  const uint64_t next = place_from(axis, begin);
  double low = 0.0;
  double high = 0.0;
  *first = next;
  *end = cell + 1 < s->cells ? place_from(axis, begin + width) : axis->dim;
  if (*first < *end)
    return;
  for (uint64_t i = next > 0 ? next - 1 : 0; i <= next && i < axis->dim; i++) {
    amped_plot_axis_reach(axis, i, &low, &high);
    if (low <= middle && middle <= high) {
      *first = i;
      *end = i + 1;
    }
  }
}

/* The entry of a cell's row or column; NaN in a gap. */
static double entry_of(const side *s, uint64_t cell) {
  uint64_t least = 0;
  uint64_t most = 0;
  uint64_t first = 0;
  uint64_t end = 0;
  if (s->names > 0)
    return amped_plot_entry(&s->e, s->shown[cell]);
  if (s->by_value)
    places_in(s, cell, &first, &end);
  else {
    first = amped_plot_range_first(&s->e, s->cells, cell);
    end = amped_plot_range_first(&s->e, s->cells, cell + 1);
  }
  if (first >= end)
    return (double)NAN;
  amped_plot_extremes(&s->e, first, end, &least, &most);
  const double low = amped_plot_entry_at(&s->e, least);
  const double high = amped_plot_entry_at(&s->e, most);
  return fabs(low) > fabs(high) ? low : high;
}

static uint64_t times_of(const side *s) {
  return s->repeated > 0 ? s->repeated : 1;
}

/* Write the products as a matrix, a line for each place up. least, most: their range. */
static void write_cells(amped_plot *f, const side *x, const side *y, const char *block,
                        double *least, double *most) {
  amped_plot_block(f, block, "product of the entries: across in a line, up from line to line");
  *least = 0.0;
  *most = 0.0;
  for (uint64_t j = 0; j < y->cells * times_of(y); j++) {
    const double b = entry_of(y, j / times_of(y));
    for (uint64_t i = 0; i < x->cells * times_of(x); i++) {
      const double value = entry_of(x, i / times_of(x)) * b;
      if (isnan(value))
        fprintf(f->script, "%sNaN", i > 0 ? "\t" : "");
      else
        fprintf(f->script, "%s%.6g", i > 0 ? "\t" : "", value);
      *least = fmin(*least, value);
      *most = fmax(*most, value);
    }
    fprintf(f->script, "\n");
  }
  amped_plot_block_end(f);
}

/* Print the ticks, range and name of a side. */
static void print_side(amped_plot *f, const side *s, char axis, int pixels) {
  char text[AMPED_PLOT_TEXT_BYTES];
  if (s->names > 0) {
    fprintf(f->script, "set %ctics scale 0%s (", axis, axis == 'x' ? " rotate by 90 right" : "");
    for (int i = 0; i < s->names; i++)
      amped_plot_tick(f, i == 0, amped_plot_axis_label(s->e.axis, s->shown[i], text), i + 1.0);
    fprintf(f->script, ")\n");
  } else
    amped_plot_axis_ticks(f, s->e.axis, axis, pixels);
  const uint64_t end = s->names > 0 ? s->cells : s->e.axis->dim;
  if (s->names > 0 && axis == 'y') /* the largest on top, as in a panel of names */
    fprintf(f->script, "set yrange [%" PRIu64 ".5:0.5]\n", end);
  else
    fprintf(f->script, "set %crange [0.5:%" PRIu64 ".5]\n", axis, end);
}

/* Names of modes beyond the ticks; the one on the left is upright. */
static void print_names(amped_plot *f, const amped_plot_heat *heat, const amped_plot_box *cells) {
  amped_plot_name(f, cells->left + cells->width / 2,
                  cells->top + HEIGHT + bottom_of(heat) - MODE_NAME / 2, false,
                  heat->axes[0]->name);
  amped_plot_name(f, cells->left - left_of(heat) + MODE_NAME / 2, cells->top + HEIGHT / 2, true,
                  heat->axes[1]->name);
}

/* Places per cell, for the title and for the positions of cells. */
static double places_of(const side *s) {
  return s->names > 0 ? 1.0 : (double)s->e.axis->dim / (double)s->cells;
}

static void print_title(char *title, size_t size, const side *x, const side *y) {
  const double most = fmax(places_of(x), places_of(y));
  (void)snprintf(title, size,
                 most > 1.0 ? "%s x %s, each cell the largest of its range" : "%s x %s",
                 x->e.axis->name, y->e.axis->name);
}

/* Rectangles at uneven positions have their own ranges. */
static bool has_ranges(const side *s) {
  return s->names == 0 && s->repeated == 0 && s->e.axis->at != NULL;
}

/* Print the begins and ends of such rectangles as two arrays of the script. */
static void print_ranges(amped_plot *f, const side *s, char axis) {
  double range[2];
  for (int end = 0; end < 2; end++) {
    fprintf(f->script, "array %c%d[%" PRIu64 "] = [", axis, end, s->cells);
    for (uint64_t i = 0; i < s->cells; i++) {
      amped_plot_axis_reach(s->e.axis, i, &range[0], &range[1]);
      fprintf(f->script, "%s%.9g", i > 0 ? ", " : "", range[end]);
    }
    fprintf(f->script, "]\n");
  }
}

/* Print begin and end of a rectangle as two columns of the plot. column: of its number. */
static void print_edges(amped_plot *f, const side *s, char axis, int column) {
  const double d = places_of(s);
  if (has_ranges(s))
    fprintf(f->script, ":(%c0[$%d+1]):(%c1[$%d+1])", axis, column, axis, column);
  else
    fprintf(f->script, ":(%.9g*$%d+0.5):(%.9g*($%d+1)+0.5)", d, column, d, column);
}

/* Print the plot. Cell i of a side is from place d i + 1/2 to d (i + 1) + 1/2, with d places per
 * cell or pixel of the image. */
static void print_plot(amped_plot *f, const side *x, const side *y, const char *block) {
  const double dx = places_of(x) / (double)times_of(x);
  const double dy = places_of(y) / (double)times_of(y);
  if (has_ranges(x))
    print_ranges(f, x, 'x');
  if (has_ranges(y))
    print_ranges(f, y, 'y');
  fprintf(f->script, "unset grid\nplot $%s matrix using (%.9g*($1+0.5)+0.5):(%.9g*($2+0.5)+0.5)",
          block, dx, dy);
  if (x->repeated > 0)
    fprintf(f->script, ":3 with image\n");
  else {
    print_edges(f, x, 'x', 1);
    print_edges(f, y, 'y', 2);
    fprintf(f->script, ":3 with boxxyerror fillcolor palette\n");
  }
}

void amped_plot_heat_draw(amped_plot *f, const amped_plot_heat *heat, int r, int left, int top,
                          const char *block) {
  const amped_plot_box cells = {left + left_of(heat), top + TOP, across(heat), HEIGHT};
  const amped_plot_box bar = {cells.left + cells.width + BAR_GAP, cells.top, BAR, HEIGHT};
  char title[2 * AMPED_PLOT_TEXT_BYTES + 64];
  side x;
  side y;
  double least = 0.0;
  double most = 0.0;
  choose(heat, 0, r, cells.width, &x);
  choose(heat, 1, r, cells.height, &y);
  if (x.cells * y.cells >= IMAGE_CELLS) {
    show_values(&x, cells.width);
    show_values(&y, cells.height);
    x.repeated = amped_ceil_div((uint64_t)cells.width, x.cells);
    y.repeated = amped_ceil_div((uint64_t)cells.height, y.cells);
  }
  print_title(title, sizeof title, &x, &y);
  amped_plot_panel(f, &cells, title);
  write_cells(f, &x, &y, block, &least, &most);
  print_side(f, &x, 'x', cells.width);
  print_side(f, &y, 'y', cells.height);
  print_names(f, heat, &cells);
  amped_plot_colours(f, &bar, least, most);
  print_plot(f, &x, &y, block);
  amped_plot_panel_end(f);
}
