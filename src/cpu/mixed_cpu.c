/* Tensor format "mixed" in host memory: sorted copies for some modes, and one copy in boxes for the
 * others. */
#include "cpu/device/device_cpu.h"

#define MIXED_FORMAT amped_mixed_cpu
#define MIXED_BOXES amped_boxes_cpu
#define MIXED_SORTED amped_sorted_cpu
#include "backend/mixed_body.h"
