/* Sparse tensor: a coordinate list in host memory, before it becomes tensor copies.
 *
 * indices[m][k] is the index (from 0) of nonzero k in mode m; values[k] its value. Arrays come from
 * amped_alloc and belong to the struct. Functions are not collective and use all OpenMP threads. */
#ifndef AMPED_SPTENSOR_H
#define AMPED_SPTENSOR_H

#include <stdbool.h>
#include <string.h>

#include "base/kahan.h"
#include "tensor/duplicates.h"
#include "tensor/labels.h"
#include "base/random.h"
#include "base/sort.h"
#include "base/status.h"
#include "base/types.h"

typedef struct amped_sptensor {
  int order;
  uint64_t dims[AMPED_MAX_ORDER];
  uint64_t nnz;
  uint64_t *indices[AMPED_MAX_ORDER];
  double *values;
  amped_labels labels[AMPED_MAX_ORDER]; /* labels[m].count is 0 or dims[m] */
  amped_duplicates duplicates;          /* record of repeated coordinates */
} amped_sptensor;

/* Allocate the arrays of a tensor of this order and number of nonzeros; dims are 0. Free with
 * amped_sptensor_free. */
amped_status amped_sptensor_create(amped_sptensor *t, int order, uint64_t nnz);
void amped_sptensor_free(amped_sptensor *t);

/* Check order 2..8, 1 <= nnz, 1 <= dims, every index below its dimension, every value finite.
 * AMPED_BAD_INPUT otherwise; the line names the file `where`. */
amped_status amped_sptensor_validate(const amped_sptensor *t, const char *where);

/* Sort the nonzeros lexicographically by (mode, 0, 1, ... without mode). Stable. Takes 16 bytes of
 * workspace per nonzero. */
amped_status amped_sptensor_sort(amped_sptensor *t, int mode);

/* Find the order of the nonzeros in the copy of a mode; the nonzeros stay sorted by mode 0. Its key
 * is the index in that mode. a and b: workspace for all nonzeros, at least one (base/sort.h). */
amped_status amped_sptensor_order(const amped_sptensor *t, int mode, uint64_t *a, uint64_t *b,
                                  amped_order *out);

/* Merge duplicate coordinates of a tensor sorted by mode 0, by the rule `how`. *found = nonzeros
 * that repeat an earlier coordinate; t->duplicates does not change. */
amped_status amped_sptensor_merge(amped_sptensor *t, amped_duplicates how, const char *where,
                                  uint64_t *found);

/* Merge duplicate coordinates piece by piece, in the order of mode 0. The last nonzero that a call
 * leaves must be the first of the next piece. `group`, zeroed before the first piece, describes
 * this nonzero. */
typedef struct amped_sptensor_group {
  uint64_t count; /* nonzeros merged into one */
  long double total;
} amped_sptensor_group;
amped_status amped_sptensor_merge_piece(amped_sptensor *t, amped_duplicates how,
                                        amped_sptensor_group *group, const char *where,
                                        uint64_t *found);

/* Two steps of the merge. duplicates: count the nonzeros that repeat their predecessor; *first is
 * the first of them. refuse_duplicates: record the error that names the coordinate of nonzero
 * `first`, by its labels if it has any, and two lines of the input that contain it (lines NULL:
 * unknown). */
uint64_t amped_sptensor_duplicates(const amped_sptensor *t, uint64_t *first);
amped_status amped_sptensor_refuse_duplicates(const amped_sptensor *t, uint64_t first,
                                              uint64_t repeats, const uint64_t *lines,
                                              const char *where);

/* The number of stored zeros. */
uint64_t amped_sptensor_zeros(const amped_sptensor *t);

/* Remove stored zeros, keeping the order; *dropped = their number. */
void amped_sptensor_drop_zeros(amped_sptensor *t, uint64_t *dropped);

/* Nonzeros of a section. The norm is summed section by section, so that it does not depend on the
 * number of threads. */
#define AMPED_NORM_SECTION 65536

/* Squared Frobenius norm of a tensor sorted by any mode; equal coordinates count once, with the sum
 * of their values. Compensated summation: the same for any number of threads. */
double amped_sptensor_norm_squared(const amped_sptensor *t);
amped_kahan
amped_sptensor_squares(const amped_sptensor *t); /* the same before rounding to double */

/* Hash of the set of nonzeros: the sum modulo 2^64 of amped_nonzero_hash over the nonzeros. It does
 * not depend on their order, so every tensor copy has the same hash. dims are not part of it. */
uint64_t amped_sptensor_hash(const amped_sptensor *t);
uint64_t amped_nonzero_hash(int order, const uint64_t *index, double value);

/* The steps of a nonzero's hash: first its value, then the index of one mode after the other. */
AMPED_BOTH static inline uint64_t amped_hash_value(double value) {
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof bits);
  return amped_mix64(bits);
}
AMPED_BOTH static inline uint64_t amped_hash_index(uint64_t hash, uint64_t index) {
  return amped_mix64(hash ^ index);
}

/* Does every value survive a conversion to float and back? */
bool amped_sptensor_fits_float(const amped_sptensor *t);

/* The four facts zeros, hash, norm and fits_float of a tensor sorted by any mode, found together:
 * memory is read once. */
typedef struct amped_sptensor_facts {
  uint64_t zeros;
  uint64_t hash;
  double norm_squared;
  bool fits_float;
} amped_sptensor_facts;
amped_sptensor_facts amped_sptensor_facts_of(const amped_sptensor *t);

#endif
