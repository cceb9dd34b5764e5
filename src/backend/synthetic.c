/* Synthetic: parameters of the generator, and the bounds of a rank's shard. */
#include "backend/synthetic.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

/* The stride is the golden section of the dimension, which spreads neighbours most evenly. */
#define SPREAD 0.6180339887498949

/* The largest nnz for which the sum of squares fits in two words (synthetic.h). */
#define MAX_NNZ (UINT64_C(1) << 38)

static uint64_t common_divisor(uint64_t a, uint64_t b) {
  while (b != 0) {
    uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

static uint64_t stride_of(uint64_t dim) {
  uint64_t stride = (uint64_t)((double)dim * SPREAD);
  while (common_divisor(stride, dim) != 1)
    stride++;
  return stride;
}

amped_status amped_synthetic_make(amped_synthetic *t, int order, const uint64_t *dims, uint64_t nnz,
                                  int power, uint64_t codes, uint64_t seed) {
  memset(t, 0, sizeof *t);
  for (int m = 0; m < order; m++)
    if (dims[m] == 0 || dims[m] > AMPED_SYNTHETIC_MAX_DIM)
      return amped_error(AMPED_USAGE, NULL,
                         "mode %d has %" PRIu64 " indices; from 1 to 2^32 can be made, use a "
                         "smaller --scale",
                         m + 1, dims[m]);
  if (nnz == 0 || nnz > MAX_NNZ)
    return amped_error(AMPED_USAGE, NULL, "%" PRIu64 " nonzeros; from 1 to 2^38 can be made", nnz);
  t->order = order;
  t->power = power;
  t->nnz = nnz;
  t->codes = codes;
  for (int m = 0; m <= order; m++)
    t->keys[m] = amped_random_u64(seed, (uint64_t)m, 0);
  for (int m = 0; m < order; m++) {
    t->dims[m] = dims[m];
    t->strides[m] = stride_of(dims[m]);
  }
  return AMPED_OK;
}

static amped_status make_dictionary(const amped_synthetic *t, amped_dictionary *d) {
  if (t->codes == 0 || t->codes > AMPED_MAX_CODES)
    return AMPED_OK;
  AMPED_TRY(amped_alloc(&d->values, t->codes, sizeof *d->values, "the distinct values"));
  d->count = t->codes;
  for (uint64_t i = 0; i < t->codes; i++)
    d->values[i] = (double)(i + 1);
  return AMPED_OK;
}

amped_status amped_synthetic_info(const amped_synthetic *t, amped_tensor_info *info) {
  memset(info, 0, sizeof *info);
  info->order = t->order;
  info->nnz = t->nnz;
  info->value_type = AMPED_F32;
  info->has_copies = true;
  for (int m = 0; m < t->order; m++) {
    amped_partition *p = &info->partitions[m];
    info->dims[m] = t->dims[m];
    info->index_types[m] = amped_itype_for(t->dims[m]);
    p->dim = t->dims[m];
    p->width = amped_partition_width(p->dim);
    p->idp_count = amped_ceil_div(p->dim, p->width);
    AMPED_TRY(amped_calloc(&p->idp_nnz, p->idp_count, sizeof *p->idp_nnz, "the iDp tables"));
  }
  return make_dictionary(t, &info->dictionary);
}

void amped_synthetic_part(const amped_synthetic *t, int rank, int nranks, uint64_t *first,
                          uint64_t *count) {
  uint64_t each = amped_ceil_div(t->nnz, (uint64_t)nranks);
  uint64_t begin = each * (uint64_t)rank;
  *first = begin < t->nnz ? begin : t->nnz;
  *count = t->nnz - *first < each ? t->nnz - *first : each;
}

double amped_synthetic_sum(const amped_synthetic *t, amped_synthetic_squares sum) {
  double unit = amped_synthetic_unit(t);
  return ((double)sum.high * 0x1.0p24 + (double)sum.low) * unit * unit;
}

/* Counts an iDp's nonzeros among the counters first .. first+count. */
static amped_status count_idp(const amped_synthetic_shard *s, const amped_mode_plan *m,
                              uint64_t idp, uint64_t first, uint64_t count,
                              amped_synthetic_counter *counter, void *context, uint64_t *nnz) {
  uint64_t *bins = NULL;
  AMPED_TRY(amped_alloc(&bins, m->rows.idp_count, sizeof *bins, "the iDp tables"));
  amped_status status = counter(context, &s->tensor, s->mode, m->rows.width, first, count, bins);
  if (status == AMPED_OK)
    *nnz = bins[idp];
  amped_free(bins);
  return status;
}

/* Finds the least counter below which an iDp has `number` nonzeros. */
static amped_status find_bound(const amped_synthetic_shard *s, const amped_mode_plan *m,
                               uint64_t idp, uint64_t number, amped_synthetic_counter *counter,
                               void *context, uint64_t *bound) {
  uint64_t low = 0; /* fewer than `number` nonzeros, namely `below`, have a counter less than low */
  uint64_t below = 0;
  uint64_t high = s->tensor.nnz; /* at least `number` nonzeros have a counter less than high */
  *bound = number == 0 ? 0 : high;
  if (number == 0 || number == m->copy.idp_nnz[idp])
    return AMPED_OK;
  while (high - low > 1) {
    uint64_t middle = low + (high - low) / 2;
    uint64_t nnz = 0;
    AMPED_TRY(count_idp(s, m, idp, low, middle - low, counter, context, &nnz));
    if (below + nnz >= number) {
      high = middle;
    } else {
      below += nnz;
      low = middle;
    }
  }
  *bound = high;
  return AMPED_OK;
}

static amped_status find_bounds(amped_synthetic_shard *s, const amped_plan *plan,
                                amped_synthetic_counter *counter, void *context) {
  const amped_mode_plan *m = &plan->modes[s->mode];
  uint64_t first = 0;
  uint64_t end = 0;
  amped_plan_shared_idps(m, plan->rank, &first, &end);
  s->low_idp = s->high_idp = m->rows.idp_count;
  if (first == end)
    return AMPED_OK;
  s->low_idp = m->copy.splits[first].idp;
  s->high_idp = m->copy.splits[end - 1].idp;
  AMPED_TRY(find_bound(s, m, s->low_idp, m->copy.cuts[plan->rank] - m->copy.splits[first].first,
                       counter, context, &s->low_counter));
  return find_bound(s, m, s->high_idp, m->copy.cuts[plan->rank + 1] - m->copy.splits[end - 1].first,
                    counter, context, &s->high_counter);
}

amped_status amped_synthetic_shard_make(amped_synthetic_shard *s, const amped_synthetic *t,
                                        const amped_plan *plan, int mode,
                                        amped_synthetic_counter *counter, void *context) {
  int row_bits = amped_bits_for(plan->modes[mode].copy.output_rows);
  memset(s, 0, sizeof *s);
  s->tensor = *t;
  s->mode = mode;
  s->rows = plan->modes[mode].copy.row;
  s->key_bits = row_bits > 0 ? row_bits : 1;
  for (int m = 0; m < plan->order; m++) {
    amped_synthetic_mode *own = &s->modes[m];
    int bits = amped_bits_for(plan->modes[m].rows.positions);
    own->position = plan->modes[m].rows.position;
    own->width = (uint32_t)plan->modes[m].rows.width;
    if (m == mode)
      continue;
    own->key_bits = (uint8_t)(bits < 64 - s->key_bits ? bits : 64 - s->key_bits);
    own->dropped = (uint8_t)(bits - own->key_bits);
    s->key_bits += own->key_bits;
    s->row_shift += own->key_bits;
  }
  return find_bounds(s, plan, counter, context);
}
