/* State head: the numbers that describe a stream's state, and how they are stored: as attributes of
 * STATE, and as words in its journal (state_file.h).
 *
 * Reading trusts nothing: every number must be in its range. Host memory; not collective. */
#ifndef AMPED_STATE_HEAD_H
#define AMPED_STATE_HEAD_H

#include <stdbool.h>

#include "hdf5/hdf5_file.h"
#include "tensor/duplicates.h"

/* Kind of history: what a state keeps of a row's old entries. */
typedef enum amped_history {
  AMPED_HISTORY_EQUATIONS, /* the row's normal equations (backend/row_fit.h) */
  AMPED_HISTORY_MODEL,    /* one count per row, and sums over rows (solver/stream/stream_model.h) */
  AMPED_HISTORY_PUBLISHED /* nothing */
} amped_history;
extern const char *const amped_history_names[3]; /* "equations", ... */

/* Lists of entries that a state keeps. Each has those with the smallest hashes (tensor/
 * entry_sample.h). */
typedef enum amped_state_list {
  AMPED_STATE_HELD_OUT, /* held-out entries */
  AMPED_STATE_SAMPLE,   /* entries of all batches, by which repeated ones are recognised */
  AMPED_STATE_LISTS
} amped_state_list;

/* Sums of errors at entries over all batches, in units of the values. */
typedef struct amped_state_errors {
  uint64_t count;
  double squares, absolute;
  double clipped; /* sum of squares with the model's values clipped */
} amped_state_errors;

enum { AMPED_STATE_BEFORE, AMPED_STATE_AFTER, AMPED_STATE_HELD, AMPED_STATE_ERRORS };

/* Numbers of the state. No pointers: ranks receive it by broadcast. All are fixed by the first fit,
 * unless a comment says otherwise. */
typedef struct amped_state_head {
  int order;
  int ncomps;                      /* numbers in a row's factor: components, and a bias if biased */
  amped_vtype type;                /* type of factors and histories */
  uint64_t dims[AMPED_MAX_ORDER];  /* may grow with each batch */
  uint64_t first[AMPED_MAX_ORDER]; /* dims of the first fit; set by the file */
  amped_history history;
  uint64_t history_length; /* numbers in a row's history: amped_equation_length, 1, or 0. Only the
                              bound ncomps^2 + 4 ncomps + 4 is checked; the caller compares it with
                              amped_equation_length */
  bool biased, nonnegative;
  bool zero_based;             /* the first input was a text file with indices from 0 */
  amped_duplicates duplicates; /* policy for repeated coordinates */
  double mean, scale;
  double reg, reg_power, reg_bias;
  double prior[AMPED_MAX_ORDER]; /* nonzero: a context mode */
  double pull[AMPED_MAX_ORDER];
  double forget;       /* above 0, at most 1 */
  double least, most;  /* bounds to which models are clipped; -infinity, infinity: not clipped */
  uint64_t seed;       /* seed of starts and of new rows */
  uint64_t split_seed; /* seed of the hold-out's choice */
  double holdout;      /* held-out share, from 0 to less than 1 */
  uint64_t keep;       /* most held-out entries stored */
  uint64_t sample;     /* most entries in the sample of all entries; 0: there is none, in states of
                          versions 1 and 2, which stay of their version */
  bool weighted;       /* the first fit had weights */
  int growing;         /* mode that grows by slices; -1: none. May change */
  uint64_t batches;    /* batches learnt, including the first fit; set by the file */
  uint64_t nnz;        /* entries of all batches; set by the file */
  double squares;      /* sum of squares of the values of all batches. NaN: unknown, in a state of
                          version 1, which stays of that version. Updated by each batch */
  amped_state_errors errors[AMPED_STATE_ERRORS]; /* updated by each batch: at its entries before and
                                                    after learning; at held-out entries after it */
} amped_state_head;

/* A batch that was learnt. */
typedef struct amped_state_batch {
  const char *name; /* name given by the user */
  uint64_t hash;    /* hash of its coordinates, as the state's indices, and values */
  uint64_t nnz;
} amped_state_batch;

/* Most 64-bit words in a packed head. */
#define AMPED_STATE_WORDS 71

/* Number of words in this packed head: AMPED_STATE_WORDS; without the last two (`sample` and
 * `weighted`) in version 2, and without `squares` in version 1. */
int amped_state_head_words(const amped_state_head *head);

/* Version of the state's format: 1 to 3. */
uint64_t amped_state_head_version(const amped_state_head *head);

/* Most entries in a list. */
uint64_t amped_state_list_most(const amped_state_head *head, amped_state_list list);

/* Returns `status`, with one line, unless every number is in its range. */
amped_status amped_state_head_check(const amped_state_head *head, const char *path,
                                    amped_status status);

/* Rows and columns of each mode's sums (state_file.h): ncomps + 1 for a model history, otherwise
 * 0. */
uint64_t amped_state_sums_width(const amped_state_head *head);

/* Convert a head to words and back. Equal heads have equal words. All AMPED_STATE_WORDS are
 * written; the first `count` are read. Unpacking checks all numbers (AMPED_BAD_INPUT). */
void amped_state_head_pack(const amped_state_head *head, uint64_t words[AMPED_STATE_WORDS]);
amped_status amped_state_head_unpack(const uint64_t *words, uint64_t count, const char *path,
                                     amped_state_head *out);

/* Write the head to attributes and small datasets of STATE, and read it back. Reading checks all
 * numbers. */
amped_status amped_state_head_put(amped_hdf5 *file, const amped_state_head *head);
amped_status amped_state_head_get(amped_hdf5 *file, amped_state_head *out);

#endif
