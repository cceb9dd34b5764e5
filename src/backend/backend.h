/* Backend: the local work of one rank, on its CPU cores or on its GPU.
 *
 * Six tables of functions, each over an object of its own:
 *
 *     device       CPU cores or a GPU: opened once per rank; reports memory and rates
 *     factor set   all factors (whole, in position order, plan->ld elements per row of
 *                  plan->value_type) and one MTTKRP result ("output": output_rows rows, the rank's
 *                  own block, then its shared rows, same row layout)
 *     factor history  the previous factors (factor_history.h)
 *     list part    a rank's nonzeros of a coordinate list, while it is loaded
 *     tensor part  this rank's nonzeros, in one tensor format: the sorted copies, or another
 *     row store    all rows of a stream (row_store.h); optional
 *
 * A backend names its tables. A worker holds a device, a factor set and a tensor part; the loader
 * of a list holds the list part. Algorithms call through the worker and contain no `if (gpu)`. No
 * function communicates. Every function except mttkrp_begin has finished its work when it returns,
 * and reports failure through status.h. Padding rows and padding columns (ncomps .. ld-1) stay
 * zero.
 *
 * The CPU and GPU versions of a function (src/cpu, cuda) share this contract and one test,
 * tests/unit/backend/check_backends.c. Model: the tables of operations of UCX and libCEED. */
#ifndef AMPED_BACKEND_H
#define AMPED_BACKEND_H

#include "backend/block_fit.h"
#include "backend/dense_block.h"
#include "backend/factor_history.h"
#include "backend/gpu_info.h"
#include "backend/ratio.h"
#include "backend/row_descent.h"
#include "backend/row_history.h"
#include "backend/row_product.h"
#include "backend/row_steps.h"
#include "backend/row_store.h"
#include "backend/row_vectors.h"
#include "backend/synthetic.h"
#include "base/double_double.h"
#include "base/kahan.h"
#include "plan/groups.h"
#include "plan/overlap.h"

/* Place of a rank's shard of a copy. */
typedef enum amped_residency {
  AMPED_RESIDENCY_AUTO,     /* on the device as far as it fits, the rest streamed */
  AMPED_RESIDENCY_RESIDENT, /* all on the device, or an error */
  AMPED_RESIDENCY_STREAM    /* all in pinned host memory, streamed through two buffers */
} amped_residency;

/* Number of tensor copies that a run keeps. */
typedef enum amped_copies {
  AMPED_COPIES_AUTO, /* one, if a copy per mode does not fit and command and backend support it;
                        else all */
  AMPED_COPIES_ALL,  /* a copy per mode */
  AMPED_COPIES_ONE   /* one copy for all modes */
} amped_copies;

typedef struct amped_backend_options {
  const char *name; /* "auto", "cpu", "cuda" */
  int threads;      /* OpenMP threads of this rank, at least 1; in the user's options 0: all */
  int local_rank;   /* rank within the node, set by the session from MPI; not a user option */
  int local_size;   /* ranks on the node; likewise */
  bool share_gpus;  /* allow several ranks on one GPU */
  amped_residency residency;
  uint64_t device_memory; /* most bytes of device memory to use; 0: all that is free */
  const char *format;     /* the tensor format's name; NULL: the backend's first */
  amped_copies copies; /* ONE: take the format with one copy for all modes, instead of `format` */
  bool deterministic;  /* take a fixed share of the device's memory, even if more is free: the
                          resident part, and with it the order of sums, is the same in every run */
  uint64_t tile_bytes; /* size of an input factor's tile, for resident copies (cuda only); 0: a cost
                          model chooses; UINT64_MAX: no tiles */
  bool tf32; /* round cells and factors to TF32 in float MTTKRPs of a dense tensor (cuda only);
                exact products for the residual are not rounded */
} amped_backend_options;

/* Batch: consecutive nonzeros of one copy, with indices translated. Each nonzero has its row of the
 * rank's MTTKRP result (the plan's row), its positions in the input factors, and its value. inputs:
 * order-1 arrays, input modes ascending. Host memory, of plan->index_type and plan->value_type. */
typedef struct amped_batch {
  uint64_t count;
  const void *rows;
  const void *inputs[AMPED_MAX_ORDER - 1];
  const void *values;
} amped_batch;

/* Nonzeros with file indices of type amped_itype_for(dim), in any order. Host memory, or memory of
 * a list part. */
typedef struct amped_nonzeros {
  uint64_t count;
  const void *indices[AMPED_MAX_ORDER];
  const void *values;
  amped_vtype value_type; /* the plan's type, if in host memory */
} amped_nonzeros;

/* Seconds of one MTTKRP on this rank. */
typedef struct amped_mttkrp_times {
  double copy_sec;    /* host to device transfers (streamed copies), overlapped or not */
  double compute_sec; /* kernels, zeroing of the output included */
} amped_mttkrp_times;

/* Sums over a rank's nonzeros x of a copy, with the model's values m at their coordinates. xx: sum
 * of x * x. xm: sum of x * m. Repeated coordinates count separately. */
typedef struct amped_products {
  amped_dd xx, xm;
} amped_products;

/* Sums over rows a of a factor, in double. */
typedef struct amped_row_sums {
  double *gram; /* sum of a a^T: ncomps x ncomps, both triangles */
  double inner; /* sum of a * (the same row of the output) */
} amped_row_sums;

/* Memory that a rank's part of a plan needs. */
typedef struct amped_requirement {
  uint64_t device_bytes;
  uint64_t host_bytes;    /* pinned, if the backend has a device */
  uint64_t passing_bytes; /* share of host_bytes needed only while copies are filled and finished,
                             one copy after another */
  uint64_t copy_bytes[AMPED_MAX_ORDER]; /* mode's copy, a part of both sums above */
  uint64_t read_bytes[AMPED_MAX_ORDER]; /* share of copy_bytes that an MTTKRP reads: the nonzeros */
  /* The part of a copy that is not on the device. Every MTTKRP transfers this part, except what the
   * previous MTTKRP left in the buffers. */
  uint64_t streamed_bytes[AMPED_MAX_ORDER];
  uint64_t tiles[AMPED_MAX_ORDER]; /* number of tiles that order a copy; 0 or 1: none */
} amped_requirement;

/* A transfer between bytes offset .. offset + bytes of a factor and host memory. */
typedef struct amped_host_copy {
  uint64_t offset;
  uint64_t bytes;
  void *host;
  bool in; /* true: to the factor; false: from the factor */
} amped_host_copy;

/* Opaque: every backend has its own. */
typedef struct amped_device amped_device;
typedef struct amped_factor_set amped_factor_set;
typedef struct amped_list_part amped_list_part;
typedef struct amped_tensor_part amped_tensor_part;

/* --- devices --------------------------------------------------------------------------------- */

typedef struct amped_device_ops {
  /* Is there a device for this rank? If not, *reason gives the cause (static text). Starts
   * nothing. */
  bool (*available)(const char **reason);
  /* Make the GPU's context, which CUDA-aware MPI expects. Called before MPI_Init with the
   * launcher's local rank (-1: unknown). Failures are reported later, by open. */
  void (*before_mpi)(int local_rank);
  /* The GPUs that this process sees, and the GPU that open would take for this local rank. NULL if
   * device_pointers is false. Called only if available. */
  amped_status (*gpus)(int local_rank, amped_gpus *out);

  /* Bind to a set of cores or to a GPU. */
  amped_status (*open)(const amped_backend_options *options, amped_device **out);
  void (*close)(amped_device *device);
  /* The device of this rank in one line, for the user. Valid while the device is open. */
  const char *(*describe)(const amped_device *device);
  /* UUID of a GPU; "" if ranks may share the device without harm. */
  const char *(*identity)(const amped_device *device);
  /* Usable bytes of device memory (cpu: host memory), with the user's limit applied. */
  uint64_t (*memory)(const amped_device *device);

  /* Host memory with fast transfers to this device (pinned; cpu: plain). Freed with host_free. */
  amped_status (*host_alloc)(amped_device *device, uint64_t bytes, void **out);
  void (*host_free)(amped_device *device, void *block); /* NULL is allowed */
  /* Pin memory of another allocator, so that it transfers as fast as host_alloc's. NULL if
   * device_pointers is false. */
  amped_status (*host_register)(amped_device *device, void *block, uint64_t bytes);
  void (*host_unregister)(amped_device *device, void *block);

  /* idp_nnz[i] = nonzeros of mode's iDp i (of `width` indices) among the counters first ..
   * first+count of a synthetic tensor. *sum_of_squares (unless NULL) = the sum of their squares. */
  amped_status (*count_synthetic)(amped_device *device, const amped_synthetic *tensor, int mode,
                                  uint64_t width, uint64_t first, uint64_t count, uint64_t *idp_nnz,
                                  double *sum_of_squares);
  /* on: subnormal numbers, which are those next to 0, may count as 0 in the calling thread and in
   * the threads that compute; off: they count again. */
  void (*flush_subnormals)(amped_device *device, bool on);
  /* Typical rates of such a device, for the plan. Not measured. */
  void (*rates)(const amped_device *device, amped_rates *out);
  /* Measured rates. The tables take at most spare_bytes of device memory (UINT64_MAX: all that is
   * free) and are freed before the return. A rate is 0 if its tables do not fit. gather_rate:
   * random rows per second from a table of `rows` rows, of the plan's ld and value type. read_rate:
   * bytes per second in order. */
  amped_status (*gather_rate)(amped_device *device, const amped_plan *plan, uint64_t spare_bytes,
                              uint64_t rows, double *rows_per_sec);
  amped_status (*read_rate)(amped_device *device, uint64_t spare_bytes, double *bytes_per_sec);
  /* Measured rate, within spare_bytes: pairs of one multiplication and one addition per second, in
   * products of large matrices of that type. Several cheaper products that together are as accurate
   * count as one. With options->tf32: products of numbers rounded to TF32. */
  amped_status (*multiply_rate)(amped_device *device, amped_vtype type, uint64_t spare_bytes,
                                double *per_sec);
  /* Measured rate, within spare_bytes: bytes per second from pinned host memory to the device. NULL
   * if device_pointers is false. */
  amped_status (*link_rate)(amped_device *device, uint64_t spare_bytes, double *bytes_per_sec);
} amped_device_ops;

/* --- factor sets ----------------------------------------------------------------------------- */

typedef struct amped_factor_ops {
  /* Bytes of device and host memory that create(plan) will take. */
  void (*require)(const amped_device *device, const amped_plan *plan, uint64_t *device_bytes,
                  uint64_t *host_bytes);
  /* Make the set; factors and output are zero. Device and plan outlive the set. */
  amped_status (*create)(amped_device *device, const amped_plan *plan, amped_factor_set **out);
  void (*destroy)(amped_factor_set *factors);
  /* Adopt a changed plan->ncomps and plan->ld, which are at most as large as at create. Factors
   * become zero. */
  amped_status (*resize)(amped_factor_set *factors);

  /* Make a view: a factor set of the columns first .. first + plan->ncomps of another set, which
   * keeps the memory and outlives the view. The plan has the other plan's rows, and fewer
   * components; it outlives the view, too. All operations work on these columns only, and have the
   * bits of a set of their own; rows, version and stage belong to the other set. Views of a
   * set share its workspace: require_view adds the bytes that they take together, for the plan of
   * the widest. place follows a resize of the other set. */
  void (*require_view)(const amped_device *device, const amped_plan *plan, uint64_t *device_bytes,
                       uint64_t *host_bytes);
  amped_status (*view)(amped_factor_set *of, const amped_plan *plan, int first,
                       amped_factor_set **out);
  void (*place)(amped_factor_set *view, int first);

  /* Copy `count` rows of mode's factor, from `position` on, from or to count x ncomps doubles,
   * row-major, host memory. */
  amped_status (*put_rows)(amped_factor_set *factors, int mode, uint64_t position, uint64_t count,
                           const double *rows);
  amped_status (*get_rows)(amped_factor_set *factors, int mode, uint64_t position, uint64_t count,
                           double *rows);
  /* Copy the rows at `count` positions, in any order, to count x ncomps doubles. Both arrays are in
   * host memory. AMPED_NO_ROW: a row of zeros. */
  amped_status (*get_rows_at)(amped_factor_set *factors, int mode, uint64_t count,
                              const uint64_t *positions, double *rows);
  /* models[i] = the factors' value at `count` cells, in double: the sum over components of the
   * product of rows, one of each mode; if biased, the last element of a row is added instead.
   * positions[m][i]: the row of mode m; AMPED_NO_ROW: instead[m], of ncomps doubles. Host memory.
   */
  amped_status (*models_at)(amped_factor_set *factors, uint64_t count,
                            const uint64_t *const *positions, const double *const *instead,
                            bool biased, double *models);
  /* Fill own rows of mode's factor: entry (i, r) = amped_random_double(seed, mode, i * ncomps + r),
   * rounded to the factors' type. i is the row's index in the file. */
  amped_status (*fill_random)(amped_factor_set *factors, int mode, uint64_t seed);
  /* Copy `count` rows of the output to or from count x ncomps doubles. There is one output; it
   * belongs to the mode whose MTTKRP or put_output came last. */
  amped_status (*get_output)(amped_factor_set *factors, int mode, uint64_t row, uint64_t count,
                             double *rows);
  amped_status (*put_output)(amped_factor_set *factors, int mode, uint64_t row, uint64_t count,
                             const double *rows);
  /* Rows first .. end of this rank's block of mode's factor = output rows * p + old rows * keep. p
   * and keep are ncomps x ncomps doubles, row-major; keep NULL: zero. The sums over the new rows
   * are added to *sums, unless sums is NULL. Sums are in double. */
  amped_status (*solve)(amped_factor_set *factors, int mode, uint64_t first, uint64_t end,
                        const double *p, const double *keep, amped_row_sums *sums);
  /* Update the same rows by row descent, from the same rows of output. Sums as for solve. Rows
   * first .. end may end with padding rows, which stay 0, since their row of output is 0. An
   * implementation of a rule that would change them leaves them out: own rows are rank_rows of the
   * plan. */
  amped_status (*descend)(amped_factor_set *factors, int mode, uint64_t first, uint64_t end,
                          const amped_row_descent *descent, amped_row_sums *sums);
  /* Multiply the same rows by the same rows of output. Rows first .. end may end with padding rows,
   * which stay 0. Sums are in double. */
  amped_status (*multiply)(amped_factor_set *factors, int mode, uint64_t first, uint64_t end,
                           const amped_row_product *product, amped_row_product_sums *sums);
  /* sums[c] = sum of the absolute values in column c, over own rows. */
  amped_status (*absolute)(amped_factor_set *factors, int mode, double *sums);
  /* sums[c] = sum of column c over the own rows i with chosen[i] != 0. chosen: a byte for each own
   * row, host memory. Sums are in double. */
  amped_status (*sum_chosen)(amped_factor_set *factors, int mode, const uint8_t *chosen,
                             double *sums);
  /* gram = sum over own rows a of a a^T, in double: ncomps x ncomps, both triangles. */
  amped_status (*gram)(amped_factor_set *factors, int mode, double *gram);
  /* Multiply column c of `count` rows of mode's factor, from `position` on, by scale[c]. */
  amped_status (*scale)(amped_factor_set *factors, int mode, uint64_t position, uint64_t count,
                        const double *scale);

  /* Mode's whole factor in position order, for the exchange. Device memory if device_pointers. */
  void *(*rows)(amped_factor_set *factors, int mode);
  /* A number, at least 1, that increases whenever mode's factor may have changed: by an operation
   * of this table, or because rows or stage gave access to its memory. All modes draw from one
   * counter: the factor with the larger number changed later. */
  uint64_t (*version)(const amped_factor_set *factors, int mode);
  /* Exchange through the host: make all copies between mode's factor and host memory. Copies in
   * both directions overlap. NULL if device_pointers is false. */
  amped_status (*stage)(amped_factor_set *factors, int mode, const amped_host_copy *copies,
                        int count);
} amped_factor_ops;

/* --- list parts ------------------------------------------------------------------------------ */

/* Sizes and types for which a list part is made. */
typedef struct amped_list_shape {
  int order;
  uint64_t dims[AMPED_MAX_ORDER];
  amped_itype index_types[AMPED_MAX_ORDER]; /* types of the appended nonzeros */
  amped_vtype value_type;
  uint64_t capacity; /* most nonzeros that the part can hold */
  int nranks;        /* ranks that the nonzeros are distributed to; 1: no distribution */
  uint64_t window;   /* nonzeros distributed at a time, at most 2^30 */
  uint64_t arriving; /* most nonzeros that arrive from all ranks at a time */
  bool device_mpi;   /* MPI takes device memory */
} amped_list_shape;

/* Bytes of an index as a part holds it, and bytes of a nonzero. */
static inline uint64_t amped_list_index_bytes(const amped_list_shape *shape, int mode) {
  return amped_itype_for(shape->dims[mode]);
}
static inline uint64_t amped_list_nonzero_bytes(const amped_list_shape *shape) {
  uint64_t bytes = shape->value_type;
  for (int m = 0; m < shape->order; m++)
    bytes += amped_list_index_bytes(shape, m);
  return bytes;
}

/* Counts over nonzeros. Calls add to all of them. */
typedef struct amped_list_counts {
  amped_partition partitions[AMPED_MAX_ORDER]; /* idp_nnz */
  amped_kahan squares;
  amped_dictionary_search distinct; /* values */
} amped_list_counts;

/* Special mode: distribute nonzeros by a hash of their coordinates, so that equal coordinates go to
 * one rank and every rank gets about the same number. Special array: the values, in place of a
 * mode's indices. */
#define AMPED_BY_COORDINATE (-1)
#define AMPED_LIST_VALUES (-1)

/* List part: nonzeros in the order in which they are appended, in the backend's memory. A window is
 * the range first .. first+count of them. `deal` partitions a window: it finds the rank that owns
 * each nonzero in mode's copy (plan.h), and sorts the window stably by rank. */
typedef struct amped_list_ops {
  /* Bytes that create(shape) and deal will take. */
  void (*require)(const amped_device *device, const amped_list_shape *shape, uint64_t *device_bytes,
                  uint64_t *host_bytes);
  /* Make an empty part. The device outlives the part. */
  amped_status (*create)(amped_device *device, const amped_list_shape *shape,
                         amped_list_part **out);
  void (*destroy)(amped_list_part *part); /* NULL is allowed */

  /* Append nonzeros, which must fit: arrays of the shape's types, in host memory. Indices are less
   * than dims, values finite. clear: forget all nonzeros. */
  amped_status (*append)(amped_list_part *part, uint64_t count, void *const *indices,
                         const void *values);
  void (*clear)(amped_list_part *part);

  /* count: add a window's counts to *out. hash: *hash += the sum of the window's hashes
   * (sptensor.h). */
  amped_status (*count)(amped_list_part *part, uint64_t first, uint64_t count,
                        amped_list_counts *out);
  amped_status (*hash)(amped_list_part *part, uint64_t first, uint64_t count, uint64_t *hash);
  /* The window itself; valid until nonzeros are appended, cleared or destroyed. */
  void (*view)(amped_list_part *part, uint64_t first, uint64_t count, amped_nonzeros *out);

  /* Distribute all following windows in this mode, or AMPED_BY_COORDINATE. The plan is borrowed
   * until the next call. */
  amped_status (*distribute_by)(amped_list_part *part, const amped_plan *plan, int mode);
  /* counts[k] += nonzeros of the mode's split iDp k in the window. */
  amped_status (*count_splits)(amped_list_part *part, uint64_t first, uint64_t count,
                               uint64_t *counts);
  /* Sort the window by owner. numbers[k]: on input the number of the window's first nonzero of
   * split k; on return, the number of the first one after the window. counts[p] = nonzeros of rank
   * p. */
  amped_status (*deal)(amped_list_part *part, uint64_t first, uint64_t count, uint64_t *numbers,
                       uint64_t *counts);
  /* *out = indices in mode, or values, of the window that deal sorted: MPI's send buffer. Valid
   * until the next call. */
  amped_status (*distributed)(amped_list_part *part, int array, void **out);
  /* Receive buffer of MPI for indices in mode, or values, from all ranks. */
  void *(*arriving)(amped_list_part *part, int array);

  /* Copy bytes of the part's memory to host memory. */
  amped_status (*fetch)(amped_list_part *part, const void *from, uint64_t bytes, void *to);
} amped_list_ops;

/* --- tensor formats -------------------------------------------------------------------------- */

/* Partial sums of a mode's rows, if several ranks hold parts of the sums of any row. Memory of the
 * backend. Both arrays have the rows of mode's whole factor in position order, plan->ld elements of
 * plan->value_type each. */
typedef struct amped_partial_rows {
  void *sums;     /* this rank's partial sums; NULL: the output needs no other rank's sums */
  void *arriving; /* space for the parts of own rows from all ranks, rank after rank */
} amped_partial_rows;

/* Blocks to be added: `count` blocks of own rows that lie one after another in `arriving`, from
 * block `first` on. */
typedef struct amped_row_sum {
  int first, count;
  int to; /* block of `sums` that gets the sum; AMPED_TO_OUTPUT: own rows of the output */
} amped_row_sum;

#define AMPED_TO_OUTPUT (-1)

/* Operations of a tensor format. A format has all of them except those that say what NULL means,
 * and
 * - row_fit, row_history, row_steps, ratio and dense_blocks: optional;
 * - collect, sort, require_collect: NULL if the format takes ordered copies only;
 * - go_on: NULL if the format caches nothing;
 * - make_synthetic: NULL if the format takes files only;
 * - partial_rows, add_incoming and stage_partial: NULL if sums of a row are complete on its owner,
 *   except for split iDps;
 * - products: NULL makes a fit near 1 less accurate (docs/numerics.md).
 *
 * A format that needs cells has insert_cells in place of insert. A solver that needs an optional
 * operation asks for it before the first nonzero is read (amped_demand, session/prepare.h). */
typedef struct amped_format_ops {
  const char *name;       /* name in --kernel */
  bool any_order;         /* sums are added in varying order: never with --deterministic */
  amped_copy_needs needs; /* demands on plan and loaders */

  /* Memory that create(plan) will take, in addition to factor_bytes of the device (factor set,
   * solver). The caller has zeroed *out. AMPED_FAILED, with a remedy, if the memory is too
   * small. */
  amped_status (*require)(const amped_device *device, const amped_plan *plan, uint64_t factor_bytes,
                          amped_requirement *out);
  /* Make an empty part. Device, plan and factors outlive it. On failure there is nothing to free. A
   * thread may pin memory in the background; insert reports its failure. */
  amped_status (*create)(amped_device *device, amped_factor_set *factors, const amped_plan *plan,
                         uint64_t factor_bytes, amped_tensor_part **out);
  void (*destroy)(amped_tensor_part *part); /* NULL is allowed */
  /* Bytes of device memory that remain of the user's limit; UINT64_MAX, and NULL here, without a
   * limit. Call amped_worker_spare. */
  uint64_t (*spare)(const amped_tensor_part *part);

  /* insert stores nonzeros offset .. offset+batch->count of this rank's shard of mode's copy; the
   * caller may reuse the batch afterwards. Batches of a mode come in order, without gaps. finish
   * follows the last batch. Only modes of the plan's copies are loaded. A format with one copy
   * finds the positions of that mode with amped_plan_row_position. */
  amped_status (*insert)(amped_tensor_part *part, int mode, uint64_t offset,
                         const amped_batch *batch);
  amped_status (*finish)(amped_tensor_part *part, int mode);
  /* For formats that need cells: store cells first .. first+count of this rank's slab, in memory
   * order, of plan->dense.type. Host memory, which the caller may reuse afterwards. Calls come in
   * order, without gaps. finish of mode 0 follows the last call. */
  amped_status (*insert_cells)(amped_tensor_part *part, uint64_t first, uint64_t count,
                               const void *cells);
  /* After finish of all copies: adopt a changed plan->ncomps and plan->ld, at most as large as at
   * create. The nonzeros stay. NULL: nothing is to be done. */
  amped_status (*resize)(amped_tensor_part *part);

  /* Unsorted loading, instead of all inserts of mode. collect takes nonzeros of this rank's shard
   * in any order; the caller may reuse them afterwards. sort follows the last collect and makes the
   * copy; then comes finish. One mode is collected at a time.
   *
   * Resulting order, as in a tensor file: by the file's index in mode, then in modes 0, 1, ...
   * without mode, then by arrival. Nonzeros of split iDps come last. *repeats = nonzeros with the
   * same coordinate as their predecessor. */
  amped_status (*collect)(amped_tensor_part *part, int mode, const amped_nonzeros *nonzeros);
  amped_status (*sort)(amped_tensor_part *part, int mode, uint64_t *repeats);
  /* Most bytes that collect and sort take, in addition to the bytes of require. */
  amped_status (*require_collect)(const amped_device *device, const amped_plan *plan,
                                  uint64_t factor_bytes, uint64_t *device_bytes,
                                  uint64_t *host_bytes);
  /* Synthetic tensors, instead of all inserts of mode: make this rank's nonzeros here, in the order
   * of synthetic.h. The amount of memory does not change them. finish follows. */
  amped_status (*make_synthetic)(amped_tensor_part *part, const amped_synthetic *tensor, int mode);
  /* Bytes of host memory that make_synthetic takes, in addition to the bytes of require. NULL: 0.
   */
  uint64_t (*require_synthetic)(const amped_plan *plan);

  /* output = MTTKRP of mode over this rank's nonzeros. When wait returns, the output's rows of
   * block_part (plan.h) and of all earlier parts are finished. With the last part, or a higher
   * number, all rows are finished and *times is set. The caller waits for parts in ascending order,
   * and for the last part before the next begin. In between it may call put_output, get_output and
   * solve for finished rows, and change mode's factor. */
  amped_status (*mttkrp_begin)(amped_tensor_part *part, int mode);
  amped_status (*mttkrp_wait)(amped_tensor_part *part, int mode, int block_part,
                              amped_mttkrp_times *times);

  /* Resume after `sweeps` sweeps over modes 0, 1, ... without those in `fixed` (bits): rebuild
   * cached contractions exactly as the interrupted run had them, so that sums have the same bits.
   * NULL: the format caches nothing. */
  void (*go_on)(amped_tensor_part *part, uint64_t fixed, uint64_t sweeps);

  /* partial_rows: partial sums on this rank, after the wait for mode's last part. add_incoming: add
   * up blocks of `arriving`, in their order and in double; no effect if the output is complete. The
   * arrays do not move until the next begin. */
  amped_partial_rows (*partial_rows)(amped_tensor_part *part, int mode);
  amped_status (*add_incoming)(amped_tensor_part *part, int mode, amped_row_sum sum);
  /* Exchange of partial sums through the host: make all copies between host memory and these arrays
   * (offsets from sums, or from arriving if `in`). NULL if device_pointers is false. */
  amped_status (*stage_partial)(amped_tensor_part *part, int mode, const amped_host_copy *copies,
                                int count);

  /* Sums over this rank's nonzeros of mode's copy, each nonzero times `scale`, a power of two.
   *
   * The model's value at a nonzero is the sum over components of a product: the weight, the entry
   * of the nonzero's row of the output, and the entries of its rows of the input factors. Therefore
   * the caller first puts the rows of mode's factor into the output. A format of cells reads these
   * rows from the factor, with the same result: all rows, in the slab mode own rows only.
   *
   * Sums and products are double-doubles; the copy's layout fixes the order of additions. Not
   * allowed between mttkrp_begin and the last wait. */
  amped_status (*products)(amped_tensor_part *part, int mode, double scale, const double *weights,
                           amped_products *out);

  const amped_row_fit_ops *row_fit;          /* NULL: the format has no row fits */
  const amped_block_fit_ops *block_fit;      /* NULL: none; requires row_fit */
  const amped_row_history_ops *row_history;  /* NULL: none; requires row_fit */
  const amped_row_step_ops *row_steps;       /* NULL: none; requires row_fit */
  const amped_ratio_ops *ratio;              /* NULL: the format has no ratios */
  const amped_dense_block_ops *dense_blocks; /* NULL: the format has no dense blocks */
} amped_format_ops;

/* --- backends and workers -------------------------------------------------------------------- */

typedef struct amped_backend {
  const char *name; /* "cpu", "cuda" */
  /* Abilities: code above asks for these, not for the name. */
  bool device_pointers; /* rows() returns device memory, which MPI may not be able to read */
  bool concurrent;      /* mttkrp_begin returns before its work is done */
  bool shares_cores;    /* computes with the cores and the memory that ranks of a node share */
  bool streams;         /* copies that do not fit are streamed; seconds of a sweep are predicted */
  bool orders_lists;    /* orders a list faster than more copies can be read */
  bool one_copy_is_exact;        /* one copy for all modes has deterministic sums in double, too */
  amped_width_costs width_costs; /* seconds of MTTKRP by width, for models side by side */
  const amped_device_ops *device;
  const amped_factor_ops *factors;
  const amped_factor_history_ops *factor_histories;
  const amped_row_vector_ops *row_vectors;
  const amped_list_ops *lists;
  const amped_row_store_ops *row_stores;  /* NULL: the backend has none, and no streams */
  const amped_format_ops *const *formats; /* ended by NULL; the first is the default */
} amped_backend;

extern const amped_backend amped_backend_cpu;
#ifdef AMPED_HAVE_CUDA
extern const amped_backend amped_backend_cuda;
#endif

/* find: the backend called `name`; NULL if the program is built without it. list: the i-th backend
 * in order of preference; NULL after the last. Static memory. */
const amped_backend *amped_backend_find(const char *name);
const amped_backend *amped_backend_list(int i);

/* The backend's format with one copy for all modes; NULL: the backend has none. */
const amped_format_ops *amped_backend_one_copy(const amped_backend *backend);

/* Worker: the device, factor set and tensor part of one rank. A member is NULL before it is made
 * and after it is freed. */
typedef struct amped_worker amped_worker;
struct amped_worker {
  const amped_backend *backend;
  const amped_format_ops *format;
  amped_device *device;
  bool tf32;                 /* MTTKRPs round to TF32 */
  uint64_t reserved;         /* bytes of device memory that the solver allocates itself */
  const amped_worker *whole; /* the worker of all columns, if the factors are a view; else NULL */
  int columns_before, columns_after; /* columns of the whole around a view's; else 0 */
  amped_factor_set *factors;
  amped_tensor_part *tensor;
};

/* Open a device of the backend, and choose the format named in the options. AMPED_USAGE if the
 * backend does not have it, or if it cannot be deterministic. close frees every member; it accepts
 * a worker of zeros. */
amped_status amped_worker_open(amped_worker *worker, const amped_backend *backend,
                               const amped_backend_options *options);
void amped_worker_close(amped_worker *worker);

/* Memory that prepare(plan) will take for factors and tensor part. AMPED_FAILED, with a remedy, if
 * it does not fit. require_collect: further bytes for collect and sort of a list. */
amped_status amped_worker_require(const amped_worker *worker, const amped_plan *plan,
                                  amped_requirement *out);
amped_status amped_worker_require_collect(const amped_worker *worker, const amped_plan *plan,
                                          uint64_t *device_bytes, uint64_t *host_bytes);
/* Allocate factors (zero) and memory for the nonzeros. The plan outlives the worker. */
amped_status amped_worker_prepare(amped_worker *worker, const amped_plan *plan);
/* The format's products, for a worker whose factors may be a view: all other columns weigh 0.
 * weights: [ncomps], of the worker's factors. */
amped_status amped_worker_products(const amped_worker *worker, int mode, double scale,
                                   const double *weights, int ncomps, amped_products *out);

/* Bytes of device memory that remain of the user's limit; UINT64_MAX without a limit, or before
 * prepare. */
uint64_t amped_worker_spare(const amped_worker *worker);
/* After all modes are finished: adopt the plan's new number of components, which is at most the
 * number at prepare. */
amped_status amped_worker_resize(amped_worker *worker);

#endif
