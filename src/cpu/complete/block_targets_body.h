/* Body of block_targets_cpu.c for one VALUE type. NAME(x) is the function name for that type. No
 * include guard. */

/* TILE: columns that are multiplied at a time, as a TILE_VECTOR. LOOSE_TILE is the unaligned
 * type. */
#define TILE ((uint64_t)(sizeof(TILE_VECTOR) / sizeof(VALUE)))
#define AT(place, c) (*(const LOOSE_TILE *)(const void *)((place) + (c)))

/* Sum over columns of the product of nonzero j's input rows and `own`. Columns begin `offset` bytes
 * into the rows. inputs is a compile-time constant of the caller. */
AMPED_INLINE VALUE NAME(dot)(const amped_bundle *b, int inputs, int j, uint64_t offset,
                             const VALUE *own, uint64_t columns) {
  const VALUE *first = (const VALUE *)(b->rows[0][j] + offset);
  VALUE sum = 0;
  uint64_t c = 0;
  if (columns >= TILE) {
    TILE_VECTOR sums = {0};
    for (; c + TILE <= columns; c += TILE) {
      TILE_VECTOR x = AT(own, c) * AT(first, c);
      for (int i = 1; i < inputs; i++)
        x *= AT((const VALUE *)(b->rows[i][j] + offset), c);
      sums += x;
    }
    sum = TOTAL(sums);
  }
  for (; c < columns; c++) {
    VALUE x = own[c] * first[c];
    for (int i = 1; i < inputs; i++)
      x *= ((const VALUE *)(b->rows[i][j] + offset))[c];
    sum += x;
  }
  return sum;
}

/* Set the targets of nonzeros lo .. hi of the bundle from their values, or update them. */
AMPED_INLINE void NAME(targets)(const dots *w, const amped_bundle *b, int inputs, int lo, int hi,
                                VALUE *restrict kept) {
  const VALUE *values = b->values;
  for (int j = lo; j < hi; j++) {
    const VALUE dot = NAME(dot)(b, inputs, j, w->offset, w->own, w->columns);
    if (w->makes)
      kept[j] = (VALUE)(((double)values[b->codes[j]] - w->mean) * w->per_scale - (double)dot);
    else
      kept[j] += dot;
  }
}

#undef TILE
#undef AT
