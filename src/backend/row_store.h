/* Row store: all rows of a stream's model, in the backend's memory, between batches and while a
 * batch is learnt. An optional part of a backend, with its own table of operations.
 *
 * A store has the factors of all rows of every mode. For its own rows (plan/touched.h) it also has
 * the history, as uninterpreted numbers, and the number of the last batch that touched the row.
 * Numbers are of the shape's type. Rows grow in place: no operation holds two copies of the store.
 *
 * The CPU and GPU versions (src/cpu/complete/row_store_cpu.c, cuda/complete/row_store_cuda.cu)
 * share this contract and one test, tests/unit/backend/check_row_store.c. Not collective. */
#ifndef AMPED_ROW_STORE_H
#define AMPED_ROW_STORE_H

#include "backend/row_fit.h"
#include "base/random.h"

typedef struct amped_row_shape {
  int order;
  uint64_t ncomps, length; /* numbers in a row's factor, and in its history; length may be 0 */
  amped_vtype type;
  int rank, nranks; /* own rows are this rank's */
} amped_row_shape;

/* The rows of a mode that a batch touches, ascending and distinct, and the position of each in the
 * factor of the batch's plan. Host memory, borrowed. */
typedef struct amped_row_list {
  uint64_t count;
  const uint64_t *rows, *positions;
} amped_row_list;

/* The model of the rows, for its errors: row_fit.h. */
typedef struct amped_row_model {
  bool biased;
  double mean, scale;
  double least, most; /* range to which the model is clipped */
} amped_row_model;

/* Start of rows that have learnt nothing: component c of R of row i of a mode is prior + 0.1 g, or
 * its absolute value, with g = amped_random_normal(seed, mode, i R + c). The bias is 0. */
typedef struct amped_row_start {
  double prior;
  uint64_t seed;
  bool biased, nonnegative;
} amped_row_start;
AMPED_BOTH static inline double amped_row_start_entry(const amped_row_start *start,
                                                      uint64_t components, int mode, uint64_t row,
                                                      uint64_t c) {
  const double x =
      start->prior + 0.1 * amped_random_normal(start->seed, (uint64_t)mode, row * components + c);
  return start->nonnegative ? fabs(x) : x;
}

typedef struct amped_row_store amped_row_store;

struct amped_device;
struct amped_factor_set;

typedef struct amped_row_store_ops {
  /* Bytes of device and host memory that rows of these dims take. grows: with space for a first
   * growth; else with a batch of all rows. */
  void (*require)(const amped_row_shape *shape, const uint64_t *dims, bool grows,
                  uint64_t *device_bytes, uint64_t *host_bytes);
  /* Make rows of zeros that no batch has touched. The device outlives the store. *out is NULL on
   * failure. */
  amped_status (*create)(struct amped_device *device, const amped_row_shape *shape,
                         const uint64_t *dims, amped_row_store **out);
  void (*destroy)(amped_row_store *store); /* NULL is allowed */
  /* Add rows of zeros: new dims, none smaller. On failure the rows stay unchanged. */
  amped_status (*grow)(amped_row_store *store, const uint64_t *dims);
  /* Bytes of device memory that the store holds now. */
  uint64_t (*device_bytes)(const amped_row_store *store);

  /* Copy rows first .. first + count of a mode from host memory. Factors of all rows are copied,
   * but histories and batch numbers of own rows only. Histories may be NULL if rows have none. */
  amped_status (*put)(amped_row_store *store, int mode, uint64_t first, uint64_t count,
                      const void *factors, const void *histories, const uint64_t *touched);
  /* Copy own rows at these indices to host memory, likewise. */
  amped_status (*get)(amped_row_store *store, int mode, uint64_t count, const uint64_t *indices,
                      void *factors, void *histories, uint64_t *touched);
  /* Copy only the factors of rows first .. first + count. */
  amped_status (*put_factors)(amped_row_store *store, int mode, uint64_t first, uint64_t count,
                              const void *factors);
  amped_status (*get_factors)(amped_row_store *store, int mode, uint64_t first, uint64_t count,
                              void *factors);
  /* Copy only the batch numbers of own rows at these indices to host memory. */
  amped_status (*get_touched)(amped_row_store *store, int mode, uint64_t count,
                              const uint64_t *indices, uint64_t *touched);
  /* Mark all own rows of a mode as touched by batch `number`. */
  amped_status (*touch_all)(amped_row_store *store, int mode, uint64_t number);

  /* Begin a batch: its plan, and one list per mode, whose rows exist already. Both are the caller's
   * until the next batch, or destroy. */
  amped_status (*begin)(amped_row_store *store, const amped_plan *plan,
                        const amped_row_list *lists);
  /* Give the batch's rows of a mode a start, if they equal their prior with bias 0: if all rows of
   * an entry are zeros, they would stay zeros. Rows whose bit of `learnt` is 1, bit k % 64 of word
   * k / 64 for row k of the list, stay as they are. Host memory; NULL: all bits are 0. */
  amped_status (*start)(amped_row_store *store, int mode, const amped_row_start *start,
                        const uint64_t *learnt);
  /* Copy the batch's rows of a mode from the store into the factor of the plan's set (in), or back.
   * Padding stays. */
  amped_status (*move)(amped_row_store *store, struct amped_factor_set *factors, int mode, bool in);
  /* History of the batch's own rows of a mode, learnt as batch `number`: keep = forget^d, with d =
   * batches since the row was touched; keep = 0 if it was never touched. The equations lie in the
   * store, and fits change them. Valid until the rows grow, or the next batch. */
  amped_status (*history)(amped_row_store *store, int mode, uint64_t number, double forget,
                          amped_row_history *out);
  /* Mark the batch's own rows of a mode as touched by batch `number`. */
  amped_status (*touch)(amped_row_store *store, int mode, uint64_t number);

  /* Set the entries for errors: their indices in each mode, below the current dims, values, and
   * which ones are held out (NULL: none). Host memory, the caller's as long as errors is called. */
  amped_status (*enter)(amped_row_store *store, uint64_t count, const uint64_t *const *indices,
                        const double *values, const bool *held);
  /* *out = errors of the rows' model at these entries, or (held) at the held-out ones among them.
   * The sums are the same on any number of threads. */
  amped_status (*errors)(amped_row_store *store, const amped_row_model *model, bool held,
                         amped_errors *out);
} amped_row_store_ops;

#endif
