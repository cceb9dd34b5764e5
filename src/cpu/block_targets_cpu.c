#include "cpu/block_targets_cpu.h"

#include <string.h>

#include "cpu/cpu_dispatch.h"

/* A product that is added to a sum is rounded once, where the processor can. */
#ifndef __clang__ /* which does so unless it is told not to */
#pragma GCC optimize("fp-contract=fast")
#endif

/* --- targets -----------------------------------------------------------------------------------*/

/* What the targets of a row's nonzeros are made of, or change by. */
typedef struct dots {
  const void *own; /* [columns] of the row itself */
  uint64_t offset; /* bytes of an input's row before its columns */
  uint64_t columns;
  bool makes;
  double mean, per_scale;
} dots;

typedef float floats_4 __attribute__((vector_size(16)));
typedef float floats_8 __attribute__((vector_size(32)));
typedef float floats_16 __attribute__((vector_size(64)));
typedef double doubles_4 __attribute__((vector_size(32)));
typedef double doubles_8 __attribute__((vector_size(64)));
typedef float loose_floats_4 __attribute__((vector_size(16), aligned(4), may_alias));
typedef float loose_floats_8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef float loose_floats_16 __attribute__((vector_size(64), aligned(4), may_alias));
typedef double loose_doubles_4 __attribute__((vector_size(32), aligned(8), may_alias));
typedef double loose_doubles_8 __attribute__((vector_size(64), aligned(8), may_alias));

/* Sums of the elements of a vector. */
#define TOTAL_4(v) (((v)[0] + (v)[2]) + ((v)[1] + (v)[3]))
#define TOTAL_8(v)                                                                                 \
  TOTAL_4(__builtin_shufflevector(v, v, 0, 1, 2, 3) + __builtin_shufflevector(v, v, 4, 5, 6, 7))
#define TOTAL_16(v)                                                                                \
  TOTAL_8((__builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) +                                 \
           __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15)))

#define VALUE float
#define TILE_VECTOR floats_16
#define LOOSE_TILE loose_floats_16
#define TOTAL TOTAL_16
#define NAME(x) x##_f32
#include "cpu/block_targets_body.h"
#undef VALUE
#undef TILE_VECTOR
#undef LOOSE_TILE
#undef TOTAL
#undef NAME

#define VALUE double
#define TILE_VECTOR doubles_8
#define LOOSE_TILE loose_doubles_8
#define TOTAL TOTAL_8
#define NAME(x) x##_f64
#include "cpu/block_targets_body.h"
#undef VALUE
#undef NAME

/* --- one column --------------------------------------------------------------------------------*/

/* The row's own columns. */
typedef struct column_work {
  double before, start;
} column_work;

/* A number a lane. */
#define MOST_LANES 8
typedef struct column_sums {
  double products[MOST_LANES], sum[MOST_LANES], targets[MOST_LANES], target[MOST_LANES],
      squares[MOST_LANES];
} column_sums;

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

/* Four values a vector: a nonzero's row each. */
#define JOIN(rows) ((rows)[0])
#define LOW(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define HIGH(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#define EVEN(a, b) __builtin_shufflevector(a, b, 0, 1, 4, 5)
#define ODD(a, b) __builtin_shufflevector(a, b, 2, 3, 6, 7)
#define LANE_BITS ((INTEGERS){1, 2, 4, 8})

#define VALUE float
#define ROW floats_4
#define LOOSE_ROW loose_floats_4
#define VECTOR floats_4
#define LOOSE loose_floats_4
#define INTEGER int32_t
#define INTEGERS integers_4
#define NAME(x) x##_f32
#include "cpu/block_column_body.h"
#undef VALUE
#undef ROW
#undef LOOSE_ROW
#undef VECTOR
#undef LOOSE
#undef INTEGER
#undef INTEGERS
#undef NAME

#define VALUE double
#define ROW doubles_4
#define LOOSE_ROW loose_doubles_4
#define VECTOR doubles_4
#define LOOSE loose_doubles_4
#define INTEGER int64_t
#define INTEGERS long_integers_4
#define NAME(x) x##_f64
#include "cpu/block_column_body.h"
#undef VALUE
#undef ROW
#undef LOOSE_ROW
#undef VECTOR
#undef LOOSE
#undef INTEGER
#undef INTEGERS
#undef NAME
#undef JOIN
#undef LOW
#undef HIGH
#undef EVEN
#undef ODD
#undef LANE_BITS

/* Eight values. Longer vectors are put together more slowly than they gain. */
#define HALVES(a, b, i, j, k, l)                                                                   \
  __builtin_shufflevector(a, b, i, j, k, l, (i) + 4, (j) + 4, (k) + 4, (l) + 4)
#define JOIN(rows) __builtin_shufflevector((rows)[0], (rows)[1], 0, 1, 2, 3, 4, 5, 6, 7)
#define LOW(a, b) HALVES(a, b, 0, 8, 1, 9)
#define HIGH(a, b) HALVES(a, b, 2, 10, 3, 11)
#define EVEN(a, b) HALVES(a, b, 0, 1, 8, 9)
#define ODD(a, b) HALVES(a, b, 2, 3, 10, 11)
#define LANE_BITS ((INTEGERS){1, 2, 4, 8, 16, 32, 64, 128})
#define VALUE float
#define ROW floats_4
#define LOOSE_ROW loose_floats_4
#define VECTOR floats_8
#define LOOSE loose_floats_8
#define INTEGER int32_t
#define INTEGERS integers_8
#define NAME(x) x##_wide
#include "cpu/block_column_body.h"

#undef ROW

/* --- instances ---------------------------------------------------------------------------------*/

typedef void targets_function(const dots *w, const amped_bundle *b, int inputs, int lo, int hi,
                              void *kept);
typedef void column_function(const column_work *w, const amped_bundle *b, int inputs, bool biased,
                             int lo, int hi, uint64_t take, void *kept, column_sums *e);

#define COLUMN_avx512 wide
#define COLUMN_avx2 wide
#define COLUMN_any f32

/* Two inputs are a constant. */
#define DEFINE_TARGETS(CPU, TYPE, VALUE)                                                           \
  AMPED_TARGET_##CPU static void targets_##TYPE##_##CPU(const dots *w, const amped_bundle *b,      \
                                                        int inputs, int lo, int hi, void *kept) {  \
    if (inputs == 2)                                                                               \
      targets_##TYPE(w, b, 2, lo, hi, (VALUE *)kept);                                              \
    else                                                                                           \
      targets_##TYPE(w, b, inputs, lo, hi, (VALUE *)kept);                                         \
  }
#define COLUMN(NAME) COLUMN_OF(NAME)
#define COLUMN_OF(NAME) column_##NAME
#define DEFINE_COLUMN(CPU, TYPE, NAME, VALUE)                                                      \
  AMPED_TARGET_##CPU static void column_##TYPE##_##CPU(                                            \
      const column_work *w, const amped_bundle *b, int inputs, bool biased, int lo, int hi,        \
      uint64_t take, void *kept, column_sums *e) {                                                 \
    if (inputs == 2 && biased)                                                                     \
      COLUMN(NAME)(w, b, 2, true, lo, hi, take, (VALUE *)kept, e);                                 \
    else if (inputs == 2)                                                                          \
      COLUMN(NAME)(w, b, 2, false, lo, hi, take, (VALUE *)kept, e);                                \
    else                                                                                           \
      COLUMN(NAME)(w, b, inputs, biased, lo, hi, take, (VALUE *)kept, e);                          \
  }
#define DEFINE(CPU)                                                                                \
  DEFINE_TARGETS(CPU, f32, float)                                                                  \
  DEFINE_TARGETS(CPU, f64, double)                                                                 \
  DEFINE_COLUMN(CPU, f32, COLUMN_##CPU, float)                                                     \
  DEFINE_COLUMN(CPU, f64, f64, double)
AMPED_CPU_DISPATCH(DEFINE)

typedef struct functions {
  targets_function *targets;
  column_function *column;
} functions;

static functions find_functions(amped_vtype type) {
#define ROW(CPU)                                                                                   \
  {AMPED_HAS_##CPU, AMPED_F32, {targets_f32_##CPU, column_f32_##CPU}},                             \
      {AMPED_HAS_##CPU, AMPED_F64, {targets_f64_##CPU, column_f64_##CPU}},
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

/* --- a row -------------------------------------------------------------------------------------*/

static void *kept_at(const amped_row_job *j, uint64_t bundle) {
  return (char *)((const amped_block_targets *)j->targets)->kept +
         bundle * AMPED_BUNDLE * j->m.value_type;
}

/* The part of first .. end in the bundle at k. */
static int end_in(uint64_t k, uint64_t end) {
  const uint64_t left = end - k / AMPED_BUNDLE * AMPED_BUNDLE;
  return left < AMPED_BUNDLE ? (int)left : AMPED_BUNDLE;
}

/* The row's own columns but those in hand. The desk's workspace holds them. */
static void make_targets(const amped_row_job *j, amped_row_desk *d, uint64_t position,
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

/* The row's own `before`, whose sign is turned, and `start`. */
static void change_targets(const amped_row_job *j, amped_row_desk *d, const char *row,
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

/* Change targets, unless they were made just now, and add up the equations. */
static void add_column(const amped_row_job *j, amped_row_desk *d, const char *row, uint64_t first,
                       uint64_t end) {
  const amped_block_targets *t = j->targets;
  const uint64_t *held = j->part->row_fit->held[j->mode];
  column_function *const add = find_functions(j->m.value_type).column;
  amped_row_equations *e = &d->equations;
  column_work w = {0.0, 0.0};
  column_sums s = {{0.0}, {0.0}, {0.0}, {0.0}, {0.0}};
  if (!t->renewed) {
    w.before = amped_value_get(row, j->m.value_type, 2);
    w.start = amped_value_get(row, j->m.value_type, 3);
  }
  for (uint64_t k = first; k < end; k = (k / AMPED_BUNDLE + 1) * AMPED_BUNDLE)
    add(&w, amped_row_bundle(j, d, k / AMPED_BUNDLE), j->source.inputs, j->fit->biased,
        (int)(k % AMPED_BUNDLE), end_in(k, end), amped_row_taken(held, k, end),
        kept_at(j, k / AMPED_BUNDLE), &s);
  e->products[0] = total(s.products);
  e->sum[0] = total(s.sum);
  e->targets[0] = total(s.targets);
  e->target = total(s.target);
  e->squares = total(s.squares);
  e->count = (double)amped_row_count(j->part->row_fit, j->mode, first, end);
}

bool amped_block_targets_renew(const amped_row_job *j, amped_row_desk *d, uint64_t row,
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
