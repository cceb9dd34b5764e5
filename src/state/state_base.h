/* State base: the whole state of a stream in one HDF5 file, STATE (docs/file-format.md). The
 * journal (state_journal.h) holds what later batches change.
 *
 * Reading trusts nothing: before a row is read, all extents are compared with the head; numbers
 * must be finite and content hashes must agree. Host memory; not collective. */
#ifndef AMPED_STATE_BASE_H
#define AMPED_STATE_BASE_H

#include "base/draft.h"
#include "state/state_head.h"
#include "tensor/sptensor.h"

/* Parts of a row. Each part is one dataset per mode: /factors/k, /history/k, /touched/k. */
enum { AMPED_STATE_FACTOR, AMPED_STATE_HISTORY, AMPED_STATE_TOUCHED, AMPED_STATE_PARTS };

/* Batches of a state. Start from {0}. */
typedef struct amped_state_batches {
  uint64_t count;
  uint64_t *hashes, *nnz; /* [count] */
  amped_labels names;     /* zero-terminated names; names.count = count; the arrays have spare
                             capacity */
  uint64_t room, bytes_room;
} amped_state_batches;
amped_status amped_state_batches_add(amped_state_batches *batches, uint64_t hash, uint64_t nnz,
                                     const char *name, uint64_t length);
void amped_state_batches_free(amped_state_batches *batches);

/* --- reading ---------------------------------------------------------------------------------- */

typedef struct amped_state_base {
  amped_hdf5 file;
  amped_state_head head;
  bool labelled[AMPED_MAX_ORDER];
  uint64_t entries[AMPED_STATE_LISTS]; /* number of entries in each list */
  int mode;                            /* mode whose datasets are open; -1: none */
  amped_hdf5_dataset parts[AMPED_STATE_PARTS];
} amped_state_base;

/* Open a base; the object must not move while it is open. trusted: this process has just written
 * the file. Otherwise a child process examines it first (hdf5_probe.h). */
amped_status amped_state_base_open(const char *path, bool trusted, amped_state_base *out);
/* Accepts a base that is zeroed or already closed. */
void amped_state_base_close(amped_state_base *base);

/* Read rows first .. first + count of a mode. A part that is NULL is not read. */
amped_status amped_state_base_read(amped_state_base *base, int mode, uint64_t first, uint64_t count,
                                   void *const parts[AMPED_STATE_PARTS]);
amped_status amped_state_base_labels(amped_state_base *base, int mode, amped_labels *out);
/* Read the entries of a list into out's arrays, which have space for all of them. */
amped_status amped_state_base_entries(amped_state_base *base, amped_state_list list,
                                      amped_sptensor *out);
amped_status amped_state_base_batches(amped_state_base *base, amped_state_batches *out);
/* Read a mode's sums, [sums_width][sums_width]. The head must have sums. */
amped_status amped_state_base_sums(amped_state_base *base, int mode, double *out);
/* Does every dataset have a content hash? */
amped_status amped_state_base_sealed(amped_state_base *base, bool *out);

/* --- writing ---------------------------------------------------------------------------------- */

/* Writer of a new STATE: open; append all rows, mode after mode, in order; finish; publish. Close
 * discards what is not published and accepts a zeroed writer. The object must not move. */
typedef struct amped_state_writer {
  amped_draft draft;
  amped_hdf5 file;
  amped_state_head head; /* head of the new file; until finish only its shape is used */
  int mode;
  uint64_t row; /* next row of `mode` */
  amped_hdf5_dataset parts[AMPED_STATE_PARTS];
  unsigned char *buffers[AMPED_STATE_PARTS]; /* one chunk per part */
  uint64_t filled[AMPED_STATE_PARTS];        /* rows in each buffer */
} amped_state_writer;

amped_status amped_state_writer_open(const char *path, const amped_state_head *head,
                                     amped_state_writer *out);
amped_status amped_state_writer_rows(amped_state_writer *w, uint64_t count,
                                     const void *const parts[AMPED_STATE_PARTS]);
/* Write everything except the rows, then read the draft back and check it. labels: [order], each
 * with count dims[m] or 0. sums: [order] as read; NULL if the head has no sums. entries: [lists];
 * the sample is not used in versions without one. */
amped_status amped_state_writer_finish(amped_state_writer *w, const amped_state_head *head,
                                       const amped_labels *labels, const double *const *sums,
                                       const amped_sptensor entries[AMPED_STATE_LISTS],
                                       const amped_state_batches *batches);
/* Flush the draft and rename it to PATH. previous: the old file becomes PATH.prev. */
amped_status amped_state_writer_publish(amped_state_writer *w, bool previous);
void amped_state_writer_close(amped_state_writer *w);

/* Numbers per row of a part, and their type. */
uint64_t amped_state_columns(const amped_state_head *head, int part);
amped_hdf5_type amped_state_type(const amped_state_head *head, int part);

/* Upper bound on the file's bytes, without labels, held-out entries and batches. */
uint64_t amped_state_base_bytes(const amped_state_head *head);

#endif
