/* Dense stats: against a cell after the other, for orders, layouts, slabs and types of cells. */
#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "tensor/dense_stats.h"
#include "tensor/sptensor.h"
#include "tests/lib/testing.h"

typedef struct sums {
  uint64_t nnz, hash;
  long double squares, negative;
} sums;

/* A value that all types have: a third of them 0, a third negative if the type has such. */
static double value_at(amped_cell_type type, uint64_t number) {
  const uint64_t random = amped_random_u64(5, 0, number);
  const bool is_unsigned = type == AMPED_CELL_U8;
  const double size = (double)(random / 3 % 100 + 1);
  return random % 3 == 0 ? 0.0 : random % 3 == 1 && !is_unsigned ? -size : size;
}

static void put(void *cells, amped_cell_type type, uint64_t i, double value) {
  if (type == AMPED_CELL_F64)
    ((double *)cells)[i] = value;
  else if (type == AMPED_CELL_F32)
    ((float *)cells)[i] = (float)value;
  else
    ((uint8_t *)cells)[i] = (uint8_t)value;
}

/* Fill the slab's cells, and add them up one after the other. */
static sums fill(const amped_dense_info *info, const amped_dense_slab *slab, uint64_t count,
                 void *cells) {
  uint64_t dims[AMPED_MAX_ORDER];
  sums all = {.nnz = 0};
  for (int m = 0; m < info->order; m++)
    dims[m] = m == slab->mode ? slab->count : info->dims[m];
  for (uint64_t i = 0; i < count; i++) {
    uint64_t index[AMPED_MAX_ORDER];
    const double value = value_at(info->type, i);
    put(cells, info->type, i, value);
    amped_dense_index(info->order, dims, info->layout, i, index);
    index[slab->mode] += slab->first;
    all.nnz += value != 0.0;
    all.hash += value != 0.0 ? amped_nonzero_hash(info->order, index, value) : 0;
    all.squares += (long double)value * value;
    all.negative += value < 0.0 ? (long double)value * value : 0.0L;
  }
  return all;
}

static void check_sums(const amped_dense_stats *stats, const sums *all, bool has_hash) {
  ck_assert_uint_eq(stats->nnz, all->nnz);
  ck_assert_uint_eq(stats->hash, has_hash ? all->hash : 0);
  /* Sums of integers below 2^53 are exact. */
  ck_assert_double_eq(amped_kahan_value(&stats->squares), (double)all->squares);
  ck_assert_double_eq(stats->negative, (double)all->negative);
}

/* Count a slab in two calls, with and without the hash. */
static void check_slab(const amped_dense_info *info, const amped_dense_slab *slab) {
  const uint64_t count = info->cells / info->dims[slab->mode] * slab->count;
  const uint64_t first = count / 3;
  const uint64_t bytes = amped_cell_bytes(info->type);
  void *cells = malloc(count * bytes);
  ck_assert_ptr_nonnull(cells);
  const sums all = fill(info, slab, count, cells);
  for (int has_hash = 0; has_hash < 2; has_hash++) {
    const amped_dense_slab *of = has_hash ? slab : NULL;
    amped_dense_stats stats = {.nnz = 0};
    amped_dense_stats_add(&stats, info, of, 0, first, cells);
    amped_dense_stats_add(&stats, info, of, first, count - first,
                          (const char *)cells + first * bytes);
    check_sums(&stats, &all, has_hash);
  }
  free(cells);
}

START_TEST(sums_are_those_of_one_cell_after_the_other) {
  static const uint64_t dims[][6] = {
      {13, 31, 47}, {5, 11, 7, 23}, {3, 5, 4, 7, 19}, {2, 3, 5, 4, 7, 9}};
  static const amped_cell_type types[] = {AMPED_CELL_F64, AMPED_CELL_F32, AMPED_CELL_U8};
  for (int order = 3; order <= 6; order++)
    for (size_t type = 0; type < 3; type++)
      for (int turn = 0; turn < order; turn++) {
        amped_dense_info info = {.order = order, .type = types[type]};
        for (int m = 0; m < order; m++) {
          info.dims[m] = dims[order - 3][m];
          info.layout[m] = (m + turn) % order;
        }
        ck_assert(amped_dense_info_count(&info));
        for (int mode = 0; mode < order; mode++) {
          check_slab(&info, &(amped_dense_slab){.mode = mode, .count = info.dims[mode]});
          check_slab(&info, &(amped_dense_slab){.mode = mode, .first = 1, .count = 1});
        }
      }
}

TESTING_MAIN("dense_stats", sums_are_those_of_one_cell_after_the_other)
