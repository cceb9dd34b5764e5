/* Whole gaps: a bit for each fibre that has an observed, or a learnt, cell. */
#include "solver/complete/whole_gaps.h"

#include <string.h>

#include "base/buffers.h"

#define SLAB (UINT64_C(1) << 16)
/* Words of bits per message. */
#define PART (UINT64_C(1) << 20)

/* Least observed share of all cells. */
#define LEAST_OBSERVED (1.0 / 16.0)
/* Least shares: of missing cells that are in empty fibres; of observed cells in other fibres. */
#define LEAST_WHOLE 0.5
#define LEAST_FULL 0.9

typedef struct gaps {
  const amped_context *context;
  uint64_t words;
  uint64_t *seen;                       /* [words] bit of a fibre: it has an observed cell */
  uint64_t *positions[AMPED_MAX_ORDER]; /* [SLAB] */
  bool *held;                           /* [SLAB] */
  double *weights;                      /* [SLAB] */
} gaps;

static amped_buffers buffers(gaps *g) {
  amped_buffers b = {.what = "the fibres of gaps"};
  AMPED_BUFFER(&b, ZEROED, g->seen, g->words);
  for (int m = 0; m < g->context->plan->order; m++)
    AMPED_BUFFER(&b, HOST, g->positions[m], SLAB);
  AMPED_BUFFER(&b, HOST, g->held, SLAB);
  AMPED_BUFFER(&b, HOST, g->weights, SLAB);
  return b;
}

typedef enum what { MARK_OBSERVED, MARK_LEARNT, COUNT_HELD } what;

/* Handle entry k of the slab, which lies in fibre `at`. */
static void take(gaps *g, what w, uint64_t k, uint64_t at, uint64_t *count) {
  const uint64_t bit = UINT64_C(1) << at % 64;
  const bool learnt = !g->held[k] && g->weights[k] > 0.0;
  if (w == COUNT_HELD)
    *count += g->held[k] && (g->seen[at / 64] & bit) != 0;
  else if (learnt || (w == MARK_OBSERVED && g->held[k]))
    g->seen[at / 64] |= bit;
}

/* Mark the fibres of this rank's entries that are learnt, or that are learnt or held out; or count
 * held-out entries in marked fibres. */
static amped_status pass(gaps *g, const bool *fibres, what w, uint64_t *count) {
  const amped_plan *plan = g->context->plan;
  const amped_worker *worker = g->context->worker;
  const uint64_t nnz = plan->modes[0].copy.rank_nnz[plan->rank];
  for (uint64_t first = 0; first < nnz; first += SLAB) {
    const uint64_t slab = nnz - first < SLAB ? nnz - first : SLAB;
    AMPED_TRY(worker->format->row_fit->view(worker->tensor, first, slab, g->positions, g->held,
                                            g->weights, NULL));
    for (uint64_t k = 0; k < slab; k++) {
      uint64_t at = 0;
      for (int m = 0; m < plan->order; m++)
        if (fibres[m])
          at = at * amped_plan_factor_rows(plan, m) + g->positions[m][k];
      take(g, w, k, at, count);
    }
  }
  return AMPED_OK;
}

/* Collective. Join the marks of all ranks. */
static void join_seen(const gaps *g) {
  const amped_comm *comm = g->context->comm;
  for (uint64_t first = 0; first < g->words; first += PART) {
    const uint64_t left = g->words - first;
    AMPED_MPI(comm, MPI_Allreduce(MPI_IN_PLACE, g->seen + first, (int)(left < PART ? left : PART),
                                  MPI_UINT64_T, MPI_BOR, comm->mpi));
  }
}

static uint64_t count_seen(const gaps *g) {
  uint64_t count = 0;
  for (uint64_t i = 0; i < g->words; i++)
    count += (uint64_t)__builtin_popcountll(g->seen[i]);
  return count;
}

/* Collective; the status is agreed. *count = fibres with an observed cell. */
static amped_status count_fibres(const amped_context *context, const bool *fibres, uint64_t most,
                                 uint64_t *count) {
  gaps g = {.context = context, .words = most / 64 + 1};
  amped_status status = amped_buffers_allocate(buffers(&g));
  if (status == AMPED_OK)
    status = pass(&g, fibres, MARK_OBSERVED, NULL);
  status = amped_comm_agree(context->comm, status);
  if (status == AMPED_OK) {
    join_seen(&g);
    *count = count_seen(&g);
  }
  amped_buffers_free(buffers(&g));
  return status;
}

/* Number of fibres, or of places for them; AMPED_MOST_FIBRES + 1: more than that. */
static uint64_t number_of(const amped_plan *plan, const bool *fibres) {
  uint64_t number = 1;
  for (int m = 0; m < plan->order; m++)
    if (fibres[m] && (!amped_mul(number, amped_plan_factor_rows(plan, m), &number) ||
                      number > AMPED_MOST_FIBRES))
      return AMPED_MOST_FIBRES + 1;
  return number;
}

/* Collective; the status is agreed. rows[m] = indices of mode m that have an observed cell. */
static amped_status count_rows(const amped_context *context, double rows[AMPED_MAX_ORDER]) {
  const amped_plan *plan = context->plan;
  for (int m = 0; m < plan->order; m++) {
    bool alone[AMPED_MAX_ORDER] = {false};
    uint64_t count = 0;
    alone[m] = true;
    AMPED_TRY(count_fibres(context, alone, amped_plan_factor_rows(plan, m), &count));
    rows[m] = (double)count;
  }
  return AMPED_OK;
}

/* Collective; the status is agreed. Are these fibres full or empty? */
static amped_status are_whole(const amped_context *context, const bool *fibres, const double *rows,
                              double observed, double cells, bool *out) {
  const amped_plan *plan = context->plan;
  const uint64_t most = number_of(plan, fibres);
  double length = 1.0;
  uint64_t count = 0;
  *out = false;
  for (int m = 0; m < plan->order; m++)
    length *= fibres[m] ? 1.0 : rows[m];
  if (most > AMPED_MOST_FIBRES || length == 1.0)
    return AMPED_OK;
  AMPED_TRY(count_fibres(context, fibres, most, &count));
  const double inside = (double)count * length;
  *out = observed >= LEAST_FULL * inside && cells - inside >= LEAST_WHOLE * (cells - observed);
  return AMPED_OK;
}

amped_status amped_whole_gaps_find(const amped_context *context, const amped_complete_problem *p,
                                   bool fibres[AMPED_MAX_ORDER]) {
  const amped_plan *plan = context->plan;
  const double observed = (double)(p->learnt + p->held);
  double rows[AMPED_MAX_ORDER];
  double cells = 1.0;
  int count = plan->order;
  memset(fibres, 0, AMPED_MAX_ORDER * sizeof *fibres);
  for (int m = 0; m < plan->order; m++)
    cells *= (double)plan->dims[m];
  if (observed <= LEAST_OBSERVED * cells || observed >= cells)
    return AMPED_OK;
  AMPED_TRY(count_rows(context, rows));
  cells = 1.0;
  for (int m = 0; m < plan->order; m++)
    cells *= rows[m];
  if (observed >= cells)
    return AMPED_OK;
  for (int m = 0; m < plan->order; m++)
    fibres[m] = true;
  for (int m = 0; m < plan->order && count > 2; m++) {
    bool whole = false;
    fibres[m] = false;
    AMPED_TRY(are_whole(context, fibres, rows, observed, cells, &whole));
    fibres[m] = !whole;
    count -= whole;
  }
  if (count == plan->order)
    memset(fibres, 0, AMPED_MAX_ORDER * sizeof *fibres);
  return AMPED_OK;
}

amped_status amped_whole_gaps_repeated(const amped_context *context, bool fibres[AMPED_MAX_ORDER],
                                       uint64_t *count) {
  const uint64_t most = number_of(context->plan, fibres);
  gaps g = {.context = context, .words = most / 64 + 1};
  *count = 0;
  if (most > AMPED_MOST_FIBRES) {
    memset(fibres, 0, AMPED_MAX_ORDER * sizeof *fibres);
    return AMPED_OK;
  }
  amped_status status = amped_buffers_allocate(buffers(&g));
  if (status == AMPED_OK)
    status = pass(&g, fibres, MARK_LEARNT, NULL);
  status = amped_comm_agree(context->comm, status);
  if (status == AMPED_OK) {
    join_seen(&g);
    status = amped_comm_agree(context->comm, pass(&g, fibres, COUNT_HELD, count));
    amped_comm_sum_u64(context->comm, count, 1);
  }
  amped_buffers_free(buffers(&g));
  return status;
}
