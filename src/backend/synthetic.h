/* Synthetic: a tensor as a pure function of a counter, made in device memory and never on a disk.
 * bench times tensors of billions of nonzeros this way.
 *
 * Nonzero k has the index scatter(floor(dim * u^power)) in every mode, with u uniform on [0, 1) and
 * the bijection scatter(i) = i * stride mod dim. Coordinates may repeat (as in the papers'
 * prototypes). Values are uniform in (0, 1] (multiples of 2^-24), or counts 1 .. codes, with small
 * counts more frequent; float holds all of them exactly. Only integer arithmetic and products of
 * doubles are used: CPU, GPU and any number of ranks make the same tensor.
 *
 * A rank's shard of mode's copy is ordered by a 64-bit key, then by k. The key is the row of the
 * rank's MTTKRP result, then the positions in the input modes, ascending, with all the high bits
 * that fit. Nonzeros of split iDps (plan.h) are numbered in the order of k. */
#ifndef AMPED_SYNTHETIC_H
#define AMPED_SYNTHETIC_H

#include "plan/plan.h"
#include "base/random.h"

/* Bound that makes i * stride fit in 64 bits and an index in 32. */
#define AMPED_SYNTHETIC_MAX_DIM (UINT64_C(1) << 32)

#define AMPED_SYNTHETIC_UNIFORM 1
#define AMPED_SYNTHETIC_SKEWED 3

typedef struct amped_synthetic {
  int order;
  int power; /* 1: uniform */
  uint64_t dims[AMPED_MAX_ORDER];
  uint64_t strides[AMPED_MAX_ORDER]; /* coprime to dims */
  uint64_t nnz;
  uint64_t codes; /* values are counts 1 .. codes; 0: real */
  uint64_t keys[AMPED_MAX_ORDER +
                1]; /* keys of random numbers: a key for each mode, then one for values */
} amped_synthetic;

/* Check the numbers and set all members. AMPED_USAGE if a dimension or nnz is out of range. */
amped_status amped_synthetic_make(amped_synthetic *t, int order, const uint64_t *dims, uint64_t nnz,
                                  int power, uint64_t codes, uint64_t seed);

/* The facts that a plan needs, without counts: idp_nnz is zero; the caller fills in idp_nnz and
 * norm_squared (count_synthetic in backend.h). hash is 0. The caller frees the facts with
 * amped_tensor_info_free. */
amped_status amped_synthetic_info(const amped_synthetic *t, amped_tensor_info *info);

/* The range first .. first+count of counters that a rank counts. */
void amped_synthetic_part(const amped_synthetic *t, int rank, int nranks, uint64_t *first,
                          uint64_t *count);

/* floor(n * u^power), with 53 bits of a random number as u. */
AMPED_BOTH static inline uint64_t amped_synthetic_draw(uint64_t n, int power, uint64_t key,
                                                       uint64_t k) {
  double u = (double)(amped_mix64(k + key) >> 11) * 0x1.0p-53;
  double x = (double)n * u;
  for (int i = 1; i < power; i++)
    x *= u;
  uint64_t index = (uint64_t)x;
  return index < n ? index : n - 1;
}

AMPED_BOTH static inline uint64_t amped_synthetic_index(const amped_synthetic *t, int mode,
                                                        uint64_t k) {
  uint64_t i = amped_synthetic_draw(t->dims[mode], t->power, t->keys[mode], k);
  return i * t->strides[mode] % t->dims[mode];
}

/* The value of nonzero k in units of amped_synthetic_unit: at most 2^24. */
AMPED_BOTH static inline uint64_t amped_synthetic_units(const amped_synthetic *t, uint64_t k) {
  uint64_t key = t->keys[t->order];
  if (t->codes > 0)
    return 1 + amped_synthetic_draw(t->codes, AMPED_SYNTHETIC_SKEWED, key, k);
  return 1 + (amped_mix64(k + key) >> 40);
}

AMPED_BOTH static inline double amped_synthetic_unit(const amped_synthetic *t) {
  return t->codes > 0 ? 1.0 : 0x1.0p-24;
}

AMPED_BOTH static inline double amped_synthetic_value(const amped_synthetic *t, uint64_t k) {
  return (double)amped_synthetic_units(t, k) * amped_synthetic_unit(t);
}

/* Sum of squares of units, exact in any order of additions: high counts in units of 2^24. */
typedef struct amped_synthetic_squares {
  uint64_t high, low;
} amped_synthetic_squares;

AMPED_BOTH static inline void amped_synthetic_square(amped_synthetic_squares *sum, uint64_t units) {
  uint64_t square = units * units;
  sum->high += square >> 24;
  sum->low += square & ((UINT64_C(1) << 24) - 1);
}

double amped_synthetic_sum(const amped_synthetic *t, amped_synthetic_squares sum);

/* Tables of one mode that a shard needs. Pointers lead into the plan, or to copies of its tables on
 * a device. */
typedef struct amped_synthetic_mode {
  const uint64_t *position;
  uint32_t width;
  uint8_t key_bits; /* width of the position's field in the key */
  uint8_t dropped;  /* low bits of the position that do not fit in the key */
} amped_synthetic_mode;

/* Shard: a rank's nonzeros of one mode's copy. It has all nonzeros of the iDps with a row on this
 * rank. Exception: other ranks may hold a part of its first and last split iDp. */
typedef struct amped_synthetic_shard {
  amped_synthetic tensor;
  int mode;
  const uint64_t *rows; /* the plan's table of output rows */
  uint64_t low_idp;     /* the first split iDp: the shard begins at low_counter */
  uint64_t low_counter;
  uint64_t high_idp; /* the last split iDp: the shard ends before high_counter */
  uint64_t high_counter;
  int key_bits;  /* bits of the whole key: 1 .. 64 */
  int row_shift; /* shift of the row in the key: below 64 */
  amped_synthetic_mode modes[AMPED_MAX_ORDER];
} amped_synthetic_shard;

/* Function of the caller that counts nonzeros, as count_synthetic of amped_device_ops does. */
typedef amped_status amped_synthetic_counter(void *context, const amped_synthetic *t, int mode,
                                             uint64_t width, uint64_t first, uint64_t count,
                                             uint64_t *idp_nnz);

/* Make the shard of the plan's rank. If the rank has a part of a split iDp, the function calls
 * counter, for at most twice the number of all nonzeros. */
amped_status amped_synthetic_shard_make(amped_synthetic_shard *s, const amped_synthetic *t,
                                        const amped_plan *plan, int mode,
                                        amped_synthetic_counter *counter, void *context);

AMPED_BOTH static inline uint64_t amped_synthetic_position(const amped_synthetic_shard *s, int mode,
                                                           uint64_t k) {
  const amped_synthetic_mode *m = &s->modes[mode];
  uint32_t index = (uint32_t)amped_synthetic_index(&s->tensor, mode, k);
  uint32_t idp = index / m->width;
  return m->position[idp] + (index - idp * m->width);
}

/* Is nonzero k in the shard? *row = its row of the rank's MTTKRP result. */
AMPED_BOTH static inline bool amped_synthetic_row(const amped_synthetic_shard *s, uint64_t k,
                                                  uint64_t *row) {
  const amped_synthetic_mode *m = &s->modes[s->mode];
  uint32_t index = (uint32_t)amped_synthetic_index(&s->tensor, s->mode, k);
  uint32_t idp = index / m->width;
  uint64_t first = s->rows[idp];
  if (first == AMPED_NO_ROW || (idp == s->low_idp && k < s->low_counter) ||
      (idp == s->high_idp && k >= s->high_counter))
    return false;
  *row = first + (index - idp * m->width);
  return true;
}

AMPED_BOTH static inline uint64_t amped_synthetic_key(const amped_synthetic_shard *s, uint64_t row,
                                                      uint64_t k) {
  uint64_t key = row;
  for (int m = 0; m < s->tensor.order; m++)
    if (m != s->mode && s->modes[m].key_bits > 0)
      key = key << s->modes[m].key_bits | amped_synthetic_position(s, m, k) >> s->modes[m].dropped;
  return key;
}

#endif
