/* Batch source: the batches of a stream, one after another, each as an input of its own.
 *
 * A batch is a list in host memory of rank 0, in the indices of the state that it is to be learnt
 * by. In a mode where the state has labels, those of the batch are looked up, and new ones get the
 * next indices, in the order of the batch's own. Where the state has none, labels of the batch are
 * indices counted from 1. Indices without labels are the state's; where they go beyond it, it
 * grows, in a mode without labels. AMPED_BAD_INPUT: a batch of another order; indices without
 * labels where the state has labels; names of modes in other places; labels that repeat.
 *
 * A file without entries is passed over, with a notice. */
#ifndef AMPED_BATCH_SOURCE_H
#define AMPED_BATCH_SOURCE_H

#include "load/batch_cut.h"

typedef enum amped_batch_kind {
  AMPED_BATCH_FILES, /* each file is a batch: any input of convert */
  AMPED_BATCH_BY,    /* one input, cut along a mode: `batch` indices at a time, in index order */
  AMPED_BATCH_BOXES, /* one input, as boxes that grow: what each adds to those before */
  AMPED_BATCH_FOLLOW /* files of a folder, in order of name, as they come; names that begin with a
                        dot or end in .tmp, .part or .lock, and drafts, are none. Ends by a signal
                      */
} amped_batch_kind;

/* What the user asks for; borrowed until close. */
typedef struct amped_batch_request {
  amped_batch_kind kind;
  const char *const *paths; /* of the files; else the input's, or the folder's, alone */
  int count;
  const char *by; /* BY: the mode's name, or its number from 1 */
  uint64_t batch; /* BY: at least 1 */
  amped_boxes boxes;
  uint64_t max_rows; /* of a mode; 0: twice the sum of its rows and the batch's entries */
  const amped_read_options *read; /* of texts and tables; HDF5 files go without */
} amped_batch_request;

/* The state that batches are for. BY and BOXES pass over what its first fit had: BY its indices of
 * the mode; BOXES entries all of whose indices it had. Later batches come again, for the caller to
 * know them by their hashes: so a stream that goes on has the same batches. */
typedef struct amped_batch_target {
  const char *path; /* for messages; borrowed until close */
  int order;
  uint64_t dims[AMPED_MAX_ORDER];
  uint64_t first[AMPED_MAX_ORDER]; /* dims of its first fit */
  uint64_t first_nnz;              /* entries of its first fit; rank 0 */
  const amped_labels *labels;      /* [order], rank 0, during the call; elsewhere NULL */
  /* What is done with repeated coordinates of a text or table where the user does not say. */
  amped_duplicates duplicates;
} amped_batch_target;

typedef struct amped_batch_source amped_batch_source;

typedef struct amped_source_batch {
  amped_input *input; /* NULL: there is no further batch, and all else is zero */
  char *name;         /* for messages, and for the state's list of batches */
  uint64_t hash;      /* amped_sptensor_hash, of the state's indices */
  uint64_t nnz;
  uint64_t dims[AMPED_MAX_ORDER];      /* of the state with this batch; the input's are the same */
  uint64_t new_rows[AMPED_MAX_ORDER];  /* dims less the state's */
  amped_labels added[AMPED_MAX_ORDER]; /* rank 0: labels of new rows; borrowed from the source,
                                          until the next call */
} amped_source_batch;

/* Before MPI starts: look at the HDF5 input of BY and BOXES in a child process (hdf5/hdf5_probe.h);
 * else start one that looks at files as they come (hdf5/hdf5_prober.h), until the source is closed.
 */
amped_status amped_batch_source_probe(const amped_batch_request *request);

/* Collective; the status is agreed. AMPED_USAGE: the request does not fit the state, such as boxes
 * of another order, or a mode that there is not. *out is NULL on failure. */
amped_status amped_batch_source_open(const amped_comm *comm, const amped_batch_request *request,
                                     const amped_batch_target *target, amped_batch_source **out);
/* NULL is allowed; not collective. */
void amped_batch_source_close(amped_batch_source *source);

/* Collective; the status is agreed. The next batch; FOLLOW waits for one. AMPED_STOPPED, without a
 * line, where a signal has reached any rank (amped_signals_caught). A batch that was not accepted
 * leaves no labels and no dims behind. Release every batch before the next call; release takes a
 * zeroed one, too, and is not collective. */
amped_status amped_batch_source_next(amped_batch_source *source, amped_source_batch *out);
void amped_batch_release(amped_source_batch *batch);

/* Collective; the status is agreed. The state has learnt the batch in hand: its dims and labels are
 * the state's from now on. */
amped_status amped_batch_source_accept(amped_batch_source *source, const amped_source_batch *batch);

/* Rank 0: labels of a mode, with its name, as they are now; count 0: it has none. Borrowed until
 * the next call of accept. */
amped_labels amped_batch_source_labels(const amped_batch_source *source, int mode);

#endif
