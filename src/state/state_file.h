/* State file: what a completion stream has learnt so far, on disk (docs/file-format.md).
 *
 * STATE, in HDF5, is the whole state after some batch. STATE.journal, a plain binary file, holds
 * what later batches changed: rows touched or added, entries added to lists, and the head's
 * numbers. A batch counts once the mark at its end is flushed; bytes that a killed stream left
 * after the last mark are dropped. So the state on disk is always the state after a whole batch.
 * When the journal becomes longer than STATE, both are merged into a new STATE, written as a draft
 * and renamed. The old files stay as STATE.prev and STATE.journal.prev; if STATE is damaged, they
 * replace it without loss.
 *
 * A state with a model history also has sums for each mode: [width][width] doubles, width from
 * amped_state_sums_width. Every batch rewrites all of them.
 *
 * A row consists of its factor's numbers, its history's numbers, and the number of the last batch
 * that touched it. Rows are in the file's order, index 0, 1, ... of a mode, whichever rank owns
 * them.
 *
 * Reading trusts nothing: sizes are checked before memory is allocated, numbers must be finite and
 * hashes must agree; otherwise AMPED_BAD_INPUT with one line. Writing fails with AMPED_FAILED. Host
 * memory; not collective: rank 0 calls (factor/state_rows.h brings rows to it), one thread at a
 * time. */
#ifndef AMPED_STATE_FILE_H
#define AMPED_STATE_FILE_H

#include "state/state_head.h"
#include "tensor/entry_sample.h"

/* Changes of a batch in addition to rows. Borrowed. */
typedef struct amped_state_change {
  const amped_state_head *head; /* dims at least the old ones; batches and nnz are ignored */
  const amped_labels *added;    /* [order] labels of new rows, in order; no labels in a mode without
                                   labels. Mode names are used in the first fit only */
  const amped_sptensor *entries[AMPED_STATE_LISTS]; /* entries for each list; NULL or nnz 0: none.
                                                       Their labels and dims are ignored */
  amped_state_batch batch;
  const double *const *sums; /* [order]; NULL if the head has no sums */
} amped_state_change;

typedef struct amped_state_file amped_state_file;

/* Is this HDF5 file a state? */
amped_status amped_state_file_is(const char *path, bool *out);

/* Is STATE.prev, the file before STATE, a state? Asked if STATE is missing or damaged. Error
 * messages are about STATE. */
bool amped_state_file_was(const char *path);

/* Open a state; path is borrowed. A reader may open it while a stream writes, and sees the state
 * after the last whole batch. Nothing on disk changes unless `writes` is set.
 *
 * writes: open it to learn batches. STATE is locked until close (base/file_lock.h: AMPED_FAILED if
 * another stream has it). What a killed stream left is put in order, with a notice if something was
 * dropped.
 *
 * If STATE is damaged or missing, STATE.prev with the journals replaces it, with a warning. *out is
 * NULL on failure. */
amped_status amped_state_file_open(const char *path, bool writes, amped_state_file **out);

/* Lock the path of a new state until close, before the long work that produces it. AMPED_FAILED if
 * another stream has it. path is borrowed. Call begin next, or close, which changes nothing on
 * disk. *out is NULL on failure. */
amped_status amped_state_file_reserve(const char *path, amped_state_file **out);

/* Begin the new state; then put every row, then commit. Commit publishes STATE and removes the old
 * file of that name with its journals and STATE.prev. AMPED_FAILED if no file can hold the dims or
 * numbers. */
amped_status amped_state_file_begin(amped_state_file *file, const amped_state_head *head);

/* Reserve and begin in one call. *out is NULL on failure. */
amped_status amped_state_file_create(const char *path, const amped_state_head *head,
                                     amped_state_file **out);

/* Close a state. Rows that were put but not committed are dropped. NULL is allowed. */
void amped_state_file_close(amped_state_file *file);

/* Head after the last commit; owned by the file. */
const amped_state_head *amped_state_file_head(const amped_state_file *file);

/* Rows to read or write per call; at least 1. A pure function of the head. */
uint64_t amped_state_piece_rows(const amped_state_head *head);

/* Read rows first .. first + count of mode, all below dims. factor is [count][ncomps] and history
 * [count][history_length], of head->type; touched is [count] batch numbers. NULL: not wanted.
 * Content hashes are compared only if all rows of a mode are read in order from 0, with the same
 * arrays wanted in each call. */
amped_status amped_state_file_read(amped_state_file *file, int mode, uint64_t first, uint64_t count,
                                   void *factor, void *history, uint64_t *touched);

/* Read a mode's sums. The head must have sums. */
amped_status amped_state_file_sums(amped_state_file *file, int mode, double *out);

/* Read the labels and the name of a mode; count is 0 if the mode has no labels. Free with
 * amped_labels_free. */
amped_status amped_state_file_labels(amped_state_file *file, int mode, amped_labels *out);

/* Read the entries of a list: the ones with the smallest hash over split_seed and indices
 * (tensor/entry_sample.h), in ascending order of hash and indices. If a cell has several entries,
 * the last one counts. Values are unchanged; dims are the state's. nnz may be 0. Free with
 * amped_sptensor_free. */
amped_status amped_state_file_entries(amped_state_file *file, amped_state_list list,
                                      amped_sptensor *out);

/* Find the batch with this hash. Returns its number, from 1, and its name, owned by the file; 0 and
 * NULL if no such batch was learnt. */
uint64_t amped_state_file_find(const amped_state_file *file, uint64_t hash, const char **name);
/* Names of all batches, null-terminated. */
const amped_labels *amped_state_file_names(const amped_state_file *file);
/* Batch `number`, from 1 to head->batches. The name is owned by the file. */
amped_state_batch amped_state_file_batch(const amped_state_file *file, uint64_t number);

/* Put `count` rows of a mode, at most piece_rows, in arrays laid out as for reading; an array is
 * NULL if a row has no such numbers. In a new state: all rows, mode after mode, in ascending order.
 * Later: each row that a batch touched, once, in any order, and all new rows, whose indices follow
 * the old dims. */
amped_status amped_state_file_put(amped_state_file *file, int mode, uint64_t count,
                                  const uint64_t *indices, const void *factor, const void *history,
                                  const uint64_t *touched);

/* Make everything put since the last commit durable: flush it, then a mark. If the journal is now
 * longer than STATE, both are merged into a new STATE; a warning if it cannot be written.
 * AMPED_FAILED also if a new row was not put, or has no label in a mode with labels. After a
 * failure, the state on disk is the one before or after this batch, and only close may be called.
 */
amped_status amped_state_file_commit(amped_state_file *file, const amped_state_change *change);

/* Discard what was put since the last commit. */
amped_status amped_state_file_drop(amped_state_file *file);

/* Bytes of STATE and of its journals. */
void amped_state_file_sizes(const amped_state_file *file, uint64_t *state, uint64_t *journal);

/* Read the whole state, including rows. AMPED_BAD_INPUT if anything is damaged. *sealed: every
 * dataset has a content hash. */
amped_status amped_state_file_verify(amped_state_file *file, bool *sealed);

#endif
