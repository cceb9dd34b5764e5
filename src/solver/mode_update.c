/* Mode update: MTTKRP as work, and the steps of an update, part by part. */
#include "solver/mode_update.h"

#include "base/timer.h"
#include "base/trace.h"

/* Return the seconds since *at, and set *at to now. */
static double lap(double *at) {
  double began = *at;
  *at = amped_time();
  return *at - began;
}

static amped_status begin_mttkrp(void *self, int mode) {
  const amped_context *context = self;
  return context->worker->format->mttkrp_begin(context->worker->tensor, mode);
}

static amped_status wait_mttkrp(void *self, int mode, int part, amped_mttkrp_times *times) {
  const amped_context *context = self;
  return context->worker->format->mttkrp_wait(context->worker->tensor, mode, part, times);
}

static amped_status reduce_output(void *self, int mode) {
  const amped_context *context = self;
  return amped_exchange_reduce(context->exchange, mode);
}

amped_mode_work amped_mttkrp_work(const amped_context *context) {
  return (amped_mode_work){.begin = begin_mttkrp,
                           .wait = wait_mttkrp,
                           .reduce = reduce_output,
                           .self = (amped_context *)context};
}

amped_status amped_mode_mttkrp(const amped_context *context, int mode, amped_mttkrp_times *times) {
  const amped_mode_work work = amped_mttkrp_work(context);
  amped_status status = work.begin(work.self, mode);
  if (status == AMPED_OK)
    status = work.wait(work.self, mode, AMPED_MAX_PARTS, times);
  AMPED_ALSO(status, work.reduce(work.self, mode));
  return amped_comm_agree(context->comm, status);
}

/* Wait until the work's rows of a part are complete. Work that was begun is waited for even after a
 * failure, because nothing may run when memory is freed. */
static amped_status wait_for_part(const amped_context *context, const amped_mode_work *work,
                                  int mode, int part, bool *begun, amped_mode_times *times,
                                  double *at) {
  amped_status status = AMPED_OK;
  amped_mttkrp_times t = {0.0, 0.0};
  if (part > 0) /* the first part's trace began with MTTKRP */
    amped_trace_begin(AMPED_PHASE_MTTKRP, mode);
  if (*begun)
    status = work->wait(work->self, mode, part, &t);
  *begun = *begun && status == AMPED_OK;
  amped_trace_end();
  times->mttkrp += lap(at);
  if (part + 1 < context->plan->modes[mode].rows.parts)
    return status;
  times->copy += t.copy_sec;
  times->compute += t.compute_sec;
  AMPED_ALSO(status, work->reduce(work->self, mode));
  times->exchange += lap(at);
  return status;
}

static amped_status exchange_part(const amped_context *context, int mode, int part,
                                  amped_mode_times *times, double *at) {
  const uint64_t *rows = &context->plan->modes[mode].rows.part_rows[part];
  const amped_status status = amped_exchange_part(context->exchange, mode, rows[0], rows[1]);
  times->exchange += lap(at);
  return status;
}

amped_status amped_mode_update(const amped_context *context, int mode, amped_status status,
                               const amped_row_update *update, amped_mode_times *times) {
  const amped_mode_plan *m = &context->plan->modes[mode];
  double at = amped_time();
  amped_trace_begin(AMPED_PHASE_MTTKRP, mode);
  AMPED_NEXT(status, update->work.begin(update->work.self, mode));
  bool begun = status == AMPED_OK;
  times->mttkrp += lap(&at);
  if (update->begin != NULL)
    AMPED_NEXT(status, update->begin(update->self, mode));
  times->solve += lap(&at);
  for (int part = 0; part < m->rows.parts; part++) {
    AMPED_ALSO(status, wait_for_part(context, &update->work, mode, part, &begun, times, &at));
    if (update->rows != NULL)
      AMPED_NEXT(status, update->rows(update->self, mode, m->rows.part_rows[part],
                                      m->rows.part_rows[part + 1]));
    times->solve += lap(&at);
    if (m->rows.parts > 1)
      AMPED_ALSO(status, exchange_part(context, mode, part, times, &at));
  }
  if (update->finish != NULL) {
    status = update->finish(update->self, mode, m->rows.parts > 1, status);
    AMPED_TRY(status);
  }
  times->solve += lap(&at);
  if (m->rows.parts == 1)
    AMPED_ALSO(status, exchange_part(context, mode, 0, times, &at));
  return status;
}
