/* A sweep's seconds from the device's ceilings. */
#include "session/expected_time.h"

#include <math.h>

#include "plan/dense_passes.h"
#include "plan/format_choice.h"
#include "session/ceilings.h"

/* Times that a row of a factor is read or written between two MTTKRPs: by its MTTKRP, solve,
 * weights, Gram matrix and exchange. */
#define ROW_PASSES 6.0

/* Collective. Seconds that transfers of `bytes` bytes of each rank take. */
static double transfer_sec(const amped_session *session, double bytes) {
  return amped_comm_spread(&session->comm, bytes / amped_choice_rates_gpu.stream_rate).max;
}

/* Seconds of the work on this rank's part of all factor rows, of the widest group. */
static double rows_sec(const amped_session *session, double read_rate) {
  const amped_plan *plan = &session->plan;
  double rows = 0.0;
  for (int m = 0; m < plan->order; m++)
    rows += (double)plan->dims[m] / plan->nranks;
  return read_rate > 0.0 ? rows * ROW_PASSES * (double)amped_plan_row_bytes(plan) / read_rate : 0.0;
}

/* Collective; the status is agreed. A sweep of the widest group over a sparse tensor: `passes`
 * times the gathers, or the transfers of what is streamed if they take longer, and the work on
 * rows. */
static amped_status of_nonzeros(const amped_session *session, double passes, double *sec) {
  const amped_plan *plan = &session->plan;
  amped_ceilings ceilings;
  double sum = 0.0;
  *sec = 0.0;
  AMPED_TRY(amped_ceilings_measure(session, &ceilings));
  for (int m = 0; m < plan->order; m++) {
    const double gathers = amped_ceilings_mttkrp(session, &ceilings, m);
    if (gathers == 0.0)
      return AMPED_OK;
    sum += fmax(gathers, transfer_sec(session, (double)session->required.streamed_bytes[m]));
  }
  *sec = passes * sum + rows_sec(session, ceilings.read_rate);
  return AMPED_OK;
}

/* Collective; the status is agreed. The same for a dense tensor: its passes. */
static amped_status of_cells(const amped_session *session, double passes, double *sec) {
  double read_rate = 0.0;
  double multiply_rate = 0.0;
  *sec = 0.0;
  AMPED_TRY(amped_ceilings_read(session, &read_rate));
  AMPED_TRY(amped_ceilings_multiply(session, &multiply_rate));
  const amped_sweep_ceiling c = amped_ceilings_sweep(session, read_rate, multiply_rate);
  const double streamed = amped_dense_passes(&session->plan.dense, session->plan.order) *
                          (double)session->required.streamed_bytes[0];
  if (c.bytes_sec > 0.0 && c.multiply_sec > 0.0)
    *sec = passes * fmax(transfer_sec(session, streamed), fmax(c.bytes_sec, c.multiply_sec));
  return AMPED_OK;
}

amped_status amped_expected_time(const amped_session *session, double passes, double *sec) {
  const amped_groups *groups = &session->groups;
  AMPED_TRY(session->is_dense ? of_cells(session, passes, sec) : of_nonzeros(session, passes, sec));
  *sec *= groups->models > 0 ? groups->widest : 1.0;
  return AMPED_OK;
}
