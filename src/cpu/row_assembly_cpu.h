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

typedef struct amped_row_job amped_row_job;

/* Once a fit, before the nonzeros first .. end of this row of the MTTKRP result are added up: a
 * block fit's targets become those of the block. Returns true where the desk's equations are there.
 */
typedef bool amped_row_renewal(const amped_row_job *j, amped_row_desk *d, uint64_t row,
                               uint64_t first, uint64_t end, bool wide);

/* A fit of mode's rows. Constant while it runs. */
struct amped_row_job {
  amped_tensor_part *part;
  const amped_row_fit *fit;
  int mode;
  amped_cpu_mttkrp m;       /* of the factors' rows, or of a block's */
  char *own;                /* this rank's block of rows of mode */
  amped_row_renewal *renew; /* of a block fit; NULL: whole rows */
  const void *targets;      /* renew's */
  bool tells_biases;        /* in the sums */
  bool fetches;
  const void *weights; /* of nonzeros; NULL: all are 1 */
  amped_bundle_decoder *decode;
  amped_row_source source;
  amped_row_kernels narrow, wide;
  uint64_t first, end; /* rows of the MTTKRP result */
  double *out;         /* their equations go here; NULL: they are solved */
};

/* A job of the fit in hand, for all desks; no rows and no `out`. A block fit's has so many
 * components, and its own walk over the copy, where values are targets. */
amped_row_job amped_row_job_make(amped_tensor_part *part, int mode);
amped_row_job amped_row_job_of_block(amped_tensor_part *part, int mode, const amped_cpu_mttkrp *m,
                                     const void *rows, uint64_t components,
                                     amped_row_renewal *renew, const void *targets);

/* Doubles of a desk's arrays for so many components. */
uint64_t amped_row_desk_elements(uint64_t components);

/* The copy's bundle of that number, until the desk has the one after the next. Asks memory for the
 * rows of the next. */
const amped_bundle *amped_row_bundle(const amped_row_job *j, amped_row_desk *d, uint64_t number);

/* Nonzeros that take part, of first .. end in the bundle of `first`: one bit each. */
static inline uint64_t amped_row_taken(const uint64_t *held, uint64_t first, uint64_t end) {
  uint64_t bits = ~held[first / 64] & UINT64_MAX << first % 64;
  if (end - first / 64 * 64 < 64)
    bits &= (UINT64_C(1) << end % 64) - 1;
  return bits;
}

/* Nonzeros among first .. end of mode's copy that are not held out. */
uint64_t amped_row_count(const amped_row_fit_cpu *f, int mode, uint64_t first, uint64_t end);

/* Their n (row_fit.h); count: their number. */
double amped_row_weight(const amped_row_job *j, uint64_t first, uint64_t end, uint64_t count);

/* The desk has the products and targets of the nonzeros first .. end, in double; fewer than
 * components take part. Where they have weights, both are multiplied by the roots of these, which
 * the desk has, too. Returns their number. */
uint64_t amped_row_collect(const amped_row_job *j, amped_row_desk *d, uint64_t first, uint64_t end);

/* renew, where there is one. */
bool amped_row_renew(const amped_row_job *j, amped_row_desk *d, uint64_t row, uint64_t first,
                     uint64_t end, bool wide);

/* The desk's equations are those of the nonzeros first .. end, all of one row; wide: sums are in
 * double from the first on. */
void amped_row_assemble(const amped_row_job *j, amped_row_desk *d, uint64_t first, uint64_t end,
                        bool wide);

/* The same by all threads, for a long row. Returns the desk. */
amped_row_desk *amped_row_assemble_long(const amped_row_job *j, const amped_long_row *row,
                                        bool wide);

#endif
