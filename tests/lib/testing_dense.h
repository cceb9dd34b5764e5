/* Common parts of the tests of dense tensors: cells of every type, whose value is a function of
 * their place. */
#ifndef AMPED_TESTING_DENSE_H
#define AMPED_TESTING_DENSE_H

#include <math.h>

#include "base/random.h"
#include "tensor/dense_info.h"
#include "tests/lib/testing.h"

/* A whole number that every type holds exactly; a third are 0. Negative ones where the type has a
 * sign. */
static inline double testing_cell(amped_cell_type type, uint64_t cell) {
  const uint64_t bits = amped_random_u64(11, 3, cell);
  const bool has_sign = type >= AMPED_CELL_F16 || type == AMPED_CELL_I8 || type == AMPED_CELL_I16 ||
                        type == AMPED_CELL_I32 || type == AMPED_CELL_I64;
  if (bits % 3 == 0)
    return 0.0;
  return (double)(bits >> 8 & 127) * (has_sign && (bits & 128) != 0 ? -1.0 : 1.0);
}

static inline uint16_t testing_half(double value) {
  if (value == 0.0)
    return 0;
  int exponent = 0;
  const double fraction = frexp(fabs(value), &exponent);
  return (uint16_t)((value < 0.0 ? 0x8000 : 0) | (exponent + 14) << 10 |
                    ((int)(fraction * 2048.0) & 1023));
}

static inline void testing_put_cell(void *cells, amped_cell_type type, uint64_t i, double value) {
  switch (type) {
  case AMPED_CELL_I8:
    ((int8_t *)cells)[i] = (int8_t)value;
    break;
  case AMPED_CELL_U8:
    ((uint8_t *)cells)[i] = (uint8_t)value;
    break;
  case AMPED_CELL_I16:
    ((int16_t *)cells)[i] = (int16_t)value;
    break;
  case AMPED_CELL_U16:
    ((uint16_t *)cells)[i] = (uint16_t)value;
    break;
  case AMPED_CELL_I32:
    ((int32_t *)cells)[i] = (int32_t)value;
    break;
  case AMPED_CELL_U32:
    ((uint32_t *)cells)[i] = (uint32_t)value;
    break;
  case AMPED_CELL_I64:
    ((int64_t *)cells)[i] = (int64_t)value;
    break;
  case AMPED_CELL_U64:
    ((uint64_t *)cells)[i] = (uint64_t)value;
    break;
  case AMPED_CELL_F16:
    ((uint16_t *)cells)[i] = testing_half(value);
    break;
  case AMPED_CELL_F32:
    ((float *)cells)[i] = (float)value;
    break;
  case AMPED_CELL_F64:
  default:
    ((double *)cells)[i] = value;
    break;
  }
}

static inline amped_dense_info testing_dense_info(amped_cell_type type, int order,
                                                  const uint64_t *dims) {
  amped_dense_info info = {.order = order, .type = type};
  for (int m = 0; m < order; m++) {
    info.dims[m] = dims[m];
    info.layout[m] = m;
  }
  ck_assert(amped_dense_info_count(&info));
  return info;
}

/* Cells of a whole tensor, in its layout; free with free. */
static inline void *testing_cells(const amped_dense_info *info) {
  void *cells = malloc(info->cells * amped_cell_bytes(info->type));
  ck_assert_ptr_nonnull(cells);
  for (uint64_t i = 0; i < info->cells; i++)
    testing_put_cell(cells, info->type, i, testing_cell(info->type, i));
  return cells;
}

/* The number of the cell at an index. */
static inline uint64_t testing_cell_at(const amped_dense_info *info, const uint64_t *index) {
  uint64_t cell = 0;
  for (int i = 0; i < info->order; i++)
    cell = cell * info->dims[info->layout[i]] + index[info->layout[i]];
  return cell;
}

/* Are these the cells of the box, in the layout of info? */
static inline void testing_check_box(const amped_dense_info *info, const uint64_t *first,
                                     const uint64_t *count, const void *cells) {
  uint64_t all = 1;
  uint64_t index[AMPED_MAX_ORDER];
  for (int m = 0; m < info->order; m++)
    all *= count[m];
  for (uint64_t i = 0; i < all; i++) {
    double found = 0.0;
    amped_dense_index(info->order, count, info->layout, i, index);
    for (int m = 0; m < info->order; m++)
      index[m] += first[m];
    amped_cells_get(cells, info->type, i, 1, &found);
    const double expected = testing_cell(info->type, testing_cell_at(info, index));
    ck_assert_msg(found == expected, "cell %lu of the box is %g, not %g", (unsigned long)i, found,
                  expected);
  }
}

/* A box of the tensor, by lot; no mode is empty. Returns its cells. */
static inline uint64_t testing_box(const amped_dense_info *info, uint64_t lot, uint64_t *first,
                                   uint64_t *count) {
  uint64_t all = 1;
  for (int m = 0; m < info->order; m++) {
    const uint64_t dim = info->dims[m];
    const bool whole = amped_random_u64(5, lot, 3 * (uint64_t)m) % 2 == 0;
    first[m] = whole ? 0 : amped_random_u64(5, lot, 3 * (uint64_t)m + 1) % dim;
    count[m] = whole ? dim : 1 + amped_random_u64(5, lot, 3 * (uint64_t)m + 2) % (dim - first[m]);
    all *= count[m];
  }
  return all;
}

/* Read boxes by lot, and compare. */
#define TESTING_BOXES(boxes, info, read, file)                                                     \
  for (uint64_t lot_ = 0; lot_ < (boxes); lot_++) {                                                \
    uint64_t first_[AMPED_MAX_ORDER], count_[AMPED_MAX_ORDER];                                     \
    const uint64_t cells_ = testing_box((info), lot_, first_, count_);                             \
    void *to_ = malloc(cells_ * amped_cell_bytes((info)->type));                                   \
    ck_assert_ptr_nonnull(to_);                                                                    \
    check_ok(read((file), first_, count_, to_));                                                   \
    testing_check_box((info), first_, count_, to_);                                                \
    free(to_);                                                                                     \
  }

#endif
