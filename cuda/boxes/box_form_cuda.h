/* Boxes as a form of the copies (cuda/sorted/copies_cuda.h): one copy for all modes, in the boxes
 * of plan->linear. Memory, pinning and streaming are those of every form.
 *
 * Nonzeros are appended box by box (sort_boxed_cuda.cuh). When the last has come, they are cut into
 * pieces. Each mode gets its way through them: the order of its bundles, whether these are sorted
 * by rows, and its hot rows. Rows are counted on the GPU, in a pass over the copy. */
#ifndef AMPED_BOX_FORM_CUDA_H
#define AMPED_BOX_FORM_CUDA_H

#include "cuda/sorted/copies_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const amped_copy_form_cuda amped_box_cuda_form;
/* The same, with sums that have the same bits in every run. */
extern const amped_copy_form_cuda amped_box_fixed_cuda_form;

/* Device memory that passes over the copy take, beside the layout: parts of hot rows, and fixed
 * sums. */
uint64_t amped_box_sums_cuda_bytes(const amped_plan *plan, bool fixed);

/* AMPED_FAILED where rows, or parts of hot rows, need more than the 31 bits that kernels have. */
amped_status amped_box_cuda_check(const amped_plan *plan);

/* MTTKRP of mode into output, amped_box_rows_cuda rows: begins a pass over the plan's one copy.
 * factors: of all modes but this. amped_copies_cuda_finish ends it. */
amped_status amped_box_cuda_begin(amped_copies_cuda *copies, int mode, const void *const *factors,
                                  void *output);

/* How mode's bundles are added up: "direct", "combined". */
const char *amped_box_cuda_way(const amped_copies_cuda *copies, int mode);

#ifdef __cplusplus
}
#endif

#endif
