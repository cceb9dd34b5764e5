#include "mttkrp_cpu.h"

#include <string.h>

/* Runs are short enough to balance and to keep the fix-up small, long enough to amortise it. */
#define RUNS 1024
#define LEAST_RUN 512

uint64_t amped_cpu_run_nnz(uint64_t nnz) {
  uint64_t even = amped_ceil_div(nnz, RUNS);
  return even > LEAST_RUN ? even : LEAST_RUN;
}

uint64_t amped_cpu_runs(uint64_t nnz) {
  return amped_ceil_div(nnz, amped_cpu_run_nnz(nnz));
}

/* One instance for each index and value type. `row_sum` holds the row in hand. */
#define DEFINE_RUN(NAME, INDEX, VALUE)                                                             \
  static void NAME(const amped_cpu_copy *copy, int ninputs, const void *const *factors,            \
                   uint64_t ld, uint64_t first, uint64_t end, double *fixup, void *out_) {         \
    const INDEX *rows = copy->rows;                                                                \
    const VALUE *values = copy->values;                                                            \
    VALUE *out = out_;                                                                             \
    double row_sum[AMPED_MAX_NCOMPS];                                                              \
    VALUE product[AMPED_MAX_NCOMPS];                                                               \
    /* Does the first row of this run begin in an earlier one? */                                  \
    bool continued = first > 0 && rows[first - 1] == rows[first];                                  \
    for (uint64_t k = first; k < end;) {                                                           \
      INDEX row = rows[k];                                                                         \
      memset(row_sum, 0, ld * sizeof *row_sum);                                                    \
      for (; k < end && rows[k] == row; k++) {                                                     \
        VALUE x = values[k];                                                                       \
        const VALUE *a = (const VALUE *)factors[0] + ((const INDEX *)copy->inputs[0])[k] * ld;     \
        const VALUE *b = (const VALUE *)factors[1] + ((const INDEX *)copy->inputs[1])[k] * ld;     \
        if (ninputs == 2) {                                                                        \
          for (uint64_t c = 0; c < ld; c++)                                                        \
            row_sum[c] += (double)(x * a[c] * b[c]);                                               \
          continue;                                                                                \
        }                                                                                          \
        for (uint64_t c = 0; c < ld; c++)                                                          \
          product[c] = x * a[c] * b[c];                                                            \
        for (int i = 2; i < ninputs; i++) {                                                        \
          a = (const VALUE *)factors[i] + ((const INDEX *)copy->inputs[i])[k] * ld;                \
          for (uint64_t c = 0; c < ld; c++)                                                        \
            product[c] *= a[c];                                                                    \
        }                                                                                          \
        for (uint64_t c = 0; c < ld; c++)                                                          \
          row_sum[c] += (double)product[c];                                                        \
      }                                                                                            \
      if (continued)                                                                               \
        memcpy(fixup, row_sum, ld * sizeof *row_sum);                                              \
      else                                                                                         \
        for (uint64_t c = 0; c < ld; c++)                                                          \
          out[row * ld + c] = (VALUE)row_sum[c];                                                   \
      continued = false;                                                                           \
    }                                                                                              \
  }                                                                                                \
                                                                                                   \
  static void NAME##_fixup(const amped_cpu_copy *copy, uint64_t ld, const double *fixup,           \
                           void *out_) {                                                           \
    const INDEX *rows = copy->rows;                                                                \
    VALUE *out = out_;                                                                             \
    uint64_t step = amped_cpu_run_nnz(copy->nnz);                                                  \
    double row_sum[AMPED_MAX_NCOMPS];                                                              \
    uint64_t runs = amped_cpu_runs(copy->nnz);                                                     \
    for (uint64_t r = 1; r < runs;) {                                                              \
      INDEX row = rows[r * step];                                                                  \
      if (rows[r * step - 1] != row) {                                                             \
        r++;                                                                                       \
        continue;                                                                                  \
      }                                                                                            \
      /* Add up, in double, what all runs that continue this row hold of it. */                    \
      for (uint64_t c = 0; c < ld; c++)                                                            \
        row_sum[c] = (double)out[row * ld + c];                                                    \
      for (; r < runs && rows[r * step] == row && rows[r * step - 1] == row; r++)                  \
        for (uint64_t c = 0; c < ld; c++)                                                          \
          row_sum[c] += fixup[r * ld + c];                                                         \
      for (uint64_t c = 0; c < ld; c++)                                                            \
        out[row * ld + c] = (VALUE)row_sum[c];                                                     \
    }                                                                                              \
  }

DEFINE_RUN(run_u32_f32, uint32_t, float)
DEFINE_RUN(run_u32_f64, uint32_t, double)
DEFINE_RUN(run_u64_f32, uint64_t, float)
DEFINE_RUN(run_u64_f64, uint64_t, double)

static const struct kernel {
  amped_itype index_type;
  amped_vtype value_type;
  void (*run)(const amped_cpu_copy *, int, const void *const *, uint64_t, uint64_t, uint64_t,
              double *, void *);
  void (*fixup)(const amped_cpu_copy *, uint64_t, const double *, void *);
} kernels[] = {
    {AMPED_U32, AMPED_F32, run_u32_f32, run_u32_f32_fixup},
    {AMPED_U32, AMPED_F64, run_u32_f64, run_u32_f64_fixup},
    {AMPED_U64, AMPED_F32, run_u64_f32, run_u64_f32_fixup},
    {AMPED_U64, AMPED_F64, run_u64_f64, run_u64_f64_fixup},
};

void amped_mttkrp_cpu(const amped_cpu_copy *copy, amped_itype index_type, amped_vtype value_type,
                      int ninputs, const void *const *factors, uint64_t ld, int threads,
                      double *fixup, void *out) {
  const struct kernel *kernel = kernels;
  uint64_t step = amped_cpu_run_nnz(copy->nnz);
  uint64_t runs = amped_cpu_runs(copy->nnz);
  while (kernel->index_type != index_type || kernel->value_type != value_type)
    kernel++;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (uint64_t r = 0; r < runs; r++) {
    uint64_t end = (r + 1) * step < copy->nnz ? (r + 1) * step : copy->nnz;
    kernel->run(copy, ninputs, factors, ld, r * step, end, fixup + r * ld, out);
  }
  kernel->fixup(copy, ld, fixup, out);
}
