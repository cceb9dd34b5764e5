/* Body of ratio_bundle.c for one VALUE type; no include guard. NAME(x) is the function name, and
 * LANES the partial sums of a dot product: 64 bytes, of which a quarter divides every row. */

/* Prefetch the rows of the nonzero AHEAD places after j. */
AMPED_INLINE void NAME(fetch)(const amped_strip *strip, const amped_bundle *b,
                              const amped_bundle *ahead, int j) {
  const amped_bundle *from = j + AHEAD < AMPED_BUNDLE ? b : ahead;
  const int at = (j + AHEAD) % AMPED_BUNDLE;
  for (int i = 0; i < strip->inputs; i++)
    if (strip->fetch[i])
      for (size_t byte = 0; byte < strip->ld * sizeof(VALUE); byte += 64)
        __builtin_prefetch((const char *)from->rows[i][at] + byte);
}

/* Sum over `width` columns of own times the nonzero's rows; width is a compile-time constant. */
AMPED_INLINE void NAME(add)(const amped_bundle *b, int inputs, int all, int j, uint64_t c0,
                            int width, const VALUE *own, VALUE *restrict sums) {
  const VALUE *a = (const VALUE *)b->rows[0][j] + c0;
  VALUE product[LANES];
  for (int c = 0; c < width; c++)
    product[c] = own[c0 + (uint64_t)c] * a[c];
  for (int i = 1; i < (inputs > 0 ? inputs : all); i++) {
    a = (const VALUE *)b->rows[i][j] + c0;
    for (int c = 0; c < width; c++)
      product[c] *= a[c];
  }
  for (int c = 0; c < width; c++)
    sums[c] += product[c];
}

/* The model's value at nonzero j. */
AMPED_INLINE VALUE NAME(model)(const amped_bundle *b, int inputs, const amped_strip *strip, int j,
                               const VALUE *own) {
  VALUE sums[LANES];
  uint64_t c0 = 0;
  for (int c = 0; c < LANES; c++)
    sums[c] = 0;
  for (; c0 + LANES <= strip->ld; c0 += LANES)
    NAME(add)(b, inputs, strip->inputs, j, c0, LANES, own, sums);
  for (; c0 < strip->ld; c0 += LANES / 4)
    NAME(add)(b, inputs, strip->inputs, j, c0, LANES / 4, own, sums);
  for (int half = LANES / 2; half > 0; half /= 2)
    for (int c = 0; c < half; c++)
      sums[c] += sums[c + half];
  return sums[0];
}

/* Set the strip's row to that of an entry of the row list, times the weights. */
AMPED_INLINE void NAME(take_row)(amped_ratio_strip *s, const amped_strip *strip, uint64_t entry) {
  const amped_ratio_cpu *r = s->ratio;
  const uint64_t row = strip->index_type == AMPED_U32 ? ((const uint32_t *)strip->row_list)[entry]
                                                      : ((const uint64_t *)strip->row_list)[entry];
  const VALUE *from =
      (const VALUE *)r->rows + amped_plan_row_position(r->plan, r->mode, row) * strip->ld;
  VALUE *const own = (VALUE *)s->row;
  if (s->has_row && s->entry == entry)
    return;
  for (uint64_t c = 0; c < strip->ld; c++)
    own[c] = from[c] * ((const VALUE *)r->weights)[c];
  s->entry = entry;
  s->has_row = true;
}

/* Add the sums of nonzero x with the model's value m. */
AMPED_INLINE void NAME(add_sums)(amped_ratio_sums *sums, double x, double m) {
  sums->values += x;
  sums->negative += x < 0.0;
  sums->fractions += x != floor(x);
  if (x > 0.0)
    sums->logs += x * log(x / m);
}

AMPED_INLINE void NAME(ratios)(amped_ratio_strip *s, const amped_strip *strip, amped_bundle *b,
                               const amped_bundle *ahead, int inputs) {
  const VALUE *values = b->values;
  VALUE *const out = (VALUE *)s->ratios;
  const VALUE least = (VALUE)s->ratio->least;
  uint64_t entry = strip->entry;
  NAME(take_row)(s, strip, entry);
  for (int j = 0; j < b->count; j++) {
    if (j > 0 && (b->begins >> j & 1) != 0)
      NAME(take_row)(s, strip, ++entry);
    if (strip->fetches > 0)
      NAME(fetch)(strip, b, ahead, j);
    VALUE m = NAME(model)(b, inputs, strip, j, (const VALUE *)s->row);
    m = m < least ? least : m;
    out[j] = values[b->codes[j]] / m;
    if (s->ratio->sums != NULL)
      NAME(add_sums)(&s->sums, (double)values[b->codes[j]], (double)m);
  }
  b->values = out;
  b->codes = in_order;
}
