/* Second body of row_equations_cpu.c, for products of type VALUE in vectors of type VECTOR; LOOSE
 * is the unaligned vector type. SUM(x) is the function name for these types. No include guard. */

#define LANES ((uint64_t)(sizeof(VECTOR) / sizeof(VALUE)))

/* Add the lanes of a vector of sums to doubles. */
AMPED_INLINE void SUM(carry)(const VECTOR *from, double *restrict to) {
  VALUE lanes[LANES];
  memcpy(lanes, from, sizeof lanes);
#pragma GCC unroll 1
  for (uint64_t q = 0; q < LANES; q++)
    to[q] += (double)lanes[q];
}

/* Sum rows i .. i+rows of H in the columns of one vector, from c on. with_targets: also g in these
 * columns. with_sum: also h. The last four arguments but e are compile-time constants of the
 * caller. */
AMPED_INLINE void SUM(tile)(const VALUE *products, const amped_row_terms *terms, uint64_t count,
                            uint64_t i, uint64_t c, int rows, bool with_targets, bool with_sum,
                            bool with_weights, amped_row_equations *e) {
  const VALUE *targets = terms->targets;
  const VALUE *weights = terms->weights;
  VECTOR acc[MOST_ROWS];
  VECTOR sum = {0};
  VECTOR right_side = {0};
#pragma GCC unroll 16
  for (int r = 0; r < rows; r++)
    acc[r] = (VECTOR){0};
  const VALUE *left = products + i;
  const VALUE *right = products + c;
  for (uint64_t k = 0; k < count; k++) {
    const VECTOR plain = *(const LOOSE *)right;
    const VECTOR v = with_weights ? weights[k] * plain : plain;
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
      acc[r] += left[r] * v;
    if (with_sum)
      sum += v;
    if (with_targets)
      right_side += targets[k] * plain;
    left += e->width;
    right += e->width;
  }
#pragma GCC unroll 16
  for (int r = 0; r < rows; r++)
    SUM(carry)(&acc[r], e->products + (i + (uint64_t)r) * e->width + c);
  if (with_sum)
    SUM(carry)(&sum, e->sum + c);
  if (with_targets)
    SUM(carry)(&right_side, e->targets + c);
}

/* Sum tau and w t^2. Several partial sums keep additions independent of each other. */
AMPED_INLINE void SUM(add_targets)(const VALUE *targets, const VALUE *squares, uint64_t count,
                                   bool with_weights, amped_row_equations *e) {
  uint64_t k = 0;
  if (count >= TARGETS) {
    double sums[TARGETS] = {0};
    double of_squares[TARGETS] = {0};
    for (; k + TARGETS <= count; k += TARGETS)
      for (uint64_t q = 0; q < TARGETS; q++) {
        const double t = (double)targets[k + q];
        sums[q] += t;
        of_squares[q] += with_weights ? (double)squares[k + q] : t * t;
      }
    for (uint64_t q = 0; q < TARGETS; q++) {
      e->target += sums[q];
      e->squares += of_squares[q];
    }
  }
  for (; k < count; k++) {
    const double t = (double)targets[k];
    e->target += t;
    e->squares += with_weights ? (double)squares[k] : t * t;
  }
}

AMPED_INLINE void SUM(add)(const VALUE *products, const amped_row_terms *terms, uint64_t count,
                           int rows, bool with_sum, bool with_weights, amped_row_equations *e) {
  for (uint64_t i = 0; i < e->width; i += (uint64_t)rows) {
    uint64_t c = i / LANES * LANES;
    if (c < i) {
      SUM(tile)(products, terms, count, i, c, rows, false, false, with_weights, e);
      c += LANES;
    }
    for (; c < i + (uint64_t)rows; c += LANES)
      SUM(tile)(products, terms, count, i, c, rows, true, with_sum, with_weights, e);
    for (; c < e->width; c += LANES)
      SUM(tile)(products, terms, count, i, c, rows, false, false, with_weights, e);
  }
  SUM(add_targets)(terms->targets, terms->squares, count, with_weights, e);
}

#undef LANES
