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

/* What the input is, where its name does not tell: text, or a table with quotes or without. */
typedef enum amped_read_format {
  AMPED_READ_AUTO,
  AMPED_READ_TNS,
  AMPED_READ_CSV,
  AMPED_READ_TSV
} amped_read_format;

/* What the first line of a text is that is no comment. */
typedef enum amped_read_header {
  AMPED_HEADER_AUTO,
  AMPED_HEADER_NONE, /* a nonzero */
  AMPED_HEADER_DIMS, /* the dimensions */
  AMPED_HEADER_DIMS_NNZ
} amped_read_header;

typedef struct amped_read_options {
  amped_read_format format;
  amped_read_header header;    /* text only */
  amped_index_base index_base; /* text only */
  int dims_order;              /* 0: not given */
  uint64_t dims[AMPED_MAX_ORDER];
  const char *keys;            /* tables: comma-separated columns, or NULL: all but `value` */
  const char *value;           /* tables: the value column, or NULL: each row counts 1 */
  const char *weights;         /* tables: a column that is no key, or NULL */
  bool reads_weights;          /* it is read in place of the value column, which is no key */
  char separator;              /* tables: between cells; 0: guessed from the first row */
  bool no_header;              /* tables: columns are called 1, 2, 3, ... */
  const char *empty;           /* tables: the label of empty keys, or NULL: refused */
  const char *same_labels;     /* tables: comma-separated keys of one set of labels, or NULL */
  amped_duplicates duplicates; /* as the user says, or UNKNOWN; amped_read_duplicates */
  bool known_modes;  /* not of the user: the modes are those of a tensor, model or state */
  bool from_zero;    /* not of the user: a text that does not say its index base has 0, not 1 */
  bool may_be_empty; /* not of the user: a file of no nonzeros is no error */
  const amped_overflow *overflow; /* not of the user; NULL: memory holds any number of nonzeros */
} amped_read_options;

extern const amped_option_group amped_dims_option_rows;       /* --dims */
extern const amped_option_group amped_duplicates_option_rows; /* --duplicates */
extern const amped_option_group amped_read_option_rows;       /* the others */

/* What is done with repeated coordinates: as the user says, else SUM. Not by readers, who keep all:
 * by those who order nonzeros. */
amped_duplicates amped_read_duplicates(const amped_read_options *options);

/* Is any option given? Do the options name something that tables alone have? */
bool amped_read_options_given(const amped_read_options *options);
bool amped_read_options_of_table(const amped_read_options *options);

#endif
