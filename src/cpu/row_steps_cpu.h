/* Row steps on CPU cores (backend/row_steps.h), over the packed copies.
 *
 * Threads take units of consecutive rows in turn; pieces of rows that have several are listed, some
 * hundreds at a time, and dealt out in groups. Neither depends on the number of threads, so any
 * number gives the same bits. */
#ifndef AMPED_ROW_STEPS_CPU_H
#define AMPED_ROW_STEPS_CPU_H

#include "cpu/tensor_part_cpu.h"

extern const amped_row_step_ops amped_row_steps_cpu_ops;

void amped_row_steps_cpu_free(amped_row_steps_cpu *s); /* NULL is allowed */

#endif
