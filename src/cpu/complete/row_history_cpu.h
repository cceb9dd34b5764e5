/* History of a batch's rows from counts and a model, on CPU cores (backend/row_history.h). */
#ifndef AMPED_ROW_HISTORY_CPU_H
#define AMPED_ROW_HISTORY_CPU_H

#include "cpu/sorted/tensor_part_cpu.h"

extern const amped_row_history_ops amped_row_history_cpu_ops;

void amped_row_history_cpu_free(amped_row_history_cpu *history,
                                const amped_plan *plan); /* NULL is allowed */

#endif
