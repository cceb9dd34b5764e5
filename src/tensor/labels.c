/* Labels: memory and texts of the labels of one mode. */
#include "tensor/labels.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/printable.h"

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
  return AMPED_OK;
}

const char *amped_label(const amped_labels *labels, uint64_t i, uint64_t *length) {
  *length = labels->offsets[i + 1] - labels->offsets[i];
  return labels->bytes + labels->offsets[i];
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
