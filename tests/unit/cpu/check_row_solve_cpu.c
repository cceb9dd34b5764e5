/* Row solve: the dual is the primal, singular equations have the solution of least norm, and where
 * equations are of no use the functions say so. */
#include <math.h>

#include "base/random.h"
#include "cpu/complete/row_solve_cpu.h"
#include "tests/lib/testing.h"

#define MOST 96
#define WIDTH 96

typedef struct problem {
  uint64_t count;
  double products[MOST * WIDTH], targets[MOST];
  double square[WIDTH * WIDTH], sum[WIDTH], weighted[WIDTH];
  amped_row_equations equations;
  amped_row_penalty penalty;
} problem;

static problem p;
static double work[4 * (WIDTH + 8) * (WIDTH + 8)];

static void make(uint64_t components, uint64_t count, bool biased, double weight) {
  memset(&p, 0, sizeof p);
  p.count = count;
  p.penalty = (amped_row_penalty){.components = components,
                                  .biased = biased,
                                  .weight = weight,
                                  .prior = 0.5,
                                  .reg_bias = 2.0,
                                  .base = NULL};
  p.equations = (amped_row_equations){.width = WIDTH,
                                      .products = p.square,
                                      .biased = biased,
                                      .sum = p.sum,
                                      .targets = p.weighted,
                                      .count = (double)count};
  for (uint64_t k = 0; k < count; k++) {
    double *row = p.products + k * WIDTH;
    p.targets[k] = 2.0 * amped_random_double(1, count, k) - 1.0;
    for (uint64_t c = 0; c < components; c++)
      row[c] = 2.0 * amped_random_double(2, k, c) - 1.0;
    for (uint64_t c = 0; c < components; c++) {
      for (uint64_t d = c; d < components; d++)
        p.square[c * WIDTH + d] += row[c] * row[d];
      p.sum[c] += row[c];
      p.weighted[c] += p.targets[k] * row[c];
    }
    p.equations.target += p.targets[k];
    p.equations.squares += p.targets[k] * p.targets[k];
  }
}

/* Both are off by some rounding errors of the condition, trace / L at most. */
static void same_rows(const double *a, const double *b) {
  double trace = (double)p.count;
  double size = 0.0;
  for (uint64_t c = 0; c < p.penalty.components; c++)
    trace += p.square[c * WIDTH + c];
  for (uint64_t c = 0; c <= p.penalty.components; c++)
    size += fabs(a[c]);
  const double off =
      (double)(p.count + p.penalty.components) * 0x1p-52 * size * (1.0 + trace / p.penalty.weight);
  for (uint64_t c = 0; c <= p.penalty.components; c++)
    ck_assert_msg(fabs(a[c] - b[c]) <= off, "component %d: %.17g, %.17g, not within %g", (int)c,
                  a[c], b[c], off);
}

START_TEST(the_dual_is_the_primal) {
  static const uint64_t sizes[] = {2, 3, 8, 9, 17, 33, 64, 95};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
    for (uint64_t count = 1; count < sizes[i]; count += 1 + sizes[i] / 9)
      for (int biased = 0; biased < 2; biased++)
        for (double weight = 1e-3; weight < 1e3; weight *= 100.0) {
          double primal[WIDTH + 1];
          double dual[WIDTH + 1];
          double least[WIDTH + 1];
          make(sizes[i], count, biased > 0, weight);
          ck_assert(amped_row_has_dual(&p.penalty, (double)count));
          ck_assert(amped_row_solve_primal(&p.equations, &p.penalty, work, primal));
          ck_assert(amped_row_solve_dual(p.products, p.targets, NULL, count, WIDTH, &p.penalty,
                                         work, dual));
          amped_row_solve_least(&p.equations, &p.penalty, work, least);
          same_rows(primal, dual);
          same_rows(primal, least);
          const double squares = amped_row_squares(&p.equations, &p.penalty, primal);
          const double of =
              amped_row_squares_of(p.products, p.targets, NULL, count, WIDTH, &p.penalty, primal);
          ck_assert_msg(fabs(squares - of) <=
                            1e-12 * (double)sizes[i] * (1.0 + p.equations.squares),
                        "%.17g, %.17g", squares, of);
        }
  check_no_leak();
}

START_TEST(a_dual_has_fewer_nonzeros_than_components) {
  make(8, 7, true, 1.0);
  ck_assert(amped_row_has_dual(&p.penalty, 7.0));
  ck_assert(!amped_row_has_dual(&p.penalty, 8.0));
  p.penalty.reg_bias = 0.0;
  ck_assert(!amped_row_has_dual(&p.penalty, 7.0));
  p.penalty.biased = false;
  p.penalty.weight = 0.0;
  ck_assert(amped_row_has_dual(&p.penalty, 7.0));
  check_no_leak();
}

START_TEST(singular_equations_are_noticed) {
  double row[WIDTH + 1];
  make(8, 5, false, 0.0);
  ck_assert(!amped_row_solve_primal(&p.equations, &p.penalty, work, row));
  memcpy(p.products + WIDTH, p.products, 8 * sizeof *p.products);
  ck_assert(!amped_row_solve_dual(p.products, p.targets, NULL, 5, WIDTH, &p.penalty, work, row));
  make(8, 12, false, 1.0);
  p.square[3 * WIDTH + 3] = (double)NAN;
  ck_assert(!amped_row_solve_primal(&p.equations, &p.penalty, work, row));
  check_no_leak();
}

/* 0 = 0: the row without a length. */
START_TEST(equations_of_zeros_have_the_row_of_zeros) {
  double row[WIDTH + 1];
  make(8, 0, false, 0.0);
  amped_row_solve_least(&p.equations, &p.penalty, work, row);
  for (int c = 0; c < 9; c++)
    ck_assert(row[c] == 0.0);
  row[0] = -1.0;
  amped_row_solve_nonnegative(&p.equations, &p.penalty, work, row);
  for (int c = 0; c < 9; c++)
    ck_assert(row[c] == 0.0);
  check_no_leak();
}

TESTING_MAIN("row_solve_cpu", the_dual_is_the_primal, a_dual_has_fewer_nonzeros_than_components,
             singular_equations_are_noticed, equations_of_zeros_have_the_row_of_zeros)
