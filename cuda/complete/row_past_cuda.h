/* History of a batch's rows on a GPU (backend/row_past.h): the twin of
 * src/cpu/complete/row_past_cpu.c. */
#ifndef AMPED_ROW_PAST_CUDA_H
#define AMPED_ROW_PAST_CUDA_H

#include "cuda/load/tensor_part_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const amped_row_past_ops amped_row_past_cuda_ops;

void amped_row_past_cuda_free(amped_row_past_cuda *past,
                              const amped_plan *plan); /* NULL is allowed */

#ifdef __cplusplus
}
#endif

#endif
