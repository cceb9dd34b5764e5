/* Respelt labels: labels of a mode that are the same whole number, date or time in two spellings,
 * such as 7 and 7.0, 7 and 007, 2024-05 and 2024-5. They are different labels, which a user seldom
 * wants: pandas writes 7.0 if a column of whole numbers has gaps, and 7 for 007. Host memory; not
 * collective. */
#ifndef AMPED_RESPELT_H
#define AMPED_RESPELT_H

#include <stdbool.h>

#include "tensor/labels.h"
#include "text/intern.h"

/* Plain form of a whole number: without leading zeros, and without a point and zeros behind it.
 * Returns its length, 0 if the text is no such number. *plain points into the text. */
uint64_t amped_respelt_plain(const char *text, uint64_t length, const char **plain);

/* Find another spelling of a text among labels: its plain form, or itself with .0 behind it.
 * Returns the label's number, or AMPED_INTERN_NONE. */
uint64_t amped_respelt_find(const amped_intern *labels, const char *text, uint64_t length);

/* Labels that are another spelling of known ones. */
typedef struct amped_respelt {
  uint64_t asked;     /* labels that were looked at */
  uint64_t count;     /* other spellings of known labels among them */
  uint64_t new_label; /* the first of them, and the known one */
  uint64_t known_label;
} amped_respelt;

/* Look at the labels i with rows[i] == asked; rows NULL: at all labels. */
amped_respelt amped_respelt_compare(const amped_labels *labels, const uint64_t *rows,
                                    uint64_t asked, const amped_intern *known);

/* Are they most of the labels that were looked at? */
bool amped_respelt_are_most(const amped_respelt *r);

/* The remedy, for the end of a warning. */
#define AMPED_RESPELT_REMEDY                                                                       \
  "write them alike (pandas writes 7.0 if a column has gaps: astype(\"Int64\"); and 7 for 007: "   \
  "dtype=str)"

/* Warn if labels of a table's column have two spellings, and all labels of the column are whole
 * numbers. name: the table's. */
void amped_respelt_warn(const amped_intern *labels, const char *name, const char *column);

/* Warn if labels are dates or times, and a label from number `first` on repeats one before it in
 * another spelling. name: the name of the table. */
amped_status amped_respelt_warn_times(const amped_labels *labels, uint64_t first, const char *name,
                                      const char *column);

#endif
