/* Block fits on CPU cores (backend/block_fit.h): the row fits' traversal over a copy
 * (row_fit_cpu.h), with stored targets instead of values, and columns instead of whole rows. */
#ifndef AMPED_BLOCK_FIT_CPU_H
#define AMPED_BLOCK_FIT_CPU_H

#include "backend/block_fit.h"

extern const amped_block_fit_ops amped_block_fit_cpu_ops;

#endif
