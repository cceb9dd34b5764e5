/* Format: texts and JSON values about a tensor. */
#include "tensor/format.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/printable.h"

const char *amped_format_dims(char *buffer, int order, const uint64_t *dims) {
  size_t used = 0;
  buffer[0] = '\0';
  for (int m = 0; m < order && used < AMPED_DIMS_TEXT; m++)
    used += (size_t)snprintf(buffer + used, AMPED_DIMS_TEXT - used, "%s%" PRIu64,
                             m > 0 ? " x " : "", dims[m]);
  return buffer;
}

const char *amped_format_error(char *buffer, double error) {
  const double size = fabs(error);
  const bool plain = !isfinite(error) || size == 0.0 || (size >= 0.1 && size < 1e9);
  (void)snprintf(buffer, AMPED_ERROR_TEXT, plain ? "%.6f" : "%.7g", error);
  return buffer;
}

const char *amped_vtype_name(amped_vtype type) {
  return type == AMPED_F32 ? "float32" : "float64";
}

const char *amped_format_name(char *buffer, size_t size, const amped_labels *labels) {
  return amped_printable_text(buffer, size, labels->name != NULL ? labels->name : "");
}

const char *amped_format_mode(char *buffer, size_t size, int mode, const amped_labels *labels) {
  char name[96];
  (void)amped_format_name(name, sizeof name, labels);
  if (*name != '\0')
    (void)snprintf(buffer, size, "mode %d (%s)", mode + 1, name);
  else
    (void)snprintf(buffer, size, "mode %d", mode + 1);
  return buffer;
}

const char *amped_format_counts(char *buffer, int order, const amped_labels *labels,
                                const uint64_t *counts, const amped_count_words *words) {
  size_t used = 0;
  buffer[0] = '\0';
  for (int m = 0; m < order && used < AMPED_COUNTS_TEXT; m++) {
    char name[128];
    const bool named = amped_labels_are_named(&labels[m]);
    if (counts[m] == 0)
      continue;
    if (named)
      (void)amped_format_name(name, sizeof name, &labels[m]);
    else
      (void)amped_format_mode(name, sizeof name, m, &labels[m]);
    used += (size_t)snprintf(buffer + used, AMPED_COUNTS_TEXT - used, "%s%" PRIu64 "%s%s %s",
                             used > 0 ? ", " : "", counts[m], used > 0 ? words->next : words->first,
                             named ? "" : words->unnamed, name);
  }
  return buffer;
}

json_t *amped_json_count(uint64_t n) {
  return n <= INT64_MAX ? json_integer((json_int_t)n) : json_real((double)n);
}

/* Append a value to a list, which becomes NULL, and stays so, if memory is too small. */
static void append(json_t **list, json_t *value) {
  if (json_array_append_new(*list, value) == 0)
    return;
  json_decref(*list);
  *list = NULL;
}

json_t *amped_json_counts(const uint64_t *counts, int n) {
  json_t *array = json_array();
  for (int i = 0; i < n; i++)
    append(&array, amped_json_count(counts[i]));
  return array;
}

json_t *amped_json_number(double x) {
  return isfinite(x) ? json_real(x) : json_null();
}

json_t *amped_json_numbers(const double *numbers, int n) {
  json_t *array = json_array();
  for (int i = 0; i < n; i++)
    append(&array, amped_json_number(numbers[i]));
  return array;
}

json_t *amped_json_text(const char *text, uint64_t length) {
  json_t *value = json_stringn(length > 0 ? text : "", length);
  char *form = NULL;
  uint64_t bytes = 0;
  if (value != NULL || !amped_mul(length, AMPED_PRINTABLE_UNIT, &bytes) ||
      amped_alloc(&form, bytes, 1, "a label") != AMPED_OK)
    return value;
  value = json_string(amped_printable(form, bytes, text, length));
  amped_free(form);
  return value;
}

json_t *amped_json_string(const char *text) {
  return text != NULL ? amped_json_text(text, strlen(text)) : json_null();
}

json_t *amped_json_mode_name(const amped_labels *labels) {
  return amped_json_string(labels->name);
}

json_t *amped_json_label(const amped_labels *labels, uint64_t place) {
  uint64_t length = 0;
  if (labels->count == 0)
    return json_null();
  const char *text = amped_label(labels, place, &length);
  return amped_json_text(text, length);
}
