/* Complete init: what `complete` takes from the model of --init: R, the start of factors, and with
 * --fix also factors that stay, mean, scale, biases and context modes.
 *
 * Functions are collective, and their statuses are agreed. */
#ifndef AMPED_COMPLETE_INIT_H
#define AMPED_COMPLETE_INIT_H

#include "base/option.h"
#include "cli/options.h"
#include "session/fixed_model.h"
#include "solver/complete/complete_problem.h"

/* Parts of a model that new rows share with it. */
typedef struct amped_known_model {
  bool completes; /* false: the model is a plain decomposition */
  bool biased;
  bool implicit;
  bool context[AMPED_MAX_ORDER];
  int order;
  double mean, scale;
} amped_known_model;

typedef struct amped_complete_init {
  amped_known_model known;          /* --fix: the model of --init */
  char context[AMPED_OPTION_CHARS]; /* its context modes, as an option */
  amped_fixed_model fixed;          /* factors of --fix */
  amped_ktensor first;              /* rank 0: start of --fix; order 0: another start */
  amped_completion of_first;        /* rank 0: the model that it is of */
  bool reported;                    /* rank 0: --init was checked for entries held out here */
} amped_complete_init;

/* free accepts a zeroed struct. */
void amped_complete_init_free(amped_complete_init *init);

/* Before the plan is made. Without --rank, the file of --init gives R. With --fix, its model gives
 * mean, scale, biases and context modes: they go to the options, which keep a pointer to
 * init->context. session: the options' session, with the column of biases. */
amped_status amped_complete_init_take(amped_complete_init *init, const amped_comm *comm,
                                      amped_options *options, amped_session_options *session);

/* Read the factors of --fix, if it is given, and the start of the others. labels: the tensor's, on
 * rank 0. The modes of the problem are known. */
amped_status amped_complete_init_fix(amped_complete_init *init, amped_session *session,
                                     const amped_options *options, const amped_labels *labels,
                                     const amped_complete_start *start, amped_complete_problem *p);

/* Start a run from the model of --init. Warns once if that may have learnt entries that are held
 * out here. */
amped_status amped_complete_init_start(amped_complete_init *init, const amped_session *session,
                                       const amped_labels *labels,
                                       const amped_complete_start *start,
                                       const amped_complete_problem *p);

#endif
