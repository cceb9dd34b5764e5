/* Row assembly: the equations of rows on CPU cores, from a packed copy. A fit in hand is a job, and
 * each thread has a desk. */
#ifndef AMPED_ROW_ASSEMBLY_CPU_H
#define AMPED_ROW_ASSEMBLY_CPU_H

#include "backend/row_fit.h"
#include "cpu/row_equations_cpu.h"
#include "cpu/tensor_part_cpu.h"

/* Nonzeros of a piece of a long row: a thread's work at a time, and little beside it. */
#define AMPED_ROW_PIECE UINT64_C(16384)

/* A row of more nonzeros than a piece has. */
typedef struct amped_long_row {
  uint64_t row; /* of the MTTKRP result */
  uint64_t first, end;
} amped_long_row;

/* A thread's workspace. */
typedef struct amped_row_desk {
  amped_bundle *bundles; /* two: an even and an odd one */
  uint64_t numbers[2];   /* of the bundles that are there */
  char *products;        /* of nonzeros that are not yet added up */
  amped_row_terms terms;
  uint64_t filled;
  amped_row_equations equations;
  double *solve;
  double *row;     /* with its bias */
  char apart[128]; /* from the cache lines of the next thread */
} amped_row_desk;

/* What a tensor part keeps for row fits. */
struct amped_row_fit_cpu {
  uint64_t *held[AMPED_MAX_ORDER]; /* per copy: bit k: nonzero k is held out */
  bool any_held;
  void *weights[AMPED_MAX_ORDER]; /* per copy, of the plan's value type; NULL: all are 1 */
  uint64_t *indices;              /* of positions, mode after mode; NULL: not found */
  const uint64_t *indices_of[AMPED_MAX_ORDER];
  amped_long_row *long_rows[AMPED_MAX_ORDER];
  uint64_t long_count[AMPED_MAX_ORDER];
  void *unit_sums;       /* what units of rows, or of nonzeros, add up */
  amped_row_desk *desks; /* [threads + 1] */
  double *work;          /* their arrays */

  amped_row_fit fit; /* in hand */
  double *empty;     /* [ncomps + 1] the row without nonzeros, and its bias */
  amped_row_fit_sums of_empty;
  double seconds;
  amped_row_fit_sums own, shared; /* not told yet */
};

/* A fit of mode's rows. Constant while it runs. */
typedef struct amped_row_job {
  amped_tensor_part *part;
  const amped_row_fit *fit;
  int mode;
  amped_cpu_mttkrp m;
  bool fetches;
  const void *weights; /* of nonzeros; NULL: all are 1 */
  amped_bundle_decoder *decode;
  amped_row_source source;
  amped_row_kernels narrow, wide;
  uint64_t first, end; /* rows of the MTTKRP result */
  double *out;         /* their equations go here; NULL: they are solved */
} amped_row_job;

/* A job of the fit in hand, for all desks; no rows and no `out`. */
amped_row_job amped_row_job_make(amped_tensor_part *part, int mode);

/* Doubles of a desk's arrays for so many components. */
uint64_t amped_row_desk_elements(uint64_t components);

/* Nonzeros among first .. end of mode's copy that are not held out. */
uint64_t amped_row_count(const amped_row_fit_cpu *f, int mode, uint64_t first, uint64_t end);

/* Their n (row_fit.h); count: their number. */
double amped_row_weight(const amped_row_job *j, uint64_t first, uint64_t end, uint64_t count);

/* The desk has the products and targets of the nonzeros first .. end, in double; fewer than
 * components take part. Where they have weights, both are multiplied by the roots of these, which
 * the desk has, too. Returns their number. */
uint64_t amped_row_collect(const amped_row_job *j, amped_row_desk *d, uint64_t first, uint64_t end);

/* The desk's equations are those of the nonzeros first .. end, all of one row; wide: sums are in
 * double from the first on. */
void amped_row_assemble(const amped_row_job *j, amped_row_desk *d, uint64_t first, uint64_t end,
                        bool wide);

/* The same by all threads, for a long row. Returns the desk. */
amped_row_desk *amped_row_assemble_long(const amped_row_job *j, const amped_long_row *row,
                                        bool wide);

#endif
