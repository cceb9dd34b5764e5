/* Factors: filling a factor set and copying it between position order and file order. */
#include "factor/factors.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/random.h"

/* Elements in a buffer of rows. */
#define BUFFER_ELEMENTS (UINT64_C(1) << 20)

static uint64_t buffer_rows(const amped_plan *plan) {
  uint64_t rows = BUFFER_ELEMENTS / (uint64_t)plan->ncomps;
  return rows > 0 ? rows : 1;
}

static amped_status alloc_buffer(const amped_plan *plan, double **out) {
  return amped_alloc(out, buffer_rows(plan) * (uint64_t)plan->ncomps, sizeof **out,
                     "a buffer of rows");
}

/* Traversal of one rank's rows in position order. It returns their file indices, piece by piece. */
typedef struct row_traversal {
  const amped_mode_plan *m;
  int rank;
  bool late;     /* in the iDps that are placed after all others (amped_plan_is_late) */
  uint64_t idp;  /* next iDp */
  uint64_t skip; /* rows of it already visited */
} row_traversal;

/* Advance to the rank's next iDp. Returns false at the end. */
static bool find_idp(row_traversal *w) {
  const amped_row_plan *rows = &w->m->rows;
  for (;;) {
    while (w->idp < rows->idp_count &&
           (rows->owner[w->idp] != w->rank || amped_plan_is_late(w->m, w->idp) != w->late))
      w->idp++;
    if (w->idp < rows->idp_count || w->late)
      return w->idp < rows->idp_count;
    w->late = true;
    w->idp = 0;
  }
}

/* Number of consecutive file rows from `index` to the end of its iDp, at most `most`. */
static uint64_t rows_from(const amped_mode_plan *m, uint64_t index, uint64_t most) {
  const uint64_t end = (index / m->rows.width + 1) * m->rows.width;
  const uint64_t rows = (end < m->rows.dim ? end : m->rows.dim) - index;
  return rows < most ? rows : most;
}

/* Visit the next consecutive file indices. Returns their number, at most `most`, and the first
 * index; 0 at the end. */
static uint64_t next_rows(row_traversal *w, uint64_t most, uint64_t *index) {
  if (!find_idp(w))
    return 0;
  *index = w->idp * w->m->rows.width + w->skip;
  const uint64_t rows = rows_from(w->m, *index, UINT64_MAX);
  if (rows > most) {
    w->skip += most;
    return most;
  }
  w->idp++;
  w->skip = 0;
  return rows;
}

/* Collective: send own rows of all modes to all ranks. `status` is this rank's own; the returned
 * status is agreed. */
static amped_status exchange_all(const amped_context *context, amped_status status) {
  for (int m = 0; m < context->plan->order; m++)
    AMPED_ALSO(status, amped_exchange_rows(context->exchange, m));
  return amped_comm_agree(context->comm, status);
}

amped_status amped_factors_random(const amped_context *context, uint64_t seed) {
  const amped_worker *worker = context->worker;
  amped_status status = AMPED_OK;
  for (int m = 0; m < context->plan->order && status == AMPED_OK; m++)
    status = worker->backend->factors->fill_random(worker->factors, m, seed);
  return exchange_all(context, status);
}

/* Buffer for rows on their way to or from file order. */
typedef struct passage {
  double *rows;    /* in the device's host memory */
  uint64_t *index; /* file indices of the rows */
} passage;

static amped_status passage_open(const amped_context *context, passage *p) {
  const amped_worker *worker = context->worker;
  const uint64_t rows = buffer_rows(context->plan);
  *p = (passage){NULL, NULL};
  AMPED_TRY(amped_alloc(&p->index, rows, sizeof *p->index, "a buffer of rows"));
  return worker->backend->device->host_alloc(
      worker->device, rows * (uint64_t)context->plan->ncomps * sizeof *p->rows, (void **)&p->rows);
}

static void passage_close(const amped_context *context, passage *p) {
  const amped_worker *worker = context->worker;
  amped_free(p->index);
  worker->backend->device->host_free(worker->device, p->rows);
}

/* List the file indices of the traversal's next `count` rows in p->index. */
static void list_rows(row_traversal *traversal, uint64_t count, const passage *p) {
  for (uint64_t done = 0, got = 0, index = 0; done < count; done += got) {
    got = next_rows(traversal, count - done, &index);
    for (uint64_t i = 0; i < got; i++)
      p->index[done + i] = index + i;
  }
}

static amped_status make_block(const amped_context *context, int mode, amped_row_maker *make,
                               const void *self, const passage *p) {
  const amped_plan *plan = context->plan;
  const uint64_t n = (uint64_t)plan->ncomps;
  const uint64_t begin = (uint64_t)plan->rank * plan->modes[mode].rows.block_rows;
  const uint64_t rows = plan->modes[mode].rows.rank_rows[plan->rank];
  row_traversal traversal = {
      .m = &plan->modes[mode], .rank = plan->rank, .late = false, .idp = 0, .skip = 0};
  for (uint64_t first = 0; first < rows; first += buffer_rows(plan)) {
    const uint64_t count = rows - first < buffer_rows(plan) ? rows - first : buffer_rows(plan);
    list_rows(&traversal, count, p);
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < count; i++)
      make(self, mode, p->index[i], p->rows + i * n);
    AMPED_TRY(context->worker->backend->factors->put_rows(context->worker->factors, mode,
                                                          begin + first, count, p->rows));
  }
  return AMPED_OK;
}

amped_status amped_factors_make(const amped_context *context, amped_row_maker *make,
                                const void *self) {
  passage p = {NULL, NULL};
  amped_status status = passage_open(context, &p);
  for (int m = 0; m < context->plan->order && status == AMPED_OK; m++)
    status = make_block(context, m, make, self, &p);
  passage_close(context, &p);
  return exchange_all(context, status);
}

/* A normal start. */
typedef struct normal {
  int ncomps;
  uint64_t seed;
  uint64_t nonnegative;
} normal;

static void make_normal_row(const void *self, int mode, uint64_t index, double *row) {
  const normal *n = self;
  const bool nonnegative = (n->nonnegative >> mode & 1) != 0;
  for (int r = 0; r < n->ncomps; r++) {
    const double x =
        amped_random_normal(n->seed, (uint64_t)mode, index * (uint64_t)n->ncomps + (uint64_t)r);
    row[r] = nonnegative ? fabs(x) : x;
  }
}

amped_status amped_factors_normal(const amped_context *context, uint64_t seed,
                                  uint64_t nonnegative) {
  return amped_factors_make(
      context, make_normal_row,
      &(normal){.ncomps = context->plan->ncomps, .seed = seed, .nonnegative = nonnegative});
}

/* Consecutive rows of a buffer that are consecutive in the factor as well. */
typedef struct row_run {
  uint64_t count;
  uint64_t position; /* position of the first row */
} row_run;

/* Copy a run from the buffer's front to the factor. */
static amped_status put_run(const amped_context *context, int mode, const double *buffer,
                            row_run *run) {
  const amped_worker *worker = context->worker;
  const uint64_t count = run->count;
  run->count = 0;
  return count > 0 ? worker->backend->factors->put_rows(worker->factors, mode, run->position, count,
                                                        buffer)
                   : AMPED_OK;
}

/* Copy this rank's own rows to the factor. The buffer has rows first .. first+count in file order;
 * own rows are moved to its front. */
static amped_status put_own(const amped_context *context, int mode, uint64_t first, uint64_t count,
                            double *buffer) {
  const amped_mode_plan *m = &context->plan->modes[mode];
  const uint64_t n = (uint64_t)context->plan->ncomps;
  row_run run = {0, 0};
  for (uint64_t i = 0, rows = 0; i < count; i += rows) {
    const uint64_t position = amped_plan_position(context->plan, mode, first + i);
    rows = rows_from(m, first + i, count - i);
    if (m->rows.owner[(first + i) / m->rows.width] != context->plan->rank)
      continue;
    if (position != run.position + run.count)
      AMPED_TRY(put_run(context, mode, buffer, &run));
    if (run.count == 0)
      run.position = position;
    memmove(buffer + n * run.count, buffer + n * i, rows * n * sizeof *buffer);
    run.count += rows;
  }
  return put_run(context, mode, buffer, &run);
}

amped_status amped_factors_put(const amped_context *context, const amped_ktensor *start) {
  const amped_plan *plan = context->plan;
  uint64_t n = (uint64_t)plan->ncomps;
  double *buffer = NULL;
  amped_status status = amped_comm_agree(context->comm, alloc_buffer(plan, &buffer));
  for (int m = 0; m < plan->order && status == AMPED_OK; m++) {
    for (uint64_t first = 0; first < plan->dims[m]; first += buffer_rows(plan)) {
      uint64_t left = plan->dims[m] - first;
      uint64_t count = left < buffer_rows(plan) ? left : buffer_rows(plan);
      if (context->comm->rank == 0) {
        memcpy(buffer, start->factors[m] + first * n, count * n * sizeof *buffer);
        for (uint64_t k = 0; m == 0 && k < count * n; k++)
          buffer[k] *= start->weights[k % n];
      }
      amped_comm_broadcast(context->comm, buffer, count * n * sizeof *buffer);
      if (status == AMPED_OK)
        status = put_own(context, m, first, count, buffer);
    }
    status = amped_comm_agree(context->comm, status);
  }
  amped_free(buffer);
  AMPED_TRY(status);
  return exchange_all(context, AMPED_OK);
}

/* Fewer rows are copied by one thread: waking other threads takes longer. */
#define WORTH_THREADS 1024

static void spread(const passage *p, uint64_t count, uint64_t n, double *out) {
#pragma omp parallel for schedule(static) if (count > WORTH_THREADS)
  for (uint64_t i = 0; i < count; i++)
    memcpy(out + p->index[i] * n, p->rows + i * n, n * sizeof *out);
}

/* Copy the rows of one rank's block to file order. This rank has them since the last exchange. */
static amped_status get_block(const amped_context *context, int mode, int rank, passage *p,
                              double *out) {
  const amped_plan *plan = context->plan;
  uint64_t n = (uint64_t)plan->ncomps;
  uint64_t begin = (uint64_t)rank * plan->modes[mode].rows.block_rows;
  uint64_t rows = plan->modes[mode].rows.rank_rows[rank];
  row_traversal traversal = {
      .m = &plan->modes[mode], .rank = rank, .late = false, .idp = 0, .skip = 0};
  for (uint64_t first = 0; first < rows; first += buffer_rows(plan)) {
    uint64_t count = rows - first < buffer_rows(plan) ? rows - first : buffer_rows(plan);
    AMPED_TRY(context->worker->backend->factors->get_rows(context->worker->factors, mode,
                                                          begin + first, count, p->rows));
    list_rows(&traversal, count, p);
    spread(p, count, n, out);
  }
  return AMPED_OK;
}

amped_status amped_factors_get(const amped_context *context, amped_ktensor *out) {
  amped_status status = AMPED_OK;
  passage p = {NULL, NULL};
  if (context->comm->rank == 0) {
    AMPED_GO(agree, passage_open(context, &p));
    for (int m = 0; m < context->plan->order; m++)
      for (int rank = 0; rank < context->plan->nranks; rank++)
        AMPED_GO(agree, get_block(context, m, rank, &p, out->factors[m]));
  }
agree:
  passage_close(context, &p);
  return amped_comm_agree(context->comm, status);
}
