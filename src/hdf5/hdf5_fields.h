/* Fields: members of a struct that a file holds as attributes of its root. A table declares each
 * field once: its name, its type, its place in the struct and its range. Writing, reading and
 * checking walk the table in its order.
 *
 * A list has one element for each mode: of integers it is an attribute, of real numbers a dataset
 * of the root. Host memory; not collective. */
#ifndef AMPED_HDF5_FIELDS_H
#define AMPED_HDF5_FIELDS_H

#include <float.h>
#include <stdbool.h>
#include <stddef.h>

#include "hdf5/hdf5_file.h"

/* Type of the member. */
typedef enum amped_field_type {
  AMPED_FIELD_COUNT, /* uint64_t */
  AMPED_FIELD_INT,   /* int or an enum */
  AMPED_FIELD_BOOL,
  AMPED_FIELD_REAL, /* double */
  AMPED_FIELD_TEXT  /* char *, read into memory of amped_alloc */
} amped_field_type;

/* Type and place of a member. */
typedef struct amped_field_at {
  amped_field_type type;
  size_t offset;
} amped_field_at;
#define AMPED_FIELD_AT(kind, record, member)                                                       \
  { AMPED_FIELD_##kind, offsetof(record, member) }

typedef struct amped_field {
  const char *name;
  amped_field_at at;
  bool is_list;
  double least, most; /* range of a number; most 0: any. An int with a negative `least` is stored
                         as its distance from it */
  bool is_optional;   /* may be missing in the file, and is 0 or NULL in memory then */
} amped_field;

/* Bounds of real numbers: finite, above 0, below 1. */
#define AMPED_FINITE DBL_MAX
#define AMPED_ABOVE_0 0x1p-1074
#define AMPED_BELOW_1 (1.0 - DBL_EPSILON / 2.0)

/* An element of a number's field as a word of 64 bits, and back: an integer, or the bits of a
 * double. mode: element of a list, otherwise 0. An int that is too large becomes INT32_MAX. */
uint64_t amped_field_word(const amped_field *field, const void *record, int mode);
void amped_field_set(const amped_field *field, int mode, uint64_t word, void *record);

/* Name of the first field that is out of its range, in a record of this order; NULL: none. */
const char *amped_fields_wrong(const amped_field *fields, size_t count, int order,
                               const void *record);

/* Write and read the fields. Reading accepts numbers out of their range. If it fails, the caller
 * still frees the texts, which are NULL at first. */
amped_status amped_fields_put(amped_hdf5 *file, const amped_field *fields, size_t count, int order,
                              const void *record);
amped_status amped_fields_get(amped_hdf5 *file, const amped_field *fields, size_t count, int order,
                              void *record);
void amped_fields_free(const amped_field *fields, size_t count, void *record);

#endif
