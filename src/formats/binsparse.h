/* Binsparse 0.1 descriptor: the JSON text that describes a coordinate list in HDF5.
 *
 * An N-d COO tensor has the "custom" format, with one sparse level of rank N over "element". A
 * matrix may have the format "COO" or "COOR" instead.
 * Readers disagree on the place of the keys: at the top or in an object "binsparse". We read both
 * forms, and our text has the keys in both places. Readers also disagree on the version: some parse
 * it as major.minor.patch, so "0.1.0" is written; any version 0 is read. */
#ifndef AMPED_BINSPARSE_H
#define AMPED_BINSPARSE_H

#include <stdbool.h>

#include "base/status.h"
#include "base/types.h"

typedef struct amped_binsparse {
  int order;
  uint64_t dims[AMPED_MAX_ORDER];
  uint64_t nnz;        /* 0 or more */
  uint64_t index_base; /* 0 or 1 */
  bool has_fill;       /* absent elements have the value in the dataset fill_value, not zero */
} amped_binsparse;

/* Parse a descriptor. AMPED_BAD_INPUT, with `path` and the key, unless it describes an N-d COO
 * tensor of order 2 to 8 with plain integer or float values. */
amped_status amped_binsparse_parse(const char *path, const char *text, amped_binsparse *out);

/* Write the descriptor of a tensor with index base 0; the caller frees it with amped_free. */
amped_status amped_binsparse_text(const amped_binsparse *tensor, const amped_itype *index_types,
                                  amped_vtype value_type, char **out);

#endif
