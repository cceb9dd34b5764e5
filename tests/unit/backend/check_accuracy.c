/* Long rows stay accurate: every element of an MTTKRP result is within 1e-5 of the sum of its
 * terms' sizes, against sums in double.
 *
 * The tensor is made by the backend and, nonzero by nonzero, here again, so neither side holds the
 * other's. A sum of n doubles, in any order, is off by at most n * 2^-53 of its terms' sizes: 1e-7
 * for a billion, which the bar has room for. On a GPU rows have millions of nonzeros, with
 * AMPED_TEST_LONG=1 one row has a billion; on CPUs, thousands. Exit status 77 where
 * AMPED_TEST_BACKEND has no device. */
#include <omp.h>

#include "tests/lib/testing_backend.h"

#define BAR 1e-5

/* One mode's result, for the first `columns` columns: sums and sums of sizes, rows in file order.
 */
typedef struct reference {
  int columns;
  double *sums, *sizes;
} reference;

/* A tensor, its plan and random factors. The plan has counts of all nonzeros for one rank. */
typedef struct trial {
  amped_synthetic t;
  amped_tensor_info info;
  amped_plan plan;
  double *factors[AMPED_MAX_ORDER];
  float *narrow[AMPED_MAX_ORDER]; /* the same: half the memory to go through */
} trial;

static void trial_create(trial *x, const uint64_t *dims, uint64_t nnz, int ncomps,
                         amped_worker *w) {
  memset(x, 0, sizeof *x);
  check_ok(amped_synthetic_make(&x->t, 3, dims, nnz, AMPED_SYNTHETIC_SKEWED, 0, 5));
  check_ok(amped_synthetic_info(&x->t, &x->info));
  for (int m = 0; m < 3; m++) {
    amped_partition *p = &x->info.partitions[m];
    uint64_t elements = dims[m] * (uint64_t)ncomps;
    check_ok(w->backend->device->count_synthetic(w->device, &x->t, m, p->width, 0, nnz, p->idp_nnz,
                                                 &x->info.norm_squared));
    x->factors[m] = random_rows(dims[m], ncomps, AMPED_F32, (uint64_t)m);
    check_ok(amped_alloc(&x->narrow[m], elements, sizeof *x->narrow[m], "a test"));
    for (uint64_t i = 0; i < elements; i++)
      x->narrow[m][i] = (float)x->factors[m][i];
  }
  check_ok(amped_plan_create(&x->plan, &x->info,
                             &(amped_plan_request){.ncomps = ncomps,
                                                   .value_type = AMPED_F32,
                                                   .placement = AMPED_PLACEMENT_GREEDY,
                                                   .rank = 0,
                                                   .nranks = 1}));
}

static void trial_free(trial *x) {
  for (int m = 0; m < 3; m++) {
    amped_free(x->factors[m]);
    amped_free(x->narrow[m]);
  }
  amped_plan_destroy(&x->plan);
  amped_tensor_info_free(&x->info);
}

/* Add nonzero k of mode 0. */
static void add_nonzero(const trial *x, uint64_t k, int columns, double *sums, double *sizes) {
  uint64_t ncomps = (uint64_t)x->plan.ncomps;
  double value = amped_synthetic_value(&x->t, k);
  const float *b = x->narrow[1] + amped_synthetic_index(&x->t, 1, k) * ncomps;
  const float *c = x->narrow[2] + amped_synthetic_index(&x->t, 2, k) * ncomps;
  uint64_t row = amped_synthetic_index(&x->t, 0, k) * (uint64_t)columns;
  for (int i = 0; i < columns; i++) {
    double term = value * (double)b[i] * (double)c[i];
    sums[row + (uint64_t)i] += term;
    sizes[row + (uint64_t)i] += fabs(term);
  }
}

/* All nonzeros: a part, and sums of its own, for every thread. */
static reference reference_of(const trial *x, int columns) {
  uint64_t threads = (uint64_t)omp_get_max_threads();
  uint64_t elements = x->t.dims[0] * (uint64_t)columns;
  double *parts = doubles(2 * threads * elements);
  reference all = {columns, doubles(elements), doubles(elements)};
#pragma omp parallel
  {
    double *own = parts + 2 * elements * (uint64_t)omp_get_thread_num();
#pragma omp for schedule(static)
    for (uint64_t k = 0; k < x->t.nnz; k++)
      add_nonzero(x, k, columns, own, own + elements);
  }
  for (uint64_t t = 0; t < threads; t++)
    for (uint64_t i = 0; i < elements; i++) {
      all.sums[i] += parts[2 * t * elements + i];
      all.sizes[i] += parts[(2 * t + 1) * elements + i];
    }
  amped_free(parts);
  return all;
}

/* Mode 0's result of the backend, rows in file order. */
static double *result_of(const trial *x, amped_worker *w) {
  const amped_plan *plan = &x->plan;
  uint64_t ncomps = (uint64_t)plan->ncomps;
  amped_mttkrp_times times;
  double *out = doubles(x->t.dims[0] * ncomps);
  check_ok(amped_worker_prepare(w, plan));
  check_ok(w->format->make_synthetic(w->tensor, &x->t, 0));
  check_ok(w->format->finish(w->tensor, 0));
  for (int m = 0; m < 3; m++) {
    double *rows = doubles(amped_plan_factor_rows(plan, m) * ncomps);
    for (uint64_t i = 0; i < plan->dims[m]; i++)
      memcpy(rows + amped_plan_position(plan, m, i) * ncomps, x->factors[m] + i * ncomps,
             ncomps * sizeof *rows);
    check_ok(
        w->backend->factors->put_rows(w->factors, m, 0, amped_plan_factor_rows(plan, m), rows));
    amped_free(rows);
  }
  check_ok(mttkrp_whole(w, 0, &times));
  for (uint64_t i = 0; i < plan->dims[0]; i++)
    check_ok(w->backend->factors->get_output(w->factors, 0, amped_plan_position(plan, 0, i), 1,
                                             out + i * ncomps));
  return out;
}

/* Hold a result against the reference; says how large the largest error is. */
static void result_is_accurate(const trial *x, const reference *r, const double *got,
                               const char *what) {
  uint64_t ncomps = (uint64_t)x->plan.ncomps;
  double worst = 0.0;
  for (uint64_t i = 0; i < x->t.dims[0]; i++)
    for (uint64_t c = 0; c < (uint64_t)r->columns; c++) {
      uint64_t e = i * (uint64_t)r->columns + c;
      near(got[i * ncomps + c], r->sums[e], BAR * r->sizes[e], what, i, c);
      if (r->sizes[e] > 0.0)
        worst = fmax(worst, fabs(got[i * ncomps + c] - r->sums[e]) / r->sizes[e]);
    }
  (void)printf("%s: %" PRIu64 " nonzeros in %" PRIu64 " rows: error at most %.2g of the terms\n",
               what, x->t.nnz, x->t.dims[0], worst);
}

static const struct {
  amped_residency residency;
  const char *name;
} residencies[] = {{AMPED_RESIDENCY_RESIDENT, "resident"}, {AMPED_RESIDENCY_STREAM, "streamed"}};

static bool has_room(amped_worker *w, const trial *x, const char *what) {
  amped_requirement r;
  if (amped_worker_require(w, &x->plan, &r) == AMPED_OK)
    return true;
  (void)fprintf(stderr, "skipped: %s: %s\n", what, amped_status_message());
  amped_status_clear();
  return false;
}

static void is_accurate(const uint64_t *dims, uint64_t nnz, int ncomps, int columns) {
  trial x;
  setup how = alone();
  reference r = {0, NULL, NULL};
  how.options.threads = omp_get_max_threads();
  for (int i = 0; i < (backend()->device_pointers ? 2 : 1); i++) {
    amped_worker w = {0};
    how.options.residency = backend()->device_pointers ? residencies[i].residency : 0;
    check_ok(amped_worker_open(&w, backend(), &how.options));
    if (i == 0)
      trial_create(&x, dims, nnz, ncomps, &w);
    if (has_room(&w, &x, residencies[i].name)) {
      double *got = result_of(&x, &w);
      if (r.sums == NULL)
        r = reference_of(&x, columns);
      result_is_accurate(&x, &r, got, residencies[i].name);
      amped_free(got);
    }
    amped_worker_close(&w);
  }
  amped_free(r.sums);
  amped_free(r.sizes);
  trial_free(&x);
  check_no_leak();
}

START_TEST(few_long_rows) {
  static const uint64_t dims[] = {46, 239172, 239172};
  static const uint64_t small[] = {46, 2000, 2000};
  if (backend()->device_pointers)
    is_accurate(dims, 100000000, 32, 32);
  else
    is_accurate(small, 1000000, 32, 32);
}

START_TEST(one_row) {
  static const uint64_t dims[] = {1, 239172, 239172};
  const char *long_tests = getenv("AMPED_TEST_LONG");
  if (long_tests != NULL && strcmp(long_tests, "1") == 0)
    is_accurate(dims, 1000000000, 32, 4);
  else
    is_accurate(dims, backend()->device_pointers ? 20000000 : 500000, 32, 4);
}

static bool has_device(void) {
  const char *name = getenv("AMPED_TEST_BACKEND");
  const char *reason = "this program has no such backend";
  if (name == NULL || name[0] == '\0')
    return true;
  const amped_backend *b = amped_backend_find(name);
  if (b != NULL && b->device->available(&reason))
    return true;
  (void)fprintf(stderr, "skipped: %s: %s\n", name, reason);
  return false;
}

int main(void) {
  const TTest *const tests[] = {few_long_rows, one_row};
  /* Asking for a device is all that a process may do with CUDA before it forks, and too much. */
  (void)setenv("CK_FORK", "no", 1);
  return has_device() ? testing_run("accuracy", tests, sizeof tests / sizeof tests[0]) : 77;
}
