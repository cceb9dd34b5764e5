/* Labels: memory and texts of the labels of one mode. */
#include "tensor/labels.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/printable.h"
#include "base/random.h"

void amped_labels_free(amped_labels *labels) {
  amped_free(labels->name);
  amped_free(labels->bytes);
  amped_free(labels->offsets);
  memset(labels, 0, sizeof *labels);
}

amped_status amped_labels_copy(const amped_labels *from, amped_labels *to) {
  const uint64_t bytes = from->count > 0 ? from->offsets[from->count] : 0;
  if (from->count == 0)
    return AMPED_OK;
  AMPED_TRY(amped_alloc(&to->bytes, bytes > 0 ? bytes : 1, 1, "labels"));
  AMPED_TRY(amped_alloc(&to->offsets, from->count + 1, sizeof *to->offsets, "labels"));
  memcpy(to->bytes, from->bytes, bytes);
  memcpy(to->offsets, from->offsets, (from->count + 1) * sizeof *to->offsets);
  to->count = from->count;
  to->from_zero = from->from_zero;
  to->are_indices = from->are_indices;
  to->period = from->period;
  to->of_array = from->of_array;
  return AMPED_OK;
}

amped_status amped_labels_join(const amped_labels *a, const amped_labels *b, amped_labels *out) {
  const uint64_t first = a->count > 0 ? a->offsets[a->count] : 0;
  const uint64_t bytes = first + (b->count > 0 ? b->offsets[b->count] : 0);
  const uint64_t count = a->count + b->count;
  *out = (amped_labels){.count = 0};
  amped_status status = amped_alloc(&out->offsets, count + 1, sizeof *out->offsets, "labels");
  if (status == AMPED_OK)
    status = amped_alloc(&out->bytes, bytes > 0 ? bytes : 1, 1, "labels");
  if (status != AMPED_OK) {
    amped_labels_free(out);
    return status;
  }
  out->count = count;
  out->offsets[0] = 0;
  for (uint64_t i = 0; i < count; i++) {
    uint64_t length = 0;
    const char *text =
        i < a->count ? amped_label(a, i, &length) : amped_label(b, i - a->count, &length);
    memcpy(out->bytes + out->offsets[i], text, length);
    out->offsets[i + 1] = out->offsets[i] + length;
  }
  return AMPED_OK;
}

bool amped_labels_are_equal(const amped_labels *a, const amped_labels *b) {
  const uint64_t n = a->count;
  return n == b->count &&
         (n == 0 || (memcmp(a->offsets, b->offsets, (n + 1) * sizeof *a->offsets) == 0 &&
                     memcmp(a->bytes, b->bytes, a->offsets[n]) == 0));
}

bool amped_labels_are_named(const amped_labels *labels) {
  return labels->name != NULL && labels->name[strspn(labels->name, "0123456789")] != '\0';
}

const char *amped_label(const amped_labels *labels, uint64_t i, uint64_t *length) {
  *length = labels->offsets[i + 1] - labels->offsets[i];
  return labels->bytes + labels->offsets[i];
}

uint64_t amped_label_as_counted(const amped_labels *labels, uint64_t i, bool from_zero,
                                char buffer[AMPED_LABEL_DIGITS], const char **text) {
  uint64_t length = 0;
  uint64_t n = 0;
  *text = amped_label(labels, i, &length);
  if (!labels->are_indices || labels->from_zero == from_zero || length == 0 || length > 19)
    return length;
  for (uint64_t k = 0; k < length; k++) {
    if ((*text)[k] < '0' || (*text)[k] > '9')
      return length;
    n = 10 * n + (uint64_t)((*text)[k] - '0');
  }
  if (n == 0 && from_zero)
    return length;
  *text = buffer;
  return (uint64_t)snprintf(buffer, AMPED_LABEL_DIGITS, "%" PRIu64, from_zero ? n - 1 : n + 1);
}

amped_status amped_labels_count_from(amped_labels *labels, bool from_zero) {
  char buffer[AMPED_LABEL_DIGITS];
  const char *text = NULL;
  char *bytes = NULL;
  uint64_t *offsets = NULL;
  uint64_t length = 0;
  if (labels->count > 0 && !labels->are_indices)
    return AMPED_OK;
  for (uint64_t i = 0; i < labels->count; i++)
    length += amped_label_as_counted(labels, i, from_zero, buffer, &text);
  if (labels->count > 0) {
    AMPED_TRY(amped_alloc(&bytes, length > 0 ? length : 1, 1, "labels"));
    const amped_status status =
        amped_calloc(&offsets, labels->count + 1, sizeof *offsets, "labels");
    if (status != AMPED_OK) {
      amped_free(bytes);
      return status;
    }
  }
  for (uint64_t i = 0; i < labels->count; i++) {
    length = amped_label_as_counted(labels, i, from_zero, buffer, &text);
    memcpy(bytes + offsets[i], text, length);
    offsets[i + 1] = offsets[i] + length;
  }
  amped_free(labels->bytes);
  amped_free(labels->offsets);
  labels->bytes = bytes;
  labels->offsets = offsets;
  labels->from_zero = from_zero;
  return AMPED_OK;
}

/* A hash below 2^32: FNV-1a (Fowler, Noll, Vo), mixed. */
static uint64_t hash_of(const char *text, uint64_t length) {
  uint64_t hash = UINT64_C(0xCBF29CE484222325);
  for (uint64_t i = 0; i < length; i++)
    hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001B3);
  return amped_mix64(hash) >> 32;
}

uint64_t amped_label_key(const amped_labels *labels, uint64_t i) {
  if (labels->count == 0)
    return i;
  uint64_t length = 0;
  uint64_t number = 0;
  const char *text = amped_label(labels, i, &length);
  bool is_number = labels->are_indices && length > 0 && length < 11; /* below 2^32: 10 digits */
  for (uint64_t k = 0; k < length && is_number; k++) {
    is_number = text[k] >= '0' && text[k] <= '9';
    number = 10 * number + (uint64_t)(text[k] - '0');
  }
  const uint64_t base = labels->from_zero ? 0 : 1;
  is_number = is_number && number >= base && number - base <= UINT32_MAX;
  return is_number ? number - base : hash_of(text, length);
}

bool amped_labels_begin_at_zero(const amped_labels *labels, int order) {
  bool any = false;
  for (int m = 0; m < order; m++)
    any = any || (labels[m].from_zero && (labels[m].count == 0 || labels[m].are_indices));
  return any;
}

uint64_t amped_label_number(const amped_labels *labels, uint64_t i) {
  return labels->from_zero ? i : i + 1;
}

bool amped_labels_number_indices(const amped_labels *labels) {
  for (uint64_t i = 0; i < labels->count; i++) {
    char number[24];
    uint64_t length = 0;
    const char *text = amped_label(labels, i, &length);
    const int digits = snprintf(number, sizeof number, "%" PRIu64, amped_label_number(labels, i));
    if (length != (uint64_t)digits || memcmp(text, number, length) != 0)
      return false;
  }
  return labels->count > 0;
}

const char *amped_label_text(const amped_labels *labels, uint64_t i, char *buffer, uint64_t size) {
  if (labels->count == 0) {
    (void)snprintf(buffer, size, "%" PRIu64, amped_label_number(labels, i));
    return buffer;
  }
  uint64_t length = 0;
  const char *text = amped_label(labels, i, &length);
  return amped_printable(buffer, size, text, length);
}
