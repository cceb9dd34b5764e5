/* Generated cells: the same cells however they are asked for, the model that is told, noise and
 * cosines of the size asked for. */
#include <math.h>
#include <omp.h>

#include "base/mem.h"
#include "generate/generated_cells.h"
#include "tests/lib/testing.h"

static const amped_generated_spec specs[] = {
    {.order = 3, .dims = {7, 11, 300}, .type = AMPED_CELL_F32, .seed = 3},
    {.order = 3, .dims = {13, 1, 600}, .ncomps = 4, .type = AMPED_CELL_F64, .seed = 1},
    {.order = 4, .dims = {5, 6, 7, 3}, .ncomps = 9, .noise = 0.3, .type = AMPED_CELL_F32},
    {.order = 3,
     .dims = {40, 2, 31},
     .ncomps = 3,
     .collinear = 0.9,
     .is_signed = true,
     .type = AMPED_CELL_F64,
     .seed = 8},
    {.order = 5, .dims = {3, 2, 4, 5, 6}, .ncomps = 1, .noise = 2.0, .type = AMPED_CELL_F64},
};
#define SPECS (sizeof specs / sizeof specs[0])

static void *get(const amped_generated_cells *g, uint64_t piece) {
  const uint64_t bytes = amped_cell_bytes(g->info.type);
  char *cells = malloc(g->info.cells * bytes);
  ck_assert_ptr_nonnull(cells);
  for (uint64_t first = 0; first < g->info.cells; first += piece) {
    const uint64_t left = g->info.cells - first;
    amped_generated_cells_get(g, first, left < piece ? left : piece, cells + first * bytes);
  }
  return cells;
}

START_TEST(cells_do_not_depend_on_threads_nor_on_pieces) {
  for (size_t s = 0; s < SPECS; s++) {
    amped_generated_cells g;
    amped_generated_cells other;
    omp_set_num_threads(1);
    check_ok(amped_generated_cells_create(&specs[s], &g));
    void *cells = get(&g, g.info.cells);
    omp_set_num_threads(3);
    check_ok(amped_generated_cells_create(&specs[s], &other));
    for (uint64_t piece = 17; piece < 2000; piece = 5 * piece + 1) {
      void *again = get(&other, piece);
      ck_assert_int_eq(memcmp(cells, again, g.info.cells * amped_cell_bytes(g.info.type)), 0);
      free(again);
    }
    free(cells);
    amped_generated_cells_free(&g);
    amped_generated_cells_free(&other);
  }
  check_no_leak();
}

/* The model's value of a cell, and the sum of the sizes of its terms. */
static double model_at(const amped_generated_cells *g, uint64_t cell, double *sizes) {
  uint64_t index[AMPED_MAX_ORDER];
  const amped_ktensor *k = &g->model;
  double sum = 0.0;
  *sizes = 0.0;
  amped_dense_index(k->order, k->dims, g->info.layout, cell, index);
  for (int r = 0; r < k->ncomps; r++) {
    double term = k->weights[r];
    for (int m = 0; m < k->order; m++)
      term *= k->factors[m][index[m] * (uint64_t)k->ncomps + (uint64_t)r];
    sum += term;
    *sizes += fabs(term);
  }
  return sum;
}

/* N products and R sums of two forms round to within twice (N + R) eps of the terms' sizes; a cell
 * is rounded to its type once. */
START_TEST(cells_are_those_of_the_model) {
  for (size_t s = 1; s < SPECS; s++) {
    amped_generated_spec spec = specs[s];
    amped_generated_cells g;
    const double eps = spec.type == AMPED_CELL_F32 ? 0x1p-24 : 0x1p-52;
    spec.noise = 0.0;
    check_ok(amped_generated_cells_create(&spec, &g));
    ck_assert(g.noise_sd == 0.0);
    void *cells = get(&g, 1000);
    for (uint64_t c = 0; c < g.info.cells; c++) {
      double found = 0.0;
      double sizes = 0.0;
      const double expected = model_at(&g, c, &sizes);
      amped_cells_get(cells, g.info.type, c, 1, &found);
      ck_assert(fabs(found - expected) <= 2.0 * (spec.order + spec.ncomps) * eps * sizes);
      ck_assert(spec.is_signed || found > 0.0);
    }
    free(cells);
    amped_generated_cells_free(&g);
  }
  check_no_leak();
}

/* Of n normal numbers the mean square is within 5 sqrt(2 / n) of its expectation, but in one case
 * of a million. */
START_TEST(noise_has_the_size_asked_for) {
  const amped_generated_spec spec = {.order = 3,
                                     .dims = {20, 30, 40},
                                     .ncomps = 3,
                                     .noise = 0.25,
                                     .is_signed = true,
                                     .type = AMPED_CELL_F64,
                                     .seed = 5};
  amped_generated_cells g;
  check_ok(amped_generated_cells_create(&spec, &g));
  double *cells = get(&g, 4096);
  const double n = (double)g.info.cells;
  double squares = 0.0;
  double noise = 0.0;
  for (uint64_t c = 0; c < g.info.cells; c++) {
    double sizes = 0.0;
    const double value = model_at(&g, c, &sizes);
    squares += value * value;
    noise += (cells[c] - value) * (cells[c] - value);
  }
  ck_assert(fabs(g.noise_sd - 0.25 * sqrt(squares / n)) < 1e-10 * g.noise_sd);
  ck_assert(fabs(noise / n / (g.noise_sd * g.noise_sd) - 1.0) < 5.0 * sqrt(2.0 / n));
  free(cells);
  amped_generated_cells_free(&g);
  check_no_leak();
}

/* A cosine of n entries is within some (1 - c^2) / sqrt(n) of c for normal numbers, and less for
 * positive ones; 5 times that is never left. */
START_TEST(columns_have_the_cosines_asked_for) {
  static const double asked[] = {0.1, 0.5, 0.9, 0.99};
  for (size_t i = 0; i < 8; i++) {
    const double c = asked[i / 2];
    const amped_generated_spec spec = {.order = 3,
                                       .dims = {2000, 2000, 2000},
                                       .ncomps = 5,
                                       .collinear = c,
                                       .is_signed = i % 2 == 1,
                                       .type = AMPED_CELL_F32,
                                       .seed = i};
    amped_generated_cells g;
    check_ok(amped_generated_cells_create(&spec, &g));
    const double room = 5.0 * (1.0 - c * c) / sqrt(2000.0);
    ck_assert_msg(g.least_cosine > c - room && g.most_cosine < c + room, "%g: %g to %g", c,
                  g.least_cosine, g.most_cosine);
    amped_generated_cells_free(&g);
  }
  check_no_leak();
}

START_TEST(numbers_must_go_together) {
  const amped_generated_spec good = specs[2];
  amped_generated_spec spec = good;
  amped_generated_cells g;
  spec.order = 1;
  check_fails(AMPED_USAGE, "1 mode", amped_generated_cells_create(&spec, &g));
  spec = good;
  spec.dims[1] = 0;
  check_fails(AMPED_USAGE, "dimension 0", amped_generated_cells_create(&spec, &g));
  spec.dims[0] = spec.dims[1] = UINT64_C(1) << 31;
  check_fails(AMPED_USAGE, "2^63 bytes", amped_generated_cells_create(&spec, &g));
  spec = good;
  spec.noise = NAN;
  check_fails(AMPED_USAGE, "--noise", amped_generated_cells_create(&spec, &g));
  spec = good;
  spec.dims[0] = UINT64_C(1) << 55;
  spec.dims[1] = spec.dims[2] = 1;
  check_fails(AMPED_FAILED, "the planted model", amped_generated_cells_create(&spec, &g));
  amped_status status = AMPED_FAILED;
  for (int64_t i = 0; status != AMPED_OK; i++) {
    amped_mem_fail_at(i);
    status = amped_generated_cells_create(&good, &g);
    amped_mem_fail_at(-1);
    amped_status_clear();
    ck_assert(status == AMPED_OK || status == AMPED_FAILED);
    amped_generated_cells_free(&g);
    check_no_leak();
  }
}

TESTING_MAIN("generated_cells", cells_do_not_depend_on_threads_nor_on_pieces,
             cells_are_those_of_the_model, noise_has_the_size_asked_for,
             columns_have_the_cosines_asked_for, numbers_must_go_together)
