/* Backend: the local work of one rank, on its CPU cores or on its GPU.
 *
 * Six tables of functions, each over an object of its own:
 *
 *   device       cores or a GPU: opened once a rank, asked for memory and rates
 *   factor set   all factors (whole, in position order, plan->ld elements a row, plan->value_type)
 *                and one MTTKRP result ("output": output_rows rows, the rank's own block, then its
 *                shared rows, same row layout)
 *   factor past  the factors before those in hand (factor_past.h)
 *   list part    a rank's nonzeros of a list, while it is loaded
 *   tensor part  this rank's nonzeros, in one tensor format: the sorted copies, or another
 *   row store    all rows of a stream (row_store.h); optional
 *
 * A backend names its kinds of tables; a worker holds a device, a factor set and a tensor
 * part, and the loader of a list its list part. Algorithms call through the worker and hold no `if
 * (gpu)`. No function communicates. Every function but mttkrp_begin has finished its work when it
 * returns, and reports failure through status.h. Padding rows and padding columns (ncomps .. ld-1)
 * stay zero.
 *
 * The twins of a function (src/cpu, cuda) share this contract and one test,
 * tests/unit/backend/check_backends.c. Model: the tables of operations of UCX and libCEED. */
#ifndef AMPED_BACKEND_H
#define AMPED_BACKEND_H

#include "backend/block_fit.h"
#include "backend/dense_block.h"
#include "backend/factor_past.h"
#include "backend/gpu_info.h"
#include "backend/row_descent.h"
#include "backend/row_past.h"
#include "backend/row_steps.h"
#include "backend/row_store.h"
#include "backend/row_vectors.h"
#include "backend/synthetic.h"
#include "base/double_double.h"
#include "base/kahan.h"
#include "plan/overlap.h"

/* Where a rank keeps its shard of a copy. */
typedef enum amped_residency {
  AMPED_RESIDENCY_AUTO,     /* on the device as far as it fits, the rest streamed */
  AMPED_RESIDENCY_RESIDENT, /* all on the device, or an error */
  AMPED_RESIDENCY_STREAM    /* all in pinned host memory, streamed through two buffers */
} amped_residency;

/* The copies of nonzeros that a run keeps. */
typedef enum amped_copies {
  AMPED_COPIES_AUTO, /* one where a copy for each mode does not fit, and the command and backend
                        take one; else all */
  AMPED_COPIES_ALL,  /* a copy for each mode */
  AMPED_COPIES_ONE   /* one for all modes */
} amped_copies;

typedef struct amped_backend_options {
  const char *name; /* "auto", "cpu", "cuda" */
  int threads;      /* OpenMP threads of this rank, at least 1; in the user's options 0: all */
  int local_rank;   /* the session sets it from MPI; no option of the user */
  int local_size;   /* likewise */
  bool share_gpus;  /* allow several ranks on one GPU */
  amped_residency residency;
  uint64_t device_memory; /* bytes of device memory to use at most, 0: what is free */
  const char *format;     /* the tensor format's name; NULL: the backend's first */
  amped_copies copies;    /* ONE: the format whose one copy serves all modes, instead */
  bool deterministic;     /* take a fixed share of the device's memory, even if more is free: the
                             resident part, and so the order of sums, is the same in every run */
  uint64_t tile_bytes; /* of a tile of an input factor, for resident copies (cuda only); 0: a cost
                          model chooses; UINT64_MAX: no tiles */
  bool tf32;           /* MTTKRPs of a dense tensor in floats round cells and factors to TF32 (cuda
                          only); its exact products of the residual do not */
} amped_backend_options;

/* A batch: consecutive nonzeros of one copy, translated. Each has the row of the rank's MTTKRP
 * result (the plan's row), its positions in the input factors, and its value. inputs has order-1
 * arrays, input modes ascending. Host memory, of plan->index_type and plan->value_type. */
typedef struct amped_batch {
  uint64_t count;
  const void *rows;
  const void *inputs[AMPED_MAX_ORDER - 1];
  const void *values;
} amped_batch;

/* Nonzeros with file indices, in any order: indices of amped_itype_for(dim). Host memory, or memory
 * of a list part. */
typedef struct amped_nonzeros {
  uint64_t count;
  const void *indices[AMPED_MAX_ORDER];
  const void *values;
  amped_vtype value_type; /* in host memory: the plan's */
} amped_nonzeros;

/* Seconds of one MTTKRP on this rank. */
typedef struct amped_mttkrp_times {
  double copy_sec;    /* host to device transfers (streamed copies), overlapped or not */
  double compute_sec; /* kernels, zeroing of the output included */
} amped_mttkrp_times;

/* Sums over a rank's nonzeros x of a copy, with the model's values m at their coordinates: of x x
 * and x m. Coordinates that repeat count apart. */
typedef struct amped_products {
  amped_dd xx, xm;
} amped_products;

/* Sums over rows a of a factor, in double. */
typedef struct amped_row_sums {
  double *gram; /* of a a^T: ncomps x ncomps, both triangles */
  double inner; /* of a * the same row of the output */
} amped_row_sums;

/* Memory that a rank's part of a plan takes. */
typedef struct amped_requirement {
  uint64_t device_bytes;
  uint64_t host_bytes;    /* pinned where the backend has a device */
  uint64_t passing_bytes; /* of host_bytes, those that copies take while they are filled and
                           * finished, one after the other */
  uint64_t copy_bytes[AMPED_MAX_ORDER]; /* mode's copy, a part of both sums above */
  uint64_t read_bytes[AMPED_MAX_ORDER]; /* of it, the nonzeros as an MTTKRP reads them */
  /* The part of a copy that is not on the device: every MTTKRP transfers it, but for what the one
   * before left in the buffers. */
  uint64_t streamed_bytes[AMPED_MAX_ORDER];
  uint64_t tiles[AMPED_MAX_ORDER]; /* number of tiles by which a copy is ordered; 0 or 1: none */
} amped_requirement;

/* One copy between a factor, from byte `offset`, and host memory. */
typedef struct amped_host_copy {
  uint64_t offset;
  uint64_t bytes;
  void *host;
  bool in; /* to the factor */
} amped_host_copy;

/* Opaque: every backend has its own. */
typedef struct amped_device amped_device;
typedef struct amped_factor_set amped_factor_set;
typedef struct amped_list_part amped_list_part;
typedef struct amped_tensor_part amped_tensor_part;

/* --- devices --------------------------------------------------------------------------------- */

typedef struct amped_device_ops {
  /* Is there a device for this rank? If not, *reason says why (static text). Starts nothing. */
  bool (*available)(const char **reason);
  /* Called before MPI_Init with the launcher's local rank (-1: unknown): CUDA-aware MPI wants the
   * GPU's context to exist. open reports a failure. */
  void (*before_mpi)(int local_rank);
  /* The GPUs that this process sees, and the GPU that open would take for this local rank. NULL
   * where device_pointers is false. Called only if available. */
  amped_status (*gpus)(int local_rank, amped_gpus *out);

  /* Bind to a core set or GPU. */
  amped_status (*open)(const amped_backend_options *options, amped_device **out);
  void (*close)(amped_device *device);
  /* The device of this rank in one line, for the user. Valid while the device is open. */
  const char *(*describe)(const amped_device *device);
  /* UUID of a GPU; "" where ranks may share the device without harm. */
  const char *(*identity)(const amped_device *device);
  /* Bytes that may be used on the device, the user's limit applied (for cpu: of the host). */
  uint64_t (*memory)(const amped_device *device);

  /* Host memory that transfers fast to this device (pinned; plain for cpu). */
  amped_status (*host_alloc)(amped_device *device, uint64_t bytes, void **out);
  void (*host_free)(amped_device *device, void *block); /* NULL is allowed */
  /* Pin memory of another allocator, so that it transfers as fast as host_alloc's. NULL where
   * device_pointers is false. */
  amped_status (*host_register)(amped_device *device, void *block, uint64_t bytes);
  void (*host_unregister)(amped_device *device, void *block);

  /* idp_nnz[i] = nonzeros of mode's iDp i (of `width` indices) among the counters first ..
   * first+count of a synthetic tensor. *sum_of_squares (unless NULL) = the sum of their squares.
   */
  amped_status (*count_synthetic)(amped_device *device, const amped_synthetic *tensor, int mode,
                                  uint64_t width, uint64_t first, uint64_t count, uint64_t *idp_nnz,
                                  double *sum_of_squares);
  /* Typical rates of such a device, for the plan. Not measured. */
  void (*rates)(const amped_device *device, amped_rates *out);
  /* Measured rates. The tables take at most spare_bytes of the device's memory (UINT64_MAX: all
   * that is free) and are freed again; a rate is 0 where they have no room. gather_rate: random
   * rows a second from a table of `rows` rows, of the plan's ld and value type. read_rate: bytes
   * a second in order. */
  amped_status (*gather_rate)(amped_device *device, const amped_plan *plan, uint64_t spare_bytes,
                              uint64_t rows, double *rows_per_sec);
  amped_status (*read_rate)(amped_device *device, uint64_t spare_bytes, double *bytes_per_sec);
  /* Likewise: multiplications and additions, one of each, a second in products of large matrices of
   * that type, or in as many as are as good as the type's own; with options->tf32 of numbers that
   * are rounded to it. */
  amped_status (*multiply_rate)(amped_device *device, amped_vtype type, uint64_t spare_bytes,
                                double *per_sec);
  /* Likewise: bytes a second from pinned host memory to the device. NULL where device_pointers is
   * false. */
  amped_status (*link_rate)(amped_device *device, uint64_t spare_bytes, double *bytes_per_sec);
} amped_device_ops;

/* --- factor sets ----------------------------------------------------------------------------- */

typedef struct amped_factor_ops {
  /* What create(plan) will take of the device's and of host memory. */
  void (*require)(const amped_device *device, const amped_plan *plan, uint64_t *device_bytes,
                  uint64_t *host_bytes);
  /* Factors and output are zero. Device and plan outlive the set. */
  amped_status (*create)(amped_device *device, const amped_plan *plan, amped_factor_set **out);
  void (*destroy)(amped_factor_set *factors);
  /* plan->ncomps and plan->ld have changed; they are not larger than at create. Factors become
   * zero. */
  amped_status (*resize)(amped_factor_set *factors);

  /* count rows of mode's factor from `position`, to and from count x ncomps doubles, row-major. */
  amped_status (*put_rows)(amped_factor_set *factors, int mode, uint64_t position, uint64_t count,
                           const double *rows);
  amped_status (*get_rows)(amped_factor_set *factors, int mode, uint64_t position, uint64_t count,
                           double *rows);
  /* Own rows of mode's factor: entry (i, r) = amped_random_double(seed, mode, i * ncomps + r),
   * where i is the row's index in the file, rounded to the factors' type. */
  amped_status (*fill_random)(amped_factor_set *factors, int mode, uint64_t seed);
  /* count rows of the output, to and from count x ncomps doubles. There is one output; it is of the
   * mode whose MTTKRP, or put_output, came last. */
  amped_status (*get_output)(amped_factor_set *factors, int mode, uint64_t row, uint64_t count,
                             double *rows);
  amped_status (*put_output)(amped_factor_set *factors, int mode, uint64_t row, uint64_t count,
                             const double *rows);
  /* Rows first .. end of this rank's block of mode's factor = the same rows of output * p + the
   * rows as they were * keep. p and keep are ncomps x ncomps doubles, row-major; keep may be NULL,
   * which is zero. The sums over the new rows are added to *sums, unless that is NULL. Sums are in
   * double. */
  amped_status (*solve)(amped_factor_set *factors, int mode, uint64_t first, uint64_t end,
                        const double *p, const double *keep, amped_row_sums *sums);
  /* The same rows become new by row descent, of the same rows of output. Sums are as solve's. */
  amped_status (*descend)(amped_factor_set *factors, int mode, uint64_t first, uint64_t end,
                          const amped_row_descent *descent, amped_row_sums *sums);
  /* sums[c] = the sum of the sizes of column c's elements, over own rows. */
  amped_status (*absolute)(amped_factor_set *factors, int mode, double *sums);
  /* gram = sum over own rows a of a a^T, in double: ncomps x ncomps, both triangles. */
  amped_status (*gram)(amped_factor_set *factors, int mode, double *gram);
  /* Column c of count rows of mode's factor from `position` times scale[c]. */
  amped_status (*scale)(amped_factor_set *factors, int mode, uint64_t position, uint64_t count,
                        const double *scale);

  /* Mode's whole factor in position order, for the exchange. Device memory if device_pointers. */
  void *(*rows)(amped_factor_set *factors, int mode);
  /* A number, at least 1, that has grown whenever mode's factor may have changed: by an operation
   * of this table, or as rows or stage gave its memory away. Numbers of all modes are drawn from
   * one clock: of two factors, that with the larger number changed later. */
  uint64_t (*version)(const amped_factor_set *factors, int mode);
  /* For an exchange through the host: make all copies between mode's factor and host memory.
   * Copies to the factor and copies from it overlap. NULL where device_pointers is false. */
  amped_status (*stage)(amped_factor_set *factors, int mode, const amped_host_copy *copies,
                        int count);
} amped_factor_ops;

/* --- list parts ------------------------------------------------------------------------------ */

/* What a list part is made for. */
typedef struct amped_list_shape {
  int order;
  uint64_t dims[AMPED_MAX_ORDER];
  amped_itype index_types[AMPED_MAX_ORDER]; /* of the nonzeros that are appended */
  amped_vtype value_type;
  uint64_t capacity; /* nonzeros that it holds at most */
  int nranks;        /* that nonzeros are dealt to; 1: none are dealt */
  uint64_t window;   /* nonzeros that are dealt at a time, at most 2^30 */
  uint64_t arriving; /* nonzeros that arrive from all ranks at a time, at most */
  bool device_mpi;   /* MPI takes memory of the device */
} amped_list_shape;

/* Bytes of an index as a part holds it, and of a nonzero. */
static inline uint64_t amped_list_index_bytes(const amped_list_shape *shape, int mode) {
  return amped_itype_for(shape->dims[mode]);
}
static inline uint64_t amped_list_nonzero_bytes(const amped_list_shape *shape) {
  uint64_t bytes = shape->value_type;
  for (int m = 0; m < shape->order; m++)
    bytes += amped_list_index_bytes(shape, m);
  return bytes;
}

/* What is counted of nonzeros. All counts are added to. */
typedef struct amped_list_counts {
  amped_partition partitions[AMPED_MAX_ORDER]; /* idp_nnz */
  amped_kahan squares;
  amped_dictionary_search distinct; /* values */
} amped_list_counts;

/* In place of a mode: nonzeros are dealt by their coordinates, equal ones to one rank, about as
 * many to each. And in place of a mode's indices: the values. */
#define AMPED_BY_COORDINATE (-1)
#define AMPED_LIST_VALUES (-1)

/* A list part holds nonzeros in the order in which they are appended, in the backend's memory.
 * Nonzeros first .. first+count of it are a window. To deal is to find the rank that gets each
 * nonzero of a window in mode's copy (plan.h), and to order the window by ranks, then as before. */
typedef struct amped_list_ops {
  /* What create(shape) and dealing will take. */
  void (*require)(const amped_device *device, const amped_list_shape *shape, uint64_t *device_bytes,
                  uint64_t *host_bytes);
  /* The device outlives the part. */
  amped_status (*create)(amped_device *device, const amped_list_shape *shape,
                         amped_list_part **out);
  void (*destroy)(amped_list_part *part); /* NULL is allowed */

  /* Append nonzeros that fit: arrays of the shape's types, in host memory. Indices are less than
   * dims, values finite. clear: forget all nonzeros. */
  amped_status (*append)(amped_list_part *part, uint64_t count, void *const *indices,
                         const void *values);
  void (*clear)(amped_list_part *part);

  /* Of a window. *hash += the sum of the nonzeros' hashes (sptensor.h). */
  amped_status (*count)(amped_list_part *part, uint64_t first, uint64_t count,
                        amped_list_counts *out);
  amped_status (*hash)(amped_list_part *part, uint64_t first, uint64_t count, uint64_t *hash);
  /* The window itself; valid until nonzeros are appended, cleared or destroyed. */
  void (*view)(amped_list_part *part, uint64_t first, uint64_t count, amped_nonzeros *out);

  /* The windows to come are dealt in that mode, or AMPED_BY_COORDINATE. The plan is borrowed until
   * the next call. */
  amped_status (*deal_by)(amped_list_part *part, const amped_plan *plan, int mode);
  /* counts[k] += nonzeros of the mode's split iDp k in the window. */
  amped_status (*count_splits)(amped_list_part *part, uint64_t first, uint64_t count,
                               uint64_t *counts);
  /* numbers[k] = number of the window's first nonzero of split k; after the call, of the first one
   * behind the window. counts[p] = nonzeros of rank p. */
  amped_status (*deal)(amped_list_part *part, uint64_t first, uint64_t count, uint64_t *numbers,
                       uint64_t *counts);
  /* *out = the dealt window's indices in mode, or its values: for MPI to send. Valid until the next
   * call. */
  amped_status (*dealt)(amped_list_part *part, int array, void **out);
  /* Where indices in mode, or values, go that come from all ranks: for MPI to receive. */
  void *(*arriving)(amped_list_part *part, int array);

  /* Copy bytes of the part's memory to host memory. */
  amped_status (*fetch)(amped_list_part *part, const void *from, uint64_t bytes, void *to);
} amped_list_ops;

/* --- tensor formats -------------------------------------------------------------------------- */

/* Where several ranks hold parts of the sums of a mode's rows, any of them of all rows: memory of
 * the backend. Both arrays have the rows of mode's whole factor in position order, plan->ld
 * elements of plan->value_type each. */
typedef struct amped_partial_rows {
  void *sums;     /* this rank's parts; NULL: the output is whole without other ranks */
  void *arriving; /* room for the parts of own rows of all ranks, rank after rank */
} amped_partial_rows;

/* A format has all of these operations but row_fit, row_past, row_steps and dense_blocks
 * (optional), collect, sort, require_collect (NULL: it takes ordered copies alone), go_on,
 * make_synthetic and require_synthetic (NULL: it takes files alone), partial_rows, add_arrived and
 * stage_partial (NULL: sums of a row are whole on its owner, split iDps apart), and products (NULL:
 * near 1 the fit is known less well, docs/numerics.md). A format that needs cells has insert_cells
 * in place of insert. A solver that needs an operation of its own asks for it before the first
 * nonzero is read (amped_demand, session/prepare.h). */
typedef struct amped_format_ops {
  const char *name;       /* as the user says it: --kernel */
  bool any_order;         /* sums are added in whatever order comes: never with --deterministic */
  amped_copy_needs needs; /* of plan and loaders */

  /* Memory that create(plan) will take, beside factor_bytes of the device, which others have: the
   * factor set, the solver. The caller has zeroed *out. AMPED_FAILED with a
   * remedy where it does not fit. */
  amped_status (*require)(const amped_device *device, const amped_plan *plan, uint64_t factor_bytes,
                          amped_requirement *out);
  /* Device, plan and factors outlive the part; on failure there is nothing to free. A thread may
   * pin memory in the background; insert reports its failure. */
  amped_status (*create)(amped_device *device, amped_factor_set *factors, const amped_plan *plan,
                         uint64_t factor_bytes, amped_tensor_part **out);
  void (*destroy)(amped_tensor_part *part); /* NULL is allowed */
  /* Bytes of device memory that remain of the user's limit; UINT64_MAX without a limit. */
  uint64_t (*spare)(const amped_tensor_part *part);

  /* insert stores nonzeros offset .. offset+batch->count of this rank's shard of mode's copy; the
   * caller may reuse the batch afterwards. Batches of a mode come in order, without gaps. finish
   * follows the last batch. Modes are those of the plan's copies. A format of one copy finds the
   * positions of that mode by amped_plan_row_position. */
  amped_status (*insert)(amped_tensor_part *part, int mode, uint64_t offset,
                         const amped_batch *batch);
  amped_status (*finish)(amped_tensor_part *part, int mode);
  /* Formats that need cells: cells first .. first+count of this rank's slab, in the order in which
   * they lie in memory, of plan->dense.type. Host memory, which the caller may reuse afterwards.
   * Calls come in order, without gaps. finish of mode 0 follows the last. */
  amped_status (*insert_cells)(amped_tensor_part *part, uint64_t first, uint64_t count,
                               const void *cells);
  /* After finish of all copies: plan->ncomps and plan->ld have changed; they are not larger than at
   * create. The nonzeros stay. */
  amped_status (*resize)(amped_tensor_part *part);

  /* Instead of all inserts of mode. collect takes nonzeros of this rank's shard in any order; the
   * caller may reuse them afterwards. sort follows the last of them and makes the copy; then comes
   * finish. One mode is collected at a time.
   * The order is that of a tensor file: by the file's index in mode, then in modes 0, 1, ...
   * without it, then as nonzeros came. Nonzeros of split iDps are last. *repeats = nonzeros with
   * the coordinate of their predecessor. */
  amped_status (*collect)(amped_tensor_part *part, int mode, const amped_nonzeros *nonzeros);
  amped_status (*sort)(amped_tensor_part *part, int mode, uint64_t *repeats);
  /* Bytes that collect and sort take at most, beside the bytes of require. */
  amped_status (*require_collect)(const amped_device *device, const amped_plan *plan,
                                  uint64_t factor_bytes, uint64_t *device_bytes,
                                  uint64_t *host_bytes);
  /* Instead of all inserts of mode: make this rank's nonzeros here, in the order of synthetic.h.
   * The amount of memory does not change them. finish follows. */
  amped_status (*make_synthetic)(amped_tensor_part *part, const amped_synthetic *tensor, int mode);
  /* Bytes of host memory that make_synthetic takes, beside the bytes of require. */
  uint64_t (*require_synthetic)(const amped_plan *plan);

  /* output = MTTKRP of mode over this rank's nonzeros. When wait returns, the output's rows of
   * block_part (plan.h) and of all earlier parts are finished. With the last part, or a higher
   * number, all rows are finished and *times is set. The caller waits for parts in ascending order,
   * and for the last part before the next begin. In between it may call put_output, get_output and
   * solve for finished rows, and change mode's factor. */
  amped_status (*mttkrp_begin)(amped_tensor_part *part, int mode);
  amped_status (*mttkrp_wait)(amped_tensor_part *part, int mode, int block_part,
                              amped_mttkrp_times *times);

  /* The factors are those of a run that made so many sweeps of updates of modes 0, 1, ..., and goes
   * on: what MTTKRP keeps is made as that run had it, so that sums have the same bits. NULL where
   * nothing is kept. */
  void (*go_on)(amped_tensor_part *part, uint64_t sweeps);

  /* After the wait for the last part of mode: the parts of sums on this rank. add_arrived: own rows
   * of the output = the sums over ranks, in their order and in double, of what has arrived; nothing
   * where the output is whole. Memory stays where it is until the next begin. */
  amped_partial_rows (*partial_rows)(amped_tensor_part *part, int mode);
  amped_status (*add_arrived)(amped_tensor_part *part, int mode);
  /* For an exchange of them through the host: make all copies between host memory and these arrays
   * (offsets from sums, or from arriving where `in`). NULL where device_pointers is false. */
  amped_status (*stage_partial)(amped_tensor_part *part, int mode, const amped_host_copy *copies,
                                int count);

  /* Sums over this rank's nonzeros of mode's copy, each nonzero times `scale`, a power of two.
   * The model's value at a nonzero is the sum over components r of weights[r], times column r of
   * the nonzero's row of the output, times column r of its rows of the input factors: so the caller
   * has put the rows of mode's factor into the output. A format of cells takes these rows from the
   * factor, which is the same: all rows, but in the slab mode own ones alone. Sums and products are
   * double-doubles; the
   * order of additions is fixed by the copy's layout. Between MTTKRPs. */
  amped_status (*products)(amped_tensor_part *part, int mode, double scale, const double *weights,
                           amped_products *out);

  const amped_row_fit_ops *row_fit;          /* NULL: the format has none */
  const amped_block_fit_ops *block_fit;      /* NULL: none; it needs row fits */
  const amped_row_past_ops *row_past;        /* likewise */
  const amped_row_step_ops *row_steps;       /* likewise */
  const amped_dense_block_ops *dense_blocks; /* NULL: the format has none */
} amped_format_ops;

/* --- backends and workers -------------------------------------------------------------------- */

typedef struct amped_backend {
  const char *name;     /* "cpu", "cuda" */
  bool device_pointers; /* rows() is device memory, which MPI may or may not take */
  bool concurrent;      /* mttkrp_begin returns before its work is done */
  const amped_device_ops *device;
  const amped_factor_ops *factors;
  const amped_factor_past_ops *factor_pasts;
  const amped_row_vector_ops *row_vectors;
  const amped_list_ops *lists;
  const amped_row_store_ops *row_stores;  /* NULL: the backend has none, and no streams */
  const amped_format_ops *const *formats; /* ended by NULL; the first is the default */
} amped_backend;

extern const amped_backend amped_backend_cpu;
#ifdef AMPED_HAVE_CUDA
extern const amped_backend amped_backend_cuda;
#endif

/* find: the backend of that name; NULL if the program is built without it. list: the i-th backend,
 * in order of preference; NULL behind the last. Static. */
const amped_backend *amped_backend_find(const char *name);
const amped_backend *amped_backend_list(int i);

/* The backend's format of one copy for all modes; with mixes, that in which some have copies of
 * their own. NULL: it has none. */
const amped_format_ops *amped_backend_one_copy(const amped_backend *backend, bool mixes);

/* Worker: the device, factor set and tensor part of one rank. A member is NULL before it is made
 * and after it is freed. */
typedef struct amped_worker {
  const amped_backend *backend;
  const amped_format_ops *format;
  amped_device *device;
  bool tf32;         /* MTTKRPs round to TF32 */
  uint64_t reserved; /* bytes of the device's memory that the solver takes by itself */
  amped_factor_set *factors;
  amped_tensor_part *tensor;
} amped_worker;

/* Open a device of the backend, and choose the format that the options name. AMPED_USAGE: the
 * backend does not have it, or it cannot be deterministic. close frees every member; it takes a
 * worker of zeros, too. */
amped_status amped_worker_open(amped_worker *worker, const amped_backend *backend,
                               const amped_backend_options *options);
void amped_worker_close(amped_worker *worker);

/* Memory that prepare(plan) will take for factors and tensor part. AMPED_FAILED with a remedy where
 * it does not fit. require_collect: bytes beside it that collect and sort of a list take. */
amped_status amped_worker_require(const amped_worker *worker, const amped_plan *plan,
                                  amped_requirement *out);
amped_status amped_worker_require_collect(const amped_worker *worker, const amped_plan *plan,
                                          uint64_t *device_bytes, uint64_t *host_bytes);
/* Allocate factors (zero) and room for the nonzeros. The plan outlives the worker. */
amped_status amped_worker_prepare(amped_worker *worker, const amped_plan *plan);
/* After all modes are finished: the plan has another number of components, at most that of
 * prepare. */
amped_status amped_worker_resize(amped_worker *worker);

#endif
