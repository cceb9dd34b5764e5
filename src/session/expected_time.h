/* Expected time: seconds of a sweep, for --plan. Rates of gathers, memory and arithmetic are
 * measured in a short test; the rate of streams is a constant (plan/format_choice.h). A sparse
 * tensor takes the gathers of its MTTKRPs and the work on factor rows, a dense one its passes.
 * Nonzeros that share rows take less than their gathers, and tensors of a few thousand nonzeros
 * more, as launches, threads and exchange are not counted. */
#ifndef AMPED_EXPECTED_TIME_H
#define AMPED_EXPECTED_TIME_H

#include "session/session.h"

/* Collective, after the plan is made and before the tensor is loaded; the status is agreed. *sec:
 * seconds in which all models of the run make a sweep, if each mode of it takes as long as `passes`
 * MTTKRPs; 0: a rate is not known. The same on every rank. */
amped_status amped_expected_time(const amped_session *session, double passes, double *sec);

#endif
