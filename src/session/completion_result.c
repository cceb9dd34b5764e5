/* Gathers the best model of a completion on rank 0, with the options that determine it. */
#include "session/completion_result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/facts.h"
#include "solver/complete/row_counts.h"
#include "tensor/format.h"

/* The options that determine a result, as JSON text that the caller frees. NULL: out of memory. */
static char *options_text(const amped_session *session, const amped_complete_problem *p,
                          uint64_t seed) {
  static const char *const biases[] = {"auto", "full", "mean", "none"};
  const amped_session_options *o = session->options;
  const amped_complete_options *c = p->options;
  const bool implicit = c->implicit > 0.0;
  amped_facts f;
  amped_facts_begin(&f, NULL);
  amped_fact_json(&f, "rank", json_integer(session->plan.ncomps - (p->fit.biased ? 1 : 0)));
  amped_fact_json(&f, "iters", amped_json_count(p->iters));
  amped_fact_json(&f, "tol", amped_json_number(p->tol));
  amped_fact_json(&f, "patience", json_integer(c->patience));
  amped_fact_json(&f, "time", amped_json_number(c->seconds));
  amped_fact_json(&f, "seed", amped_json_count(seed));
  amped_fact_json(&f, "starts", json_integer(o->starts));
  amped_fact_json(&f, "init", amped_json_string(amped_init_name(o)));
  amped_fact_json(&f, "fix", amped_json_string(o->fix));
  amped_fact_json(&f, "reg", amped_json_numbers(c->reg, c->reg_count)); /* empty: auto */
  amped_fact_json(&f, "reg_power", amped_json_number(c->reg_power));
  amped_fact_json(&f, "reg_bias", amped_json_number(c->reg_bias));
  amped_fact_json(&f, "bias", json_string(biases[c->bias]));
  amped_fact_json(&f, "context", amped_json_string(c->context_modes));
  amped_fact_json(&f, "nonnegative", amped_json_string(c->nonnegative));
  amped_fact_json(&f, "holdout", amped_json_number(c->holdout));
  amped_fact_json(&f, "split_seed", amped_json_count(c->split_seed));
  amped_fact_json(&f, "holdout_by", amped_json_string(c->holdout_by));
  amped_fact_json(&f, "validate", amped_json_string(c->validate));
  amped_fact_json(&f, "test", json_array());
  for (int i = 0; i < c->test.count; i++)
    amped_fact_item(&f, "test", amped_json_string(c->test.texts[i]));
  amped_fact_json(&f, "weights", amped_json_string(c->weights));
  amped_fact_json(&f, "entries", amped_json_count(p->learnt + p->held));
  amped_fact_json(&f, "ignored", amped_json_count(p->ignored)); /* entries of weight 0 */
  amped_fact_json(&f, "implicit", amped_json_number(c->implicit));
  amped_fact_json(&f, "of", implicit ? json_integer(p->ranked + 1) : json_null());
  amped_fact_json(&f, "order", json_string(c->random_order ? "random" : "cyclic"));
  amped_fact_json(&f, "backend", json_string(session->worker.backend->name));
  amped_fact_json(&f, "precision", json_string(amped_vtype_name(o->precision)));
  amped_fact_json(&f, "nranks", json_integer(session->comm.nranks));
  amped_fact_json(&f, "placement", json_string(amped_placement_names[o->plan.placement]));
  return amped_facts_text(&f);
}

/* Rank 0: create the result, all of it except the factors. */
static amped_status begin(const amped_session *session, const amped_complete_problem *p,
                          const amped_complete_best *best, const amped_labels *labels,
                          amped_completion_result *r) {
  const amped_plan *plan = &session->plan;
  const int components = plan->ncomps - (p->fit.biased ? 1 : 0);
  amped_completion *c = &r->completion;
  AMPED_TRY(amped_ktensor_create(&r->model, plan->order, plan->dims, components));
  memcpy(r->model.labels, labels, sizeof r->model.labels); /* borrowed */
  AMPED_TRY(amped_completion_create(c, plan->order, plan->dims, p->fit.biased));
  c->mean = p->mean;
  c->scale = p->scale;
  c->reg = best->sweep.reg;
  c->implicit = p->fit.implicit;
  c->split_seed = p->options->split_seed;
  c->holdout = p->options->holdout;
  memcpy(c->fibres, p->fibres, sizeof c->fibres);
  c->best_sweep = best->number;
  for (int m = 0; m < plan->order; m++)
    c->context[m] = p->fit.prior[m] != 0.0;
  for (int s = 0; s < AMPED_COMPLETION_SETS; s++)
    if (best->errors[s].count > 0)
      AMPED_TRY(amped_completion_set_errors(c, s, best->errors[s].values, best->errors[s].count));
  r->record = (amped_run_record){.input = session->options->input,
                                 .input_norm = sqrt(plan->norm_squared),
                                 .input_hash = amped_session_info(session)->hash,
                                 .duplicates = amped_session_info(session)->duplicates,
                                 .seed = p->seed + (uint64_t)best->sweep.start,
                                 .stop_reason = best->stop_reason,
                                 .metric = amped_complete_solver_of(p)->metric,
                                 .fixed = p->fixed.modes,
                                 .nonnegative = p->nonnegative,
                                 .completion = c};
  r->options = options_text(session, p, r->record.seed);
  r->record.options = r->options;
  return r->options != NULL ? AMPED_OK
                            : amped_error(AMPED_FAILED, NULL, "out of memory for the run's record");
}

/* Rank 0: split whole rows into components and biases. Fixed modes get the components and
 * biases of their model. */
static amped_status split(const amped_ktensor *rows, const amped_fixed_model *fixed,
                          amped_completion_result *r) {
  const uint64_t n = (uint64_t)rows->ncomps;
  const uint64_t components = (uint64_t)r->model.ncomps;
  for (uint64_t k = 0; k < components; k++)
    r->model.weights[k] = 1.0;
  for (int m = 0; m < rows->order; m++)
    for (uint64_t i = 0; i < rows->dims[m]; i++) {
      memcpy(r->model.factors[m] + i * components, rows->factors[m] + i * n,
             components * sizeof(double));
      if (n > components)
        r->completion.bias[m][i] = rows->factors[m][i * n + components];
    }
  AMPED_TRY(amped_completion_normalise(&r->completion, fixed->modes, &r->model));
  amped_fixed_model_lend(fixed, &r->model);
  r->fixed = fixed;
  return amped_fixed_model_complete(fixed, &r->completion);
}

/* Rank 0: mark the rows that have a training entry. */
static amped_status set_observed(const amped_plan *plan, const amped_row_counts *counts,
                                 amped_completion *c) {
  AMPED_TRY(amped_completion_begin_observed(c));
  for (int m = 0; m < plan->order; m++)
    for (uint64_t i = 0; i < plan->dims[m]; i++)
      c->observed[m][i] = counts->all[m][amped_plan_position(plan, m, i)] > 0.0;
  return AMPED_OK;
}

/* Collective; the status is agreed. Mark the rows that have a training entry. known: their counts;
 * NULL: not found yet. */
static amped_status find_observed(const amped_context *context, const amped_row_counts *known,
                                  amped_completion *c) {
  amped_row_counts counts = {{NULL}, {NULL}};
  amped_status status = AMPED_OK;
  if (known == NULL)
    AMPED_TRY(amped_row_counts_find(context, &counts));
  if (context->comm->rank == 0)
    status = set_observed(context->plan, known != NULL ? known : &counts, c);
  amped_row_counts_free(&counts);
  return amped_comm_agree(context->comm, status);
}

amped_status amped_completion_result_gather(const amped_session *session,
                                            const amped_fixed_model *fixed,
                                            const amped_complete_problem *problem,
                                            const amped_complete_best *best,
                                            const amped_labels *labels,
                                            amped_completion_result *out) {
  const amped_context context = amped_session_context(session);
  const amped_plan *plan = &session->plan;
  const bool writes = session->comm.rank == 0;
  amped_ktensor rows;
  amped_status status = AMPED_OK;
  memset(out, 0, sizeof *out);
  memset(&rows, 0, sizeof rows);
  if (writes)
    status = begin(session, problem, best, labels, out);
  if (writes && status == AMPED_OK)
    status = amped_ktensor_create(&rows, plan->order, plan->dims, plan->ncomps);
  AMPED_GO(done, amped_comm_agree(&session->comm, status));
  AMPED_GO(done, find_observed(&context, problem->counts, &out->completion));
  AMPED_GO(done, amped_factors_get(&context, &rows));
  if (writes)
    status = split(&rows, fixed, out);
  status = amped_comm_agree(&session->comm, status);
done:
  amped_ktensor_free(&rows);
  return status;
}

void amped_completion_result_free(amped_completion_result *r) {
  if (r->fixed != NULL)
    amped_fixed_model_take_back(r->fixed, &r->model);
  memset(r->model.labels, 0, sizeof r->model.labels); /* labels are borrowed */
  amped_ktensor_free(&r->model);
  amped_completion_free(&r->completion);
  free(r->options);
  memset(r, 0, sizeof *r);
}
