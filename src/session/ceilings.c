/* Measures the devices' peak rates. All ranks measure at the same time; the slowest rank's rate
 * counts. */
#include "session/ceilings.h"

#include <inttypes.h>

#include "base/log.h"
#include "base/trace.h"
#include "plan/dense_passes.h"

static double gather_rate(const amped_ceilings *c, uint64_t rows) {
  for (int i = 0; i < c->count; i++)
    if (c->gather[i].rows == rows)
      return c->gather[i].rows_per_sec;
  return 0.0;
}

static amped_status measure_gather(const amped_session *session, uint64_t rows, double *rate) {
  const amped_worker *worker = &session->worker;
  AMPED_MPI(&session->comm, MPI_Barrier(session->comm.mpi));
  amped_status status = worker->backend->device->gather_rate(
      worker->device, &session->plan, amped_worker_spare(worker), rows, rate);
  AMPED_TRY(amped_comm_agree(&session->comm, status));
  *rate = amped_comm_spread(&session->comm, *rate).min;
  if (*rate == 0.0)
    amped_warn("no memory is left for a table of %" PRIu64
               " rows: the gather ceiling of some modes is not known",
               rows);
  return AMPED_OK;
}

static amped_status measure_gathers(const amped_session *session, amped_ceilings *c) {
  c->count = 0;
  for (int m = 0; m < session->plan.order; m++) {
    amped_gather_ceiling *next = &c->gather[c->count];
    int i = 0;
    while (i < c->count && c->gather[i].rows != session->plan.dims[m])
      i++;
    if (i < c->count)
      continue;
    next->rows = session->plan.dims[m];
    AMPED_TRY(measure_gather(session, next->rows, &next->rows_per_sec));
    c->count++;
  }
  return AMPED_OK;
}

amped_status amped_ceilings_read(const amped_session *session, double *per_sec) {
  const amped_worker *worker = &session->worker;
  amped_trace_begin(AMPED_PHASE_CEILING, AMPED_NO_NUMBER);
  AMPED_MPI(&session->comm, MPI_Barrier(session->comm.mpi));
  amped_status status =
      worker->backend->device->read_rate(worker->device, amped_worker_spare(worker), per_sec);
  status = amped_comm_agree(&session->comm, status);
  if (status == AMPED_OK)
    *per_sec = amped_comm_spread(&session->comm, *per_sec).min;
  amped_trace_end();
  return status;
}

amped_status amped_ceilings_multiply(const amped_session *session, double *per_sec) {
  const amped_worker *worker = &session->worker;
  amped_trace_begin(AMPED_PHASE_CEILING, AMPED_NO_NUMBER);
  AMPED_MPI(&session->comm, MPI_Barrier(session->comm.mpi));
  amped_status status = worker->backend->device->multiply_rate(
      worker->device, session->plan.value_type, amped_worker_spare(worker), per_sec);
  status = amped_comm_agree(&session->comm, status);
  if (status == AMPED_OK)
    *per_sec = amped_comm_spread(&session->comm, *per_sec).min;
  amped_trace_end();
  return status;
}

amped_status amped_ceilings_measure(const amped_session *session, amped_ceilings *out) {
  amped_trace_begin(AMPED_PHASE_CEILING, AMPED_NO_NUMBER);
  amped_status status = measure_gathers(session, out);
  amped_trace_end();
  AMPED_TRY(status);
  return amped_ceilings_read(session, &out->read_rate);
}

/* Seconds of this rank's gathers for mode's MTTKRP; 0 if a rate is not known. */
static double own_seconds(const amped_plan *plan, const amped_ceilings *c, int mode) {
  double seconds = 0.0;
  for (int m = 0; m < plan->order; m++) {
    const double rate = gather_rate(c, plan->dims[m]);
    if (m != mode && rate == 0.0)
      return 0.0;
    if (m != mode)
      seconds += (double)plan->modes[mode].copy.rank_nnz[plan->rank] / rate;
  }
  return seconds;
}

double amped_ceilings_mttkrp(const amped_session *session, const amped_ceilings *ceilings,
                             int mode) {
  return amped_comm_spread(&session->comm, own_seconds(&session->plan, ceilings, mode)).max;
}

amped_sweep_ceiling amped_ceilings_sweep(const amped_session *session, double read_rate,
                                         double multiply_rate) {
  const amped_plan *plan = &session->plan;
  const amped_dense_plan *dense = &plan->dense;
  const double bytes = amped_dense_sweep_bytes(dense, plan->order, plan->ncomps,
                                               (uint64_t)plan->value_type, dense->tree);
  const double products =
      amped_dense_passes(dense, plan->order) * (double)dense->cells * plan->ncomps;
  return (amped_sweep_ceiling){
      .bytes = bytes,
      .bytes_sec = amped_comm_spread(&session->comm, read_rate > 0.0 ? bytes / read_rate : 0.0).max,
      .multiply_sec =
          amped_comm_spread(&session->comm, multiply_rate > 0.0 ? products / multiply_rate : 0.0)
              .max};
}
