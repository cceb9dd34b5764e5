/* Row steps on CPU cores (backend/row_steps.h), over the packed copies.
 *
 * Threads take units of consecutive rows dynamically. The pieces of longer rows are listed, up to
 * 1024 at a time, and distributed in groups. Neither division depends on the number of threads, so
 * any number of threads gives the same bits. */
#ifndef AMPED_ROW_STEPS_CPU_H
#define AMPED_ROW_STEPS_CPU_H

#include "cpu/sorted/tensor_part_cpu.h"

extern const amped_row_step_ops amped_row_steps_cpu_ops;

void amped_row_steps_cpu_free(amped_row_steps_cpu *s, const amped_plan *plan); /* NULL is allowed */

#endif
