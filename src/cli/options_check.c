/* Checks of combinations of options, one function per topic. */
#include "cli/options_check.h"
#include "cli/cpd_rows.h"
#include "solver/cpd/cpd_methods.h"

#include <string.h>

#include "backend/backend_options.h"
#include "base/file.h"
#include "base/file_lock.h"
#include "base/mem.h"
#include "cli/commands.h"
#include "cli/cpd_sampling.h"
#include "hdf5/state_names.h"
#include "plan/overlap.h"

/* Check that two outputs have different names, and that neither has the name of the other's
 * lock. */
static amped_status check_apart(const char *option, const char *file, const char *other) {
  if (amped_file_is_one(file, other))
    return amped_error(AMPED_USAGE, file,
                       "is named for two outputs of this run; name another with %s", option);
  if (amped_file_lock_is_between(file, other))
    return amped_error(AMPED_USAGE, file,
                       "conflicts with the output %s: one has the name of the other's lock file; "
                       "name another with %s",
                       other, option);
  return AMPED_OK;
}

/* Refuse an output that is also read by the run. (The file of JSON lines is opened, and emptied,
 * before the input is read.) Standard input and standard output are both "-" but do not
 * conflict. */
static amped_status check_replaced(const amped_options *o, const char *option, const char *file) {
  const char *const others[] = {o->session.init, o->complete.validate, o->complete.test,
                                o->complete.weights};
  for (int i = 0; i < o->nargs + 4 && file != NULL; i++) {
    const char *name = i < o->nargs ? o->args[i] : others[i - o->nargs];
    if (name != NULL && strcmp(name, "-") != 0 && amped_file_is_one(file, name))
      return amped_error(AMPED_USAGE, file,
                         "is named as a file of this run and would be overwritten; name another "
                         "with %s",
                         option);
    if (o->command->writes && i == o->nargs - 1)
      AMPED_TRY(check_apart(option, file, name));
  }
  return AMPED_OK;
}

/* Refuse options that --history=published cannot use: its recursion has no biases, context modes or
 * constraints. */
static amped_status check_published(const amped_options *o) {
  if (o->complete.bias != AMPED_BIAS_NONE)
    return amped_error(AMPED_USAGE, NULL, "--history=published has no biases; add --bias=none");
  if (o->complete.nonnegative)
    return amped_error(AMPED_USAGE, NULL,
                       "--history=published may give negative components; leave out --nonnegative");
  if (strcmp(o->complete.context_modes, "auto") != 0 &&
      strcmp(o->complete.context_modes, "none") != 0)
    return amped_error(AMPED_USAGE, NULL,
                       "--history=published pulls no mode to 1; leave out --context");
  return AMPED_OK;
}

/* Check that no other output is one of the state's four files. previous: the checkpoint's older
 * generation. */
static amped_status check_state_file(const amped_options *o, const char *state, const char *file,
                                     const char *previous) {
  const struct {
    const char *option, *file;
  } others[] = {{"--json", o->json},
                {"--output", o->output},
                {"--trace", o->session.trace},
                {"--checkpoint", o->checkpoint.file},
                {"--checkpoint", previous}};
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
    if (!amped_file_is_one(file, state) && amped_file_is_one(file, others[i].file))
      return amped_error(AMPED_USAGE, others[i].file,
                         "is a file of the state %s; name another with %s", state,
                         others[i].option);
    AMPED_TRY(check_apart(others[i].option, file, others[i].file));
  }
  return AMPED_OK;
}

/* Check all files of a state. begins: complete makes a new state; then no input may be one of them,
 * either. */
static amped_status check_state_files(const amped_options *o, const char *state, bool begins) {
  amped_state_names names;
  char *previous = NULL;
  AMPED_TRY(amped_state_names_make(state, &names));
  amped_status status =
      o->checkpoint.file != NULL ? amped_file_previous(o->checkpoint.file, &previous) : AMPED_OK;
  for (int i = 0; i < AMPED_STATE_NAMES && status == AMPED_OK; i++) {
    if (begins)
      status = check_replaced(o, "--state", names.list[i]);
    if (status == AMPED_OK)
      status = check_state_file(o, state, names.list[i], previous);
  }
  amped_free(previous);
  amped_state_names_free(&names);
  return status;
}

static amped_status check_stream(const amped_options *o) {
  AMPED_TRY(check_replaced(o, "--output", o->output));
  AMPED_TRY(check_state_files(o, o->args[0], false));
  return amped_stream_options_check(&o->stream, o->nargs,
                                    o->output != NULL || o->session.plan_only);
}

/* Refuse options of a state if there is none. */
static amped_status check_no_state(const amped_options *o) {
  amped_options plain;
  amped_options_default(&plain);
  if (o->stream.history != plain.stream.history && o->batch_nnz == 0)
    return amped_error(AMPED_USAGE, NULL, "--history is for a state; add --state=FILE");
  if (o->stream.keep != plain.stream.keep)
    return amped_error(AMPED_USAGE, NULL, "--keep-validation is for a state; add --state=FILE");
  return AMPED_OK;
}

/* Check the options of a stream's state, and its names against other outputs. */
static amped_status check_state(const amped_options *o) {
  const char *state = o->stream.state;
  if (strcmp(o->command->name, "stream") == 0)
    return check_stream(o);
  if (state == NULL)
    return check_no_state(o);
  if (o->stream.history == AMPED_HISTORY_PUBLISHED)
    AMPED_TRY(check_published(o));
  if (o->session.ncomps_count > 1)
    return amped_error(AMPED_USAGE, NULL,
                       "--state holds one model, not one for each --rank; give one number");
  if (o->complete.implicit > 0.0)
    return amped_error(AMPED_USAGE, NULL,
                       "--implicit learns from cells without an entry, and a batch cannot say "
                       "which cells have none; leave out --state");
  return o->session.plan_only ? AMPED_OK : check_state_files(o, state, true);
}

/* Check the name of one of a checkpoint's two generations. */
static amped_status check_generation(const amped_options *o, const char *file) {
  AMPED_TRY(check_replaced(o, "--checkpoint", file));
  AMPED_TRY(check_apart("--checkpoint", file, o->json));
  AMPED_TRY(check_apart("--checkpoint", file, o->output));
  return check_apart("--checkpoint", file, o->session.trace);
}

static amped_status check_checkpoint(const amped_options *o) {
  const char *file = o->checkpoint.file;
  char *previous = NULL;
  AMPED_TRY(amped_checkpoint_options_check(&o->checkpoint));
  if (file != NULL && o->session.plan_only)
    return amped_error(AMPED_USAGE, NULL, "--plan runs nothing; leave out --checkpoint");
  if (file == NULL)
    return AMPED_OK;
  AMPED_TRY(check_generation(o, file));
  AMPED_TRY(amped_file_previous(file, &previous));
  amped_status status = check_generation(o, previous);
  amped_free(previous);
  return status;
}

/* Check the options of a run with several decompositions. */
static amped_status check_several(const amped_options *o) {
  const bool ranks = o->session.ncomps_count > 1;
  const char *option = ranks ? "several values of --rank" : "--starts";
  if (ranks && strcmp(o->command->name, "cpd") != 0 && strcmp(o->command->name, "complete") != 0)
    return amped_error(AMPED_USAGE, NULL, "%s takes one --rank", o->command->name);
  if (!ranks && o->session.starts == 1)
    return AMPED_OK;
  if (o->session.init != NULL)
    return amped_error(
        AMPED_USAGE, NULL,
        "--init=%s is one start with one R, and %s needs several; leave out one of the two",
        o->session.init, option);
  if (o->checkpoint.result_on_signal)
    return amped_error(AMPED_USAGE, NULL,
                       "--on-signal=result is for one decomposition; a run of %s always keeps "
                       "finished results; leave out --on-signal",
                       option);
  if (o->checkpoint.file != NULL)
    return amped_error(AMPED_USAGE, NULL,
                       "--checkpoint holds one decomposition, and %s makes more; leave out one of "
                       "the two, or run a job for each (jobs/slurm/array.sh)",
                       option);
  return AMPED_OK;
}

static amped_status check_init(const amped_options *o) {
  if (!o->session.force_init || o->session.init != NULL)
    return AMPED_OK;
  return amped_error(AMPED_USAGE, NULL, "--force-init is for the file of --init; name one");
}

/* Check the options of a dense tensor made in memory, and move --dims to it. */
static amped_status check_cells(amped_options *o) {
  amped_cells_options *c = &o->session.cells;
  const amped_session_options *s = &o->session;
  const char *wrong = NULL;
  if (!o->command->parallel || (!c->made && c->type == 0))
    return AMPED_OK;
  if (!c->made)
    wrong = "--type is for the cells of --dense; add --dense, or leave out --type";
  else if (s->shape.name != NULL || o->nargs > 0)
    wrong = "a file or --shape, and --dense, are two tensors; leave out one of them";
  else if (o->read.dims_order == 0)
    wrong = "--dense needs the dimensions; add --dims=AxBxC";
  else if (o->whole || o->epoch || o->batch_nnz > 0)
    wrong = "--whole, --complete and --stream are for sparse tensors; leave them or --dense out";
  else if (s->readers != AMPED_READERS_AUTO || s->load != AMPED_LOAD_AUTO || s->dataset != NULL)
    wrong = "with --dense nothing is read; leave out --read, --load and --dataset";
  c->order = o->read.dims_order;
  memcpy(c->dims, o->read.dims, sizeof c->dims);
  c->type = c->type == 0 ? AMPED_F32 : c->type;
  o->read.dims_order = 0;
  if (wrong == NULL && amped_read_options_given(&o->read))
    wrong = "with --dense nothing is read; leave out options for reading text and tables";
  return wrong != NULL ? amped_error(AMPED_USAGE, NULL, "%s", wrong) : AMPED_OK;
}

/* Check --products. Whether the tensor is dense is known only when it is opened. */
static amped_status check_products(const amped_options *o) {
  const char *wrong = NULL;
  if (!o->session.backend.tf32)
    return AMPED_OK;
  if (o->session.precision == AMPED_F64)
    wrong = "--products=tf32 rounds more than float does; leave it or --precision=double out";
  else if (o->session.shape.name != NULL || o->whole || o->epoch || o->batch_nnz > 0)
    wrong = "--products=tf32 is for dense tensors, and this is for sparse ones; leave it out";
  return wrong != NULL ? amped_error(AMPED_USAGE, NULL, "%s", wrong) : AMPED_OK;
}

/* Check that the tensor is either a file or made in memory. */
static amped_status check_shape(const amped_options *o) {
  const char *wrong = NULL;
  if (!o->command->parallel)
    return AMPED_OK;
  if (o->session.shape.name == NULL && o->nargs == 0 && !o->session.cells.made)
    wrong = "the input file is missing; give one, or --shape=NAME; see amped_mpi --help";
  else if (o->session.shape.name != NULL && o->nargs > 0)
    wrong = "a file and --shape are two tensors; leave out one of them";
  else if (o->session.shape.name == NULL &&
           (o->session.shape.nnz > 0 || o->session.shape.scale != 1.0 ||
            o->session.shape.skew_count > 0 || o->session.shape.values != AMPED_VALUES_AS_SHAPE))
    wrong = "--nnz, --scale, --skew and --values are for --shape; leave them out, or give --shape";
  else if (o->session.shape.name != NULL && o->session.readers == AMPED_READERS_ALL)
    wrong = "with --shape nothing is read; leave out --read";
  else if (o->session.shape.name != NULL && o->session.load != AMPED_LOAD_AUTO)
    wrong = "with --shape nothing is read; leave out --load";
  else if (o->session.shape.name != NULL && amped_read_options_given(&o->read))
    wrong = "with --shape nothing is read; leave out options for reading text and tables";
  else if (o->session.shape.name != NULL && o->checkpoint.file != NULL)
    wrong = "a checkpoint belongs to a file's tensor; leave out --checkpoint or --shape";
  else if (o->session.shape.skew_count > 1 ||
           (o->session.shape.skew_count == 1 && o->session.shape.skew[0] != 0.0))
    wrong = "a shape in memory has its own skew, or none; leave out --skew or give --skew=0";
  return wrong != NULL ? amped_error(AMPED_USAGE, NULL, "%s", wrong) : AMPED_OK;
}

static amped_status check_info(const amped_options *o) {
  if (o->info.system && (o->nargs > 0 || o->info.verify))
    return amped_error(AMPED_USAGE, NULL, "--system is not about a file; leave out %s",
                       o->nargs > 0 ? o->args[0] : "--verify");
  if (strcmp(o->command->name, "info") == 0 && !o->info.system && o->nargs == 0)
    return amped_error(AMPED_USAGE, NULL,
                       "the input file is missing; give one, or --system; see amped_mpi info "
                       "--help");
  return AMPED_OK;
}

/* Refuse options that bench --stream cannot use, and options that only it can. */
static amped_status check_bench_stream(const amped_options *o) {
  const amped_session_options *s = &o->session;
  const amped_stream_options *t = &o->stream;
  const char *wrong = NULL;
  if (o->batch_nnz == 0 &&
      (t->history != AMPED_HISTORY_EQUATIONS || t->forget > 0.0 || t->sweeps != 3))
    wrong =
        "--history, --forget and --sweeps are for bench --stream; add --stream, or leave them out";
  else if (o->batch_nnz > 0 && t->history == AMPED_HISTORY_PUBLISHED)
    wrong = "--history=published learns only new indices, and batches of bench --stream have none; "
            "time it with amped_mpi stream --boxes";
  else if (o->batch_nnz > 0 &&
           (s->readers != AMPED_READERS_AUTO || s->load != AMPED_LOAD_AUTO ||
            s->plan.placement != AMPED_PLACEMENT_GREEDY || s->plan.parts != AMPED_PARTS_AUTO))
    wrong = "--read, --load, --placement and --overlap do not apply to --stream; leave them out";
  return wrong != NULL ? amped_error(AMPED_USAGE, NULL, "%s", wrong) : AMPED_OK;
}

/* Check the options of bench: at most one of --whole, --complete and --stream, and the options of
 * each. Only --whole writes a result. */
static amped_status check_bench(amped_options *o) {
  amped_complete_options *c = &o->complete;
  const bool learns = o->epoch || o->batch_nnz > 0;
  if (strcmp(o->command->name, "bench") != 0)
    return AMPED_OK;
  if (o->whole + o->epoch + (o->batch_nnz > 0) > 1)
    return amped_error(AMPED_USAGE, NULL,
                       "--whole is a run of cpd, --complete a sweep of complete, --stream one of "
                       "stream; leave out all but one");
  if (!o->whole && o->output != NULL)
    return amped_error(AMPED_USAGE, NULL,
                       "bench writes a result only with --whole; add that, or leave out --output");
  if (!o->epoch && (c->method != AMPED_COMPLETE_ALS || c->block > 0))
    return amped_error(
        AMPED_USAGE, NULL,
        "--method and --block are for bench --complete; add --complete, or leave them out");
  if (!learns && (c->bias != AMPED_BIAS_AUTO || c->nonnegative))
    return amped_error(AMPED_USAGE, NULL,
                       "--bias and --nonnegative are for bench --complete and --stream; add one of "
                       "these, or leave them out");
  if (learns && (c->bias == AMPED_BIAS_AUTO || c->bias == AMPED_BIAS_FULL) &&
      o->session.ncomps == AMPED_MAX_NCOMPS)
    return amped_error(AMPED_USAGE, NULL,
                       "--rank=%d: with biases at most %d components are possible; lower --rank, "
                       "or use --bias=none",
                       o->session.ncomps, AMPED_MAX_NCOMPS - 1);
  if (learns && o->session.backend.copies == AMPED_COPIES_ONE)
    return amped_error(AMPED_USAGE, NULL,
                       "--copies=one is for MTTKRP, and --complete and --stream fit rows; leave "
                       "out one of them");
  AMPED_TRY(check_bench_stream(o));
  return amped_complete_method_check(c);
}

/* Refuse --kernel and --tiles with --copies=one: one copy for all modes has its own kernel and
 * order. */
static amped_status check_copies(const amped_options *o) {
  const amped_backend_options *b = &o->session.backend;
  const char *wrong = b->copies != AMPED_COPIES_ONE                           ? NULL
                      : b->format != NULL && strcmp(b->format, "sorted") != 0 ? "--kernel"
                      : b->tile_bytes != 0                                    ? "--tiles"
                                                                              : NULL;
  if (wrong == NULL)
    return AMPED_OK;
  return amped_error(
      AMPED_USAGE, NULL,
      "%s is for a copy for each mode, and --copies=one keeps none; leave out one of the two",
      wrong);
}

/* Check that the output of predict and recommend replaces no input, and that --for and --of are
 * given. */
static amped_status check_model(const amped_options *o) {
  const bool predicts = strcmp(o->command->name, "predict") == 0;
  const bool recommends = strcmp(o->command->name, "recommend") == 0;
  if (!predicts && !recommends)
    return AMPED_OK;
  AMPED_TRY(check_replaced(o, "--output", o->output));
  const char *exclude = o->recommend.exclude;
  for (int i = 0; i < 2 && recommends && exclude != NULL && strcmp(exclude, "-") != 0; i++) {
    const char *file = i == 0 ? o->output : o->json;
    if (amped_file_is_one(file, exclude))
      return amped_error(AMPED_USAGE, file,
                         "is the tensor of --exclude as well and would be overwritten; name "
                         "another with %s",
                         i == 0 ? "--output" : "--json");
  }
  if (recommends && (o->recommend.target == NULL || o->recommend.of == NULL))
    return amped_error(AMPED_USAGE, NULL,
                       "--for (for whom) or --of (labels of which mode) is missing; see amped_mpi "
                       "recommend --help");
  return AMPED_OK;
}

static amped_status check_complete(amped_options *o) {
  AMPED_TRY(amped_complete_options_check(&o->complete));
  if (o->recommend.of != NULL && !(o->complete.implicit > 0.0))
    return amped_error(
        AMPED_USAGE, NULL,
        "--of names the mode that --implicit ranks; add --implicit, or leave out --of");
  if (o->complete.implicit > 0.0 && o->clip.given)
    return amped_error(
        AMPED_USAGE, NULL,
        "--implicit ranks entries, and predicts no values to clip; leave out --clip");
  if (o->complete.weights != NULL && o->read.duplicates == AMPED_DUPLICATES_KEEP)
    return amped_error(AMPED_USAGE, NULL,
                       "--weights gives one weight per cell, and --duplicates=keep may keep "
                       "several entries of a cell; leave out one of the two");
  return AMPED_OK;
}

/* Copy options of several commands to the structs of the folders that need them. */
static void hand_down(amped_options *o) {
  if (o->session.shape.name != NULL && o->command->parallel)
    o->args[0] = o->session.shape.name;
  if (o->session.cells.made && o->command->parallel)
    o->args[0] = "a dense tensor in memory";
  o->session.command = o->command->name;
  o->session.input = o->args[0];
  o->session.read = &o->read;
  o->session.json = o->json;
  o->session.overwrite = o->overwrite;
  o->session.seed = o->seed;
  o->session.backend.threads = o->threads;
  const bool completes = strcmp(o->command->name, "complete") == 0;
  if (o->cpd.iters == 0)
    o->cpd.iters = completes ? 200 : 50;
  if (o->cpd.tol < 0.0) /* the fit of a shape's tensor is not known (cmd_cpd.c) */
    o->cpd.tol = completes                        ? 1e-4
                 : o->cpd.method == AMPED_CPD_RBS ? 1e-3
                 : o->session.shape.name != NULL  ? 0.0
                                                  : 1e-5;
}

amped_status amped_options_check(amped_options *o) {
  if (o->output != NULL && (o->nowrite || o->session.plan_only))
    return amped_error(AMPED_USAGE, NULL, "%s writes no result; leave out --output",
                       o->nowrite ? "--nowrite" : "--plan");
  if (o->checkpoint.result_on_signal && (o->nowrite || o->session.plan_only))
    return amped_error(AMPED_USAGE, NULL, "%s writes no result; leave out --on-signal",
                       o->nowrite ? "--nowrite" : "--plan");
  AMPED_TRY(check_cells(o));
  AMPED_TRY(check_products(o));
  AMPED_TRY(amped_cpd_sampling_check(o));
  AMPED_TRY(check_shape(o));
  AMPED_TRY(check_several(o));
  AMPED_TRY(check_init(o));
  AMPED_TRY(amped_cpd_method_check(&o->cpd));
  AMPED_TRY(amped_cpd_rows_check(&o->cpd));
  AMPED_TRY(check_info(o));
  AMPED_TRY(check_bench(o));
  AMPED_TRY(check_copies(o));
  if (strcmp(o->command->name, "complete") == 0)
    AMPED_TRY(check_complete(o));
  AMPED_TRY(check_model(o));
  AMPED_TRY(check_replaced(o, "--json", o->json));
  AMPED_TRY(check_replaced(o, "--trace", o->session.trace));
  AMPED_TRY(check_state(o));
  AMPED_TRY(check_apart("--trace", o->session.trace, o->json));
  AMPED_TRY(check_apart("--trace", o->session.trace, o->output));
  AMPED_TRY(check_checkpoint(o));
  hand_down(o);
  return AMPED_OK;
}
