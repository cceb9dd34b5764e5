/* Batch source: the batches of a stream, one after another, each as an input of its own.
 *
 * A batch is a list in host memory of rank 0, in the indices of the state that will learn it. In a
 * mode with labels in the state, the batch's labels are looked up, and new labels get the next
 * indices, in the batch's own order. In a mode without labels in the state, the batch's labels are
 * indices counted from 1. Indices without labels are the state's; larger indices make the state
 * grow, if the mode has no labels.
 *
 * Files of FILES and FOLLOW may be snapshots, or begin with batches of the state (load/snapshot.h).
 * Their batch has only the entries that the state has not learnt.
 *
 * AMPED_BAD_INPUT: a batch of another order; indices without labels, if the state has labels; names
 * of modes in other places; repeated labels. A file without entries is skipped, with a notice. */
#ifndef AMPED_BATCH_SOURCE_H
#define AMPED_BATCH_SOURCE_H

#include "load/batch_cut.h"
#include "load/snapshot.h"

typedef enum amped_batch_kind {
  AMPED_BATCH_FILES, /* each file is a batch: any input of convert */
  AMPED_BATCH_BY,    /* one input, cut along a mode: `batch` indices at a time, in index order */
  AMPED_BATCH_BOXES, /* one input, as expanding boxes: a batch is what a box adds to the previous
                        ones */
  AMPED_BATCH_FOLLOW /* files of a folder, in order of name, as they arrive; ends by a signal. A
                        file that is moved to a name that came before comes again. Skipped: drafts,
                        and names that begin with a dot or end in .tmp, .part or .lock */
} amped_batch_kind;

/* The user's request; borrowed until close. */
typedef struct amped_batch_request {
  amped_batch_kind kind;
  const char *const *paths; /* FILES: the files; else one: the input or the folder */
  int count;
  const char *by; /* BY: the mode's name, or its number from 1 */
  uint64_t batch; /* BY: at least 1 */
  amped_boxes boxes;
  bool snapshots;    /* FILES, FOLLOW: a file that is no snapshot is refused (AMPED_BAD_INPUT) */
  uint64_t max_rows; /* limit of rows per mode; 0: twice the sum of the mode's rows and the batch's
                        entries */
  const amped_read_options *read; /* options for texts and tables; not applied to HDF5 files */
} amped_batch_request;

/* The state that learns the batches. BY and BOXES skip what its first fit had: BY, indices of the
 * mode that have learnt an entry (load/batch_cut.h); BOXES, entries with all indices in the first
 * fit. Later batches come again,
 * and the caller recognises them by their hashes. Therefore a resumed stream has the same
 * batches. */
typedef struct amped_batch_target {
  const char *path; /* for messages; borrowed until close */
  int order;
  uint64_t dims[AMPED_MAX_ORDER];
  uint64_t first[AMPED_MAX_ORDER]; /* dims of the state's first fit */
  uint64_t known_nnz;              /* entries of the state's first fit, and of batches that were no
                                      cuts; rank 0 */
  const amped_known_list *known;   /* rank 0: the state's cells, borrowed until close; NULL:
                                      unknown */
  const uint64_t *const *learnt;   /* [order] BY, BOXES: bits of each mode's rows: which have learnt
                                      an   entry; NULL, or NULL in a mode: all have. Rank 0; borrowed
                                      until   close */
  const amped_labels *labels;      /* [order], on rank 0 during the call; NULL on other ranks */
  const amped_labels *earlier;     /* names of the state's batches, on rank 0 during the call; NULL:
                                      none */
  uint64_t split_seed, sample;     /* the state's (state/state_head.h) */
  amped_batch_sums *sums; /* rank 0: the state's batches, borrowed until close; accept adds the
                       batch. NULL: no file is compared with them */
  /* Rule for repeated coordinates of a text or table, if the user gives none. */
  amped_duplicates duplicates;
} amped_batch_target;

typedef struct amped_batch_source amped_batch_source;

typedef struct amped_source_batch {
  amped_input *input; /* NULL: no batch is left, and all else is zero */
  char *name;         /* for messages, and for the state's list of batches */
  uint64_t hash;      /* amped_sptensor_hash, with the state's indices */
  uint64_t nnz; /* entries, as hash and squares have them: without `unlearnt`, unless same_as */
  amped_unlearnt unlearnt; /* entries of a snapshot, or of batches with which the file begins, that
                              had weight 0 in the first fit, which counts them: they are learnt; of
                              same_as: they are not */
  uint64_t known;   /* entries that are left out, because they were learnt: of a snapshot, or of
                       batches with which the file begins */
  bool begins;      /* the file begins with such batches */
  bool mixed;       /* entries of weight 0 may be among the known ones: the state's sample does not
                       have all cells */
  uint64_t same_as; /* batches 1 to same_as together have the same entries, all of which stay; or
                       several batches, of which it is the last (begins); 0: they have others */
  double squares;   /* sum of squares of its values */
  uint64_t dims[AMPED_MAX_ORDER]; /* dims of the state with this batch; the input's are the same */
  uint64_t new_rows[AMPED_MAX_ORDER];  /* dims minus the state's */
  amped_sptensor sample;               /* rank 0: sample of its entries (tensor/entry_sample.h) */
  amped_labels added[AMPED_MAX_ORDER]; /* rank 0: labels of new rows; borrowed from the source until
                                          the next call */
} amped_source_batch;

/* Before MPI starts: probe the HDF5 input of BY and BOXES in a child process (hdf5/hdf5_probe.h).
 * For FOLLOW, and for FILES with HDF5 among them: start a process that probes files as they arrive
 * (hdf5/hdf5_prober.h), until the source is closed. */
amped_status amped_batch_source_probe(const amped_batch_request *request);

/* Collective; the status is agreed. AMPED_USAGE if the request does not fit the state, such as
 * boxes of another order, or an unknown mode. *out is NULL on failure. */
amped_status amped_batch_source_open(const amped_comm *comm, const amped_batch_request *request,
                                     const amped_batch_target *target, amped_batch_source **out);
/* Rank 0: a batch is an earlier one that was no cut, with nnz entries: of BY and BOXES, none of
 * them is among the entries that are skipped. */
void amped_batch_source_recognise(amped_batch_source *source, uint64_t nnz);
/* NULL is allowed; not collective. */
void amped_batch_source_close(amped_batch_source *source);

/* Collective; the status is agreed. Get the next batch; FOLLOW waits for one. AMPED_STOPPED,
 * without a message, if any rank received a signal (amped_signals_caught). A batch that is not
 * accepted leaves no labels and no dims behind. Release every batch before the next call. release
 * accepts a zeroed batch, and is not collective. */
amped_status amped_batch_source_next(amped_batch_source *source, amped_source_batch *out);
void amped_batch_release(amped_source_batch *batch);

/* Collective; the status is agreed. Declare the current batch learnt: its dims and labels become
 * the state's. */
amped_status amped_batch_source_accept(amped_batch_source *source, const amped_source_batch *batch);

/* Rank 0: the current labels of a mode, with its name; count 0: no labels. Borrowed until the next
 * accept. */
amped_labels amped_batch_source_labels(const amped_batch_source *source, int mode);

#endif
