/* Orders the labels of a mode, and chooses the ticks of its axis. */
#include "cli/plot/plot_axis.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "tensor/label_order.h"
#include "text/io_number.h"

/* Pixels between two labels. */
#define GAP 8

/* Pixels of a line of text, and for a number between two ticks. */
#define LINE 14
#define NUMBER 60

/* Pixels that a label may stand beyond the begin and the end of its axis. */
#define BEYOND_BEGIN 56
#define BEYOND_END 24

/* Limit of ticks per panel; labels of more ticks would touch. */
#define MOST_TICKS 64

/* Places whose positions are off by less than this stand evenly: months have 28 to 31 days. */
#define EVEN 0.2

/* A step is a gap if it is this much longer than the steps before and after it. */
#define GAP_STEPS 1.5

/* Characters of YYYY-MM-DD. */
#define DATE 10

/* Dates that span fewer days have ticks at days, others at months. */
#define FEW_DAYS 120

/* Steps between ticks, ascending; 0 ends a list. If all steps are too small, find_ticks tries them
 * times 1000, then times 10^6, and so on. */
static const uint64_t decimal[] = {1,        2,        5,        10,     20,      50,      100,
                                   200,      500,      1000,     2000,   5000,    10000,   20000,
                                   50000,    100000,   200000,   500000, 1000000, 2000000, 5000000,
                                   10000000, 20000000, 50000000, 0};
static const uint64_t months[] = {1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 0};
static const uint64_t days[] = {1, 7, 14, 28, 0};
static const uint64_t clock_steps[] = {1,  2,   3,   4,   6,   12,  24,   48,
                                       60, 120, 180, 240, 360, 720, 1440, 0};

static int64_t floor_div(int64_t a, int64_t b) {
  return a / b - (a % b < 0);
}

/* Read a label that is a whole number of at most 15 digits. */
static bool whole_number(const char *text, uint64_t length, int64_t *out) {
  uint64_t i = length > 1 && text[0] == '-' ? 1 : 0;
  int64_t value = 0;
  if (length == i || length - i > 15)
    return false;
  for (; i < length; i++) {
    if (text[i] < '0' || text[i] > '9')
      return false;
    value = 10 * value + (text[i] - '0');
  }
  *out = text[0] == '-' ? -value : value;
  return true;
}

/* Read a label that begins with YYYY-MM, and may go on after another "-". *out: months since year
 * 0. */
static bool month_number(const char *text, uint64_t length, int64_t *out) {
  int64_t year = 0;
  int64_t month = 0;
  if (length < 7 || text[4] != '-' || (length > 7 && text[7] != '-') ||
      !whole_number(text, 4, &year) || !whole_number(text + 5, 2, &month) || year < 0 ||
      month < 1 || month > 12)
    return false;
  *out = 12 * year + month - 1;
  return true;
}

/* Read a label that begins with YYYY-MM-DD. *out: days since a Monday long ago, so that multiples
 * of seven are Mondays. */
static bool day_number(const char *text, uint64_t length, int64_t *out) {
  int64_t month = 0;
  int64_t day = 0;
  if (length < DATE || !month_number(text, length, &month) ||
      (length > DATE && text[DATE] != ' ' && text[DATE] != 'T') ||
      !whole_number(text + 8, 2, &day) || day < 1 || day > 31)
    return false;
  /* Years begin in March, so that the leap day is the last of its year. */
  const int64_t march = month - 2;
  const int64_t year = floor_div(march, 12);
  const int64_t in_year = (153 * (march - 12 * year) + 2) / 5 + day - 1;
  *out =
      365 * year + floor_div(year, 4) - floor_div(year, 100) + floor_div(year, 400) + in_year + 2;
  return true;
}

double amped_plot_axis_at(const amped_plot_axis *axis, uint64_t place) {
  return axis->at != NULL ? axis->at[place] : (double)place + 1.0;
}

static double step_from(const amped_plot_axis *axis, uint64_t place) {
  return amped_plot_axis_at(axis, place + 1) - amped_plot_axis_at(axis, place);
}

/* The shorter of the steps before and after the step from place; infinity if there are none. */
static double beside(const amped_plot_axis *axis, uint64_t place) {
  const double before = place > 0 ? step_from(axis, place - 1) : INFINITY;
  const double after = place + 2 < axis->dim ? step_from(axis, place + 1) : INFINITY;
  return fmin(before, after);
}

bool amped_plot_axis_is_gap(const amped_plot_axis *axis, uint64_t place) {
  if (axis->at == NULL || place + 1 >= axis->dim)
    return false;
  const double step = step_from(axis, place);
  const bool longer_before = place == 0 || step > GAP_STEPS * step_from(axis, place - 1);
  const bool longer_after = place + 2 >= axis->dim || step > GAP_STEPS * step_from(axis, place + 1);
  return axis->dim > 2 && longer_before && longer_after;
}

/* Positions that a place covers of the step from `from`. */
static double half_of_step(const amped_plot_axis *axis, uint64_t from) {
  return 0.5 * (amped_plot_axis_is_gap(axis, from) ? beside(axis, from) : step_from(axis, from));
}

void amped_plot_axis_reach(const amped_plot_axis *axis, uint64_t place, double *low, double *high) {
  const double at = amped_plot_axis_at(axis, place);
  const uint64_t last = axis->dim - 1;
  const double before = place > 0 ? half_of_step(axis, place - 1) : 0.0;
  const double after = place < last ? half_of_step(axis, place) : before;
  *low = fmax(at - (place > 0 ? before : after), 0.5);
  *high = fmin(at + after, (double)axis->dim + 0.5);
}

uint64_t amped_plot_axis_index(const amped_plot_axis *axis, uint64_t place) {
  return axis->order != NULL ? axis->order[place] : place;
}

const char *amped_plot_axis_label(const amped_plot_axis *axis, uint64_t index, char *buffer) {
  char number[32];
  uint64_t length = 0;
  if (axis->labels->count == 0) {
    (void)snprintf(number, sizeof number, "%" PRIu64, amped_label_number(axis->labels, index));
    return amped_plot_text(buffer, number, strlen(number));
  }
  const char *text = amped_label(axis->labels, index, &length);
  return amped_plot_text(buffer, text, length);
}

/* Read the values of all labels. Returns false if some label has none. */
static bool read_values(amped_plot_axis *axis,
                        bool (*read)(const char *text, uint64_t length, int64_t *out)) {
  for (uint64_t i = 0; i < axis->dim; i++) {
    uint64_t length = 0;
    const char *text = amped_label(axis->labels, amped_plot_axis_index(axis, i), &length);
    if (!read(text, length, &axis->values[i]))
      return false;
  }
  return true;
}

/* Read labels that are numbers with decimals. */
static amped_status read_numbers(amped_plot_axis *axis) {
  char text[AMPED_NUMBER_BYTES];
  AMPED_TRY(amped_alloc(&axis->numbers, axis->dim, sizeof *axis->numbers, "the ticks of a plot"));
  for (uint64_t i = 0; i < axis->dim; i++) {
    uint64_t length = 0;
    const char *label = amped_label(axis->labels, amped_plot_axis_index(axis, i), &length);
    (void)snprintf(text, sizeof text, "%.*s", length < sizeof text ? (int)length : 0, label);
    const char *end = amped_number_decimal(text, &axis->numbers[i]);
    if (end != NULL && end != text && *end == '\0' && isfinite(axis->numbers[i]))
      continue;
    amped_free(axis->numbers); /* a spelling of its own: ticks are at places */
    axis->numbers = NULL;
    return AMPED_OK;
  }
  return AMPED_OK;
}

/* Read dates as days if they span few, otherwise as months. Returns false if they are neither. */
static bool read_dates(amped_plot_axis *axis) {
  axis->steps = days;
  if (read_values(axis, day_number) && axis->values[axis->dim - 1] - axis->values[0] < FEW_DAYS)
    return true;
  axis->steps = months;
  return read_values(axis, month_number);
}

static amped_status find_values(amped_plot_axis *axis, amped_label_kind kind) {
  axis->steps = kind == AMPED_LABELS_TIMES ? clock_steps : decimal;
  if (kind == AMPED_LABELS_TIMES)
    return AMPED_OK;
  AMPED_TRY(amped_alloc(&axis->values, axis->dim, sizeof *axis->values, "the ticks of a plot"));
  if (kind == AMPED_LABELS_NUMBERS && read_values(axis, whole_number))
    return AMPED_OK;
  if (kind == AMPED_LABELS_DATES && read_dates(axis))
    return AMPED_OK;
  axis->steps = decimal;
  amped_free(axis->values);
  axis->values = NULL;
  return kind == AMPED_LABELS_NUMBERS ? read_numbers(axis) : AMPED_OK;
}

/* Place the sorted labels at their values, if these are not evenly spaced. */
static amped_status find_positions(amped_plot_axis *axis) {
  amped_status status = AMPED_OK;
  double *values = NULL;
  double most = 0.0;
  if (axis->dim < 3)
    return AMPED_OK;
  AMPED_GO(done, amped_alloc(&values, axis->dim, sizeof *values, "the positions of labels"));
  AMPED_GO(done, amped_alloc(&axis->at, axis->dim, sizeof *axis->at, "the positions of labels"));
  AMPED_GO(done, amped_label_values(axis->labels, values));
  const double first = values[axis->order[0]];
  const double span = values[axis->order[axis->dim - 1]] - first;
  for (uint64_t i = 0; i < axis->dim && span > 0.0; i++) {
    axis->at[i] = 1.0 + (values[axis->order[i]] - first) / span * (double)(axis->dim - 1);
    most = fmax(most, fabs(axis->at[i] - (double)(i + 1)));
  }
  if (!(most >= EVEN) || !isfinite(most)) {
    amped_free(axis->at);
    axis->at = NULL;
  }
done:
  amped_free(values);
  return status;
}

amped_status amped_plot_axis_create(const amped_ktensor *k, int mode, amped_plot_axis *axis) {
  char number[32];
  const amped_labels *labels = &k->labels[mode];
  *axis = (amped_plot_axis){.labels = labels, .dim = k->dims[mode], .steps = decimal};
  (void)snprintf(number, sizeof number, "mode %d", mode + 1);
  const char *name = labels->name != NULL && *labels->name != '\0' ? labels->name : number;
  (void)amped_plot_text(axis->name, name, strlen(name));
  axis->numbered = labels->count == 0 || amped_labels_number_indices(labels);
  if (labels->count == 0) {
    axis->ordered = true;
    return AMPED_OK;
  }
  amped_label_kind kind = amped_label_kind_of(labels);
  axis->ordered = kind != AMPED_LABELS_TEXT;
  if (!axis->ordered && axis->dim > AMPED_PLOT_NAMES)
    return AMPED_OK;
  AMPED_TRY(amped_alloc(&axis->order, axis->dim, sizeof *axis->order, "the order of labels"));
  AMPED_TRY(amped_label_order(labels, axis->order));
  if (!axis->ordered)
    return AMPED_OK;
  if (!axis->numbered)
    AMPED_TRY(find_positions(axis));
  return find_values(axis, kind);
}

void amped_plot_axis_free(amped_plot_axis *axis) {
  amped_free(axis->order);
  amped_free(axis->at);
  amped_free(axis->values);
  amped_free(axis->numbers);
  memset(axis, 0, sizeof *axis);
}

/* ---- ticks ---------------------------------------------------------------------------------- */

/* Does a place have a tick? If there are values: has it reached or passed a multiple of the
 * step? */
static bool has_tick(const amped_plot_axis *axis, uint64_t place, uint64_t step) {
  const int64_t *values = axis->values;
  if (axis->labels->count == 0)
    return (place + 1) % step == 0;
  if (values == NULL)
    return place % step == 0;
  if (place == 0)
    return values[0] % (int64_t)step == 0;
  return floor_div(values[place], (int64_t)step) > floor_div(values[place - 1], (int64_t)step);
}

/* The label of a tick. A date at midnight is a date alone. */
static const char *tick_label(const amped_plot_axis *axis, uint64_t place, char *buffer) {
  static const char *const midnights[] = {" 00:00", " 00:00:00", "T00:00", "T00:00:00",
                                          "T00:00:00Z"};
  int64_t day = 0;
  (void)amped_plot_axis_label(axis, amped_plot_axis_index(axis, place), buffer);
  if (axis->values == NULL || !day_number(buffer, strlen(buffer), &day))
    return buffer;
  for (size_t i = 0; i < sizeof midnights / sizeof midnights[0]; i++)
    if (strcmp(buffer + DATE, midnights[i]) == 0)
      buffer[DATE] = '\0';
  return buffer;
}

/* Half of the pixels that a label takes along its axis. */
static int half_of(const char *text, char side) {
  return side == 'x' ? amped_plot_text_width(text) / 2 : LINE / 2;
}

/* Find the places of ticks. Returns their number, or 0 if they touch. A label that would leave the
 * panel is omitted. */
static int place_ticks(const amped_plot_axis *axis, uint64_t step, char side, int pixels,
                       uint64_t *ticks) {
  char text[AMPED_PLOT_TEXT_BYTES];
  double free_from = -1e9;
  int count = 0;
  for (uint64_t i = 0; i < axis->dim; i++) {
    if (!has_tick(axis, i, step))
      continue;
    const double at = (amped_plot_axis_at(axis, i) - 0.5) * pixels / (double)axis->dim;
    const int half = half_of(tick_label(axis, i, text), side);
    if (at - half < -BEYOND_BEGIN || at + half > pixels + BEYOND_END)
      continue;
    if (count == MOST_TICKS || at - half < free_from)
      return 0;
    free_from = at + half + GAP;
    ticks[count++] = i;
  }
  return count;
}

static int find_ticks(const amped_plot_axis *axis, char side, int pixels, uint64_t *ticks) {
  for (uint64_t scale = 1; scale < UINT64_C(1) << 50 && scale <= axis->dim; scale *= 1000)
    for (int i = 0; axis->steps[i] != 0; i++) {
      int count = place_ticks(axis, scale * axis->steps[i], side, pixels, ticks);
      if (count > 0)
        return count;
    }
  return 0;
}

/* The position of a number on an axis of numbers; between places if no label is the number. */
static double position_of(const amped_plot_axis *axis, double number) {
  uint64_t i = 1;
  while (i + 1 < axis->dim && axis->numbers[i] < number)
    i++;
  const double before = axis->numbers[i - 1];
  const double step = axis->numbers[i] - before;
  const double at = amped_plot_axis_at(axis, i - 1);
  return at + (step > 0.0 ? (number - before) / step * (amped_plot_axis_at(axis, i) - at) : 0.0);
}

/* Print ticks at round numbers. Returns false if there would be fewer than two. */
static bool print_numbers(amped_plot *f, const amped_plot_axis *axis, char side, int pixels) {
  const double first = axis->numbers[0];
  const double last = axis->numbers[axis->dim - 1];
  const int room = side == 'x' ? NUMBER : LINE + GAP;
  const double step = amped_plot_round_step((last - first) / fmax(1.0, pixels / room));
  const double begin = ceil(first / step);
  if (!(step > 0.0) || begin * step + step > last)
    return false;
  fprintf(f->script, "set %ctics (", side);
  for (double i = begin; i * step <= last + 1e-9 * step && i < begin + MOST_TICKS; i++)
    fprintf(f->script, "%s'%.6g' %.9g", i > begin ? ", " : "", i * step + 0.0,
            position_of(axis, i * step));
  fprintf(f->script, ")\n");
  return true;
}

void amped_plot_axis_ticks(amped_plot *f, const amped_plot_axis *axis, char side, int pixels) {
  char text[AMPED_PLOT_TEXT_BYTES];
  uint64_t ticks[MOST_TICKS];
  if (axis->numbers != NULL && axis->dim > 1 && print_numbers(f, axis, side, pixels))
    return;
  int count = find_ticks(axis, side, pixels, ticks);
  if (count < 2 && axis->values != NULL) { /* too few round numbers: use places */
    amped_plot_axis places = *axis;
    places.values = NULL;
    places.steps = decimal;
    count = find_ticks(&places, side, pixels, ticks);
  }
  fprintf(f->script, "set %ctics (", side);
  for (int i = 0; i < count; i++)
    amped_plot_tick(f, i == 0, tick_label(axis, ticks[i], text),
                    amped_plot_axis_at(axis, ticks[i]));
  fprintf(f->script, ")\n");
}
