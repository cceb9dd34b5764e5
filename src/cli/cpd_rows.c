/* Modes and reports of --nonnegative, --ridge and --l1. */
#include "cli/cpd_rows.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "session/report.h"
#include "tensor/format.h"
#include "tensor/mode_names.h"

/* Rank 0: get the modes of --nonnegative as bits. */
static amped_status choose_modes(const amped_cpd_options *o, const amped_labels *labels, int order,
                                 uint64_t *modes) {
  bool chosen[AMPED_MAX_ORDER] = {false};
  *modes = 0;
  AMPED_TRY(amped_mode_list_find("--nonnegative", o->nonnegative, labels, order, chosen));
  for (int m = 0; m < order; m++)
    *modes |= (uint64_t)chosen[m] << m;
  return AMPED_OK;
}

amped_status amped_cpd_rows_find_modes(const amped_session *session, amped_cpd_options *o,
                                       amped_labels *labels, bool *has_labels) {
  const amped_comm *comm = &session->comm;
  uint64_t modes = 0;
  amped_status status = AMPED_OK;
  if (o->nonnegative == NULL || strcmp(o->nonnegative, "all") == 0)
    return AMPED_OK;
  if (!*has_labels) {
    AMPED_TRY(amped_session_labels(session, labels));
    *has_labels = true;
  }
  if (comm->rank == 0)
    status = choose_modes(o, labels, session->plan.order, &modes);
  AMPED_TRY(amped_comm_agree(comm, status));
  amped_comm_broadcast(comm, &modes, sizeof modes);
  o->rule.nonnegative = modes;
  return AMPED_OK;
}

static bool is_zero(const amped_ktensor *k, uint64_t component) {
  const uint64_t n = (uint64_t)k->ncomps;
  bool zero = k->weights[component] == 0.0;
  for (int m = 0; m < k->order && !zero; m++) {
    uint64_t i = 0;
    while (i < k->dims[m] && k->factors[m][i * n + component] == 0.0)
      i++;
    zero = i == k->dims[m];
  }
  return zero;
}

/* Refuse components of zeros. Steps of all factors at once give each mode an equal share of a
 * component's length, which would stay 0. */
static amped_status check_components(const amped_ktensor *start, const char *name) {
  for (uint64_t r = 0; r < (uint64_t)start->ncomps; r++)
    if (is_zero(start, r))
      return amped_error(AMPED_BAD_INPUT, name,
                         "component %" PRIu64 " is zero, and stays so in steps of --method=lm; "
                         "begin with a model without it and a smaller --rank, or leave out --init "
                         "or --method",
                         r + 1);
  return AMPED_OK;
}

amped_status amped_cpd_rows_check_start(const amped_cpd_options *options,
                                        const amped_ktensor *start, const char *name) {
  const amped_row_rule *rule = &options->rule;
  const bool has_weights = options->loss == AMPED_LOSS_POISSON;
  const uint64_t n = (uint64_t)start->ncomps;
  char mode[128];
  for (int m = 0; m < start->order; m++)
    for (uint64_t e = 0; amped_row_rule_is_nonnegative(rule, m) && e < start->dims[m] * n; e++)
      if (start->factors[m][e] < 0.0)
        return amped_error(
            AMPED_BAD_INPUT, name,
            "cannot start a nonnegative model: %s, row %" PRIu64 ", component %" PRIu64
            " is negative; begin with a nonnegative model, or without --init",
            amped_format_mode(mode, sizeof mode, m, &start->labels[m]), e / n + 1, e % n + 1);
  for (uint64_t r = 0; has_weights && r < n; r++)
    if (start->weights[r] < 0.0)
      return amped_error(AMPED_BAD_INPUT, name,
                         "cannot start a nonnegative model: the weight of component %" PRIu64
                         " is negative; begin with a nonnegative model, or without --init",
                         r + 1);
  return options->method == AMPED_CPD_LM ? check_components(start, name) : AMPED_OK;
}

/* --- the start -------------------------------------------------------------------------------- */

static json_t *json_modes(const amped_row_rule *rule, int order) {
  json_t *modes = json_array();
  for (int m = 0; m < order; m++)
    if (amped_row_rule_is_nonnegative(rule, m))
      (void)json_array_append_new(modes, json_integer(m + 1));
  return modes;
}

amped_status amped_cpd_rows_tell_start(amped_session *session, const amped_row_rule *rule) {
  const int order = session->plan.order;
  const double share = session->negative_squares / session->plan.norm_squared;
  char objective[AMPED_ROW_RULE_TEXT];
  char modes[AMPED_ROW_RULE_TEXT];
  bool all = true;
  amped_facts f;
  if (amped_row_rule_is_plain(rule))
    return AMPED_OK;
  for (int m = 0; m < order; m++)
    all = all && amped_row_rule_is_nonnegative(rule, m);
  amped_row_rule_objective(rule, objective);
  amped_facts_begin(&f, "objective");
  amped_fact(&f, "objective", json_string(objective), "minimises %s", objective);
  amped_fact(&f, "nonnegative", json_modes(rule, order), "%s%s",
             rule->nonnegative != 0 ? "; no negative entries in the factors of modes " : "",
             amped_row_rule_modes(rule, order, modes));
  amped_fact_json(&f, "ridge", amped_json_number(rule->ridge));
  amped_fact_json(&f, "l1", amped_json_number(rule->l1));
  amped_fact_json(&f, "negative_share", amped_json_number(share));
  amped_facts_say(&f);
  if (all && share > 0.0)
    amped_warn("the tensor has negative values, %.3g %% of its squared norm, which a nonnegative "
               "model cannot fit",
               100.0 * share);
  return amped_comm_agree(&session->comm, amped_facts_write(&f, session->json));
}
