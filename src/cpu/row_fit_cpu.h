/* Row fits on CPU cores (backend/row_fit.h), over the packed copies.
 *
 * Threads take units of consecutive rows in turn; the unit that a row's first nonzero lies in has
 * the row. Rows of many nonzeros are cut into pieces, whose equations are added up piece by piece.
 * Neither depends on the number of threads, so any number gives the same bits. */
#ifndef AMPED_ROW_FIT_CPU_H
#define AMPED_ROW_FIT_CPU_H

#include "cpu/row_assembly_cpu.h"

/* Nonzeros of a unit: whole bundles, and whole packs of any packing. */
#define AMPED_ROW_UNIT UINT64_C(4096)

extern const amped_row_fit_ops amped_row_fit_cpu_ops;

void amped_row_fit_cpu_free(amped_row_fit_cpu *f); /* NULL is allowed */

/* Units of mode's copy. unit_sums has room for an amped_errors, an amped_moments or an
 * amped_row_fit_sums of each. */
uint64_t amped_row_fit_cpu_units(const amped_plan *plan, int mode);

/* Where rows of a copy begin: the first nonzero from k on that begins one, or nnz. */
uint64_t amped_cpu_copy_next_row(const amped_cpu_copy *copy, uint64_t k);

/* What row fits and block fits share: operations of both tables, for a job of the fit in hand. */
void amped_row_fit_cpu_begin(amped_row_job j);
amped_status amped_row_fit_cpu_wait(amped_tensor_part *part, int mode, int block_part,
                                    amped_mttkrp_times *times, amped_row_fit_sums *sums);
void amped_row_fit_cpu_get(amped_row_job j, uint64_t row, uint64_t count, double *equations);
void amped_row_fit_cpu_put(const amped_row_job *j, uint64_t row, uint64_t count,
                           const double *equations);
amped_status amped_row_fit_cpu_solve_shared(amped_tensor_part *part, int mode,
                                            amped_row_fit_sums *sums);

/* Nonzeros that are held out, and sums over single nonzeros: operations of the table. */
amped_status amped_row_fit_cpu_hold_out(amped_tensor_part *part, uint64_t seed, uint64_t below,
                                        uint64_t *held);
amped_status amped_row_fit_cpu_moments(amped_tensor_part *part, amped_moments *out);
amped_status amped_row_fit_cpu_errors(amped_tensor_part *part, int mode, bool held,
                                      const amped_row_fit *fit, double least, double most,
                                      amped_errors *out);

/* Weights of nonzeros, and what they are: operations, too. */
amped_status amped_row_fit_cpu_weigh(amped_tensor_part *part, uint64_t count,
                                     const uint64_t *const *indices, const double *weights,
                                     uint64_t *placed);
amped_status amped_row_fit_cpu_view(amped_tensor_part *part, uint64_t first, uint64_t count,
                                    uint64_t *const *positions, bool *held, double *weights);

/* File indices of positions, for weigh and hold_out, which frees them. */
amped_status amped_row_fit_cpu_find_indices(amped_tensor_part *part);

/* Bytes that they take. */
uint64_t amped_row_fit_cpu_hold_out_bytes(const amped_plan *plan);

/* Words of a copy's bits. */
static inline uint64_t amped_row_fit_cpu_held_words(uint64_t nnz) {
  return (nnz + 63) / 64;
}

#endif
