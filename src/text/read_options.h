/* Read options: what a user says of a text or table that is read. */
#ifndef AMPED_READ_OPTIONS_H
#define AMPED_READ_OPTIONS_H

#include "base/option.h"
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
  const amped_overflow *overflow; /* not of the user; NULL: memory holds any number of nonzeros */
} amped_read_options;

extern const amped_option_group amped_dims_option_rows; /* --dims */
extern const amped_option_group amped_read_option_rows; /* --index-base, --keys, --value */

#endif
