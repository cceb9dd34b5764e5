/* Batch indices: the indices of a batch become those of a stream's state, which grows.
 *
 * The state's labels, of modes that have some, are numbered as the state numbers its rows. Labels
 * that are new in a batch are staged behind them, until the state has learnt it. Host memory of
 * rank 0; not collective. */
#ifndef AMPED_BATCH_INDICES_H
#define AMPED_BATCH_INDICES_H

#include "tensor/sptensor.h"
#include "text/intern.h"

typedef struct amped_batch_indices {
  const char *path; /* of the state, for messages; borrowed */
  int order;
  uint64_t dims[AMPED_MAX_ORDER];  /* of the state */
  uint64_t known[AMPED_MAX_ORDER]; /* dims of the state's first fit */
  bool from_zero;                  /* the user's files call the first index 0 */
  bool labelled[AMPED_MAX_ORDER];
  bool are_indices[AMPED_MAX_ORDER];    /* labels are numbers of indices, which a batch may have */
  char *names[AMPED_MAX_ORDER];         /* of modes, or NULL */
  amped_intern labels[AMPED_MAX_ORDER]; /* of the state */
  amped_intern staged[AMPED_MAX_ORDER]; /* index i of these is dims + i */
} amped_batch_indices;

/* labels: [order]. AMPED_BAD_INPUT: labels of a mode repeat, and tell no index. Free takes a zeroed
 * or freed one. */
amped_status amped_batch_indices_create(const char *path, int order, const uint64_t *dims,
                                        const uint64_t *known, const amped_labels *labels,
                                        amped_batch_indices *out);
void amped_batch_indices_free(amped_batch_indices *x);

/* Has this tensor the modes of the state? AMPED_BAD_INPUT: it has another order, a mode has the
 * name of another one, or indices alone where the state has labels that are no indices. labels: one
 * a mode. */
amped_status amped_batch_indices_check(const amped_batch_indices *x, const char *name, int order,
                                       const amped_labels *labels);

/* Had the state's first fit index i of a mode, with these labels? */
bool amped_batch_indices_knew(const amped_batch_indices *x, int mode, const amped_labels *labels,
                              uint64_t i);

/* Turn a list's indices into the state's; `labels`, one a mode, are those of its indices.
 * list->dims become those of the state with it. AMPED_BAD_INPUT: labels repeat, or are no indices
 * where the state has no labels. */
amped_status amped_batch_indices_turn(amped_batch_indices *x, const char *name,
                                      const amped_labels *labels, amped_sptensor *list);

/* The staged labels of a mode; borrowed until the next call that turns, accepts or drops. */
amped_labels amped_batch_indices_staged(const amped_batch_indices *x, int mode);
/* All of the state, with the mode's name; borrowed until the next call that accepts. */
amped_labels amped_batch_indices_labels(const amped_batch_indices *x, int mode);

/* What is staged becomes the state's, with these dims; or is forgotten. */
amped_status amped_batch_indices_accept(amped_batch_indices *x, const uint64_t *dims);
void amped_batch_indices_drop(amped_batch_indices *x);

#endif
