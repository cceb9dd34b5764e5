/* Contraction of a dense tensor's cells on CPU cores: sizes, prefetching and instances. */
#include "cpu/dense/contract_cpu.h"

#include <omp.h>
#include <string.h>

#include "base/cpu_dispatch.h"

/* BLOCK: rows of T that are computed together. TILE: rows whose sums are kept in registers. */
#define BLOCK 96
#define TILE 12

/* Most terms that are summed in the values' type: 2^-24 times RUN, plus the runs of a block, is
 * less than 1e-5. */
#define RUN 128

/* Rows of A that are made at a time: about A_BYTES, in whole runs, between the two limits. */
#define A_BYTES (UINT64_C(128) << 10)
#define LEAST_ROWS RUN
#define MOST_ROWS (4 * RUN)

/* If T has fewer blocks, the contracted indices are cut into strips. */
#define LEAST_ITEMS 64

/* The longest vector, and a cache line, in bytes. */
#define LINE 64

/* STEP: contracted indices between two prefetches. NEIGHBOURS: blocks that a thread takes one after
 * another, so that it can prefetch the next block's cells. */
#define STEP 16
#define NEIGHBOURS 8

/* Sizes of a contraction's work. They do not depend on the number of threads. */
typedef struct shape {
  uint64_t rows;    /* rows of T */
  uint64_t columns; /* components, padded to whole vectors of any length */
  uint64_t depth;   /* rows of A that are made at a time */
  uint64_t stride;  /* elements from row to row of converted cells, if trail is 1 */
  uint64_t blocks, strips;
  uint64_t strip_rows; /* rows of A per strip */
} shape;

/* A unit of work: a block of T's rows and a strip of contracted indices. */
typedef struct item {
  uint64_t row, rows;
  uint64_t k, end;
  void *out; /* ncomps elements per row: rows of T, or doubles */
  bool in_double;
} item;

/* A thread's workspace. */
typedef struct scratch {
  void *a;      /* depth x columns, in panels */
  void *wide;   /* converted cells of a block: BLOCK x depth */
  void *tile;   /* TILE x columns sums */
  double *sums; /* BLOCK x columns */
} scratch;

/* Cells still to be prefetched, as pieces of contiguous memory. */
typedef struct feed {
  const char *at;
  uint64_t length, step; /* bytes of a piece; bytes to the next piece */
  uint64_t pieces;
  uint64_t offset; /* bytes of the current piece already prefetched */
  uint64_t lines;  /* cache lines per call of fetch */
} feed;

AMPED_INLINE void fetch(feed *f) {
  for (uint64_t n = 0; n < f->lines && f->pieces > 0; n++) {
    __builtin_prefetch(f->at + f->offset, 0, 2);
    f->offset += LINE;
    if (f->offset >= f->length) {
      f->offset = 0;
      f->at += f->step;
      f->pieces--;
    }
  }
}

static uint64_t most(uint64_t a, uint64_t b) {
  return a > b ? a : b;
}

static uint64_t least(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

static uint64_t round_up(uint64_t n, uint64_t to) {
  return amped_ceil_div(n, to) * to;
}

static shape shape_of(const amped_contraction *c) {
  shape s = {.rows = c->lead * c->trail};
  s.columns = round_up((uint64_t)c->ncomps, LINE / (uint64_t)c->value_type);
  s.depth = A_BYTES / (s.columns * (uint64_t)c->value_type) / RUN * RUN;
  s.depth = least(most(s.depth, LEAST_ROWS), MOST_ROWS);
  s.depth = least(s.depth, round_up(most(c->mid, 1), RUN));
  s.stride = s.depth + LINE / (uint64_t)c->value_type;
  s.blocks = amped_ceil_div(s.rows, BLOCK);
  s.strips = 1;
  if (s.blocks > 0 && s.blocks < LEAST_ITEMS)
    s.strips =
        least(amped_ceil_div(LEAST_ITEMS, s.blocks), most(amped_ceil_div(c->mid, s.depth), 1));
  s.strip_rows = round_up(amped_ceil_div(c->mid, s.strips), s.depth);
  return s;
}

/* Bytes for rows of A; never fewer than for a smaller number of components. */
static uint64_t a_bytes(const amped_contraction *c, const shape *s) {
  return round_up(most(A_BYTES, LEAST_ROWS * s->columns * (uint64_t)c->value_type), LINE);
}

static uint64_t wide_bytes(const amped_contraction *c) {
  const uint64_t depth = least(MOST_ROWS, round_up(most(c->mid, 1), RUN));
  return BLOCK * (depth * (uint64_t)c->value_type + LINE);
}

static uint64_t tile_bytes(const amped_contraction *c, const shape *s) {
  return round_up(TILE * s->columns * (uint64_t)c->value_type, LINE);
}

static uint64_t scratch_bytes(const amped_contraction *c, const shape *s) {
  return a_bytes(c, s) + wide_bytes(c) + tile_bytes(c, s) + BLOCK * s->columns * sizeof(double);
}

/* Number of doubles for the strips' sums; 0 if there is one strip. */
static uint64_t strip_sums(const amped_contraction *c, const shape *s) {
  return s->strips > 1 ? s->strips * s->rows * (uint64_t)c->ncomps : 0;
}

uint64_t amped_contract_bytes(const amped_contraction *c, int threads) {
  const shape s = shape_of(c);
  return (uint64_t)threads * scratch_bytes(c, &s) + strip_sums(c, &s) * sizeof(double);
}

static scratch scratch_of(const amped_contraction *c, const shape *s, char *at) {
  char *const wide = at + a_bytes(c, s);
  char *const tile = wide + wide_bytes(c);
  return (scratch){at, wide, tile, (double *)(void *)(tile + tile_bytes(c, s))};
}

/* The cells needed after contracted indices k .. k + count of an item: the same rows' next indices,
 * or the next block's first ones. fetch is called `requests` times for them. */
static feed feed_of(const amped_contraction *c, const shape *s, const item *i, uint64_t k,
                    uint64_t count, uint64_t requests) {
  const uint64_t size = amped_cell_bytes(c->type);
  const bool same_rows = k + count < i->end;
  const uint64_t row = same_rows ? i->row : i->row + BLOCK;
  const uint64_t from = same_rows ? k + count : i->k;
  const uint64_t left = (same_rows ? i->end : i->end - i->k) - (same_rows ? from : 0);
  feed f = {.step = size * (c->trail == 1 ? c->mid : c->trail)};
  if (row >= s->rows || count == 0)
    return f;
  const uint64_t rows = least(BLOCK, s->rows - row);
  const uint64_t l = row / c->trail;
  const uint64_t t = row % c->trail;
  f.at = (const char *)c->cells + ((l * c->mid + from) * c->trail + t) * size;
  f.pieces = c->trail == 1 ? rows : least(left, s->depth);
  f.length = size * (c->trail == 1 ? least(left, s->depth) : least(rows, c->trail - t));
  f.lines = amped_ceil_div(f.pieces * amped_ceil_div(f.length, LINE), requests);
  return f;
}

/* --- kernels ---------------------------------------------------------------------------------- */

/* Convert a finite half float's bits to float. The factor corrects the exponent. */
AMPED_INLINE float half_value(uint16_t bits) {
  const uint32_t size = (uint32_t)(bits & 0x7fff) << 13;
  float value = 0.0F;
  memcpy(&value, &size, sizeof value);
  value *= 0x1p112F;
  return (bits & 0x8000) != 0 ? -value : value;
}

/* c + x b in vectors; fused if the processor can. */
#define FUSE_f32_64(x, b, c) _mm512_fmadd_ps(_mm512_set1_ps(x), b, c)
#define FUSE_f64_64(x, b, c) _mm512_fmadd_pd(_mm512_set1_pd(x), b, c)
#define FUSE_f32_32(x, b, c) _mm256_fmadd_ps(_mm256_set1_ps(x), b, c)
#define FUSE_f64_32(x, b, c) _mm256_fmadd_pd(_mm256_set1_pd(x), b, c)
#define FUSE_f32_16(x, b, c) ((x) * (b) + (c))
#define FUSE_f64_16(x, b, c) ((x) * (b) + (c))

#if defined __x86_64__ && !defined __SANITIZE_ADDRESS__
#include <immintrin.h>
#define VECTOR 64
#define TARGET AMPED_TARGET_avx512
#define VALUE float
#define NAME(x) x##_f32_64
#include "cpu/dense/contract_body.h"
#define VALUE double
#define NAME(x) x##_f64_64
#include "cpu/dense/contract_body.h"
#undef VECTOR
#undef TARGET
#define VECTOR 32
#define TARGET AMPED_TARGET_avx2
#define VALUE float
#define NAME(x) x##_f32_32
#include "cpu/dense/contract_body.h"
#define VALUE double
#define NAME(x) x##_f64_32
#include "cpu/dense/contract_body.h"
#undef VECTOR
#undef TARGET
#endif
#define VECTOR 16
#define TARGET AMPED_TARGET_any
#define VALUE float
#define NAME(x) x##_f32_16
#include "cpu/dense/contract_body.h"
#define VALUE double
#define NAME(x) x##_f64_16
#include "cpu/dense/contract_body.h"

typedef void item_kernel(const amped_contraction *c, const shape *s, const item *i,
                         const scratch *x);

#define KERNELS(CPU, BYTES)                                                                        \
  AMPED_TARGET_##CPU static void item_##CPU##_f32(const amped_contraction *c, const shape *s,      \
                                                  const item *i, const scratch *x) {               \
    item_f32_##BYTES(c, s, i, x);                                                                  \
  }                                                                                                \
  AMPED_TARGET_##CPU static void item_##CPU##_f64(const amped_contraction *c, const shape *s,      \
                                                  const item *i, const scratch *x) {               \
    item_f64_##BYTES(c, s, i, x);                                                                  \
  }
#define VECTOR_avx512 64
#define VECTOR_avx2 32
#define VECTOR_any 16
#define KERNELS_OF(CPU, BYTES) KERNELS(CPU, BYTES)
#define DEFINE(CPU) KERNELS_OF(CPU, VECTOR_##CPU)
AMPED_CPU_DISPATCH(DEFINE)

static item_kernel *find_kernel(amped_vtype type) {
#define ROW(CPU) {.here = AMPED_HAS_##CPU, .f32 = item_##CPU##_f32, .f64 = item_##CPU##_f64},
  const struct {
    bool here;
    item_kernel *f32, *f64;
  } rows[] = {AMPED_CPU_DISPATCH(ROW)};
  size_t i = 0;
  while (!rows[i].here)
    i++;
  return type == AMPED_F32 ? rows[i].f32 : rows[i].f64;
}

/* --- all items -------------------------------------------------------------------------------- */

static item item_of(const amped_contraction *c, const shape *s, uint64_t number, double *sums) {
  const uint64_t strip = number / s->blocks;
  const uint64_t columns = (uint64_t)c->ncomps;
  item i = {.row = number % s->blocks * BLOCK, .in_double = s->strips > 1};
  i.rows = least(BLOCK, s->rows - i.row);
  i.k = least(strip * s->strip_rows, c->mid);
  i.end = least(i.k + s->strip_rows, c->mid);
  if (i.in_double)
    i.out = sums + (strip * s->rows + i.row) * columns;
  else
    i.out = (char *)c->result + i.row * columns * (uint64_t)c->value_type;
  return i;
}

/* T = sum of the strips, in their order. */
static void join_strips(const amped_contraction *c, const shape *s, const double *sums,
                        int threads) {
  const uint64_t elements = s->rows * (uint64_t)c->ncomps;
#pragma omp parallel for schedule(static) num_threads(threads)
  for (uint64_t e = 0; e < elements; e++) {
    double sum = 0.0;
    for (uint64_t strip = 0; strip < s->strips; strip++)
      sum += sums[strip * elements + e];
    amped_value_put(c->result, c->value_type, e, sum);
  }
}

void amped_contract_cpu(const amped_contraction *c, int threads, void *workspace) {
  item_kernel *const kernel = find_kernel(c->value_type);
  const shape s = shape_of(c);
  const uint64_t bytes = scratch_bytes(c, &s);
  double *const sums = (double *)(void *)((char *)workspace + (uint64_t)threads * bytes);
#pragma omp parallel num_threads(threads)
  {
    const scratch x = scratch_of(c, &s, (char *)workspace + (uint64_t)omp_get_thread_num() * bytes);
#pragma omp for schedule(dynamic, NEIGHBOURS)
    for (uint64_t n = 0; n < s.blocks * s.strips; n++) {
      const item i = item_of(c, &s, n, sums);
      kernel(c, &s, &i, &x);
    }
  }
  if (s.strips > 1)
    join_strips(c, &s, sums, threads);
}
