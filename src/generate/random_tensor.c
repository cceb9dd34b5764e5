/* Random tensors: drawing distinct coordinates.
 *
 * Rejection-inversion (Hoermann and Derflinger 1996) draws from Zipf's law: exact, in constant
 * time, without tables, for dimensions of any size. After a rejection, the index uses further draws
 * of the same counter, so counters stay independent. */
#include "generate/random_tensor.h"

#include <math.h>

#include "backend/synthetic.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/system_memory.h"
#include "base/random.h"

/* Streams of random numbers are numbered by purpose, mode and attempt. */
enum { STREAM_INDEX = 1, STREAM_SCATTER, STREAM_VALUE };

/* Most nonzeros. Their counters, up to MAX_DRAWS times larger, are stored as doubles in place of
 * values while nonzeros are drawn. */
#define MAX_NNZ (UINT64_C(1) << 48)

/* Limit of draws: MAX_DRAWS per requested nonzero, and MORE_DRAWS in addition. If the draws do not
 * suffice, the skew is too strong. */
#define MAX_DRAWS 64
#define MORE_DRAWS (UINT64_C(1) << 20)

#define DRAW_CHUNK (UINT64_C(1) << 22)
#define BINS 1024

static uint64_t stream_of(int purpose, int mode, uint64_t attempt) {
  return (uint64_t)purpose << 56 | (uint64_t)mode << 48 | attempt;
}

static int bit_length(uint64_t v) {
  return v == 0 ? 0 : 64 - __builtin_clzll(v);
}

/* A Feistel network on the smallest even number of bits that holds dim-1. It is repeated until the
 * result is below dim: in the worst case four times on average. */
uint64_t amped_random_tensor_scatter(uint64_t dim, uint64_t key, uint64_t i) {
  int half = (bit_length(dim - 1) + 1) / 2;
  uint64_t mask = (UINT64_C(1) << half) - 1;
  if (dim <= 1)
    return 0;
  do {
    uint64_t left = i >> half;
    uint64_t right = i & mask;
    for (uint64_t round = 0; round < 4; round++) {
      uint64_t next = left ^ (amped_mix64(amped_mix64(key + round) ^ right) & mask);
      left = right;
      right = next;
    }
    i = left << half | right;
  } while (i >= dim);
  return i;
}

/* Distribution of the indices of one mode. */
typedef struct law {
  uint64_t dim;
  int mode;
  uint64_t seed;
  uint64_t key; /* key of the scatter */
  double skew;
  double power;
  /* Zipf: H at both ends of the range, and width of the part accepted without a test */
  double h_first;
  double h_last;
  double accept;
} law;

/* expm1(x)/x and log1p(x)/x, continuous at 0. */
static double expm1_over(double x) {
  return fabs(x) > 1e-8 ? expm1(x) / x : 1.0 + x / 2.0;
}

static double log1p_over(double x) {
  return fabs(x) > 1e-8 ? log1p(x) / x : 1.0 - x / 2.0;
}

/* H, an integral of x^-s, and its inverse; s = 1 (the logarithm) needs no special case. */
static double zipf_integral(double s, double x) {
  double log_x = log(x);
  return expm1_over((1.0 - s) * log_x) * log_x;
}

static double zipf_inverse(double s, double y) {
  double t = (1.0 - s) * y;
  return exp(log1p_over(t > -1.0 ? t : -1.0) * y);
}

static law law_of(const amped_random_tensor_spec *spec, int mode) {
  law l = {.dim = spec->dims[mode],
           .mode = mode,
           .seed = spec->seed,
           .key = amped_random_u64(spec->seed, stream_of(STREAM_SCATTER, mode, 0), 0),
           .skew = spec->skew[mode],
           .power = spec->power};
  double s = l.skew;
  if (s > 0.0) {
    l.h_first = zipf_integral(s, 1.5) - 1.0;
    l.h_last = zipf_integral(s, (double)l.dim + 0.5);
    l.accept = 2.0 - zipf_inverse(s, zipf_integral(s, 2.5) - pow(2.0, -s));
  }
  return l;
}

/* Integer part of x as an index below dim. */
static uint64_t index_below(double x, uint64_t dim) {
  return x < (double)dim && (uint64_t)x < dim ? (uint64_t)x : dim - 1;
}

static uint64_t draw_uniform(const law *l, uint64_t counter) {
  for (uint64_t attempt = 0;; attempt++) {
    uint64_t r = amped_random_u64(l->seed, stream_of(STREAM_INDEX, l->mode, attempt), counter);
    unsigned __int128 product = (unsigned __int128)r * l->dim;
    /* Lemire's test: without it some indices of a huge mode would be twice as likely. */
    if ((uint64_t)product >= -l->dim % l->dim)
      return (uint64_t)(product >> 64);
  }
}

static uint64_t draw_zipf(const law *l, uint64_t counter) {
  for (uint64_t attempt = 0;; attempt++) {
    double u = amped_random_double(l->seed, stream_of(STREAM_INDEX, l->mode, attempt), counter);
    double y = l->h_last + u * (l->h_first - l->h_last);
    double x = zipf_inverse(l->skew, y);
    double k = floor(x + 0.5);
    k = k < 1.0 ? 1.0 : k;
    k = k > (double)l->dim ? (double)l->dim : k;
    if (k - x <= l->accept || y >= zipf_integral(l->skew, k + 0.5) - pow(k, -l->skew))
      return index_below(k - 1.0, l->dim);
  }
}

static uint64_t draw_index(const law *l, uint64_t counter) {
  if (l->power > 0.0) {
    double u = amped_random_double(l->seed, stream_of(STREAM_INDEX, l->mode, 0), counter);
    uint64_t i = index_below((double)l->dim * pow(u, l->power), l->dim);
    return amped_random_tensor_scatter(l->dim, l->key, i);
  }
  if (l->skew > 0.0)
    return amped_random_tensor_scatter(l->dim, l->key, draw_zipf(l, counter));
  return draw_uniform(l, counter);
}

static bool resize(amped_sptensor *t, uint64_t capacity, amped_status *status) {
  for (int m = 0; m < t->order && *status == AMPED_OK; m++)
    *status = amped_realloc(&t->indices[m], capacity, sizeof(uint64_t), "random indices");
  if (*status == AMPED_OK)
    *status = amped_realloc(&t->values, capacity, sizeof(double), "random values");
  return *status == AMPED_OK;
}

/* Append the nonzeros with counters first .. first+count; their values hold the counters. */
static void draw(amped_sptensor *t, const law *laws, uint64_t first, uint64_t count) {
  for (uint64_t begin = 0; begin < count; begin += DRAW_CHUNK) {
    uint64_t end = count - begin < DRAW_CHUNK ? count : begin + DRAW_CHUNK;
#pragma omp parallel for schedule(static)
    for (uint64_t i = begin; i < end; i++) {
      for (int m = 0; m < t->order; m++)
        t->indices[m][t->nnz + i] = draw_index(&laws[m], first + i);
      t->values[t->nnz + i] = (double)(first + i);
    }
    amped_progress_update(first + end);
  }
  t->nnz += count;
}

/* Predicate: does nonzero k stay, given the last nonzero that stays, if any? Called in order. */
typedef bool keep_fn(const amped_sptensor *t, bool any, uint64_t last, uint64_t k, double limit);

static bool is_new(const amped_sptensor *t, bool any, uint64_t last, uint64_t k, double limit) {
  (void)limit;
  for (int m = 0; m < t->order; m++)
    if (t->indices[m][last] != t->indices[m][k])
      return true;
  return !any;
}

static bool is_early(const amped_sptensor *t, bool any, uint64_t last, uint64_t k, double limit) {
  (void)any;
  (void)last;
  return t->values[k] <= limit;
}

static void compact(amped_sptensor *t, keep_fn *keep, double limit) {
  uint64_t kept = 0;
  for (uint64_t k = 0; k < t->nnz; k++)
    if (keep(t, kept > 0, kept > 0 ? kept - 1 : 0, k, limit)) {
      for (int m = 0; m < t->order; m++)
        t->indices[m][kept] = t->indices[m][k];
      t->values[kept++] = t->values[k];
    }
  t->nnz = kept;
}

/* Returns the counter of the nonzero that is number `wanted` (from 1) in the order of counters.
 * Uses histograms of ever smaller ranges. All counters are distinct and below `drawn`. */
static uint64_t counter_of(const amped_sptensor *t, uint64_t wanted, uint64_t drawn) {
  uint64_t low = 0;
  uint64_t span = drawn;
  while (span > 1) {
    uint64_t width = amped_ceil_div(span, BINS);
    uint64_t bins[BINS] = {0};
#pragma omp parallel for schedule(static) reduction(+ : bins[:BINS])
    for (uint64_t k = 0; k < t->nnz; k++) {
      uint64_t c = (uint64_t)t->values[k];
      if (c >= low && c - low < span)
        bins[(c - low) / width]++;
    }
    uint64_t b = 0;
    while (wanted > bins[b])
      wanted -= bins[b++];
    low += b * width;
    span = width;
  }
  return low;
}

/* Number of draws for the next round: slightly more than needed at the last round's rate of new
 * coordinates. It is limited, so that memory never holds more than twice the tensor. */
static uint64_t next_draws(uint64_t nnz, uint64_t have, uint64_t fresh, uint64_t last) {
  uint64_t missing = nnz - have;
  if (last == 0)
    return nnz + nnz / 32 + 64;
  double draws = fresh > 0 ? 1.25 * (double)missing * (double)last / (double)fresh : (double)nnz;
  return draws < (double)nnz ? (uint64_t)draws + 64 : nnz + 64;
}

static amped_status draw_distinct(const amped_random_tensor_spec *spec, const law *laws,
                                  amped_sptensor *t) {
  amped_status status = AMPED_OK;
  uint64_t limit = spec->nnz * MAX_DRAWS + MORE_DRAWS;
  uint64_t drawn = 0;
  uint64_t fresh = 0;
  uint64_t last = 0;
  while (t->nnz < spec->nnz) {
    uint64_t before = t->nnz;
    uint64_t count = next_draws(spec->nnz, t->nnz, fresh, last);
    if (count > limit - drawn)
      count = limit - drawn;
    if (count == 0)
      return amped_error(AMPED_USAGE, NULL,
                         "%" PRIu64 " draws gave %" PRIu64
                         " distinct nonzeros; lower --skew or --nnz, or enlarge --dims",
                         drawn, t->nnz);
    if (!resize(t, t->nnz + count, &status))
      return status;
    draw(t, laws, drawn, count);
    drawn += count;
    AMPED_TRY(amped_sptensor_sort(t, 0));
    compact(t, is_new, 0.0);
    fresh = t->nnz - before;
    last = count;
  }
  if (t->nnz > spec->nnz)
    compact(t, is_early, (double)counter_of(t, spec->nnz, drawn));
  return AMPED_OK;
}

amped_status amped_random_tensor_check_memory(int order, uint64_t nnz) {
  if (nnz > MAX_NNZ)
    return amped_error(AMPED_FAILED, NULL,
                       "%" PRIu64 " nonzeros are more than memory can hold; lower --observed", nnz);
  /* Bytes of the arrays for 33/32 nnz, and of the scratch for sorting; skew can double this. */
  uint64_t bytes = nnz * (8 * (uint64_t)order + 8 + 24) / 32 * 33;
  uint64_t available = amped_mem_available();
  char need[32];
  char have[32];
  if (available == 0 || bytes <= available)
    return AMPED_OK;
  return amped_error(AMPED_FAILED, NULL,
                     "%" PRIu64 " nonzeros need %s of memory and %s are available; lower "
                     "--nnz, --scale or --observed",
                     nnz, amped_format_bytes(need, bytes), amped_format_bytes(have, available));
}

amped_status amped_random_tensor_check_dims(int order, const uint64_t *dims) {
  if (order < AMPED_MIN_ORDER || order > AMPED_MAX_ORDER)
    return amped_error(AMPED_USAGE, NULL, "a tensor of %d modes; give %d to %d dimensions", order,
                       AMPED_MIN_ORDER, AMPED_MAX_ORDER);
  for (int m = 0; m < order; m++)
    if (dims[m] == 0 || dims[m] > AMPED_MAX_DIM)
      return amped_error(AMPED_USAGE, NULL,
                         "dimension %" PRIu64 " of mode %d; dimensions are 1 to 2^63", dims[m],
                         m + 1);
  return AMPED_OK;
}

amped_status amped_random_tensor_check(int order, const uint64_t *dims, uint64_t nnz) {
  uint64_t cells = 1;
  bool huge = false;
  AMPED_TRY(amped_random_tensor_check_dims(order, dims));
  for (int m = 0; m < order; m++)
    huge = huge || !amped_mul(cells, dims[m], &cells);
  if (nnz == 0 || nnz > MAX_NNZ)
    return amped_error(AMPED_USAGE, NULL, "%" PRIu64 " nonzeros; give --nnz from 1 to 2^48", nnz);
  if (!huge && nnz > cells / 2)
    return amped_error(AMPED_USAGE, NULL,
                       "%" PRIu64 " nonzeros in %" PRIu64
                       " cells; at most half of the cells can be nonzeros: lower --nnz or enlarge "
                       "--dims",
                       nnz, cells);
  return amped_random_tensor_check_memory(order, nnz);
}

/* Value of nonzero number c. */
static double value_of(const amped_random_tensor_spec *spec, uint64_t c) {
  uint64_t r = amped_random_u64(spec->seed, stream_of(STREAM_VALUE, 0, 0), c);
  if (spec->codes > 0)
    return 1.0 + (double)amped_synthetic_draw(spec->codes, AMPED_SYNTHETIC_SKEWED, r, 0);
  return (double)((r >> 40) + 1) * 0x1.0p-24;
}

amped_status amped_random_tensor_create(const amped_random_tensor_spec *spec, amped_sptensor *out) {
  amped_status status = AMPED_OK;
  law laws[AMPED_MAX_ORDER];
  AMPED_TRY(amped_random_tensor_check(spec->order, spec->dims, spec->nnz));
  for (int m = 0; m < spec->order; m++) {
    if (!(spec->skew[m] >= 0.0 && spec->skew[m] <= AMPED_RANDOM_TENSOR_MAX_SKEW))
      return amped_error(AMPED_USAGE, NULL, "skew %g of mode %d; give 0 to %g", spec->skew[m],
                         m + 1, AMPED_RANDOM_TENSOR_MAX_SKEW);
    laws[m] = law_of(spec, m);
  }
  AMPED_TRY(amped_sptensor_create(out, spec->order, 0));
  out->duplicates = AMPED_DUPLICATES_NONE;
  for (int m = 0; m < spec->order; m++)
    out->dims[m] = spec->dims[m];
  amped_progress_begin("drawing", 0, "nonzeros");
  status = draw_distinct(spec, laws, out);
  amped_progress_end();
  if (status != AMPED_OK) {
    amped_sptensor_free(out);
    return status;
  }
#pragma omp parallel for schedule(static)
  for (uint64_t k = 0; k < out->nnz; k++)
    out->values[k] = value_of(spec, (uint64_t)out->values[k]);
  return AMPED_OK;
}
