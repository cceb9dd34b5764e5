/* Body of box_bundle.c for one VALUE type and one SUM type. NAME(x) is the function name for both
 * types. BEGIN and END convert between sums in memory and in registers. No include guard:
 * box_bundle.c includes it once per pair of types.
 *
 * Call order: bundle -> row -> columns_*. All are inlined into one instance, whose constants unroll
 * the loops. Vectors are the compiler's vector types, because sums must stay in registers; a * b +
 * c is one instruction if the processor has it. */

/* Vectors of values, and vectors of as many sums. They need not be aligned to their size. */
typedef VALUE NAME(whole) __attribute__((vector_size(32), aligned(8), may_alias));
typedef VALUE NAME(half) __attribute__((vector_size(16), aligned(8), may_alias));
typedef SUM NAME(whole_sum)
    __attribute__((vector_size(32 / sizeof(VALUE) * sizeof(SUM)), aligned(8), may_alias));
typedef SUM NAME(half_sum)
    __attribute__((vector_size(16 / sizeof(VALUE) * sizeof(SUM)), aligned(8), may_alias));

/* Prefetch the rows of the nonzero AHEAD places after j. */
AMPED_INLINE void NAME(fetch)(box_work w, int j) {
  const amped_box_bundle *from = j + AHEAD < AMPED_BUNDLE ? w.b : w.ahead;
  const int at = (j + AHEAD) % AMPED_BUNDLE;
  if (at >= from->bundle.count)
    return;
  for (int i = 0; i < w.shape->inputs; i++)
    if (w.shape->fetch[i])
      for (size_t byte = 0; byte < w.ld * sizeof(VALUE); byte += 64)
        __builtin_prefetch((const char *)from->bundle.rows[w.shape->modes[i]][at] + byte);
  for (size_t byte = 0; w.shape->fetch_sums && byte < w.ld * sizeof(SUM); byte += 64)
    __builtin_prefetch((const char *)from->sums[at] + byte, 1);
}

/* NEXT: take the first nonzero j off `run`, and load its value x. ROW: nonzero j's row of an input,
 * from column c0 on. */
#define NEXT                                                                                       \
  const int j = __builtin_ctzll(run);                                                              \
  const VALUE x = ((const VALUE *)w.values)[w.codes[j]];                                           \
  run &= run - 1
#define ROW(input) ((const VALUE *)w.rows[input][j] + c0)

/* Add 128 bytes of columns, from c0 on, of the nonzeros in `run`, which share one sum. */
AMPED_INLINE void NAME(columns_4)(box_work w, uint64_t c0, uint64_t run, SUM *sum) {
  const int n = w.inputs > 0 ? w.inputs : w.shape->inputs;
  NAME(whole_sum) *const to = (NAME(whole_sum) *)(sum + c0);
  NAME(whole) a = BEGIN(to[0], NAME(whole));
  NAME(whole) b = BEGIN(to[1], NAME(whole));
  NAME(whole) c = BEGIN(to[2], NAME(whole));
  NAME(whole) d = BEGIN(to[3], NAME(whole));
  do {
    NEXT;
    const NAME(whole) *row = (const NAME(whole) *)ROW(0);
    if (n == 1) {
      a += x * row[0];
      b += x * row[1];
      c += x * row[2];
      d += x * row[3];
      continue; /* to the loop's condition */
    }
    NAME(whole) p = x * row[0], q = x * row[1], r = x * row[2], s = x * row[3];
    for (int i = 1; i + 1 < n; i++) {
      row = (const NAME(whole) *)ROW(i);
      p *= row[0];
      q *= row[1];
      r *= row[2];
      s *= row[3];
    }
    row = (const NAME(whole) *)ROW(n - 1);
    a += p * row[0];
    b += q * row[1];
    c += r * row[2];
    d += s * row[3];
  } while (w.runs && run != 0);
  to[0] = END(to[0], a, NAME(whole_sum));
  to[1] = END(to[1], b, NAME(whole_sum));
  to[2] = END(to[2], c, NAME(whole_sum));
  to[3] = END(to[3], d, NAME(whole_sum));
}

/* Add a run to the sums of one vector of 32 or 16 bytes. */
#define COLUMNS(name, VECTOR, SUMS)                                                                \
  AMPED_INLINE void NAME(name)(box_work w, uint64_t c0, uint64_t run, SUM * sum) {                 \
    const int n = w.inputs > 0 ? w.inputs : w.shape->inputs;                                       \
    SUMS *const to = (SUMS *)(sum + c0);                                                           \
    VECTOR a = BEGIN(*to, VECTOR);                                                                 \
    do {                                                                                           \
      NEXT;                                                                                        \
      VECTOR p = x * *(const VECTOR *)ROW(0);                                                      \
      if (n == 1) {                                                                                \
        a += p;                                                                                    \
        continue;                                                                                  \
      }                                                                                            \
      for (int i = 1; i + 1 < n; i++)                                                              \
        p *= *(const VECTOR *)ROW(i);                                                              \
      a += p * *(const VECTOR *)ROW(n - 1);                                                        \
    } while (w.runs && run != 0);                                                                  \
    *to = END(*to, a, SUMS);                                                                       \
  }
COLUMNS(columns_1, NAME(whole), NAME(whole_sum))
COLUMNS(columns_half, NAME(half), NAME(half_sum))

/* Add all columns. The length of a row is a multiple of 16 bytes. */
AMPED_INLINE void NAME(row)(box_work w, uint64_t run, SUM *sum) {
  const uint64_t half = 16 / sizeof(VALUE);
  uint64_t c0 = 0;
  for (; c0 + 8 * half <= w.ld; c0 += 8 * half)
    NAME(columns_4)(w, c0, run, sum);
  for (; c0 + 2 * half <= w.ld; c0 += 2 * half)
    NAME(columns_1)(w, c0, run, sum);
  if (c0 < w.ld)
    NAME(columns_half)(w, c0, run, sum);
}

/* Add up the nonzeros `which`. w.ld is a constant of the instance; 0: the shape's ld. */
AMPED_INLINE void NAME(bundle)(box_work w, uint64_t which) {
  const uintptr_t *sums = w.b->sums;
  const int n = w.inputs > 0 ? w.inputs : w.shape->inputs;
  w.ld = w.ld > 0 ? w.ld : w.shape->ld;
  w.values = w.b->bundle.values;
  w.codes = w.b->bundle.codes;
  for (int i = 0; i < n; i++)
    w.rows[i] = w.b->bundle.rows[w.shape->modes[i]];
  while (which != 0) {
    const int first = __builtin_ctzll(which);
    uint64_t run = which & -which;
    which &= which - 1;
    if (w.fetches)
      NAME(fetch)(w, first);
    while (w.runs && which != 0 && sums[__builtin_ctzll(which)] == sums[first]) {
      if (w.fetches)
        NAME(fetch)(w, __builtin_ctzll(which));
      run |= which & -which;
      which &= which - 1;
    }
    NAME(row)(w, run, (SUM *)sums[first]);
  }
}

#undef NEXT
#undef ROW
#undef COLUMNS
