/* Row steps on a GPU, over packed copies that are wholly resident: the twin of
 * src/cpu/complete/row_steps_cpu.h.
 *
 * A group of lanes takes a row, or a piece of a long or shared row. Results of pieces are kept in
 * slots until all are there; then a group adds up the results of a row in order. Groups get rows by
 * number, so results have the same bits every time. */
#ifndef AMPED_ROW_STEPS_CUDA_H
#define AMPED_ROW_STEPS_CUDA_H

#include "cuda/load/tensor_part_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const amped_row_step_ops amped_row_steps_cuda_ops;

void amped_row_steps_cuda_free(amped_row_steps_cuda *s); /* NULL is allowed */

#ifdef __cplusplus
}
#endif

#endif
