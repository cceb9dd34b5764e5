/* Bench passes: the timings of bench. A pass goes through steps, such as MTTKRP of each mode; every
 * rank has the seconds of each step in each pass, and medians over passes are compared over ranks.
 */
#ifndef AMPED_BENCH_PASSES_H
#define AMPED_BENCH_PASSES_H

#include "base/json.h"
#include "session/session.h"

/* Seconds of one step in one pass on this rank. */
typedef struct amped_bench_sample {
  double copy, compute, exchange;
  double solve; /* of compute, where it is told apart */
  double wall;
} amped_bench_sample;

/* What is timed. begin may be NULL. Statuses are this rank's own, also of a rank that has made only
 * the collective calls. */
typedef struct amped_bench_work {
  int steps;
  /* Collective. Before every pass, not timed. */
  amped_status (*begin)(void *self);
  /* Collective. All but wall. */
  amped_status (*step)(void *self, int step, amped_bench_sample *out);
  void *self;
} amped_bench_work;

typedef struct amped_bench_passes {
  const amped_comm *comm;
  int passes, steps;
  amped_bench_sample *samples; /* [passes][steps] */
  double *scratch;             /* [passes] */
} amped_bench_passes;

/* Collective; the status is agreed. One pass to warm up, then the timed ones; ranks start each step
 * together. free takes a zeroed object, too. */
amped_status amped_bench_passes_run(const amped_session *session, int passes,
                                    const amped_bench_work *work, amped_bench_passes *out);
void amped_bench_passes_free(amped_bench_passes *p);

/* MTTKRP of each mode with the exchange of its rows, of the session's factors. */
amped_bench_work amped_bench_mttkrp(amped_session *session);

/* The median of some numbers, at least one, which are put in order. */
double amped_bench_median_of(double *numbers, int count);
/* Of this rank: the median over passes of a step's member at this offset. */
double amped_bench_median(const amped_bench_passes *p, int step, size_t member);
/* Collective: the same over ranks. */
amped_spread amped_bench_spread(const amped_bench_passes *p, int step, size_t member);
#define AMPED_BENCH_MEMBER(NAME) offsetof(amped_bench_sample, NAME)

/* a / b, or 0 where b is not above 0. */
double amped_bench_per(double a, double b);
/* In milliseconds. */
json_t *amped_bench_json_spread(amped_spread s);
/* A number, null where it is not known. */
json_t *amped_bench_json_known(bool known, double x);

#endif
