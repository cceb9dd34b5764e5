/* Fields: words, ranges, and attributes of the root. */
#include "hdf5/hdf5_fields.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

static const amped_hdf5_type f64 = {AMPED_FLOAT, AMPED_F64};

static const size_t bytes_of[] = {[AMPED_FIELD_COUNT] = sizeof(uint64_t),
                                  [AMPED_FIELD_INT] = sizeof(int),
                                  [AMPED_FIELD_BOOL] = sizeof(bool),
                                  [AMPED_FIELD_REAL] = sizeof(double),
                                  [AMPED_FIELD_TEXT] = sizeof(char *)};

static size_t place(const amped_field *f, int mode) {
  return f->at.offset + (size_t)mode * bytes_of[f->at.type];
}

/* --- words ------------------------------------------------------------------------------------ */

/* Number that the file holds as 0: an int's `least` if it is negative. */
static int base_of(const amped_field *f) {
  return f->at.type == AMPED_FIELD_INT && f->least < 0.0 ? (int)f->least : 0;
}

uint64_t amped_field_word(const amped_field *f, const void *record, int mode) {
  const char *at = (const char *)record + place(f, mode);
  uint64_t word = 0;
  int number = 0;
  bool truth = false;
  switch (f->at.type) {
  case AMPED_FIELD_INT:
    memcpy(&number, at, sizeof number);
    return (uint64_t)((int64_t)number - base_of(f));
  case AMPED_FIELD_BOOL:
    memcpy(&truth, at, sizeof truth);
    return truth;
  default:
    memcpy(&word, at, sizeof word);
    return word;
  }
}

void amped_field_set(const amped_field *f, int mode, uint64_t word, void *record) {
  char *at = (char *)record + place(f, mode);
  const int number = word <= INT32_MAX ? (int)word + base_of(f) : INT32_MAX;
  const bool truth = word != 0;
  const void *from = f->at.type == AMPED_FIELD_INT    ? (const void *)&number
                     : f->at.type == AMPED_FIELD_BOOL ? (const void *)&truth
                                                      : &word;
  memcpy(at, from, bytes_of[f->at.type]);
}

static double real_of(uint64_t word) {
  double x = 0.0;
  memcpy(&x, &word, sizeof x);
  return x;
}

/* --- ranges ----------------------------------------------------------------------------------- */

/* A count is compared as an integer: 2^63 + 1 has no double. */
static bool is_in_range(const amped_field *f, uint64_t word) {
  const double number = f->at.type == AMPED_FIELD_INT ? (double)word + base_of(f) : real_of(word);
  return f->at.type == AMPED_FIELD_COUNT ? word >= (uint64_t)f->least && word <= (uint64_t)f->most
                                         : number >= f->least && number <= f->most;
}

const char *amped_fields_wrong(const amped_field *fields, size_t count, int order,
                               const void *record) {
  for (const amped_field *f = fields; f < fields + count; f++)
    for (int m = 0; f->most > 0.0 && m < (f->is_list ? order : 1); m++)
      if (!is_in_range(f, amped_field_word(f, record, m)))
        return f->name;
  return NULL;
}

/* --- attributes ------------------------------------------------------------------------------- */

typedef struct object_name {
  char name[AMPED_HDF5_NAME];
} object_name;

static object_name dataset_name(const amped_field *f) {
  object_name name;
  (void)snprintf(name.name, sizeof name.name, "/%s", f->name);
  return name;
}

static char *text_of(const amped_field *f, const void *record) {
  char *text = NULL;
  memcpy(&text, (const char *)record + f->at.offset, sizeof text);
  return text;
}

static amped_status put_numbers(amped_hdf5 *file, const amped_field *f, int order,
                                const void *record) {
  const uint64_t count = f->is_list ? (uint64_t)order : 0;
  uint64_t words[AMPED_MAX_ORDER] = {0};
  bool any = false;
  for (int m = 0; m < (f->is_list ? order : 1); m++) {
    words[m] = amped_field_word(f, record, m);
    any = any || words[m] != 0;
  }
  if (f->is_optional && !any)
    return AMPED_OK;
  if (f->at.type != AMPED_FIELD_REAL)
    return amped_hdf5_put_u64(file, "/", f->name, count, words);
  return f->is_list ? amped_hdf5_dataset_write(file, dataset_name(f).name, f64, 1, &count, words)
                    : amped_hdf5_put_double(file, "/", f->name, real_of(words[0]));
}

amped_status amped_fields_put(amped_hdf5 *file, const amped_field *fields, size_t count, int order,
                              const void *record) {
  for (const amped_field *f = fields; f < fields + count; f++) {
    if (f->at.type != AMPED_FIELD_TEXT)
      AMPED_TRY(put_numbers(file, f, order, record));
    else if (!f->is_optional || text_of(f, record) != NULL)
      AMPED_TRY(amped_hdf5_put_text(file, "/", f->name, text_of(f, record)));
  }
  return AMPED_OK;
}

static amped_status get_numbers(amped_hdf5 *file, const amped_field *f, int order, void *record) {
  const uint64_t count = f->is_list ? (uint64_t)order : 1;
  uint64_t words[AMPED_MAX_ORDER] = {0};
  double real = 0.0;
  if (f->at.type != AMPED_FIELD_REAL) {
    AMPED_TRY(amped_hdf5_get_u64(file, "/", f->name, count, words));
  } else if (f->is_list) {
    AMPED_TRY(amped_hdf5_dataset_get(file, dataset_name(f).name, f64, 1, count, 1, words));
  } else {
    AMPED_TRY(amped_hdf5_get_double(file, "/", f->name, &real));
    memcpy(words, &real, sizeof real);
  }
  for (uint64_t m = 0; m < count; m++)
    amped_field_set(f, (int)m, words[m], record);
  return AMPED_OK;
}

static amped_status get_text(amped_hdf5 *file, const amped_field *f, void *record) {
  char *text = NULL;
  AMPED_TRY(amped_hdf5_get_text(file, "/", f->name, &text));
  memcpy((char *)record + f->at.offset, &text, sizeof text);
  return AMPED_OK;
}

amped_status amped_fields_get(amped_hdf5 *file, const amped_field *fields, size_t count, int order,
                              void *record) {
  for (const amped_field *f = fields; f < fields + count; f++) {
    bool exists = true;
    if (f->is_optional)
      AMPED_TRY(amped_hdf5_has_attribute(file, "/", f->name, &exists));
    if (exists)
      AMPED_TRY(f->at.type == AMPED_FIELD_TEXT ? get_text(file, f, record)
                                               : get_numbers(file, f, order, record));
  }
  return AMPED_OK;
}

void amped_fields_free(const amped_field *fields, size_t count, void *record) {
  for (const amped_field *f = fields; f < fields + count; f++)
    if (f->at.type == AMPED_FIELD_TEXT)
      amped_free(text_of(f, record));
}
