/* Body of mttkrp_bundle.c for one VALUE type. NAME(x) is the function name and FMA(a, b, c) the
 * multiply-add of that type. No include guard: mttkrp_bundle.c includes it once per type.
 *
 * Call order: bundle -> row -> columns -> add or add_fibres -> fetch. Their common arguments are a
 * bundle_work. All are inlined into one instance, whose constants unroll the loops. */

/* Columns that are summed in registers at a time. */
#define TILE ((int)(128 / sizeof(VALUE)))

/* Prefetch the current columns of the rows of the nonzero AHEAD places after j. */
AMPED_INLINE void NAME(fetch)(bundle_work w, int j) {
  const amped_bundle *from = j + AHEAD < AMPED_BUNDLE ? w.b : w.ahead;
  const int at = (j + AHEAD) % AMPED_BUNDLE;
  const int n = w.inputs > 0 ? w.inputs : w.strip->inputs;
  if (!w.fetches)
    return;
  for (int i = 0; i < n; i++)
    if (w.strip->fetch[i]) {
      const char *row = (const char *)((const VALUE *)from->rows[i][at] + w.c0);
      for (size_t byte = 0; byte < (size_t)w.width * sizeof(VALUE); byte += 64)
        __builtin_prefetch(row + byte);
    }
}

/* acc[0 .. width) += nonzeros first .. end of the bundle, at least one. A nonzero adds its value
 * times its rows of the inputs from `skip` on. skip, 0 or 1, is a compile-time constant of the
 * caller. */
AMPED_INLINE void NAME(add)(bundle_work w, int skip, int first, int end, VALUE *restrict acc) {
  const amped_bundle *b = w.b;
  const bool fused = w.fused;
  const VALUE *values = b->values;
  const uint64_t *codes = b->codes;
  int j = first;
  do {
    const VALUE x = values[codes[j]];
    const VALUE *a = (const VALUE *)b->rows[skip][j] + w.c0;
    NAME(fetch)(w, j);
    __asm__ volatile(""); /* keep the loops over columns inside */
    if (w.inputs - skip == 1) {
      for (int c = 0; c < w.width; c++)
        acc[c] = FMA(x, a[c], acc[c]);
      continue; /* to the loop's condition */
    }
    const VALUE *d = (const VALUE *)b->rows[skip + 1][j] + w.c0;
    if (w.inputs - skip == 2) {
      for (int c = 0; c < w.width; c++)
        acc[c] = FMA(x * a[c], d[c], acc[c]);
      continue;
    }
    if (w.inputs - skip == 3) {
      const VALUE *e = (const VALUE *)b->rows[skip + 2][j] + w.c0;
      for (int c = 0; c < w.width; c++)
        acc[c] = FMA(x * a[c] * d[c], e[c], acc[c]);
      continue;
    }
    VALUE product[TILE];
    for (int c = 0; c < w.width; c++)
      product[c] = x * a[c] * d[c];
    int n = w.inputs > 0 ? w.inputs : w.strip->inputs;
    for (int i = skip + 2; i + 1 < n; i++) {
      a = (const VALUE *)b->rows[i][j] + w.c0;
      for (int c = 0; c < w.width; c++)
        product[c] *= a[c];
    }
    a = (const VALUE *)b->rows[n - 1][j] + w.c0;
    for (int c = 0; c < w.width; c++)
      acc[c] = FMA(product[c], a[c], acc[c]);
  } while (++j < end);
}

/* Add up nonzeros like `add`, for all inputs. Nonzeros of a fibre share the first input's row: they
 * are summed without it, and the sum is multiplied by it once. */
AMPED_INLINE void NAME(add_fibres)(bundle_work w, int first, int end, VALUE *restrict acc) {
  const bool fused = w.fused;
  uint64_t rest = w.b->fibres & ~((UINT64_C(2) << first) - 1);
  int j = first;
  do {
    int stop = rest != 0 ? __builtin_ctzll(rest) : end;
    stop = stop < end ? stop : end;
    rest &= rest - 1;
    VALUE fibre[TILE];
    for (int c = 0; c < w.width; c++)
      fibre[c] = 0;
    NAME(add)(w, 1, j, stop, fibre);
    const VALUE *a = (const VALUE *)w.b->rows[0][j] + w.c0;
    for (int c = 0; c < w.width; c++)
      acc[c] = FMA(fibre[c], a[c], acc[c]);
    j = stop;
  } while (j < end);
}

/* Sum columns c0 .. c0 + width of the nonzeros first .. end, all of one row. The sum is stored in
 * `out`; out NULL: it is added to the strip's sum. width is a compile-time constant of the
 * caller. */
AMPED_INLINE void NAME(columns)(bundle_work w, uint64_t c0, int width, int first, int end,
                                VALUE *out) {
  const amped_strip *strip = w.strip;
  VALUE acc[TILE];
  w.c0 = c0;
  w.width = width;
  for (int c = 0; c < width; c++)
    acc[c] = 0;
  if (w.reuse)
    NAME(add_fibres)(w, first, end, acc);
  else
    NAME(add)(w, 0, first, end, acc);
  if (out != NULL && strip->adds)
    for (int c = 0; c < width; c++)
      out[c0 + (uint64_t)c] += acc[c];
  else if (out != NULL)
    for (int c = 0; c < width; c++)
      out[c0 + (uint64_t)c] = acc[c];
  else if (strip->open)
    for (int c = 0; c < width; c++)
      strip->sum[c0 + (uint64_t)c] += (double)acc[c];
  else
    for (int c = 0; c < width; c++)
      strip->sum[c0 + (uint64_t)c] = (double)acc[c];
}

/* Sum all columns: whole tiles, then the rest in a half, a quarter and an eighth of a tile. Rows
 * are a multiple of an eighth long. whole_tiles: the instance knows that there is no rest. */
AMPED_INLINE void NAME(row)(bundle_work w, bool whole_tiles, int first, int end, VALUE *out) {
  uint64_t c0 = 0;
  for (; c0 + (uint64_t)TILE <= w.ld; c0 += (uint64_t)TILE)
    NAME(columns)(w, c0, TILE, first, end, out);
  if (whole_tiles)
    return;
  if (c0 + (uint64_t)TILE / 2 <= w.ld) {
    NAME(columns)(w, c0, TILE / 2, first, end, out);
    c0 += (uint64_t)TILE / 2;
  }
  if (c0 + (uint64_t)TILE / 4 <= w.ld) {
    NAME(columns)(w, c0, TILE / 4, first, end, out);
    c0 += (uint64_t)TILE / 4;
  }
  if (c0 < w.ld)
    NAME(columns)(w, c0, TILE / 8, first, end, out);
}

/* Finish a row that did not fit in a bundle: round its sum, or copy it to the fix-up buffer. */
static void NAME(close_row)(amped_strip *strip, VALUE *out) {
  if (strip->fixup != NULL)
    memcpy(strip->fixup, strip->sum, strip->ld * sizeof *strip->sum);
  else
    for (uint64_t c = 0; c < strip->ld; c++)
      out[c] = (VALUE)(strip->sum[c] + (strip->adds ? (double)out[c] : 0.0));
  strip->open = false;
  strip->fixup = NULL;
}

/* Add up w.b row by row. w.ld is a constant of the instance; 0: strip->ld. */
AMPED_INLINE void NAME(bundle)(amped_strip *strip, bundle_work w) {
  const amped_bundle *b = w.b;
  const bool whole_tiles = w.ld > 0 && w.ld % (uint64_t)TILE == 0;
  uint64_t rest = b->begins & ~UINT64_C(1);
  w.strip = strip;
  w.ld = w.ld > 0 ? w.ld : strip->ld;
  for (int first = 0; first < b->count;) {
    int end = rest != 0 ? __builtin_ctzll(rest) : b->count;
    bool closes = rest != 0 || b->closes;
    rest &= rest - 1;
    VALUE *out = NULL;
    if (closes)
      out = (VALUE *)strip->out + row_of(strip) * w.ld;
    VALUE *whole = strip->open || strip->fixup != NULL ? NULL : out;
    NAME(row)(w, whole_tiles, first, end, whole);
    if (whole == NULL)
      strip->open = true;
    if (closes) {
      if (whole == NULL)
        NAME(close_row)(strip, out);
      strip->entry++;
    }
    first = end;
  }
}
