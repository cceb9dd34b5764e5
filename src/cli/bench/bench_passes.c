/* Times the passes of bench, and takes medians. */
#include "cli/bench/bench_passes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sort.h"
#include "base/timer.h"
#include "base/trace.h"
#include "solver/mode_update.h"
#include "tensor/format.h"

/* --- passes ---------------------------------------------------------------------------------- */

/* Collective; the status is agreed after each step, outside the measured time. */
static amped_status run_pass(const amped_comm *comm, const amped_bench_work *work,
                             amped_bench_sample *samples) {
  if (work->begin != NULL)
    AMPED_TRY(amped_comm_agree(comm, work->begin(work->self)));
  amped_trace_begin(AMPED_PHASE_PASS, AMPED_NO_NUMBER);
  for (int i = 0; i < work->steps; i++) {
    amped_trace_begin(AMPED_PHASE_WAIT, i);
    AMPED_MPI(comm, MPI_Barrier(comm->mpi));
    amped_trace_end();
    const double began = amped_time();
    const amped_status status = work->step(work->self, i, &samples[i]);
    samples[i].wall = amped_time() - began;
    AMPED_TRY(amped_comm_agree(comm, status));
  }
  amped_trace_end();
  return AMPED_OK;
}

amped_status amped_bench_passes_run(const amped_session *session, int passes,
                                    const amped_bench_work *work, amped_bench_passes *out) {
  const uint64_t count = (uint64_t)passes;
  const uint64_t steps = (uint64_t)work->steps;
  amped_status status = AMPED_OK;
  *out = (amped_bench_passes){.comm = &session->comm, .passes = passes, .steps = work->steps};
  AMPED_GO(agree, amped_calloc(&out->samples, count * steps, sizeof *out->samples, "the timings"));
  AMPED_GO(agree, amped_calloc(&out->scratch, count, sizeof *out->scratch, "the timings"));
agree:
  AMPED_TRY(amped_comm_agree(out->comm, status));
  AMPED_TRY(run_pass(out->comm, work, out->samples)); /* warms up; overwritten */
  for (uint64_t i = 0; i < count; i++)
    AMPED_TRY(run_pass(out->comm, work, out->samples + i * steps));
  return AMPED_OK;
}

void amped_bench_passes_free(amped_bench_passes *p) {
  amped_free(p->scratch);
  amped_free(p->samples);
  memset(p, 0, sizeof *p);
}

/* Update a mode without computing new rows. */
static amped_status step_mttkrp(void *self, int mode, amped_bench_sample *out) {
  amped_session *session = self;
  const amped_context context = amped_session_context(session);
  const amped_row_update nothing = {.work = amped_mttkrp_work(&context)};
  amped_mode_times t = {0.0, 0.0, 0.0, 0.0, 0.0};
  const amped_status status = amped_mode_update(&context, mode, AMPED_OK, &nothing, &t);
  *out = (amped_bench_sample){.copy = t.copy, .compute = t.compute, .exchange = t.exchange};
  return status;
}

amped_bench_work amped_bench_mttkrp(amped_session *session) {
  return (amped_bench_work){.steps = session->plan.order, .step = step_mttkrp, .self = session};
}

/* --- their medians --------------------------------------------------------------------------- */

double amped_bench_median_of(double *numbers, int count) {
  qsort(numbers, (size_t)count, sizeof *numbers, amped_compare_doubles);
  return count % 2 == 1 ? numbers[count / 2] : 0.5 * (numbers[count / 2 - 1] + numbers[count / 2]);
}

double amped_bench_median(const amped_bench_passes *p, int step, size_t member) {
  for (int i = 0; i < p->passes; i++) {
    const amped_bench_sample *s = &p->samples[i * p->steps + step];
    p->scratch[i] = *(const double *)((const char *)s + member);
  }
  return amped_bench_median_of(p->scratch, p->passes);
}

amped_spread amped_bench_spread(const amped_bench_passes *p, int step, size_t member) {
  return amped_comm_spread(p->comm, amped_bench_median(p, step, member));
}

double amped_bench_per(double a, double b) {
  return b > 0.0 ? a / b : 0.0;
}

json_t *amped_bench_json_spread(amped_spread s) {
  amped_facts f;
  amped_facts_begin(&f, NULL);
  amped_fact_json(&f, "min", amped_json_number(1e3 * s.min));
  amped_fact_json(&f, "mean", amped_json_number(1e3 * s.mean));
  amped_fact_json(&f, "max", amped_json_number(1e3 * s.max));
  amped_fact_json(&f, "max_rank", json_integer(s.max_rank));
  return f.json;
}

json_t *amped_bench_json_known(bool known, double x) {
  return known ? amped_json_number(x) : json_null();
}

void amped_bench_cell(amped_facts *row, const char *key, double x, double unit, int width,
                      int digits) {
  amped_fact_json(row, key, amped_json_number(x));
  if (isfinite(x))
    amped_fact_words(row, "  %*.*f", width, digits, unit * x);
  else
    amped_fact_words(row, "  %*s", width, "-");
}
