#include "load/load_list.h"

#include <string.h>

#include "load/list_stats.h"
#include "load/redistribute.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/system_memory.h"
#include "tensor/sptensor.h"
#include "base/timer.h"

typedef struct job {
  const amped_comm *comm;
  amped_input *source;
  const amped_tensor_info *info;
  const amped_plan *plan;
  const amped_worker *worker;
  amped_redistribute *redistribute;
  void *narrowed; /* values of the plan's type, where the file's is another */
  /* of the copy in hand */
  int mode;
  uint64_t hash;
  uint64_t progress;
} job;

amped_status amped_load_list_bytes(const amped_tensor_info *info, const amped_plan *plan,
                                   const amped_worker *worker, bool reads, bool parallel,
                                   uint64_t *device_bytes, uint64_t *host_bytes) {
  AMPED_TRY(amped_worker_require_collect(worker, plan, device_bytes, host_bytes));
  *host_bytes += amped_redistribute_host_bytes(info, plan, reads, parallel);
  if (info->value_type != plan->value_type)
    *host_bytes += amped_redistribute_capacity_of(info, plan->nranks, parallel) * plan->value_type;
  return AMPED_OK;
}

static uint64_t hash_of(const job *j, const amped_nonzeros *nonzeros) {
  const amped_tensor_info *info = j->info;
  uint64_t hash = 0;
#pragma omp parallel for schedule(static) reduction(+ : hash)
  for (uint64_t k = 0; k < nonzeros->count; k++) {
    uint64_t index[AMPED_MAX_ORDER];
    for (int m = 0; m < info->order; m++)
      index[m] = amped_index_get(nonzeros->indices[m], amped_itype_for(info->dims[m]), k);
    hash += amped_nonzero_hash(info->order, index,
                               amped_value_get(nonzeros->values, info->value_type, k));
  }
  return hash;
}

/* To the backend, in the plan's type of values. */
static amped_status give_backend(void *context, const amped_nonzeros *received) {
  job *j = context;
  amped_nonzeros nonzeros = *received;
  j->hash += hash_of(j, received);
  if (j->narrowed != NULL) {
#pragma omp parallel for schedule(static)
    for (uint64_t k = 0; k < received->count; k++)
      amped_value_put(j->narrowed, j->plan->value_type, k,
                      amped_value_get(received->values, j->info->value_type, k));
    nonzeros.values = j->narrowed;
  }
  return j->worker->format->collect(j->worker->tensor, j->mode, &nonzeros);
}

static amped_status collect_mode(job *j, int mode, uint64_t *repeats) {
  j->mode = mode;
  j->hash = 0;
  *repeats = 0;
  AMPED_TRY(amped_redistribute_mode(j->redistribute, mode, j->progress, give_backend, j));
  j->progress += j->info->nnz;
  amped_comm_sum_u64(j->comm, &j->hash, 1);
  amped_status status = AMPED_OK;
  if (j->hash != j->info->hash)
    status = amped_error(AMPED_BAD_INPUT, amped_input_path(j->source),
                         "changed while it was read; run again when it is complete");
  if (status == AMPED_OK)
    status = j->worker->format->sort(j->worker->tensor, mode, repeats);
  if (status == AMPED_OK)
    status = j->worker->format->finish(j->worker->tensor, mode);
  AMPED_TRY(amped_comm_agree(j->comm, status));
  amped_comm_sum_u64(j->comm, repeats, 1);
  return AMPED_OK;
}

/* --- repeated coordinates -------------------------------------------------------------------- */

/* Nonzeros in memory. */
typedef struct list {
  const amped_comm *comm;
  const amped_plan *plan;
  const amped_tensor_info *info;
  bool of_splits; /* only those whose iDp is split in every mode */
  amped_sptensor t;
  uint64_t capacity;
} list;

static bool is_split(const amped_plan *plan, const uint64_t *index) {
  for (int m = 0; m < plan->order; m++) {
    const amped_mode_plan *mode = &plan->modes[m];
    if (amped_plan_split_of(mode, index[m] / mode->width) == mode->split_count)
      return false;
  }
  return true;
}

/* The plan does not count this memory: that coordinates repeat is found on the way. */
static amped_status check_room(const list *l, uint64_t capacity) {
  const uint64_t nonzero = 8 * ((uint64_t)l->t.order + 1);
  const uint64_t need = (capacity - l->capacity) * nonzero + capacity * AMPED_SORT_SCRATCH;
  const uint64_t budget = amped_mem_available() / (uint64_t)l->comm->local_size;
  char a[32];
  char b[32];
  if (budget == 0 || need <= budget)
    return AMPED_OK;
  return amped_error(
      AMPED_FAILED, NULL,
      "rank %d: coordinates repeat; to add them up takes %s more of host memory and %s "
      "are free; let amped_mpi convert add them up, or use more nodes",
      l->comm->rank, amped_format_bytes(a, need), amped_format_bytes(b, budget));
}

static amped_status make_room(list *l) {
  static const char what[] = "the search for repeated coordinates";
  if (l->t.nnz < l->capacity)
    return AMPED_OK;
  uint64_t capacity = l->capacity > 0 ? l->capacity + l->capacity / 2 : 1024;
  AMPED_TRY(check_room(l, capacity));
  l->capacity = capacity;
  for (int m = 0; m < l->t.order; m++)
    AMPED_TRY(amped_realloc(&l->t.indices[m], l->capacity, sizeof *l->t.indices[m], what));
  return amped_realloc(&l->t.values, l->capacity, sizeof *l->t.values, what);
}

static amped_status give_list(void *context, const amped_nonzeros *received) {
  list *l = context;
  for (uint64_t k = 0; k < received->count; k++) {
    uint64_t index[AMPED_MAX_ORDER];
    for (int m = 0; m < l->info->order; m++)
      index[m] = amped_index_get(received->indices[m], amped_itype_for(l->info->dims[m]), k);
    if (l->of_splits && !is_split(l->plan, index))
      continue;
    AMPED_TRY(make_room(l));
    for (int m = 0; m < l->info->order; m++)
      l->t.indices[m][l->t.nnz] = index[m];
    l->t.values[l->t.nnz++] = amped_value_get(received->values, l->info->value_type, k);
  }
  return AMPED_OK;
}

/* Of a sorted list. */
static uint64_t count_repeats(const amped_sptensor *t) {
  uint64_t repeats = 0;
  for (uint64_t k = 1; k < t->nnz; k++) {
    bool same = true;
    for (int m = 0; m < t->order && same; m++)
      same = t->indices[m][k] == t->indices[m][k - 1];
    repeats += same;
  }
  return repeats;
}

/* Collective: repeats among all nonzeros, or among those that are of split iDps in every mode, and
 * the norm of these. All nonzeros at one coordinate come to one rank, which sorts its own in host
 * memory: slow, but rare. */
static amped_status sum_repeats(job *j, bool of_splits, uint64_t *repeats, double *norm_squared) {
  list l = {.comm = j->comm, .plan = j->plan, .info = j->info, .of_splits = of_splits};
  amped_kahan squares = {0.0L, 0.0L};
  amped_progress_end();
  amped_progress_begin("looking for repeated coordinates", j->info->nnz, "nonzeros");
  amped_status status = amped_sptensor_create(&l.t, j->info->order, 0);
  memcpy(l.t.dims, j->info->dims, sizeof l.t.dims);
  AMPED_GO(done, amped_comm_agree(j->comm, status));
  AMPED_GO(done, amped_redistribute_coordinates(j->redistribute, give_list, &l));
  if (l.t.nnz > 0)
    status = amped_sptensor_sort(&l.t, 0);
  if (status == AMPED_OK) {
    squares = amped_sptensor_squares(&l.t);
    *repeats = count_repeats(&l.t);
  }
  AMPED_GO(done, amped_comm_agree(j->comm, status));
  amped_comm_sum_u64(j->comm, repeats, 1);
  status = amped_list_stats_sum(j->comm, &squares, norm_squared);
done:
  amped_sptensor_free(&l.t);
  return status;
}

/* Collective. What one rank finds in one mode misses coordinates whose nonzeros the split of an iDp
 * gave to two ranks; in a mode without splits, and in the modes together for nonzeros that are in
 * an iDp with one owner in any of them, nothing is missed. */
static amped_status check_repeats(job *j, uint64_t repeats, double *norm_squared) {
  bool split = true;
  for (int m = 0; m < j->plan->order; m++)
    split = split && j->plan->modes[m].split_count > 0;
  if (repeats == 0 && split) {
    double ignored = 0.0;
    AMPED_TRY(sum_repeats(j, true, &repeats, &ignored));
  }
  if (repeats == 0)
    return AMPED_OK;
  AMPED_TRY(sum_repeats(j, false, &repeats, norm_squared));
  if (j->comm->rank == 0)
    amped_warn("%s: %" PRIu64 " nonzeros repeat a coordinate; they count with their sum",
               amped_input_path(j->source), repeats);
  return AMPED_OK;
}

static amped_status allocate(job *j, bool parallel) {
  AMPED_TRY(amped_redistribute_create(j->comm, j->source, parallel, j->plan, j->worker,
                                      &j->redistribute));
  if (j->info->value_type == j->plan->value_type)
    return AMPED_OK;
  return j->worker->backend->device->host_alloc(
      j->worker->device,
      amped_redistribute_capacity_of(j->info, j->plan->nranks, parallel) * j->plan->value_type,
      &j->narrowed);
}

static amped_status collect_all(job *j, double *norm_squared) {
  uint64_t all = 0;
  for (int m = 0; m < j->plan->order; m++) {
    uint64_t repeats = 0;
    AMPED_TRY(collect_mode(j, m, &repeats));
    all += repeats;
  }
  /* A file that says its norm has said it of the sums. */
  return j->info->has_hash ? AMPED_OK : check_repeats(j, all, norm_squared);
}

amped_status amped_load_list(const amped_comm *comm, amped_input *source, bool parallel,
                             const amped_tensor_info *info, const amped_plan *plan,
                             const amped_worker *worker, double *norm_squared, double *seconds) {
  double began = amped_time();
  job j = {.comm = comm, .source = source, .info = info, .plan = plan, .worker = worker};
  amped_status status = amped_comm_agree(comm, allocate(&j, parallel));
  amped_progress_begin("dealing and ordering", info->nnz * (uint64_t)plan->order, "nonzeros");
  if (status == AMPED_OK)
    status = collect_all(&j, norm_squared);
  amped_progress_end();
  worker->backend->device->host_free(worker->device, j.narrowed);
  amped_redistribute_destroy(j.redistribute);
  *seconds = amped_time() - began;
  return status;
}
