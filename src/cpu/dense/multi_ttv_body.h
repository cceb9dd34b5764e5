/* Body of multi_ttv_cpu.c for one VALUE type. No include guard: multi_ttv_cpu.c includes it once
 * per type. Undefines VALUE and NAME.
 *
 * Call order: chunk -> add_part -> multiply_rows, add_rows, sum_rows. All functions are inlined
 * into one instance. */

#define FMA(a, b, c) (fused ? __builtin_fma((a), (b), (c)) : (a) * (b) + (c))

/* outer *= product of the rows of modes from .. end at index `number` of these modes. */
AMPED_INLINE void NAME(multiply_rows)(const amped_multi_ttv *m, int from, int end, uint64_t number,
                                      double *restrict outer) {
  const uint64_t n = (uint64_t)m->ncomps;
  for (int a = end - 1; a >= from; a--) {
    const VALUE *const row = (const VALUE *)m->factors[a] + number % m->dims[a] * m->ld;
    number /= m->dims[a];
    for (uint64_t r = 0; r < n; r++)
      outer[r] *= (double)row[r];
  }
}

/* sums += outer * T's row, for `count` rows. */
AMPED_INLINE void NAME(add_rows)(const VALUE *restrict t, const double *restrict outer,
                                 uint64_t count, uint64_t n, double *restrict sums, bool fused) {
  for (uint64_t i = 0; i < count; i++)
    for (uint64_t r = 0; r < n; r++)
      sums[i * n + r] = FMA((double)t[i * n + r], outer[r], sums[i * n + r]);
}

/* part = sum over `count` rows of T's row times the factor's row, in `width` columns. width is a
 * compile-time constant of the caller, or less than COLUMNS. */
AMPED_INLINE void NAME(sum_columns)(const VALUE *restrict t, const VALUE *restrict factor,
                                    uint64_t count, uint64_t n, uint64_t ld, uint64_t width,
                                    double *restrict part, bool fused) {
  double sums[COLUMNS];
  for (uint64_t r = 0; r < width; r++)
    sums[r] = 0.0;
  for (uint64_t i = 0; i < count; i++)
    for (uint64_t r = 0; r < width; r++)
      sums[r] = FMA((double)t[i * n + r], (double)factor[i * ld + r], sums[r]);
  for (uint64_t r = 0; r < width; r++)
    part[r] = sums[r];
}

AMPED_INLINE void NAME(sum_rows)(const VALUE *t, const VALUE *factor, uint64_t count, uint64_t n,
                                 uint64_t ld, double *part, bool fused) {
  uint64_t r = 0;
  for (; r + COLUMNS <= n; r += COLUMNS)
    NAME(sum_columns)(t + r, factor + r, count, n, ld, COLUMNS, part + r, fused);
  if (r < n)
    NAME(sum_columns)(t + r, factor + r, count, n, ld, n - r, part + r, fused);
}

/* Add to rows first .. first + count the elements of T whose index in the modes before `keep`,
 * taken together, is `before`. behind: number of indices in the modes after `keep`. */
AMPED_INLINE void NAME(add_part)(const amped_multi_ttv *m, uint64_t before, uint64_t first,
                                 uint64_t count, uint64_t behind, const scratch *s, bool fused) {
  const uint64_t n = (uint64_t)m->ncomps;
  const int last = m->modes - 1;
  const VALUE *const t = (const VALUE *)m->t + (before * m->dims[m->keep] + first) * behind * n;
  if (m->keep == last) {
    for (uint64_t r = 0; r < n; r++)
      s->outer[r] = 1.0;
    NAME(multiply_rows)(m, 0, m->keep, before, s->outer);
    NAME(add_rows)(t, s->outer, count, n, s->sums, fused);
    return;
  }
  const uint64_t inner = m->dims[last];
  for (uint64_t i = 0; i < count; i++)
    for (uint64_t b = 0; b < behind / inner; b++) {
      NAME(sum_rows)
      (t + (i * behind + b * inner) * n, (const VALUE *)m->factors[last], inner, n, m->ld, s->part,
       fused);
      NAME(multiply_rows)(m, 0, m->keep, before, s->part);
      NAME(multiply_rows)(m, m->keep + 1, last, b, s->part);
      for (uint64_t r = 0; r < n; r++)
        s->sums[i * n + r] += s->part[r];
    }
}

AMPED_INLINE void NAME(chunk)(const amped_multi_ttv *m, uint64_t first, uint64_t count, VALUE *out,
                              const scratch *s, bool fused) {
  const uint64_t n = (uint64_t)m->ncomps;
  uint64_t before = 1;
  uint64_t behind = 1;
  for (int a = 0; a < m->keep; a++)
    before *= m->dims[a];
  for (int a = m->keep + 1; a < m->modes; a++)
    behind *= m->dims[a];
  memset(s->sums, 0, count * n * sizeof *s->sums);
  for (uint64_t b = 0; b < before && behind > 0; b++)
    NAME(add_part)(m, b, first, count, behind, s, fused);
  for (uint64_t i = 0; i < count; i++, out += m->ld) {
    for (uint64_t r = 0; r < n; r++)
      out[r] = (VALUE)s->sums[i * n + r];
    memset(out + n, 0, (m->ld - n) * sizeof *out);
  }
}

#undef FMA
#undef VALUE
#undef NAME
