/* Body of contract_cpu.c for one VALUE type and one vector length (VECTOR bytes), compiled for
 * TARGET. No include guard: contract_cpu.c includes it once per instance. Undefines VALUE and NAME.
 *
 * Call order: item -> widen, make_panels; item -> tile -> panel -> run. All functions are inlined
 * into one instance, whose target has vectors of that length. */

#define LANES (VECTOR / sizeof(VALUE))

typedef VALUE NAME(vector) __attribute__((vector_size(VECTOR), aligned(sizeof(VALUE)), may_alias));

/* Cells of a tile: row i at contracted index k is x[i * row + k * next]. */
typedef struct NAME(view) {
  const VALUE *x;
  uint64_t row, next;
} NAME(view);

/* --- cells to VALUE --------------------------------------------------------------------------- */

#define WIDEN(T, CONVERT)                                                                          \
  for (uint64_t k = 0; k < count; k++) {                                                           \
    const T *const from = (const T *)cells + first + k * step;                                     \
    VALUE *const at = to + k * to_step;                                                            \
    for (uint64_t i = 0; i < length; i++)                                                          \
      at[i] = CONVERT(from[i]);                                                                    \
  }                                                                                                \
  break
#define TO_VALUE(x) (VALUE)(x)
#define HALF_TO_VALUE(x) (VALUE) half_value(x)

/* Convert `count` pieces of `length` cells, from `first` on and `step` apart, to VALUE. */
TARGET AMPED_INLINE void NAME(widen)(const void *cells, amped_cell_type type, uint64_t first,
                                     uint64_t step, uint64_t count, uint64_t length,
                                     VALUE *restrict to, uint64_t to_step) {
  switch (type) {
  case AMPED_CELL_I8:
    WIDEN(int8_t, TO_VALUE);
  case AMPED_CELL_U8:
    WIDEN(uint8_t, TO_VALUE);
  case AMPED_CELL_I16:
    WIDEN(int16_t, TO_VALUE);
  case AMPED_CELL_U16:
    WIDEN(uint16_t, TO_VALUE);
  case AMPED_CELL_I32:
    WIDEN(int32_t, TO_VALUE);
  case AMPED_CELL_U32:
    WIDEN(uint32_t, TO_VALUE);
  case AMPED_CELL_I64:
    WIDEN(int64_t, TO_VALUE);
  case AMPED_CELL_U64:
    WIDEN(uint64_t, TO_VALUE);
  case AMPED_CELL_F16:
    WIDEN(uint16_t, HALF_TO_VALUE);
  case AMPED_CELL_F32:
    WIDEN(float, TO_VALUE);
  case AMPED_CELL_F64:
  default:
    WIDEN(double, TO_VALUE);
  }
}

/* Convert the block's cells at contracted indices k .. k + count. Rows up to a whole tile are
 * zero. */
TARGET AMPED_INLINE NAME(view)
    NAME(widen_block)(const amped_contraction *c, const shape *s, const item *i, uint64_t k,
                      uint64_t count, VALUE *wide) {
  const uint64_t padded = amped_ceil_div(i->rows, TILE) * TILE;
  if (c->trail == 1) {
    NAME(widen)(c->cells, c->type, i->row * c->mid + k, c->mid, i->rows, count, wide, s->stride);
    for (uint64_t row = i->rows; row < padded; row++)
      memset(wide + row * s->stride, 0, count * sizeof *wide);
    return (NAME(view)){wide, s->stride, 1};
  }
  for (uint64_t done = 0; done < i->rows;) {
    const uint64_t l = (i->row + done) / c->trail;
    const uint64_t t = (i->row + done) % c->trail;
    const uint64_t length = c->trail - t < i->rows - done ? c->trail - t : i->rows - done;
    NAME(widen)
    (c->cells, c->type, (l * c->mid + k) * c->trail + t, c->trail, count, length, wide + done,
     BLOCK);
    done += length;
  }
  for (uint64_t n = 0; n < count && padded > i->rows; n++)
    memset(wide + n * BLOCK + i->rows, 0, (padded - i->rows) * sizeof *wide);
  return (NAME(view)){wide, 1, BLOCK};
}

/* --- rows of A -------------------------------------------------------------------------------- */

/* row = product of the inputs' rows at index `number`, over all inputs except the fastest; then
 * zeros. */
TARGET AMPED_INLINE void NAME(multiply_slow)(const amped_contraction *c, uint64_t number,
                                             uint64_t columns, VALUE *restrict row) {
  const uint64_t n = (uint64_t)c->ncomps;
  for (uint64_t r = 0; r < columns; r++)
    row[r] = r < n ? 1 : 0;
  for (int m = c->inputs - 2; m >= 0; m--) {
    const VALUE *const from = (const VALUE *)c->factors[m] + number % c->dims[m] * c->ld;
    number /= c->dims[m];
    for (uint64_t r = 0; r < n; r++)
      row[r] *= from[r];
  }
}

/* Store row i of A in all panels. */
TARGET AMPED_INLINE void NAME(put_row)(const VALUE *row, uint64_t columns, uint64_t i,
                                       uint64_t count, VALUE *restrict a) {
  uint64_t r = 0;
  for (; r + 2 * LANES <= columns; r += 2 * LANES) {
    NAME(vector) *const to = (NAME(vector) *)(a + r * count + i * 2 * LANES);
    to[0] = *(const NAME(vector) *)(row + r);
    to[1] = *(const NAME(vector) *)(row + r + LANES);
  }
  if (r < columns)
    *(NAME(vector) *)(a + r * count + i * LANES) = *(const NAME(vector) *)(row + r);
}

/* Make rows k .. k + count of A as panels. A panel has two vectors of each row, row after row; the
 * last panel may have one. */
TARGET AMPED_INLINE void NAME(make_panels)(const amped_contraction *c, uint64_t columns, uint64_t k,
                                           uint64_t count, VALUE *restrict a) {
  const uint64_t n = (uint64_t)c->ncomps;
  const uint64_t fast = c->dims[c->inputs - 1];
  VALUE slow[AMPED_MAX_NCOMPS];
  VALUE row[AMPED_MAX_NCOMPS];
  uint64_t at = k % fast;
  NAME(multiply_slow)(c, k / fast, columns, slow);
  memset(row, 0, columns * sizeof *row);
  for (uint64_t i = 0; i < count; i++, at++) {
    if (at == fast) {
      at = 0;
      NAME(multiply_slow)(c, (k + i) / fast, columns, slow);
    }
    const VALUE *const from = (const VALUE *)c->factors[c->inputs - 1] + at * c->ld;
    for (uint64_t r = 0; r < n; r++)
      row[r] = slow[r] * from[r];
    NAME(put_row)(row, columns, i, count, a);
  }
}

/* --- sums ------------------------------------------------------------------------------------- */

/* Sum a part of a tile, `rows` rows by `vectors` vectors: to = (adds ? to : 0) + the sum of `count`
 * products. rows and vectors are compile-time constants of the caller, small enough for
 * registers. */
TARGET AMPED_INLINE void NAME(run)(NAME(view) v, const VALUE *a, uint64_t count, int rows,
                                   int vectors, bool adds, VALUE *to, uint64_t columns, feed *f) {
  NAME(vector) sums[TILE][2];
#pragma GCC unroll 12
  for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
    for (int j = 0; j < vectors; j++)
      sums[i][j] = (NAME(vector)){0};
  for (uint64_t k = 0; k < count;) {
    const uint64_t end = count - k < STEP ? count : k + STEP;
    fetch(f);
    for (; k < end; k++) {
      const NAME(vector) *const b = (const NAME(vector) *)(a + k * (uint64_t)vectors * LANES);
#pragma GCC unroll 12
      for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
        for (int j = 0; j < vectors; j++)
          sums[i][j] = NAME(FUSE)(v.x[(uint64_t)i * v.row + k * v.next], b[j], sums[i][j]);
    }
  }
#pragma GCC unroll 12
  for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
    for (int j = 0; j < vectors; j++) {
      NAME(vector) *const at = (NAME(vector) *)(to + (uint64_t)i * columns + (uint64_t)j * LANES);
      *at = sums[i][j] + (adds ? *at : (NAME(vector)){0});
    }
}

/* Rows per run. Processors with 16 vector registers hold the sums of half a tile. */
#define HALF (VECTOR == 64 ? TILE : TILE / 2)

/* A tile's sums over `count` contracted indices, for the columns of one panel. */
TARGET AMPED_INLINE void NAME(panel)(NAME(view) v, const VALUE *a, uint64_t count, int vectors,
                                     VALUE *to, uint64_t columns, feed *f) {
  const uint64_t runs = amped_ceil_div(count, RUN);
  const uint64_t even = amped_ceil_div(amped_ceil_div(count, runs), STEP) * STEP;
  for (uint64_t k = 0; k < count; k += even) {
    const uint64_t n = count - k < even ? count - k : even;
    const VALUE *const from = a + k * (uint64_t)vectors * LANES;
    NAME(view) at = {v.x + k * v.next, v.row, v.next};
    if (vectors == 1) {
      NAME(run)(at, from, n, TILE, 1, k > 0, to, columns, f);
      continue;
    }
    for (int half = 0; half < TILE; half += HALF) {
      NAME(run)(at, from, n, HALF, 2, k > 0, to + (uint64_t)half * columns, columns, f);
      at.x += (uint64_t)HALF * v.row;
    }
  }
}

/* tile = sums of TILE rows over `count` contracted indices, at least one. */
TARGET AMPED_INLINE void NAME(tile)(NAME(view) v, const VALUE *a, uint64_t count, VALUE *tile,
                                    uint64_t columns, feed *f) {
  uint64_t r = 0;
  for (; r + 2 * LANES <= columns; r += 2 * LANES)
    NAME(panel)(v, a + r * count, count, 2, tile + r, columns, f);
  if (r < columns)
    NAME(panel)(v, a + r * count, count, 1, tile + r, columns, f);
}

/* Number of calls of fetch while the tiles of `rows` rows are summed. */
TARGET AMPED_INLINE uint64_t NAME(requests)(uint64_t rows, uint64_t columns, uint64_t count) {
  const uint64_t pairs = columns / (2 * LANES) * (TILE / HALF) + columns / LANES % 2;
  return amped_ceil_div(rows, TILE) * pairs * amped_ceil_div(count, STEP);
}

/* Store the block's sums as rows of T or of doubles. */
TARGET AMPED_INLINE void NAME(store)(const amped_contraction *c, uint64_t columns, const item *i,
                                     const double *sums) {
  const uint64_t n = (uint64_t)c->ncomps;
  for (uint64_t row = 0; row < i->rows; row++)
    for (uint64_t r = 0; r < n; r++)
      if (i->in_double)
        ((double *)i->out)[row * n + r] = sums[row * columns + r];
      else
        ((VALUE *)i->out)[row * n + r] = (VALUE)sums[row * columns + r];
}

/* Store a tile, or add it to the block's sums in double. */
TARGET AMPED_INLINE void NAME(put_tile)(const amped_contraction *c, uint64_t columns, const item *i,
                                        uint64_t first, const VALUE *tile, double *sums) {
  const uint64_t n = (uint64_t)c->ncomps;
  for (uint64_t row = first; row < first + TILE && row < i->rows; row++, tile += columns)
    if (sums == NULL)
      memcpy((VALUE *)i->out + row * n, tile, n * sizeof *tile);
    else
      for (uint64_t r = 0; r < columns; r++)
        sums[row * columns + r] += (double)tile[r];
}

TARGET AMPED_INLINE void NAME(item)(const amped_contraction *c, const shape *s, const item *i,
                                    const scratch *x) {
  const uint64_t columns = amped_ceil_div((uint64_t)c->ncomps, LANES) * LANES;
  const bool plain =
      c->type == (sizeof(VALUE) == sizeof(float) ? AMPED_CELL_F32 : AMPED_CELL_F64) &&
      c->trail == 1 && i->rows == BLOCK;
  const bool whole = i->end > i->k && i->end - i->k <= s->depth && !i->in_double;
  double *const sums = whole ? NULL : x->sums;
  if (!whole)
    memset(sums, 0, BLOCK * columns * sizeof *sums);
  for (uint64_t k = i->k; k < i->end; k += s->depth) {
    const uint64_t count = i->end - k < s->depth ? i->end - k : s->depth;
    NAME(make_panels)(c, columns, k, count, x->a);
    NAME(view) v = {(const VALUE *)c->cells + i->row * c->mid + k, c->mid, 1};
    if (!plain)
      v = NAME(widen_block)(c, s, i, k, count, x->wide);
    feed f = feed_of(c, s, i, k, count, NAME(requests)(i->rows, columns, count));
    for (uint64_t row = 0; row < i->rows; row += TILE) {
      NAME(tile)(v, x->a, count, x->tile, columns, &f);
      NAME(put_tile)(c, columns, i, row, x->tile, sums);
      v.x += TILE * v.row;
    }
  }
  if (!whole)
    NAME(store)(c, columns, i, sums);
}

#undef LANES
#undef WIDEN
#undef TO_VALUE
#undef HALF_TO_VALUE
#undef HALF
#undef VALUE
#undef NAME
