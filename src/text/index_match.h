/* Index match: which index of a tensor, a model or a state an index of a second file means.
 *
 * Every command that reads a second file asks here. In each mode:
 *
 *   - Where both sides have labels, indices of the same label are the same.
 *   - Where the file alone has labels, these are indices, as the files of the known side count.
 *   - Where the known side alone has labels that --compact kept, the file's indices are looked up
 *     among them, as the user's files have them.
 *   - Where the known side alone has other labels, and some of them are numbers, an index tells no
 *     row: that is refused, unless label after label is the number of its index.
 *   - Elsewhere indices are the same: neither side has labels, or the known side alone has names.
 *
 * Functions of host memory; not collective. */
#ifndef AMPED_INDEX_MATCH_H
#define AMPED_INDEX_MATCH_H

#include "tensor/labels.h"
#include "text/intern.h"

/* In place of an index: the known side has no such one. */
#define AMPED_INDEX_UNKNOWN UINT64_MAX

/* A side of the match. */
typedef struct amped_index_side {
  const char *path; /* for messages */
  int order;
  const uint64_t *dims;
  const amped_labels *labels; /* [order] */
} amped_index_side;

/* Have both sides the same modes? AMPED_BAD_INPUT, with both paths: the orders differ, or a mode of
 * the file has the name of another mode of the known side. */
amped_status amped_index_match_check(const amped_index_side *known, const amped_index_side *file);

typedef enum amped_index_rule {
  AMPED_INDEX_SAME,
  AMPED_INDEX_BY_LABEL,  /* of both sides */
  AMPED_INDEX_BY_NUMBER, /* the file's labels are indices */
  AMPED_INDEX_BY_ID      /* the file's indices are labels that --compact kept */
} amped_index_rule;

/* The match of one mode. */
typedef struct amped_index_match {
  amped_index_rule rule;
  uint64_t dim;     /* of the known side */
  uint64_t *rows;   /* BY_LABEL, BY_NUMBER: [labels of the file] */
  uint64_t shared;  /* of rows: those that are known */
  bool from_zero;   /* BY_ID: so the file counts */
  amped_intern ids; /* BY_ID: the known side's labels */
} amped_index_match;

/* AMPED_BAD_INPUT, with the remedy: an index of this mode tells no row; labels of a side repeat; a
 * label that should be an index is no whole number. Free takes a zeroed or freed one. */
amped_status amped_index_match_create(const amped_index_side *known, const amped_index_side *file,
                                      int mode, amped_index_match *out);
void amped_index_match_free(amped_index_match *match);

/* The known side's index, or AMPED_INDEX_UNKNOWN, of an index of the file. Any thread. */
uint64_t amped_index_match_find(const amped_index_match *match, uint64_t index);

/* Say in a line what labels and indices were taken for, where one side alone has labels. */
void amped_index_match_say(const amped_index_side *known, const amped_index_side *file, int mode,
                           const amped_index_match *match);

/* AMPED_BAD_INPUT: none of `count` entries of the file has an index of this mode that is known. */
amped_status amped_index_match_refuse(const amped_index_side *known, const amped_index_side *file,
                                      int mode, uint64_t count);

/* The index that a text numbers, as `labels` count; AMPED_INDEX_UNKNOWN: it is no number of an
 * index below dim. The second also says whether it is the number of any index. */
uint64_t amped_index_of_number(const amped_labels *labels, uint64_t dim, const char *text,
                               uint64_t length);
bool amped_index_is_number(const amped_labels *labels, const char *text, uint64_t length);

#endif
