/* Backend: the list of backends, the choice of a format, and a worker's life. */
#include "backend/backend.h"

#include <string.h>

#include "base/blas.h"
#include "base/mem.h"

/* Backends in order of preference, for --backend=auto. */
static const amped_backend *const backends[] = {
#ifdef AMPED_HAVE_CUDA
    &amped_backend_cuda,
#endif
    &amped_backend_cpu,
};

const amped_backend *amped_backend_list(int i) {
  return i >= 0 && (size_t)i < sizeof backends / sizeof backends[0] ? backends[i] : NULL;
}

const amped_backend *amped_backend_find(const char *name) {
  for (size_t i = 0; i < sizeof backends / sizeof backends[0]; i++)
    if (strcmp(backends[i]->name, name) == 0)
      return backends[i];
  return NULL;
}

const amped_format_ops *amped_backend_one_copy(const amped_backend *backend) {
  const amped_format_ops *const *f = backend->formats;
  while (*f != NULL && !(*f)->needs.one_copy)
    f++;
  return *f;
}

/* Finds the format called `name`; NULL: the backend's first. */
static amped_status find_format(const amped_backend *backend, const char *name,
                                const amped_format_ops **out) {
  for (const amped_format_ops *const *f = backend->formats; *f != NULL; f++)
    if (name == NULL || strcmp((*f)->name, name) == 0) {
      *out = *f;
      return AMPED_OK;
    }
  return amped_error(AMPED_USAGE, NULL,
                     "--kernel=%s does not run with --backend=%s; leave out one of them", name,
                     backend->name);
}

static amped_status find_one_copy(const amped_backend *backend, const amped_format_ops **out) {
  *out = amped_backend_one_copy(backend);
  if (*out != NULL)
    return AMPED_OK;
  return amped_error(AMPED_USAGE, NULL,
                     "--copies=one does not run with --backend=%s; choose another --backend, or "
                     "leave out --copies",
                     backend->name);
}

amped_status amped_worker_open(amped_worker *worker, const amped_backend *backend,
                               const amped_backend_options *options) {
  memset(worker, 0, sizeof *worker);
  worker->backend = backend;
  worker->tf32 = options->tf32;
  AMPED_TRY(options->copies == AMPED_COPIES_ONE
                ? find_one_copy(backend, &worker->format)
                : find_format(backend, options->format, &worker->format));
  if (options->deterministic && worker->format->any_order)
    return amped_error(AMPED_USAGE, NULL,
                       "--kernel=%s adds in whatever order comes: it cannot be --deterministic; "
                       "leave out one of the two",
                       worker->format->name);
  amped_blas_one_thread();
  return backend->device->open(options, &worker->device);
}

void amped_worker_close(amped_worker *worker) {
  if (worker->tensor != NULL)
    worker->format->destroy(worker->tensor);
  if (worker->factors != NULL)
    worker->backend->factors->destroy(worker->factors);
  if (worker->device != NULL)
    worker->backend->device->close(worker->device);
  worker->tensor = NULL;
  worker->factors = NULL;
  worker->device = NULL;
}

amped_status amped_worker_require(const amped_worker *worker, const amped_plan *plan,
                                  amped_requirement *out) {
  uint64_t device_bytes = 0;
  uint64_t host_bytes = 0;
  memset(out, 0, sizeof *out);
  worker->backend->factors->require(worker->device, plan, &device_bytes, &host_bytes);
  AMPED_TRY(worker->format->require(worker->device, plan, device_bytes + worker->reserved, out));
  out->device_bytes += device_bytes + worker->reserved;
  out->host_bytes += host_bytes;
  return AMPED_OK;
}

amped_status amped_worker_require_collect(const amped_worker *worker, const amped_plan *plan,
                                          uint64_t *device_bytes, uint64_t *host_bytes) {
  uint64_t factors_device = 0;
  uint64_t factors_host = 0;
  if (worker->format->collect == NULL)
    return amped_error(AMPED_USAGE, NULL,
                       "--kernel=%s needs sorted copies; make them with amped_mpi convert",
                       worker->format->name);
  worker->backend->factors->require(worker->device, plan, &factors_device, &factors_host);
  return worker->format->require_collect(worker->device, plan, factors_device + worker->reserved,
                                         device_bytes, host_bytes);
}

amped_status amped_worker_prepare(amped_worker *worker, const amped_plan *plan) {
  uint64_t device_bytes = 0;
  uint64_t host_bytes = 0;
  worker->backend->factors->require(worker->device, plan, &device_bytes, &host_bytes);
  AMPED_TRY(worker->backend->factors->create(worker->device, plan, &worker->factors));
  return worker->format->create(worker->device, worker->factors, plan,
                                device_bytes + worker->reserved, &worker->tensor);
}

amped_status amped_worker_resize(amped_worker *worker) {
  AMPED_TRY(worker->backend->factors->resize(worker->factors));
  return worker->format->resize != NULL ? worker->format->resize(worker->tensor) : AMPED_OK;
}

amped_status amped_worker_products(const amped_worker *worker, int mode, double scale,
                                   const double *weights, int ncomps, amped_products *out) {
  const size_t before = (size_t)worker->columns_before;
  const size_t all = before + (size_t)ncomps + (size_t)worker->columns_after;
  double *of_all = NULL;
  AMPED_TRY(amped_calloc(&of_all, all, sizeof *of_all, "the weights"));
  memcpy(of_all + before, weights, (size_t)ncomps * sizeof *weights);
  const amped_status status = worker->format->products(worker->tensor, mode, scale, of_all, out);
  amped_free(of_all);
  return status;
}

uint64_t amped_worker_spare(const amped_worker *worker) {
  return worker->tensor != NULL && worker->format->spare != NULL
             ? worker->format->spare(worker->tensor)
             : UINT64_MAX;
}
