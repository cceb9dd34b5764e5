/* Row solve: Cholesky solvers and coordinate descent for one row, in double. */
#include "cpu/complete/row_solve_cpu.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/cpu_dispatch.h"

/* Allow fused multiply-add, which rounds once, on processors that have it. */
#ifndef __clang__ /* clang contracts by default */
#pragma GCC optimize("fp-contract=fast")
#endif

/* Vectors of 32 bytes: longer ones would be spilled to memory on processors without them. */
typedef double numbers __attribute__((vector_size(32)));
typedef double loose_numbers __attribute__((vector_size(32), aligned(8), may_alias));

#define LANES 4

/* Rows of the factor that are subtracted from the other rows at a time. */
#define PANEL 8

/* Coordinate descent ends after MOST_PASSES passes, or after a pass that leaves residual ENOUGH. */
#define MOST_PASSES 20
#define ENOUGH 1e-4

/* Largest L / reg_bias for which the dual is used. The dual loses about log10 of it in digits. */
#define MOST_BIAS_RATIO 1e4

static uint64_t padded(uint64_t n) {
  return (n + LANES - 1) / LANES * LANES;
}

uint64_t amped_row_solve_elements(uint64_t components) {
  const uint64_t n = components + 1;
  return 2 * n * padded(n + 1) + 4 * padded(n + 1);
}

/* A system of n equations: the upper triangle of a symmetric matrix, with the right side as column
 * n. Rows have ld columns. */
typedef struct linear {
  uint64_t n, ld;
  double *m;     /* [n][ld] */
  double *x;     /* [ld] the solution */
  double *least; /* [n] a pivot up to this is taken as 0; after factoring: 1 / the factor's
                    diagonal */
  double *rest;  /* workspace after these: n * ld + 2 ld */
} linear;

static linear linear_in(double *work, uint64_t n) {
  linear s = {.n = n, .ld = padded(n + 1)};
  s.m = work;
  s.x = s.m + n * s.ld;
  s.least = s.x + s.ld;
  s.rest = s.least + s.ld;
  return s;
}

/* --- Cholesky ----------------------------------------------------------------------------------*/

/* A vector at an address that need not be aligned. */
#define AT(place) (*(loose_numbers *)(uintptr_t)(place))

/* Factor a panel. Row j becomes final, and is then subtracted from the panel's rows below it. The
 * right side, the last column, becomes the right side of the triangular system. Returns false if a
 * pivot is too small. */
AMPED_INLINE bool factor_panel(const linear *s, uint64_t first, uint64_t end) {
  for (uint64_t j = first; j < end; j++) {
    double *row = s->m + j * s->ld;
    const double pivot = row[j];
    if (!(pivot > s->least[j]) || !(pivot <= DBL_MAX))
      return false;
    const double by = 1.0 / sqrt(pivot);
    s->least[j] = by;
    for (uint64_t c = first; c < s->ld; c += LANES)
      AT(row + c) *= by;
    for (uint64_t i = j + 1; i < end; i++) {
      double *below = s->m + i * s->ld;
      const double f = row[i];
      for (uint64_t c = first; c < s->ld; c += LANES)
        AT(below + c) -= f * AT(row + c);
    }
  }
  return true;
}

/* Subtract a panel from `rows` rows, from row i on. rows is a compile-time constant of the
 * caller. */
AMPED_INLINE void update_rows(const linear *s, uint64_t panel, uint64_t i, int rows) {
  const double *from = s->m + panel * s->ld;
  double *to = s->m + i * s->ld;
  double f[2][PANEL];
  for (int r = 0; r < rows; r++)
    for (uint64_t q = 0; q < PANEL; q++)
      f[r][q] = from[q * s->ld + i + (uint64_t)r];
  for (uint64_t c = i / LANES * LANES; c < s->ld; c += LANES) {
    numbers v[2];
    for (int r = 0; r < rows; r++)
      v[r] = AT(to + (uint64_t)r * s->ld + c);
#pragma GCC unroll 8
    for (uint64_t q = 0; q < PANEL; q++) {
      const numbers u = AT(from + q * s->ld + c);
      for (int r = 0; r < rows; r++)
        v[r] -= f[r][q] * u;
    }
    for (int r = 0; r < rows; r++)
      AT(to + (uint64_t)r * s->ld + c) = v[r];
  }
}

AMPED_INLINE double dot(const double *a, const double *b, uint64_t count) {
  numbers sum = {0};
  for (uint64_t c = 0; c < count; c += LANES)
    sum += AT(a + c) * AT(b + c);
  return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

/* Solve the triangular system by back substitution. */
AMPED_INLINE void substitute_back(const linear *s) {
  memset(s->x, 0, s->ld * sizeof *s->x);
  for (uint64_t j = s->n; j-- > 0;) {
    const double *row = s->m + j * s->ld;
    const uint64_t c = j / LANES * LANES; /* x is 0 up to j, and from n on */
    s->x[j] = (row[s->n] - dot(row + c, s->x + c, s->ld - c)) * s->least[j];
  }
}

AMPED_INLINE bool solve_linear(const linear *s) {
  for (uint64_t first = 0; first < s->n; first += PANEL) {
    const uint64_t end = first + PANEL < s->n ? first + PANEL : s->n;
    uint64_t i = end;
    if (!factor_panel(s, first, end))
      return false;
    for (; i + 1 < s->n; i += 2)
      update_rows(s, first, i, 2);
    if (i < s->n)
      update_rows(s, first, i, 1);
  }
  substitute_back(s);
  return true;
}

/* Upper triangle of P P^T, where P has `count` rows. */
AMPED_INLINE void multiply_rows(const double *products, uint64_t count, uint64_t width,
                                const linear *s) {
  for (uint64_t i = 0; i < count; i++)
    for (uint64_t j = i; j < count; j++)
      s->m[i * s->ld + j] = dot(products + i * width, products + j * width, width);
}

/* Inner product of `count` numbers. Each lane of a vector has its sum: one sum would wait
 * for each addition. */
AMPED_INLINE double inner_product(const double *a, const double *b, uint64_t count) {
  const uint64_t whole = count / LANES * LANES;
  double sum = dot(a, b, whole);
  for (uint64_t c = whole; c < count; c++)
    sum += a[c] * b[c];
  return sum;
}

typedef struct solver {
  bool (*solve)(const linear *s);
  void (*multiply)(const double *products, uint64_t count, uint64_t width, const linear *s);
  double (*inner)(const double *a, const double *b, uint64_t count);
} solver;

#define DEFINE(CPU)                                                                                \
  AMPED_TARGET_##CPU static bool solve_##CPU(const linear *s) {                                    \
    return solve_linear(s);                                                                        \
  }                                                                                                \
  AMPED_TARGET_##CPU static void multiply_##CPU(const double *products, uint64_t count,            \
                                                uint64_t width, const linear *s) {                 \
    multiply_rows(products, count, width, s);                                                      \
  }                                                                                                \
  AMPED_TARGET_##CPU static double inner_##CPU(const double *a, const double *b, uint64_t count) { \
    return inner_product(a, b, count);                                                             \
  }
AMPED_CPU_DISPATCH(DEFINE)

static solver find_solver(void) {
#define ROW(CPU)                                                                                   \
  {.here = AMPED_HAS_##CPU,                                                                        \
   .solver = {.solve = solve_##CPU, .multiply = multiply_##CPU, .inner = inner_##CPU}},
  const struct {
    bool here;
    solver solver;
  } rows[] = {AMPED_CPU_DISPATCH(ROW)};
  size_t i = 0;
  while (!rows[i].here)
    i++;
  return rows[i].solver;
}

/* --- primal ------------------------------------------------------------------------------------*/

/* Build the linear system of the equations and the penalty. */
static linear primal_system(const amped_row_equations *e, const amped_row_penalty *p,
                            double *work) {
  const uint64_t comps = p->components;
  const linear s = linear_in(work, comps + (p->biased ? 1 : 0));
  memset(s.m, 0, s.n * s.ld * sizeof *s.m);
  for (uint64_t i = 0; i < comps; i++) {
    double *row = s.m + i * s.ld;
    memcpy(row + i, e->products + i * e->width + i, (comps - i) * sizeof *row);
    for (uint64_t c = i; c < comps && p->base != NULL; c++)
      row[c] += p->base[i * comps + c];
    row[i] += p->weight;
    if (p->biased)
      row[comps] = e->sum[i];
    row[s.n] = e->targets[i] + p->weight * p->prior;
  }
  if (p->biased) {
    s.m[comps * s.ld + comps] = e->count + p->reg_bias;
    s.m[comps * s.ld + s.n] = e->target;
  }
  for (uint64_t i = 0; i < s.n; i++)
    s.least[i] = (double)s.n * DBL_EPSILON * s.m[i * s.ld + i];
  return s;
}

static void take_solution(const linear *s, const amped_row_penalty *p, double *row) {
  memcpy(row, s->x, s->n * sizeof *row);
  if (!p->biased)
    row[p->components] = 0.0;
}

bool amped_row_solve_primal(const amped_row_equations *e, const amped_row_penalty *p, double *work,
                            double *row) {
  const linear s = primal_system(e, p, work);
  if (!find_solver().solve(&s))
    return false;
  take_solution(&s, p, row);
  return true;
}

/* --- dual --------------------------------------------------------------------------------------*/

bool amped_row_has_dual(const amped_row_penalty *p, double count) {
  return count < (double)p->components && p->base == NULL &&
         (!p->biased || (p->weight > 0.0 && p->weight <= MOST_BIAS_RATIO * p->reg_bias));
}

bool amped_row_solve_dual(const double *products, const double *targets, const double *roots,
                          uint64_t count, uint64_t width, const amped_row_penalty *p, double *work,
                          double *row) {
  const solver by = find_solver();
  const linear s = linear_in(work, count);
  const double bias = p->biased ? p->weight / p->reg_bias : 0.0;
  const double prior = p->weight > 0.0 ? p->prior : 0.0;
  memset(s.m, 0, s.n * s.ld * sizeof *s.m);
  by.multiply(products, count, width, &s);
  for (uint64_t k = 0; k < count; k++) {
    double *at = s.m + k * s.ld;
    double sum = 0.0;
    for (uint64_t c = 0; c < p->components && prior != 0.0; c++)
      sum += products[k * width + c];
    for (uint64_t j = k; j < count && bias != 0.0; j++)
      at[j] += roots != NULL ? bias * roots[k] * roots[j] : bias;
    at[k] += p->weight;
    at[count] = targets[k] - prior * sum;
    s.least[k] = (double)(count > p->components ? count : p->components) * DBL_EPSILON * at[k];
  }
  if (!by.solve(&s))
    return false;
  double sum = 0.0;
  for (uint64_t c = 0; c < p->components; c++)
    row[c] = prior;
  for (uint64_t k = 0; k < count; k++) {
    for (uint64_t c = 0; c < p->components; c++)
      row[c] += s.x[k] * products[k * width + c];
    sum += roots != NULL ? s.x[k] * roots[k] : s.x[k];
  }
  row[p->components] = bias * sum;
  return true;
}

/* --- singular equations ------------------------------------------------------------------------*/

/* Find rows b_k with sum of b_k b_k^T = the system's matrix, by Cholesky with pivoting. Returns
 * their number, the rank. Overwrites `diagonal`, a workspace. */
static uint64_t split_system(const linear *s, double *b, double *diagonal) {
  double most = 0.0;
  uint64_t rank = 0;
  for (uint64_t i = 0; i < s->n; i++) {
    diagonal[i] = s->m[i * s->ld + i];
    most = diagonal[i] > most ? diagonal[i] : most;
  }
  for (; rank < s->n; rank++) {
    uint64_t pivot = 0;
    for (uint64_t i = 1; i < s->n; i++)
      pivot = diagonal[i] > diagonal[pivot] ? i : pivot;
    if (!(diagonal[pivot] > (double)s->n * DBL_EPSILON * most))
      break;
    double *row = b + rank * s->ld;
    for (uint64_t c = 0; c < s->n; c++)
      row[c] = c < pivot ? s->m[c * s->ld + pivot] : s->m[pivot * s->ld + c];
    for (uint64_t q = 0; q < rank; q++)
      for (uint64_t c = 0; c < s->n; c++)
        row[c] -= b[q * s->ld + pivot] * b[q * s->ld + c];
    const double by = 1.0 / sqrt(diagonal[pivot]);
    for (uint64_t c = 0; c < s->n; c++) {
      row[c] *= by;
      diagonal[c] -= row[c] * row[c];
    }
    diagonal[pivot] = 0.0;
  }
  return rank;
}

/* s->x = (B B^T)^-1 right, where B has `rank` rows. */
static bool solve_rows(const linear *s, const double *b, uint64_t rank, const double *right) {
  linear small = *s;
  small.n = rank;
  for (uint64_t i = 0; i < rank; i++) {
    double *row = small.m + i * s->ld;
    memset(row, 0, s->ld * sizeof *row);
    for (uint64_t j = i; j < rank; j++)
      for (uint64_t c = 0; c < s->n; c++)
        row[j] += b[i * s->ld + c] * b[j * s->ld + c];
    row[rank] = right[i];
    small.least[i] = 0.0;
  }
  return rank == 0 || find_solver().solve(&small);
}

/* If M = B^T B, its pseudoinverse is B^T (B B^T)^-2 B. */
void amped_row_solve_least(const amped_row_equations *e, const amped_row_penalty *p, double *work,
                           double *row) {
  const linear s = primal_system(e, p, work);
  const double prior = p->weight > 0.0 ? p->prior : 0.0;
  double *b = s.rest;
  double *right = b + s.n * s.ld;
  for (uint64_t i = 0; i < s.n; i++) { /* right side for row - prior */
    right[i] = s.m[i * s.ld + s.n];
    for (uint64_t c = 0; c < p->components; c++)
      right[i] -= prior * (c < i ? s.m[c * s.ld + i] : s.m[i * s.ld + c]);
  }
  const uint64_t rank = split_system(&s, b, s.x);
  for (uint64_t k = 0; k < rank; k++) {
    s.least[k] = 0.0;
    for (uint64_t c = 0; c < s.n; c++)
      s.least[k] += b[k * s.ld + c] * right[c];
  }
  memcpy(right, s.least, rank * sizeof *right);
  bool solved = solve_rows(&s, b, rank, right);
  memcpy(right, s.x, rank * sizeof *right);
  solved = solved && solve_rows(&s, b, rank, right);
  for (uint64_t c = 0; c < s.n; c++) {
    row[c] = c < p->components ? prior : 0.0;
    for (uint64_t k = 0; k < rank && solved; k++)
      row[c] += s.x[k] * b[k * s.ld + c];
  }
  if (!p->biased)
    row[p->components] = 0.0;
}

/* --- nonnegative -------------------------------------------------------------------------------*/

/* Largest residual of the optimality conditions, in units in which the diagonal is 1. gradient:
 * half the gradient of the objective. */
static double residual_of(const linear *s, uint64_t comps, const double *gradient) {
  double most = 0.0;
  for (uint64_t i = 0; i < s->n; i++) {
    const double diagonal = s->m[i * s->ld + i];
    const bool held = i < comps && s->x[i] <= 0.0 && gradient[i] > 0.0;
    const double off = held || !(diagonal > 0.0) ? 0.0 : fabs(gradient[i]) / sqrt(diagonal);
    most = off > most ? off : most;
  }
  return most;
}

void amped_row_solve_nonnegative(const amped_row_equations *e, const amped_row_penalty *p,
                                 double *work, double *row) {
  const linear s = primal_system(e, p, work);
  double *gradient = s.rest;
  double most = 0.0; /* largest entry of the right side, in the units of residual_of */
  for (uint64_t i = 0; i < s.n; i++) {
    const double old = row[i];
    s.x[i] = i < p->components && !(old > 0.0) ? 0.0 : old;
    for (uint64_t c = 0; c < i; c++)
      s.m[i * s.ld + c] = s.m[c * s.ld + i];
  }
  for (uint64_t i = 0; i < s.n; i++) {
    const double *m = s.m + i * s.ld;
    const double off = m[i] > 0.0 ? fabs(m[s.n]) / sqrt(m[i]) : 0.0;
    most = off > most ? off : most;
    gradient[i] = -m[s.n];
    for (uint64_t c = 0; c < s.n; c++)
      gradient[i] += m[c] * s.x[c];
  }
  for (int pass = 0; pass == 0 || (pass < MOST_PASSES &&
                                   residual_of(&s, p->components, gradient) > ENOUGH * most);
       pass++)
    for (uint64_t i = 0; i < s.n; i++) {
      const double *m = s.m + i * s.ld;
      if (!(m[i] > 0.0))
        continue;
      double x = s.x[i] - gradient[i] / m[i];
      x = i < p->components && !(x > 0.0) ? 0.0 : x;
      const double change = x - s.x[i];
      s.x[i] = x;
      for (uint64_t c = 0; c < s.n && change != 0.0; c++)
        gradient[c] += change * m[c];
    }
  take_solution(&s, p, row);
}

/* --- errors ------------------------------------------------------------------------------------*/

double amped_row_squares(const amped_row_equations *e, const amped_row_penalty *p,
                         const double *row) {
  const solver by = find_solver();
  const uint64_t comps = p->components;
  double sum = e->squares;
  for (uint64_t i = 0; i < comps; i++) {
    const double *matrices[] = {e->products + i * e->width + i,
                                p->base != NULL ? p->base + i * comps + i : NULL};
    double product = -e->targets[i];
    for (int k = 0; k < 2 && matrices[k] != NULL; k++)
      product +=
          0.5 * matrices[k][0] * row[i] + by.inner(matrices[k] + 1, row + i + 1, comps - i - 1);
    sum += 2.0 * row[i] * product;
  }
  if (p->biased) {
    const double bias = row[comps];
    for (uint64_t i = 0; i < comps; i++)
      sum += 2.0 * bias * e->sum[i] * row[i];
    sum += bias * (bias * e->count - 2.0 * e->target);
  }
  return isnan(sum) ? (double)INFINITY : sum < 0.0 ? 0.0 : sum;
}

double amped_row_squares_of(const double *products, const double *targets, const double *roots,
                            uint64_t count, uint64_t width, const amped_row_penalty *p,
                            const double *row) {
  const solver by = find_solver();
  double sum = 0.0;
  for (uint64_t k = 0; k < count; k++) {
    const double bias = p->biased ? row[p->components] : 0.0;
    double off = targets[k] - (roots != NULL ? bias * roots[k] : bias);
    off -= by.inner(products + k * width, row, p->components);
    sum += off * off;
  }
  return isnan(sum) ? (double)INFINITY : sum;
}
