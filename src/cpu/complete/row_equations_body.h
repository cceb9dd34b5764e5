/* Body of row_equations_cpu.c for factors of type FACTOR and products of type VALUE. NAME(x) is the
 * function name for these two types. No include guard. */

/* TILE: columns that are multiplied at a time. PART: the padding of a factor's row, which is a
 * quarter of TILE or, if floats are multiplied in double, half of it. */
#define TILE ((int)(64 / sizeof(VALUE)))
#define PART ((int)(16 / sizeof(FACTOR)))

/* Columns c .. c+n of the product of the input rows of the bundle's nonzero j. inputs and n are
 * compile-time constants of the caller. */
AMPED_INLINE void NAME(columns)(const amped_bundle *b, int inputs, int j, uint64_t c, int n,
                                VALUE *restrict p) {
  const FACTOR *restrict first = (const FACTOR *)b->rows[0][j] + c;
  VALUE x[TILE];
  for (int q = 0; q < n; q++)
    x[q] = (VALUE)first[q];
  for (int i = 1; i < inputs; i++) {
    const FACTOR *restrict next = (const FACTOR *)b->rows[i][j] + c;
    for (int q = 0; q < n; q++)
      x[q] *= (VALUE)next[q];
  }
  for (int q = 0; q < n; q++)
    p[c + (uint64_t)q] = x[q];
}

/* Write one row of products. whole: `components` is a multiple of TILE, and rows of products have
 * no padding. */
AMPED_INLINE void NAME(product)(const amped_row_source *s, const amped_bundle *b, int inputs,
                                bool whole, int j, VALUE *restrict p) {
  uint64_t c = 0;
  if (whole) {
    for (; c < s->components; c += (uint64_t)TILE)
      NAME(columns)(b, inputs, j, c, TILE, p);
    return;
  }
  for (; c + (uint64_t)TILE <= s->ld && c < s->components; c += (uint64_t)TILE)
    NAME(columns)(b, inputs, j, c, TILE, p);
  for (; c < s->components; c += (uint64_t)PART)
    NAME(columns)(b, inputs, j, c, PART, p);
  for (c = s->components; c < s->width; c++) /* clear the product of biases and the padding */
    p[c] = 0;
}

/* inputs, whole and biased are compile-time constants of the caller. */
AMPED_INLINE void NAME(products_of)(const amped_row_source *s, const amped_bundle *b, int inputs,
                                    bool whole, bool biased, uint64_t take,
                                    VALUE *restrict products, VALUE *restrict targets) {
  const FACTOR *values = b->values;
  for (; take != 0; take &= take - 1) {
    const int j = __builtin_ctzll(take);
    double t = ((double)values[b->codes[j]] - s->mean) * s->per_scale;
    for (int i = 0; i < inputs && biased; i++)
      t -= (double)((const FACTOR *)b->rows[i][j])[s->components];
    *targets++ = (VALUE)t;
    NAME(product)(s, b, inputs, whole, j, products);
    products += s->width;
  }
}

AMPED_INLINE void NAME(products)(const amped_row_source *s, const amped_bundle *b, int inputs,
                                 uint64_t take, VALUE *products, VALUE *targets) {
  const bool whole = s->components == s->width;
  if (whole && s->biased)
    NAME(products_of)(s, b, inputs, true, true, take, products, targets);
  else if (whole)
    NAME(products_of)(s, b, inputs, true, false, take, products, targets);
  else
    NAME(products_of)(s, b, inputs, false, s->biased, take, products, targets);
}

#undef TILE
#undef PART
