/* CPD rows: what cpd checks and tells of a row rule (solver/row_rule.h). Nothing of a plain one. */
#ifndef AMPED_CPD_ROWS_H
#define AMPED_CPD_ROWS_H

#include "session/session.h"
#include "solver/cpd_options.h"
#include "solver/iterate.h"

/* AMPED_USAGE where the options exclude each other. */
amped_status amped_cpd_rows_check(const amped_cpd_options *options);

/* Collective, once the plan is made; the status is agreed: the modes of --nonnegative, into
 * options->rule. Where one is named, the labels are read that *has_labels does not yet tell of.
 * AMPED_USAGE: the tensor has no such mode. */
amped_status amped_cpd_rows_find_modes(const amped_session *session, amped_cpd_options *options,
                                       amped_labels *labels, bool *has_labels);

/* AMPED_BAD_INPUT where the start, of a file of that name, is negative in a mode that may not be.
 */
amped_status amped_cpd_rows_check_start(const amped_row_rule *rule, const amped_ktensor *start,
                                        const char *name);

/* Collective, when the tensor is loaded; the status is agreed: the objective, and negative values
 * that a nonnegative model does not reach. */
amped_status amped_cpd_rows_tell_start(amped_session *session, const amped_row_rule *rule);

/* Rank 0: a line at the end; and the same for JSON, null of a plain rule. */
void amped_cpd_rows_say_end(const amped_session *session, const amped_solver_result *result);
json_t *amped_cpd_rows_json(const amped_session *session, const amped_solver_result *result);

#endif
