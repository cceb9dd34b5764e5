/* Arithmetic rate of CPU cores: every thread multiplies matrices of its own by BLAS, which keeps
 * them in its caches. */
#include "cpu/device/arithmetic_cpu.h"

#include <cblas.h>

#include "base/blas.h"
#include "base/mem.h"
#include "base/timer.h"

/* SIDE: rows and columns of a matrix. PRODUCTS: products per timing. REPEATS: timings, of which the
 * fastest counts. */
#define SIDE 384
#define PRODUCTS 4
#define REPEATS 6

/* Elements of a thread's three matrices. */
#define ELEMENTS (UINT64_C(3) * SIDE * SIDE)

/* Fill with numbers from 1 to 2. Writing gives every thread its own pages; these numbers are not
 * subnormal, which would be slow. */
static void fill(amped_vtype type, char *data) {
  for (uint64_t i = 0; i < ELEMENTS; i++)
    amped_value_put(data, type, i, 1.0 + (double)(i % 97) / 97.0);
}

static void multiply(amped_vtype type, char *data) {
  const uint64_t bytes = ELEMENTS / 3 * type;
  if (type == AMPED_F32)
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, SIDE, SIDE, SIDE, 1.0F,
                (const float *)(const void *)data, SIDE,
                (const float *)(const void *)(data + bytes), SIDE, 0.0F,
                (float *)(void *)(data + 2 * bytes), SIDE);
  else
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, SIDE, SIDE, SIDE, 1.0,
                (const double *)(const void *)data, SIDE,
                (const double *)(const void *)(data + bytes), SIDE, 0.0,
                (double *)(void *)(data + 2 * bytes), SIDE);
}

amped_status amped_arithmetic_cpu(amped_vtype type, int threads, double *per_sec) {
  const double each = (double)PRODUCTS * SIDE * SIDE * SIDE;
  char *data = NULL;
  *per_sec = 0.0;
  AMPED_TRY(amped_blas_check_room());
  AMPED_TRY(amped_alloc(&data, (uint64_t)threads * ELEMENTS, type, "matrices to multiply"));
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int p = 0; p < threads; p++)
    fill(type, data + (uint64_t)p * ELEMENTS * type);
  for (int i = 0; i < REPEATS; i++) {
    const double began = amped_time();
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int p = 0; p < threads; p++)
      for (int k = 0; k < PRODUCTS; k++)
        multiply(type, data + (uint64_t)p * ELEMENTS * type);
    const double rate = each * threads / (amped_time() - began);
    *per_sec = rate > *per_sec ? rate : *per_sec;
  }
  amped_free(data);
  return AMPED_OK;
}
