/* Slice reader: one reading thread with two buffers. */
#include "load/slice_reader.h"

#include <omp.h>
#include <pthread.h>

#include "base/mem.h"
#include "base/timer.h"
#include "base/trace.h"

struct amped_slice_reader {
  amped_dense_source *source;
  const amped_worker *worker;
  int threads; /* OpenMP threads for reading */
  uint64_t slice_cells, slice_bytes;
  void *buffers[2];
  int next; /* buffer of the next begin */
  pthread_t thread;
  bool started;
  /* The current group; belongs to the thread while it reads. */
  const uint64_t *indices;
  uint64_t count;
  amped_status status;
  uint64_t total;
  double seconds;      /* spent reading */
  double began, ended; /* reading the last group */
  double waited;       /* the caller's seconds, while a group was read */
  /* Under the lock. */
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool reading, stop;
};

static const char what[] = "two groups of slices";

static uint64_t slice_cells(const amped_dense_info *info) {
  return info->cells / info->dims[info->layout[0]];
}

static uint64_t slice_bytes(const amped_dense_info *info) {
  return slice_cells(info) * amped_cell_bytes(info->type);
}

uint64_t amped_slice_reader_bytes(const amped_plan *plan, uint64_t slices) {
  return 2 * slices * (plan->nnz / plan->dims[plan->dense.layout[0]]) *
         amped_cell_bytes(plan->dense.type);
}

static void set(amped_slice_reader *r, bool *member, bool value) {
  (void)pthread_mutex_lock(&r->lock);
  *member = value;
  (void)pthread_cond_broadcast(&r->changed);
  (void)pthread_mutex_unlock(&r->lock);
}

/* Waits until a group is to be read. Returns false if the reader is destroyed. */
static bool wait_for_work(amped_slice_reader *r) {
  (void)pthread_mutex_lock(&r->lock);
  while (!r->reading && !r->stop)
    (void)pthread_cond_wait(&r->changed, &r->lock);
  const bool goes_on = r->reading;
  (void)pthread_mutex_unlock(&r->lock);
  return goes_on;
}

/* Reads consecutive slices in one call. */
static amped_status read_run(amped_slice_reader *r, uint64_t first, uint64_t count) {
  const int mode = amped_dense_source_info(r->source)->layout[0];
  return amped_dense_source_read(r->source, mode, r->indices[first], count, 0,
                                 count * r->slice_cells,
                                 (char *)r->buffers[r->next] + first * r->slice_bytes);
}

static void read_group(amped_slice_reader *r) {
  r->began = amped_time();
  amped_trace_begin(AMPED_PHASE_READ, AMPED_NO_NUMBER);
  for (uint64_t i = 0, n = 0; i < r->count && r->status == AMPED_OK; i += n) {
    for (n = 1; i + n < r->count && r->indices[i + n] == r->indices[i] + n; n++)
      continue;
    r->status = read_run(r, i, n);
  }
  amped_trace_end();
  r->ended = amped_time();
  r->seconds += r->ended - r->began;
  r->total += r->count * r->slice_bytes;
}

/* Body of the thread. One thread reads all groups: each new thread would keep memory of its own. */
static void *read_groups(void *argument) {
  amped_slice_reader *r = argument;
  omp_set_num_threads(r->threads);
  amped_trace_in_lane(AMPED_LANE_READER);
  while (wait_for_work(r)) {
    read_group(r);
    set(r, &r->reading, false);
  }
  return NULL;
}

static amped_status take_buffers(amped_slice_reader *r, uint64_t slices) {
  const amped_device_ops *device = r->worker->backend->device;
  uint64_t bytes = 0;
  if (!amped_mul(slices, r->slice_bytes, &bytes))
    return amped_error(AMPED_FAILED, NULL, "%s are too large for any machine; use fewer", what);
  for (int i = 0; i < 2; i++)
    AMPED_TRY(device->host_alloc(r->worker->device, bytes, &r->buffers[i]));
  return AMPED_OK;
}

amped_status amped_slice_reader_create(amped_dense_source *source, const amped_worker *worker,
                                       uint64_t slices, amped_slice_reader **out) {
  const amped_dense_info *info = amped_dense_source_info(source);
  amped_slice_reader *r = NULL;
  amped_status status = AMPED_OK;
  *out = NULL;
  AMPED_TRY(amped_calloc(&r, 1, sizeof *r, what));
  (void)pthread_mutex_init(&r->lock, NULL);
  (void)pthread_cond_init(&r->changed, NULL);
  r->source = source;
  r->worker = worker;
  r->threads = worker->backend->shares_cores ? 1 : omp_get_max_threads();
  r->slice_cells = slice_cells(info);
  r->slice_bytes = slice_bytes(info);
  AMPED_GO(fail, take_buffers(r, slices));
  const int failed = pthread_create(&r->thread, NULL, read_groups, r);
  r->started = failed == 0;
  if (!r->started) {
    status = amped_error_errno(AMPED_FAILED, failed, NULL, "no thread for reading slices");
    goto fail;
  }
  *out = r;
  return AMPED_OK;
fail:
  amped_slice_reader_destroy(r);
  return status;
}

void amped_slice_reader_destroy(amped_slice_reader *r) {
  if (r == NULL)
    return;
  if (r->started) {
    set(r, &r->stop, true);
    (void)pthread_join(r->thread, NULL);
  }
  for (int i = 0; i < 2; i++)
    r->worker->backend->device->host_free(r->worker->device, r->buffers[i]);
  (void)pthread_cond_destroy(&r->changed);
  (void)pthread_mutex_destroy(&r->lock);
  amped_free(r);
}

void amped_slice_reader_begin(amped_slice_reader *r, const uint64_t *indices, uint64_t count) {
  r->indices = indices;
  r->count = count;
  r->status = AMPED_OK;
  set(r, &r->reading, true);
}

amped_status amped_slice_reader_wait(amped_slice_reader *r, const void **cells) {
  const double asked = amped_time();
  (void)pthread_mutex_lock(&r->lock);
  while (r->reading)
    (void)pthread_cond_wait(&r->changed, &r->lock);
  (void)pthread_mutex_unlock(&r->lock);
  if (asked < r->ended)
    r->waited += r->ended - (asked > r->began ? asked : r->began);
  *cells = r->buffers[r->next];
  r->next = 1 - r->next;
  return r->status;
}

uint64_t amped_slice_reader_total(const amped_slice_reader *r, double *seconds, double *waited) {
  *seconds = r->seconds;
  *waited = r->waited;
  return r->total;
}
