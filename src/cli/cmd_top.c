/* top: prints the leading labels of each component of a result. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/completion_text.h"
#include "cli/result_argument.h"
#include "tensor/format.h"
#include "base/best.h"
#include "base/facts.h"
#include "base/json.h"
#include "session/output_guard.h"
#include "base/mem.h"
#include "cli/pager.h"
#include "formats/completion_file.h"
#include "formats/result_file.h"

/* Characters of a label that are shown: at most, and at least if lines are short. */
#define LABEL_MOST 43
#define LABEL_LEAST 16

/* Bytes for the longest label in UTF-8, with its end. */
#define LABEL_BYTES (4 * LABEL_MOST + 16)

/* Characters of a column: the gap before it, the label, a blank, and the entry. */
#define GAP 2
#define ENTRY 10

/* An index and its factor entry. The key is the entry's absolute value; with --lift, its lift. */
typedef amped_best_item item;

/* How a result is shown. A model of counts (--loss=poisson) has columns that sum to 1: entries are
 * shares, and weights are expected numbers of events. */
typedef struct view {
  int width;
  bool counts;
  bool lifts;   /* order by lift */
  double total; /* sum of the weights */
} view;

/* The leading items of all components in one mode. Each component has a heap while they are chosen;
 * then they are sorted. */
typedef struct leading {
  uint64_t capacity;
  item *items;      /* [ncomps][capacity] */
  uint64_t *counts; /* [ncomps] */
  uint64_t *places; /* [nplaces] indices of all items, ascending: the only ones with labels */
  uint64_t nplaces;
} leading;

static void offer(leading *l, uint64_t r, uint64_t index, double key, double entry) {
  if (entry != 0.0 && key > 0.0)
    amped_best_offer(l->items + r * l->capacity, l->capacity, &l->counts[r],
                     (item){index, key, entry});
}

static amped_status leading_create(const amped_ktensor *k, int mode, int top, leading *l) {
  uint64_t ncomps = (uint64_t)k->ncomps;
  uint64_t room = 0;
  l->capacity = (uint64_t)top < k->dims[mode] ? (uint64_t)top : k->dims[mode];
  if (!amped_mul(ncomps, l->capacity, &room))
    return amped_error(AMPED_USAGE, NULL, "%d labels per mode are too many; lower -n", top);
  AMPED_TRY(amped_calloc(&l->counts, ncomps, sizeof *l->counts, "the leading labels"));
  AMPED_TRY(amped_alloc(&l->items, room, sizeof *l->items, "the leading labels"));
  return AMPED_OK;
}

static int compare_places(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a;
  const uint64_t y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

/* Sort the items of each component, and list the indices of all items, ascending and each once. */
static amped_status leading_finish(uint64_t ncomps, leading *l) {
  uint64_t all = 0;
  for (uint64_t r = 0; r < ncomps; r++)
    all += l->counts[r];
  AMPED_TRY(amped_alloc(&l->places, all + 1, sizeof *l->places, "the leading labels"));
  all = 0;
  for (uint64_t r = 0; r < ncomps; r++) {
    item *items = l->items + r * l->capacity;
    amped_best_sort(items, l->counts[r]);
    for (uint64_t i = 0; i < l->counts[r]; i++)
      l->places[all++] = items[i].index;
  }
  qsort(l->places, all, sizeof *l->places, compare_places);
  for (uint64_t i = 0; i < all; i++)
    if (i == 0 || l->places[i] != l->places[l->nplaces - 1])
      l->places[l->nplaces++] = l->places[i];
  return AMPED_OK;
}

static void leading_free(leading *l) {
  amped_free(l->items);
  amped_free(l->counts);
  amped_free(l->places);
}

/* Characters of UTF-8 text: all bytes except continuation bytes. */
static int width_of(const char *text) {
  int width = 0;
  for (; *text != '\0'; text++)
    width += ((unsigned char)*text & 0xc0) != 0x80;
  return width;
}

/* Cut text in a buffer of LABEL_BYTES to `most` characters. If cut, its last three are dots. */
static const char *cut(char *buffer, int most) {
  char *dots = buffer;
  int width = 0;
  for (char *at = buffer; *at != '\0'; at++) {
    bool begins = ((unsigned char)*at & 0xc0) != 0x80;
    if (begins && width == most - 3)
      dots = at;
    width += begins;
    if (width > most) {
      memcpy(dots, "...", 4);
      break;
    }
  }
  return buffer;
}

/* The place of an index's label in the model's labels. */
static uint64_t place_of(const leading *l, uint64_t index) {
  const uint64_t *found = bsearch(&index, l->places, l->nplaces, sizeof *l->places, compare_places);
  return found != NULL ? (uint64_t)(found - l->places) : 0;
}

static const char *label_of(const amped_ktensor *k, const leading *l, int mode, uint64_t index,
                            int most, char *buffer) {
  const amped_labels *labels = &k->labels[mode];
  (void)amped_label_text(labels, labels->count > 0 ? place_of(l, index) : index, buffer,
                         LABEL_BYTES);
  return cut(buffer, most);
}

static const char *mode_name(const amped_ktensor *k, int mode, int most, char *buffer) {
  char name[LABEL_BYTES - 24];
  (void)amped_format_name(name, sizeof name, &k->labels[mode]);
  (void)snprintf(buffer, LABEL_BYTES, "mode %d%s%s", mode + 1, *name != '\0' ? ": " : "", name);
  return cut(buffer, most);
}

/* ---- columns ------------------------------------------------------------------------------- */

/* Columns of one component, one per mode, in bands. A band is a group of modes whose columns stand
 * side by side. */
typedef struct layout {
  int labels[AMPED_MAX_ORDER]; /* characters of the labels */
  int ends[AMPED_MAX_ORDER];   /* first mode after each band */
  int bands;
} layout;

/* Characters that the labels of a mode take, including the mode's name above them. */
static int label_width(const amped_ktensor *k, const leading *l, int mode, uint64_t r) {
  char buffer[LABEL_BYTES];
  int width = width_of(mode_name(k, mode, LABEL_MOST, buffer)) - 1 - ENTRY;
  for (uint64_t i = 0; i < l->counts[r]; i++) {
    int w = width_of(label_of(k, l, mode, l->items[r * l->capacity + i].index, LABEL_MOST, buffer));
    width = w > width ? w : width;
  }
  return width > 0 ? width : 0;
}

/* Arrange the columns in bands of at most `width` characters, with labels of at most `most`
 * characters. width 0: no limit. */
static layout arrange(int order, const int *natural, int most, int width) {
  layout out = {.bands = 0};
  int used = 0;
  for (int m = 0; m < order; m++) {
    out.labels[m] = natural[m] < most ? natural[m] : most;
    int column = GAP + out.labels[m] + 1 + ENTRY;
    if (out.bands == 0 || (width > 0 && used + column > width)) {
      out.bands++;
      used = 0;
    }
    used += column;
    out.ends[out.bands - 1] = m + 1;
  }
  return out;
}

/* Choose the layout with the fewest bands, with labels cut no further than needed for this. */
static layout choose_layout(const amped_ktensor *k, const leading *all, uint64_t r, int width) {
  int natural[AMPED_MAX_ORDER];
  for (int m = 0; m < k->order; m++)
    natural[m] = label_width(k, &all[m], m, r);
  layout best = arrange(k->order, natural, LABEL_MOST, width);
  for (int most = LABEL_MOST - 1; most >= LABEL_LEAST; most--) {
    layout other = arrange(k->order, natural, most, width);
    if (other.bands < best.bands)
      best = other;
  }
  return best;
}

/* ---- text ---------------------------------------------------------------------------------- */

/* A line under construction, to which columns are appended. */
typedef struct line {
  char text[AMPED_MAX_ORDER * (LABEL_BYTES + 32)];
  size_t used;
} line;

/* Append a gap, then text and blanks up to `width` characters. */
static void append(line *l, int gap, const char *text, int width) {
  int pad = width - width_of(text);
  int n = snprintf(l->text + l->used, sizeof l->text - l->used, "%*s%s%*s", gap, "", text,
                   pad > 0 ? pad : 0, "");
  if (n > 0 && l->used + (size_t)n < sizeof l->text)
    l->used += (size_t)n;
}

static void say_line(line *l) {
  while (l->used > 0 && l->text[l->used - 1] == ' ')
    l->used--;
  l->text[l->used] = '\0';
  amped_say("%s", l->text);
  l->used = 0;
}

static void say_names(const amped_ktensor *k, const layout *columns, int first, int end) {
  line l = {.used = 0};
  char text[LABEL_BYTES];
  for (int m = first; m < end; m++) {
    int width = columns->labels[m] + 1 + ENTRY;
    append(&l, GAP, mode_name(k, m, width, text), width);
  }
  say_line(&l);
}

/* Print the leading labels of the modes of one band. */
static void say_band(const amped_ktensor *k, const leading *all, const view *v,
                     const layout *columns, int first, int end, uint64_t r) {
  line l = {.used = 0};
  char text[LABEL_BYTES];
  uint64_t rows = 0;
  for (int m = first; m < end; m++)
    rows = all[m].counts[r] > rows ? all[m].counts[r] : rows;
  say_names(k, columns, first, end);
  for (uint64_t i = 0; i < rows; i++) {
    for (int m = first; m < end; m++) {
      const item *x = &all[m].items[r * all[m].capacity + i];
      bool there = i < all[m].counts[r];
      append(&l, GAP, there ? label_of(k, &all[m], m, x->index, columns->labels[m], text) : "",
             columns->labels[m]);
      if (there && v->counts)
        (void)snprintf(text, sizeof text, "%8.3f %%", 100.0 * x->value);
      else if (there)
        (void)snprintf(text, sizeof text, "% .3e", x->value);
      append(&l, 1, there ? text : "", ENTRY);
    }
    say_line(&l);
  }
}

static void mode_facts(const amped_ktensor *k, const leading *l, const view *v, int mode,
                       uint64_t r, amped_facts *f) {
  amped_facts part;
  amped_fact_json(f, "mode", json_integer(mode));
  amped_fact_json(f, "name", amped_json_mode_name(&k->labels[mode]));
  amped_fact_json(f, "leading", json_array());
  for (uint64_t i = 0; i < l->counts[r]; i++) {
    const item *x = &l->items[r * l->capacity + i];
    amped_facts_begin(&part, NULL);
    amped_fact_json(&part, "index", amped_json_count(x->index));
    amped_fact_json(&part, "label", amped_json_label(&k->labels[mode], place_of(l, x->index)));
    amped_fact_json(&part, "entry", amped_json_number(x->value));
    if (v->lifts)
      amped_fact_json(&part, "lift", amped_json_number(x->key));
    amped_facts_row(f, "leading", &part);
  }
}

/* The component's weight. */
static void weight_facts(const view *v, double weight, amped_facts *f) {
  if (v->counts)
    amped_fact(f, "weight", amped_json_number(weight), ", %.6g events expected (%.3g %%)\n", weight,
               100.0 * weight / v->total);
  else
    amped_fact(f, "weight", amped_json_number(weight), ", weight %.6g\n", weight);
}

static amped_status tell_component(const amped_ktensor *k, const leading *all, const view *v,
                                   int place, int r, amped_json *json) {
  const layout columns = choose_layout(k, all, (uint64_t)r, v->width);
  amped_facts f;
  amped_facts_begin(&f, "component");
  amped_fact(&f, "component", json_integer(place), "component %d of %d", place, k->ncomps);
  weight_facts(v, k->weights[r], &f);
  for (int i = 0; i < columns.bands; i++)
    say_band(k, all, v, &columns, i > 0 ? columns.ends[i - 1] : 0, columns.ends[i], (uint64_t)r);
  for (int m = 0; m < k->order && json != NULL; m++) {
    amped_facts mode;
    amped_facts_begin(&mode, NULL);
    mode_facts(k, &all[m], v, m, (uint64_t)r, &mode);
    amped_facts_row(&f, "modes", &mode);
  }
  return amped_facts_write(&f, json);
}

static amped_status say_result(const char *path, const amped_ktensor *k,
                               const amped_completion *c) {
  char dims[AMPED_DIMS_TEXT];
  char text[AMPED_COMPLETION_TEXT];
  amped_result_metric metric;
  AMPED_TRY(amped_result_file_metric(path, false, &metric));
  amped_say("%s: %s, %d components", path, amped_format_dims(dims, k->order, k->dims), k->ncomps);
  if (c->order > 0 && metric.sweeps.count > 0)
    amped_say("%s %s", metric.name, amped_completion_errors_text(c, text));
  else if (metric.sweeps.count > 0)
    amped_say("%s %.6g after %" PRIu64 " sweeps", metric.name, metric.sweeps.last,
              metric.sweeps.count);
  amped_result_metric_free(&metric);
  for (int m = 0; m < k->order; m++) {
    const uint64_t unlearnt = amped_completion_unlearnt(c, m);
    if (unlearnt > 0)
      amped_say("%s: %" PRIu64 " of %" PRIu64
                " indices have no learnt entry, so they are in no list",
                amped_format_mode(text, sizeof text, m, &k->labels[m]), unlearnt, k->dims[m]);
  }
  return AMPED_OK;
}

/* ---- the command --------------------------------------------------------------------------- */

/* Report the components of --components in the user's order, or all components. */
static amped_status tell_components(const amped_options *o, const view *v, const amped_ktensor *k,
                                    const leading *all, amped_json *json) {
  /* Results of this program hold components in descending order. Other files need not. */
  int order[AMPED_MAX_NCOMPS];
  const amped_number_list *asked = &o->components;
  amped_ktensor_order(k, order);
  for (int i = 0; i < (asked->count > 0 ? asked->count : k->ncomps); i++) {
    int place = asked->count > 0 ? asked->numbers[i] : i + 1;
    amped_say("%s", "");
    AMPED_TRY(tell_component(k, all, v, place, order[place - 1], json));
  }
  return AMPED_OK;
}

static amped_status tell(const amped_options *o, view *v, const amped_ktensor *k,
                         const amped_completion *c, const leading *all, amped_json *json) {
  /* Get the width first: the pager replaces the terminal. */
  v->width = o->width > 0 ? o->width : amped_pager_columns();
  if (o->log.verbosity > AMPED_QUIET && (o->json == NULL || strcmp(o->json, "-") != 0))
    AMPED_TRY(amped_pager_begin());
  amped_status status = say_result(o->args[0], k, c);
  if (status == AMPED_OK)
    status = tell_components(o, v, k, all, json);
  amped_pager_end();
  return status;
}

/* The visitor of one pass over the factors. */
typedef struct finder {
  const amped_options *o;
  view view;
  uint64_t ncomps;
  const double *weights; /* [ncomps] */
  leading all[AMPED_MAX_ORDER];
  amped_completion c; /* rows without a learnt entry are in no list */
} finder;

static amped_status begin(void *context, const amped_ktensor *k) {
  finder *s = context;
  s->ncomps = (uint64_t)k->ncomps;
  s->weights = k->weights;
  for (int r = 0; r < k->ncomps; r++)
    s->view.total += k->weights[r];
  AMPED_TRY(amped_result_argument_check(s->o->args[0], k, &s->o->components));
  AMPED_TRY(amped_completion_file_read(s->o->args[0], k->order, k->dims, true, &s->c));
  for (int m = 0; m < k->order; m++)
    AMPED_TRY(leading_create(k, m, s->o->top, &s->all[m]));
  return AMPED_OK;
}

/* The label's share in the whole model. */
static double share_of(const finder *s, const double *row) {
  double events = 0.0;
  for (uint64_t r = 0; r < s->ncomps; r++)
    events += s->weights[r] * row[r];
  return events / s->view.total;
}

static amped_status look_at_rows(void *context, int mode, uint64_t first, uint64_t count,
                                 const double *rows) {
  finder *s = context;
  const uint8_t *observed = s->c.observed[mode];
  for (uint64_t i = 0; i < count; i++) {
    const double *row = rows + i * s->ncomps;
    const double share = s->view.lifts ? share_of(s, row) : 0.0;
    for (uint64_t r = 0; r < s->ncomps && (observed == NULL || observed[first + i] != 0); r++)
      offer(&s->all[mode], r, first + i,
            s->view.lifts ? row[r] * log(row[r] / share) : fabs(row[r]), row[r]);
  }
  return AMPED_OK;
}

/* Find out how the result is shown. */
static amped_status choose_view(const amped_options *o, view *v) {
  AMPED_TRY(amped_result_file_has_sums(o->args[0], &v->counts));
  v->lifts = o->lift;
  if (v->lifts && !v->counts)
    return amped_error(AMPED_USAGE, o->args[0],
                       "has no shares of events, which --lift compares; name a result of cpd "
                       "--loss=poisson, or leave out --lift");
  return AMPED_OK;
}

static amped_status top(const amped_options *o, amped_json *json) {
  const char *path = o->args[0];
  amped_ktensor k = {.order = 0};
  finder s = {.o = o};
  const amped_result_visit visit = {.begin = begin, .rows = look_at_rows, .context = &s};
  amped_status status = AMPED_OK;
  AMPED_GO(out, amped_result_argument_is("top", path));
  AMPED_GO(out, choose_view(o, &s.view));
  AMPED_GO(out, amped_result_file_scan(path, &visit, &k));
  if (s.view.lifts && k.ncomps == 1)
    amped_note("note: the model has one component, which has all events, so that no lift is above "
               "1; leave out --lift");
  for (int m = 0; m < k.order; m++) {
    leading *l = &s.all[m];
    AMPED_GO(out, leading_finish(s.ncomps, l));
    AMPED_GO(out,
             amped_result_file_labels(path, m, k.dims[m], l->places, l->nplaces, &k.labels[m]));
  }
  amped_completion_weigh(&s.c, &k);
  status = tell(o, &s.view, &k, &s.c, s.all, json);
out:
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    leading_free(&s.all[m]);
  amped_completion_free(&s.c);
  amped_ktensor_free(&k);
  return status;
}

amped_status amped_cmd_top(const amped_options *o) {
  amped_json *json = NULL;
  AMPED_TRY(amped_output_json(o->json, o->overwrite, &json));
  return amped_json_close(json, top(o, json));
}
