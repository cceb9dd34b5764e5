/* History of a batch's rows from counts and a model, on CPU cores (backend/row_past.h). */
#ifndef AMPED_ROW_PAST_CPU_H
#define AMPED_ROW_PAST_CPU_H

#include "cpu/sorted/tensor_part_cpu.h"

extern const amped_row_past_ops amped_row_past_cpu_ops;

void amped_row_past_cpu_free(amped_row_past_cpu *past,
                             const amped_plan *plan); /* NULL is allowed */

#endif
