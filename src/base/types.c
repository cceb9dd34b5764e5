/* Numbers: checked arithmetic, and access to arrays of any element type. */
#include "base/types.h"

amped_itype amped_itype_for(uint64_t dim) {
  uint64_t last = dim > 0 ? dim - 1 : 0;
  if (last <= UINT8_MAX)
    return AMPED_U8;
  if (last <= UINT16_MAX)
    return AMPED_U16;
  if (last <= UINT32_MAX)
    return AMPED_U32;
  return AMPED_U64;
}

bool amped_mul(uint64_t a, uint64_t b, uint64_t *out) {
  if (b != 0 && a > UINT64_MAX / b)
    return false;
  *out = a * b;
  return true;
}

bool amped_add(uint64_t a, uint64_t b, uint64_t *out) {
  if (a > UINT64_MAX - b)
    return false;
  *out = a + b;
  return true;
}

uint64_t amped_ceil_div(uint64_t a, uint64_t b) {
  return a / b + (a % b != 0);
}

int amped_bits_for(uint64_t count) {
  int bits = 0;
  while (bits < 64 && count > 1 && (count - 1) >> bits != 0)
    bits++;
  return bits;
}

uint64_t amped_index_get(const void *array, amped_itype type, uint64_t i) {
  switch (type) {
  case AMPED_U8:
    return ((const uint8_t *)array)[i];
  case AMPED_U16:
    return ((const uint16_t *)array)[i];
  case AMPED_U32:
    return ((const uint32_t *)array)[i];
  case AMPED_U64:
    break;
  }
  return ((const uint64_t *)array)[i];
}

void amped_index_put(void *array, amped_itype type, uint64_t i, uint64_t v) {
  switch (type) {
  case AMPED_U8:
    ((uint8_t *)array)[i] = (uint8_t)v;
    break;
  case AMPED_U16:
    ((uint16_t *)array)[i] = (uint16_t)v;
    break;
  case AMPED_U32:
    ((uint32_t *)array)[i] = (uint32_t)v;
    break;
  case AMPED_U64:
    ((uint64_t *)array)[i] = v;
    break;
  }
}

double amped_value_get(const void *array, amped_vtype type, uint64_t i) {
  return type == AMPED_F32 ? (double)((const float *)array)[i] : ((const double *)array)[i];
}

void amped_value_put(void *array, amped_vtype type, uint64_t i, double v) {
  if (type == AMPED_F32)
    ((float *)array)[i] = (float)v;
  else
    ((double *)array)[i] = v;
}

/* One loop per type: compilers vectorise a loop if they know its type. */
#define GET_ALL(type)                                                                              \
  for (uint64_t i = 0; i < count; i++)                                                             \
  to[i] = ((const type *)array)[first + i]
#define PUT_ALL(type)                                                                              \
  for (uint64_t i = 0; i < count; i++)                                                             \
  ((type *)array)[first + i] = (type)from[i]

void amped_indices_get(const void *array, amped_itype type, uint64_t first, uint64_t count,
                       uint64_t *to) {
  switch (type) {
  case AMPED_U8:
    GET_ALL(uint8_t);
    break;
  case AMPED_U16:
    GET_ALL(uint16_t);
    break;
  case AMPED_U32:
    GET_ALL(uint32_t);
    break;
  case AMPED_U64:
    GET_ALL(uint64_t);
    break;
  }
}

void amped_indices_put(void *array, amped_itype type, uint64_t first, uint64_t count,
                       const uint64_t *from) {
  switch (type) {
  case AMPED_U8:
    PUT_ALL(uint8_t);
    break;
  case AMPED_U16:
    PUT_ALL(uint16_t);
    break;
  case AMPED_U32:
    PUT_ALL(uint32_t);
    break;
  case AMPED_U64:
    PUT_ALL(uint64_t);
    break;
  }
}

void amped_values_get(const void *array, amped_vtype type, uint64_t first, uint64_t count,
                      double *to) {
  if (type == AMPED_F32)
    GET_ALL(float);
  else
    GET_ALL(double);
}

void amped_values_put(void *array, amped_vtype type, uint64_t first, uint64_t count,
                      const double *from) {
  if (type == AMPED_F32)
    PUT_ALL(float);
  else
    PUT_ALL(double);
}
