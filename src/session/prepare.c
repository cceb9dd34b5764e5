/* From the started session to the loaded tensor: backend, tables, plan, choice of copies, checks of
 * memory. */
#include "session/prepare.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/blas.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/system_memory.h"
#include "base/timer.h"
#include "base/trace.h"
#include "factor/link_rate.h"
#include "load/value_sample.h"
#include "plan/format_choice.h"
#include "plan/overlap.h"
#include "session/expected_time.h"
#include "session/loader.h"
#include "session/report.h"

/* A bound above the memory of any node. The sum over all ranks of a node still fits in 64 bits. */
#define MOST_HOST_BYTES (UINT64_C(1) << 50)

/* A typical term above the smallest normal number by this factor leaves digits to terms that are
 * thousands of times smaller. */
#define TERM_ROOM 0x1p10

/* Check that a typical term of MTTKRP is not too small for the precision. The term is a value of
 * typical size times entries of unit columns, 1/sqrt(dim) each, in all modes except the shortest.
 * Float is refused, because double is at hand; squares too small for double are a warning. centres:
 * values are scaled in memory, so that only their errors may be too small: these are refused,
 * because they choose the model. */
static amped_status check_underflow(const amped_session *session, bool centres) {
  const amped_tensor_info *info = amped_session_info(session);
  const amped_session_options *o = session->options;
  double size = sqrt(info->norm_squared) / sqrt((double)info->nnz);
  double term = size;
  uint64_t shortest = UINT64_MAX;
  for (int m = 0; m < info->order; m++) {
    term /= sqrt((double)info->dims[m]);
    shortest = info->dims[m] < shortest ? info->dims[m] : shortest;
  }
  term *= sqrt((double)shortest);
  if (!centres && o->precision == AMPED_F32 && term < TERM_ROOM * (double)FLT_MIN)
    return amped_error(AMPED_BAD_INPUT, o->input,
                       "values of about %.0e are so small that sums lose some or all digits in "
                       "float; scale them, or use --precision=double",
                       size);
  if (centres && info->norm_squared < DBL_MIN / DBL_EPSILON)
    return amped_error(AMPED_BAD_INPUT, o->input,
                       "values of about %.0e are so small that squares of errors lose some or all "
                       "digits in double; scale them",
                       size);
  if ((!centres && term < DBL_MIN) || info->norm_squared < DBL_MIN / DBL_EPSILON)
    amped_warn("%s: values of about %.0e are so small that sums lose some or all digits in double; "
               "scale them",
               o->input, size);
  return AMPED_OK;
}

/* Refuse a tensor whose norm is zero or not finite. A dense tensor's norm is known only after its
 * cells are read. */
static amped_status check_tensor(const amped_session *session) {
  const amped_session_options *o = session->options;
  const amped_tensor_info *info = amped_session_info(session);
  if (session->is_dense && !info->has_hash)
    return AMPED_OK;
  if (!(info->norm_squared > 0.0) || !isfinite(info->norm_squared))
    return amped_error(
        AMPED_BAD_INPUT, o->input,
        "its norm is %s: there is nothing to learn from; check the values, or scale them",
        info->norm_squared == 0.0 ? "zero" : "not finite");
  return AMPED_OK;
}

/* Options that make factors smaller, as the end of a remedy. */
static const char *narrower(const amped_plan *plan) {
  return plan->value_type == AMPED_F64 ? ", fewer components or --precision=float"
                                       : " or fewer components";
}

/* Bytes that count against the limits of this process, including memory mapped by threads and
 * BLAS. */
static uint64_t mapped_bytes(const amped_session *session, uint64_t host_bytes) {
  const int threads = session->worker.backend->shares_cores
                          ? amped_session_threads(&session->comm, session->options->backend.threads)
                          : 1;
  return host_bytes + amped_blas_bytes(threads);
}

/* Compare the need, without what is allocated already, with the limits of this process. */
static amped_status check_limit(const amped_session *session, const amped_memory_need *n) {
  const amped_session_options *o = session->options;
  uint64_t left = amped_mem_limit_left();
  uint64_t need = mapped_bytes(session, n->host_bytes - n->held_bytes);
  char a[32];
  char b[32];
  if (need <= left)
    return AMPED_OK;
  return amped_error(AMPED_FAILED, o->input,
                     "rank %d: needs %s of host memory and the limit of the process leaves %s; "
                     "raise it (ulimit -v, ulimit -d), or use more ranks, fewer --threads%s",
                     session->comm.rank, amped_format_bytes(a, need), amped_format_bytes(b, left),
                     narrower(&session->plan));
}

static uint64_t streamed_bytes(const amped_session *session) {
  uint64_t streamed = 0;
  for (int m = 0; m < session->plan.order; m++)
    streamed += session->required.streamed_bytes[m];
  return streamed;
}

static amped_status check_resident(const amped_session *session, const amped_demand *demand) {
  char bytes[32];
  const uint64_t streamed = streamed_bytes(session);
  if (demand->resident == NULL || streamed == 0)
    return AMPED_OK;
  return amped_error(
      AMPED_FAILED, session->options->input,
      "%s visits entries in random order and needs all of them on the GPU, but %s would be "
      "streamed; use more GPUs or fewer components, and no --residency=stream",
      demand->resident, amped_format_bytes(bytes, streamed));
}

/* Warn if --tiles=SIZE has no effect: only copies that stay on the GPU get tiles. */
static void warn_of_tiles(const amped_session *session) {
  const amped_session_options *o = session->options;
  const uint64_t streamed = streamed_bytes(session);
  if (o->backend.tile_bytes != 0 && o->backend.tile_bytes != UINT64_MAX && streamed > 0)
    amped_warn("--tiles is ignored, because part of the tensor is streamed; use more GPUs or leave "
               "out --tiles");
}

static uint64_t smaller(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

/* Rows of the tensor part. `device` and `host`: its bytes, of which copies are a part. */
static void add_tensor_rows(const amped_session *session, uint64_t device, uint64_t host,
                            amped_memory_rows *rows) {
  const amped_requirement *r = &session->required;
  amped_memory_row *copies = amped_memory_row_add(rows, session->is_dense ? "cells" : "copies");
  amped_memory_row *making = amped_memory_row_add(rows, "workspace while copies are made");
  amped_memory_row *rest = amped_memory_row_add(rows, "workspace of MTTKRP");
  for (int m = 0; m < session->plan.order; m++) {
    const uint64_t resident = r->copy_bytes[m] - smaller(r->copy_bytes[m], r->streamed_bytes[m]);
    const uint64_t kept = smaller(resident, device - copies->device_bytes);
    copies->device_bytes += kept;
    copies->host_bytes += smaller(r->copy_bytes[m] - kept, host - copies->host_bytes);
  }
  making->host_bytes = smaller(r->passing_bytes, host - copies->host_bytes);
  rest->device_bytes = device - copies->device_bytes;
  rest->host_bytes = host - copies->host_bytes - making->host_bytes;
}

/* Collective, as the loader's `need` is. Add the row of what the loader takes. */
static amped_status add_loader_row(amped_session *session, amped_memory_rows *rows) {
  const amped_memory_row before = amped_memory_rows_sum(rows);
  amped_memory_row *row = amped_memory_row_add(rows, "loading");
  row->device_bytes = before.device_bytes; /* the loader compares the sum with the device */
  const amped_status status =
      amped_loader_of(session)->need(session, &row->device_bytes, &row->host_bytes);
  row->device_bytes -= before.device_bytes;
  return status;
}

/* Bytes that the input holds on this rank, if it is a list in memory. */
static void add_input_row(const amped_session *session, amped_memory_rows *rows) {
  amped_memory_row *row = amped_memory_row_add(rows, "input in memory");
  row->host_bytes = row->held_bytes =
      session->input != NULL ? amped_input_list_bytes(session->input) : 0;
}

/* Collective on a node: sum the need of its ranks, in bytes. */
static uint64_t sum_node(const amped_session *session, uint64_t host_bytes) {
  return amped_comm_node_sum(&session->comm,
                             host_bytes < MOST_HOST_BYTES ? host_bytes : MOST_HOST_BYTES);
}

/* Free bytes and those that are allocated already; free 0: unknown. */
static uint64_t with_held(uint64_t free_bytes, uint64_t held) {
  return free_bytes > 0 ? free_bytes + held : 0;
}

/* Collective; the status is this rank's own. Find the bytes that this rank needs and may use, and
 * fill session->required. AMPED_FAILED if the device's memory is too small; *need is set even
 * then. */
static amped_status find_need(amped_session *session, const amped_demand *demand,
                              amped_memory_need *need) {
  const amped_plan *plan = &session->plan;
  amped_worker *worker = &session->worker;
  amped_memory_rows *rows = &need->rows;
  rows->count = 0;
  if (demand->solver_rows != NULL)
    demand->solver_rows(plan, demand->context, rows);
  worker->reserved = amped_memory_rows_sum(rows).device_bytes;
  amped_status status = amped_worker_require(worker, plan, &session->required);
  amped_memory_row *factors = amped_memory_row_add(rows, "factors and MTTKRP result");
  uint64_t others = 0; /* device bytes in session->required that are not the tensor part's */
  if (status == AMPED_OK) {
    worker->backend->factors->require(worker->device, plan, &factors->device_bytes,
                                      &factors->host_bytes);
    others = worker->reserved + factors->device_bytes;
    warn_of_tiles(session);
    status = check_resident(session, demand);
  }
  add_tensor_rows(session, session->required.device_bytes - others,
                  session->required.host_bytes - factors->host_bytes, rows);
  add_input_row(session, rows);
  const amped_status loading = add_loader_row(session, rows);
  if (status == AMPED_OK)
    status = loading;
  amped_memory_row_add(rows, "exchange")->host_bytes +=
      amped_exchange_host_bytes(&session->comm, worker, plan);
  amped_memory_row *result = amped_memory_row_add(rows, "result and checkpoint");
  for (int m = 0; m < plan->order && session->comm.rank == 0; m++)
    result->host_bytes += plan->dims[m] * (uint64_t)plan->ncomps * demand->result_bytes;
  need->device_bytes = amped_memory_rows_sum(rows).device_bytes;
  need->host_bytes = amped_memory_rows_sum(rows).host_bytes;
  need->held_bytes = amped_memory_rows_sum(rows).held_bytes;
  need->device_budget = worker->backend->device->memory(worker->device);
  need->node_ranks = amped_comm_node_sum(&session->comm, 1);
  need->node_bytes = sum_node(session, need->host_bytes);
  need->node_held = sum_node(session, need->held_bytes);
  need->node_budget = with_held(
      need->node_ranks > 1 ? amped_mem_node_available() : amped_mem_available(), need->node_held);
  return status;
}

/* Compare the need of a node's ranks with its free memory. The status is this
 * rank's own; `status` of an earlier step is passed on. */
static amped_status check_node(const amped_session *session, const amped_memory_need *need,
                               amped_status status) {
  char a[32];
  char b[32];
  const uint64_t node_bytes = need->node_bytes;
  const uint64_t node_budget = with_held(amped_mem_node_available(), need->node_held);
  if (status != AMPED_OK || node_budget == 0 || node_bytes <= node_budget)
    return status;
  return amped_error(AMPED_FAILED, session->options->input,
                     "rank %d: the ranks of this node need %s of host memory and %s are free; "
                     "use more nodes%s",
                     session->comm.rank, amped_format_bytes(a, node_bytes),
                     amped_format_bytes(b, node_budget), narrower(&session->plan));
}

/* Warn about a mode with more indices than nonzeros: some of its rows are not needed. */
static void advise_compacting(const amped_session *session) {
  const amped_tensor_info *info = amped_session_info(session);
  for (int m = 0; m < info->order; m++)
    if (info->dims[m] > info->nnz) {
      amped_warn("%s: mode %d has %" PRIu64 " indices and the tensor %" PRIu64
                 " nonzeros; amped_mpi convert --compact leaves out indices without any",
                 session->options->input, m + 1, info->dims[m], info->nnz);
      return;
    }
}

/* Memory that is too small refuses no plan, which may be for another machine: keep the line. */
static amped_status note_lacking(amped_status status, amped_memory_need *need) {
  if (status != AMPED_FAILED)
    return status;
  (void)snprintf(need->lacking, sizeof need->lacking, "%s",
                 amped_status_bare(amped_status_message()));
  amped_status_clear();
  return AMPED_OK;
}

/* Collective; the status is agreed. Compare the need of the plan with the memory of every rank, its
 * process and its node. */
static amped_status check_memory(amped_session *session, const amped_demand *demand,
                                 amped_memory_need *need) {
  amped_status status = find_need(session, demand, need);
  if (status == AMPED_OK)
    status = check_limit(session, need);
  status = check_node(session, need, status);
  if (session->options->plan_only)
    status = note_lacking(status, need);
  status = amped_comm_agree(&session->comm, status);
  if ((status != AMPED_OK || need->lacking[0] != '\0') && session->input != NULL)
    advise_compacting(session);
  return status;
}

/* Collective: has every rank enough memory? */
static bool has_memory(const amped_session *session, const amped_memory_need *need) {
  return amped_comm_spread(&session->comm, need->lacking[0] != '\0' ? 1.0 : 0.0).max == 0.0;
}

/* Collective: read or count the tables that the plan is made from. */
static amped_status find_tables(amped_session *session, const amped_demand *demand) {
  const double began = amped_time();
  AMPED_TRY(amped_loader_of(session)->tables(session));
  AMPED_TRY(amped_comm_agree(&session->comm, check_tensor(session)));
  if (session->input != NULL)
    AMPED_TRY(amped_comm_agree(&session->comm, check_underflow(session, demand->centres)));
  session->tables_sec = amped_time() - began;
  return AMPED_OK;
}

/* Collective: make the plan from the tables and the command's demand. */
static amped_status make_plan(amped_session *session, const amped_demand *demand) {
  const amped_session_options *o = session->options;
  const double began = amped_time();
  amped_copy_needs needs = session->worker.format->needs;
  needs.whole_rows = needs.whole_rows || demand->whole_rows;
  const int columns = session->groups.models > 0 ? session->groups.columns : o->ncomps;
  const amped_plan_request request = {.ncomps = columns + (o->biased ? 1 : 0),
                                      .value_type = o->precision,
                                      .placement = o->plan.placement,
                                      .rank = session->comm.rank,
                                      .nranks = session->comm.nranks,
                                      .needs = needs,
                                      .outside = session->outside};
  amped_rates rates;
  session->worker.backend->device->rates(session->worker.device, &rates);
  amped_status status = amped_plan_create(&session->plan, amped_session_info(session), &request);
  if (status == AMPED_OK && !session->is_dense &&
      (session->worker.backend->concurrent || o->plan.parts > 1))
    status = amped_plan_cut(&session->plan, o->plan.parts, &rates);
  session->plan_sec = amped_time() - began;
  return amped_comm_agree(&session->comm, status);
}

/* Collective; the status is agreed. Give the plan the map of centred values. */
static amped_status map_values(amped_session *session, const amped_demand *demand) {
  double learnt[AMPED_VALUE_SAMPLE];
  uint64_t count = 0;
  amped_value_map map;
  if (session->input == NULL)
    return AMPED_OK;
  if (demand->sample != NULL && !session->options->plan_only)
    AMPED_TRY(demand->sample(session, learnt, &count, demand->sample_context));
  if (count > 0) {
    if (session->comm.rank == 0)
      map = amped_value_sample_map_of(learnt, count);
    amped_comm_broadcast(&session->comm, &map, sizeof map);
    return amped_comm_agree(&session->comm, amped_plan_map_values(&session->plan, map));
  }
  AMPED_TRY(amped_value_sample_map(&session->comm, session->input,
                                   amped_session_info(session)->norm_squared, &map));
  return amped_comm_agree(&session->comm, amped_plan_map_values(&session->plan, map));
}

/* Collective; the status is agreed. Decide whether a dense tensor's cells stay in their file. If
 * they do, make another plan. */
static amped_status leave_outside(amped_session *session, const amped_demand *demand) {
  amped_requirement required;
  if (!session->is_dense || demand->left_outside == NULL || session->options->cells.made)
    return AMPED_OK;
  memset(&required, 0, sizeof required);
  AMPED_TRY(amped_comm_agree(&session->comm,
                             amped_worker_require(&session->worker, &session->plan, &required)));
  session->outside = demand->left_outside(session, &required, demand->context);
  if (!session->outside)
    return AMPED_OK;
  if (!session->read_parallel)
    return amped_error(AMPED_USAGE, session->options->input,
                       "does not fit in memory, and every rank reads slices of it: leave out "
                       "--read=root");
  amped_plan_destroy(&session->plan);
  return make_plan(session, demand);
}

/* Cost of the current plan. `lacking`: number of ranks without enough memory, of their own or on
 * their node. streamed: bytes per sweep, of all ranks; rank_streamed: of the rank with most. sec:
 * seconds per sweep of the slowest rank. */
typedef struct plan_cost {
  uint64_t lacking, streamed;
  double rank_streamed, sec;
} plan_cost;

/* Collective: the largest value of all ranks. */
static double largest(const amped_session *session, double value) {
  return amped_comm_spread(&session->comm, value).max;
}

/* Collective; the status is agreed. Find the cost of the current plan. */
static amped_status find_cost(amped_session *session, const amped_demand *demand, plan_cost *cost) {
  amped_memory_need need = {.rows = {.count = 0}};
  amped_status status = find_need(session, demand, &need);
  const uint64_t budget = with_held(amped_mem_node_available(), need.node_held);
  cost->lacking = status == AMPED_FAILED || (budget > 0 && need.node_bytes > budget) ||
                  mapped_bytes(session, need.host_bytes - need.held_bytes) > amped_mem_limit_left();
  cost->streamed = status == AMPED_OK ? streamed_bytes(session) : 0;
  const double sec = amped_choice_seconds(&session->plan, session->required.streamed_bytes,
                                          &amped_choice_rates_gpu);
  if (status == AMPED_FAILED) {
    amped_status_clear(); /* another plan may fit */
    status = AMPED_OK;
  }
  AMPED_TRY(amped_comm_agree(&session->comm, status));
  amped_comm_sum_u64(&session->comm, &cost->lacking, 1);
  cost->rank_streamed = largest(session, (double)cost->streamed);
  amped_comm_sum_u64(&session->comm, &cost->streamed, 1);
  cost->sec = largest(session, sec);
  return AMPED_OK;
}

/* Collective: make a new plan with one copy for all modes, or with a copy for each. Does nothing if
 * the plan is that one already. */
static amped_status change_copies(amped_session *session, const amped_demand *demand, bool one) {
  const amped_backend *backend = session->worker.backend;
  if ((session->plan.boxed >= 0) == one)
    return AMPED_OK;
  session->worker.format = one ? amped_backend_one_copy(backend) : backend->formats[0];
  amped_plan_destroy(&session->plan);
  return make_plan(session, demand);
}

/* Can one copy replace the copies for each mode? */
static bool takes_one_copy(const amped_session *session, const amped_demand *demand) {
  const amped_backend *backend = session->worker.backend;
  const amped_backend_options *o = &session->options->backend;
  const amped_plan *plan = &session->plan;
  int bits = 0;
  for (int m = 0; m < plan->order && !session->is_dense; m++)
    bits += amped_bits_for(amped_plan_factor_rows(plan, m));
  return o->copies == AMPED_COPIES_AUTO && demand->takes_one_copy &&
         session->worker.format == backend->formats[0] && o->tile_bytes == 0 &&
         bits <= AMPED_LINEAR_BITS && amped_backend_one_copy(backend) != NULL &&
         (backend->one_copy_is_exact || !o->deterministic || plan->value_type == AMPED_F32);
}

/* Collective: the most bytes of a rank's copies in the current plan. */
static double copy_bytes(const amped_session *session) {
  const amped_plan *plan = &session->plan;
  double bytes = 0.0;
  for (int m = 0; m < plan->order; m++) {
    const uint64_t packed = plan->sorted ? amped_plan_copy_bytes(plan, m) : 0;
    const uint64_t known = session->required.copy_bytes[m]; /* 0 if it was not laid out */
    bytes += (double)(known > packed ? known : packed);
  }
  return largest(session, bytes);
}

/* Add copies to the choice, unless they do not fit. The fastest come first; if equally fast, the
 * copies of fewer bytes. */
static void enter(amped_copies_choice *choice, bool one, const plan_cost *cost, double bytes) {
  const amped_kept_copies c = {
      .one = one, .bytes = bytes, .streamed_bytes = cost->rank_streamed, .sec = cost->sec};
  const amped_kept_copies *first = &choice->best[0];
  if (cost->lacking > 0)
    return;
  const bool before =
      choice->count > 0 && (c.sec < first->sec || (c.sec <= first->sec && c.bytes < first->bytes));
  if (before)
    choice->best[1] = *first;
  choice->best[before ? 0 : choice->count] = c;
  choice->count++;
}

/* Collective; the status is agreed. Choose between a copy for each mode and one for all modes
 * (plan/format_choice.h). Does nothing if the user chose, or if copies for all modes fit. On
 * devices, which can stream copies, the faster choice by prediction is taken. */
static amped_status choose_copies(amped_session *session, const amped_demand *demand) {
  amped_copies_choice *choice = &session->choice;
  plan_cost all;
  plan_cost one;
  if (!takes_one_copy(session, demand))
    return AMPED_OK;
  AMPED_TRY(find_cost(session, demand, &all));
  if (all.lacking == 0 && all.streamed == 0)
    return AMPED_OK;
  const double all_bytes = copy_bytes(session);
  AMPED_TRY(change_copies(session, demand, true));
  AMPED_TRY(find_cost(session, demand, &one));
  enter(choice, true, &one, copy_bytes(session));
  enter(choice, false, &all, all_bytes);
  choice->all_streamed = all.lacking == 0 ? all.streamed : 0;
  choice->all_sec = all.lacking == 0 ? all.sec : 0.0;
  choice->sec = choice->count > 0 ? choice->best[0].sec : 0.0;
  return change_copies(session, demand, choice->count == 0 || choice->best[0].one);
}

/* Are all modes tiled that `tiles` counts tiles of? */
static bool keeps_tiles(const amped_session *session, const uint64_t *tiles) {
  bool keeps = true;
  for (int m = 0; m < session->plan.order; m++)
    keeps = keeps && (tiles[m] < 2 || session->required.tiles[m] > 1);
  return largest(session, keeps ? 0.0 : 1.0) == 0.0;
}

/* Collective; the status is agreed. Group models side by side, and make the plan for the widest
 * group. Without the user's number the tensor stays where the narrowest plan has it: on the device,
 * and in tiles. */
static amped_status group_models(amped_session *session, const amped_demand *demand) {
  amped_groups *groups = &session->groups;
  const bool is_auto = demand->side_by_side == 0;
  const int most = is_auto ? AMPED_MAX_NCOMPS : demand->side_by_side;
  const int least = groups->columns;
  const amped_width_costs *costs = &session->worker.backend->width_costs;
  uint64_t tiles[AMPED_MAX_ORDER];
  plan_cost alone;
  plan_cost wide;
  bool fits = false;
  if (groups->models > 1)
    amped_groups_choose(groups, 1, AMPED_MAX_NCOMPS, false, session->plan.value_type, costs);
  if (groups->models < 2 || most == 1)
    return AMPED_OK;
  AMPED_TRY(find_cost(session, demand, &alone));
  memcpy(tiles, session->required.tiles, sizeof tiles);
  for (int columns = AMPED_MAX_NCOMPS; !fits; columns = groups->columns * 3 / 4) {
    amped_groups_choose(groups, most, columns > least ? columns : least, !is_auto,
                        session->plan.value_type, costs);
    amped_plan_destroy(&session->plan);
    AMPED_TRY(make_plan(session, demand));
    if (!is_auto)
      return AMPED_OK;
    AMPED_TRY(find_cost(session, demand, &wide));
    fits = wide.lacking == 0 && wide.streamed <= 2 * alone.streamed && keeps_tiles(session, tiles);
    if (groups->columns == least)
      break;
  }
  if (!fits)
    amped_groups_choose(groups, 1, AMPED_MAX_NCOMPS, false, session->plan.value_type, costs);
  return AMPED_OK;
}

/* Collective: prepare the worker and the exchange for the plan, and load the tensor. */
static amped_status fill(amped_session *session) {
  amped_trace_begin(AMPED_PHASE_PREPARE, AMPED_NO_NUMBER);
  amped_status status = amped_worker_prepare(&session->worker, &session->plan);
  AMPED_TRY(amped_comm_agree(&session->comm, status));
  AMPED_TRY(
      amped_exchange_create(&session->comm, &session->worker, &session->plan, &session->exchange));
  AMPED_TRY(amped_report_exchange(session));
  amped_trace_end();
  AMPED_TRY(amped_loader_of(session)->load(session));
  AMPED_TRY(amped_comm_agree(&session->comm, check_tensor(session))); /* the norm is known now */
  return amped_comm_agree(&session->comm,
                          session->is_dense ? check_underflow(session, false) : AMPED_OK);
}

amped_status amped_session_refuse_cells(const amped_session *session, const char *part) {
  if (!session->is_dense)
    return AMPED_OK;
  return amped_error(AMPED_USAGE, session->options->input,
                     "is a dense tensor, which %s%s%s does not take; make a list of the cells that "
                     "are not missing, with amped_mpi convert --sparse --nan=missing",
                     session->options->command, part != NULL ? " " : "", part != NULL ? part : "");
}

amped_status amped_session_prepare(amped_session *session, const amped_demand *demand) {
  amped_memory_need need = {.rows = {.count = 0}};
  amped_trace_begin(AMPED_PHASE_START, AMPED_NO_NUMBER);
  if (!demand->takes_cells)
    AMPED_TRY(amped_session_refuse_cells(session, demand->part));
  AMPED_TRY(amped_session_open_backend(session));
  AMPED_TRY(amped_report_start(session));
  session->opened_at = amped_time();
  session->watches_negative = demand->watches_negative;
  amped_trace_end();
  amped_trace_begin(AMPED_PHASE_PLAN, AMPED_NO_NUMBER);
  AMPED_TRY(find_tables(session, demand));
  if (demand->has_models)
    AMPED_TRY(amped_comm_agree(&session->comm,
                               amped_groups_create(session->options->ncomps_list,
                                                   session->options->ncomps_count,
                                                   session->options->starts, &session->groups)));
  AMPED_TRY(make_plan(session, demand));
  AMPED_TRY(leave_outside(session, demand));
  AMPED_TRY(choose_copies(session, demand));
  AMPED_TRY(group_models(session, demand));
  if (demand->centres)
    AMPED_TRY(map_values(session, demand));
  if (demand->check != NULL)
    AMPED_TRY(amped_comm_agree(&session->comm,
                               demand->check(&session->worker, &session->plan, demand->context)));
  AMPED_TRY(check_memory(session, demand, &need));
  if (session->options->plan_only && demand->sweep_passes > 0.0 && has_memory(session, &need))
    AMPED_TRY(amped_expected_time(session, demand->sweep_passes, &session->expected.sweep_sec));
  session->expected.sweeps = demand->sweeps;
  AMPED_TRY(amped_report_plan(session, &need));
  amped_trace_end();
  return session->options->plan_only ? AMPED_OK : fill(session);
}
