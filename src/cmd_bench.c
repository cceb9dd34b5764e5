#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>

#include "commands.h"
#include "log.h"
#include "mem.h"
#include "report.h"
#include "run.h"
#include "timer.h"

/* Seconds of one mode in one pass on this rank. */
typedef struct sample {
  double copy, compute, exchange, wall;
} sample;

static int by_size(const void *left, const void *right) {
  double a = *(const double *)left;
  double b = *(const double *)right;
  return a < b ? -1 : a > b;
}

/* The median over passes of one field of mode's samples. */
static double median(const sample *samples, int order, int mode, int passes, size_t field,
                     double *scratch) {
  for (int i = 0; i < passes; i++) {
    const sample *s = &samples[i * order + mode];
    scratch[i] = *(const double *)((const char *)s + field);
  }
  qsort(scratch, (size_t)passes, sizeof *scratch, by_size);
  return passes % 2 == 1 ? scratch[passes / 2]
                         : 0.5 * (scratch[passes / 2 - 1] + scratch[passes / 2]);
}

/* One pass over all modes; ranks start each mode together. */
static amped_status pass(amped_run_state *run, sample *samples) {
  for (int m = 0; m < run->plan.order; m++) {
    amped_mttkrp_times t = {0.0, 0.0};
    AMPED_MPI(&run->comm, MPI_Barrier(run->comm.mpi));
    double began = amped_time();
    amped_status status = run->backend->mttkrp(run->ctx, m, &t);
    if (status != AMPED_OK)
      amped_comm_abort(&run->comm, status);
    double computed = amped_time();
    amped_exchange_rows(run->exchange, m);
    double end = amped_time();
    samples[m] = (sample){t.copy_sec, t.compute_sec, end - computed, end - began};
  }
  return AMPED_OK;
}

static json_t *json_spread(amped_spread s) {
  return json_pack("{s:f, s:f, s:f, s:i}", "min", 1e3 * s.min, "mean", 1e3 * s.mean, "max",
                   1e3 * s.max, "max_rank", s.max_rank);
}

/* Collective: medians over passes, spread over ranks. */
static amped_status tell(amped_run_state *run, const amped_options *o, const sample *samples,
                         double *scratch) {
  int order = run->plan.order;
  json_t *modes = json_array();
  double total = 0.0;
  double compute_total = 0.0;
  amped_say("milliseconds, median of %d passes, least / mean / most over %d rank%s:", o->repeat,
            run->comm.nranks, run->comm.nranks == 1 ? "" : "s");
  amped_say("mode  %-26s  %-26s  %-26s  %10s  %8s", "host to device", "compute", "exchange",
            "all (most)", "Gnnz/s");
  for (int m = 0; m < order; m++) {
    amped_spread s[4];
    static const size_t fields[] = {offsetof(sample, copy), offsetof(sample, compute),
                                    offsetof(sample, exchange), offsetof(sample, wall)};
    for (int f = 0; f < 4; f++)
      s[f] = amped_comm_spread(&run->comm, median(samples, order, m, o->repeat, fields[f], scratch));
    double rate = (double)run->plan.nnz / (s[3].max > 0.0 ? s[3].max : 1e-9) * 1e-9;
    amped_say("%4d  %8.3f %8.3f %8.3f  %8.3f %8.3f %8.3f  %8.3f %8.3f %8.3f  %10.3f  %8.3f", m,
              1e3 * s[0].min, 1e3 * s[0].mean, 1e3 * s[0].max, 1e3 * s[1].min, 1e3 * s[1].mean,
              1e3 * s[1].max, 1e3 * s[2].min, 1e3 * s[2].mean, 1e3 * s[2].max, 1e3 * s[3].max,
              rate);
    total += s[3].max;
    compute_total += s[1].max;
    (void)json_array_append_new(
        modes, json_pack("{s:i, s:o, s:o, s:o, s:o, s:f}", "mode", m, "host_to_device_ms",
                         json_spread(s[0]), "compute_ms", json_spread(s[1]), "exchange_ms",
                         json_spread(s[2]), "all_ms", json_spread(s[3]), "gnnz_per_second", rate));
  }
  amped_say("all modes: %.3f ms (compute %.3f), %.3f Gnnz/s, %" PRIu64 " bytes a nonzero",
            1e3 * total, 1e3 * compute_total,
            (double)run->plan.nnz * order / (total > 0.0 ? total : 1e-9) * 1e-9,
            amped_plan_nonzero_bytes(&run->plan));
  if (run->json == NULL) {
    json_decref(modes);
    return AMPED_OK;
  }
  return amped_json_line(
      run->json,
      json_pack("{s:s, s:s, s:i, s:I, s:f, s:f, s:o}", "event", "bench", "kernel",
                o->kernel == AMPED_KERNEL_SORTED ? "sorted" : "published", "passes", o->repeat,
                "nnz", (json_int_t)run->plan.nnz, "all_modes_ms", 1e3 * total,
                "all_modes_compute_ms", 1e3 * compute_total, "modes", modes));
}

static amped_status measure(amped_run_state *run, const amped_options *o) {
  const amped_run_parts parts = amped_run_parts_of(run);
  amped_status status = AMPED_OK;
  sample *samples = NULL;
  double *scratch = NULL;
  uint64_t passes = (uint64_t)o->repeat;
  uint64_t order = (uint64_t)run->plan.order;
  AMPED_GO(agree, amped_calloc(&samples, passes * order, sizeof *samples, "the timings"));
  AMPED_GO(agree, amped_calloc(&scratch, passes, sizeof *scratch, "the timings"));
agree:
  status = amped_comm_agree(&run->comm, status);
  if (status == AMPED_OK)
    status = amped_factors_random(&parts, o->seed);
  if (status == AMPED_OK)
    status = pass(run, samples); /* warm-up, overwritten */
  for (uint64_t i = 0; i < passes && status == AMPED_OK; i++)
    status = pass(run, samples + i * order);
  if (status == AMPED_OK)
    status = amped_comm_agree(&run->comm, tell(run, o, samples, scratch));
  amped_free(scratch);
  amped_free(samples);
  return status;
}

amped_status amped_cmd_bench(const amped_options *o) {
  amped_run_state run;
  amped_status status = amped_run_start(&run, o);
  if (status == AMPED_OK)
    status = amped_run_open(&run, o, 0);
  if (status == AMPED_OK)
    status = measure(&run, o);
  amped_run_close(&run);
  return status;
}
