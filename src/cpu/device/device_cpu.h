/* The CPU device: cores of one rank, and the other tables of the CPU backend. */
#ifndef AMPED_DEVICE_CPU_H
#define AMPED_DEVICE_CPU_H

#include "backend/backend.h"

struct amped_device {
  int threads;
  char description[128];
};

/* Tables of the CPU backend's parts. */
extern const amped_factor_ops amped_factor_set_cpu;
extern const amped_factor_history_ops amped_factor_history_cpu;
extern const amped_row_vector_ops amped_row_vectors_cpu;
extern const amped_list_ops amped_list_part_cpu;
extern const amped_format_ops amped_sorted_cpu;
extern const amped_format_ops amped_boxes_cpu;
extern const amped_format_ops amped_dense_cpu;

/* Arrays of a factor set, in host memory: mode's factor, and the MTTKRP result. */
const void *amped_factor_set_cpu_rows(const amped_factor_set *factors, int mode);
void *amped_factor_set_cpu_output(amped_factor_set *factors);
/* Element of both at which the set's first column of a row lies. */
uint64_t amped_factor_set_cpu_at(const amped_factor_set *factors, uint64_t row);

#endif
