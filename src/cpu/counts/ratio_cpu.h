/* Ratios over a packed copy on CPU cores: the table of operations of backend/ratio.h. Twin of
 * cuda/counts/ratio_cuda.h. */
#ifndef AMPED_RATIO_CPU_H
#define AMPED_RATIO_CPU_H

#include "cpu/sorted/tensor_part_cpu.h"

/* Frees the part's state for ratios; NULL is allowed. */
void amped_ratio_part_cpu_free(amped_ratio_part_cpu *part);

extern const amped_ratio_ops amped_ratio_cpu_ops;

#endif
