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

uint64_t amped_cells_not_finite(const void *cells, amped_cell_type type, uint64_t count) {
  if (amped_cell_is_integer(type))
    return count;
  for (uint64_t i = 0; i < count; i++) {
    double x = 0.0;
    amped_cells_get(cells, type, i, 1, &x);
    if (!isfinite(x))
      return i;
  }
  return count;
}
