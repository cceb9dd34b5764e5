/* Gathers the result of a decomposition on rank 0, with the options that determine it. */
#include "session/run_result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/facts.h"
#include "solver/cpd/cpd_methods.h"
#include "tensor/format.h"

/* The options that determine a result, as JSON text that the caller frees. NULL: out of memory. */
static char *options_text(const amped_session *session, const amped_cpd_options *cpd,
                          const amped_run_record *record) {
  const amped_session_options *o = session->options;
  char rows[AMPED_ROW_RULE_TEXT];
  amped_facts f;
  amped_facts_begin(&f, NULL);
  amped_fact_json(&f, "rank", json_integer(session->plan.ncomps));
  amped_fact_json(&f, "iters", amped_json_count(cpd->iters));
  amped_fact_json(&f, "tol", amped_json_number(cpd->tol));
  amped_fact_json(&f, "stop_fit",
                  amped_json_number(cpd->stop_fit > 0.0 ? cpd->stop_fit : (double)NAN));
  amped_fact_json(&f, "seed", amped_json_count(record->seed));
  amped_fact_json(&f, "starts", json_integer(o->starts));
  amped_fact_json(&f, "init", amped_json_string(record->init));
  amped_fact_json(&f, "fix", amped_json_string(o->fix));
  amped_fact_json(&f, "backend", json_string(session->worker.backend->name));
  amped_fact_json(&f, "precision", json_string(amped_vtype_name(o->precision)));
  amped_fact_json(&f, "nranks", json_integer(session->comm.nranks));
  amped_fact_json(&f, "read", json_string(session->read_parallel ? "parallel" : "root"));
  amped_fact_json(&f, "placement", json_string(amped_placement_names[o->plan.placement]));
  amped_fact_json(&f, "loss", amped_json_string(amped_loss_name(cpd)));
  amped_fact_json(&f, "method", json_string(amped_cpd_method_of(cpd)->name));
  amped_fact_json(&f, "accelerate", amped_json_string(amped_accelerate_name(cpd->accelerate)));
  amped_fact_json(&f, "rows",
                  amped_json_string(amped_row_rule_key(&cpd->rule, session->plan.order, rows)));
  return amped_facts_text(&f);
}

/* Rank 0: allocate the model, and fill all of the result except the factors. */
static amped_status begin(const amped_session *session, const amped_cpd_options *options,
                          const double *weights, const amped_labels *labels, amped_run_result *r) {
  const amped_plan *plan = &session->plan;
  AMPED_TRY(amped_ktensor_create(&r->model, plan->order, plan->dims, plan->ncomps));
  memcpy(r->model.weights, weights, (size_t)plan->ncomps * sizeof *weights);
  memcpy(r->model.labels, labels, sizeof r->model.labels); /* borrowed */
  r->options = options_text(session, options, &r->record);
  if (r->options == NULL)
    return amped_error(AMPED_FAILED, NULL, "out of memory for the run's record");
  r->record.input = session->options->input;
  r->record.input_norm = sqrt(plan->norm_squared);
  r->record.input_hash = amped_session_info(session)->hash;
  r->record.duplicates = amped_session_info(session)->duplicates;
  r->record.options = r->options;
  r->record.nonnegative = options->rule.nonnegative;
  r->record.loss = amped_loss_name(options);
  return AMPED_OK;
}

amped_status amped_run_result_gather(const amped_session *session, const amped_cpd_options *options,
                                     const amped_fixed_model *fixed, const amped_run_record *record,
                                     const double *weights, const amped_labels *labels,
                                     amped_run_result *out) {
  const amped_context context = amped_session_context(session);
  amped_status status = AMPED_OK;
  memset(out, 0, sizeof *out);
  out->record = *record;
  out->record.fixed = fixed->modes;
  if (session->comm.rank == 0)
    status = begin(session, options, weights, labels, out);
  AMPED_TRY(amped_comm_agree(&session->comm, status));
  AMPED_TRY(amped_factors_get(&context, &out->model));
  if (session->comm.rank == 0 && options->loss == AMPED_LOSS_POISSON)
    amped_ktensor_sum_to_one(&out->model);
  if (session->comm.rank == 0)
    amped_fixed_model_lend(fixed, &out->model);
  out->fixed = fixed;
  return AMPED_OK;
}

void amped_run_result_free(amped_run_result *r) {
  if (r->fixed != NULL)
    amped_fixed_model_take_back(r->fixed, &r->model);
  memset(r->model.labels, 0, sizeof r->model.labels); /* labels are borrowed */
  amped_ktensor_free(&r->model);
  free(r->options);
  memset(r, 0, sizeof *r);
}
