/* Batch indices: translation of a batch's indices to the indices of a stream's state, which grows.
 *
 * The state's labels, in modes that have some, are numbered like the state's rows. Labels that are
 * new in a batch are staged after them, until the state has learnt the batch. Host memory of rank
 * 0; not collective. */
#ifndef AMPED_BATCH_INDICES_H
#define AMPED_BATCH_INDICES_H

#include "tensor/sptensor.h"
#include "text/intern.h"

typedef struct amped_batch_indices {
  const char *path; /* path of the state, for messages; borrowed */
  int order;
  uint64_t dims[AMPED_MAX_ORDER];  /* dims of the state */
  uint64_t known[AMPED_MAX_ORDER]; /* dims of the state's first fit */
  bool from_zero;                  /* the user's files count indices from 0 */
  int by; /* mode in whose order lists come: new labels are numbered so; -1 */
  bool labelled[AMPED_MAX_ORDER];
  bool are_indices[AMPED_MAX_ORDER];     /* labels are numbers of indices; a batch may have these
                                            instead */
  amped_period periods[AMPED_MAX_ORDER]; /* labels are periods; a batch may have time stamps */
  char *names[AMPED_MAX_ORDER];          /* names of modes, or NULL */
  bool names_compared;                   /* a tensor was checked */
  amped_intern labels[AMPED_MAX_ORDER];  /* labels of the state */
  amped_intern staged[AMPED_MAX_ORDER];  /* new labels; staged label i has the index dims + i */
} amped_batch_indices;

/* labels: [order]. AMPED_BAD_INPUT if labels of a mode repeat, because they do not identify an
 * index. free accepts a zeroed or freed struct. */
amped_status amped_batch_indices_create(const char *path, int order, const uint64_t *dims,
                                        const uint64_t *known, const amped_labels *labels,
                                        amped_batch_indices *out);
void amped_batch_indices_free(amped_batch_indices *x);

/* Does this tensor have the modes of the state? AMPED_BAD_INPUT if it has another order, if a mode
 * has another mode's name, or if it has only indices for state labels that are no indices. Warns,
 * for the first tensor only, of modes with other names than the state's. labels: one per mode. */
amped_status amped_batch_indices_check(amped_batch_indices *x, const char *name, int order,
                                       const amped_labels *labels);

/* The state's index of index i of a mode, with these labels; AMPED_INDEX_UNKNOWN (text/
 * index_match.h): a label that the state has not. */
uint64_t amped_batch_indices_of(const amped_batch_indices *x, int mode, const amped_labels *labels,
                                uint64_t i);

/* Translate a list's indices into the state's. labels: the labels of its indices, one per mode.
 * list->dims become the state's dims with the list included. AMPED_BAD_INPUT if labels repeat, or
 * if they are no indices and the state has no labels. */
amped_status amped_batch_indices_translate(amped_batch_indices *x, const char *name,
                                           const amped_labels *labels, amped_sptensor *list);

/* The staged labels of a mode; borrowed until the next turn, accept or drop. */
amped_labels amped_batch_indices_staged(const amped_batch_indices *x, int mode);
/* All labels of the state, with the mode's name; borrowed until the next accept. */
amped_labels amped_batch_indices_labels(const amped_batch_indices *x, int mode);

/* accept: staged labels become the state's, with these dims. drop: forget them. */
amped_status amped_batch_indices_accept(amped_batch_indices *x, const uint64_t *dims);
void amped_batch_indices_drop(amped_batch_indices *x);

#endif
