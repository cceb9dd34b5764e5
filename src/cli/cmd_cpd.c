/* cpd: decomposes a sparse or dense tensor, for one or more numbers of components and starts. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/launcher.h"
#include "base/log.h"
#include "base/signals.h"
#include "cli/commands.h"
#include "cli/cpd_models.h"
#include "cli/cpd_outputs.h"
#include "cli/cpd_rows.h"
#include "cli/cpd_sampling.h"
#include "cli/option_rules.h"
#include "factor/columns.h"
#include "session/fixed_model.h"
#include "session/init_file.h"
#include "session/prepare.h"
#include "session/session.h"
#include "session/summary.h"
#include "solver/cpd/corcondia.h"
#include "solver/cpd/cpd_methods.h"
#include "solver/residual.h"
#include "tensor/form.h"

/* Share of nonzeros above which the user is advised to use the dense form. */
#define HINT_DENSITY 0.1

typedef amped_cpd_job job;

/* Collective, before the first sweep: check that there is enough disk space. */
static amped_status check_room(const job *j) {
  const amped_session *session = j->session;
  amped_status status = AMPED_OK;
  if (session->comm.rank == 0)
    status = amped_cpd_outputs_room(j->o, &j->outputs, &session->plan, j->labels);
  return amped_comm_agree(&session->comm, status);
}

/* Collective: read the factors of --fix, and the start of the others. */
static amped_status read_fixed(job *j) {
  const amped_options *o = j->o;
  const amped_comm *comm = &j->session->comm;
  amped_status status = AMPED_OK;
  const amped_fixed_request request = {
      .modes = o->cpd.fixed.modes, .nonnegative = o->cpd.rule.nonnegative, .outside = true};
  AMPED_TRY(amped_fixed_model_read(j->session, &request, j->labels, &j->fixed, &j->start, NULL));
  if (comm->rank == 0)
    status = amped_cpd_rows_check_start(&o->cpd, &j->start, o->session.init);
  j->own->cpd.fixed = amped_fixed_model_modes(&j->fixed);
  return amped_comm_agree(comm, status);
}

/* Decompose with all numbers of components, in the user's order. */
static amped_status decompose_all(job *j) {
  const amped_options *o = j->o;
  amped_status status = AMPED_OK;
  /* Read before the first sweep, so that an error costs no sweep. */
  if ((!o->nowrite || o->session.init != NULL) && !*j->has_labels)
    AMPED_TRY(amped_session_labels(j->session, j->labels));
  if (o->session.fix != NULL)
    AMPED_TRY(read_fixed(j));
  AMPED_TRY(check_room(j));
  if (amped_cpd_method_of(&o->cpd)->described != NULL)
    amped_say("%s", amped_cpd_method_of(&o->cpd)->described);
  if (o->cpd.loss == AMPED_LOSS_SQUARES)
    AMPED_TRY(amped_cpd_rows_tell_start(j->session, &o->cpd.rule));
  if (amped_cpd_is_several(o))
    AMPED_TRY(amped_comm_agree(&j->session->comm, amped_signals_catch()));
  status = amped_cpd_models_run(j);
  if (o->session.ncomps_count > 1 && j->finished > 0 &&
      (status == AMPED_OK || status == AMPED_STOPPED)) {
    amped_status told = amped_summary_ranks(j->session, j->rows, j->finished, true);
    status = told != AMPED_OK ? told : status;
  }
  return status;
}

/* Check that --corcondia can be computed for some number of components. */
static amped_status check_corcondia(const amped_options *o, const amped_plan *plan) {
  int least = o->session.ncomps;
  for (int i = 0; i < o->session.ncomps_count; i++)
    least = o->session.ncomps_list[i] < least ? o->session.ncomps_list[i] : least;
  if (o->cpd.corcondia && plan->order == 2)
    return amped_error(AMPED_USAGE, NULL,
                       "--corcondia is about 100 %% for any matrix and any R; leave it out");
  if (!o->cpd.corcondia || amped_corcondia_passes(plan->order, least) <= AMPED_CORCONDIA_PASSES)
    return AMPED_OK;
  return amped_error(AMPED_USAGE, NULL,
                     "--corcondia computes R^(order - 2) MTTKRPs, at most %d, and with order %d "
                     "and R = %d there are more; leave it out or use fewer components",
                     AMPED_CORCONDIA_PASSES, plan->order, least);
}

/* Collective: find the modes of --fix. Row rules are about the others. */
static amped_status find_fixed_modes(const job *j) {
  const char *fix = j->o->session.fix;
  const char *nonnegative = j->o->cpd.nonnegative;
  amped_cpd_options *cpd = &j->own->cpd;
  if (fix == NULL)
    return AMPED_OK;
  if (!*j->has_labels)
    AMPED_TRY(amped_session_labels(j->session, j->labels));
  *j->has_labels = true;
  AMPED_TRY(amped_fixed_model_find_modes(j->session, fix, j->labels, &cpd->fixed.modes));
  if (nonnegative != NULL && strcmp(nonnegative, "all") != 0 &&
      (cpd->rule.nonnegative & cpd->fixed.modes) != 0)
    return amped_error(AMPED_USAGE, NULL,
                       "--nonnegative=%s and --fix=%s name the same mode, whose factor stays as it "
                       "is; name it with one of the two",
                       nonnegative, fix);
  cpd->rule.nonnegative &= ~cpd->fixed.modes;
  return AMPED_OK;
}

/* Check that the components of a matrix mean something: any invertible mix of them has the same
 * fit, unless both factors are nonnegative. */
static amped_status check_matrix(const amped_options *o, const amped_plan *plan) {
  const amped_row_rule *rule = &o->cpd.rule;
  if (plan->order > 2 ||
      (amped_row_rule_is_nonnegative(rule, 0) && amped_row_rule_is_nonnegative(rule, 1)))
    return AMPED_OK;
  return amped_error(AMPED_USAGE, o->session.input,
                     "is a matrix, whose components are not unique unless the factors "
                     "of both modes are nonnegative; add --nonnegative");
}

/* Collective; the status is agreed. Check that a dense tensor of counts, which is read as a list,
 * has no missing cells: they would count as 0. */
static amped_status check_missing(const job *j, const amped_plan *plan) {
  const amped_session_options *o = &j->o->session;
  const amped_comm *comm = &j->session->comm;
  amped_status status = AMPED_OK;
  bool is_dense = false;
  uint64_t cells = 1;
  if (j->o->cpd.loss != AMPED_LOSS_POISSON || o->shape.name != NULL)
    return AMPED_OK;
  if (comm->rank == 0)
    status = amped_dense_source_is(o->input, o->dataset, &is_dense);
  for (int m = 0; m < plan->order && is_dense; m++)
    cells *= plan->dims[m];
  if (status == AMPED_OK && is_dense && plan->nnz < cells)
    status = amped_error(AMPED_BAD_INPUT, o->input,
                         "%" PRIu64 " of its cells are missing, and --loss=poisson would take them "
                         "as 0; write 0 there, or fit what is known with amped_mpi complete",
                         cells - plan->nnz);
  return amped_comm_agree(comm, status);
}

/* Collective; the status is agreed. Refuse a tensor with several entries in one cell: the Poisson
 * deviance needs their sum. Called before and after loading: a tensor file of ours is known to
 * repeat before it is read, so that --plan refuses it too. Other lists are searched while they
 * load. */
static amped_status check_repeats(const job *j) {
  const amped_comm *comm = &j->session->comm;
  amped_status status = AMPED_OK;
  if (j->o->cpd.loss == AMPED_LOSS_POISSON && comm->rank == 0 &&
      amped_tensor_info_repeats(amped_session_info(j->session)))
    status = amped_error(AMPED_BAD_INPUT, j->o->session.input,
                         "has cells with several entries, which were all kept, and --loss=poisson "
                         "counts a cell once; add them up: amped_mpi convert IN OUT.h5 "
                         "--duplicates=sum");
  return amped_comm_agree(comm, status);
}

/* Check the options against the plan, before any nonzero is read. The tensor's hash is known now:
 * check which files the run replaces. */
static amped_status check_plan(const amped_worker *worker, const amped_plan *plan,
                               const void *context) {
  const job *j = context;
  (void)worker;
  AMPED_TRY(check_corcondia(j->o, plan));
  AMPED_TRY(check_missing(j, plan));
  AMPED_TRY(check_repeats(j));
  AMPED_TRY(amped_cpd_sampling_check_plan(j->session, j->o, plan));
  AMPED_TRY(amped_cpd_rows_find_modes(j->session, &j->own->cpd, j->labels, j->has_labels));
  AMPED_TRY(find_fixed_modes(j));
  AMPED_TRY(check_matrix(j->o, plan));
  if (j->session->is_dense && !amped_session_info(j->session)->has_hash)
    return AMPED_OK; /* the hash is known when the cells are read */
  return amped_cpd_outputs_compare(j->o, &j->outputs, amped_session_info(j->session));
}

static bool left_outside(const amped_session *session, const amped_requirement *required,
                         const void *context) {
  const job *j = context;
  return amped_cpd_sampling_left_outside(session, j->o, required);
}

/* Sets of the plan's columns that saved starts take: while a group runs, the starts of its first R
 * from the first on, and the starts of later R in the group. */
static int saved_sets(const amped_options *o, const amped_groups *groups, int ncomps) {
  uint64_t most = 0;
  for (int first = 0; first < groups->models; first = groups->ends[first]) {
    uint64_t columns = 0;
    for (int k = first - first % o->session.starts; k < groups->ends[first]; k++)
      columns += (uint64_t)groups->ncomps[k];
    most = columns > most ? columns : most;
  }
  return (int)amped_ceil_div(most, (uint64_t)ncomps);
}

/* Add the bytes of the group that takes the most. */
static void require_models(const job *j, const amped_plan *plan, uint64_t *device_bytes,
                           uint64_t *host_bytes) {
  const amped_worker *worker = &j->session->worker;
  const amped_cpd_options *how = &j->o->cpd;
  const amped_groups *groups = &j->session->groups;
  uint64_t device = 0;
  uint64_t host = 0;
  int widest = 0;
  for (int first = 0; first < groups->models; first = groups->ends[first]) {
    uint64_t sum[2] = {0, 0};
    for (int k = first; k < groups->ends[first]; k++) {
      amped_plan own = *plan;
      amped_plan_set_ncomps(&own, groups->ncomps[k]);
      amped_cpd_method_of(how)->require(worker, &own, how, &sum[0], &sum[1]);
      widest = groups->ncomps[k] > widest ? groups->ncomps[k] : widest;
    }
    device = sum[0] > device ? sum[0] : device;
    host = sum[1] > host ? sum[1] : host;
  }
  *device_bytes += device;
  *host_bytes += host;
  if (groups->largest > 1)
    amped_columns_require(worker, plan, widest, device_bytes, host_bytes);
}

static void solver_rows(const amped_plan *plan, const void *context, amped_memory_rows *rows) {
  const job *j = context;
  const amped_options *o = j->o;
  const amped_groups *groups = &j->session->groups;
  const bool saves = groups->models > 1 && (o->session.starts > 1 || groups->largest > 1);
  amped_memory_row_add(rows, "factors of finished starts")->host_bytes += amped_multistart_bytes(
      plan, saves ? saved_sets(o, groups, plan->ncomps) : 0, o->cpd.corcondia);
  amped_memory_row_add(rows, "residual of a fit near 1")->host_bytes +=
      amped_residual_host_bytes(plan);
  amped_memory_row *fixed = amped_memory_row_add(rows, "fixed factors");
  for (int m = 0; m < plan->order && plan->rank == 0; m++)
    if (amped_fixed_modes_has(&o->cpd.fixed, m))
      fixed->host_bytes += plan->dims[m] * (uint64_t)plan->ncomps * sizeof(double);
  amped_memory_row *solver = amped_memory_row_add(rows, "solver");
  require_models(j, plan, &solver->device_bytes, &solver->host_bytes);
  amped_memory_row *sampling = amped_memory_row_add(rows, "block sampling");
  amped_cpd_sampling_require(&j->session->worker, o, plan, &sampling->device_bytes,
                             &sampling->host_bytes);
}

/* Advise the dense form if it would take less time for this sparse tensor. */
static void say_form(const amped_session *session, const amped_cpd_options *cpd) {
  const amped_tensor_info *info = amped_session_info(session);
  const double density = amped_form_density(info->order, info->dims, info->nnz);
  if (cpd->loss == AMPED_LOSS_SQUARES && !session->is_dense &&
      session->options->shape.name == NULL && !amped_tensor_info_repeats(info) &&
      density > HINT_DENSITY)
    amped_note("note: %.3g %% of the cells are stored; amped_mpi convert --dense makes a dense "
               "tensor of it, which takes less time",
               100.0 * density);
}

/* Are all values whole numbers above 0? False if there are too many distinct ones to know. */
static bool are_counts(const amped_dictionary *d) {
  bool whole = d->count > 1 && d->values[0] > 0.0;
  for (uint64_t i = 0; i < d->count && whole; i++)
    whole = d->values[i] == floor(d->values[i]);
  return whole;
}

/* Advise the loss for counts. */
static void say_counts(const amped_session *session, const amped_cpd_options *cpd) {
  if (!session->is_dense && session->options->shape.name == NULL &&
      amped_row_rule_is_plain(&cpd->rule) && are_counts(&amped_session_info(session)->dictionary))
    amped_note(
        "note: the values are whole numbers; if they are counts, --loss=poisson fits them as "
        "counts, with components that add up to them");
}

/* Take what --loss=poisson implies: no entry is negative, and a dense tensor is read as the list of
 * its cells. */
static void take_loss(amped_options *o) {
  if (o->cpd.loss != AMPED_LOSS_POISSON)
    return;
  o->cpd.rule.nonnegative = AMPED_ALL_MODES;
  o->session.lists_cells = true;
}

/* Most models side by side; 0: the number that costs the least time. A limit of time is about one
 * model's sweeps. */
static int most_side_by_side(const amped_options *o) {
  const bool can = amped_cpd_method_of(&o->cpd)->run_all != NULL && !(o->cpd.seconds > 0.0);
  return can ? o->session.side_by_side : 1;
}

amped_status amped_cmd_cpd(const amped_options *options) {
  amped_session session;
  amped_options own = *options;
  const amped_options *o = &own;
  const bool counts = o->cpd.loss == AMPED_LOSS_POISSON;
  amped_labels labels[AMPED_MAX_ORDER] = {{.count = 0}};
  job j = {
      .session = &session, .own = &own, .o = o, .labels = labels, .has_labels = &(bool){false}};
  const bool saves_two = o->checkpoint.file != NULL && o->cpd.accelerate != AMPED_ACCELERATE_NONE;
  /* Factor sets that rank 0 holds while it writes: one for a checkpoint or the result, and a second
   * for checkpoints of accelerated sweeps, which have the factors of the sweep before. */
  const amped_demand demand = {.result_bytes = saves_two ? 2 * sizeof(double)
                                               : o->nowrite && o->checkpoint.file == NULL
                                                   ? 0
                                                   : sizeof(double),
                               .solver_rows = solver_rows,
                               .watches_negative = o->cpd.rule.nonnegative != 0,
                               .takes_cells = true,
                               .left_outside = left_outside,
                               .takes_one_copy = !counts,
                               .has_models = true,
                               .side_by_side = most_side_by_side(o),
                               .sweep_passes = amped_cpd_method_of(&o->cpd)->sweep_passes,
                               .sweeps = o->cpd.iters,
                               .check = check_plan,
                               .context = &j};
  amped_status status = AMPED_OK;
  own.session.keeps_result = !o->nowrite && !o->session.plan_only;
  AMPED_TRY(amped_cpd_outputs_check_names(o));
  take_loss(&own);
  if (!o->checkpoint.result_on_signal && o->checkpoint.file == NULL && !amped_cpd_is_several(o))
    amped_signals_advise(" (--checkpoint=FILE or --on-signal=result would save the sweeps)");
  if (amped_launcher_rank() <= 0)
    status = amped_cpd_outputs_look(o, &j.outputs);
  if (status == AMPED_OK && o->checkpoint.resume && amped_launcher_rank() <= 0)
    status = amped_cpd_outputs_probe(o);
  status = amped_session_start(&session, &o->session, status);
  if (status == AMPED_OK)
    status = amped_comm_agree(
        &session.comm, session.comm.rank == 0 ? amped_cpd_outputs_lock(&j.outputs) : AMPED_OK);
  if (status == AMPED_OK)
    status =
        amped_init_file_set_ncomps(&session.comm, amped_option_rules_hold(o, "rank"), &own.session);
  if (status == AMPED_OK)
    status = amped_session_prepare(&session, &demand);
  if (status == AMPED_OK && session.is_dense && !o->session.plan_only)
    status = amped_comm_agree(
        &session.comm, amped_cpd_outputs_compare(o, &j.outputs, amped_session_info(&session)));
  if (status == AMPED_OK) {
    say_form(&session, &o->cpd);
    say_counts(&session, &o->cpd);
  }
  j.rows_key = amped_row_rule_key(&o->cpd.rule, session.plan.order, j.rows_text);
  if (status == AMPED_OK && o->session.shape.name != NULL)
    amped_warn("the random tensor like %s has repeated cells, and its norm counts each of them: "
               "fits are too high, up to 1; use this run for its times only",
               o->session.shape.name);
  if (status == AMPED_OK && !o->session.plan_only)
    status = check_repeats(&j);
  if (status == AMPED_OK)
    status = o->session.plan_only ? amped_cpd_sampling_set(&session, o, &j.rbs) : decompose_all(&j);
  status = amped_session_finish(&session, status);
  amped_cpd_outputs_free(&j.outputs);
  amped_fixed_model_free(&j.fixed);
  amped_ktensor_free(&j.start);
  amped_session_close(&session);
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    amped_labels_free(&labels[m]);
  return status;
}
