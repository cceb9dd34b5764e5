/* Block targets on CPU cores: update of targets, and equations of a block of one column. */
#include "cpu/complete/block_targets_cpu.h"

#include <string.h>

#include "base/cpu_dispatch.h"

/* Allow fused multiply-add, which rounds once, on processors that have it. */
#ifndef __clang__ /* clang contracts by default */
#pragma GCC optimize("fp-contract=fast")
#endif

/* --- targets -----------------------------------------------------------------------------------*/

/* How the targets of a row's nonzeros are computed or updated. */
typedef struct dots {
  const void *own; /* [columns] of the row itself, in the value type */
  uint64_t offset; /* bytes of an input's row before the columns */
  uint64_t columns;
  bool makes;
  double mean, per_scale;
} dots;

typedef float floats_4 __attribute__((vector_size(16)));
typedef float floats_8 __attribute__((vector_size(32)));
typedef float floats_16 __attribute__((vector_size(64)));
typedef double doubles_2 __attribute__((vector_size(16)));
typedef double doubles_4 __attribute__((vector_size(32)));
typedef double doubles_8 __attribute__((vector_size(64)));
typedef float loose_floats_4 __attribute__((vector_size(16), aligned(4), may_alias));
typedef float loose_floats_8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef float loose_floats_16 __attribute__((vector_size(64), aligned(4), may_alias));
typedef double loose_doubles_2 __attribute__((vector_size(16), aligned(8), may_alias));
typedef double loose_doubles_4 __attribute__((vector_size(32), aligned(8), may_alias));
typedef double loose_doubles_8 __attribute__((vector_size(64), aligned(8), may_alias));

/* Sums of the elements of a vector. */
#define TOTAL_2(v) ((v)[0] + (v)[1])
#define TOTAL_4(v) (((v)[0] + (v)[2]) + ((v)[1] + (v)[3]))
#define TOTAL_8(v)                                                                                 \
  TOTAL_4(__builtin_shufflevector(v, v, 0, 1, 2, 3) + __builtin_shufflevector(v, v, 4, 5, 6, 7))
#define TOTAL_16(v)                                                                                \
  TOTAL_8((__builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) +                                 \
           __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15)))

/* Instances per vector length: vectors longer than the processor's would be spilled to memory. */
#define VALUE float
#define TILE_VECTOR floats_16
#define LOOSE_TILE loose_floats_16
#define TOTAL TOTAL_16
#define NAME(x) x##_f32_16
#include "cpu/complete/block_targets_body.h"
#undef TILE_VECTOR
#undef LOOSE_TILE
#undef TOTAL
#undef NAME

#define TILE_VECTOR floats_8
#define LOOSE_TILE loose_floats_8
#define TOTAL TOTAL_8
#define NAME(x) x##_f32_8
#include "cpu/complete/block_targets_body.h"
#undef TILE_VECTOR
#undef LOOSE_TILE
#undef TOTAL
#undef NAME

#define TILE_VECTOR floats_4
#define LOOSE_TILE loose_floats_4
#define TOTAL TOTAL_4
#define NAME(x) x##_f32_4
#include "cpu/complete/block_targets_body.h"
#undef TILE_VECTOR
#undef LOOSE_TILE
#undef TOTAL
#undef NAME
#undef VALUE

#define VALUE double
#define TILE_VECTOR doubles_8
#define LOOSE_TILE loose_doubles_8
#define TOTAL TOTAL_8
#define NAME(x) x##_f64_8
#include "cpu/complete/block_targets_body.h"
#undef TILE_VECTOR
#undef LOOSE_TILE
#undef TOTAL
#undef NAME

#define TILE_VECTOR doubles_4
#define LOOSE_TILE loose_doubles_4
#define TOTAL TOTAL_4
#define NAME(x) x##_f64_4
#include "cpu/complete/block_targets_body.h"
#undef TILE_VECTOR
#undef LOOSE_TILE
#undef TOTAL
#undef NAME

#define TILE_VECTOR doubles_2
#define LOOSE_TILE loose_doubles_2
#define TOTAL TOTAL_2
#define NAME(x) x##_f64_2
#include "cpu/complete/block_targets_body.h"
#undef TILE_VECTOR
#undef LOOSE_TILE
#undef TOTAL
#undef NAME
#undef VALUE

/* --- one column --------------------------------------------------------------------------------*/

/* The row's own column values, and data shared by all rows. */
typedef struct column_work {
  double before, start;
  const amped_row_job *job;
  amped_row_workspace *workspace;
  const amped_column_fields *fields;
  const uint64_t *held;
  void *kept;
} column_work;

/* Sums of a row's equations: one number per lane. */
#define MOST_LANES 8
typedef struct column_sums {
  double products[MOST_LANES], sum[MOST_LANES], targets[MOST_LANES], target[MOST_LANES],
      squares[MOST_LANES], count;
} column_sums;

/* Floats are summed over at most this many bundles, 32 numbers per lane, then added in double. */
#define CARRIED 4

/* Packed numbers and targets are prefetched this many nonzeros ahead. */
#define AHEAD 512

/* Addresses of the input rows of a bundle's nonzeros: bases + bytes, or the decoded bundle's
 * rows. */
typedef struct column_places {
  const char *const *bases;
  const amped_bundle *bundle;
  uint32_t bytes[AMPED_MAX_ORDER][AMPED_BUNDLE];
} column_places;

AMPED_INLINE const void *place_of(const column_places *c, bool is_short, int input, int j) {
  return is_short ? c->bases[input] + c->bytes[input][j] : (const char *)c->bundle->rows[input][j];
}

/* End of the range first .. end within the bundle of nonzero k, as an index in the bundle. */
static inline int end_in(uint64_t k, uint64_t end) {
  const uint64_t left = end - k / AMPED_BUNDLE * AMPED_BUNDLE;
  return left < AMPED_BUNDLE ? (int)left : AMPED_BUNDLE;
}

/* Offsets of the rows of one input for nonzeros lo .. hi, rounded out to groups of 16. more: a
 * second field whose offset is added; NULL: none. */
AMPED_INLINE void find_bytes(const amped_column_field *f, const uint32_t *words, int lo, int hi,
                             const amped_column_field *more, uint32_t *restrict bytes) {
  const amped_column_field a = *f;
  const amped_column_field b = more != NULL ? *more : a;
  for (int q = (int)((unsigned)lo / 16 * 16); q < hi; q += 16)
    for (int j = q; j < q + 16; j++) {
      bytes[j] = (words[j] >> a.shift & a.mask) << a.scale;
      if (more != NULL)
        bytes[j] += (words[j] >> b.shift & b.mask) << b.scale;
    }
}

/* Find the rows of nonzeros lo .. hi of the bundle at nonzero k. A target has `size` bytes. */
AMPED_INLINE void find_places(const column_work *w, column_places *c, int inputs, bool is_short,
                              uint64_t size, uint64_t k, int lo, int hi) {
  const amped_column_fields *f = w->fields;
  const uint32_t *words = f->words + k;
  const char *kept = (const char *)w->kept + (k + AHEAD) * size;
  uint32_t some[AMPED_BUNDLE];
  if (!is_short) {
    c->bundle = amped_row_bundle(w->job, w->workspace, k / AMPED_BUNDLE);
    return;
  }
  for (int j = 0; j < AMPED_BUNDLE; j += 16)
    __builtin_prefetch(words + AHEAD + j);
  for (uint64_t byte = 0; byte < AMPED_BUNDLE * size; byte += 64)
    __builtin_prefetch(kept + byte);
  if (k + AMPED_BUNDLE > f->nnz) {
    memset(some, 0, sizeof some);
    memcpy(some, words, (f->nnz - k) * sizeof *some);
    words = some;
  }
  if (f->paired)
    find_bytes(&f->inputs[0], words, lo, hi, &f->second, c->bytes[0]);
  for (int i = f->paired; i < inputs; i++)
    find_bytes(&f->inputs[i], words, lo, hi, NULL, c->bytes[i]);
}

typedef int32_t integers_4 __attribute__((vector_size(16)));
typedef int32_t integers_8 __attribute__((vector_size(32)));
typedef int64_t long_integers_4 __attribute__((vector_size(32)));

#define SUMS(VECTOR, NAME)                                                                         \
  typedef struct NAME {                                                                            \
    VECTOR products, sum, targets, target, squares;                                                \
  } NAME;
SUMS(floats_4, sums_f32)
SUMS(doubles_4, sums_f64)
SUMS(floats_8, sums_wide)

/* Vectors of four values: one nonzero's row. */
#define TARGET
#define JOIN(at, j) at(j)
#define SECOND(a, b) __builtin_shufflevector(a, b, 0, 5, 2, 3)
#define LOW(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define HIGH(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#define EVEN(a, b) __builtin_shufflevector(a, b, 0, 1, 4, 5)
#define ODD(a, b) __builtin_shufflevector(a, b, 2, 3, 6, 7)
#define LANE_BITS ((INTEGERS){1, 2, 4, 8})

#define VALUE float
#define LOOSE_ROW loose_floats_4
#define VECTOR floats_4
#define LOOSE loose_floats_4
#define INTEGER int32_t
#define INTEGERS integers_4
#define NAME(x) x##_f32
#include "cpu/complete/block_column_body.h"
#undef VALUE
#undef LOOSE_ROW
#undef VECTOR
#undef LOOSE
#undef INTEGER
#undef INTEGERS
#undef NAME

#define VALUE double
#define LOOSE_ROW loose_doubles_4
#define VECTOR doubles_4
#define LOOSE loose_doubles_4
#define INTEGER int64_t
#define INTEGERS long_integers_4
#define NAME(x) x##_f64
#include "cpu/complete/block_column_body.h"
#undef VALUE
#undef LOOSE_ROW
#undef VECTOR
#undef LOOSE
#undef INTEGER
#undef INTEGERS
#undef NAME
#undef TARGET
#undef JOIN
#undef LOW
#undef HIGH
#undef EVEN
#undef ODD
#undef SECOND
#undef LANE_BITS

/* Vectors of eight values, joined from two rows. Longer vectors cost more to join than they
 * save. */
#if defined __x86_64__ && !defined __SANITIZE_ADDRESS__
#include <immintrin.h>
#define HALVES(a, b, i, j, k, l)                                                                   \
  __builtin_shufflevector(a, b, i, j, k, l, (i) + 4, (j) + 4, (k) + 4, (l) + 4)
#define TARGET AMPED_TARGET_avx2
#define JOIN(at, j)                                                                                \
  (VECTOR) _mm256_insertf128_ps(_mm256_castps128_ps256((__m128)at(j)), (__m128)at((j) + 4), 1)
#define LOW(a, b) HALVES(a, b, 0, 8, 1, 9)
#define HIGH(a, b) HALVES(a, b, 2, 10, 3, 11)
#define EVEN(a, b) HALVES(a, b, 0, 1, 8, 9)
#define ODD(a, b) HALVES(a, b, 2, 3, 10, 11)
#define SECOND(a, b) HALVES(a, b, 0, 9, 2, 3)
#define LANE_BITS ((INTEGERS){1, 2, 4, 8, 16, 32, 64, 128})
#define VALUE float
#define LOOSE_ROW loose_floats_4
#define VECTOR floats_8
#define LOOSE loose_floats_8
#define INTEGER int32_t
#define INTEGERS integers_8
#define NAME(x) x##_wide
#include "cpu/complete/block_column_body.h"
#endif

/* --- instances ---------------------------------------------------------------------------------*/

typedef void targets_function(const dots *w, const amped_bundle *b, int inputs, int lo, int hi,
                              void *kept);
typedef void column_function(const column_work *w, int inputs, bool biased, uint64_t first,
                             uint64_t end, column_sums *e);
typedef void pair_function(const void *a, const void *rows, uint64_t count, bool biased, void *out);

#define COLUMN_avx512 wide
#define COLUMN_avx2 wide
#define COLUMN_any f32

#define TARGETS_f32_avx512 f32_16
#define TARGETS_f32_avx2 f32_8
#define TARGETS_f32_any f32_4
#define TARGETS_f64_avx512 f64_8
#define TARGETS_f64_avx2 f64_4
#define TARGETS_f64_any f64_2

#define CALL(FUNCTION, NAME) CALL_OF(FUNCTION, NAME)
#define CALL_OF(FUNCTION, NAME) FUNCTION##_##NAME

/* Instances. Two inputs, the most common case, are a constant. */
#define DEFINE_TARGETS(CPU, TYPE, NAME, VALUE)                                                     \
  AMPED_TARGET_##CPU static void targets_##TYPE##_##CPU(const dots *w, const amped_bundle *b,      \
                                                        int inputs, int lo, int hi, void *kept) {  \
    if (inputs == 2)                                                                               \
      CALL(targets, NAME)(w, b, 2, lo, hi, (VALUE *)kept);                                         \
    else                                                                                           \
      CALL(targets, NAME)(w, b, inputs, lo, hi, (VALUE *)kept);                                    \
  }
#define DEFINE_COLUMN(CPU, TYPE, NAME)                                                             \
  AMPED_TARGET_##CPU static void column_##TYPE##_##CPU(const column_work *w, int inputs,           \
                                                       bool biased, uint64_t first, uint64_t end,  \
                                                       column_sums *e) {                           \
    if (w->fields->words == NULL)                                                                  \
      CALL(column, NAME)(w, inputs, biased, false, first, end, e);                                 \
    else if (inputs == 1 && biased)                                                                \
      CALL(column, NAME)(w, 1, true, true, first, end, e);                                         \
    else if (inputs == 2 && biased)                                                                \
      CALL(column, NAME)(w, 2, true, true, first, end, e);                                         \
    else if (inputs == 1)                                                                          \
      CALL(column, NAME)(w, 1, false, true, first, end, e);                                        \
    else if (inputs == 2)                                                                          \
      CALL(column, NAME)(w, 2, false, true, first, end, e);                                        \
    else                                                                                           \
      CALL(column, NAME)(w, inputs, biased, true, first, end, e);                                  \
  }                                                                                                \
  AMPED_TARGET_##CPU static void pair_##TYPE##_##CPU(const void *a, const void *rows,              \
                                                     uint64_t count, bool biased, void *out) {     \
    CALL(pair, NAME)(a, rows, count, biased, out);                                                 \
  }
#define DEFINE(CPU)                                                                                \
  DEFINE_TARGETS(CPU, f32, TARGETS_f32_##CPU, float)                                               \
  DEFINE_TARGETS(CPU, f64, TARGETS_f64_##CPU, double)                                              \
  DEFINE_COLUMN(CPU, f32, COLUMN_##CPU)                                                            \
  DEFINE_COLUMN(CPU, f64, f64)
AMPED_CPU_DISPATCH(DEFINE)

typedef struct functions {
  targets_function *targets;
  column_function *column;
  pair_function *pair;
} functions;

static functions find_functions(amped_vtype type) {
#define ROW(CPU)                                                                                   \
  {.here = AMPED_HAS_##CPU,                                                                        \
   .type = AMPED_F32,                                                                              \
   .functions = {.targets = targets_f32_##CPU,                                                     \
                 .column = column_f32_##CPU,                                                       \
                 .pair = pair_f32_##CPU}},                                                         \
      {.here = AMPED_HAS_##CPU,                                                                    \
       .type = AMPED_F64,                                                                          \
       .functions = {                                                                              \
           .targets = targets_f64_##CPU, .column = column_f64_##CPU, .pair = pair_f64_##CPU}},
  const struct {
    bool here;
    amped_vtype type;
    functions functions;
  } rows[] = {AMPED_CPU_DISPATCH(ROW)};
  size_t i = 0;
  while (!rows[i].here || rows[i].type != type)
    i++;
  return rows[i].functions;
}

/* --- inputs ------------------------------------------------------------------------------------*/

/* Numbers per row if a block has one column: now, bias, before, start (backend/block_fit.h). */
#define COLUMN_ROW 4

/* Most bytes of a table, and the number of nonzeros per row of the table from which it pays. */
#define TABLE_BYTES (UINT64_C(1) << 20)
#define TABLE_PAYS 8

static bool has_words(const amped_packing *p) {
  return p->planes == 1 && p->plane_bytes[0] == sizeof(uint32_t);
}

/* Find the two shortest inputs; *first < *second. */
static void find_pair(const amped_packing *p, int *first, int *second) {
  int a = 0;
  int b = 1;
  for (int i = 2; i < p->inputs; i++) {
    int *const longer = p->bits[a] > p->bits[b] ? &a : &b;
    if (p->bits[i] < p->bits[*longer])
      *longer = i;
  }
  *first = a < b ? a : b;
  *second = a < b ? b : a;
}

/* Bytes of mode's table; 0: no table. */
static uint64_t table_bytes(const amped_plan *plan, int mode) {
  const amped_copy_plan *copy = &plan->modes[mode].copy;
  const amped_packing *p = &copy->packing;
  int first = 0;
  int second = 0;
  if (!has_words(p) || p->inputs < 2)
    return 0;
  find_pair(p, &first, &second);
  const uint64_t rows = UINT64_C(1) << (p->bits[first] + p->bits[second]);
  const uint64_t bytes = rows * COLUMN_ROW * plan->value_type;
  return bytes <= TABLE_BYTES && rows * TABLE_PAYS <= copy->rank_nnz[plan->rank] ? bytes : 0;
}

uint64_t amped_block_targets_table_bytes(const amped_plan *plan, int width) {
  uint64_t most = 0;
  for (int m = 0; m < plan->order && width == 1; m++) {
    const uint64_t bytes = table_bytes(plan, m);
    most = bytes > most ? bytes : most;
  }
  return most;
}

void amped_block_targets_find(amped_block_targets *t, const amped_plan *plan, int mode,
                              const amped_cpu_mttkrp *m, void *table) {
  const amped_packing *p = m->copy->packing;
  const uint64_t bytes = m->ld * m->value_type;
  const uint32_t scale = (uint32_t)__builtin_ctzll(bytes);
  amped_column_fields *f = &t->fields;
  int input = 0;
  int first = -1;
  int second = -1;
  *f = (amped_column_fields){.nnz = m->copy->nnz};
  if (!has_words(p) || bytes >> scale != 1)
    return;
  if (table != NULL && m->ld == COLUMN_ROW && table_bytes(plan, mode) > 0) {
    find_pair(p, &first, &second);
    f->paired = 1;
    f->rows[input++] = table;
  }
  for (int i = 0; i < p->inputs; i++) {
    const amped_column_field field = {p->shifts[i] % 32U,
                                      p->bits[i] == 0 ? 0 : UINT32_MAX >> (32 - p->bits[i]), scale};
    if (p->bits[i] + scale > 32)
      return;
    if (i == first) {
      f->inputs[0] = field;
      f->inputs[0].scale += p->bits[second];
    } else if (i == second) {
      f->second = field;
    } else {
      f->rows[input] = m->factors[i];
      f->inputs[input++] = field;
    }
  }
  f->words = m->copy->planes[0];
}

/* Number of rows of an input that the field can address. Rows after these have no nonzeros. */
static uint64_t field_rows(const amped_plan *plan, int mode, int input,
                           const amped_column_field *f) {
  const uint64_t rows = amped_plan_factor_rows(plan, input + (input >= mode));
  const uint64_t named = (uint64_t)f->mask + 1;
  return rows < named ? rows : named;
}

void amped_block_targets_multiply(const amped_row_job *j) {
  const amped_plan *plan = j->part->plan;
  const amped_block_targets *t = j->targets;
  const uint64_t row = j->m.ld * j->m.value_type;
  pair_function *const pair = find_functions(j->m.value_type).pair;
  int first = 0;
  int second = 0;
  if (!t->fields.paired)
    return;
  find_pair(j->m.copy->packing, &first, &second);
  const char *a = j->m.factors[first];
  const char *b = j->m.factors[second];
  char *table = (char *)(uintptr_t)t->fields.rows[0];
  const uint64_t rows = field_rows(plan, j->mode, first, &t->fields.inputs[0]);
  const uint64_t count = field_rows(plan, j->mode, second, &t->fields.second);
#pragma omp parallel for schedule(static) num_threads(j->part->threads)
  for (uint64_t i = 0; i < rows; i++)
    pair(a + i * row, b, count, j->source.biased, table + (i << t->fields.inputs[0].scale));
}

/* --- a row -------------------------------------------------------------------------------------*/

static void *kept_at(const amped_row_job *j, uint64_t bundle) {
  return (char *)((const amped_block_targets *)j->targets)->kept +
         bundle * AMPED_BUNDLE * j->m.value_type;
}

/* Compute targets from the values and all columns but the current ones, which are set to zero in
 * the workspace's copy of the row. */
static void make_targets(const amped_row_job *j, amped_row_workspace *d, uint64_t position,
                         uint64_t first, uint64_t end) {
  const amped_block_targets *t = j->targets;
  const amped_vtype type = j->m.value_type;
  const char *row = (const char *)t->factor + position * t->whole.ld * type;
  const dots w = {.own = d->solve,
                  .columns = t->components,
                  .makes = true,
                  .mean = j->fit->mean,
                  .per_scale = 1.0 / j->fit->scale};
  const functions by = find_functions(type);
  memcpy(d->solve, row, t->components * type);
  memset((char *)d->solve + t->first * type, 0, t->count * type);
  for (uint64_t k = first; k < end; k = (k / AMPED_BUNDLE + 1) * AMPED_BUNDLE) {
    amped_bundle b;
    j->decode(&t->whole, k / AMPED_BUNDLE * AMPED_BUNDLE, t->whole.copy->nnz, &b);
    by.targets(&w, &b, j->source.inputs, (int)(k % AMPED_BUNDLE), end_in(k, end),
               kept_at(j, k / AMPED_BUNDLE));
  }
}

/* Update targets by the row's own `before`, with its sign turned, and `start`. */
static void change_targets(const amped_row_job *j, amped_row_workspace *d, const char *row,
                           uint64_t first, uint64_t end) {
  const amped_block_targets *t = j->targets;
  const amped_vtype type = j->m.value_type;
  const uint64_t offset = (t->width + 1) * type;
  const dots w = {.own = d->solve, .offset = offset, .columns = 2 * t->width};
  const functions by = find_functions(type);
  memcpy(d->solve, row + offset, 2 * t->width * type);
  for (uint64_t c = 0; c < t->width; c++)
    amped_value_put(d->solve, type, c, -amped_value_get(d->solve, type, c));
  for (uint64_t k = first; k < end; k = (k / AMPED_BUNDLE + 1) * AMPED_BUNDLE)
    by.targets(&w, amped_row_bundle(j, d, k / AMPED_BUNDLE), j->source.inputs,
               (int)(k % AMPED_BUNDLE), end_in(k, end), kept_at(j, k / AMPED_BUNDLE));
}

static double total(const double *lanes) {
  double sum = 0.0;
  for (int q = 0; q < MOST_LANES; q++)
    sum += lanes[q];
  return sum;
}

/* Add up the equations of a block of one column. Targets are updated first, unless they were just
 * computed. */
static void add_column(const amped_row_job *j, amped_row_workspace *d, const char *row,
                       uint64_t first, uint64_t end) {
  const amped_block_targets *t = j->targets;
  column_function *const add = find_functions(j->m.value_type).column;
  amped_row_equations *e = &d->equations;
  column_work w = {.job = j,
                   .workspace = d,
                   .fields = &t->fields,
                   .held = j->part->row_fit->held[j->mode],
                   .kept = t->kept};
  column_sums s = {{0.0}, {0.0}, {0.0}, {0.0}, {0.0}, 0.0};
  if (!t->renewed) {
    w.before = amped_value_get(row, j->m.value_type, 2);
    w.start = amped_value_get(row, j->m.value_type, 3);
  }
  add(&w, j->source.inputs - t->fields.paired, j->source.biased, first, end, &s);
  e->products[0] = total(s.products);
  e->sum[0] = total(s.sum);
  e->targets[0] = total(s.targets);
  e->target = total(s.target);
  e->squares = total(s.squares);
  e->count = s.count;
}

bool amped_block_targets_renew(const amped_row_job *j, amped_row_workspace *d, uint64_t row,
                               uint64_t first, uint64_t end, bool wide) {
  const amped_block_targets *t = j->targets;
  const uint64_t position = amped_plan_row_position(j->part->plan, j->mode, row);
  const char *columns = (const char *)t->rows + position * j->m.ld * j->m.value_type;
  const bool one = t->width == 1 && !wide && j->weights == NULL;
  if (t->renewed)
    make_targets(j, d, position, first, end);
  else if (!one)
    change_targets(j, d, columns, first, end);
  if (one)
    add_column(j, d, columns, first, end);
  return one;
}
