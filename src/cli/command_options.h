/* Command options: options of a single command: convert, generate or info. */
#ifndef AMPED_COMMAND_OPTIONS_H
#define AMPED_COMMAND_OPTIONS_H

#include "base/option.h"
#include "base/types.h"

/* The least value of --memory, in bytes. */
#define AMPED_LEAST_MEMORY (UINT64_C(1) << 20)

typedef struct amped_convert_options {
  bool drop_zeros;
  bool no_copies;
  bool compact;
  bool labels_sorted;
  bool sparse;           /* a dense tensor becomes a sparse one */
  bool nan_zero;         /* cells that are not finite become 0 */
  uint64_t memory;       /* bytes, 0: a share of the free memory */
  const char *temporary; /* folder, or NULL: beside the output */
} amped_convert_options;

typedef struct amped_generate_options {
  int planted;        /* components of the model that gives the values, 0: none */
  double observed;    /* share of the cells of a dense model, 0: blocks of a sparse one */
  double factor_mean; /* of a dense model */
  double noise;       /* standard deviation, relative to the model's values */
  double collinear;   /* cosine of two columns of a dense model; 0: not given */
  bool is_signed;     /* entries of a dense model */
} amped_generate_options;

typedef struct amped_info_options {
  bool verify;
  bool system; /* about the system instead of a file; on all ranks */
} amped_info_options;

/* --drop-zeros, --copies, --compact, --label-order, --sparse, --nan, --memory, ... */
extern const amped_option_group amped_convert_option_rows;
extern const amped_option_group amped_generate_option_rows; /* --planted, --observed, ... */
extern const amped_option_group amped_info_option_rows;     /* --verify, --system */

#endif
