/* Binsparse 0.1 descriptor: the JSON text that says what a coordinate list in HDF5 is.
 *
 * N-d COO is its "custom" format with one sparse level of rank N over "element". Readers disagree
 * on whether the keys stand at the top or in an object "binsparse": both are read, and what we
 * write has both. */
#ifndef AMPED_BINSPARSE_H
#define AMPED_BINSPARSE_H

#include "base/status.h"
#include "base/types.h"

typedef struct amped_binsparse {
  int order;
  uint64_t dims[AMPED_MAX_ORDER];
  uint64_t nnz;
  uint64_t index_base; /* 0 or 1 */
} amped_binsparse;

/* AMPED_BAD_INPUT, naming `path` and the key, for anything but an N-d COO tensor of order 3 to 8
 * with plain integer or float values. */
amped_status amped_binsparse_parse(const char *path, const char *text, amped_binsparse *out);

/* The descriptor of a tensor with index base 0; amped_alloc'd. */
amped_status amped_binsparse_text(const amped_binsparse *tensor, const amped_itype *index_types,
                                  amped_vtype value_type, char **out);

#endif
