/* Slab reader: a reading thread with two slabs, or direct reading of a single slab. */
#include "load/slab_reader.h"

#include <omp.h>
#include <pthread.h>
#include <string.h>

#include "base/mem.h"
#include "base/trace.h"

#define SLABS 2
#define NONE UINT64_MAX

struct amped_slab_reader {
  amped_input *input;
  int mode;
  const bool *wanted;
  const amped_worker *worker;
  amped_slab slabs[SLABS];
  int count;        /* number of slabs in memory: 1 if at most one is wanted, read by the caller */
  uint64_t lone;    /* number of this slab in the file; NONE: already read, or none wanted */
  int threads;      /* OpenMP threads that the reading thread and the caller share */
  pthread_t thread; /* used if there are two slabs */
  bool started;
  /* Under the lock: slabs read, and slabs that the caller has given back. Both only grow. */
  pthread_mutex_t lock;
  pthread_cond_t changed;
  uint64_t filled, freed;
  bool ended; /* no more slabs will be filled; status gives the reason */
  bool stop;
  amped_status status;
  /* Used by the caller only: number of slabs that it took. */
  uint64_t taken;
};

uint64_t amped_slab_nonzero_bytes(const amped_tensor_info *info) {
  uint64_t bytes = info->value_type;
  for (int m = 0; m < info->order; m++)
    bytes += info->index_types[m];
  return bytes;
}

uint64_t amped_slab_reader_bytes(const amped_tensor_info *info) {
  uint64_t count = amped_slab_nnz(info);
  return SLABS * count * amped_slab_nonzero_bytes(info);
}

static uint64_t slabs_of(const amped_tensor_info *info) {
  return amped_ceil_div(info->nnz, AMPED_SLAB_NNZ);
}

/* Waits for a free slab. Returns false if the caller closes the reader. */
static bool wait_free(amped_slab_reader *r) {
  (void)pthread_mutex_lock(&r->lock);
  while (r->filled - r->freed == SLABS && !r->stop)
    (void)pthread_cond_wait(&r->changed, &r->lock);
  bool go = !r->stop;
  (void)pthread_mutex_unlock(&r->lock);
  return go;
}

/* Threads of the reading team and of the caller's team, which work at the same time. If both took
 * all cores, each would wait for cores that the other keeps busy. */
static int reader_threads(int threads) {
  return (threads + 1) / 2;
}

static int caller_threads(int threads) {
  return threads > 1 ? threads / 2 : 1;
}

/* Reads slab n of the file. */
static amped_status read_slab(const amped_slab_reader *r, uint64_t n, amped_slab *slab) {
  const uint64_t nnz = amped_input_info(r->input)->nnz;
  slab->first = n * AMPED_SLAB_NNZ;
  slab->count = nnz - slab->first < AMPED_SLAB_NNZ ? nnz - slab->first : AMPED_SLAB_NNZ;
  amped_trace_begin(AMPED_PHASE_READ, r->mode);
  const amped_status status = amped_input_read_part(r->input, r->mode, slab->first, slab->count,
                                                    slab->indices, slab->values);
  amped_trace_end();
  return status;
}

static bool is_wanted(const amped_slab_reader *r, uint64_t n) {
  return r->wanted == NULL || r->wanted[n];
}

static void *read_slabs(void *argument) {
  amped_slab_reader *r = argument;
  const uint64_t slabs = slabs_of(amped_input_info(r->input));
  amped_status status = AMPED_OK;
  omp_set_num_threads(reader_threads(r->threads));
  amped_trace_in_lane(AMPED_LANE_READER);
  for (uint64_t n = 0; n < slabs && status == AMPED_OK; n++) {
    if (!is_wanted(r, n))
      continue;
    if (!wait_free(r))
      break;
    status = read_slab(r, n, &r->slabs[r->filled % SLABS]);
    if (status == AMPED_OK) {
      (void)pthread_mutex_lock(&r->lock);
      r->filled++;
      (void)pthread_cond_broadcast(&r->changed);
      (void)pthread_mutex_unlock(&r->lock);
    }
  }
  (void)pthread_mutex_lock(&r->lock);
  r->ended = true;
  r->status = status;
  (void)pthread_cond_broadcast(&r->changed);
  (void)pthread_mutex_unlock(&r->lock);
  return NULL;
}

static amped_status alloc_array(const amped_worker *worker, void **array, uint64_t count,
                                uint64_t bytes) {
  if (worker == NULL)
    return amped_alloc(array, count, bytes, "a slab");
  return worker->backend->device->host_alloc(worker->device, count * bytes, array);
}

amped_status amped_slab_create(amped_slab *slab, const amped_tensor_info *info, uint64_t count,
                               const amped_worker *worker) {
  for (int m = 0; m < info->order; m++)
    AMPED_TRY(alloc_array(worker, &slab->indices[m], count, info->index_types[m]));
  return alloc_array(worker, &slab->values, count, info->value_type);
}

static void free_array(const amped_worker *worker, void *array) {
  if (worker == NULL)
    amped_free(array);
  else
    worker->backend->device->host_free(worker->device, array);
}

void amped_slab_free(amped_slab *slab, const amped_worker *worker) {
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    free_array(worker, slab->indices[m]);
  free_array(worker, slab->values);
  memset(slab, 0, sizeof *slab);
}

static amped_status allocate_slabs(amped_slab_reader *r, const amped_tensor_info *info) {
  const uint64_t count = amped_slab_nnz(info);
  for (int s = 0; s < r->count; s++)
    AMPED_TRY(amped_slab_create(&r->slabs[s], info, count, r->worker));
  return AMPED_OK;
}

/* Counts the wanted slabs, up to SLABS. A single slab is read without a thread: a thread and its
 * OpenMP team take longer to start than to read one slab from memory. */
static void count_slabs(amped_slab_reader *r) {
  const uint64_t slabs = slabs_of(amped_input_info(r->input));
  r->lone = NONE;
  for (uint64_t n = 0; n < slabs && r->count < SLABS; n++)
    if (is_wanted(r, n)) {
      r->count++;
      r->lone = n;
    }
}

amped_status amped_slab_reader_open(amped_input *input, int mode, const bool *wanted,
                                    const amped_worker *worker, amped_slab_reader **out) {
  amped_slab_reader *r = NULL;
  amped_status status = AMPED_OK;
  *out = NULL;
  AMPED_TRY(amped_calloc(&r, 1, sizeof *r, "the slab reader"));
  r->input = input;
  r->mode = mode;
  r->wanted = wanted;
  r->worker = worker;
  r->threads = omp_get_max_threads();
  (void)pthread_mutex_init(&r->lock, NULL);
  (void)pthread_cond_init(&r->changed, NULL);
  count_slabs(r);
  AMPED_GO(fail, allocate_slabs(r, amped_input_info(input)));
  if (r->count < SLABS) {
    *out = r;
    return AMPED_OK;
  }
  int failed = pthread_create(&r->thread, NULL, read_slabs, r);
  if (failed != 0) {
    status = amped_error_errno(AMPED_FAILED, failed, NULL, "no thread for reading");
    goto fail;
  }
  r->started = true;
  omp_set_num_threads(caller_threads(r->threads));
  *out = r;
  return AMPED_OK;
fail:
  amped_slab_reader_close(r);
  return status;
}

/* Reads the single slab, the first time. */
static amped_status read_lone(amped_slab_reader *r, const amped_slab **out) {
  const uint64_t n = r->lone;
  if (n == NONE)
    return AMPED_OK;
  r->lone = NONE;
  AMPED_TRY(read_slab(r, n, &r->slabs[0]));
  *out = &r->slabs[0];
  return AMPED_OK;
}

amped_status amped_slab_reader_next(amped_slab_reader *r, const amped_slab **out) {
  amped_status status = AMPED_OK;
  *out = NULL;
  if (r->count < SLABS)
    return read_lone(r, out);
  (void)pthread_mutex_lock(&r->lock);
  r->freed = r->taken;
  (void)pthread_cond_broadcast(&r->changed);
  while (r->filled == r->taken && !r->ended)
    (void)pthread_cond_wait(&r->changed, &r->lock);
  if (r->filled > r->taken)
    *out = &r->slabs[r->taken++ % SLABS];
  else
    status = r->status;
  (void)pthread_mutex_unlock(&r->lock);
  return status;
}

void amped_slab_reader_close(amped_slab_reader *r) {
  if (r == NULL)
    return;
  if (r->started) {
    (void)pthread_mutex_lock(&r->lock);
    r->stop = true;
    (void)pthread_cond_broadcast(&r->changed);
    (void)pthread_mutex_unlock(&r->lock);
    (void)pthread_join(r->thread, NULL);
    omp_set_num_threads(r->threads);
  }
  for (int s = 0; s < SLABS; s++)
    amped_slab_free(&r->slabs[s], r->worker);
  (void)pthread_cond_destroy(&r->changed);
  (void)pthread_mutex_destroy(&r->lock);
  amped_free(r);
}
