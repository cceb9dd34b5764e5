/* Checks of options beyond the rules: files that two options name, and numbers. */
#include "cli/options_check.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/file_lock.h"
#include "base/mem.h"
#include "cli/commands.h"
#include "cli/cpd_outputs.h"
#include "cli/input_files.h"
#include "cli/option_rules.h"
#include "state/state_names.h"

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

/* Refuse an output that is also read by the run, or written as its last argument. (The file of JSON
 * lines is opened, and emptied, before the input is read.) */
static amped_status check_replaced(const amped_options *o, const char *option, const char *file) {
  if (file == NULL)
    return AMPED_OK;
  AMPED_TRY(amped_input_files_check_apart(o, file, option));
  return o->command->writes ? check_apart(option, file, o->args[o->nargs - 1]) : AMPED_OK;
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
  return check_state_files(o, o->args[0], false);
}

/* Check the options of a stream's state, and its names against other outputs. */
static amped_status check_state(const amped_options *o) {
  const char *state = o->stream.state;
  if (strcmp(o->command->name, "stream") == 0)
    return check_stream(o);
  if (state == NULL || o->session.plan_only)
    return AMPED_OK;
  return check_state_files(o, state, true);
}

/* Check the name of one of a checkpoint's two generations. */
static amped_status check_generation(const amped_options *o, const char *file) {
  AMPED_TRY(check_replaced(o, "--checkpoint", file));
  AMPED_TRY(check_apart("--checkpoint", file, o->json));
  AMPED_TRY(check_apart("--checkpoint", file, o->output));
  return check_apart("--checkpoint", file, o->session.trace);
}

static amped_status check_checkpoint(const amped_options *o, const char *file, void *context) {
  char *previous = NULL;
  (void)context;
  AMPED_TRY(check_generation(o, file));
  AMPED_TRY(amped_file_previous(file, &previous));
  amped_status status = check_generation(o, previous);
  amped_free(previous);
  return status;
}

/* Move the dimensions of a dense tensor made in memory to it. */
static void take_cells(amped_options *o) {
  amped_cells_options *c = &o->session.cells;
  if (!o->command->parallel || !c->made)
    return;
  c->order = o->read.dims_order;
  memcpy(c->dims, o->read.dims, sizeof c->dims);
  c->type = c->type == 0 ? AMPED_F32 : c->type;
  o->read.dims_order = 0;
}

/* A tensor of a shape is uniform, or has the shape's skew. */
static amped_status check_skew(const amped_options *o) {
  const amped_shape_options *shape = &o->session.shape;
  if (!o->command->parallel || shape->skew_count == 0 ||
      (shape->skew_count == 1 && shape->skew[0] == 0.0))
    return AMPED_OK;
  return amped_error(AMPED_USAGE, NULL,
                     "a shape in memory has its own skew, or none; leave out --skew or give "
                     "--skew=0");
}

/* A model with biases has one component more. */
static amped_status check_biases(const amped_options *o) {
  const bool learns = o->epoch || o->batch_nnz > 0;
  const amped_bias bias = o->complete.bias;
  if (!learns || (bias != AMPED_BIAS_AUTO && bias != AMPED_BIAS_FULL) ||
      o->session.ncomps < AMPED_MAX_NCOMPS)
    return AMPED_OK;
  return amped_error(AMPED_USAGE, NULL,
                     "--rank=%d: with biases at most %d components are possible; lower --rank, or "
                     "use --bias=none",
                     o->session.ncomps, AMPED_MAX_NCOMPS - 1);
}

/* Check that no output of predict, recommend, evaluate and similar replaces an input. */
static amped_status check_model(const amped_options *o) {
  static const char *const commands[] = {"predict", "recommend", "similar"};
  for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
    if (strcmp(o->command->name, commands[i]) == 0)
      return check_replaced(o, "--output", o->output);
  return AMPED_OK;
}

/* Refuse a file that an option which adds up names twice: its entries would count twice. */
static amped_status check_distinct(const char *option, const amped_text_list *list) {
  for (int i = 0; i < list->count; i++)
    for (int k = 0; k < i; k++)
      if (amped_file_is_one(list->texts[i], list->texts[k]))
        return amped_error(AMPED_USAGE, list->texts[i], "is named twice with %s; leave out one",
                           option);
  return AMPED_OK;
}

/* Options that a dense tensor does not have, and further ones if it is read. A session finds out
 * what its input is, and refuses. */
#define SPARSE_OPTIONS "kernel|placement|overlap|tiles|copies|load"
#define TEXT_OPTIONS "|TEXT|dims"

/* Copy options of several commands to the structs of the folders that need them. */
static void hand_down(amped_options *o) {
  char option[AMPED_OPTION_CHARS];
  if (o->session.shape.name != NULL && o->command->parallel)
    o->args[0] = o->session.shape.name;
  if (o->session.cells.made && o->command->parallel)
    o->args[0] = "a dense tensor in memory";
  o->session.command = o->command->name;
  o->session.input = o->args[0];
  o->read.axes = &o->axes;
  o->session.read = &o->read;
  o->session.json = o->json;
  o->session.overwrite = o->overwrite;
  o->session.seed = o->seed;
  o->session.backend.threads = o->threads;
  if (amped_option_rules_find(
          o, o->session.cells.made ? SPARSE_OPTIONS : SPARSE_OPTIONS TEXT_OPTIONS, option) != NULL)
    (void)snprintf(o->session.sparse_option, sizeof o->session.sparse_option, "%.31s", option);
}

amped_status amped_options_check(amped_options *o) {
  AMPED_TRY(amped_option_rules_check(o, NULL));
  amped_option_rules_default(o);
  take_cells(o);
  AMPED_TRY(check_skew(o));
  AMPED_TRY(check_biases(o));
  amped_complete_options_block(&o->complete);
  if (strcmp(o->command->name, "complete") == 0)
    AMPED_TRY(amped_complete_options_check(&o->complete));
  AMPED_TRY(check_model(o));
  AMPED_TRY(check_distinct("--test", &o->complete.test));
  AMPED_TRY(check_distinct("--exclude", &o->recommend.exclude));
  AMPED_TRY(check_replaced(o, "--json", o->json));
  if (o->json != NULL && strcmp(o->json, "-") != 0)
    AMPED_TRY(check_apart("--json", o->json, o->output));
  AMPED_TRY(check_replaced(o, "--trace", o->session.trace));
  AMPED_TRY(check_state(o));
  AMPED_TRY(check_apart("--trace", o->session.trace, o->json));
  AMPED_TRY(check_apart("--trace", o->session.trace, o->output));
  if (o->checkpoint.file != NULL)
    AMPED_TRY(check_checkpoint(o, o->checkpoint.file, NULL)); /* its lock is there in any case */
  AMPED_TRY(amped_cpd_outputs_checkpoints(o, check_checkpoint, NULL));
  hand_down(o);
  return AMPED_OK;
}
