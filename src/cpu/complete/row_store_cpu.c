/* Row store of the CPU backend: all rows of a stream's model, in host memory
 * (backend/row_store.h). */
#include "cpu/complete/row_store_cpu.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "cpu/device/device_cpu.h"
#include "plan/touched.h"

/* Entries whose errors are summed by one thread. Fixed, so that sums do not depend on the number of
 * threads. */
#define PIECE (UINT64_C(1) << 12)

static const char what[] = "the rows of a stream";

/* The rows of a mode. */
typedef struct mode_rows {
  uint64_t dim;
  uint64_t room;     /* allocated rows */
  uint64_t own_room; /* allocated own rows */
  void *factor;      /* [room][ncomps] */
  void *history;     /* [own_room][length], by slot */
  uint64_t *touched; /* [own_room] number of the last batch that touched the row, from 1; 0: none */
  /* For the current batch: */
  amped_row_list list; /* borrowed */
  uint64_t *at;        /* [block_rows] */
  double *keep;
} mode_rows;

struct amped_row_store {
  amped_row_shape shape;
  mode_rows modes[AMPED_MAX_ORDER];
  const amped_plan *plan; /* plan of the current batch */
  uint64_t entries;
  const uint64_t *indices[AMPED_MAX_ORDER];
  const double *values;
  const bool *held; /* NULL: no entry */
};

static void *factor_of(const amped_row_store *s, int mode, uint64_t row) {
  return (char *)s->modes[mode].factor + row * s->shape.ncomps * s->shape.type;
}

static void *history_of(const amped_row_store *s, int mode, uint64_t slot) {
  return (char *)s->modes[mode].history + slot * s->shape.length * s->shape.type;
}

static bool is_own(const amped_row_store *s, uint64_t row) {
  return amped_stream_owner(row, s->shape.nranks) == s->shape.rank;
}

static uint64_t slot_of(const amped_row_store *s, uint64_t row) {
  return amped_stream_slot(row, s->shape.nranks);
}

/* --- capacity ----------------------------------------------------------------------------------*/

/* New capacity for `rows` rows: unchanged if they fit, else one and a half times `rows`. */
static uint64_t room_for(uint64_t rows, uint64_t room) {
  return rows <= room ? room : rows + rows / 2;
}

static void require(const amped_row_shape *shape, const uint64_t *dims, bool grows,
                    uint64_t *device_bytes, uint64_t *host_bytes) {
  *device_bytes = 0;
  *host_bytes = 0;
  for (int m = 0; m < shape->order; m++) {
    const uint64_t own = amped_stream_own_rows(dims[m], shape->rank, shape->nranks);
    const uint64_t own_bytes = shape->length * shape->type + sizeof(uint64_t);
    *host_bytes += (grows ? room_for(dims[m], 0) : dims[m]) * shape->ncomps * shape->type +
                   (grows ? room_for(own, 0) : own) * own_bytes +
                   (grows ? 0 : dims[m] * (sizeof(uint64_t) + sizeof(double)));
  }
}

/* Enlarge an array from `old` to `room` rows of `bytes` bytes; new rows are zero. On failure the
 * array stays as it is. */
static amped_status extend(void *array, uint64_t old, uint64_t room, uint64_t bytes) {
  uint64_t all = 0;
  void *block = *(void **)array;
  if (!amped_mul(room, bytes, &all))
    return amped_error(AMPED_FAILED, NULL, "%" PRIu64 " rows are too many for any machine", room);
  AMPED_TRY(amped_realloc(&block, all, 1, what));
  *(void **)array = block;
  if (all > 0)
    memset((char *)block + old * bytes, 0, all - old * bytes);
  return AMPED_OK;
}

static amped_status make_room(const amped_row_shape *shape, mode_rows *m, uint64_t dim) {
  const uint64_t own_dim = amped_stream_own_rows(dim, shape->rank, shape->nranks);
  const bool is_new = m->dim == 0;
  const uint64_t room = is_new && dim > m->room ? dim : room_for(dim, m->room);
  const uint64_t own = is_new && own_dim > m->own_room ? own_dim : room_for(own_dim, m->own_room);
  if (room > m->room)
    AMPED_TRY(extend(&m->factor, m->room, room, shape->ncomps * shape->type));
  m->room = room;
  if (own == m->own_room)
    return AMPED_OK;
  AMPED_TRY(extend(&m->touched, m->own_room, own, sizeof *m->touched));
  AMPED_TRY(extend(&m->history, m->own_room, own, shape->length * shape->type));
  m->own_room = own;
  return AMPED_OK;
}

static amped_status grow(amped_row_store *s, const uint64_t *dims) {
  for (int m = 0; m < s->shape.order; m++)
    AMPED_TRY(make_room(&s->shape, &s->modes[m], dims[m]));
  for (int m = 0; m < s->shape.order; m++)
    s->modes[m].dim = dims[m];
  return AMPED_OK;
}

static void free_batch(amped_row_store *s) {
  for (int m = 0; m < s->shape.order; m++) {
    mode_rows *r = &s->modes[m];
    amped_free(r->at);
    amped_free(r->keep);
    r->at = NULL;
    r->keep = NULL;
    r->list = (amped_row_list){0, NULL, NULL};
  }
}

static void destroy(amped_row_store *s) {
  if (s == NULL)
    return;
  free_batch(s);
  for (int m = 0; m < s->shape.order; m++) {
    amped_free(s->modes[m].factor);
    amped_free(s->modes[m].history);
    amped_free(s->modes[m].touched);
  }
  amped_free(s);
}

static amped_status create(struct amped_device *device, const amped_row_shape *shape,
                           const uint64_t *dims, amped_row_store **out) {
  amped_row_store *s = NULL;
  (void)device;
  *out = NULL;
  AMPED_TRY(amped_calloc(&s, 1, sizeof *s, what));
  s->shape = *shape;
  const amped_status status = grow(s, dims);
  if (status == AMPED_OK)
    *out = s;
  else
    destroy(s);
  return status;
}

static uint64_t device_bytes(const amped_row_store *s) {
  (void)s;
  return 0;
}

/* --- exchange with host memory -----------------------------------------------------------------*/

static amped_status put_factors(amped_row_store *s, int mode, uint64_t first, uint64_t count,
                                const void *factors) {
  memcpy(factor_of(s, mode, first), factors, count * s->shape.ncomps * s->shape.type);
  return AMPED_OK;
}

static amped_status get_factors(amped_row_store *s, int mode, uint64_t first, uint64_t count,
                                void *factors) {
  memcpy(factors, factor_of(s, mode, first), count * s->shape.ncomps * s->shape.type);
  return AMPED_OK;
}

static amped_status put(amped_row_store *s, int mode, uint64_t first, uint64_t count,
                        const void *factors, const void *histories, const uint64_t *touched) {
  const uint64_t bytes = s->shape.length * s->shape.type;
  AMPED_TRY(put_factors(s, mode, first, count, factors));
  for (uint64_t i = 0; i < count; i++) {
    if (!is_own(s, first + i))
      continue;
    s->modes[mode].touched[slot_of(s, first + i)] = touched[i];
    if (bytes > 0)
      memcpy(history_of(s, mode, slot_of(s, first + i)), (const char *)histories + i * bytes,
             bytes);
  }
  return AMPED_OK;
}

static amped_status get(amped_row_store *s, int mode, uint64_t count, const uint64_t *indices,
                        void *factors, void *histories, uint64_t *touched) {
  const uint64_t bytes = s->shape.length * s->shape.type;
  const uint64_t row_bytes = s->shape.ncomps * s->shape.type;
  for (uint64_t i = 0; i < count; i++) {
    memcpy((char *)factors + i * row_bytes, factor_of(s, mode, indices[i]), row_bytes);
    touched[i] = s->modes[mode].touched[slot_of(s, indices[i])];
    if (bytes > 0)
      memcpy((char *)histories + i * bytes, history_of(s, mode, slot_of(s, indices[i])), bytes);
  }
  return AMPED_OK;
}

static amped_status get_touched(amped_row_store *s, int mode, uint64_t count,
                                const uint64_t *indices, uint64_t *touched) {
  for (uint64_t i = 0; i < count; i++)
    touched[i] = s->modes[mode].touched[slot_of(s, indices[i])];
  return AMPED_OK;
}

static amped_status touch_all(amped_row_store *s, int mode, uint64_t number) {
  const uint64_t own = amped_stream_own_rows(s->modes[mode].dim, s->shape.rank, s->shape.nranks);
  for (uint64_t i = 0; i < own; i++)
    s->modes[mode].touched[i] = number;
  return AMPED_OK;
}

/* --- the current batch -------------------------------------------------------------------------*/

static amped_status begin(amped_row_store *s, const amped_plan *plan, const amped_row_list *lists) {
  free_batch(s);
  s->plan = plan;
  for (int m = 0; m < s->shape.order; m++) {
    const uint64_t block = plan->modes[m].rows.block_rows;
    s->modes[m].list = lists[m];
    AMPED_TRY(amped_alloc(&s->modes[m].at, block, sizeof *s->modes[m].at, what));
    AMPED_TRY(amped_alloc(&s->modes[m].keep, block, sizeof *s->modes[m].keep, what));
  }
  return AMPED_OK;
}

static bool is_at_prior(const amped_row_store *s, const amped_row_start *start, const void *row) {
  const uint64_t components = s->shape.ncomps - (start->biased ? 1 : 0);
  double prior = 0.0;
  bool is = true;
  amped_value_put(&prior, s->shape.type, 0, start->prior);
  for (uint64_t c = 0; c < s->shape.ncomps && is; c++)
    is = amped_value_get(row, s->shape.type, c) ==
         (c < components ? amped_value_get(&prior, s->shape.type, 0) : 0.0);
  return is;
}

static amped_status start_rows(amped_row_store *s, int mode, const amped_row_start *start,
                               const uint64_t *learnt) {
  const amped_row_list *list = &s->modes[mode].list;
  const uint64_t components = s->shape.ncomps - (start->biased ? 1 : 0);
#pragma omp parallel for schedule(static)
  for (uint64_t k = 0; k < list->count; k++) {
    void *row = factor_of(s, mode, list->rows[k]);
    const bool stays = learnt != NULL && (learnt[k / 64] >> (k % 64) & 1) != 0;
    if (!stays && is_at_prior(s, start, row))
      for (uint64_t c = 0; c < components; c++)
        amped_value_put(row, s->shape.type, c,
                        amped_row_start_entry(start, components, mode, list->rows[k], c));
  }
  return AMPED_OK;
}

static amped_status move(amped_row_store *s, struct amped_factor_set *factors, int mode, bool in) {
  const amped_row_list *list = &s->modes[mode].list;
  const uint64_t bytes = s->shape.ncomps * s->shape.type;
  const uint64_t step = amped_plan_row_bytes(s->plan);
  char *of_set = amped_factor_set_cpu.rows(factors, mode);
#pragma omp parallel for schedule(static)
  for (uint64_t k = 0; k < list->count; k++) {
    void *row = factor_of(s, mode, list->rows[k]);
    void *at = of_set + list->positions[k] * step;
    memcpy(in ? at : row, in ? row : at, bytes);
  }
  return AMPED_OK;
}

static amped_status history(amped_row_store *s, int mode, uint64_t number, double forget,
                            amped_row_history *out) {
  const mode_rows *m = &s->modes[mode];
  const uint64_t block = s->plan->modes[mode].rows.block_rows;
  const uint64_t before = (uint64_t)s->plan->rank * block;
  memset(m->at, 0, block * sizeof *m->at);
  memset(m->keep, 0, block * sizeof *m->keep);
  for (uint64_t k = 0; k < m->list.count; k++) {
    if (!is_own(s, m->list.rows[k]))
      continue;
    const uint64_t slot = slot_of(s, m->list.rows[k]);
    const uint64_t row = m->list.positions[k] - before;
    const uint64_t last = m->touched[slot];
    m->at[row] = slot;
    m->keep[row] = last > 0 ? pow(forget, (double)(number - last)) : 0.0;
  }
  *out = (amped_row_history){m->history, m->at, m->keep};
  return AMPED_OK;
}

static amped_status touch(amped_row_store *s, int mode, uint64_t number) {
  const mode_rows *m = &s->modes[mode];
  for (uint64_t k = 0; k < m->list.count; k++)
    if (is_own(s, m->list.rows[k]))
      m->touched[slot_of(s, m->list.rows[k])] = number;
  return AMPED_OK;
}

/* --- errors ------------------------------------------------------------------------------------*/

/* Model of an entry, before mean and scale: sum over components of the product of its rows, plus
 * their biases. */
#define DEFINE(TYPE)                                                                               \
  static double sum_##TYPE(const void *const *rows, int order, uint64_t components, bool biased) { \
    double sum = 0.0;                                                                              \
    for (uint64_t c = 0; c < components; c++) {                                                    \
      double product = 1.0;                                                                        \
      for (int m = 0; m < order; m++)                                                              \
        product *= (double)((const TYPE *)rows[m])[c];                                             \
      sum += product;                                                                              \
    }                                                                                              \
    for (int m = 0; m < order && biased; m++)                                                      \
      sum += (double)((const TYPE *)rows[m])[components];                                          \
    return sum;                                                                                    \
  }
DEFINE(float)
DEFINE(double)

static double model_at(const amped_row_store *s, const amped_row_model *model, uint64_t k) {
  const uint64_t components = s->shape.ncomps - (model->biased ? 1 : 0);
  const int order = s->shape.order;
  const void *row[AMPED_MAX_ORDER];
  for (int m = 0; m < order; m++)
    row[m] = factor_of(s, m, s->indices[m][k]);
  return model->mean + model->scale * (s->shape.type == AMPED_F32
                                           ? sum_float(row, order, components, model->biased)
                                           : sum_double(row, order, components, model->biased));
}

static void add_errors(const amped_row_store *s, const amped_row_model *model, bool held,
                       uint64_t first, uint64_t end, amped_errors *out) {
  for (uint64_t k = first; k < end; k++) {
    if (held && !s->held[k])
      continue;
    const double value = model_at(s, model, k);
    const double error = s->values[k] - value;
    const double clipped = s->values[k] - fmin(fmax(value, model->least), model->most);
    out->count++;
    out->squares += error * error;
    out->absolute += fabs(error);
    out->clipped += clipped * clipped;
  }
}

static amped_status enter(amped_row_store *s, uint64_t count, const uint64_t *const *indices,
                          const double *values, const bool *held) {
  s->entries = count;
  s->values = values;
  s->held = held;
  for (int m = 0; m < s->shape.order; m++)
    s->indices[m] = count > 0 ? indices[m] : NULL;
  return AMPED_OK;
}

static amped_status errors(amped_row_store *s, const amped_row_model *model, bool held,
                           amped_errors *out) {
  enum { TEAM = 64 };
  memset(out, 0, sizeof *out);
  if (held && s->held == NULL)
    return AMPED_OK;
  for (uint64_t first = 0; first < s->entries; first += TEAM * PIECE) {
    amped_errors sums[TEAM] = {{0}};
#pragma omp parallel for schedule(dynamic)
    for (uint64_t i = 0; i < TEAM; i++) {
      const uint64_t from = first + i * PIECE;
      const uint64_t end = from + PIECE < s->entries ? from + PIECE : s->entries;
      add_errors(s, model, held, from, end, &sums[i]);
    }
    for (int i = 0; i < TEAM; i++) {
      out->count += sums[i].count;
      out->squares += sums[i].squares;
      out->absolute += sums[i].absolute;
      out->clipped += sums[i].clipped;
    }
  }
  return AMPED_OK;
}

const amped_row_store_ops amped_row_store_cpu = {
    .require = require,
    .create = create,
    .destroy = destroy,
    .grow = grow,
    .device_bytes = device_bytes,
    .put = put,
    .get = get,
    .put_factors = put_factors,
    .get_factors = get_factors,
    .get_touched = get_touched,
    .touch_all = touch_all,
    .begin = begin,
    .start = start_rows,
    .move = move,
    .history = history,
    .touch = touch,
    .enter = enter,
    .errors = errors,
};
