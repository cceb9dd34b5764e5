/* Labels: the names of the indices of one mode. Host memory, owned by the struct.
 *
 * One UTF-8 byte array and offsets: label i is bytes[offsets[i] .. offsets[i+1]), not
 * null-terminated. count is the mode's dimension, or 0 if the mode has no labels. An index without
 * label is shown, and typed, as in the user's files: counted from 1, or from 0. */
#ifndef AMPED_LABELS_H
#define AMPED_LABELS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "tensor/period.h"

typedef struct amped_labels {
  uint64_t count;
  char *name;          /* name of the mode (a table's column), or NULL */
  char *bytes;         /* amped_alloc'd, offsets[count] bytes */
  uint64_t *offsets;   /* amped_alloc'd, count + 1 */
  bool from_zero;      /* the user's files count indices from 0, not 1; also without labels */
  bool are_indices;    /* the labels are the user's indices, some of which --compact removed */
  amped_period period; /* the labels are periods of time stamps, which the user's files may have */
  bool of_header; /* the name is in the first row of a table that was read: the user did not say
                     that this row is a header */
  bool of_array;  /* the mode is a dimension of an array: its index is a place, whatever the label;
                     also without labels */
} amped_labels;

void amped_labels_free(amped_labels *labels);

/* Copy the labels, and their kind, to `to`, which must have none; its name stays. */
amped_status amped_labels_copy(const amped_labels *from, amped_labels *to);

/* out = the labels of a, then the labels of b, without a name. Free with amped_labels_free. */
amped_status amped_labels_join(const amped_labels *a, const amped_labels *b, amped_labels *out);

/* Are both the same labels? Names do not matter. */
bool amped_labels_are_equal(const amped_labels *a, const amped_labels *b);

/* Has the mode a name? A number is none: it is a column's place in a table without a header. */
bool amped_labels_are_named(const amped_labels *labels);

/* Label i, not null-terminated, and its length in bytes. i < count. */
const char *amped_label(const amped_labels *labels, uint64_t i, uint64_t *length);

/* Label i, not null-terminated, and its length in bytes, as a tensor has it whose indices are
 * counted from 0 or 1: a label that is an index, and is counted otherwise, becomes its number
 * there. i < count. *text may lie in `buffer`. */
#define AMPED_LABEL_DIGITS 24
uint64_t amped_label_as_counted(const amped_labels *labels, uint64_t i, bool from_zero,
                                char buffer[AMPED_LABEL_DIGITS], const char **text);

/* Key of index i: what it is recognised by in any order of the user's file. It is i if the mode has
 * no labels; the user's index, from 0, if labels are indices below 2^32; otherwise a hash of the
 * label, below 2^32. */
uint64_t amped_label_key(const amped_labels *labels, uint64_t i);

/* The user's number of index i: i, or i + 1. */
uint64_t amped_label_number(const amped_labels *labels, uint64_t i);

/* Count indices from 0 or from 1, if the mode has no labels or its labels are indices, which become
 * their numbers there. Labels that are not indices stay. */
amped_status amped_labels_count_from(amped_labels *labels, bool from_zero);

/* Do indices count from 0, in the modes ([order]) without labels, or whose labels are indices? */
bool amped_labels_begin_at_zero(const amped_labels *labels, int order);

/* Is label i the number of index i, for all i? Then labels add nothing to indices. */
bool amped_labels_number_indices(const amped_labels *labels);

/* Label i in printable form (base/printable.h), cut at the end of the buffer. Without labels, the
 * number of the index (decimal). */
const char *amped_label_text(const amped_labels *labels, uint64_t i, char *buffer, uint64_t size);

#endif
