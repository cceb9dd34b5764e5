/* Row assembly: equations of rows from a packed copy, on CPU cores. The current fit is a job; each
 * thread has a workspace (amped_row_workspace). */
#ifndef AMPED_ROW_ASSEMBLY_CPU_H
#define AMPED_ROW_ASSEMBLY_CPU_H

#include "backend/row_fit.h"
#include "cpu/complete/row_equations_cpu.h"
#include "cpu/sorted/tensor_part_cpu.h"

/* Nonzeros per piece of a long row: enough work for a thread, and few compared with the row. */
#define AMPED_ROW_PIECE UINT64_C(16384)

/* A row with more nonzeros than a piece. */
typedef struct amped_long_row {
  uint64_t row; /* row of the MTTKRP result */
  uint64_t first, end;
} amped_long_row;

/* A thread's workspace. Its arrays are in amped_row_fit_cpu.work. */
typedef struct amped_row_workspace {
  amped_bundle *bundles; /* two: for even and odd bundle numbers */
  uint64_t numbers[2];   /* numbers of the two decoded bundles */
  char *products;        /* products of nonzeros that are not yet added to the equations */
  amped_row_terms terms;
  uint64_t filled;
  amped_row_equations equations;
  double *solve;
  double *row;     /* including its bias */
  char apart[128]; /* keeps it off the next thread's cache lines */
} amped_row_workspace;

/* Data of a tensor part for row fits. amped_row_fit_cpu_free frees it. */
struct amped_row_fit_cpu {
  uint64_t *held[AMPED_MAX_ORDER]; /* per copy; bit k is set if nonzero k is held out */
  bool any_held;
  void *weights[AMPED_MAX_ORDER]; /* per copy, in the plan's value type; NULL: all are 1 */
  uint64_t *indices;              /* file indices of positions, mode after mode; NULL: not yet
                                     found */
  const uint64_t *indices_of[AMPED_MAX_ORDER];
  amped_long_row *long_rows[AMPED_MAX_ORDER];
  uint64_t long_count[AMPED_MAX_ORDER];
  void *unit_sums;                 /* one sum per unit of rows or nonzeros */
  amped_row_workspace *workspaces; /* [threads + 1] */
  double *work;                    /* memory of the workspaces' arrays */

  amped_row_fit fit; /* parameters of the current fit */
  double *empty;     /* [ncomps + 1] values of a row without nonzeros, and its bias */
  amped_row_fit_sums of_empty;
  double seconds;
  amped_row_fit_sums own, shared; /* not yet reported */
};

typedef struct amped_row_job amped_row_job;

/* Called once per fit for each row, or for each piece of a long row, before its nonzeros first ..
 * end are added up. Updates a block fit's targets for the current block. Returns true if it has
 * also assembled the workspace's equations. row: row of the MTTKRP result. */
typedef bool amped_row_renewal(const amped_row_job *j, amped_row_workspace *d, uint64_t row,
                               uint64_t first, uint64_t end, bool wide);

/* A fit of mode's rows. Read-only while the fit runs. */
struct amped_row_job {
  amped_tensor_part *part;
  const amped_row_fit *fit;
  int mode;
  amped_cpu_mttkrp m;       /* traversal over the copy, with the factors' rows or a block's */
  char *own;                /* this rank's block of rows of mode */
  amped_row_renewal *renew; /* for a block fit; NULL: whole rows */
  const void *targets;      /* data for renew */
  bool tells_biases;        /* report the biases' penalty in the sums */
  bool fetches;
  const void *weights; /* weights of nonzeros; NULL: all are 1 */
  amped_bundle_decoder *decode;
  amped_row_source source;
  amped_row_kernels narrow, wide;
  uint64_t first, end; /* rows of the MTTKRP result */
  double *out;         /* [rows] equations are written here; NULL: rows are solved */
};

/* Make a job of the current fit, and lay out all workspaces. It has no rows and no `out` yet. A
 * block fit passes its number of components, and its own traversal over the copy, whose values are
 * targets. */
amped_row_job amped_row_job_make(amped_tensor_part *part, int mode);
amped_row_job amped_row_job_of_block(amped_tensor_part *part, int mode, const amped_cpu_mttkrp *m,
                                     const void *rows, uint64_t components,
                                     amped_row_renewal *renew, const void *targets);

/* Doubles of a workspace's arrays for this number of components. */
uint64_t amped_row_workspace_elements(uint64_t components);

/* The copy's bundle `number`, decoded. Valid until bundle number + 2 is decoded. Prefetches the
 * rows of bundle number + 1. */
const amped_bundle *amped_row_bundle(const amped_row_job *j, amped_row_workspace *d,
                                     uint64_t number);

/* Bit mask of the nonzeros first .. end that are not held out; all lie in the bundle of `first`. */
static inline uint64_t amped_row_taken(const uint64_t *held, uint64_t first, uint64_t end) {
  uint64_t bits = ~held[first / 64] & UINT64_MAX << first % 64;
  if (end - first / 64 * 64 < 64)
    bits &= (UINT64_C(1) << end % 64) - 1;
  return bits;
}

/* Number of nonzeros among first .. end of mode's copy that are not held out. */
uint64_t amped_row_count(const amped_row_fit_cpu *f, int mode, uint64_t first, uint64_t end);

/* Sum of weights n (row_fit.h) of the nonzeros that are not held out; `count` of them. */
double amped_row_weight(const amped_row_job *j, uint64_t first, uint64_t end, uint64_t count);

/* Write the products and targets of the nonzeros first .. end to the workspace, in double. Fewer
 * than `components` of them may take part. Weighted fits: both are multiplied by the square roots
 * of the weights, which are written to terms.weights. Returns the number of nonzeros written. */
uint64_t amped_row_collect(const amped_row_job *j, amped_row_workspace *d, uint64_t first,
                           uint64_t end);

/* Call j->renew if there is one; else returns false. */
bool amped_row_renew(const amped_row_job *j, amped_row_workspace *d, uint64_t row, uint64_t first,
                     uint64_t end, bool wide);

/* Assemble the equations of the nonzeros first .. end, all of one row, in the workspace. wide: all
 * sums are in double. */
void amped_row_assemble(const amped_row_job *j, amped_row_workspace *d, uint64_t first,
                        uint64_t end, bool wide);

/* Assemble a long row with all threads. Returns the workspace that has the equations. */
amped_row_workspace *amped_row_assemble_long(const amped_row_job *j, const amped_long_row *row,
                                             bool wide);

#endif
