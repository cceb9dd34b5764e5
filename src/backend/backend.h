/* Backend: the local work of one rank, on its CPU cores or on its GPU.
 *
 * One table of functions a backend, found by name; algorithms call through it and hold no
 * `if (gpu)`. A context holds this rank's nonzeros of every mode's copy, all factors (whole, in
 * position order, plan->ld elements a row, plan->value_type), and one MTTKRP result ("output":
 * output_rows rows, the rank's own block, then its shared rows, same row layout). No function
 * communicates. Every function but mttkrp_begin has finished its work when it returns, and reports
 * failure through status.h. Padding rows and padding columns (ncomps .. ld-1) stay zero.
 *
 * The twins of a function (backend_cpu.c, ../cuda/backend_cuda.cu) share this contract and one
 * test, tests/unit/backend/check_backends.c. */
#ifndef AMPED_BACKEND_H
#define AMPED_BACKEND_H

#include "backend/gpu_info.h"
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

typedef struct amped_backend_context amped_backend_context; /* each backend has its own */

typedef struct amped_backend {
  const char *name;     /* "cpu", "cuda" */
  bool device_pointers; /* factor() is device memory: the exchange asks MPI whether it takes that */
  bool concurrent;      /* mttkrp_begin returns before its work is done */

  /* Is there a device for this rank? false with a reason (static text) where not. Starts nothing.
   */
  bool (*available)(const char **reason);
  /* Called before MPI_Init with the local rank the launcher told (-1: unknown): CUDA-aware MPI
   * wants the context to exist. Failure is left to open. */
  void (*before_mpi)(int local_rank);
  /* The GPUs that this process sees, and which of them open would take for this local rank; NULL
   * where device_pointers is false. Only where available. */
  amped_status (*gpus)(int local_rank, amped_gpus *out);

  /* Bind to a core set or GPU. */
  amped_status (*open)(const amped_backend_options *options, amped_backend_context **out);
  /* One line for the user: what this rank computes on. Valid while the context is. */
  const char *(*describe)(const amped_backend_context *ctx);
  /* What tells two GPUs apart (UUID), "" where sharing does no harm. */
  const char *(*identity)(const amped_backend_context *ctx);
  /* Bytes that may be used on the device, the user's limit applied (for cpu: of the host). */
  uint64_t (*memory)(const amped_backend_context *ctx);
  /* What prepare(plan) will take. AMPED_FAILED with a remedy where it does not fit. */
  amped_status (*require)(const amped_backend_context *ctx, const amped_plan *plan,
                          amped_requirement *out);
  /* Allocate everything, factors zero. The plan outlives the context. Pinned memory may be taken in
   * the background: the upload that meets a failure of that reports it. */
  amped_status (*prepare)(amped_backend_context *ctx, const amped_plan *plan);
  void (*close)(amped_backend_context *ctx);

  /* Store nonzeros offset .. offset+run->count of this rank's share of mode's copy (copied from run
   * before it returns). loaded: after the last of them. */
  amped_status (*upload)(amped_backend_context *ctx, int mode, uint64_t offset,
                         const amped_batch *batch);
  amped_status (*loaded)(amped_backend_context *ctx, int mode);

  /* Once all copies are loaded: plan->ncomps and plan->ld have changed, to no more than prepare
   * saw. The copies stay; factors become zero. */
  amped_status (*resize)(amped_backend_context *ctx);

  /* Instead of all uploads of mode: collect takes nonzeros of this rank's share in any order
   * (copied before it returns); order, after the last, makes the copy of them, ordered as in a
   * tensor file: by the file's indices in mode, then in modes 0, 1, ... without it, then as they
   * came; those of split iDps last. *repeats = nonzeros at the coordinate of the one before. loaded
   * follows. One mode is collected at a time. */
  amped_status (*collect)(amped_backend_context *ctx, int mode, const amped_nonzeros *nonzeros);
  amped_status (*order)(amped_backend_context *ctx, int mode, uint64_t *repeats);
  /* Bytes that collect and order take at most beyond what require says. */
  amped_status (*require_collect)(const amped_backend_context *ctx, const amped_plan *plan,
                                  uint64_t *device_bytes, uint64_t *host_bytes);

  /* count rows of mode's factor from `position`, to and from count x ncomps doubles, row-major. */
  amped_status (*put_rows)(amped_backend_context *ctx, int mode, uint64_t position, uint64_t count,
                           const double *rows);
  amped_status (*get_rows)(amped_backend_context *ctx, int mode, uint64_t position, uint64_t count,
                           double *rows);

  /* output = MTTKRP of mode over this rank's nonzeros. When wait returns, the output's rows of that
   * part of the block (plan.h) and of those before it are finished; with the last part (or a higher
   * number) all are, and *times is set. Parts are waited for in ascending order, the last one in
   * any case, before the next begin. In between, put_output, get_output and solve may be called for
   * finished rows, and mode's factor may be changed. */
  amped_status (*mttkrp_begin)(amped_backend_context *ctx, int mode);
  amped_status (*mttkrp_wait)(amped_backend_context *ctx, int mode, int part,
                              amped_mttkrp_times *times);
  /* count rows of the output, to and from count x ncomps doubles. */
  amped_status (*get_output)(amped_backend_context *ctx, int mode, uint64_t row, uint64_t count,
                             double *rows);
  amped_status (*put_output)(amped_backend_context *ctx, int mode, uint64_t row, uint64_t count,
                             const double *rows);
  /* Rows first .. end of this rank's block of mode's factor = those of output * p, p ncomps x
   * ncomps doubles, symmetric; products are accumulated in double. */
  amped_status (*solve)(amped_backend_context *ctx, int mode, uint64_t first, uint64_t end,
                        const double *p);
  /* gram = sum over own rows a of a a^T, in double: ncomps x ncomps, both triangles. */
  amped_status (*gram)(amped_backend_context *ctx, int mode, double *gram);
  /* inner = sum over own rows and columns of output * factor, in double. */
  amped_status (*inner)(amped_backend_context *ctx, int mode, double *inner);
  /* Column c of count rows of mode's factor from `position` times scale[c]. */
  amped_status (*scale)(amped_backend_context *ctx, int mode, uint64_t position, uint64_t count,
                        const double *scale);

  /* Mode's whole factor in position order, for the exchange: device memory where device_pointers.
   */
  void *(*factor)(amped_backend_context *ctx, int mode);
  /* For an exchange through the host; NULL where device_pointers is false. stage: copies between
   * mode's factor and host memory, all at once (those in and those out overlap).
   * host_register: make memory that somebody else allocated transfer as fast as host_alloc's. */
  amped_status (*stage)(amped_backend_context *ctx, int mode, const amped_host_copy *copies,
                        int count);
  amped_status (*host_register)(amped_backend_context *ctx, void *block, uint64_t bytes);
  void (*host_unregister)(amped_backend_context *ctx, void *block);
  /* Between open and prepare: idp_nnz[i] = nonzeros of mode's iDp i (of `width` indices) among the
   * counters first .. first+count of a synthetic tensor; *sum_of_squares (unless NULL) = that of
   * their values. */
  amped_status (*count_synthetic)(amped_backend_context *ctx, const amped_synthetic *tensor,
                                  int mode, uint64_t width, uint64_t first, uint64_t count,
                                  uint64_t *idp_nnz, double *sum_of_squares);
  /* Instead of all uploads of mode: make this rank's nonzeros here, in the order of synthetic.h,
   * the same whatever memory there is. loaded follows. */
  amped_status (*load_synthetic)(amped_backend_context *ctx, const amped_synthetic *tensor,
                                 int mode);
  /* After prepare: random rows of a table of `rows` rows (of the plan's ld and value type; made and
   * freed here) that are gathered in a second; 0 where the table finds no room. */
  amped_status (*gather_rate)(amped_backend_context *ctx, uint64_t rows, double *rows_per_sec);
  /* After prepare: bytes of the device's memory that it reads in order in a second; 0 where it has
   * no room for enough of them. */
  amped_status (*read_rate)(amped_backend_context *ctx, double *bytes_per_sec);

  /* Host memory that transfers fast to this backend's device (pinned; plain for cpu). */
  amped_status (*host_alloc)(amped_backend_context *ctx, uint64_t bytes, void **out);
  void (*host_free)(amped_backend_context *ctx, void *block);
} amped_backend;

extern const amped_backend amped_backend_cpu;
#ifdef AMPED_HAVE_CUDA
extern const amped_backend amped_backend_cuda;
#endif

/* MTTKRP of mode from its beginning to its end. */
amped_status amped_backend_mttkrp(const amped_backend *backend, amped_backend_context *ctx,
                                  int mode, amped_mttkrp_times *times);

/* By name, NULL where this program has no such backend; the i-th, NULL behind the last. */
const amped_backend *amped_backend_find(const char *name);
const amped_backend *amped_backend_list(int i);

#endif
