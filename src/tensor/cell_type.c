/* Cell type: sizes, names, conversion to double and the search for non-finite cells. */
#include "tensor/cell_type.h"

#include <math.h>

uint64_t amped_cell_bytes(amped_cell_type type) {
  static const uint64_t bytes[AMPED_CELL_TYPES] = {1, 1, 2, 2, 4, 4, 8, 8, 2, 4, 8};
  return bytes[type];
}

const char *amped_cell_name(amped_cell_type type) {
  static const char *const names[AMPED_CELL_TYPES] = {"int8",    "uint8",   "int16",  "uint16",
                                                      "int32",   "uint32",  "int64",  "uint64",
                                                      "float16", "float32", "float64"};
  return names[type];
}

bool amped_cell_is_integer(amped_cell_type type) {
  return type < AMPED_CELL_F16;
}

double amped_half_to_double(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  double size = 0.0;
  if (exponent == 31)
    size = fraction == 0 ? (double)INFINITY : (double)NAN;
  else if (exponent == 0)
    size = ldexp((double)fraction, -24);
  else
    size = ldexp((double)(1024 + fraction), exponent - 25);
  return (bits & 0x8000) != 0 ? -size : size;
}

#define WIDEN(T)                                                                                   \
  for (uint64_t i = 0; i < count; i++)                                                             \
  to[i] = (double)((const T *)cells)[first + i]

void amped_cells_get(const void *cells, amped_cell_type type, uint64_t first, uint64_t count,
                     double *to) {
  switch (type) {
  case AMPED_CELL_I8:
    WIDEN(int8_t);
    break;
  case AMPED_CELL_U8:
    WIDEN(uint8_t);
    break;
  case AMPED_CELL_I16:
    WIDEN(int16_t);
    break;
  case AMPED_CELL_U16:
    WIDEN(uint16_t);
    break;
  case AMPED_CELL_I32:
    WIDEN(int32_t);
    break;
  case AMPED_CELL_U32:
    WIDEN(uint32_t);
    break;
  case AMPED_CELL_I64:
    WIDEN(int64_t);
    break;
  case AMPED_CELL_U64:
    WIDEN(uint64_t);
    break;
  case AMPED_CELL_F16:
    for (uint64_t i = 0; i < count; i++)
      to[i] = amped_half_to_double(((const uint16_t *)cells)[first + i]);
    break;
  case AMPED_CELL_F32:
    WIDEN(float);
    break;
  case AMPED_CELL_F64:
  default:
    WIDEN(double);
    break;
  }
}

/* Search by the bits of a float's exponent: only NaN and infinity have all of them set. Blocks are
 * searched without a branch per cell. */
#define BLOCK 4096
#define DEFINE_SEARCH(T, EXPONENT)                                                                 \
  static uint64_t not_finite_##T(const T *bits, uint64_t count) {                                  \
    for (uint64_t from = 0; from < count; from += BLOCK) {                                         \
      const uint64_t end = count - from < BLOCK ? count : from + BLOCK;                            \
      unsigned bad = 0;                                                                            \
      for (uint64_t i = from; i < end; i++)                                                        \
        bad |= (bits[i] & (EXPONENT)) == (EXPONENT);                                               \
      for (uint64_t i = from; bad != 0 && i < end; i++)                                            \
        if ((bits[i] & (EXPONENT)) == (EXPONENT))                                                  \
          return i;                                                                                \
    }                                                                                              \
    return count;                                                                                  \
  }
DEFINE_SEARCH(uint16_t, 0x7c00)
DEFINE_SEARCH(uint32_t, UINT32_C(0x7f800000))
DEFINE_SEARCH(uint64_t, UINT64_C(0x7ff0000000000000))

uint64_t amped_cells_not_finite(const void *cells, amped_cell_type type, uint64_t count) {
  if (amped_cell_is_integer(type))
    return count;
  return type == AMPED_CELL_F16   ? not_finite_uint16_t(cells, count)
         : type == AMPED_CELL_F32 ? not_finite_uint32_t(cells, count)
                                  : not_finite_uint64_t(cells, count);
}

/* The magnitude of an integer of 8 bytes. */
static inline uint64_t magnitude_of(uint64_t bits, bool is_signed) {
  return is_signed && bits >> 63 != 0 ? -bits : bits;
}

uint64_t amped_cells_cut(const void *cells, amped_cell_type type, uint64_t count) {
  const uint64_t *bits = cells;
  const bool is_signed = type == AMPED_CELL_I64;
  if (type != AMPED_CELL_I64 && type != AMPED_CELL_U64)
    return count;
  for (uint64_t i = 0; i < count; i++)
    if (amped_integer_is_cut(magnitude_of(bits[i], is_signed)))
      return i;
  return count;
}

/* --- ranges ----------------------------------------------------------------------------------- */

/* The cell nearest to x: halves have 11 bits, and no unit below 2^-24. */
static double round_cell(amped_cell_type type, long double exact) {
  const double x = (double)exact;
  int exponent = 0;
  if (type == AMPED_CELL_F32)
    return (double)(float)x;
  if (type != AMPED_CELL_F16 || !isfinite(x))
    return x;
  (void)frexp(x, &exponent);
  const double unit = ldexp(1.0, exponent < -13 ? -24 : exponent - 11);
  return nearbyint(x / unit) * unit;
}

/* For each of at most BLOCK cells: is it within a range? */
typedef struct places {
  bool in[BLOCK];
} places;

static void compare_doubles(const void *cells, amped_cell_type type, uint64_t count,
                            amped_cell_range range, places *out) {
  const double least = round_cell(type, range.least);
  const double most = round_cell(type, range.most);
  double values[BLOCK];
  amped_cells_get(cells, type, 0, count, values);
  for (uint64_t i = 0; i < count; i++)
    out->in[i] = values[i] >= least && values[i] <= most;
}

/* Integers of 8 bytes are compared as such: doubles round them. */
#define DEFINE_COMPARE(T, LEAST, MOST)                                                             \
  static void compare_##T(const T *cells, uint64_t count, amped_cell_range range, places *out) {   \
    const bool empty =                                                                             \
        !(range.least <= (long double)(MOST) && range.most >= (long double)(LEAST));               \
    const T least =                                                                                \
        empty || range.least <= (long double)(LEAST) ? (LEAST) : (T)ceill(range.least);            \
    const T most = empty || range.most >= (long double)(MOST) ? (MOST) : (T)floorl(range.most);    \
    for (uint64_t i = 0; i < count; i++)                                                           \
      out->in[i] = !empty && cells[i] >= least && cells[i] <= most;                                \
  }
DEFINE_COMPARE(int64_t, INT64_MIN, INT64_MAX)
DEFINE_COMPARE(uint64_t, 0, UINT64_MAX)

/* Compare cells from `from` on, at most BLOCK of them; returns their number. */
static uint64_t compare(const void *cells, amped_cell_type type, uint64_t from, uint64_t count,
                        amped_cell_range range, places *out) {
  const void *first = (const char *)cells + from * amped_cell_bytes(type);
  const uint64_t n = count - from < BLOCK ? count - from : BLOCK;
  if (type == AMPED_CELL_I64)
    compare_int64_t(first, n, range, out);
  else if (type == AMPED_CELL_U64)
    compare_uint64_t(first, n, range, out);
  else
    compare_doubles(first, type, n, range, out);
  return n;
}

uint64_t amped_cells_find(const void *cells, amped_cell_type type, uint64_t count,
                          amped_cell_range range, bool within) {
  places p;
  for (uint64_t from = 0, n = 0; from < count; from += n) {
    n = compare(cells, type, from, count, range, &p);
    for (uint64_t i = 0; i < n; i++)
      if (p.in[i] == within)
        return from + i;
  }
  return count;
}

void amped_cells_blank(const void *cells, amped_cell_type type, uint64_t count,
                       amped_cell_range range, bool within, double *values) {
  places p;
  for (uint64_t from = 0, n = 0; from < count; from += n) {
    n = compare(cells, type, from, count, range, &p);
    for (uint64_t i = 0; i < n; i++)
      values[from + i] = p.in[i] == within ? (double)NAN : values[from + i];
  }
}
