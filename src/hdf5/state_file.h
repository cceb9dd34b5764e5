/* State file: what a stream of completion has learnt so far, on disk (docs/file-format.md).
 *
 * STATE, in HDF5, is the whole state after some batch. STATE.journal, plain bytes, has what later
 * batches changed: the rows that they touched or added, what they added to lists, and the state's
 * numbers. A batch counts once the mark at its end is flushed; what a killed stream left behind the
 * last mark is dropped. So the state on disk is always that after some batch. Where the journal is
 * longer than STATE, both become a new STATE, by a draft that is renamed; the old files stay as
 * STATE.prev and STATE.journal.prev. A damaged STATE is replaced by these: nothing is lost.
 *
 * A row has the numbers of its factor, the numbers of its history, and the number of the batch that
 * touched it last. Rows are in the file's order: index 0, 1, ... of a mode, whoever owns them.
 *
 * Untrusted on reading: sizes are checked before memory is allocated, numbers are finite, hashes
 * agree; else AMPED_BAD_INPUT with one line. Writing fails with AMPED_FAILED. Host memory; not
 * collective: rank 0 calls (factor/state_rows.h brings rows to it), one thread at a time. */
#ifndef AMPED_STATE_FILE_H
#define AMPED_STATE_FILE_H

#include <stdbool.h>

#include "tensor/sptensor.h"

/* What the past of a row is in a state. */
typedef enum amped_history {
  AMPED_HISTORY_EQUATIONS, /* the row's equations (backend/row_fit.h) */
  AMPED_HISTORY_MODEL,     /* n alone: one number */
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
  int ncomps;                     /* numbers of a row's factor: components, and a bias */
  amped_vtype type;               /* of factors and histories */
  uint64_t dims[AMPED_MAX_ORDER]; /* grow */
  amped_history history;
  uint64_t
      history_length; /* numbers of a row's history: amped_equation_length, 1, or 0. That it is
                         the former is the caller's to check: at most ncomps^2 + 4 ncomps + 4 */
  bool biased, nonnegative;
  bool zero_based; /* the first input, a text, called the first index 0 */
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

/* What a batch changes beside rows. Borrowed. */
typedef struct amped_state_change {
  const amped_state_head *head; /* dims at least the old ones; batches and nnz are ignored */
  const amped_labels *added;    /* [order] labels of rows that are new, in order; in a mode without
                                   labels none. Names count in the first fit alone */
  const amped_sptensor *held;   /* entries that are held out; NULL or nnz 0: none. Its labels and
                                   dims are ignored */
  amped_state_batch batch;
} amped_state_change;

typedef struct amped_state_file amped_state_file;

/* Before MPI starts: look at STATE and STATE.prev in a child process (hdf5_probe.h), so that
 * opening forks no more. Errors are told by opening. */
void amped_state_file_probe(const char *path);

/* Is this HDF5 file a state? */
amped_status amped_state_file_is(const char *path, bool *out);

/* Open a state; path is borrowed. writes: to learn batches. Then STATE is locked until close
 * (base/file_lock.h: AMPED_FAILED where another stream has it), and what a killed stream left is
 * put in order, with a notice where something was dropped. Else nothing on disk changes. A warning
 * where STATE is damaged or missing, and STATE.prev with the journals replaces it. *out is NULL on
 * failure. */
amped_status amped_state_file_open(const char *path, bool writes, amped_state_file **out);

/* Begin a new state, locked until close. Then put every row, then commit: STATE is there from then
 * on, and the old file of that name is STATE.prev. A state whose dims or numbers no file holds is
 * AMPED_FAILED. */
amped_status amped_state_file_create(const char *path, const amped_state_head *head,
                                     amped_state_file **out);

/* NULL is allowed. What was put and not committed is dropped. */
void amped_state_file_close(amped_state_file *file);

/* After the last commit; owned by the file. */
const amped_state_head *amped_state_file_head(const amped_state_file *file);

/* Rows that reading and writing take at a time: a pure function of the head, at least 1. */
uint64_t amped_state_piece_rows(const amped_state_head *head);

/* Rows first .. first + count of mode, below dims: [count][ncomps] and [count][history_length]
 * numbers of head->type, [count] batches. NULL: not wanted. Hashes are compared where all rows of a
 * mode are read in order from 0 on, with the same arrays wanted each time. */
amped_status amped_state_file_read(amped_state_file *file, int mode, uint64_t first, uint64_t count,
                                   void *factor, void *history, uint64_t *touched);

/* Labels of a mode, with its name; count 0 where it has none. Free with amped_labels_free. */
amped_status amped_state_file_labels(amped_state_file *file, int mode, amped_labels *out);

/* The held-out entries that are kept: those of the least hash over split_seed and indices
 * (amped_state_hash), in ascending order of hash and indices. Of entries of one cell the last one
 * counts. values as they came; dims are the state's. nnz may be 0. Free with amped_sptensor_free.
 */
amped_status amped_state_file_held(amped_state_file *file, amped_sptensor *out);
uint64_t amped_state_hash(int order, const uint64_t *index, uint64_t split_seed);

/* Was a batch of this hash learnt? Its number, from 1, and its name, of the file's; else 0, NULL.
 */
uint64_t amped_state_file_find(const amped_state_file *file, uint64_t hash, const char **name);
/* Batch `number`, from 1 to head->batches; the name is the file's. */
amped_state_batch amped_state_file_batch(const amped_state_file *file, uint64_t number);

/* Put `count` rows of a mode, at most piece_rows; the arrays as in reading, NULL where a row of
 * them has no numbers. A new state: all rows, mode after mode, in ascending order. Later: rows that
 * a batch touched, each once, in any order; and all rows that are new, which lie behind the old
 * dims. */
amped_status amped_state_file_put(amped_state_file *file, int mode, uint64_t count,
                                  const uint64_t *indices, const void *factor, const void *history,
                                  const uint64_t *touched);

/* Make what was put since the last commit safe: flush it, with a mark. Where the journal is longer
 * than STATE now, both become a new STATE. On failure the state on disk is that before or after
 * this batch, and the file takes no more calls but close. AMPED_FAILED, too, where a row that is
 * new was not put, or has no label in a mode with labels. */
amped_status amped_state_file_commit(amped_state_file *file, const amped_state_change *change);

/* Forget what was put since the last commit. */
amped_status amped_state_file_drop(amped_state_file *file);

/* Bytes of STATE and of its journal. */
void amped_state_file_sizes(const amped_state_file *file, uint64_t *state, uint64_t *journal);

/* The most bytes that a state of this head adds to those on disk: two of it with their journals,
 * and a draft. */
uint64_t amped_state_file_bytes(const amped_state_head *head);

/* Read all of a state, rows too; AMPED_BAD_INPUT where anything is damaged. *sealed: has each of
 * its datasets a content hash? */
amped_status amped_state_file_verify(amped_state_file *file, bool *sealed);

#endif
