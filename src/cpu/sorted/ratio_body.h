/* Body of ratio_bundle.c for one VALUE type; no include guard. NAME(x) is the function name. The
 * arguments ld and inputs are constants of an instance; 0: the strip's numbers. */

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

/* The product of own and the nonzero's rows from column c on, as a vector of this type. */
#define PRODUCT(vector)                                                                            \
  vector product =                                                                                 \
      *(const vector *)(own + c) * *(const vector *)((const VALUE *)b->rows[0][j] + c);            \
  for (int i = 1; i < all; i++)                                                                    \
  product *= *(const vector *)((const VALUE *)b->rows[i][j] + c)

/* The model's value at nonzero j. own: the output's row, times the weights. all: inputs, a constant
 * of the instance if there are at most three. */
AMPED_INLINE VALUE NAME(model)(const amped_bundle *b, uint64_t ld, int all, int j,
                               const VALUE *own) {
  const uint64_t wide = sizeof(NAME(wide)) / sizeof(VALUE);
  NAME(wide) sums = {0};
  NAME(narrow) rest = {0};
  uint64_t c = 0;
  for (; c + wide <= ld; c += wide) {
    PRODUCT(NAME(wide));
    sums += product;
  }
  for (; c < ld; c += wide / 2) {
    PRODUCT(NAME(narrow));
    rest += product;
  }
  NAME(narrow) halves[2];
  memcpy(halves, &sums, sizeof sums);
  rest += halves[0] + halves[1];
  VALUE sum = 0;
  for (int k = 0; k < (int)(wide / 4); k++)
    sum += rest[k] + rest[k + (int)(wide / 4)];
  return sum;
}

/* Set the strip's row to the row of an entry of the row list, times the weights. */
AMPED_INLINE void NAME(take_row)(amped_ratio_strip *s, const amped_strip *strip, uint64_t ld,
                                 uint64_t entry) {
  const amped_ratio_cpu *r = s->ratio;
  const uint64_t row = strip->index_type == AMPED_U32 ? ((const uint32_t *)strip->row_list)[entry]
                                                      : ((const uint64_t *)strip->row_list)[entry];
  const uint64_t position =
      row < r->own_rows ? r->own_first + row : amped_plan_row_position(r->plan, r->mode, row);
  const VALUE *restrict from = (const VALUE *)r->rows + position * ld;
  const VALUE *restrict weights = (const VALUE *)r->weights;
  VALUE *restrict own = (VALUE *)s->row;
  for (uint64_t c = 0; c < ld; c++)
    own[c] = from[c] * weights[c];
  s->entry = entry;
  s->has_row = true;
}

/* Add the sums of the bundle's nonzeros x with the model's values m. Whole arrays are summed in
 * lanes, so that loops are vectorised: elements after `count` are 0 and 1. */
AMPED_INLINE void NAME(add_sums)(amped_ratio_sums *sums, int count, const VALUE *x, const VALUE *m,
                                 VALUE least) {
  double v[AMPED_BUNDLE] = {0.0};
  double logs[AMPED_BUNDLE];
  double lanes[4][8] = {{0.0}};
  int low = 0;
  for (int j = 0; j < AMPED_BUNDLE; j++)
    logs[j] = 1.0;
  for (int j = 0; j < count; j++) {
    const double above = x[j] > 0 ? (double)x[j] : 1.0;
    v[j] = (double)x[j];
    logs[j] = above / (double)m[j];
    low += x[j] > 0 && m[j] <= least;
  }
  take_logarithms(logs);
  for (int j = 0; j < AMPED_BUNDLE; j += 8)
    for (int k = 0; k < 8; k++) {
      const double y = v[j + k];
      const double above = y > 0.0 ? y : 0.0;
      lanes[0][k] += y;
      lanes[1][k] += above * logs[j + k];
      lanes[2][k] += y < 0.0 ? 1.0 : 0.0;
      lanes[3][k] += y != floor(y) ? 1.0 : 0.0;
    }
  for (int k = 0; k < 8; k++) {
    sums->values += lanes[0][k];
    sums->logs += lanes[1][k];
    sums->negative += lanes[2][k];
    sums->fractions += lanes[3][k];
  }
  sums->low += (double)low;
}

AMPED_INLINE void NAME(ratios)(amped_ratio_strip *s, const amped_strip *strip, amped_bundle *b,
                               const amped_bundle *ahead, uint64_t ld, int inputs) {
  const VALUE least = (VALUE)s->ratio->least;
  const uint64_t length = ld > 0 ? ld : strip->ld;
  VALUE *const out = (VALUE *)s->ratios;
  VALUE x[AMPED_BUNDLE];
  VALUE m[AMPED_BUNDLE];
  uint64_t entry = strip->entry;
  if (!s->has_row || s->entry != entry)
    NAME(take_row)(s, strip, length, entry);
  for (int j = 0; j < b->count; j++) {
    if (j > 0 && (b->begins >> j & 1) != 0)
      NAME(take_row)(s, strip, length, ++entry);
    if (strip->fetches > 0)
      NAME(fetch)(strip, b, ahead, j);
    m[j] = NAME(model)(b, length, inputs > 0 ? inputs : strip->inputs, j, (const VALUE *)s->row);
    x[j] = ((const VALUE *)b->values)[b->codes[j]];
  }
  for (int j = 0; j < b->count; j++) {
    m[j] = m[j] < least ? least : m[j];
    out[j] = x[j] / m[j];
  }
  if (s->ratio->sums != NULL)
    NAME(add_sums)(&s->sums, b->count, x, m, least);
  b->values = out;
  b->codes = in_order;
}
