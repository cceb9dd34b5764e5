/* The second body of row_equations_cpu.c, for products of type VALUE in vectors of type VECTOR, and
 * LOOSE where they lie in memory. SUM(x) is of these. No include guard. */

#define LANES ((uint64_t)(sizeof(VECTOR) / sizeof(VALUE)))

AMPED_INLINE void SUM(carry)(const VECTOR *from, double *restrict to) {
  for (uint64_t q = 0; q < LANES; q++)
    to[q] += (double)(*from)[q];
}

/* Rows i .. i+rows of H, in the columns of one vector from c on; with_sums: g and h there, too.
 * rows and with_sums are constants of the caller. */
AMPED_INLINE void SUM(tile)(const VALUE *products, const VALUE *targets, uint64_t count, uint64_t i,
                            uint64_t c, int rows, bool with_sums, amped_row_equations *e) {
  VECTOR acc[MOST_ROWS];
  VECTOR sum = {0};
  VECTOR weighted = {0};
#pragma GCC unroll 16
  for (int r = 0; r < rows; r++)
    acc[r] = (VECTOR){0};
  for (uint64_t k = 0; k < count; k++) {
    const VALUE *p = products + k * e->width;
    const VECTOR v = *(const LOOSE *)(p + c);
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
      acc[r] += p[i + (uint64_t)r] * v;
    if (with_sums) {
      sum += v;
      weighted += targets[k] * v;
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < rows; r++)
    SUM(carry)(&acc[r], e->products + (i + (uint64_t)r) * e->width + c);
  if (with_sums) {
    SUM(carry)(&sum, e->sum + c);
    SUM(carry)(&weighted, e->targets + c);
  }
}

AMPED_INLINE void SUM(add)(const VALUE *products, const VALUE *targets, uint64_t count, int rows,
                           amped_row_equations *e) {
  for (uint64_t i = 0; i < e->width; i += (uint64_t)rows) {
    uint64_t c = i / LANES * LANES;
    if (c < i) {
      SUM(tile)(products, targets, count, i, c, rows, false, e);
      c += LANES;
    }
    for (; c < i + (uint64_t)rows; c += LANES)
      SUM(tile)(products, targets, count, i, c, rows, true, e);
    for (; c < e->width; c += LANES)
      SUM(tile)(products, targets, count, i, c, rows, false, e);
  }
  for (uint64_t k = 0; k < count; k++) {
    const double t = (double)targets[k];
    e->target += t;
    e->squares += t * t;
  }
}

#undef LANES
