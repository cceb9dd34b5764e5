/* State file: what a stream of completion has learnt so far, on disk (docs/file-format.md).
 *
 * STATE, in HDF5, is the whole state after some batch. STATE.journal, plain bytes, has what later
 * batches changed: the rows that they touched or added, what they added to lists, and the state's
 * numbers. A batch counts once the mark at its end is flushed; what a killed stream left behind the
 * last mark is dropped. So the state on disk is always that after some batch. Where the journal is
 * longer than STATE, both become a new STATE, by a draft that is renamed; the old files stay as
 * STATE.prev and STATE.journal.prev. A damaged STATE is replaced by these: nothing is lost.
 *
 * A state with a model history has sums of each mode, too: [width][width] doubles, of
 * amped_state_sums_width. Every batch has all of them.
 *
 * A row has the numbers of its factor, the numbers of its history, and the number of the batch that
 * touched it last. Rows are in the file's order: index 0, 1, ... of a mode, whoever owns them.
 *
 * Untrusted on reading: sizes are checked before memory is allocated, numbers are finite, hashes
 * agree; else AMPED_BAD_INPUT with one line. Writing fails with AMPED_FAILED. Host memory; not
 * collective: rank 0 calls (factor/state_rows.h brings rows to it), one thread at a time. */
#ifndef AMPED_STATE_FILE_H
#define AMPED_STATE_FILE_H

#include "hdf5/state_head.h"
#include "tensor/held_entries.h"

/* What a batch changes beside rows. Borrowed. */
typedef struct amped_state_change {
  const amped_state_head *head; /* dims at least the old ones; batches and nnz are ignored */
  const amped_labels *added;    /* [order] labels of rows that are new, in order; in a mode without
                                   labels none. Names count in the first fit alone */
  const amped_sptensor *held;   /* entries that are held out; NULL or nnz 0: none. Its labels and
                                   dims are ignored */
  amped_state_batch batch;
  const double *const *sums; /* [order]; NULL where the head has none */
} amped_state_change;

typedef struct amped_state_file amped_state_file;

/* Is this HDF5 file a state? */
amped_status amped_state_file_is(const char *path, bool *out);

/* Is the file before it, STATE.prev, a state? For a STATE that is missing or damaged; errors are
 * those of STATE. */
bool amped_state_file_was(const char *path);

/* Open a state; path is borrowed. A reader may come while a stream writes, and has the state after
 * the last batch. writes: to learn batches. Then STATE is locked until close (base/file_lock.h:
 * AMPED_FAILED where another stream has it), and what a killed stream left is put in order, with a
 * notice where something was dropped. Else nothing on disk changes. A warning where STATE is
 * damaged or missing, and STATE.prev with the journals replaces it. *out is NULL on failure. */
amped_status amped_state_file_open(const char *path, bool writes, amped_state_file **out);

/* Lock the place of a new state until close, before the work that leads to it: AMPED_FAILED where
 * another stream has it. path is borrowed. Then begin, or close: nothing on disk changes. *out is
 * NULL on failure. */
amped_status amped_state_file_reserve(const char *path, amped_state_file **out);

/* Begin the state. Then put every row, then commit: STATE is there from then on, and the old file
 * of that name is gone, with its journals and STATE.prev. A state whose dims or numbers no file
 * holds is AMPED_FAILED. */
amped_status amped_state_file_begin(amped_state_file *file, const amped_state_head *head);

/* Both. *out is NULL on failure. */
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

/* A mode's sums, of a head that has some. */
amped_status amped_state_file_sums(amped_state_file *file, int mode, double *out);

/* Labels of a mode, with its name; count 0 where it has none. Free with amped_labels_free. */
amped_status amped_state_file_labels(amped_state_file *file, int mode, amped_labels *out);

/* The held-out entries that are kept: those of the least hash over split_seed and indices
 * (tensor/held_entries.h), in ascending order of hash and indices. Of entries of one cell the last
 * one counts. values as they came; dims are the state's. nnz may be 0. Free with
 * amped_sptensor_free.
 */
amped_status amped_state_file_held(amped_state_file *file, amped_sptensor *out);

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
