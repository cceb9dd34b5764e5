/* Labels: the names of the indices of one mode. Host memory, owned by the struct.
 *
 * One UTF-8 byte array and offsets: label i is bytes[offsets[i] .. offsets[i+1]), not
 * null-terminated. count is the mode's dimension, or 0 where the mode has no labels. */
#ifndef AMPED_LABELS_H
#define AMPED_LABELS_H

#include <stdint.h>

#include "base/status.h"

typedef struct amped_labels {
  uint64_t count;
  char *name;        /* name of the mode (a table's column), or NULL */
  char *bytes;       /* amped_alloc'd, offsets[count] bytes */
  uint64_t *offsets; /* amped_alloc'd, count + 1 */
} amped_labels;

void amped_labels_free(amped_labels *labels);

/* Copy the labels to `to`, which has none; its name stays. */
amped_status amped_labels_copy(const amped_labels *from, amped_labels *to);

/* Label i, not null-terminated, and its length in bytes. i < count. */
const char *amped_label(const amped_labels *labels, uint64_t i, uint64_t *length);

/* Label i in printable form (base/printable.h), cut where the buffer ends. Where there are no
 * labels, the index itself (decimal, counted from 1 as in text files). */
const char *amped_label_text(const amped_labels *labels, uint64_t i, char *buffer, uint64_t size);

#endif
