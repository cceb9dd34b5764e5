/* State head: packing into words, range checks, and attributes of STATE. */
#include "state/state_head.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/version.h"

/* Versions 1 and 2 are read. */
#define STATE_VERSION 2

/* Most numbers in a row of an HDF5 dataset (hdf5_file.h). */
#define MOST_COLUMNS (UINT64_C(1) << 20)

const char *const amped_history_names[3] = {"equations", "model", "published"};

static const amped_hdf5_type f64 = {AMPED_FLOAT, AMPED_F64};
static const amped_hdf5_type u64 = {AMPED_UNSIGNED, AMPED_U64};

/* Names of the first words; each is an attribute of the root. */
static const struct {
  const char *name;
  bool is_real;
} fields[] = {{.name = "order", .is_real = false},
              {.name = "ncomps", .is_real = false},
              {.name = "value_bytes", .is_real = false},
              {.name = "history", .is_real = false},
              {.name = "history_length", .is_real = false},
              {.name = "biased", .is_real = false},
              {.name = "nonnegative", .is_real = false},
              {.name = "zero_based", .is_real = false},
              {.name = "mean", .is_real = true},
              {.name = "scale", .is_real = true},
              {.name = "reg", .is_real = true},
              {.name = "reg_power", .is_real = true},
              {.name = "reg_bias", .is_real = true},
              {.name = "forget", .is_real = true},
              {.name = "least", .is_real = true},
              {.name = "most", .is_real = true},
              {.name = "seed", .is_real = false},
              {.name = "split_seed", .is_real = false},
              {.name = "holdout", .is_real = true},
              {.name = "keep", .is_real = false},
              {.name = "growing", .is_real = false},
              {.name = "batches", .is_real = false},
              {.name = "nnz", .is_real = false},
              {.name = "duplicates", .is_real = false}};

/* Further words: dims, first, prior and pull for AMPED_MAX_ORDER modes each, then the errors, then
 * the squares. */
#define FIELDS (sizeof fields / sizeof fields[0])
#define DIMS FIELDS
#define FIRST (DIMS + AMPED_MAX_ORDER)
#define PRIOR (FIRST + AMPED_MAX_ORDER)
#define PULL (PRIOR + AMPED_MAX_ORDER)
#define ERRORS (PULL + AMPED_MAX_ORDER)
#define SQUARES (ERRORS + 4 * AMPED_STATE_ERRORS)
_Static_assert(SQUARES + 1 == AMPED_STATE_WORDS, "all words have a place");

#define SQUARES_NAME "squares"

static uint64_t bits(double x) {
  uint64_t word = 0;
  memcpy(&word, &x, sizeof word);
  return word;
}

static double real(uint64_t word) {
  double x = 0.0;
  memcpy(&x, &word, sizeof x);
  return x;
}

int amped_state_head_words(const amped_state_head *h) {
  return isnan(h->squares) ? (int)SQUARES : AMPED_STATE_WORDS;
}

uint64_t amped_state_head_version(const amped_state_head *h) {
  return isnan(h->squares) ? 1 : STATE_VERSION;
}

void amped_state_head_pack(const amped_state_head *h, uint64_t words[AMPED_STATE_WORDS]) {
  const uint64_t first[] = {(uint64_t)h->order,
                            (uint64_t)h->ncomps,
                            (uint64_t)h->type,
                            (uint64_t)h->history,
                            h->history_length,
                            h->biased,
                            h->nonnegative,
                            h->zero_based,
                            bits(h->mean),
                            bits(h->scale),
                            bits(h->reg),
                            bits(h->reg_power),
                            bits(h->reg_bias),
                            bits(h->forget),
                            bits(h->least),
                            bits(h->most),
                            h->seed,
                            h->split_seed,
                            bits(h->holdout),
                            h->keep,
                            (uint64_t)(h->growing + 1),
                            h->batches,
                            h->nnz,
                            (uint64_t)h->duplicates};
  _Static_assert(sizeof first / sizeof first[0] == FIELDS, "a word for each field");
  memset(words, 0, AMPED_STATE_WORDS * sizeof *words);
  memcpy(words, first, sizeof first);
  for (int m = 0; m < h->order; m++) {
    words[DIMS + (size_t)m] = h->dims[m];
    words[FIRST + (size_t)m] = h->first[m];
    words[PRIOR + (size_t)m] = bits(h->prior[m]);
    words[PULL + (size_t)m] = bits(h->pull[m]);
  }
  for (size_t e = 0; e < AMPED_STATE_ERRORS; e++) {
    uint64_t *to = words + ERRORS + 4 * e;
    to[0] = h->errors[e].count;
    to[1] = bits(h->errors[e].squares);
    to[2] = bits(h->errors[e].absolute);
    to[3] = bits(h->errors[e].clipped);
  }
  words[SQUARES] = bits(isnan(h->squares) ? (double)NAN : h->squares);
}

/* Convert a word to an int or an enum. INT32_MAX, which no check accepts, if the word is larger. */
static int whole(uint64_t word) {
  return word <= INT32_MAX ? (int)word : INT32_MAX;
}

static void unpack(const uint64_t *words, amped_state_head *h) {
  memset(h, 0, sizeof *h);
  h->order = whole(words[0]);
  h->ncomps = whole(words[1]);
  h->type = (amped_vtype)whole(words[2]);
  h->history = (amped_history)whole(words[3]);
  h->history_length = words[4];
  h->biased = words[5] != 0;
  h->nonnegative = words[6] != 0;
  h->zero_based = words[7] != 0;
  h->mean = real(words[8]);
  h->scale = real(words[9]);
  h->reg = real(words[10]);
  h->reg_power = real(words[11]);
  h->reg_bias = real(words[12]);
  h->forget = real(words[13]);
  h->least = real(words[14]);
  h->most = real(words[15]);
  h->seed = words[16];
  h->split_seed = words[17];
  h->holdout = real(words[18]);
  h->keep = words[19];
  h->growing = whole(words[20]) - 1;
  h->batches = words[21];
  h->nnz = words[22];
  h->duplicates = (amped_duplicates)whole(words[23]);
  for (int m = 0; m < h->order && m < AMPED_MAX_ORDER; m++) {
    h->dims[m] = words[DIMS + (size_t)m];
    h->first[m] = words[FIRST + (size_t)m];
    h->prior[m] = real(words[PRIOR + (size_t)m]);
    h->pull[m] = real(words[PULL + (size_t)m]);
  }
  for (size_t e = 0; e < AMPED_STATE_ERRORS; e++) {
    const uint64_t *from = words + ERRORS + 4 * e;
    h->errors[e] = (amped_state_errors){from[0], real(from[1]), real(from[2]), real(from[3])};
  }
  h->squares = real(words[SQUARES]);
}

uint64_t amped_state_sums_width(const amped_state_head *h) {
  return h->history == AMPED_HISTORY_MODEL ? (uint64_t)h->ncomps + 1 : 0;
}

/* --- checks ----------------------------------------------------------------------------------- */

static bool between(double x, double least, double most) {
  return isfinite(x) && x >= least && x <= most;
}

static bool has_history(const amped_state_head *h) {
  const uint64_t n = (uint64_t)h->ncomps;
  switch (h->history) {
  case AMPED_HISTORY_EQUATIONS:
    return h->history_length >= 1 && h->history_length <= n * n + 4 * n + 4 &&
           h->history_length <= MOST_COLUMNS;
  case AMPED_HISTORY_MODEL:
    return h->history_length == 1;
  case AMPED_HISTORY_PUBLISHED:
    return h->history_length == 0;
  }
  return false;
}

/* Returns the name of a number that is out of its range; NULL: none. */
static const char *wrong_number(const amped_state_head *h) {
  const double any = INFINITY;
  return !between(h->mean, -any, any)                           ? "mean"
         : !between(h->scale, 0x1p-1074, any)                   ? "scale"
         : !between(h->reg, 0.0, any)                           ? "reg"
         : !between(h->reg_power, 0.0, 1.0)                     ? "reg_power"
         : !between(h->reg_bias, 0.0, any)                      ? "reg_bias"
         : !(h->forget > 0.0) || h->forget > 1.0                ? "forget"
         : !(h->least <= h->most)                               ? "least"
         : !(h->holdout >= 0.0) || h->holdout >= 1.0            ? "holdout"
         : !isnan(h->squares) && !between(h->squares, 0.0, any) ? "squares"
         : h->growing < -1 || h->growing >= h->order            ? "growing"
         : h->duplicates < AMPED_DUPLICATES_SUM || h->duplicates > AMPED_DUPLICATES_ERROR
             ? "duplicates"
             : NULL;
}

static const char *wrong_error(const amped_state_head *h) {
  for (int e = 0; e < AMPED_STATE_ERRORS; e++) {
    const amped_state_errors *s = &h->errors[e];
    if (!between(s->squares, 0.0, INFINITY) || !between(s->absolute, 0.0, INFINITY) ||
        !between(s->clipped, 0.0, INFINITY))
      return "errors";
  }
  return NULL;
}

static const char *wrong_mode(const amped_state_head *h) {
  for (int m = 0; m < h->order; m++) {
    if (h->dims[m] < 1 || h->dims[m] > AMPED_MAX_DIM)
      return "dims";
    if (h->first[m] < 1 || h->first[m] > h->dims[m])
      return "first_dims";
    if (!isfinite(h->prior[m]))
      return "prior";
    if (!between(h->pull[m], 0x1p-1074, INFINITY))
      return "pull";
  }
  return NULL;
}

amped_status amped_state_head_check(const amped_state_head *h, const char *path,
                                    amped_status status) {
  const char *wrong = h->order < AMPED_MIN_ORDER || h->order > AMPED_MAX_ORDER ? "order"
                      : h->ncomps < 1 || h->ncomps > AMPED_MAX_NCOMPS + 1      ? "ncomps"
                      : h->type != AMPED_F32 && h->type != AMPED_F64           ? "value_bytes"
                      : !has_history(h)                                        ? "history"
                                                                               : wrong_number(h);
  if (wrong == NULL)
    wrong = wrong_mode(h);
  if (wrong == NULL)
    wrong = wrong_error(h);
  if (wrong == NULL)
    return AMPED_OK;
  return amped_error(status, path, "the state's %s is not in its range; %s", wrong,
                     status == AMPED_BAD_INPUT ? "the file is damaged, make it again"
                                               : "it cannot be written");
}

amped_status amped_state_head_unpack(const uint64_t words[AMPED_STATE_WORDS], const char *path,
                                     amped_state_head *out) {
  unpack(words, out);
  return amped_state_head_check(out, path, AMPED_BAD_INPUT);
}

/* --- attributes ------------------------------------------------------------------------------- */

static amped_status put_arrays(amped_hdf5 *file, const amped_state_head *h) {
  const uint64_t order = (uint64_t)h->order;
  const uint64_t sets = AMPED_STATE_ERRORS;
  const uint64_t table[2] = {sets, 3};
  uint64_t counts[AMPED_STATE_ERRORS];
  double sums[AMPED_STATE_ERRORS][3];
  for (int e = 0; e < AMPED_STATE_ERRORS; e++) {
    counts[e] = h->errors[e].count;
    sums[e][0] = h->errors[e].squares;
    sums[e][1] = h->errors[e].absolute;
    sums[e][2] = h->errors[e].clipped;
  }
  AMPED_TRY(amped_hdf5_put_u64(file, "/", "dims", order, h->dims));
  AMPED_TRY(amped_hdf5_put_u64(file, "/", "first_dims", order, h->first));
  AMPED_TRY(amped_hdf5_dataset_write(file, "/prior", f64, 1, &order, h->prior));
  AMPED_TRY(amped_hdf5_dataset_write(file, "/pull", f64, 1, &order, h->pull));
  AMPED_TRY(amped_hdf5_make_group(file, "/errors"));
  AMPED_TRY(amped_hdf5_dataset_write(file, "/errors/counts", u64, 1, &sets, counts));
  return amped_hdf5_dataset_write(file, "/errors/sums", f64, 2, table, sums);
}

amped_status amped_state_head_put(amped_hdf5 *file, const amped_state_head *h) {
  uint64_t words[AMPED_STATE_WORDS];
  amped_state_head_pack(h, words);
  AMPED_TRY(amped_hdf5_put_format(file, "state", amped_state_head_version(h)));
  AMPED_TRY(amped_hdf5_put_text(file, "/", "version", amped_version()));
  for (size_t i = 0; i < FIELDS; i++)
    AMPED_TRY(fields[i].is_real ? amped_hdf5_put_double(file, "/", fields[i].name, real(words[i]))
                                : amped_hdf5_put_u64(file, "/", fields[i].name, 0, &words[i]));
  if (!isnan(h->squares))
    AMPED_TRY(amped_hdf5_put_double(file, "/", SQUARES_NAME, h->squares));
  return put_arrays(file, h);
}

/* Read a small dataset of this type and shape. */
static amped_status get_array(amped_hdf5 *file, const char *name, amped_hdf5_type type, int ndims,
                              uint64_t rows, uint64_t columns, void *out) {
  amped_hdf5_dataset d;
  AMPED_TRY(amped_hdf5_dataset_open(file, name, ndims, &d));
  amped_status status = amped_hdf5_dataset_expect(&d, type, rows, columns);
  if (status == AMPED_OK)
    status = amped_hdf5_dataset_read(&d, type, 0, rows, out);
  amped_hdf5_dataset_close(&d);
  return status;
}

static amped_status get_arrays(amped_hdf5 *file, uint64_t order, uint64_t *words) {
  uint64_t counts[AMPED_STATE_ERRORS];
  double sums[AMPED_STATE_ERRORS][3];
  AMPED_TRY(amped_hdf5_get_u64(file, "/", "dims", order, words + DIMS));
  AMPED_TRY(amped_hdf5_get_u64(file, "/", "first_dims", order, words + FIRST));
  AMPED_TRY(get_array(file, "/prior", f64, 1, order, 1, words + PRIOR));
  AMPED_TRY(get_array(file, "/pull", f64, 1, order, 1, words + PULL));
  AMPED_TRY(get_array(file, "/errors/counts", u64, 1, AMPED_STATE_ERRORS, 1, counts));
  AMPED_TRY(get_array(file, "/errors/sums", f64, 2, AMPED_STATE_ERRORS, 3, sums));
  for (size_t e = 0; e < AMPED_STATE_ERRORS; e++) {
    words[ERRORS + 4 * e] = counts[e];
    for (size_t k = 0; k < 3; k++)
      words[ERRORS + 4 * e + 1 + k] = bits(sums[e][k]);
  }
  return AMPED_OK;
}

/* *version: the file's version, which can be read. */
static amped_status check_format(amped_hdf5 *file, uint64_t *version) {
  char *format = NULL;
  bool exists = false;
  AMPED_TRY(amped_hdf5_has_attribute(file, "/", "amped_format", &exists));
  if (exists)
    AMPED_TRY(amped_hdf5_get_text(file, "/", "amped_format", &format));
  const bool is_state = exists && strcmp(format, "state") == 0;
  amped_free(format);
  if (!is_state)
    return amped_error(
        AMPED_BAD_INPUT, file->path,
        "is not the state of a stream; begin one with amped_mpi complete --state=FILE");
  AMPED_TRY(amped_hdf5_get_u64(file, "/", "amped_version", 1, version));
  return *version >= 1 && *version <= STATE_VERSION
             ? AMPED_OK
             : amped_error(AMPED_BAD_INPUT, file->path,
                           "is a state of version %" PRIu64
                           ", not 1 or %d; use the build that made it",
                           *version, STATE_VERSION);
}

amped_status amped_state_head_get(amped_hdf5 *file, amped_state_head *out) {
  uint64_t words[AMPED_STATE_WORDS] = {0};
  double number = 0.0;
  uint64_t version = 0;
  AMPED_TRY(check_format(file, &version));
  for (size_t i = 0; i < FIELDS; i++) {
    if (!fields[i].is_real) {
      AMPED_TRY(amped_hdf5_get_u64(file, "/", fields[i].name, 1, &words[i]));
      continue;
    }
    AMPED_TRY(amped_hdf5_get_double(file, "/", fields[i].name, &number));
    words[i] = bits(number);
  }
  if (words[0] < AMPED_MIN_ORDER || words[0] > AMPED_MAX_ORDER)
    return amped_state_head_unpack(words, file->path, out);
  AMPED_TRY(get_arrays(file, words[0], words));
  number = (double)NAN;
  if (version > 1)
    AMPED_TRY(amped_hdf5_get_double(file, "/", SQUARES_NAME, &number));
  words[SQUARES] = bits(version > 1 && isnan(number) ? (double)INFINITY : number); /* refused */
  return amped_state_head_unpack(words, file->path, out);
}
