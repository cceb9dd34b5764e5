/* Batch cut: batches out of one input, along a mode or as expanding boxes (batch_source.h).
 *
 * Entries that the state's first fit had are skipped, so that a resumed stream cuts the same
 * batches. For slices: all entries at indices of the mode that have learnt an entry in the first
 * fit, or in a batch that was no cut. For boxes: entries with all indices within the dims of the
 * first fit. A slice has the next `batch` indices that occur and are not skipped, in the natural
 * order of their labels (tensor/label_order.h); without labels, in index order. Indices within the
 * dims of the first fit that had learnt nothing make slices of their own, which end if an index
 * is skipped: so the name of a slice says which ones they were.
 *
 * A file with copies in that order is read slice by slice, and every file is read once per box;
 * other inputs are in memory of rank 0. Rank 0; not collective. */
#ifndef AMPED_BATCH_CUT_H
#define AMPED_BATCH_CUT_H

#include "load/batch_indices.h"
#include "load/input.h"
#include "load/snapshot.h"

/* Box k has the indices below first + k * step, in each mode. */
typedef struct amped_boxes {
  int order;
  uint64_t first[AMPED_MAX_ORDER]; /* at least 1 */
  uint64_t step[AMPED_MAX_ORDER];  /* at least one above 0 */
} amped_boxes;

/* Parses "D0xD1..,+S0xS1..". Returns false if the text is malformed. */
bool amped_boxes_parse(const char *text, amped_boxes *out);

typedef struct amped_batch_cut amped_batch_cut;

typedef struct amped_batch_cut_request {
  int mode;                 /* cut along this mode; -1: into boxes */
  uint64_t batch;           /* indices of a slice */
  const amped_boxes *boxes; /* if mode is -1 */
  uint64_t known_nnz;       /* entries of the state's first fit, and of batches that were no cuts of
                               this kind */
  const amped_known_list *known; /* borrowed until close; NULL: unknown */
  const uint64_t *const *learnt; /* bits of the state's rows of each mode: which have learnt an
                                    entry; NULL: all have, in this mode or in all. Borrowed until
                                    close */
  const amped_labels *earlier;   /* names of the state's batches; NULL: none */
} amped_batch_cut_request;

/* Open a cut; it borrows input and indices until close. Slices that the names of earlier batches
 * mention come as they were cut then, whatever `batch` is now, with a notice if they were cut from
 * another file: its entries can then be recognised. */
amped_status amped_batch_cut_open(amped_input *input, amped_batch_indices *indices,
                                  const amped_batch_cut_request *request, amped_batch_cut **out);
void amped_batch_cut_close(amped_batch_cut *cut);

/* The next batch, in the input's indices; nnz 0: no batch is left. *name, for messages, is the
 * caller's (amped_free). */
amped_status amped_batch_cut_next(amped_batch_cut *cut, amped_sptensor *out, char **name);

/* A batch of the cut is an earlier batch that was no cut, with nnz entries: none of them is among
 * the entries that are skipped. */
void amped_batch_cut_recognise(amped_batch_cut *cut, uint64_t nnz);

/* Names of cut batches are "FILE (...)". If `name` has the file of `path`, in whatever folder,
 * returns its part behind FILE, " (...)"; otherwise NULL. */
const char *amped_batch_cut_behind_file(const char *name, const char *path);

/* Print the beginning of what names of a cut have behind FILE: " (MODE " of slices of a mode, whose
 * labels have its name, or " (box " (mode -1). A label of a slice is named by its text, with a hash
 * if that may be another's, too. */
#define AMPED_BATCH_CUT_BEGINNING 96
void amped_batch_cut_begin(int mode, const amped_labels *labels,
                           char text[AMPED_BATCH_CUT_BEGINNING]);
/* Is this the name of a batch of a cut with this beginning, of whatever file? */
bool amped_batch_cut_is(const char *name, const char *beginning);

/* The input's labels, one per mode. */
const amped_labels *amped_batch_cut_labels(const amped_batch_cut *cut);

#endif
