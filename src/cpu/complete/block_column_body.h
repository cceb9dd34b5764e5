/* Second body of block_targets_cpu.c: a block of one column, for targets of type VALUE in vectors
 * of type VECTOR. LOOSE is the unaligned vector type. A row of columns is a LOOSE_ROW of four
 * values: now, bias, before, start. JOIN(at, j) makes one vector of the rows at(j), at(j + 4), ...
 * LOW, HIGH, EVEN and ODD pick from two vectors within quarters of four, as in a transposition;
 * SECOND takes the second value of each quarter from its second vector. INTEGERS is an integer
 * vector as long as VECTOR; LANE_BITS has one bit per lane. Functions are compiled for TARGET.
 * NAME(x) is the function name for these types. No include guard.
 *
 * inputs, biased and is_short are compile-time constants of most callers. */

#define LANES ((int)(sizeof(VECTOR) / sizeof(VALUE)))

/* Multiply rows: all values are multiplied, except the biases, which are added. */
AMPED_INLINE TARGET void NAME(multiply)(bool biased, const VECTOR *x, VECTOR *product) {
  const VECTOR sum = *product + *x;
  *product *= *x;
  if (biased)
    *product = SECOND(*product, sum);
}

/* Products of the input rows of nonzeros j, j + 4, ... */
AMPED_INLINE TARGET void NAME(rows)(const column_places *c, int inputs, bool biased, bool is_short,
                                    int j, VECTOR *out) {
#define ROW_AT(j) (*(const LOOSE_ROW *)place_of(c, is_short, i, j))
  int i = 0;
  *out = JOIN(ROW_AT, j);
  for (i = 1; i < inputs; i++) {
    const VECTOR x = JOIN(ROW_AT, j);
    NAME(multiply)(biased, &x, out);
  }
#undef ROW_AT
}

/* Update the targets of LANES nonzeros from j on. Bits j, j + 1, ... of `take` select the nonzeros
 * that are added to the sums. */
AMPED_INLINE TARGET void NAME(group)(VALUE before, VALUE start, const column_places *c, int inputs,
                                     bool biased, bool is_short, int j, uint64_t take, LOOSE *place,
                                     NAME(sums) * s) {
  VECTOR r[4];
  for (int q = 0; q < 4; q++)
    NAME(rows)(c, inputs, biased, is_short, j + q, &r[q]);
  const VECTOR low01 = LOW(r[0], r[1]);
  const VECTOR low23 = LOW(r[2], r[3]);
  const VECTOR high01 = HIGH(r[0], r[1]);
  const VECTOR high23 = HIGH(r[2], r[3]);
  VECTOR t = *place;
  t += start * ODD(high01, high23);
  t -= before * EVEN(high01, high23);
  *place = t;
  if (biased)
    t -= ODD(low01, low23);
  const INTEGERS on = (((INTEGERS){0} + (INTEGER)(take >> j)) & LANE_BITS) == LANE_BITS;
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

/* Update the targets and add up the sums of nonzeros lo .. hi only, because other threads may
 * update the other targets. */
AMPED_INLINE TARGET void NAME(part)(VALUE before, VALUE start, const column_places *c, int inputs,
                                    bool biased, bool is_short, int j, int lo, int hi,
                                    uint64_t take, VALUE *kept, NAME(sums) * s) {
  VALUE lanes[LANES] = {0};
  VECTOR t;
  for (int q = lo; q < hi; q++)
    lanes[q - j] = kept[q];
  memcpy(&t, lanes, sizeof t);
  NAME(group)(before, start, c, inputs, biased, is_short, j, take, (LOOSE *)&t, s);
  memcpy(lanes, &t, sizeof t);
  for (int q = lo; q < hi; q++)
    kept[q] = lanes[q - j];
}

AMPED_INLINE TARGET void NAME(carry)(VECTOR *v, double *to) {
  VALUE lanes[LANES];
  memcpy(lanes, v, sizeof lanes);
  for (int q = 0; q < LANES; q++)
    to[q] += (double)lanes[q];
  *v = (VECTOR){0};
}

/* Update the targets of nonzeros first .. end, all of one row, and add up its equations. */
AMPED_INLINE TARGET void NAME(column)(const column_work *w, int inputs, bool biased, bool is_short,
                                      uint64_t first, uint64_t end, column_sums *e) {
  NAME(sums) s = {{0}, {0}, {0}, {0}, {0}};
  const VALUE before = (VALUE)w->before; /* local copies stay in registers: stores to kept may alias
                                            w */
  const VALUE start = (VALUE)w->start;
  const uint64_t *held = w->held;
  uint64_t count = 0;
  column_places c;
  c.bases = w->fields->rows;
  for (uint64_t k = first; k < end; k = (k / AMPED_BUNDLE + 1) * AMPED_BUNDLE) {
    const uint64_t bundle = k / AMPED_BUNDLE * AMPED_BUNDLE;
    const uint64_t take = amped_row_taken(held, k, end);
    const int lo = (int)(k - bundle);
    const int hi = end_in(k, end);
    VALUE *kept = (VALUE *)w->kept + bundle;
    int j = (int)(k % AMPED_BUNDLE / LANES * LANES);
    count += (uint64_t)__builtin_popcountll(take);
    find_places(w, &c, inputs, is_short, sizeof(VALUE), bundle, lo, hi);
    if (j < lo) {
      NAME(part)
      (before, start, &c, inputs, biased, is_short, j, lo, hi < j + LANES ? hi : j + LANES, take,
       kept, &s);
      j += LANES;
    }
    for (; j + LANES <= hi; j += LANES)
      NAME(group)
    (before, start, &c, inputs, biased, is_short, j, take, (LOOSE *)(void *)(kept + j), &s);
    if (j < hi)
      NAME(part)(before, start, &c, inputs, biased, is_short, j, j, hi, take, kept, &s);
    if ((bundle / AMPED_BUNDLE + 1) % CARRIED != 0 && bundle + AMPED_BUNDLE < end)
      continue;
    NAME(carry)(&s.products, e->products);
    NAME(carry)(&s.targets, e->targets);
    NAME(carry)(&s.squares, e->squares);
    if (biased) {
      NAME(carry)(&s.sum, e->sum);
      NAME(carry)(&s.target, e->target);
    }
  }
  e->count += (double)count;
}

/* out = the products of row `a` with each of `count` rows. */
AMPED_INLINE TARGET void NAME(pair)(const void *a, const void *rows, uint64_t count, bool biased,
                                    void *out) {
#define ROW_AT(j) (*(const LOOSE_ROW *)a)
  const uint64_t row = 4 * sizeof(VALUE);
  const VECTOR x = JOIN(ROW_AT, 0);
  uint64_t i = 0;
  for (; i + (uint64_t)LANES / 4 <= count; i += (uint64_t)LANES / 4) {
    VECTOR product = *(const LOOSE *)(const void *)((const char *)rows + i * row);
    NAME(multiply)(biased, &x, &product);
    *(LOOSE *)(void *)((char *)out + i * row) = product;
  }
  for (; i < count; i++) {
    VECTOR product = {0};
    memcpy(&product, (const char *)rows + i * row, row);
    NAME(multiply)(biased, &x, &product);
    memcpy((char *)out + i * row, &product, row);
  }
#undef ROW_AT
}

#undef LANES
