/* Numbers of AMPED: limits, the element types of indices and values, and checked size arithmetic.
 *
 * Counts, indices and byte sizes are uint64_t everywhere; int is used for modes (0 .. order-1),
 * components (0 .. ncomps-1) and MPI ranks only. Pure functions, no allocation. */
#ifndef AMPED_TYPES_H
#define AMPED_TYPES_H

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Marks inline functions that GPU code may call, too. */
#ifdef __CUDACC__
#define AMPED_BOTH __host__ __device__
#else
#define AMPED_BOTH
#endif

#define AMPED_MIN_ORDER 2
#define AMPED_MAX_ORDER 8
#define AMPED_MAX_NCOMPS 1024
#define AMPED_MAX_DIM (UINT64_C(1) << 63)

/* Unsigned integer types of stored indices. The value is the number of bytes. */
typedef enum amped_itype { AMPED_U8 = 1, AMPED_U16 = 2, AMPED_U32 = 4, AMPED_U64 = 8 } amped_itype;

/* Floating types of values and factors. The value is the number of bytes. */
typedef enum amped_vtype { AMPED_F32 = 4, AMPED_F64 = 8 } amped_vtype;

/* The narrowest type that holds 0 .. dim-1 (dim >= 1). */
amped_itype amped_itype_for(uint64_t dim);

/* out = a * b; a + b. Both return false, and do not change out, if 64 bits cannot hold the
 * result. */
bool amped_mul(uint64_t a, uint64_t b, uint64_t *out);
bool amped_add(uint64_t a, uint64_t b, uint64_t *out);

/* ceil(a / b), b > 0. */
uint64_t amped_ceil_div(uint64_t a, uint64_t b);

/* Bits that hold 0 .. count-1; 0 if count is 0 or 1. */
int amped_bits_for(uint64_t count);

/* get: element i of an array of the given type, widened. put: the narrowing store of v, which must
 * fit. */
uint64_t amped_index_get(const void *array, amped_itype type, uint64_t i);
void amped_index_put(void *array, amped_itype type, uint64_t i, uint64_t v);
double amped_value_get(const void *array, amped_vtype type, uint64_t i);
void amped_value_put(void *array, amped_vtype type, uint64_t i, double v);

/* Read and write elements first .. first + count - 1. */
void amped_indices_get(const void *array, amped_itype type, uint64_t first, uint64_t count,
                       uint64_t *to);
void amped_indices_put(void *array, amped_itype type, uint64_t first, uint64_t count,
                       const uint64_t *from);
void amped_values_get(const void *array, amped_vtype type, uint64_t first, uint64_t count,
                      double *to);
void amped_values_put(void *array, amped_vtype type, uint64_t first, uint64_t count,
                      const double *from);

#endif
