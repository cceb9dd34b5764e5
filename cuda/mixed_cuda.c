/* The format "mixed" on a GPU: instantiates backend/mixed_body.h. */
#include "cuda/mixed_cuda.h"

#include "cuda/boxes/boxes_cuda.h"
#include "cuda/sorted_cuda.h"

#define MIXED_FORMAT amped_mixed_cuda
#define MIXED_BOXES amped_boxes_cuda
#define MIXED_SORTED amped_sorted_cuda
#include "backend/mixed_body.h"
