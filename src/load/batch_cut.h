/* Batch cut: batches out of one input, along a mode or as boxes that grow (batch_source.h).
 *
 * What the state's first fit had is passed over: of slices, indices of their mode; of boxes,
 * entries all of whose indices it had. So a stream that goes on cuts the same batches. A slice has
 * the next `batch` indices that occur, and that the first fit had not, in the natural order of
 * their labels (tensor/label_order.h), or without labels in index order. A file with copies in that
 * order is read as slices are asked for, and every file once a box; other inputs are in memory of
 * rank 0. Rank 0; not collective. */
#ifndef AMPED_BATCH_CUT_H
#define AMPED_BATCH_CUT_H

#include "load/batch_indices.h"
#include "load/input.h"

/* Box k has the indices below first + k * step, in each mode. */
typedef struct amped_boxes {
  int order;
  uint64_t first[AMPED_MAX_ORDER]; /* at least 1 */
  uint64_t step[AMPED_MAX_ORDER];  /* some above 0 */
} amped_boxes;

/* "D0xD1..,+S0xS1.."; false where the text is malformed. */
bool amped_boxes_parse(const char *text, amped_boxes *out);

typedef struct amped_batch_cut amped_batch_cut;

/* Borrows input and indices until close. mode: along which it is cut, -1: into boxes. known_nnz:
 * the entries of the state's first fit. */
amped_status amped_batch_cut_open(amped_input *input, const amped_batch_indices *indices, int mode,
                                  uint64_t batch, const amped_boxes *boxes, uint64_t known_nnz,
                                  amped_batch_cut **out);
void amped_batch_cut_close(amped_batch_cut *cut);

/* The next batch, in the input's indices; nnz 0: there is none. *name, of amped_alloc, is what to
 * call it. */
amped_status amped_batch_cut_next(amped_batch_cut *cut, amped_sptensor *out, char **name);

/* The input's labels, one a mode. */
const amped_labels *amped_batch_cut_labels(const amped_batch_cut *cut);

#endif
