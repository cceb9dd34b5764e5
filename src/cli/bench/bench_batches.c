/* bench --stream: learns batches of a stream one after another, and times their phases. All earlier
 * entries are one batch. The next batch warms up; the timed batches follow. Rows and entries are in
 * memory; no state is written. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/timer.h"
#include "base/trace.h"
#include "cli/bench/bench_passes.h"
#include "cli/commands.h"
#include "generate/paper_shapes.h"
#include "generate/random_tensor.h"
#include "session/prepare.h"
#include "session/report.h"
#include "session/stream_needs.h"
#include "solver/complete/complete_problem.h"
#include "solver/stream/stream.h"
#include "tensor/format.h"
#include "text/io.h"

/* A penalty that makes every row's fit unique. */
#define REG 1.0

/* Phases of a batch. A phase that is part of another comes after it. */
enum {
  LOAD,
  ENTRIES,
  TOUCHED,
  PLAN,
  MEMORY,
  COPIES,
  FITS,
  START,
  ROWS,
  SWEEP,
  EXCHANGE,
  MOVES,
  ERRORS,
  END,
  ALL,
  PHASES
};

static const struct {
  const char *name;
  bool inside;
} phases[PHASES] = {
    [LOAD] = {.name = "load", .inside = false},
    [ENTRIES] = {.name = "entries", .inside = true},
    [TOUCHED] = {.name = "their rows", .inside = true},
    [PLAN] = {.name = "plan", .inside = true},
    [MEMORY] = {.name = "memory", .inside = true},
    [COPIES] = {.name = "copies", .inside = true},
    [FITS] = {.name = "fits", .inside = true},
    [START] = {.name = "new rows", .inside = true},
    [ROWS] = {.name = "rows", .inside = false},
    [SWEEP] = {.name = "a sweep", .inside = true},
    [EXCHANGE] = {.name = "exchange", .inside = false},
    [MOVES] = {.name = "moves of rows", .inside = false},
    [ERRORS] = {.name = "errors", .inside = false},
    [END] = {.name = "end", .inside = false},
    [ALL] = {.name = "all", .inside = false},
};

typedef struct batches {
  const amped_options *o;
  amped_session session;
  amped_sptensor all;     /* all entries, on rank 0 */
  uint64_t nnz, base_nnz; /* entries in total, and of the first batch; the same on every rank */
  amped_state_head head;
  amped_stream_rows rows;
  int timed;                        /* batches timed so far */
  double *seconds[PHASES];          /* [repeat] seconds on this rank */
  double *touched[AMPED_MAX_ORDER]; /* [repeat] rows touched by a batch */
  double base_sec;
} batches;

/* --- entries --------------------------------------------------------------------------------- */

static uint64_t entries_of_batches(const batches *b) {
  return ((uint64_t)b->o->repeat + 1) * b->o->batch_nnz;
}

/* Rank 0: make a random tensor of the shape, with additional entries for the batches. */
static amped_status make_list(batches *b) {
  const amped_synthetic *shape = &b->session.synthetic;
  amped_random_tensor_spec spec = {
      .order = shape->order,
      .nnz = shape->nnz + entries_of_batches(b),
      .power = shape->power == AMPED_SYNTHETIC_UNIFORM ? 0.0 : AMPED_SHAPE_POWER,
      .codes = shape->codes,
      .seed = b->o->seed};
  memcpy(spec.dims, shape->dims, sizeof spec.dims);
  return amped_random_tensor_create(&spec, &b->all);
}

/* Rank 0: read all entries of INPUT. */
static amped_status read_list(batches *b) {
  const char *path = b->o->session.input;
  amped_format format = AMPED_FORMAT_HDF5;
  AMPED_TRY(amped_io_input_format(path, &b->o->read, &format));
  AMPED_TRY(amped_io_check(path, format, &b->o->read));
  AMPED_TRY(amped_input_read_list(path, &b->o->read, &b->all));
  AMPED_TRY(amped_sptensor_validate(&b->all, path));
  if (b->all.nnz > entries_of_batches(b))
    return AMPED_OK;
  return amped_error(AMPED_USAGE, path,
                     "has %" PRIu64 " entries, too few for %d batches of %" PRIu64
                     " and older entries; lower --stream or --repeat",
                     b->all.nnz, b->o->repeat + 1, b->o->batch_nnz);
}

/* Set the head of a model as if a first fit had been made. Mean and scale are taken from all
 * values. */
static void set_head(batches *b) {
  const amped_options *o = b->o;
  const amped_complete_options *c = &o->complete;
  const bool centred = c->bias != AMPED_BIAS_NONE;
  const bool biased = c->bias == AMPED_BIAS_AUTO || c->bias == AMPED_BIAS_FULL;
  const amped_value_map map = {.centre = b->all.values[0], .unit = 1.0};
  const amped_moments moments = amped_complete_moments_of(b->all.values, b->all.nnz, map);
  const amped_complete_scale s = amped_complete_scale_of(&moments, map, centred);
  const uint64_t lengths[] = {[AMPED_HISTORY_EQUATIONS] =
                                  amped_equation_length(o->session.ncomps, biased),
                              [AMPED_HISTORY_MODEL] = 1};
  b->head = (amped_state_head){.order = b->all.order,
                               .ncomps = o->session.ncomps + (biased ? 1 : 0),
                               .type = o->session.precision,
                               .history = o->stream.history,
                               .history_length = lengths[o->stream.history],
                               .biased = biased,
                               .nonnegative = c->nonnegative != NULL,
                               .mean = amped_value_map_from(map, s.mean),
                               .scale = s.scale,
                               .reg = REG,
                               .reg_power = c->reg_power,
                               .reg_bias = c->reg_bias,
                               .forget = o->stream.forget > 0.0 ? o->stream.forget : 1.0,
                               .least = -(double)INFINITY,
                               .most = (double)INFINITY,
                               .seed = o->seed,
                               .growing = -1};
  memcpy(b->head.dims, b->all.dims, sizeof b->head.dims);
  for (int m = 0; m < b->all.order; m++)
    b->head.pull[m] = 1.0;
}

/* Collective; the status is agreed. Get the entries on rank 0, and create the rows on every
 * rank. */
static amped_status open_entries(batches *b) {
  const amped_comm *comm = &b->session.comm;
  amped_status status = AMPED_OK;
  if (comm->rank == 0)
    status = b->o->session.shape.name != NULL ? make_list(b) : read_list(b);
  AMPED_TRY(amped_comm_agree(comm, status));
  if (comm->rank == 0)
    set_head(b);
  b->nnz = b->all.nnz;
  amped_comm_broadcast(comm, &b->head, sizeof b->head);
  amped_comm_broadcast(comm, &b->nnz, sizeof b->nnz);
  b->base_nnz = b->nnz - entries_of_batches(b);
  AMPED_TRY(amped_comm_agree(
      comm, amped_stream_needs_memory(&b->session, &b->head, b->o->session.input)));
  return amped_comm_agree(comm,
                          amped_stream_rows_create(&b->rows, comm, &b->session.worker, &b->head));
}

/* Rank 0: copy entries first .. first + count of all entries, shuffled by the seed. */
static amped_status take(const batches *b, uint64_t first, uint64_t count, amped_sptensor *out) {
  const amped_sptensor *all = &b->all;
  AMPED_TRY(amped_sptensor_create(out, all->order, count));
  memcpy(out->dims, all->dims, sizeof out->dims);
  out->duplicates = all->duplicates;
#pragma omp parallel for schedule(static)
  for (uint64_t k = 0; k < count; k++) {
    const uint64_t at = amped_random_tensor_scatter(all->nnz, b->o->seed, first + k);
    for (int m = 0; m < all->order; m++)
      out->indices[m][k] = all->indices[m][at];
    out->values[k] = all->values[at];
  }
  return AMPED_OK;
}

/* --- batches --------------------------------------------------------------------------------- */

/* Record the times and touched rows of a timed batch. */
static void note(batches *b, const amped_learnt *l, double all_sec) {
  const amped_batch_times *t = &l->times;
  const double seconds[PHASES] = {[LOAD] = l->load_sec,
                                  [ENTRIES] = t->entries,
                                  [TOUCHED] = t->rows,
                                  [PLAN] = t->plan,
                                  [MEMORY] = t->memory,
                                  [COPIES] = t->copies,
                                  [FITS] = t->fits,
                                  [START] = t->start,
                                  [ROWS] = l->rows_sec,
                                  [SWEEP] = l->sweep_sec,
                                  [EXCHANGE] = l->exchange_sec,
                                  [MOVES] = t->moves,
                                  [ERRORS] = l->evaluate_sec,
                                  [END] = t->end,
                                  [ALL] = all_sec};
  for (int p = 0; p < PHASES; p++)
    b->seconds[p][b->timed] = seconds[p];
  for (int m = 0; m < b->head.order; m++)
    b->touched[m][b->timed] = (double)l->touched[m];
  b->timed++;
}

/* Collective; the status is agreed. Learn entries first .. first + count. *seconds: time on this
 * rank after a common start. */
static amped_status learn(batches *b, uint64_t first, uint64_t count, amped_learnt *learnt,
                          double *seconds) {
  const amped_comm *comm = &b->session.comm;
  const amped_stream stream = {.comm = comm,
                               .worker = &b->session.worker,
                               .rows = &b->rows,
                               .head = &b->head,
                               .sweeps = b->o->stream.sweeps};
  amped_sptensor list = {.order = 0};
  amped_input *input = NULL;
  amped_status status = AMPED_OK;
  if (comm->rank == 0)
    status = take(b, first, count, &list);
  status = amped_comm_agree(comm, status);
  if (status == AMPED_OK)
    status = amped_input_of_list(comm, b->o->session.input, comm->rank == 0 ? &list : NULL, &input);
  else
    amped_sptensor_free(&list);
  AMPED_TRY(status);
  AMPED_MPI(comm, MPI_Barrier(comm->mpi));
  const double began = amped_time();
  amped_trace_begin(AMPED_PHASE_BATCH, (int64_t)b->head.batches + 1);
  status = amped_stream_learn(&stream, input, -1, learnt);
  amped_trace_end();
  *seconds = amped_time() - began;
  amped_input_close(input);
  b->head.batches++;
  b->head.nnz += count;
  return status;
}

/* Collective; the status is agreed. Learn all batches: first the base, then one that is not timed,
 * then the timed ones. */
static amped_status learn_all(batches *b) {
  uint64_t first = 0;
  for (int i = 0; i < b->o->repeat + 2; i++) {
    const uint64_t count = i == 0 ? b->base_nnz : b->o->batch_nnz;
    double seconds = 0.0;
    amped_learnt learnt;
    memset(&learnt, 0, sizeof learnt);
    const amped_status status = learn(b, first, count, &learnt, &seconds);
    if (status == AMPED_OK && i == 0)
      b->base_sec = amped_comm_spread(&b->session.comm, seconds).max;
    if (status == AMPED_OK && i > 1)
      note(b, &learnt, seconds);
    amped_learnt_free(&learnt);
    AMPED_TRY(status);
    first += count;
  }
  return AMPED_OK;
}

/* --- reports --------------------------------------------------------------------------------- */

static void phases_facts(const amped_spread *s, amped_facts *f) {
  amped_say("%-16s  %10s  %10s  %10s", "phase", "least", "mean", "most");
  for (int p = 0; p < PHASES; p++) {
    amped_facts row;
    amped_facts_begin(&row, NULL);
    amped_fact(&row, "phase", json_string(phases[p].name), "%s%-*s", phases[p].inside ? "  " : "",
               phases[p].inside ? 14 : 16, phases[p].name);
    amped_fact(&row, "ms", amped_bench_json_spread(s[p]), "  %10.3f  %10.3f  %10.3f",
               1e3 * s[p].min, 1e3 * s[p].mean, 1e3 * s[p].max);
    amped_facts_row(f, "phases", &row);
  }
}

static void batches_facts(const batches *b, const amped_spread *s, const uint64_t *touched,
                          amped_facts *f) {
  const amped_state_head *h = &b->head;
  const double batch = 1e3 * s[ALL].max;
  const double sweep = 1e3 * s[SWEEP].max;
  char text[AMPED_DIMS_TEXT];
  amped_fact_json(f, "history", json_string(amped_history_names[h->history]));
  amped_fact_json(f, "biased", json_boolean(h->biased));
  amped_fact_json(f, "components", json_integer(b->o->session.ncomps));
  amped_fact_json(f, "shape", amped_json_string(b->o->session.shape.name));
  amped_fact_json(f, "sweeps", json_integer(b->o->stream.sweeps));
  amped_fact(f, "known_entries", amped_json_count(b->base_nnz), "known before: %" PRIu64 " entries",
             b->base_nnz);
  amped_fact(f, "dims", amped_json_counts(h->dims, h->order), " of %s rows",
             amped_format_dims(text, h->order, h->dims));
  amped_fact(f, "known_seconds", amped_json_number(b->base_sec), ", one batch of %.3f s\n",
             b->base_sec);
  amped_fact(f, "passes", json_integer(b->o->repeat), "milliseconds, median of %d batches",
             b->o->repeat);
  amped_fact(f, "entries", amped_json_count(b->o->batch_nnz), " of %" PRIu64 " entries",
             b->o->batch_nnz);
  amped_fact_words(f, " over %d rank%s:\n", b->session.comm.nranks,
                   b->session.comm.nranks == 1 ? "" : "s");
  phases_facts(s, f);
  amped_fact_words(f, "a batch of %" PRIu64 " entries", b->o->batch_nnz);
  amped_fact(f, "touched", amped_json_counts(touched, h->order), " touches %s rows",
             amped_format_dims(text, h->order, touched));
  amped_fact(f, "batch_ms", amped_json_number(batch), ": %.3f ms", batch);
  amped_fact(f, "sweep_ms", amped_json_number(sweep), ", a sweep %.3f ms\n", sweep);
}

/* Collective; the status is agreed. Print and write the medians. */
static amped_status tell(batches *b) {
  amped_spread s[PHASES];
  uint64_t touched[AMPED_MAX_ORDER] = {0};
  amped_facts f;
  for (int p = 0; p < PHASES; p++)
    s[p] = amped_comm_spread(&b->session.comm, amped_bench_median_of(b->seconds[p], b->timed));
  for (int m = 0; m < b->head.order; m++)
    touched[m] = (uint64_t)amped_bench_median_of(b->touched[m], b->timed);
  amped_facts_begin(&f, "batches");
  batches_facts(b, s, touched, &f);
  return amped_comm_agree(&b->session.comm, amped_facts_write(&f, b->session.json));
}

/* --- the command ----------------------------------------------------------------------------- */

static amped_status make_room(batches *b) {
  const uint64_t count = (uint64_t)b->o->repeat;
  for (int p = 0; p < PHASES; p++)
    AMPED_TRY(amped_alloc(&b->seconds[p], count, sizeof *b->seconds[p], "the timings"));
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    AMPED_TRY(amped_alloc(&b->touched[m], count, sizeof *b->touched[m], "the timings"));
  return AMPED_OK;
}

static amped_status run(batches *b) {
  const amped_comm *comm = &b->session.comm;
  amped_trace_begin(AMPED_PHASE_START, AMPED_NO_NUMBER);
  AMPED_TRY(amped_session_open_backend(&b->session));
  AMPED_TRY(amped_comm_agree(comm, amped_stream_needs_backend(&b->session, "bench --stream")));
  AMPED_TRY(amped_comm_agree(
      comm, amped_stream_needs_history(&b->session, b->o->stream.history, b->o->session.input)));
  AMPED_TRY(amped_report_start(&b->session));
  AMPED_TRY(amped_comm_agree(comm, make_room(b)));
  amped_trace_end();
  amped_trace_begin(AMPED_PHASE_READ, AMPED_NO_NUMBER);
  AMPED_TRY(open_entries(b));
  amped_trace_end();
  AMPED_TRY(learn_all(b));
  return tell(b);
}

amped_status amped_cmd_batches(const amped_options *o) {
  batches b = {.o = o};
  amped_status status = amped_session_start(&b.session, &o->session, AMPED_OK);
  if (status == AMPED_OK)
    status = amped_session_refuse_cells(&b.session, "--stream");
  if (status == AMPED_OK)
    status = run(&b);
  status = amped_session_finish(&b.session, status);
  amped_stream_rows_free(&b.rows);
  amped_sptensor_free(&b.all);
  for (int p = 0; p < PHASES; p++)
    amped_free(b.seconds[p]);
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    amped_free(b.touched[m]);
  amped_session_close(&b.session);
  return status;
}
