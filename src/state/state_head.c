/* State head: packing into words, range checks, and attributes of STATE. */
#include "state/state_head.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/version.h"
#include "hdf5/hdf5_fields.h"

/* Versions 1 to 3 are read. */
#define STATE_VERSION 3

/* Most numbers in a row of an HDF5 dataset (hdf5_file.h). */
#define MOST_COLUMNS (UINT64_C(1) << 20)

const char *const amped_history_names[3] = {"equations", "model", "published"};

static const amped_hdf5_type f64 = {AMPED_FLOAT, AMPED_F64};
static const amped_hdf5_type u64 = {AMPED_UNSIGNED, AMPED_U64};

#define AT(kind, member) AMPED_FIELD_AT(kind, amped_state_head, member)

/* Ranges that depend on other numbers are in wrong_number. */
static const amped_field numbers[] = {
    {.name = "order", .at = AT(INT, order), .least = AMPED_MIN_ORDER, .most = AMPED_MAX_ORDER},
    {.name = "ncomps", .at = AT(INT, ncomps), .least = 1, .most = AMPED_MAX_NCOMPS + 1},
    {.name = "value_bytes", .at = AT(INT, type)},
    {.name = "history", .at = AT(INT, history)},
    {.name = "history_length", .at = AT(COUNT, history_length)},
    {.name = "biased", .at = AT(BOOL, biased)},
    {.name = "nonnegative", .at = AT(BOOL, nonnegative)},
    {.name = "zero_based", .at = AT(BOOL, zero_based)},
    {.name = "mean", .at = AT(REAL, mean), .least = -AMPED_FINITE, .most = AMPED_FINITE},
    {.name = "scale", .at = AT(REAL, scale), .least = AMPED_ABOVE_0, .most = AMPED_FINITE},
    {.name = "reg", .at = AT(REAL, reg), .most = AMPED_FINITE},
    {.name = "reg_power", .at = AT(REAL, reg_power), .most = 1.0},
    {.name = "reg_bias", .at = AT(REAL, reg_bias), .most = AMPED_FINITE},
    {.name = "forget", .at = AT(REAL, forget), .least = AMPED_ABOVE_0, .most = 1.0},
    {.name = "least", .at = AT(REAL, least)},
    {.name = "most", .at = AT(REAL, most)},
    {.name = "seed", .at = AT(COUNT, seed)},
    {.name = "split_seed", .at = AT(COUNT, split_seed)},
    {.name = "holdout", .at = AT(REAL, holdout), .most = AMPED_BELOW_1},
    {.name = "keep", .at = AT(COUNT, keep)},
    {.name = "growing", .at = AT(INT, growing), .least = -1, .most = AMPED_MAX_ORDER - 1},
    {.name = "batches", .at = AT(COUNT, batches)},
    {.name = "nnz", .at = AT(COUNT, nnz)},
    {.name = "duplicates",
     .at = AT(INT, duplicates),
     .least = AMPED_DUPLICATES_SUM,
     .most = AMPED_DUPLICATES_ERROR},
    {.name = "squares", .at = AT(REAL, squares), .most = AMPED_FINITE}, /* new in version 2 */
    {.name = "sample", .at = AT(COUNT, sample)},                        /* new in version 3 */
    {.name = "weighted", .at = AT(BOOL, weighted)},                     /* new in version 3 */
};
#define NUMBERS (sizeof numbers / sizeof numbers[0])

/* Numbers of the versions 1, 2 and 3. */
static const size_t numbers_of[STATE_VERSION + 1] = {0, NUMBERS - 3, NUMBERS - 2, NUMBERS};
#define FIRST_NUMBERS (NUMBERS - 3)

static const amped_field lists[] = {
    {.name = "dims", .at = AT(COUNT, dims), .is_list = true, .least = 1, .most = AMPED_MAX_DIM},
    {.name = "first_dims",
     .at = AT(COUNT, first),
     .is_list = true,
     .least = 1,
     .most = AMPED_MAX_DIM},
    {.name = "prior",
     .at = AT(REAL, prior),
     .is_list = true,
     .least = -AMPED_FINITE,
     .most = AMPED_FINITE},
    {.name = "pull",
     .at = AT(REAL, pull),
     .is_list = true,
     .least = AMPED_ABOVE_0,
     .most = AMPED_FINITE},
};
#define LISTS (sizeof lists / sizeof lists[0])

/* Words: the numbers of version 1, the lists with AMPED_MAX_ORDER elements each, the errors, the
 * numbers of versions 2 and 3. */
_Static_assert(NUMBERS + LISTS * AMPED_MAX_ORDER + 4 * AMPED_STATE_ERRORS == AMPED_STATE_WORDS,
               "all words have a place");
_Static_assert(sizeof(amped_state_errors) == 4 * sizeof(uint64_t), "errors are words");

uint64_t amped_state_head_version(const amped_state_head *h) {
  return isnan(h->squares) ? 1 : h->sample == 0 ? 2 : STATE_VERSION;
}

uint64_t amped_state_list_most(const amped_state_head *h, amped_state_list list) {
  return list == AMPED_STATE_HELD_OUT ? h->keep : h->sample;
}

int amped_state_head_words(const amped_state_head *h) {
  return AMPED_STATE_WORDS - (int)(NUMBERS - numbers_of[amped_state_head_version(h)]);
}

void amped_state_head_pack(const amped_state_head *h, uint64_t words[AMPED_STATE_WORDS]) {
  uint64_t *to = words;
  memset(words, 0, AMPED_STATE_WORDS * sizeof *words);
  for (size_t i = 0; i < FIRST_NUMBERS; i++)
    *to++ = amped_field_word(&numbers[i], h, 0);
  for (size_t i = 0; i < LISTS; i++, to += AMPED_MAX_ORDER)
    for (int m = 0; m < h->order; m++)
      to[m] = amped_field_word(&lists[i], h, m);
  memcpy(to, h->errors, sizeof h->errors);
  to += 4 * AMPED_STATE_ERRORS;
  for (size_t i = FIRST_NUMBERS; i < NUMBERS; i++)
    *to++ = amped_field_word(&numbers[i], h, 0);
}

static void unpack(const uint64_t *words, uint64_t count, amped_state_head *h) {
  const uint64_t *from = words;
  memset(h, 0, sizeof *h);
  h->squares = (double)NAN; /* unknown in version 1 */
  for (size_t i = 0; i < FIRST_NUMBERS; i++)
    amped_field_set(&numbers[i], 0, *from++, h);
  for (size_t i = 0; i < LISTS; i++, from += AMPED_MAX_ORDER)
    for (int m = 0; m < h->order && m < AMPED_MAX_ORDER; m++)
      amped_field_set(&lists[i], m, from[m], h);
  memcpy(h->errors, from, sizeof h->errors);
  from += 4 * AMPED_STATE_ERRORS;
  for (size_t i = FIRST_NUMBERS; i < NUMBERS && from < words + count; i++)
    amped_field_set(&numbers[i], 0, *from++, h);
}

uint64_t amped_state_sums_width(const amped_state_head *h) {
  return h->history == AMPED_HISTORY_MODEL ? (uint64_t)h->ncomps + 1 : 0;
}

/* --- checks ----------------------------------------------------------------------------------- */

static bool is_sum(double x) {
  return isfinite(x) && x >= 0.0;
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
  const char *wrong = amped_fields_wrong(numbers, numbers_of[amped_state_head_version(h)], 1, h);
  if (wrong == NULL)
    wrong = amped_fields_wrong(lists, LISTS, h->order, h);
  if (wrong != NULL)
    return wrong;
  for (int m = 0; m < h->order; m++)
    if (h->first[m] > h->dims[m])
      return "first_dims";
  for (int e = 0; e < AMPED_STATE_ERRORS; e++) {
    const amped_state_errors *s = &h->errors[e];
    if (!is_sum(s->squares) || !is_sum(s->absolute) || !(isnan(s->clipped) || is_sum(s->clipped)))
      return "errors";
  }
  return h->type != AMPED_F32 && h->type != AMPED_F64 ? "value_bytes"
         : !has_history(h)                            ? "history"
         : !(h->least <= h->most)                     ? "least"
         : h->growing >= h->order                     ? "growing"
                                                      : NULL;
}

static amped_status out_of_range(const char *name, const char *path, amped_status status) {
  return amped_error(status, path, "the state's %s is not in its range; %s", name,
                     status == AMPED_BAD_INPUT ? "the file is damaged, make it again"
                                               : "it cannot be written");
}

amped_status amped_state_head_check(const amped_state_head *h, const char *path,
                                    amped_status status) {
  const char *wrong = wrong_number(h);
  return wrong == NULL ? AMPED_OK : out_of_range(wrong, path, status);
}

amped_status amped_state_head_unpack(const uint64_t *words, uint64_t count, const char *path,
                                     amped_state_head *out) {
  unpack(words, count, out);
  return amped_state_head_check(out, path, AMPED_BAD_INPUT);
}

/* --- attributes ------------------------------------------------------------------------------- */

static const uint64_t table[2] = {AMPED_STATE_ERRORS, 3};

static amped_status put_errors(amped_hdf5 *file, const amped_state_head *h) {
  uint64_t counts[AMPED_STATE_ERRORS];
  double sums[AMPED_STATE_ERRORS][3];
  for (int e = 0; e < AMPED_STATE_ERRORS; e++) {
    counts[e] = h->errors[e].count;
    sums[e][0] = h->errors[e].squares;
    sums[e][1] = h->errors[e].absolute;
    sums[e][2] = h->errors[e].clipped;
  }
  AMPED_TRY(amped_hdf5_make_group(file, "/errors"));
  AMPED_TRY(amped_hdf5_dataset_write(file, "/errors/counts", u64, 1, table, counts));
  return amped_hdf5_dataset_write(file, "/errors/sums", f64, 2, table, sums);
}

static amped_status get_errors(amped_hdf5 *file, amped_state_head *h) {
  uint64_t counts[AMPED_STATE_ERRORS];
  double sums[AMPED_STATE_ERRORS][3];
  AMPED_TRY(amped_hdf5_dataset_get(file, "/errors/counts", u64, 1, table[0], 1, counts));
  AMPED_TRY(amped_hdf5_dataset_get(file, "/errors/sums", f64, 2, table[0], table[1], sums));
  for (int e = 0; e < AMPED_STATE_ERRORS; e++)
    h->errors[e] = (amped_state_errors){counts[e], sums[e][0], sums[e][1], sums[e][2]};
  return AMPED_OK;
}

amped_status amped_state_head_put(amped_hdf5 *file, const amped_state_head *h) {
  const uint64_t version = amped_state_head_version(h);
  AMPED_TRY(amped_hdf5_put_format(file, "state", version));
  AMPED_TRY(amped_hdf5_put_text(file, "/", "version", amped_version()));
  AMPED_TRY(amped_fields_put(file, numbers, numbers_of[version], 1, h));
  AMPED_TRY(amped_fields_put(file, lists, LISTS, h->order, h));
  return put_errors(file, h);
}

/* Refuse a file that is no state. Only models of --implicit have the attribute `implicit`. */
static amped_status refuse_other(amped_hdf5 *file) {
  bool implicit = false;
  AMPED_TRY(amped_hdf5_has_attribute(file, "/", "implicit", &implicit));
  return amped_error(
      AMPED_BAD_INPUT, file->path,
      implicit
          ? "is a model of --implicit, which no stream continues: cells without an entry count "
            "as zeros; fit old and new entries together with amped_mpi complete --implicit=A "
            "(--init=RESULT begins from this model if no label is new)"
          : "is not the state of a stream; begin one with amped_mpi complete --state=FILE");
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
    return refuse_other(file);
  AMPED_TRY(amped_hdf5_get_u64(file, "/", "amped_version", 1, version));
  return *version >= 1 && *version <= STATE_VERSION
             ? AMPED_OK
             : amped_error(AMPED_BAD_INPUT, file->path,
                           "is a state of version %" PRIu64
                           ", not 1 to %d; use the build that made it",
                           *version, STATE_VERSION);
}

amped_status amped_state_head_get(amped_hdf5 *file, amped_state_head *out) {
  uint64_t version = 0;
  memset(out, 0, sizeof *out);
  out->squares = (double)NAN;
  AMPED_TRY(check_format(file, &version));
  AMPED_TRY(amped_fields_get(file, numbers, numbers_of[version], 1, out));
  if (amped_state_head_version(out) != version)
    return out_of_range(isnan(out->squares) ? "squares" : "sample", file->path, AMPED_BAD_INPUT);
  if (out->order < AMPED_MIN_ORDER || out->order > AMPED_MAX_ORDER)
    return amped_state_head_check(out, file->path, AMPED_BAD_INPUT);
  AMPED_TRY(amped_fields_get(file, lists, LISTS, out->order, out));
  AMPED_TRY(get_errors(file, out));
  return amped_state_head_check(out, file->path, AMPED_BAD_INPUT);
}
