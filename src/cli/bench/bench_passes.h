/* Bench passes: the timings of bench. A pass consists of steps, such as MTTKRP of each mode. Every
 * rank has the seconds of each step in each pass. Medians over passes are compared over ranks. */
#ifndef AMPED_BENCH_PASSES_H
#define AMPED_BENCH_PASSES_H

#include "base/facts.h"
#include "session/session.h"

/* Seconds of one step in one pass on this rank. */
typedef struct amped_bench_sample {
  double copy, compute, exchange;
  double solve; /* part of compute, for work that times it separately */
  double wall;
} amped_bench_sample;

/* The work that is timed. Statuses are this rank's own. A rank with an error still makes the
 * collective calls. */
typedef struct amped_bench_work {
  int steps;
  /* Collective: prepare a pass; not timed. NULL: nothing to prepare. */
  amped_status (*begin)(void *self);
  /* Collective: do a step, and set all members of *out except wall. */
  amped_status (*step)(void *self, int step, amped_bench_sample *out);
  void *self;
} amped_bench_work;

typedef struct amped_bench_passes {
  const amped_comm *comm;
  int passes, steps;
  amped_bench_sample *samples; /* [passes][steps] */
  double *scratch;             /* [passes] */
} amped_bench_passes;

/* Collective; the status is agreed. Runs one pass to warm up, then the timed ones; all ranks start
 * each step together. free accepts a zeroed object. */
amped_status amped_bench_passes_run(const amped_session *session, int passes,
                                    const amped_bench_work *work, amped_bench_passes *out);
void amped_bench_passes_free(amped_bench_passes *p);

/* MTTKRP of each mode with the session's factors, and the exchange of its rows. */
amped_bench_work amped_bench_mttkrp(amped_session *session);

/* The median of one or more numbers, which are sorted in place. */
double amped_bench_median_of(double *numbers, int count);
/* This rank's median over passes of a member of a step's samples. member: its offset. */
double amped_bench_median(const amped_bench_passes *p, int step, size_t member);
/* Collective: least, mean and largest over ranks of amped_bench_median. */
amped_spread amped_bench_spread(const amped_bench_passes *p, int step, size_t member);
#define AMPED_BENCH_MEMBER(NAME) offsetof(amped_bench_sample, NAME)

/* a / b, or 0 if b is not above 0. */
double amped_bench_per(double a, double b);
/* JSON of a spread, in milliseconds. */
json_t *amped_bench_json_spread(amped_spread s);
/* JSON of a number; null if it is not known. */
json_t *amped_bench_json_known(bool known, double x);
/* Add a number to a row of a table: two blanks, and unit * x with `digits` digits, aligned right in
 * `width` characters. A number that is not finite is not known: null, and "-". */
void amped_bench_cell(amped_facts *row, const char *key, double x, double unit, int width,
                      int digits);

#endif
