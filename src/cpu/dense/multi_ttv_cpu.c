/* MTTKRP of one mode from a contraction T, on CPU cores: chunks of rows and instances. */
#include "cpu/dense/multi_ttv_cpu.h"

#include <omp.h>
#include <string.h>

#include "base/cpu_dispatch.h"

/* Bytes of sums that a thread keeps at a time. They determine the rows of a chunk. */
#define SUMS_BYTES (UINT64_C(64) << 10)

/* A thread's workspace: doubles, in whole cache lines. */
typedef struct scratch {
  double *outer, *part; /* ncomps each */
  double *sums;         /* chunk_rows x ncomps */
} scratch;

static uint64_t line_doubles(uint64_t n) {
  return amped_ceil_div(n, 8) * 8;
}

static uint64_t chunk_rows(int ncomps) {
  const uint64_t rows = SUMS_BYTES / ((uint64_t)ncomps * sizeof(double));
  return rows > 8 ? rows : 8;
}

/* Doubles of a thread's workspace; never fewer than for fewer components. */
static uint64_t scratch_doubles(int ncomps) {
  const uint64_t n = (uint64_t)ncomps;
  const uint64_t sums = SUMS_BYTES / sizeof(double);
  return 2 * line_doubles(n) + (8 * n > sums ? 8 * n : sums);
}

uint64_t amped_multi_ttv_bytes(int ncomps, int threads) {
  return (uint64_t)threads * scratch_doubles(ncomps) * sizeof(double);
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Columns that are summed in registers at a time. */
#define COLUMNS 16

#define VALUE float
#define NAME(x) x##_f32
#include "cpu/dense/multi_ttv_body.h"

#define VALUE double
#define NAME(x) x##_f64
#include "cpu/dense/multi_ttv_body.h"

typedef void chunk_function(const amped_multi_ttv *m, uint64_t first, uint64_t count, void *out,
                            const scratch *s);

#define DEFINE(CPU)                                                                                \
  AMPED_TARGET_##CPU static void chunk_##CPU##_f32(const amped_multi_ttv *m, uint64_t first,       \
                                                   uint64_t count, void *out, const scratch *s) {  \
    chunk_f32(m, first, count, out, s, AMPED_FUSED_##CPU);                                         \
  }                                                                                                \
  AMPED_TARGET_##CPU static void chunk_##CPU##_f64(const amped_multi_ttv *m, uint64_t first,       \
                                                   uint64_t count, void *out, const scratch *s) {  \
    chunk_f64(m, first, count, out, s, AMPED_FUSED_##CPU);                                         \
  }
AMPED_CPU_DISPATCH(DEFINE)

static chunk_function *find_chunk(amped_vtype type) {
#define ROW(CPU) {.here = AMPED_HAS_##CPU, .f32 = chunk_##CPU##_f32, .f64 = chunk_##CPU##_f64},
  const struct {
    bool here;
    chunk_function *f32, *f64;
  } rows[] = {AMPED_CPU_DISPATCH(ROW)};
  size_t i = 0;
  while (!rows[i].here)
    i++;
  return type == AMPED_F32 ? rows[i].f32 : rows[i].f64;
}

static scratch scratch_of(int ncomps, double *workspace, int thread) {
  double *const at = workspace + (uint64_t)thread * scratch_doubles(ncomps);
  const uint64_t row = line_doubles((uint64_t)ncomps);
  return (scratch){at, at + row, at + 2 * row};
}

void amped_multi_ttv_cpu(const amped_multi_ttv *m, uint64_t first, uint64_t count, void *out,
                         int threads, void *workspace) {
  chunk_function *const chunk = find_chunk(m->value_type);
  const uint64_t row_bytes = m->ld * (uint64_t)m->value_type;
  const uint64_t even = amped_ceil_div(count, (uint64_t)threads);
  uint64_t step = chunk_rows(m->ncomps);
  step = even < step && even > 0 ? even : step;
#pragma omp parallel for schedule(static) num_threads(threads)
  for (uint64_t i = 0; i < count; i += step) {
    const scratch s = scratch_of(m->ncomps, workspace, omp_get_thread_num());
    chunk(m, first + i, count - i < step ? count - i : step, (char *)out + i * row_bytes, &s);
  }
}
