/* Load list: redistribution and sorting per mode, and the search for repeats. */
#include "load/load_list.h"

#include <string.h>

#include "load/cut_share.h"
#include "load/list_stats.h"
#include "load/redistribute.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/system_memory.h"
#include "base/trace.h"
#include "tensor/sptensor.h"
#include "base/timer.h"

typedef struct loader {
  const amped_list_load *o;
  amped_redistribute *redistribute;
  uint64_t progress;
  int mode; /* mode of the current copy */
} loader;

amped_status amped_load_list_bytes(const amped_plan *plan, const amped_worker *worker,
                                   const amped_list_source *source, uint64_t *device_bytes,
                                   uint64_t *host_bytes) {
  AMPED_TRY(amped_worker_require_collect(worker, plan, device_bytes, host_bytes));
  *device_bytes += amped_list_source_device_bytes(source);
  *host_bytes += amped_list_source_host_bytes(source) + amped_redistribute_host_bytes(plan);
  return AMPED_OK;
}

static amped_status give_backend(void *context, const amped_nonzeros *received) {
  const loader *l = context;
  return l->o->worker->format->collect(l->o->worker->tensor, l->mode, received);
}

static amped_status load_mode(loader *l, int mode, uint64_t *repeats) {
  l->mode = mode;
  *repeats = 0;
  AMPED_TRY(amped_redistribute_mode(l->redistribute, mode, l->o->info->hash, l->progress,
                                    give_backend, l));
  l->progress += l->o->info->nnz;
  amped_trace_begin(AMPED_PHASE_SORT, mode);
  amped_status status = l->o->worker->format->sort(l->o->worker->tensor, mode, repeats);
  if (status == AMPED_OK)
    status = l->o->worker->format->finish(l->o->worker->tensor, mode);
  amped_trace_end();
  AMPED_TRY(amped_comm_agree(l->o->comm, status));
  amped_comm_sum_u64(l->o->comm, repeats, 1);
  return AMPED_OK;
}

/* --- repeated coordinates -------------------------------------------------------------------- */

/* Nonzeros gathered by one rank in host memory. */
typedef struct gathered {
  const amped_comm *comm;
  const amped_plan *plan;
  const amped_tensor_info *info;
  bool of_splits;    /* keep only nonzeros whose iDp is split in every copy */
  amped_sptensor t;  /* the nonzeros */
  uint64_t capacity; /* capacity of t, in nonzeros */
} gathered;

/* Is the nonzero in a split iDp in every copy? */
static bool is_split(const amped_plan *plan, const uint64_t *index) {
  for (int m = 0; m < plan->order; m++) {
    const amped_mode_plan *mode = &plan->modes[m];
    if (amped_plan_has_copy(plan, m) &&
        amped_plan_split_of(mode, index[m] / mode->rows.width) == mode->copy.split_count)
      return false;
  }
  return true;
}

/* Checks the memory for `capacity` nonzeros. The plan has not counted it, because only loading
 * shows that coordinates repeat. */
static amped_status check_room(const gathered *g, uint64_t capacity) {
  const uint64_t nonzero = 8 * ((uint64_t)g->t.order + 1);
  const uint64_t need = (capacity - g->capacity) * nonzero + capacity * AMPED_SORT_SCRATCH;
  const uint64_t budget = amped_mem_available() / (uint64_t)g->comm->local_size;
  char a[32];
  char b[32];
  if (budget == 0 || need <= budget)
    return AMPED_OK;
  return amped_error(AMPED_FAILED, NULL,
                     "rank %d: coordinates repeat; adding them up needs %s more host memory and %s "
                     "are free; let amped_mpi convert add them up, or use more nodes",
                     g->comm->rank, amped_format_bytes(a, need), amped_format_bytes(b, budget));
}

static amped_status make_room(gathered *g) {
  static const char what[] = "the search for repeated coordinates";
  if (g->t.nnz < g->capacity)
    return AMPED_OK;
  uint64_t capacity = g->capacity > 0 ? g->capacity + g->capacity / 2 : 1024;
  AMPED_TRY(check_room(g, capacity));
  g->capacity = capacity;
  for (int m = 0; m < g->t.order; m++)
    AMPED_TRY(amped_realloc(&g->t.indices[m], g->capacity, sizeof *g->t.indices[m], what));
  return amped_realloc(&g->t.values, g->capacity, sizeof *g->t.values, what);
}

/* Appends the received nonzeros to the rank's list. */
static amped_status gather(void *context, const amped_nonzeros *received) {
  gathered *g = context;
  for (uint64_t k = 0; k < received->count; k++) {
    uint64_t index[AMPED_MAX_ORDER];
    for (int m = 0; m < g->info->order; m++)
      index[m] = amped_index_get(received->indices[m], amped_itype_for(g->info->dims[m]), k);
    if (g->of_splits && !is_split(g->plan, index))
      continue;
    AMPED_TRY(make_room(g));
    for (int m = 0; m < g->info->order; m++)
      g->t.indices[m][g->t.nnz] = index[m];
    g->t.values[g->t.nnz++] = amped_value_get(received->values, g->info->value_type, k);
  }
  return AMPED_OK;
}

/* Counts the nonzeros of a sorted tensor that have their predecessor's coordinate. */
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

/* Collective. *repeats = nonzeros at the coordinate of another one, without the first of each;
 * *norm_squared = the norm with such nonzeros summed. of_splits: among the nonzeros whose iDp is
 * split in every mode. All nonzeros at one coordinate come to one rank, which sorts its nonzeros in
 * host memory. This is slow, but rare. */
static amped_status sum_repeats(loader *l, bool of_splits, uint64_t *repeats,
                                double *norm_squared) {
  const amped_list_load *o = l->o;
  gathered g = {.comm = o->comm, .plan = o->plan, .info = o->info, .of_splits = of_splits};
  amped_kahan squares = {0.0L, 0.0L};
  amped_progress_end();
  amped_progress_begin("looking for repeated coordinates", o->info->nnz, "nonzeros");
  amped_status status = amped_sptensor_create(&g.t, o->info->order, 0);
  memcpy(g.t.dims, o->info->dims, sizeof g.t.dims);
  AMPED_GO(done, amped_comm_agree(o->comm, status));
  AMPED_GO(done, amped_redistribute_coordinates(l->redistribute, gather, &g));
  if (g.t.nnz > 0)
    status = amped_sptensor_sort(&g.t, 0);
  if (status == AMPED_OK) {
    squares = amped_sptensor_squares(&g.t);
    *repeats = count_repeats(&g.t);
  }
  AMPED_GO(done, amped_comm_agree(o->comm, status));
  amped_comm_sum_u64(o->comm, repeats, 1);
  status = amped_list_stats_sum(o->comm, &squares, norm_squared);
done:
  amped_sptensor_free(&g.t);
  return status;
}

/* Collective. `found`: repeats that ranks found while they sorted their copies. A repeat is missed
 * only if two ranks have nonzeros of its coordinate, which happens only in split iDps. A mode
 * without splits misses none, so nothing is searched. Otherwise only nonzeros whose iDp is split in
 * every mode are searched. */
static amped_status check_repeats(loader *l, uint64_t found, double *norm_squared) {
  uint64_t repeats = found;
  const amped_plan *plan = l->o->plan;
  bool all_split = true;
  for (int m = 0; m < plan->order; m++)
    all_split = all_split && (!amped_plan_has_copy(plan, m) || plan->modes[m].copy.split_count > 0);
  if (repeats == 0 && all_split) {
    double ignored = 0.0;
    AMPED_TRY(sum_repeats(l, true, &repeats, &ignored));
  }
  if (l->o->record != NULL)
    *l->o->record = repeats > 0 ? AMPED_DUPLICATES_KEEP : AMPED_DUPLICATES_NONE;
  if (repeats == 0)
    return AMPED_OK;
  AMPED_TRY(sum_repeats(l, false, &repeats, norm_squared));
  /* Row fits, which need whole rows, treat each nonzero as an observation. */
  if (l->o->comm->rank == 0)
    amped_warn("%s: %" PRIu64 " nonzeros repeat a coordinate; %s", amped_input_path(l->o->input),
               repeats,
               plan->whole_rows ? "each is a separate entry" : "their values are added up");
  return AMPED_OK;
}

static amped_status load_modes(loader *l, double *norm_squared) {
  const amped_plan *plan = l->o->plan;
  uint64_t found = 0;
  for (int m = 0; m < plan->order; m++) {
    uint64_t repeats = 0;
    if (!amped_plan_has_copy(plan, m))
      continue;
    amped_trace_begin(AMPED_PHASE_DISTRIBUTE, m);
    amped_status status = load_mode(l, m, &repeats);
    amped_trace_end();
    AMPED_TRY(status);
    found += repeats;
  }
  /* A file's norm, if stated, is already the norm of the sums. */
  return l->o->info->has_hash || l->o->info->is_merged ? AMPED_OK
                                                       : check_repeats(l, found, norm_squared);
}

/* Collective: warn of a value that a double does not hold. */
static void warn_of_cut(const amped_list_load *load) {
  const amped_cut_integers own = amped_input_take_cut(load->input);
  amped_cut_share_warn(load->comm, &own, 0, amped_input_path(load->input));
}

amped_status amped_load_list(const amped_list_load *load, double *norm_squared, double *seconds) {
  double began = amped_time();
  loader l = {.o = load};
  amped_status status = amped_comm_agree(
      load->comm, amped_redistribute_create(load->comm, load->input, load->source, load->plan,
                                            load->worker, &l.redistribute));
  amped_progress_begin("redistributing and ordering",
                       load->info->nnz * (uint64_t)amped_plan_copies(load->plan), "nonzeros");
  if (status == AMPED_OK)
    status = load_modes(&l, norm_squared);
  amped_progress_end();
  if (status == AMPED_OK)
    warn_of_cut(load);
  amped_redistribute_destroy(l.redistribute);
  *seconds = amped_time() - began;
  return status;
}
