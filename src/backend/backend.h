/* Backend: the local work of one rank, on its CPU cores or on its GPU.
 *
 * Three tables of functions, each over an object of its own:
 *
 *   device       cores or a GPU: opened once a rank, asked for memory and rates
 *   factor set   all factors (whole, in position order, plan->ld elements a row, plan->value_type)
 *                and one MTTKRP result ("output": output_rows rows, the rank's own block, then its
 *                shared rows, same row layout)
 *   tensor part  this rank's nonzeros, in one tensor format: the sorted copies, or another
 *
 * A backend names its three kinds of tables; a worker holds one object of each. Algorithms call
 * through the worker and hold no `if (gpu)`. No function communicates. Every function but
 * mttkrp_begin has finished its work when it returns, and reports failure through status.h.
 * Padding rows and padding columns (ncomps .. ld-1) stay zero.
 *
 * The twins of a function (src/cpu, cuda) share this contract and one test,
 * tests/unit/backend/check_backends.c. Model: the tables of operations of UCX and libCEED. */
#ifndef AMPED_BACKEND_H
#define AMPED_BACKEND_H

#include "backend/gpu_info.h"
#include "plan/overlap.h"
#include "backend/synthetic.h"

/* Where a rank keeps its share of a copy. */
typedef enum amped_residency {
  AMPED_RESIDENCY_AUTO,     /* on the device as far as it fits, the rest streamed */
  AMPED_RESIDENCY_RESIDENT, /* all on the device, or an error */
  AMPED_RESIDENCY_STREAM    /* all in pinned host memory, streamed through two buffers */
} amped_residency;

typedef enum amped_kernel {
  AMPED_KERNEL_SORTED, /* runs of sorted nonzeros, accumulated in registers */
  AMPED_KERNEL_ATOMIC  /* AMPED's Algorithm 2: an atomic add per nonzero and column (cuda only) */
} amped_kernel;

typedef struct amped_backend_options {
  const char *name; /* "auto", "cpu", "cuda" */
  int threads; /* OpenMP threads of this rank, at least 1; of the user, 0: as many as there are */
  int local_rank; /* of MPI, not of the user, as is local_size */
  int local_size;
  bool share_gpus; /* allow several ranks on one GPU */
  amped_residency residency;
  uint64_t device_memory; /* bytes of device memory to use at most, 0: what is free */
  amped_kernel kernel;
  bool deterministic;  /* take a fixed share of the device's memory, whatever is free: what stays on
                          the device, and so the order of sums, is the same in every run */
  uint64_t tile_bytes; /* of an input factor that a resident copy is ordered by (cuda only): 0 as a
                          cost model says, UINT64_MAX never */
} amped_backend_options;

/* A run of nonzeros of one copy, translated: row of the rank's MTTKRP result (plan's row),
 * positions in the input factors (input modes in ascending order), values. Host memory,
 * plan->index_type and plan->value_type; inputs has order-1 arrays. */
typedef struct amped_batch {
  uint64_t count;
  const void *rows;
  const void *inputs[AMPED_MAX_ORDER - 1];
  const void *values;
} amped_batch;

/* Nonzeros as they stand in a file, in any order: indices of amped_itype_for(dim), values of
 * plan->value_type. Host memory. */
typedef struct amped_nonzeros {
  uint64_t count;
  const void *indices[AMPED_MAX_ORDER];
  const void *values;
} amped_nonzeros;

/* Seconds of one MTTKRP on this rank. */
typedef struct amped_mttkrp_times {
  double copy_sec;    /* host to device transfers (streamed copies), overlapped or not */
  double compute_sec; /* kernels, zeroing of the output included */
} amped_mttkrp_times;

/* Memory that a rank's part of a plan takes. */
typedef struct amped_requirement {
  uint64_t device_bytes;
  uint64_t host_bytes;                      /* pinned where the backend has a device */
  uint64_t copy_bytes[AMPED_MAX_ORDER];     /* of these, mode's copy, wherever it lies */
  uint64_t streamed_bytes[AMPED_MAX_ORDER]; /* of a copy, what every MTTKRP transfers again */
  uint64_t tiles[AMPED_MAX_ORDER]; /* of an input that a copy is ordered by first; 0 or 1: none */
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
typedef struct amped_tensor_part amped_tensor_part;

/* --- devices --------------------------------------------------------------------------------- */

typedef struct amped_device_ops {
  /* Is there a device for this rank? false with a reason (static text) where not. Starts nothing.
   */
  bool (*available)(const char **reason);
  /* Called before MPI_Init with the local rank the launcher told (-1: unknown): CUDA-aware MPI
   * wants the GPU's context to exist. Failure is left to open. */
  void (*before_mpi)(int local_rank);
  /* The GPUs that this process sees, and which of them open would take for this local rank; NULL
   * where device_pointers is false. Only where available. */
  amped_status (*gpus)(int local_rank, amped_gpus *out);

  /* Bind to a core set or GPU. */
  amped_status (*open)(const amped_backend_options *options, amped_device **out);
  void (*close)(amped_device *device);
  /* One line for the user: what this rank computes on. Valid while the device is open. */
  const char *(*describe)(const amped_device *device);
  /* What tells two GPUs apart (UUID), "" where sharing does no harm. */
  const char *(*identity)(const amped_device *device);
  /* Bytes that may be used on the device, the user's limit applied (for cpu: of the host). */
  uint64_t (*memory)(const amped_device *device);

  /* Host memory that transfers fast to this device (pinned; plain for cpu). */
  amped_status (*host_alloc)(amped_device *device, uint64_t bytes, void **out);
  void (*host_free)(amped_device *device, void *block);
  /* Make memory that somebody else allocated transfer as fast as host_alloc's; NULL where
   * device_pointers is false. */
  amped_status (*host_register)(amped_device *device, void *block, uint64_t bytes);
  void (*host_unregister)(amped_device *device, void *block);

  /* idp_nnz[i] = nonzeros of mode's iDp i (of `width` indices) among the counters first ..
   * first+count of a synthetic tensor; *sum_of_squares (unless NULL) = that of their values. */
  amped_status (*count_synthetic)(amped_device *device, const amped_synthetic *tensor, int mode,
                                  uint64_t width, uint64_t first, uint64_t count, uint64_t *idp_nnz,
                                  double *sum_of_squares);
  /* What the plan is to know of such devices: no measurement. */
  void (*rates)(const amped_device *device, amped_rates *out);
  /* Measured rates, with at most spare_bytes of the device's memory (UINT64_MAX: what is free):
   * random rows of a table of `rows` rows (of the plan's ld and value type; made and freed here)
   * that are gathered in a second, bytes that are read in order in a second. 0 where there is no
   * room. */
  amped_status (*gather_rate)(amped_device *device, const amped_plan *plan, uint64_t spare_bytes,
                              uint64_t rows, double *rows_per_sec);
  amped_status (*read_rate)(amped_device *device, uint64_t spare_bytes, double *bytes_per_sec);
} amped_device_ops;

/* --- factor sets ----------------------------------------------------------------------------- */

typedef struct amped_factor_ops {
  /* What create(plan) will take of the device's and of host memory. */
  void (*require)(const amped_device *device, const amped_plan *plan, uint64_t *device_bytes,
                  uint64_t *host_bytes);
  /* Factors and output are zero. Device and plan outlive the set. */
  amped_status (*create)(amped_device *device, const amped_plan *plan, amped_factor_set **out);
  void (*destroy)(amped_factor_set *factors);
  /* plan->ncomps and plan->ld have changed, to no more than create saw. Factors become zero. */
  amped_status (*resize)(amped_factor_set *factors);

  /* count rows of mode's factor from `position`, to and from count x ncomps doubles, row-major. */
  amped_status (*put_rows)(amped_factor_set *factors, int mode, uint64_t position, uint64_t count,
                           const double *rows);
  amped_status (*get_rows)(amped_factor_set *factors, int mode, uint64_t position, uint64_t count,
                           double *rows);
  /* count rows of the output, to and from count x ncomps doubles. */
  amped_status (*get_output)(amped_factor_set *factors, int mode, uint64_t row, uint64_t count,
                             double *rows);
  amped_status (*put_output)(amped_factor_set *factors, int mode, uint64_t row, uint64_t count,
                             const double *rows);
  /* Rows first .. end of this rank's block of mode's factor = those of output * p, p ncomps x
   * ncomps doubles, symmetric; products are accumulated in double. */
  amped_status (*solve)(amped_factor_set *factors, int mode, uint64_t first, uint64_t end,
                        const double *p);
  /* gram = sum over own rows a of a a^T, in double: ncomps x ncomps, both triangles. */
  amped_status (*gram)(amped_factor_set *factors, int mode, double *gram);
  /* inner = sum over own rows and columns of output * factor, in double. */
  amped_status (*inner)(amped_factor_set *factors, int mode, double *inner);
  /* Column c of count rows of mode's factor from `position` times scale[c]. */
  amped_status (*scale)(amped_factor_set *factors, int mode, uint64_t position, uint64_t count,
                        const double *scale);

  /* Mode's whole factor in position order, for the exchange: device memory where device_pointers.
   */
  void *(*rows)(amped_factor_set *factors, int mode);
  /* For an exchange through the host; NULL where device_pointers is false: copies between mode's
   * factor and host memory, all at once (those in and those out overlap). */
  amped_status (*stage)(amped_factor_set *factors, int mode, const amped_host_copy *copies,
                        int count);
} amped_factor_ops;

/* --- tensor formats -------------------------------------------------------------------------- */

/* NULL marks an operation that a format does not have; whoever needs it asks before the first
 * nonzero is read. */
typedef struct amped_format_ops {
  const char *name; /* "sorted", "atomic" */

  /* What create(plan) will take beside so many bytes of the device for factors. AMPED_FAILED with a
   * remedy where it does not fit. */
  amped_status (*require)(const amped_device *device, const amped_plan *plan, uint64_t factor_bytes,
                          amped_requirement *out);
  /* Device, plan and factors outlive the part. Pinned memory may be taken in the background: the
   * insert that meets a failure of that reports it. */
  amped_status (*create)(amped_device *device, amped_factor_set *factors, const amped_plan *plan,
                         uint64_t factor_bytes, amped_tensor_part **out);
  void (*destroy)(amped_tensor_part *part);
  /* Device memory that the part leaves of the user's limit; UINT64_MAX without a limit. */
  uint64_t (*spare)(const amped_tensor_part *part);

  /* Store nonzeros offset .. offset+batch->count of this rank's shard of mode's copy (copied from
   * the batch before it returns). finish: after the last of them. */
  amped_status (*insert)(amped_tensor_part *part, int mode, uint64_t offset,
                         const amped_batch *batch);
  amped_status (*finish)(amped_tensor_part *part, int mode);
  /* Once all modes are finished: plan->ncomps and plan->ld have changed, to no more than create
   * saw. The nonzeros stay. */
  amped_status (*resize)(amped_tensor_part *part);

  /* Instead of all inserts of mode: collect takes nonzeros of this rank's shard in any order
   * (copied before it returns); sort, after the last, makes the copy of them, ordered as in a
   * tensor file: by the file's indices in mode, then in modes 0, 1, ... without it, then as they
   * came; those of split iDps last. *repeats = nonzeros at the coordinate of the one before. finish
   * follows. One mode is collected at a time. */
  amped_status (*collect)(amped_tensor_part *part, int mode, const amped_nonzeros *nonzeros);
  amped_status (*sort)(amped_tensor_part *part, int mode, uint64_t *repeats);
  /* Bytes that collect and sort take at most beyond what require says. */
  amped_status (*require_collect)(const amped_device *device, const amped_plan *plan,
                                  uint64_t factor_bytes, uint64_t *device_bytes,
                                  uint64_t *host_bytes);
  /* Instead of all inserts of mode: make this rank's nonzeros here, in the order of synthetic.h,
   * the same whatever memory there is. finish follows. */
  amped_status (*make_synthetic)(amped_tensor_part *part, const amped_synthetic *tensor, int mode);

  /* output = MTTKRP of mode over this rank's nonzeros. When wait returns, the output's rows of that
   * part of the block (plan.h) and of those before it are finished; with the last part (or a higher
   * number) all are, and *times is set. Parts are waited for in ascending order, the last one in
   * any case, before the next begin. In between, put_output, get_output and solve may be called for
   * finished rows, and mode's factor may be changed. */
  amped_status (*mttkrp_begin)(amped_tensor_part *part, int mode);
  amped_status (*mttkrp_wait)(amped_tensor_part *part, int mode, int block_part,
                              amped_mttkrp_times *times);
} amped_format_ops;

/* --- backends and workers -------------------------------------------------------------------- */

typedef struct amped_backend {
  const char *name;     /* "cpu", "cuda" */
  bool device_pointers; /* rows() is device memory: the exchange asks MPI whether it takes that */
  bool concurrent;      /* mttkrp_begin returns before its work is done */
  const amped_device_ops *device;
  const amped_factor_ops *factors;
  const amped_format_ops *const *formats; /* ended by NULL; the first is the default */
} amped_backend;

extern const amped_backend amped_backend_cpu;
#ifdef AMPED_HAVE_CUDA
extern const amped_backend amped_backend_cuda;
#endif

/* By name, NULL where this program has no such backend; the i-th, NULL behind the last. */
const amped_backend *amped_backend_find(const char *name);
const amped_backend *amped_backend_list(int i);

/* What one rank works with. NULL: not yet, or no more. */
typedef struct amped_worker {
  const amped_backend *backend;
  const amped_format_ops *format;
  amped_device *device;
  amped_factor_set *factors;
  amped_tensor_part *tensor;
} amped_worker;

/* Open a device of the backend, and choose the format that the options name. close frees all that
 * there is; a worker of zeros is allowed. */
amped_status amped_worker_open(amped_worker *worker, const amped_backend *backend,
                               const amped_backend_options *options);
void amped_worker_close(amped_worker *worker);

/* What prepare(plan) will take of factors and tensor part. AMPED_FAILED with a remedy where it does
 * not fit. The other: what collecting a list takes beyond that. */
amped_status amped_worker_require(const amped_worker *worker, const amped_plan *plan,
                                  amped_requirement *out);
amped_status amped_worker_require_collect(const amped_worker *worker, const amped_plan *plan,
                                          uint64_t *device_bytes, uint64_t *host_bytes);
/* Allocate factors (zero) and room for the nonzeros. The plan outlives the worker. */
amped_status amped_worker_prepare(amped_worker *worker, const amped_plan *plan);
/* Once all nonzeros are there: the plan has another number of components, no more than before. */
amped_status amped_worker_resize(amped_worker *worker);

/* MTTKRP of mode from its beginning to its end. */
amped_status amped_worker_mttkrp(const amped_worker *worker, int mode, amped_mttkrp_times *times);

#endif
