/* Command options: what a user says to one of the commands convert, generate and info alone. */
#ifndef AMPED_COMMAND_OPTIONS_H
#define AMPED_COMMAND_OPTIONS_H

#include "base/option.h"
#include "tensor/sptensor.h"

/* Bytes that --memory asks for at least. */
#define AMPED_LEAST_MEMORY (UINT64_C(1) << 20)

typedef struct amped_convert_options {
  amped_duplicates duplicates;
  bool drop_zeros;
  bool no_copies;
  uint64_t memory;       /* 0: a share of what is free */
  const char *temporary; /* folder, or NULL: beside the output */
} amped_convert_options;

typedef struct amped_generate_options {
  int planted;  /* components of the model that values come from, 0: none */
  double noise; /* standard deviation over that of the model's values */
} amped_generate_options;

typedef struct amped_info_options {
  bool verify;
  bool system; /* of the system, not of a file; on all ranks */
} amped_info_options;

/* --duplicates, --drop-zeros, --copies, --memory, --temporary */
extern const amped_option_group amped_convert_option_rows;
extern const amped_option_group amped_generate_option_rows; /* --planted, --noise */
extern const amped_option_group amped_info_option_rows;     /* --verify, --system */

#endif
