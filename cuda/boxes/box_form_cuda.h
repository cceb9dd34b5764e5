/* Boxes as a form of the copies (cuda/sorted/copies_cuda.h): one copy for all modes, in the boxes
 * of plan->linear. Memory, pinning and streaming work as for every form.
 *
 * Nonzeros are appended box by box (sort_boxed_cuda.cuh). After the last one, they are cut into
 * pieces, and each mode gets its traversal of the pieces. A traversal is the order of the mode's
 * bundles, whether bundles are sorted by rows, and the frequent ("frequent") rows. Rows are counted
 * on the GPU, in a pass over the copy. */
#ifndef AMPED_BOX_FORM_CUDA_H
#define AMPED_BOX_FORM_CUDA_H

#include "cuda/sorted/copies_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const amped_copy_form_cuda amped_box_cuda_form;
/* Boxes whose sums are 64-bit integers, so that they have the same bits in every run. */
extern const amped_copy_form_cuda amped_box_fixed_cuda_form;

/* Returns the device memory in bytes, in addition to the layout, for MTTKRP: the parts of frequent
 * rows and, if `fixed`, integer sums of all rows with their scales. */
uint64_t amped_box_sums_cuda_bytes(const amped_plan *plan, bool fixed);

/* Returns AMPED_FAILED if a box's indices in a mode, or the parts of frequent rows, need more than
 * the kernels' 31 bits. */
amped_status amped_box_cuda_check(const amped_plan *plan);

/* Begin the MTTKRP of mode, a pass over the plan's one copy; amped_copies_cuda_finish ends the
 * pass. factors: of every mode except `mode`. output: amped_box_rows_cuda rows, device memory. */
amped_status amped_box_cuda_begin(amped_copies_cuda *copies, int mode, const void *const *factors,
                                  void *output);

/* Returns how the terms of mode's bundles are added: "direct", or "combined" (sorted first). */
const char *amped_box_cuda_way(const amped_copies_cuda *copies, int mode);

#ifdef __cplusplus
}
#endif

#endif
