#include "solver/mode_update.h"

#include "base/timer.h"
#include "base/trace.h"

/* Seconds since *at, which moves on to now. */
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

static void reduce_output(void *self, int mode) {
  const amped_context *context = self;
  amped_exchange_reduce(context->exchange, mode);
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
  AMPED_TRY(amped_comm_agree(context->comm, status));
  work.reduce(work.self, mode);
  return AMPED_OK;
}

/* Until the work's rows of a part are finished, and whole. */
static amped_status wait_for_part(const amped_context *context, const amped_mode_work *work,
                                  int mode, int part, amped_mode_times *times, double *at) {
  amped_mttkrp_times t = {0.0, 0.0};
  if (part > 0) /* the trace of the first part has lasted since MTTKRP was begun */
    amped_trace_begin(AMPED_PHASE_MTTKRP, mode);
  AMPED_TRY(work->wait(work->self, mode, part, &t));
  amped_trace_end();
  times->mttkrp += lap(at);
  if (part + 1 < context->plan->modes[mode].rows.parts)
    return AMPED_OK;
  times->copy += t.copy_sec;
  times->compute += t.compute_sec;
  work->reduce(work->self, mode);
  times->exchange += lap(at);
  return AMPED_OK;
}

static void exchange_part(const amped_context *context, int mode, int part, amped_mode_times *times,
                          double *at) {
  const uint64_t *rows = &context->plan->modes[mode].rows.part_rows[part];
  amped_exchange_part(context->exchange, mode, rows[0], rows[1]);
  times->exchange += lap(at);
}

amped_status amped_mode_update(const amped_context *context, int mode,
                               const amped_row_update *update, amped_mode_times *times) {
  const amped_mode_plan *m = &context->plan->modes[mode];
  double at = amped_time();
  amped_trace_begin(AMPED_PHASE_MTTKRP, mode);
  AMPED_TRY(update->work.begin(update->work.self, mode));
  times->mttkrp += lap(&at);
  if (update->begin != NULL)
    AMPED_TRY(update->begin(update->self, mode));
  times->solve += lap(&at);
  for (int part = 0; part < m->rows.parts; part++) {
    AMPED_TRY(wait_for_part(context, &update->work, mode, part, times, &at));
    if (update->rows != NULL)
      AMPED_TRY(
          update->rows(update->self, mode, m->rows.part_rows[part], m->rows.part_rows[part + 1]));
    times->solve += lap(&at);
    if (m->rows.parts > 1)
      exchange_part(context, mode, part, times, &at);
  }
  if (update->finish != NULL)
    AMPED_TRY(update->finish(update->self, mode, m->rows.parts > 1));
  times->solve += lap(&at);
  if (m->rows.parts == 1)
    exchange_part(context, mode, 0, times, &at);
  return AMPED_OK;
}
