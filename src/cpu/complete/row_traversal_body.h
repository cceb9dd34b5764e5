/* Body of row_traversal_cpu.c for elements of type VALUE in vectors of type VECTOR. LOOSE is the
 * unaligned vector type, MASK the integer vector of comparisons. STEP(x) is the function name for
 * these types; STEP(total) and STEP(totals) must exist. No include guard. */

#define LANES ((int)(sizeof(VECTOR) / sizeof(VALUE)))
#define NUMBER(numbers, which) ((numbers)[AMPED_STEP_##which * AMPED_STEPS])

AMPED_INLINE void STEP(clip)(VECTOR *x, VALUE least) {
  const VECTOR floor = least - (VECTOR){0};
  const MASK above = (MASK)(*x > floor);
  *x = (VECTOR)(((MASK)*x & above) | ((MASK)floor & ~above));
}

/* Update the bias and its sum. Returns the gain s. */
AMPED_INLINE VALUE STEP(gain)(const VALUE *n, VALUE product, VALUE *bias) {
  const VALUE error =
      NUMBER(n, TARGET) - NUMBER(n, KEEP) * product - NUMBER(n, KEEP_BIAS) * bias[0];
  bias[0] = NUMBER(n, KEEP_BIAS) * bias[0] + NUMBER(n, GAIN_BIAS) * error;
  bias[1] += NUMBER(n, TAIL) * bias[0];
  return NUMBER(n, GAIN) * error;
}

/* Traverse rows of `vectors` vectors, kept in registers. walkers, vectors and clip are compile-time
 * constants of the caller. */
AMPED_INLINE void STEP(traverse_short)(amped_walker *w, int walkers, int vectors, uint64_t count,
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
        row[i][v] = NUMBER(n[i], KEEP) * row[i][v] + s * ((const LOOSE *)p[i])[v];
        if (clip)
          STEP(clip)(&row[i][v], least);
        sum[i][v] += NUMBER(n[i], TAIL) * row[i][v];
      }
      p[i] += vectors * LANES;
      n[i]++;
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

/* Traverse rows of any number of vectors, kept in memory. */
AMPED_INLINE void STEP(traverse_long)(amped_walker *w, int walkers, uint64_t count, uint64_t width,
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
        VECTOR x = NUMBER(n, KEEP) * row[v] + s * p[v];
        if (clip)
          STEP(clip)(&x, least);
        row[v] = x;
        sum[v] += NUMBER(n, TAIL) * x;
      }
      w[i].products = (const VALUE *)w[i].products + width;
      w[i].numbers = n + 1;
    }
}

AMPED_INLINE void STEP(traverse_any)(amped_walker *w, int walkers, uint64_t count, uint64_t width,
                                     bool clip, VALUE least) {
  if (width == (uint64_t)LANES)
    STEP(traverse_short)(w, walkers, 1, count, clip, least);
  else if (width == 2 * (uint64_t)LANES)
    STEP(traverse_short)(w, walkers, 2, count, clip, least);
  else if (width == 4 * (uint64_t)LANES)
    STEP(traverse_short)(w, walkers, 4, count, clip, least);
  else
    STEP(traverse_long)(w, walkers, count, width, clip, least);
}

AMPED_INLINE void STEP(traversal)(amped_walker *w, int walkers, uint64_t count, uint64_t width,
                                  bool clip, double least) {
  if (walkers == AMPED_WALKERS && !clip)
    STEP(traverse_any)(w, AMPED_WALKERS, count, width, false, 0);
  else
    for (int i = 0; i < walkers; i++)
      STEP(traverse_any)(w + i, 1, count, width, clip, (VALUE)least);
}

/* *square = |p|^2, lane by lane; with_sums: *sum = p, lane by lane. */
AMPED_INLINE void STEP(measure_row)(const VALUE *products, uint64_t vectors, bool with_sums,
                                    VECTOR *square, VECTOR *sum) {
  const LOOSE *p = (const LOOSE *)products;
  *square = *sum = (VECTOR){0};
#pragma GCC unroll 4
  for (uint64_t v = 0; v < vectors; v++) {
    *square += p[v] * p[v];
    if (with_sums)
      *sum += p[v];
  }
}

/* squares[k] = |p|^2; with_sums: sums[k] = sum of p. with_sums is a compile-time constant of the
 * caller; so is vectors, except for long rows. */
AMPED_INLINE void STEP(measure_rows)(const VALUE *products, uint64_t count, uint64_t vectors,
                                     bool with_sums, VALUE *squares, VALUE *sums) {
  const uint64_t width = vectors * (uint64_t)LANES;
  uint64_t k = 0;
  VECTOR square[4];
  VECTOR sum[4];
  for (; k + 4 <= count; k += 4) {
#pragma GCC unroll 4
    for (uint64_t i = 0; i < 4; i++)
      STEP(measure_row)(products + (k + i) * width, vectors, with_sums, &square[i], &sum[i]);
    STEP(totals)(square, squares + k);
    if (with_sums)
      STEP(totals)(sum, sums + k);
  }
  for (; k < count; k++) {
    STEP(measure_row)(products + k * width, vectors, with_sums, square, sum);
    squares[k] = STEP(total)(square);
    if (with_sums)
      sums[k] = STEP(total)(sum);
  }
}

AMPED_INLINE void STEP(measure)(const VALUE *products, uint64_t count, uint64_t width,
                                bool with_sums, VALUE *squares, VALUE *sums) {
  if (width == 2 * (uint64_t)LANES)
    STEP(measure_rows)(products, count, 2, with_sums, squares, sums);
  else if (width == 4 * (uint64_t)LANES)
    STEP(measure_rows)(products, count, 4, with_sums, squares, sums);
  else
    STEP(measure_rows)(products, count, width / (uint64_t)LANES, with_sums, squares, sums);
}

/* total[k] = *sum + squares[0] + ... + squares[k]; then *sum = total[AMPED_STEPS - 1]. Only every
 * fourth addition depends on the one before. */
AMPED_INLINE void STEP(add_up)(const VALUE *squares, double *total, double *sum) {
  for (int k = 0; k < AMPED_STEPS; k += 4) {
    double part = 0.0;
    for (int i = k; i < k + 4; i++) {
      part += (double)squares[i];
      total[i] = *sum + part;
    }
    *sum = total[k + 3];
  }
}

/* All loops have a constant length, so that the compiler vectorises them. */
AMPED_INLINE void STEP(numbers)(const amped_step_rule *rule, const VALUE *products,
                                const VALUE *targets, uint64_t count, uint64_t width, uint64_t tail,
                                uint64_t *seen, double *curvatures, VALUE *restrict numbers) {
  VALUE squares[AMPED_STEPS] = {0};
  VALUE sums[AMPED_STEPS] = {0};
  double total[AMPED_STEPS];
  VALUE steps[AMPED_STEPS];
  const double bias = rule->biased ? 1.0 : 0.0;
  const VALUE per_row = (VALUE)rule->per_row;
  const VALUE per_bias = (VALUE)rule->per_bias;
  const VALUE one = (VALUE)bias;
  if (rule->prior != 0.0)
    STEP(measure)(products, count, width, true, squares, sums);
  else
    STEP(measure)(products, count, width, false, squares, sums);
  double sum = *curvatures;
  STEP(add_up)(squares, total, &sum);
  *curvatures = sum;
  for (int k = 0; k < AMPED_STEPS; k++)
    total[k] += bias * ((double)*seen + k + 1);
  for (int k = 0; k < AMPED_STEPS; k++)
    steps[k] = (VALUE)(rule->step * ((double)*seen + k + 1) / total[k]);
  for (int k = 0; k < AMPED_STEPS && !(total[0] > 0.0 && sum <= DBL_MAX); k++)
    steps[k] = total[k] > 0.0 && total[k] <= DBL_MAX ? steps[k] : 0;
  for (int k = 0; k < AMPED_STEPS; k++) {
    const VALUE e = steps[k];
    const VALUE keep = 1 / (1 + e * per_row);
    const VALUE keep_bias = 1 / (1 + e * per_bias);
    const VALUE gain = e / (1 + e * keep * squares[k] + e * keep_bias * one);
    NUMBER(numbers + k, TARGET) = targets[k] - (VALUE)rule->prior * sums[k];
    NUMBER(numbers + k, KEEP) = keep;
    NUMBER(numbers + k, GAIN) = gain * keep;
    NUMBER(numbers + k, KEEP_BIAS) = keep_bias;
    NUMBER(numbers + k, GAIN_BIAS) = gain * keep_bias * one;
    NUMBER(numbers + k, TAIL) = (uint64_t)k >= tail ? 1 : 0;
  }
  *seen += count;
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
#undef NUMBER
