/* State head: the numbers of a stream's state, and how they are stored: as attributes of STATE, and
 * as words in its journal (state_file.h).
 *
 * Untrusted on reading: every number is in its range. Host memory; not collective. */
#ifndef AMPED_STATE_HEAD_H
#define AMPED_STATE_HEAD_H

#include <stdbool.h>

#include "hdf5/hdf5_file.h"
#include "tensor/duplicates.h"

/* What the past of a row is in a state. */
typedef enum amped_history {
  AMPED_HISTORY_EQUATIONS, /* the row's equations (backend/row_fit.h) */
  AMPED_HISTORY_MODEL,     /* n alone: one number; sums over rows (solver/stream_model.h) */
  AMPED_HISTORY_PUBLISHED  /* nothing */
} amped_history;
extern const char *const amped_history_names[3]; /* "equations", ... */

/* Sums of errors at entries, in the values' own units, over all batches. */
typedef struct amped_state_errors {
  uint64_t count;
  double squares, absolute;
  double clipped; /* squares where the model is clipped */
} amped_state_errors;

enum { AMPED_STATE_BEFORE, AMPED_STATE_AFTER, AMPED_STATE_HELD, AMPED_STATE_ERRORS };

/* The state's numbers. No pointers: ranks get it by broadcast. All from the first fit, unless it
 * says otherwise. */
typedef struct amped_state_head {
  int order;
  int ncomps;                      /* numbers of a row's factor: components, and a bias */
  amped_vtype type;                /* of factors and histories */
  uint64_t dims[AMPED_MAX_ORDER];  /* grow */
  uint64_t first[AMPED_MAX_ORDER]; /* dims of the first fit; set by the file */
  amped_history history;
  uint64_t
      history_length; /* numbers of a row's history: amped_equation_length, 1, or 0. That it is
                         the former is the caller's to check: at most ncomps^2 + 4 ncomps + 4 */
  bool biased, nonnegative;
  bool zero_based;             /* the first input, a text, called the first index 0 */
  amped_duplicates duplicates; /* a policy: what was done with repeated coordinates */
  double mean, scale;
  double reg, reg_power, reg_bias;
  double prior[AMPED_MAX_ORDER]; /* not 0: a context mode */
  double pull[AMPED_MAX_ORDER];
  double forget;       /* above 0, at most 1 */
  double least, most;  /* to which models are clipped; -infinity, infinity: they are not */
  uint64_t seed;       /* of starts, and of new rows */
  uint64_t split_seed; /* of the hold-out, and its share */
  double holdout;      /* 0 to less than 1 */
  uint64_t keep;       /* most held-out entries that are kept */
  int growing;         /* the mode that grows by slices; -1: none. May change */
  uint64_t batches;    /* learnt, the first fit included; set by the file */
  uint64_t nnz;        /* entries of all of them; set by the file */
  amped_state_errors errors[AMPED_STATE_ERRORS]; /* change: at entries of each batch before and
                                                    after it is learnt; at held-out ones after */
} amped_state_head;

/* A batch that was learnt. */
typedef struct amped_state_batch {
  const char *name; /* what the user called it */
  uint64_t hash;    /* of its coordinates, as indices of the state, and values */
  uint64_t nnz;
} amped_state_batch;

/* Words of a head. */
#define AMPED_STATE_WORDS 68

/* `status`, with one line, unless every number is in its range. */
amped_status amped_state_head_check(const amped_state_head *head, const char *path,
                                    amped_status status);

/* Rows, and columns, of each mode's sums (state_file.h): ncomps + 1 of a model history, else 0. */
uint64_t amped_state_sums_width(const amped_state_head *head);

/* To words and back. Two heads are equal where their words are. The second checks
 * (AMPED_BAD_INPUT).
 */
void amped_state_head_pack(const amped_state_head *head, uint64_t words[AMPED_STATE_WORDS]);
amped_status amped_state_head_unpack(const uint64_t words[AMPED_STATE_WORDS], const char *path,
                                     amped_state_head *out);

/* To attributes and small datasets of STATE, and back; the second checks. */
amped_status amped_state_head_put(amped_hdf5 *file, const amped_state_head *head);
amped_status amped_state_head_get(amped_hdf5 *file, amped_state_head *out);

#endif
