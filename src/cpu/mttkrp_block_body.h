/* The body of mttkrp_block.c for one VALUE type; NAME(x) and FMA(a, b, c) are of that type. No
 * include guard: included once a type. */

#define TILE ((int)(128 / sizeof(VALUE)))

/* Let the rows that nonzero j of the next block needs come in, columns c0 .. c0+width. */
AMPED_INLINE void NAME(fetch)(const amped_block_strip *strip, const amped_block *ahead, uint64_t ld,
                              int j, uint64_t c0, int width) {
  int fetches = strip->fetches;
#pragma GCC unroll 1
  for (int i = 0; i < fetches; i++) {
    int f = strip->fetch[i];
    const char *row =
        (const char *)((const VALUE *)strip->factors[f] + ahead->positions[f][j] * ld + c0);
    for (size_t at = 0; at < (size_t)width * sizeof(VALUE); at += 64)
      __builtin_prefetch(row + at);
  }
}

/* acc[0 .. width) += the nonzeros first .. end (at least one) of the block, inputs skip .. inputs,
 * columns from c0; width, inputs (0: strip->inputs) and skip are constants of the caller. */
AMPED_INLINE void NAME(add)(const amped_block_strip *strip, const amped_block *b,
                            const amped_block *ahead, uint64_t ld, int inputs, int skip, bool fused,
                            int first, int end, uint64_t c0, int width, VALUE *restrict acc) {
  const VALUE *x = b->values;
  const VALUE *f0 = (const VALUE *)strip->factors[skip] + c0;
  const VALUE *f1 = inputs - skip != 1 ? (const VALUE *)strip->factors[skip + 1] + c0 : NULL;
  int j = first;
  do {
    const VALUE *a = f0 + b->positions[skip][j] * ld;
    NAME(fetch)(strip, ahead, ld, j, c0, width);
    if (inputs - skip == 1) {
      for (int c = 0; c < width; c++)
        acc[c] = FMA(x[j], a[c], acc[c]);
      continue; /* the loop's condition */
    }
    const VALUE *d = f1 + b->positions[skip + 1][j] * ld;
    if (inputs - skip == 2) {
      for (int c = 0; c < width; c++)
        acc[c] = FMA(x[j] * a[c], d[c], acc[c]);
      continue;
    }
    VALUE product[TILE];
    for (int c = 0; c < width; c++)
      product[c] = x[j] * a[c] * d[c];
    int n = inputs > 0 ? inputs : strip->inputs;
    for (int i = skip + 2; i + 1 < n; i++) {
      a = (const VALUE *)strip->factors[i] + b->positions[i][j] * ld + c0;
      for (int c = 0; c < width; c++)
        product[c] *= a[c];
    }
    a = (const VALUE *)strip->factors[n - 1] + b->positions[n - 1][j] * ld + c0;
    for (int c = 0; c < width; c++)
      acc[c] = FMA(product[c], a[c], acc[c]);
  } while (++j < end);
}

/* The same fibre by fibre: the first input's row is multiplied once for each. */
AMPED_INLINE void NAME(add_fibres)(const amped_block_strip *strip, const amped_block *b,
                                   const amped_block *ahead, uint64_t ld, int inputs, bool fused,
                                   int first, int end, uint64_t c0, int width,
                                   VALUE *restrict acc) {
  uint32_t rest = b->fibres & ~(uint32_t)((UINT64_C(2) << first) - 1);
  int j = first;
  do {
    int stop = rest != 0 ? __builtin_ctz(rest) : end;
    stop = stop < end ? stop : end;
    rest &= rest - 1;
    VALUE part[TILE];
    for (int c = 0; c < width; c++)
      part[c] = 0;
    NAME(add)(strip, b, ahead, ld, inputs, 1, fused, j, stop, c0, width, part);
    const VALUE *a = (const VALUE *)strip->factors[0] + b->positions[0][j] * ld + c0;
    for (int c = 0; c < width; c++)
      acc[c] = FMA(part[c], a[c], acc[c]);
    j = stop;
  } while (j < end);
}

/* Columns c0 .. c0+width of the nonzeros first .. end, all of one row. */
AMPED_INLINE void NAME(columns)(const amped_block_strip *strip, const amped_block *b,
                                const amped_block *ahead, uint64_t ld, int inputs, bool reuse,
                                bool fused, int first, int end, VALUE *out, uint64_t c0,
                                int width) {
  VALUE acc[TILE];
  for (int c = 0; c < width; c++)
    acc[c] = 0;
  if (reuse)
    NAME(add_fibres)(strip, b, ahead, ld, inputs, fused, first, end, c0, width, acc);
  else
    NAME(add)(strip, b, ahead, ld, inputs, 0, fused, first, end, c0, width, acc);
  if (out != NULL)
    for (int c = 0; c < width; c++)
      out[c0 + (uint64_t)c] = acc[c];
  else if (strip->open)
    for (int c = 0; c < width; c++)
      strip->sum[c0 + (uint64_t)c] += (double)acc[c];
  else
    for (int c = 0; c < width; c++)
      strip->sum[c0 + (uint64_t)c] = (double)acc[c];
}

/* A row that did not fit in a block. */
static void NAME(close_row)(amped_block_strip *strip, VALUE *out) {
  if (strip->fixup != NULL)
    memcpy(strip->fixup, strip->sum, strip->ld * sizeof *strip->sum);
  else
    for (uint64_t c = 0; c < strip->ld; c++)
      out[c] = (VALUE)strip->sum[c];
  strip->open = false;
  strip->fixup = NULL;
}

/* ld: a constant of the caller, or 0 for strip->ld. */
AMPED_INLINE void NAME(block)(amped_block_strip *strip, const amped_block *b,
                              const amped_block *ahead, uint64_t ld, int inputs, bool reuse,
                              bool fused) {
  uint32_t rest = b->begins & ~UINT32_C(1);
  uint64_t n = ld > 0 ? ld : strip->ld;
  for (int first = 0; first < b->count;) {
    int end = rest != 0 ? __builtin_ctz(rest) : b->count;
    bool closes = rest != 0 || b->closes;
    rest &= rest - 1;
    VALUE *out = NULL;
    if (closes)
      out = (VALUE *)strip->out + row_of(strip) * n;
    VALUE *whole = strip->open || strip->fixup != NULL ? NULL : out;
    uint64_t c0 = 0;
    for (; c0 + (uint64_t)TILE <= n; c0 += (uint64_t)TILE)
      NAME(columns)(strip, b, ahead, n, inputs, reuse, fused, first, end, whole, c0, TILE);
    if (ld == 0 || ld % (uint64_t)TILE != 0) {
      if (c0 + (uint64_t)TILE / 2 <= n) {
        NAME(columns)(strip, b, ahead, n, inputs, reuse, fused, first, end, whole, c0, TILE / 2);
        c0 += (uint64_t)TILE / 2;
      }
      if (c0 + (uint64_t)TILE / 4 <= n) {
        NAME(columns)(strip, b, ahead, n, inputs, reuse, fused, first, end, whole, c0, TILE / 4);
        c0 += (uint64_t)TILE / 4;
      }
      if (c0 < n)
        NAME(columns)(strip, b, ahead, n, inputs, reuse, fused, first, end, whole, c0, TILE / 8);
    }
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
