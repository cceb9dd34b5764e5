/* The tensor part of the sorted copies on a GPU, shared by the files of its operations. */
#ifndef AMPED_TENSOR_PART_CUDA_H
#define AMPED_TENSOR_PART_CUDA_H

#include "cuda/device/rank_device_cuda.h"
#include "cuda/load/coo_buffer_cuda.h"
#include "cuda/sorted/copies_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct amped_ratio_cuda amped_ratio_cuda;
typedef struct amped_row_fit_cuda amped_row_fit_cuda;
typedef struct amped_row_history_cuda amped_row_history_cuda;
typedef struct amped_row_steps_cuda amped_row_steps_cuda;

struct amped_tensor_part {
  amped_device *device;
  amped_factor_set *factors;
  const amped_plan *plan;
  amped_copies_cuda copies;
  amped_coo_buffer_cuda buffer;        /* nonzeros of the mode that is being collected */
  amped_row_fit_cuda *row_fit;         /* NULL before it is prepared */
  amped_row_history_cuda *row_history; /* history of rows; NULL before it begins */
  amped_row_steps_cuda *row_steps;     /* NULL before they are prepared */
  amped_ratio_cuda *ratio;             /* NULL before it is prepared */
};

#ifdef __cplusplus
}
#endif

#endif
