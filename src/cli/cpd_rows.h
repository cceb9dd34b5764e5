/* CPD rows: checks and reports of cpd for a row rule (solver/cpd/row_rule.h). A plain rule has no
 * reports. */
#ifndef AMPED_CPD_ROWS_H
#define AMPED_CPD_ROWS_H

#include "session/session.h"
#include "solver/cpd/cpd_options.h"
#include "solver/iterate.h"

/* Collective, after the plan is made; the status is agreed. Puts the modes of --nonnegative into
 * options->rule. If a mode is given by name and *has_labels is false, reads the labels and sets it.
 * AMPED_USAGE: the tensor has no such mode. */
amped_status amped_cpd_rows_find_modes(const amped_session *session, amped_cpd_options *options,
                                       amped_labels *labels, bool *has_labels);

/* Returns AMPED_BAD_INPUT if the start has a negative entry in a nonnegative mode. With the loss
 * for counts, also if it has a negative weight: other losses use no weights of a start. With
 * --method=lm, if a component is zero. name: the start's file. */
amped_status amped_cpd_rows_check_start(const amped_cpd_options *options,
                                        const amped_ktensor *start, const char *name);

/* Collective, after the tensor is loaded; the status is agreed. Reports the objective, and warns
 * about negative values that a nonnegative model cannot reach. */
amped_status amped_cpd_rows_tell_start(amped_session *session, const amped_row_rule *rule);

#endif
