/* The body of row_walk_cpu.c for elements of type VALUE in vectors of type VECTOR, LOOSE where they
 * lie in memory, of integers MASK where they are compared. STEP(x) is of these; STEP(total) is
 * there. No include guard. */

#define LANES ((int)(sizeof(VECTOR) / sizeof(VALUE)))

AMPED_INLINE void STEP(clip)(VECTOR *x, VALUE least) {
  const VECTOR floor = least - (VECTOR){0};
  const MASK above = (MASK)(*x > floor);
  *x = (VECTOR)(((MASK)*x & above) | ((MASK)floor & ~above));
}

/* The new bias, and s. */
AMPED_INLINE VALUE STEP(gain)(const VALUE *n, VALUE product, VALUE *bias) {
  const VALUE error =
      n[AMPED_STEP_TARGET] - n[AMPED_STEP_KEEP] * product - n[AMPED_STEP_KEEP_BIAS] * bias[0];
  bias[0] = n[AMPED_STEP_KEEP_BIAS] * bias[0] + n[AMPED_STEP_GAIN_BIAS] * error;
  bias[1] += n[AMPED_STEP_TAIL] * bias[0];
  return n[AMPED_STEP_GAIN] * error;
}

/* Rows of `vectors` vectors, in registers. walkers, vectors and clip are constants of the caller. */
AMPED_INLINE void STEP(walk_short)(amped_walker *w, int walkers, int vectors, uint64_t count,
                                   bool clip, VALUE least) {
  VECTOR row[AMPED_WALKERS][4];
  VECTOR sum[AMPED_WALKERS][4];
  VALUE bias[AMPED_WALKERS][2];
  const VALUE *p[AMPED_WALKERS];
  const VALUE *n[AMPED_WALKERS];
#pragma GCC unroll 4
  for (int i = 0; i < walkers; i++) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) {
      row[i][v] = ((const LOOSE *)w[i].row)[v];
      sum[i][v] = ((const LOOSE *)w[i].sum)[v];
    }
    bias[i][0] = ((const VALUE *)w[i].bias)[0];
    bias[i][1] = ((const VALUE *)w[i].bias)[1];
    p[i] = w[i].products;
    n[i] = w[i].numbers;
  }
  for (uint64_t k = 0; k < count; k++) {
    VECTOR product[AMPED_WALKERS];
#pragma GCC unroll 4
    for (int i = 0; i < walkers; i++) {
      product[i] = row[i][0] * ((const LOOSE *)p[i])[0];
#pragma GCC unroll 4
      for (int v = 1; v < vectors; v++)
        product[i] += row[i][v] * ((const LOOSE *)p[i])[v];
    }
#pragma GCC unroll 4
    for (int i = 0; i < walkers; i++) {
      const VALUE s = STEP(gain)(n[i], STEP(total)(&product[i]), bias[i]);
#pragma GCC unroll 4
      for (int v = 0; v < vectors; v++) {
        row[i][v] = n[i][AMPED_STEP_KEEP] * row[i][v] + s * ((const LOOSE *)p[i])[v];
        if (clip)
          STEP(clip)(&row[i][v], least);
        sum[i][v] += n[i][AMPED_STEP_TAIL] * row[i][v];
      }
      p[i] += vectors * LANES;
      n[i] += AMPED_STEP_NUMBERS;
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < walkers; i++) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) {
      ((LOOSE *)w[i].row)[v] = row[i][v];
      ((LOOSE *)w[i].sum)[v] = sum[i][v];
    }
    ((VALUE *)w[i].bias)[0] = bias[i][0];
    ((VALUE *)w[i].bias)[1] = bias[i][1];
    w[i].products = p[i];
    w[i].numbers = n[i];
  }
}

/* Rows of any number of vectors, in memory. */
AMPED_INLINE void STEP(walk_long)(amped_walker *w, int walkers, uint64_t count, uint64_t width,
                                  bool clip, VALUE least) {
  const uint64_t vectors = width / (uint64_t)LANES;
  for (uint64_t k = 0; k < count; k++)
    for (int i = 0; i < walkers; i++) {
      const LOOSE *p = w[i].products;
      const VALUE *n = w[i].numbers;
      LOOSE *row = w[i].row;
      LOOSE *sum = w[i].sum;
      VECTOR even = {0};
      VECTOR odd = {0};
      for (uint64_t v = 0; v + 1 < vectors; v += 2) {
        even += row[v] * p[v];
        odd += row[v + 1] * p[v + 1];
      }
      if (vectors % 2 > 0)
        even += row[vectors - 1] * p[vectors - 1];
      even += odd;
      const VALUE s = STEP(gain)(n, STEP(total)(&even), w[i].bias);
      for (uint64_t v = 0; v < vectors; v++) {
        VECTOR x = n[AMPED_STEP_KEEP] * row[v] + s * p[v];
        if (clip)
          STEP(clip)(&x, least);
        row[v] = x;
        sum[v] += n[AMPED_STEP_TAIL] * x;
      }
      w[i].products = (const VALUE *)w[i].products + width;
      w[i].numbers = n + AMPED_STEP_NUMBERS;
    }
}

AMPED_INLINE void STEP(walk_any)(amped_walker *w, int walkers, uint64_t count, uint64_t width,
                                 bool clip, VALUE least) {
  if (width == (uint64_t)LANES)
    STEP(walk_short)(w, walkers, 1, count, clip, least);
  else if (width == 2 * (uint64_t)LANES)
    STEP(walk_short)(w, walkers, 2, count, clip, least);
  else if (width == 4 * (uint64_t)LANES)
    STEP(walk_short)(w, walkers, 4, count, clip, least);
  else
    STEP(walk_long)(w, walkers, count, width, clip, least);
}

AMPED_INLINE void STEP(walk)(amped_walker *w, int walkers, uint64_t count, uint64_t width,
                             bool clip, double least) {
  if (walkers == AMPED_WALKERS && !clip)
    STEP(walk_any)(w, AMPED_WALKERS, count, width, false, 0);
  else
    for (int i = 0; i < walkers; i++)
      STEP(walk_any)(w + i, 1, count, width, clip, (VALUE)least);
}

AMPED_INLINE void STEP(measure)(const VALUE *products, uint64_t count, uint64_t width,
                                double *squares, double *sums) {
  const uint64_t vectors = width / (uint64_t)LANES;
  for (uint64_t k = 0; k < count; k++) {
    const LOOSE *p = (const LOOSE *)(products + k * width);
    VECTOR square = {0};
    VECTOR sum = {0};
    for (uint64_t v = 0; v < vectors; v++) {
      square += p[v] * p[v];
      sum += p[v];
    }
    squares[k] = (double)STEP(total)(&square);
    sums[k] = (double)STEP(total)(&sum);
  }
}

AMPED_INLINE double STEP(errors)(const VALUE *products, const VALUE *targets, uint64_t count,
                                 uint64_t width, const VALUE *row, double bias) {
  const uint64_t vectors = width / (uint64_t)LANES;
  const LOOSE *a = (const LOOSE *)row;
  double squares = 0.0;
  for (uint64_t k = 0; k < count; k++) {
    const LOOSE *p = (const LOOSE *)(products + k * width);
    VECTOR sum = {0};
    for (uint64_t v = 0; v < vectors; v++)
      sum += p[v] * a[v];
    const double error = (double)targets[k] - (double)STEP(total)(&sum) - bias;
    squares += error * error;
  }
  return squares;
}

#undef LANES
