/* Formats of tensors, by the suffix of a file's name, and the options of reading them. */
#ifndef AMPED_IO_FORMAT_H
#define AMPED_IO_FORMAT_H

#include "tensor/overflow.h"

typedef enum amped_index_base {
  AMPED_BASE_AUTO = -1,
  AMPED_BASE_0 = 0,
  AMPED_BASE_1 = 1
} amped_index_base;

typedef struct amped_read_options {
  amped_index_base index_base; /* text only */
  int dims_order;              /* 0: not given */
  uint64_t dims[AMPED_MAX_ORDER];
  const char *keys;               /* tables: comma-separated columns, or NULL: all but `value` */
  const char *value;              /* tables: the value column, or NULL: each row counts 1 */
  const amped_overflow *overflow; /* NULL: memory holds any number of nonzeros */
} amped_read_options;

typedef enum amped_format { AMPED_FORMAT_TNS, AMPED_FORMAT_TABLE, AMPED_FORMAT_HDF5 } amped_format;

/* The format of a file name, compression suffix ignored; AMPED_USAGE where the suffix is
 * unknown. */
amped_status amped_io_format(const char *path, amped_format *out);

/* Length of a path without the suffixes of its format and compression; the whole length where it
 * has neither. */
uint64_t amped_io_stem(const char *path);

#endif
