/* History of a batch's rows on a GPU (backend/row_history.h): the twin of
 * src/cpu/complete/row_history_cpu.c. */
#ifndef AMPED_ROW_HISTORY_CUDA_H
#define AMPED_ROW_HISTORY_CUDA_H

#include "cuda/load/tensor_part_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const amped_row_history_ops amped_row_history_cuda_ops;

void amped_row_history_cuda_free(amped_row_history_cuda *history,
                                 const amped_plan *plan); /* NULL is allowed */

#ifdef __cplusplus
}
#endif

#endif
