/* Read options: the user's options about a text or table to be read. */
#ifndef AMPED_READ_OPTIONS_H
#define AMPED_READ_OPTIONS_H

#include "base/option.h"
#include "tensor/labels.h"
#include "tensor/overflow.h"
#include "text/axis_options.h"

typedef enum amped_index_base {
  AMPED_BASE_AUTO = -1,
  AMPED_BASE_0 = 0,
  AMPED_BASE_1 = 1
} amped_index_base;

/* Format of an input whose name does not show it: text, or a table with quotes or without. */
typedef enum amped_read_format {
  AMPED_READ_AUTO,
  AMPED_READ_TNS,
  AMPED_READ_CSV,
  AMPED_READ_TSV
} amped_read_format;

/* Meaning of the first line of a text that is not a comment. */
typedef enum amped_read_header {
  AMPED_HEADER_AUTO,
  AMPED_HEADER_NONE, /* nonzero */
  AMPED_HEADER_DIMS, /* dimensions */
  AMPED_HEADER_DIMS_NNZ
} amped_read_header;

typedef struct amped_read_options {
  amped_read_format format;
  amped_read_header header;    /* text only */
  amped_index_base index_base; /* text only */
  int dims_order;              /* 0: not given */
  uint64_t dims[AMPED_MAX_ORDER];
  const char *keys;            /* tables: comma-separated columns; NULL: all except `value` */
  const char *value;           /* tables: value column; NULL: each row counts 1 */
  const char *weights;         /* tables: column that is not a key, or NULL */
  bool are_weights;            /* the values are weights, which add up if a cell is repeated */
  bool reads_weights;          /* read `weights` as the values; the value column is not a key */
  char separator;              /* tables: character between cells; 0: guessed from the first row */
  bool no_header;              /* tables: columns are called 1, 2, 3, ... */
  const char *empty;           /* tables: label of empty keys; NULL: refused */
  bool skips_missing;          /* tables: leave out rows with an empty key or without a value */
  amped_text_list dates;       /* tables: COLUMN:PERIOD,... of time stamps */
  const char *same_labels;     /* tables: comma-separated keys that share labels, or NULL */
  amped_duplicates duplicates; /* the user's choice, or UNKNOWN; see amped_read_duplicates */
  bool known_modes; /* set by the program: the modes belong to a tensor, model or state */
  bool from_zero;   /* set by the program: a text that does not give its index base has 0 */
  int known_order;  /* set by the program: number of known modes; 0: not on this rank */
  /* Set by the program: periods and names of the known modes; names may be NULL, and are borrowed.
   */
  amped_period periods[AMPED_MAX_ORDER];
  const char *known_names[AMPED_MAX_ORDER];
  const amped_axis_options
      *axes;           /* set by the program: modes of a dense tensor; NULL: its file's */
  const char *dataset; /* set by the program: dataset of a dense tensor; NULL: the only one */
  bool may_be_empty;   /* set by the program: a file without nonzeros is accepted */
  const amped_overflow *overflow; /* set by the program; NULL: memory has no limit */
} amped_read_options;

extern const amped_option_group amped_dims_option_rows;       /* --dims */
extern const amped_option_group amped_duplicates_option_rows; /* --duplicates */
extern const amped_option_group amped_read_option_rows;       /* all other options for reading */

/* Policy for repeated coordinates: the user's choice, or SUM. Applied by code that orders nonzeros;
 * readers keep all. */
amped_duplicates amped_read_duplicates(const amped_read_options *options);

/* Set the options by which a second file is read like the known side: a tensor, a model or a state
 * with these labels, [order], whose names are borrowed; NULL: on another rank than 0, which does
 * not read. */
void amped_read_options_know(amped_read_options *options, int order, const amped_labels *labels);

/* Is an option given that only applies to tables? */
bool amped_read_options_of_table(const amped_read_options *options);

#endif
