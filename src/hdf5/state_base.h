/* State base: a whole state of a stream in one HDF5 file, STATE (docs/file-format.md): what the
 * journal (state_journal.h) changes later.
 *
 * Untrusted on reading: all extents are those that the head says before a row is read; numbers are
 * finite; content hashes agree. Host memory; not collective. */
#ifndef AMPED_STATE_BASE_H
#define AMPED_STATE_BASE_H

#include "base/draft.h"
#include "hdf5/state_head.h"
#include "tensor/sptensor.h"

/* The numbers of a row, each a dataset of every mode: /factors/k, /history/k, /touched/k. */
enum { AMPED_STATE_FACTOR, AMPED_STATE_HISTORY, AMPED_STATE_TOUCHED, AMPED_STATE_PARTS };

/* The batches of a state. Start from {0}. */
typedef struct amped_state_batches {
  uint64_t count;
  uint64_t *hashes, *nnz; /* [count] */
  amped_labels names;     /* count is that of the names; arrays have room for more */
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
  uint64_t held; /* entries */
  int mode;      /* whose datasets are open; -1: none */
  amped_hdf5_dataset parts[AMPED_STATE_PARTS];
} amped_state_base;

/* trusted: this process has just written it. Else a child looked at it (hdf5_probe.h). The object
 * does not move while it is open. */
amped_status amped_state_base_open(const char *path, bool trusted, amped_state_base *out);
/* Takes a zeroed or closed one, too. */
void amped_state_base_close(amped_state_base *base);

/* Rows first .. first + count of a mode; NULL: not wanted. */
amped_status amped_state_base_read(amped_state_base *base, int mode, uint64_t first, uint64_t count,
                                   void *const parts[AMPED_STATE_PARTS]);
amped_status amped_state_base_labels(amped_state_base *base, int mode, amped_labels *out);
/* Into arrays of base->held entries. */
amped_status amped_state_base_held(amped_state_base *base, amped_sptensor *out);
amped_status amped_state_base_batches(amped_state_base *base, amped_state_batches *out);
/* [sums_width][sums_width], of a head that has sums. */
amped_status amped_state_base_sums(amped_state_base *base, int mode, double *out);
/* Has every dataset a content hash? */
amped_status amped_state_base_sealed(amped_state_base *base, bool *out);

/* --- writing ---------------------------------------------------------------------------------- */

/* Begin; append all rows, mode after mode, in order; finish; publish. Close drops what is not
 * published, and takes a zeroed one, too. The object does not move. */
typedef struct amped_state_writer {
  amped_draft draft;
  amped_hdf5 file;
  amped_state_head head; /* its shape counts until finish */
  int mode;
  uint64_t row; /* the next */
  amped_hdf5_dataset parts[AMPED_STATE_PARTS];
  unsigned char *buffers[AMPED_STATE_PARTS]; /* a chunk each */
  uint64_t filled[AMPED_STATE_PARTS];        /* rows */
} amped_state_writer;

amped_status amped_state_writer_open(const char *path, const amped_state_head *head,
                                     amped_state_writer *out);
amped_status amped_state_writer_rows(amped_state_writer *w, uint64_t count,
                                     const void *const parts[AMPED_STATE_PARTS]);
/* labels: [order], of count dims or 0. sums: [order] as read; NULL where the head has none. The
 * draft is whole and reads back afterwards. */
amped_status amped_state_writer_finish(amped_state_writer *w, const amped_state_head *head,
                                       const amped_labels *labels, const double *const *sums,
                                       const amped_sptensor *held,
                                       const amped_state_batches *batches);
/* Flush and rename it. previous: the old file becomes PATH.prev. */
amped_status amped_state_writer_publish(amped_state_writer *w, bool previous);
void amped_state_writer_close(amped_state_writer *w);

/* Numbers of a row, and their type, in a part. */
uint64_t amped_state_columns(const amped_state_head *head, int part);
amped_hdf5_type amped_state_type(const amped_state_head *head, int part);

/* The most bytes of such a file, without labels, held-out entries and batches. */
uint64_t amped_state_base_bytes(const amped_state_head *head);

#endif
