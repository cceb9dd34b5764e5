/* Label order: the natural order of a mode's labels.
 *
 * Labels that all are numbers, dates or times stand in the order of what they mean: 9 before 10,
 * 5.1.2013 before 1.2.2013, 9:30 before 10:00, Mon before Tue. Other labels are texts. They stand
 * in the order of their bytes, but numbers within them count as numbers: "week 9" before "week 10".
 * The order is total and depends on the labels alone. Host memory. */
#ifndef AMPED_LABEL_ORDER_H
#define AMPED_LABEL_ORDER_H

#include "tensor/labels.h"

typedef enum amped_label_kind {
  AMPED_LABELS_TEXT,
  AMPED_LABELS_NUMBERS,
  AMPED_LABELS_DATES, /* days, weeks, months or quarters, perhaps with a time; names of months or of
                         days of the week */
  AMPED_LABELS_TIMES  /* of a day */
} amped_label_kind;

/* What all labels of a mode are. Where a day and a month cannot be told apart (3/4/2013) in any
 * label, the month stands first if slashes separate them, else the day. TEXT where there are no
 * labels. */
amped_label_kind amped_label_kind_of(const amped_labels *labels);

/* order[k] = the number of the label that comes k-th, for k < labels->count. */
amped_status amped_label_order(const amped_labels *labels, uint64_t *order);

/* Bring labels into this order. place[i] = the new number of label i; the caller gives room for
 * labels->count of them. */
amped_status amped_label_sort(amped_labels *labels, uint64_t *place);

#endif
