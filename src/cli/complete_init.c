/* Complete init: parts of the model, then its factors. */
#include "cli/complete_init.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "cli/option_rules.h"
#include "formats/completion_file.h"
#include "formats/result_file.h"
#include "session/init_file.h"

void amped_complete_init_free(amped_complete_init *init) {
  amped_fixed_model_free(&init->fixed);
  amped_completion_free(&init->of_first);
  amped_ktensor_free(&init->first);
}

/* --- before the plan ------------------------------------------------------------------------- */

/* Rank 0: read the model's parts. A plain decomposition has no mean and no biases. */
static amped_status read_known(const char *path, amped_known_model *out) {
  amped_ktensor shape = {.order = 0};
  amped_completion c = {.order = 0};
  AMPED_TRY(amped_result_file_read_shape(path, &shape));
  const amped_status status = amped_completion_file_read(path, shape.order, shape.dims, false, &c);
  if (status == AMPED_OK) {
    *out = (amped_known_model){.completes = c.order > 0,
                               .biased = c.biased,
                               .implicit = c.implicit > 0.0,
                               .order = shape.order,
                               .mean = c.mean,
                               .scale = c.order > 0 ? c.scale : 1.0};
    memcpy(out->context, c.context, sizeof out->context);
  }
  amped_completion_free(&c);
  return status;
}

/* Take the biases of the model, which the user may have named. */
static amped_status take_bias(const amped_known_model *k, amped_options *options,
                              amped_session_options *session) {
  static const char *const names[] = {
      [AMPED_BIAS_FULL] = "full", [AMPED_BIAS_MEAN] = "mean", [AMPED_BIAS_NONE] = "none"};
  const char *path = options->session.init;
  const amped_bias bias = k->biased        ? AMPED_BIAS_FULL
                          : k->mean != 0.0 ? AMPED_BIAS_MEAN
                                           : AMPED_BIAS_NONE;
  if (k->completes && k->implicit != (options->complete.implicit > 0.0))
    return amped_error(AMPED_BAD_INPUT, path,
                       k->implicit
                           ? "is a model of --implicit; add that, as --fix keeps its factors"
                           : "is no model of --implicit; leave that out, as --fix keeps its "
                             "factors");
  if (amped_option_rules_hold(options, "bias") && bias != options->complete.bias)
    return amped_error(
        AMPED_BAD_INPUT, path,
        "is a model with --bias=%s, which --fix keeps; use that, or leave out --bias", names[bias]);
  options->complete.bias = bias;
  session->biased = bias == AMPED_BIAS_FULL;
  return AMPED_OK;
}

/* Take the context modes of the model, unless the user names others. */
static void take_context(amped_complete_init *init, amped_options *options) {
  int used = 0;
  if (!init->known.completes || amped_option_rules_hold(options, "context"))
    return;
  for (int m = 0; m < init->known.order; m++)
    if (init->known.context[m])
      used += snprintf(init->context + used, sizeof init->context - (size_t)used, "%s%d",
                       used > 0 ? "," : "", m + 1);
  options->complete.context_modes = used > 0 ? init->context : "none";
}

amped_status amped_complete_init_take(amped_complete_init *init, const amped_comm *comm,
                                      amped_options *options, amped_session_options *session) {
  amped_session_options *own = &options->session;
  amped_status status = AMPED_OK;
  AMPED_TRY(amped_init_file_set_ncomps(comm, amped_option_rules_hold(options, "rank"), own));
  session->ncomps = own->ncomps;
  session->ncomps_count = own->ncomps_count;
  memcpy(session->ncomps_list, own->ncomps_list, sizeof session->ncomps_list);
  if (own->fix == NULL)
    return AMPED_OK;
  if (comm->rank == 0)
    status = read_known(own->init, &init->known);
  AMPED_TRY(amped_comm_agree(comm, status));
  amped_comm_broadcast(comm, &init->known, sizeof init->known);
  AMPED_TRY(amped_comm_agree(comm, take_bias(&init->known, options, session)));
  take_context(init, options);
  return AMPED_OK;
}

/* --- factors --------------------------------------------------------------------------------- */

/* Rank 0: components and biases side by side. */
static amped_status widen(const amped_plan *plan, const amped_ktensor *start,
                          const amped_completion *model, amped_ktensor *out) {
  const uint64_t n = (uint64_t)plan->ncomps;
  const uint64_t from = (uint64_t)start->ncomps;
  AMPED_TRY(amped_ktensor_create(out, plan->order, plan->dims, plan->ncomps));
  for (uint64_t r = 0; r < n; r++)
    out->weights[r] = 1.0;
  for (int m = 0; m < plan->order; m++)
    for (uint64_t i = 0; i < plan->dims[m]; i++) {
      memcpy(out->factors[m] + i * n, start->factors[m] + i * from, from * sizeof(double));
      if (n > from)
        out->factors[m][i * n + from] = model->order > 0 && model->biased ? model->bias[m][i] : 0.0;
    }
  return AMPED_OK;
}

amped_status amped_complete_init_fix(amped_complete_init *init, amped_session *session,
                                     const amped_options *options, const amped_labels *labels,
                                     const amped_complete_start *start, amped_complete_problem *p) {
  const char *fix = options->session.fix;
  amped_fixed_request request = {.nonnegative = p->nonnegative,
                                 .outside = options->complete.implicit > 0.0,
                                 .context = start->context};
  amped_ktensor first = {.order = 0};
  if (fix == NULL)
    return AMPED_OK;
  AMPED_TRY(amped_fixed_model_find_modes(session, fix, labels, &request.modes));
  amped_status status =
      amped_fixed_model_read(session, &request, labels, &init->fixed, &first, &init->of_first);
  if (status == AMPED_OK) {
    if (session->comm.rank == 0)
      status = widen(&session->plan, &first, &init->of_first, &init->first);
    status = amped_comm_agree(&session->comm, status);
  }
  p->fixed = amped_fixed_model_modes(&init->fixed);
  p->mean = init->known.mean;
  p->scale = init->known.scale;
  amped_ktensor_free(&first);
  return status;
}

/* Rank 0: warn if the model of --init may have learnt entries that are held out here, because its
 * tensor or its hold-out differs. */
static void warn_of_learnt(amped_complete_init *init, const amped_session *session,
                           const amped_complete_problem *p, const amped_completion *model) {
  const bool by_hash = p->validate == NULL && p->options->holdout > 0.0;
  const bool same_input =
      model->order > 0 && model->input_hash == amped_session_info(session)->hash;
  const bool same_split = model->order > 0 && model->holdout == p->options->holdout &&
                          model->split_seed == p->options->split_seed &&
                          memcmp(model->fibres, p->fibres, sizeof p->fibres) == 0;
  const bool judged = by_hash || p->validate != NULL || p->test != NULL;
  if (judged && !init->reported && !(same_input && (same_split || !by_hash)))
    amped_warn(
        "%s: its model may have learnt entries that are held out here, because its tensor, "
        "--holdout, --holdout-by or --split-seed was different: reported errors may be too low",
        session->options->init);
  init->reported = true;
}

/* Rank 0: read --init. *out gets components and biases side by side, in the column lengths from
 * which sweeps continue. */
static amped_status read_start(amped_complete_init *init, const amped_session *session,
                               const amped_labels *labels, const amped_complete_start *start,
                               const amped_complete_problem *p, amped_ktensor *out) {
  const amped_plan *plan = &session->plan;
  const int components = plan->ncomps - (start->biased ? 1 : 0);
  amped_completion model = {.order = 0};
  amped_ktensor factors;
  amped_status status = AMPED_OK;
  memset(&factors, 0, sizeof factors);
  AMPED_GO(done, amped_init_file_read(session->options, plan, labels, components, NULL, &factors,
                                      &model));
  warn_of_learnt(init, session, p, &model);
  amped_completion_stretch(&model, start->context, &factors, NULL);
  status = widen(plan, &factors, &model, out);
done:
  amped_completion_free(&model);
  amped_ktensor_free(&factors);
  return status;
}

amped_status amped_complete_init_start(amped_complete_init *init, const amped_session *session,
                                       const amped_labels *labels,
                                       const amped_complete_start *start,
                                       const amped_complete_problem *p) {
  const amped_context context = amped_session_context(session);
  const bool is_root = session->comm.rank == 0;
  amped_ktensor factors;
  amped_status status = AMPED_OK;
  if (init->fixed.modes != 0) {
    if (is_root)
      warn_of_learnt(init, session, p, &init->of_first);
    return amped_factors_put(&context, &init->first);
  }
  memset(&factors, 0, sizeof factors);
  if (is_root)
    status = read_start(init, session, labels, start, p, &factors);
  status = amped_comm_agree(&session->comm, status);
  if (status == AMPED_OK)
    status = amped_factors_put(&context, &factors);
  amped_ktensor_free(&factors);
  return status;
}
