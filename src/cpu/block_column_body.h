/* The second body of block_targets_cpu.c: one column, for targets of type VALUE in vectors of type
 * VECTOR, LOOSE where they lie in memory. A row of columns is a ROW, or a LOOSE_ROW, of four
 * values: now, bias, before, start. JOIN makes one vector of the rows of nonzeros j, j + 4, ...
 * LOW, HIGH, EVEN and ODD pick from two vectors within quarters of four, as in a transposition.
 * INTEGERS are as long as VECTOR; LANE_BITS has one bit in each. NAME(x) is of all these. No
 * include guard.
 */

#define LANES ((int)(sizeof(VECTOR) / sizeof(VALUE)))

/* The rows of nonzero j together: the bias is summed, the others are multiplied. */
AMPED_INLINE void NAME(row)(const amped_bundle *b, int inputs, bool biased, int j, ROW *out) {
  ROW product = *(const LOOSE_ROW *)b->rows[0][j];
  ROW sum = product;
  for (int i = 1; i < inputs; i++) {
    const ROW x = *(const LOOSE_ROW *)b->rows[i][j];
    product *= x;
    sum += x;
  }
  *out = biased ? __builtin_shufflevector(product, sum, 0, 5, 2, 3) : product;
}

AMPED_INLINE void NAME(carry)(const VECTOR *v, double *to) {
  VALUE lanes[LANES];
  memcpy(lanes, v, sizeof lanes);
  for (int q = 0; q < LANES; q++)
    to[q] += (double)lanes[q];
}

/* LANES nonzeros from j on: targets are changed; those of `take` are added to sums. */
AMPED_INLINE void NAME(group)(VALUE before, VALUE start, const amped_bundle *b, int inputs,
                              bool biased, int j, uint64_t take, VALUE *kept, NAME(sums) * s) {
  VECTOR r[4];
  for (int q = 0; q < 4; q++) {
    ROW rows[LANES / 4];
    for (int p = 0; p < LANES / 4; p++)
      NAME(row)(b, inputs, biased, j + 4 * p + q, &rows[p]);
    r[q] = JOIN(rows);
  }
  const VECTOR low01 = LOW(r[0], r[1]);
  const VECTOR low23 = LOW(r[2], r[3]);
  const VECTOR high01 = HIGH(r[0], r[1]);
  const VECTOR high23 = HIGH(r[2], r[3]);
  LOOSE *place = (LOOSE *)(void *)(kept + j);
  VECTOR t = *place;
  t += start * ODD(high01, high23);
  t -= before * EVEN(high01, high23);
  *place = t;
  if (biased)
    t -= ODD(low01, low23);
  const INTEGERS on = (((INTEGERS){0} + (INTEGER)(take >> j)) & LANE_BITS) != 0;
  const VECTOR p = (VECTOR)((INTEGERS)EVEN(low01, low23) & on);
  t = (VECTOR)((INTEGERS)t & on);
  s->products += p * p;
  s->targets += p * t;
  s->squares += t * t;
  if (biased) {
    s->sum += p;
    s->target += t;
  }
}

/* One nonzero. */
AMPED_INLINE void NAME(single)(VALUE before, VALUE start, const amped_bundle *b, int inputs,
                               bool biased, int j, uint64_t take, VALUE *kept, column_sums *e) {
  ROW row;
  VALUE x[4];
  NAME(row)(b, inputs, biased, j, &row);
  memcpy(x, &row, sizeof x);
  kept[j] += start * x[3] - before * x[2];
  if ((take >> j & 1) == 0)
    return;
  const double p = (double)x[0];
  const double t = (double)kept[j] - (biased ? (double)x[1] : 0.0);
  e->products[0] += p * p;
  e->targets[0] += p * t;
  e->squares[0] += t * t;
  e->sum[0] += p;
  e->target[0] += t;
}

/* Nonzeros lo .. hi of the bundle. */
AMPED_INLINE void NAME(column)(const column_work *w, const amped_bundle *b, int inputs, bool biased,
                               int lo, int hi, uint64_t take, VALUE *kept, column_sums *e) {
  NAME(sums) s = {{0}, {0}, {0}, {0}, {0}};
  const VALUE before = (VALUE)w->before; /* registers keep them, as kept is not w */
  const VALUE start = (VALUE)w->start;
  int j = lo;
  for (; j < hi && j % LANES != 0; j++)
    NAME(single)(before, start, b, inputs, biased, j, take, kept, e);
  if (j + LANES <= hi) {
    for (; j + LANES <= hi; j += LANES)
      NAME(group)(before, start, b, inputs, biased, j, take, kept, &s);
    NAME(carry)(&s.products, e->products);
    NAME(carry)(&s.targets, e->targets);
    NAME(carry)(&s.squares, e->squares);
    if (biased) {
      NAME(carry)(&s.sum, e->sum);
      NAME(carry)(&s.target, e->target);
    }
  }
  for (; j < hi; j++)
    NAME(single)(before, start, b, inputs, biased, j, take, kept, e);
}

#undef LANES
