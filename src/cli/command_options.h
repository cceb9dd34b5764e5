/* Command options: options of a single command: convert, generate or info. */
#ifndef AMPED_COMMAND_OPTIONS_H
#define AMPED_COMMAND_OPTIONS_H

#include "base/option.h"
#include "base/types.h"
#include "load/dense_source.h"

/* The least value of --memory, in bytes. */
#define AMPED_LEAST_MEMORY (UINT64_C(1) << 20)

typedef struct amped_convert_options {
  bool drop_zeros;
  bool no_copies;
  bool compact;
  bool labels_sorted;
  bool sparse;                 /* write a dense tensor as a sparse one */
  amped_missing_cells missing; /* policy for missing cells of a dense input */
  uint64_t memory;             /* bytes; 0: a share of the free memory */
  const char *temporary;       /* folder; NULL: the output's */
} amped_convert_options;

typedef struct amped_generate_options {
  int planted;        /* components of the model that gives the values; 0: none */
  double observed;    /* share of the cells of a dense model that are drawn; 0: a sparse model */
  double factor_mean; /* mean of the factor entries of a dense model */
  double noise;       /* standard deviation, relative to the root mean square of the values */
  double collinear;   /* mean cosine of two columns of a dense model's factor; 0: not given */
  bool is_signed;     /* a dense model has normal entries, not positive ones */
} amped_generate_options;

typedef struct amped_info_options {
  bool verify;
  bool system; /* report the system, on all ranks, instead of a file */
} amped_info_options;

/* --drop-zeros, --copies, --compact, --label-order, --sparse, --nan, --memory, ... */
extern const amped_option_group amped_convert_option_rows;
extern const amped_option_group amped_generate_option_rows; /* --planted, --observed, ... */
extern const amped_option_group amped_info_option_rows;     /* --verify, --system */

#endif
