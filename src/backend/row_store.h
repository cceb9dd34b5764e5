/* Row store: all rows of a stream's model, in the backend's memory, between its batches and while a
 * batch is learnt. An optional part of a backend, with its own table of operations.
 *
 * A store has the factors of all rows of every mode. Of its own rows (plan/touched.h) it also has
 * the history, whatever numbers these are, and the number of the batch that touched the row last.
 * Numbers are of the shape's type. Rows grow in place: no operation holds what there is twice.
 *
 * The twins (src/cpu/row_store_cpu.c, cuda/complete/row_store_cuda.cu) share this contract and one
 * test, tests/unit/backend/check_row_store.c. Not collective. */
#ifndef AMPED_ROW_STORE_H
#define AMPED_ROW_STORE_H

#include "backend/row_fit.h"
#include "base/random.h"

typedef struct amped_row_shape {
  int order;
  uint64_t ncomps, length; /* numbers of a row's factor, and of its history, which may have none */
  amped_vtype type;
  int rank, nranks; /* own rows are this rank's */
} amped_row_shape;

/* The rows of a mode that a batch touches, ascending, each once, and the position of each in the
 * factor of the batch's plan. Host memory, borrowed. */
typedef struct amped_row_list {
  uint64_t count;
  const uint64_t *rows, *positions;
} amped_row_list;

/* The model that rows are of, for its errors: row_fit.h. */
typedef struct amped_row_model {
  bool biased;
  double mean, scale;
  double least, most;   /* to which it is clipped */
  uint64_t seed, below; /* entries that are held out: amped_held_out */
} amped_row_model;

/* How rows start that have learnt nothing: component c of R of row i of a mode is prior + 0.1 g, or
 * its absolute value, where g = amped_random_normal(seed, mode, i R + c). The bias is 0. */
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
  /* Bytes of the device's and of host memory that rows of these dims take. grows: with the room of
   * a first growth; else with a batch of all rows. */
  void (*require)(const amped_row_shape *shape, const uint64_t *dims, bool grows,
                  uint64_t *device_bytes, uint64_t *host_bytes);
  /* Rows of zeros that no batch has touched. The device outlives the store. *out is NULL on
   * failure. */
  amped_status (*create)(struct amped_device *device, const amped_row_shape *shape,
                         const uint64_t *dims, amped_row_store **out);
  void (*destroy)(amped_row_store *store); /* NULL is allowed */
  /* More rows, of zeros: new dims, none smaller. On failure the rows stay as they are. */
  amped_status (*grow)(amped_row_store *store, const uint64_t *dims);
  /* Bytes of the device's memory that the store holds now. */
  uint64_t (*device_bytes)(const amped_row_store *store);

  /* Rows first .. first + count of a mode from host memory; of histories and numbers of batches,
   * those of own rows. Histories may be NULL where rows have none. */
  amped_status (*put)(amped_row_store *store, int mode, uint64_t first, uint64_t count,
                      const void *factors, const void *histories, const uint64_t *touched);
  /* Own rows of these indices to host memory, likewise. */
  amped_status (*get)(amped_row_store *store, int mode, uint64_t count, const uint64_t *indices,
                      void *factors, void *histories, uint64_t *touched);
  /* Of rows first .. first + count, the factors. */
  amped_status (*put_factors)(amped_row_store *store, int mode, uint64_t first, uint64_t count,
                              const void *factors);
  amped_status (*get_factors)(amped_row_store *store, int mode, uint64_t first, uint64_t count,
                              void *factors);
  /* Batch `number` has touched all own rows of a mode. */
  amped_status (*touch_all)(amped_row_store *store, int mode, uint64_t number);

  /* A batch comes: its plan, and a list a mode, whose rows are there already. Both are the
   * caller's until the next batch, or destroy. */
  amped_status (*begin)(amped_row_store *store, const amped_plan *plan,
                        const amped_row_list *lists);
  /* Its rows of a mode that are at their prior, and have the bias 0, get their start: where all
   * rows of an entry are zeros, they would stay. */
  amped_status (*start)(amped_row_store *store, int mode, const amped_row_start *start);
  /* Its rows of a mode, from the store into the factor of the plan's set, or back; padding stays.
   */
  amped_status (*move)(amped_row_store *store, struct amped_factor_set *factors, int mode, bool in);
  /* The histories of its own rows of a mode, where it is learnt as batch `number`: a row keeps
   * forget^d, where d is the number of batches since it was touched, and 0 where it never was.
   * They lie in the store, which fits change. Valid until the rows grow, or the next batch. */
  amped_status (*history)(amped_row_store *store, int mode, uint64_t number, double forget,
                          amped_row_history *out);
  /* It has touched its own rows of a mode. */
  amped_status (*touch)(amped_row_store *store, int mode, uint64_t number);

  /* Entries for errors: their indices in each mode, below the dims that rows have then, and values.
   * Host memory, the caller's as long as he asks for errors at them. */
  amped_status (*enter)(amped_row_store *store, uint64_t count, const uint64_t *const *indices,
                        const double *values);
  /* *out = errors of the rows' model at these entries, or at those of them that are held out. The
   * sums are the same on any number of threads. */
  amped_status (*errors)(amped_row_store *store, const amped_row_model *model, bool held,
                         amped_errors *out);
} amped_row_store_ops;

#endif
