/* Row fits on CPU cores (backend/row_fit.h), over the packed copies.
 *
 * Threads take units of consecutive nonzeros dynamically. A row belongs to the unit that holds its
 * first nonzero. Long rows are cut into pieces, whose equations are added up piece by piece.
 * Neither division depends on the number of threads, so any number of threads gives the same
 * bits. */
#ifndef AMPED_ROW_FIT_CPU_H
#define AMPED_ROW_FIT_CPU_H

#include "cpu/complete/row_assembly_cpu.h"

/* Nonzeros per unit: a multiple of a bundle, and of a pack of any packing. */
#define AMPED_ROW_UNIT UINT64_C(4096)

extern const amped_row_fit_ops amped_row_fit_cpu_ops;

void amped_row_fit_cpu_free(amped_row_fit_cpu *f, const amped_plan *plan); /* NULL is allowed */

/* Number of units of this rank's copy of mode. unit_sums holds one amped_errors, amped_moments or
 * amped_row_fit_sums per unit. */
uint64_t amped_row_fit_cpu_units(const amped_plan *plan, int mode);

/* The first nonzero, from k on, that begins a row of the copy; nnz if there is none. */
uint64_t amped_cpu_copy_next_row(const amped_cpu_copy *copy, uint64_t k);

/* Operations that row fits and block fits share, for a job of the current fit. */
void amped_row_fit_cpu_begin(amped_row_job j);
amped_status amped_row_fit_cpu_wait(amped_tensor_part *part, int mode, int block_part,
                                    amped_mttkrp_times *times, amped_row_fit_sums *sums);
void amped_row_fit_cpu_get(amped_row_job j, uint64_t row, uint64_t count, double *equations);
void amped_row_fit_cpu_put(const amped_row_job *j, uint64_t row, uint64_t count,
                           const double *equations);
amped_status amped_row_fit_cpu_solve_shared(amped_tensor_part *part, int mode,
                                            amped_row_fit_sums *sums);

/* Operations of the table: held-out nonzeros, and sums over single nonzeros. */
amped_status amped_row_fit_cpu_hold_out(amped_tensor_part *part, const uint32_t *const *keys,
                                        uint64_t seed, uint64_t below, uint64_t *held);
amped_status amped_row_fit_cpu_moments(amped_tensor_part *part, amped_moments *out);
amped_status amped_row_fit_cpu_errors(amped_tensor_part *part, int mode, bool held,
                                      const amped_row_fit *fit, double least, double most,
                                      amped_errors *out);

/* Operations of the table: set the weights of nonzeros, and read nonzeros with their weights. */
amped_status amped_row_fit_cpu_weigh(amped_tensor_part *part, uint64_t count,
                                     const uint64_t *const *indices, const double *weights,
                                     uint64_t *placed);
amped_status amped_row_fit_cpu_view(amped_tensor_part *part, uint64_t first, uint64_t count,
                                    uint64_t *const *positions, bool *held, double *weights,
                                    double *values);

/* Find the file index of every position, for weigh and hold_out; with keys, the key of that index
 * (row_fit.h). hold_out frees the indices. */
amped_status amped_row_fit_cpu_find_indices(amped_tensor_part *part, const uint32_t *const *keys);

/* Bytes of these indices. */
uint64_t amped_row_fit_cpu_hold_out_bytes(const amped_plan *plan);

/* 64-bit words of a bit set with one bit per nonzero. */
static inline uint64_t amped_row_fit_cpu_held_words(uint64_t nnz) {
  return (nnz + 63) / 64;
}

#endif
