/* Label order: the natural order of a mode's labels.
 *
 * If all labels are numbers, dates or times, they are ordered by their meaning: 9 before 10,
 * 5.1.2013 before 1.2.2013, 11.2024 before 01.2025, 9:30 before 10:00, Mon before Tue. Other labels
 * are texts. They are ordered by their bytes, with numbers in them counted as numbers: "week 9"
 * before "week 10". The order is total and depends only on the labels. Host memory. */
#ifndef AMPED_LABEL_ORDER_H
#define AMPED_LABEL_ORDER_H

#include "tensor/labels.h"

typedef enum amped_label_kind {
  AMPED_LABELS_TEXT,
  AMPED_LABELS_NUMBERS,
  AMPED_LABELS_DATES, /* days, weeks, months or quarters, perhaps with a time; names of months or of
                         days of the week */
  AMPED_LABELS_TIMES  /* times of a day */
} amped_label_kind;

/* The kind of all labels of a mode; TEXT if there are none. If no label shows which number is the
 * day and which the month (3/4/2013), slashes mean month first, other separators day first. */
amped_label_kind amped_label_kind_of(const amped_labels *labels);

/* The form in which dates are read, such as "month/day/year"; NULL: the kind has no forms. Static
 * text. */
const char *amped_label_form_of(const amped_labels *labels);

/* *guess: the end of a warning, "the labels ...", if all labels have two forms and the two orders
 * differ: dates that could be day, month or year first, years of two digits that could be of two
 * centuries, months such as 11.2024 that could be numbers. NULL: there is no doubt. Static text. */
amped_status amped_label_order_guess(const amped_labels *labels, const char **guess);

/* Warn if the order is a guess: "WHERE: the labelsOF are taken as ...". of: "", or such as " of
 * mode 3". */
amped_status amped_label_order_warn(const amped_labels *labels, const char *where, const char *of);

/* Are numbers of a mode times: periods of time stamps, or numbers under a name whose last word says
 * so: year, months, step? */
bool amped_label_numbers_are_of_time(const amped_labels *labels);

/* Does a mode say that it is of time? Its labels are dates, times or periods of them, or they are
 * numbers, or indices without labels, under a name that is a word for a time. */
bool amped_labels_are_of_time(const amped_labels *labels);

/* Are the labels texts of which more than half look like dates that their bytes do not order, such
 * as Jan-24, Q1 2024 and 1-Feb-24? */
bool amped_label_order_hides_dates(const amped_labels *labels);

/* order[k] = the number of the label that comes k-th, for k < labels->count. */
amped_status amped_label_order(const amped_labels *labels, uint64_t *order);

/* For outputs that hold no labels: the end of a warning, which names the first labels and the
 * remedy, if numbers, dates or times are neither in this order nor in the reverse; otherwise "". */
#define AMPED_LABEL_ORDER_TEXT 320
amped_status amped_label_order_text(const amped_labels *labels, char text[AMPED_LABEL_ORDER_TEXT]);

/* values[i] = the value of label i: the number, or seconds of a date (from a fixed day on) or of a
 * time of the day; names of months and days of the week count from 1. AMPED_FAILED if the kind is
 * TEXT, which callers exclude. */
amped_status amped_label_values(const amped_labels *labels, double *values);

/* Sort labels into this order. place[i] = the new number of label i; the caller provides
 * [labels->count]. */
amped_status amped_label_sort(amped_labels *labels, uint64_t *place);

#endif
