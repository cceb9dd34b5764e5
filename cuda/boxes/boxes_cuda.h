/* One copy for all modes, in boxes, on a GPU: twin of src/cpu/boxes/boxes_cpu.c. */
#ifndef AMPED_BOXES_CUDA_H
#define AMPED_BOXES_CUDA_H

#ifdef __cplusplus
extern "C" {
#endif

#include "backend/backend.h"

extern const amped_format_ops amped_boxes_cuda;

#ifdef __cplusplus
}
#endif

#endif
