/* Sparse tensor: checks, sorting, merging, norms and hashes of a coordinate list. */
#include "tensor/sptensor.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/kahan.h"
#include "base/mem.h"
#include "base/random.h"
#include "tensor/format.h"

/* Nonzeros summed or compared at a time. */
#define SECTION AMPED_NORM_SECTION

/* Sections whose sums are on the stack at a time. */
#define BATCH 256

amped_status amped_sptensor_create(amped_sptensor *t, int order, uint64_t nnz) {
  amped_status status = AMPED_OK;
  memset(t, 0, sizeof *t);
  if (order < 1 || order > AMPED_MAX_ORDER)
    return amped_error(AMPED_BAD_INPUT, NULL, "a tensor of order %d; orders %d to %d are supported",
                       order, AMPED_MIN_ORDER, AMPED_MAX_ORDER);
  t->order = order;
  t->nnz = nnz;
  for (int m = 0; m < order; m++)
    AMPED_GO(fail, amped_alloc(&t->indices[m], nnz, sizeof(uint64_t), "indices"));
  AMPED_GO(fail, amped_alloc(&t->values, nnz, sizeof(double), "values"));
  return AMPED_OK;
fail:
  amped_sptensor_free(t);
  return status;
}

void amped_sptensor_free(amped_sptensor *t) {
  for (int m = 0; m < AMPED_MAX_ORDER; m++) {
    amped_free(t->indices[m]);
    amped_labels_free(&t->labels[m]);
  }
  amped_free(t->values);
  memset(t, 0, sizeof *t);
}

static amped_status validate_shape(const amped_sptensor *t, const char *where) {
  if (t->order < AMPED_MIN_ORDER || t->order > AMPED_MAX_ORDER)
    return amped_error(AMPED_BAD_INPUT, where,
                       "has %d mode%s; tensors of %d to %d modes can be decomposed", t->order,
                       t->order == 1 ? "" : "s", AMPED_MIN_ORDER, AMPED_MAX_ORDER);
  if (t->nnz == 0)
    return amped_error(AMPED_BAD_INPUT, where, "has no nonzeros; give a tensor that has some");
  for (int m = 0; m < t->order; m++) {
    if (t->dims[m] == 0 || t->dims[m] > AMPED_MAX_DIM)
      return amped_error(AMPED_BAD_INPUT, where,
                         "mode %d has dimension %" PRIu64 "; dimensions are 1 to 2^63", m + 1,
                         t->dims[m]);
    if (t->labels[m].count != 0 && t->labels[m].count != t->dims[m])
      return amped_error(AMPED_BAD_INPUT, where,
                         "mode %d has %" PRIu64 " labels for %" PRIu64
                         " indices; label all of them or none",
                         m + 1, t->labels[m].count, t->dims[m]);
  }
  return AMPED_OK;
}

static bool nonzero_is_valid(const amped_sptensor *t, uint64_t k) {
  for (int m = 0; m < t->order; m++)
    if (t->indices[m][k] >= t->dims[m])
      return false;
  return isfinite(t->values[k]);
}

amped_status amped_sptensor_validate(const amped_sptensor *t, const char *where) {
  uint64_t bad = UINT64_MAX;
  AMPED_TRY(validate_shape(t, where));
#pragma omp parallel for schedule(static) reduction(min : bad)
  for (uint64_t k = 0; k < t->nnz; k++)
    if (k < bad && !nonzero_is_valid(t, k))
      bad = k;
  if (bad == UINT64_MAX)
    return AMPED_OK;
  for (int m = 0; m < t->order; m++)
    if (t->indices[m][bad] >= t->dims[m])
      return amped_error(AMPED_BAD_INPUT, where,
                         "nonzero %" PRIu64 " has index %" PRIu64
                         " (from 0) in mode %d, whose dimension is %" PRIu64
                         "; correct the index or the dimension",
                         bad + 1, t->indices[m][bad], m + 1, t->dims[m]);
  return amped_error(AMPED_BAD_INPUT, where,
                     "nonzero %" PRIu64 " has the value %g; values must be finite", bad + 1,
                     t->values[bad]);
}

/* The modes in the order of comparison of a copy for mode `first`. */
static void compare_order(int order, int first, int *modes) {
  int n = 0;
  modes[n++] = first;
  for (int m = 0; m < order; m++)
    if (m != first)
      modes[n++] = m;
}

static bool ascends(const amped_sptensor *t, const int *modes, uint64_t a, uint64_t b) {
  for (int i = 0; i < t->order; i++) {
    const uint64_t *index = t->indices[modes[i]];
    if (index[a] != index[b])
      return index[a] < index[b];
  }
  return true;
}

static bool is_sorted(const amped_sptensor *t, int mode) {
  int modes[AMPED_MAX_ORDER];
  int sorted = 1;
  uint64_t sections = amped_ceil_div(t->nnz, SECTION);
  compare_order(t->order, mode, modes);
#pragma omp parallel for schedule(dynamic) if (sections > 1)
  for (uint64_t b = 0; b < sections; b++) {
    int go_on;
#pragma omp atomic read
    go_on = sorted;
    uint64_t begin = b > 0 ? b * SECTION : 1;
    uint64_t end = b + 1 < sections ? (b + 1) * SECTION : t->nnz;
    bool fine = true;
    for (uint64_t k = begin; go_on && fine && k < end; k++)
      fine = ascends(t, modes, k - 1, k);
    if (!fine) {
#pragma omp atomic write
      sorted = 0;
    }
  }
  return sorted != 0;
}

/* The number of modes 0, 1, ... in the key, in addition to the mode sorted by. A stable sort can
 * leave out modes that are in order already: in the copy of mode c, nonzeros that agree in (the
 * sort mode, 0 .. c-1) are in the order of c, c+1, ... */
static int key_modes(const amped_sptensor *t) {
  for (int c = 0; c < t->order; c++)
    if (is_sorted(t, c))
      return c;
  return t->order;
}

amped_status amped_sptensor_sort(amped_sptensor *t, int mode) {
  amped_sort_field fields[AMPED_MAX_ORDER];
  void *arrays[AMPED_MAX_ORDER + 1];
  int modes[AMPED_MAX_ORDER];
  int nfields = 0;
  if (t->nnz < 2 || is_sorted(t, mode))
    return AMPED_OK;
  int limit = key_modes(t);
  compare_order(t->order, mode, modes);
  for (int i = 0; i < t->order; i++) {
    const uint64_t *index = t->indices[modes[i]];
    if (i == 0 || modes[i] < limit)
      fields[nfields++] =
          (amped_sort_field){.values = index, .bits = amped_sort_bits(index, t->nnz)};
    arrays[i] = t->indices[i];
  }
  arrays[t->order] = t->values;
  return amped_sort(t->nnz, fields, nfields, 0, arrays, t->order + 1);
}

/* A stable sort by the index alone suffices: nonzeros with equal index keep the order of the other
 * modes. */
amped_status amped_sptensor_order(const amped_sptensor *t, int mode, uint64_t *a, uint64_t *b,
                                  amped_order *out) {
  const uint64_t last = t->dims[mode] - 1;
  const amped_sort_field field = {t->indices[mode], amped_sort_bits(&last, 1)};
  return amped_sort_order(t->nnz, &field, 1, a, b, out);
}

static bool same_coordinate(const amped_sptensor *t, uint64_t a, uint64_t b) {
  for (int m = 0; m < t->order; m++)
    if (t->indices[m][a] != t->indices[m][b])
      return false;
  return true;
}

static void move_nonzero(amped_sptensor *t, uint64_t to, uint64_t from) {
  for (int m = 0; m < t->order; m++)
    t->indices[m][to] = t->indices[m][from];
  t->values[to] = t->values[from];
}

/* Bytes of a coordinate as text; longer labels and names are cut. */
#define COORDINATE_BYTES 1024
#define LABEL_BYTES 64

/* Writes (3, 1, 4), indices from 1 as in text files, or (user "ann", item "tea", 4). */
static const char *coordinate_text(const amped_sptensor *t, uint64_t k, char *buffer, size_t size) {
  char name[LABEL_BYTES];
  char label[LABEL_BYTES];
  size_t used = 0;
  for (int m = 0; m < t->order && used < size; m++) {
    const amped_labels *labels = &t->labels[m];
    const char *quote = labels->count > 0 ? "\"" : "";
    used += (size_t)snprintf(
        buffer + used, size - used, "%s%s%s%s%s%s", m > 0 ? ", " : "(",
        amped_format_name(name, sizeof name, labels), labels->name != NULL ? " " : "", quote,
        amped_label_text(labels, t->indices[m][k], label, sizeof label), quote);
  }
  if (used < size)
    (void)snprintf(buffer + used, size - used, ")");
  return buffer;
}

/* The value of a group of nonzeros, `merged` so far, with one more. */
static double join(amped_duplicates how, amped_sptensor_group *group, double merged, double value) {
  group->count++;
  group->total += (long double)value;
  if (how == AMPED_DUPLICATES_LAST)
    return value;
  if (how == AMPED_DUPLICATES_MEAN)
    return (double)(group->total / (long double)group->count);
  return merged + value;
}

static amped_status join_duplicates(amped_sptensor *t, amped_duplicates how,
                                    amped_sptensor_group *group, const char *where) {
  char text[COORDINATE_BYTES];
  uint64_t last = 0;
  for (uint64_t k = 1; k < t->nnz; k++) {
    if (!same_coordinate(t, last, k)) {
      move_nonzero(t, ++last, k);
      *group = (amped_sptensor_group){1, t->values[last]};
      continue;
    }
    t->values[last] = join(how, group, t->values[last], t->values[k]);
    if (!isfinite(t->values[last]))
      return amped_error(AMPED_BAD_INPUT, where,
                         "the values at %s add up to infinity; scale the values down",
                         coordinate_text(t, k, text, sizeof text));
  }
  t->nnz = last + 1;
  return AMPED_OK;
}

uint64_t amped_sptensor_duplicates(const amped_sptensor *t, uint64_t *out) {
  uint64_t repeats = 0;
  uint64_t first = UINT64_MAX;
#pragma omp parallel for schedule(static) reduction(+ : repeats) reduction(min : first)
  for (uint64_t k = 1; k < t->nnz; k++)
    if (same_coordinate(t, k - 1, k)) {
      repeats++;
      first = k < first ? k : first;
    }
  *out = first;
  return repeats;
}

amped_status amped_sptensor_refuse_duplicates(const amped_sptensor *t, uint64_t first,
                                              uint64_t repeats, const uint64_t *lines,
                                              const char *where) {
  char text[COORDINATE_BYTES];
  char at[64] = "";
  if (lines != NULL)
    (void)snprintf(at, sizeof at, " in lines %" PRIu64 " and %" PRIu64, lines[0], lines[1]);
  return amped_error(AMPED_BAD_INPUT, where,
                     "%" PRIu64 " duplicate%s of coordinates, the first is %s%s; correct them or "
                     "use --duplicates=sum, mean, last or keep",
                     repeats, repeats == 1 ? "" : "s", coordinate_text(t, first, text, sizeof text),
                     at);
}

amped_status amped_sptensor_merge_piece(amped_sptensor *t, amped_duplicates how,
                                        amped_sptensor_group *group, const char *where,
                                        uint64_t *found) {
  uint64_t first = 0;
  *found = amped_sptensor_duplicates(t, &first);
  if (t->nnz == 0 || how == AMPED_DUPLICATES_KEEP)
    return AMPED_OK;
  if (how == AMPED_DUPLICATES_ERROR)
    return *found > 0 ? amped_sptensor_refuse_duplicates(t, first, *found, NULL, where) : AMPED_OK;
  if (group->count == 0)
    *group = (amped_sptensor_group){1, t->values[0]};
  if (*found > 0)
    return join_duplicates(t, how, group, where);
  if (t->nnz > 1)
    *group = (amped_sptensor_group){1, t->values[t->nnz - 1]};
  return AMPED_OK;
}

amped_status amped_sptensor_merge(amped_sptensor *t, amped_duplicates how, const char *where,
                                  uint64_t *found) {
  amped_sptensor_group group = {0, 0.0L};
  return amped_sptensor_merge_piece(t, how, &group, where, found);
}

uint64_t amped_sptensor_zeros(const amped_sptensor *t) {
  uint64_t zeros = 0;
#pragma omp parallel for schedule(static) reduction(+ : zeros)
  for (uint64_t k = 0; k < t->nnz; k++)
    zeros += t->values[k] == 0.0;
  return zeros;
}

void amped_sptensor_drop_zeros(amped_sptensor *t, uint64_t *dropped) {
  uint64_t kept = 0;
  for (uint64_t k = 0; k < t->nnz; k++)
    if (t->values[k] != 0.0) {
      if (kept != k)
        move_nonzero(t, kept, k);
      kept++;
    }
  *dropped = t->nnz - kept;
  t->nnz = kept;
}

/* Sum of squares over the coordinates whose first nonzero is in section b. */
static amped_kahan section_norm(const amped_sptensor *t, uint64_t b) {
  amped_kahan total = {0.0L, 0.0L};
  uint64_t end = t->nnz - b * SECTION < SECTION ? t->nnz : (b + 1) * SECTION;
  uint64_t k = b * SECTION;
  while (k > 0 && k < end && same_coordinate(t, k - 1, k))
    k++;
  while (k < end) {
    double value = t->values[k++];
    while (k < t->nnz && same_coordinate(t, k - 1, k))
      value += t->values[k++];
    amped_kahan_add(&total, (long double)value * value);
  }
  return total;
}

amped_kahan amped_sptensor_squares(const amped_sptensor *t) {
  amped_kahan sums[BATCH];
  amped_kahan total = {0.0L, 0.0L};
  uint64_t sections = amped_ceil_div(t->nnz, SECTION);
  for (uint64_t first = 0; first < sections; first += BATCH) {
    uint64_t n = sections - first < BATCH ? sections - first : BATCH;
#pragma omp parallel for schedule(dynamic) if (n > 1)
    for (uint64_t i = 0; i < n; i++)
      sums[i] = section_norm(t, first + i);
    for (uint64_t i = 0; i < n; i++)
      amped_kahan_join(&total, &sums[i]);
  }
  return total;
}

double amped_sptensor_norm_squared(const amped_sptensor *t) {
  amped_kahan total = amped_sptensor_squares(t);
  return amped_kahan_value(&total);
}

uint64_t amped_nonzero_hash(int order, const uint64_t *index, double value) {
  uint64_t hash = amped_hash_value(value);
  for (int m = 0; m < order; m++)
    hash = amped_hash_index(hash, index[m]);
  return hash;
}

static uint64_t hash_at(const amped_sptensor *t, uint64_t k) {
  uint64_t hash = amped_hash_value(t->values[k]);
  for (int m = 0; m < t->order; m++)
    hash = amped_hash_index(hash, t->indices[m][k]);
  return hash;
}

uint64_t amped_sptensor_hash(const amped_sptensor *t) {
  uint64_t hash = 0;
#pragma omp parallel for schedule(static) reduction(+ : hash)
  for (uint64_t k = 0; k < t->nnz; k++)
    hash += hash_at(t, k);
  return hash;
}

static bool is_float(double value) {
  return fabs(value) <= (double)FLT_MAX && (double)(float)value == value;
}

bool amped_sptensor_fits_float(const amped_sptensor *t) {
  bool fits = true;
#pragma omp parallel for schedule(static) reduction(&& : fits)
  for (uint64_t k = 0; k < t->nnz; k++)
    fits = fits && is_float(t->values[k]);
  return fits;
}

/* The facts of a section, except the squares. */
static amped_sptensor_facts section_facts(const amped_sptensor *t, uint64_t b) {
  amped_sptensor_facts facts = {.fits_float = true};
  const uint64_t end = t->nnz - b * SECTION < SECTION ? t->nnz : (b + 1) * SECTION;
  for (uint64_t k = b * SECTION; k < end; k++) {
    facts.hash += hash_at(t, k);
    facts.zeros += t->values[k] == 0.0;
    facts.fits_float = facts.fits_float && is_float(t->values[k]);
  }
  return facts;
}

amped_sptensor_facts amped_sptensor_facts_of(const amped_sptensor *t) {
  amped_sptensor_facts facts[BATCH];
  amped_kahan sums[BATCH];
  amped_sptensor_facts all = {.fits_float = true};
  amped_kahan total = {0.0L, 0.0L};
  uint64_t sections = amped_ceil_div(t->nnz, SECTION);
  for (uint64_t first = 0; first < sections; first += BATCH) {
    uint64_t n = sections - first < BATCH ? sections - first : BATCH;
#pragma omp parallel for schedule(dynamic) if (n > 1)
    for (uint64_t i = 0; i < n; i++) {
      facts[i] = section_facts(t, first + i);
      sums[i] = section_norm(t, first + i);
    }
    for (uint64_t i = 0; i < n; i++) {
      all.hash += facts[i].hash;
      all.zeros += facts[i].zeros;
      all.fits_float = all.fits_float && facts[i].fits_float;
      amped_kahan_join(&total, &sums[i]);
    }
  }
  all.norm_squared = amped_kahan_value(&total);
  return all;
}
