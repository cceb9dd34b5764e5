/* Index match: maps an index of a second file to the index of a tensor, a model or a state (the
 * known side).
 *
 * Every command that reads a second file uses it. In each mode:
 *
 * - If both sides have labels, indices with the same label match. Labels of an array's dimension on
 *   the known side are values of an axis: a label that is none of them matches the one of its value
 *   (352.0 and 352), unless two of them have one value.
 * - If only the file has labels, they are indices, counted from 0 or 1 as on the known side; labels
 * that --compact kept are counted as their file says.
 * - If only the known side has labels, kept by --compact, the file's indices are looked up among
 *   these labels.
 * - If only the known side has other labels, and some are numbers (7, 007, 7.0), an index is
 * ambiguous and refused. It is accepted if every label is the number of its index.
 * - If the known side has labels of an array's dimension, and the file is an array without labels,
 *   indices match unchanged if both have the same dimension.
 * - In all other cases, indices match unchanged: neither side has labels, or only the known side
 *   has names.
 *
 * Functions of host memory; not collective. */
#ifndef AMPED_INDEX_MATCH_H
#define AMPED_INDEX_MATCH_H

#include "tensor/labels.h"
#include "text/intern.h"

/* Returned in place of an index: the known side has no such index. */
#define AMPED_INDEX_UNKNOWN UINT64_MAX

/* Known side or file. */
typedef struct amped_index_side {
  const char *path; /* for messages */
  int order;
  const uint64_t *dims;
  const amped_labels *labels; /* [order] */
} amped_index_side;

/* Compare the modes of both sides. AMPED_BAD_INPUT, with both paths, if the orders differ or a mode
 * of the file has the name of another mode of the known side. A number, the place of a column in a
 * table without a header, counts as a name if both sides have the same columns. */
amped_status amped_index_match_check(const amped_index_side *known, const amped_index_side *file);

/* AMPED_BAD_INPUT if the file's first row was taken for its header, but is an entry: no mode has
 * the known side's name, and a name is a label of the known side. Such a row would be lost.
 * is_label[m]: the name of the file's mode m is such a label. */
amped_status amped_index_match_refuse_header(const amped_index_side *known,
                                             const amped_index_side *file, const bool *is_label);

/* For a file of cells of the known side: check its modes and its header, as above. AMPED_BAD_INPUT
 * also if it is an array without labels of another shape: a part of an array does not say where its
 * first cell lies. */
amped_status amped_index_match_check_cells(const amped_index_side *known,
                                           const amped_index_side *file);

/* Warn of each mode that has one name in the file and another on the known side, after a check. */
void amped_index_match_warn_names(const amped_index_side *known, const amped_index_side *file);

typedef enum amped_index_rule {
  AMPED_INDEX_SAME,
  AMPED_INDEX_BY_LABEL,  /* both sides have labels */
  AMPED_INDEX_BY_NUMBER, /* the file's labels are indices */
  AMPED_INDEX_BY_ID      /* the file's indices are labels that --compact kept */
} amped_index_rule;

/* Match of one mode. */
typedef struct amped_index_match {
  amped_index_rule rule;
  uint64_t dim;     /* dimension of the known side */
  uint64_t *rows;   /* BY_LABEL, BY_NUMBER: [labels of the file] index of each */
  uint64_t shared;  /* number of rows that are not AMPED_INDEX_UNKNOWN */
  bool from_zero;   /* BY_ID: labels of the known side count from 0 */
  amped_intern ids; /* BY_ID: labels of the known side */
} amped_index_match;

/* Prepare the match of a mode. AMPED_BAD_INPUT, with the remedy, if an index is ambiguous, if
 * labels of a side repeat, or if a label that should be an index is no whole number. Free accepts a
 * zeroed or freed match. */
amped_status amped_index_match_create(const amped_index_side *known, const amped_index_side *file,
                                      int mode, amped_index_match *out);
void amped_index_match_free(amped_index_match *match);

/* Returns the known side's index for an index of the file, or AMPED_INDEX_UNKNOWN. Any thread. */
uint64_t amped_index_match_find(const amped_index_match *match, uint64_t index);

/* Print one line that says how labels and indices were interpreted, if only one side has labels. */
void amped_index_match_say(const amped_index_side *known, const amped_index_side *file, int mode,
                           const amped_index_match *match);

/* Is a label of the file one of the known side's in another spelling: the same number (7,
 * 007, 7.0), or the same letters in another case or with blanks around them? Ask it if no label is
 * shared: then the labels are probably not new. False in a mode without labels on a side. */
amped_status amped_index_match_respelt(const amped_index_side *known, const amped_index_side *file,
                                       int mode, bool *out);

/* AMPED_BAD_INPUT: none of the file's `count` entries has a known index in this mode. */
amped_status amped_index_match_refuse(const amped_index_side *known, const amped_index_side *file,
                                      int mode, uint64_t count);

/* *value = the number that a text is, in any spelling (7, 007, 7.0, 7e0). False: it is none. */
bool amped_index_value_of(const char *text, uint64_t length, double *value);

/* Significant digits at which numbers are compared with the labels of an axis: the digits of the
 * longest label, at least 6. Labels of evenly spaced values are rounded to these digits; numbers of
 * a table may have more. */
int amped_index_axis_digits(const amped_labels *axis);
double amped_index_rounded(double value, int digits);

/* Is a label a number in any spelling (7, 007, 7.0), so that it could be mistaken for an index? */
bool amped_index_like_labels(const amped_labels *labels);

/* of_number: returns the index that a text denotes, counted as in `labels`; AMPED_INDEX_UNKNOWN if
 * it is not a number or not below dim. is_number: could the text be the number of any index? */
uint64_t amped_index_of_number(const amped_labels *labels, uint64_t dim, const char *text,
                               uint64_t length);
bool amped_index_is_number(const amped_labels *labels, const char *text, uint64_t length);

#endif
