/* CPD methods: the table of methods that find a CP decomposition. A new method is a new row. A loss
 * other than squares has its own method. */
#ifndef AMPED_CPD_METHODS_H
#define AMPED_CPD_METHODS_H

#include "solver/cpd/cpd_als.h"

typedef struct amped_cpd_method {
  const char *name;      /* word of --method; rows are in the order of amped_cpd_method_name. If
                            the loss is not squares: the name in a result's options */
  const char *described; /* description for the user; NULL: none */
  const amped_solver *(*solver)(const amped_cpd_options *how);
  /* MTTKRPs of each mode that take as long as a sweep; 0: not known. */
  double sweep_passes;
  /* Adds the bytes that a run takes in addition to the factors. */
  void (*require)(const amped_worker *worker, const amped_plan *plan, const amped_cpd_options *how,
                  uint64_t *device_bytes, uint64_t *host_bytes);
  /* Collective; the status is agreed; a status from after_sweep is passed on. before: second set of
   * factors of the checkpoint of options->start, if the solver keeps one. The caller frees the
   * result. */
  amped_status (*run)(const amped_context *context, const amped_cpd_options *how,
                      const amped_saved_factors *before, const amped_iterate_options *options,
                      amped_solver_result *result);
  /* Collective: run several models side by side (cpd_als.h). NULL: one model at a time. */
  amped_status (*run_all)(const amped_cpd_options *how, int count, const amped_cpd_model *models,
                          const amped_iterate_hooks *hooks);
} amped_cpd_method;

const amped_cpd_method *amped_cpd_method_of(const amped_cpd_options *how);

/* Returns the name of the loss; static text; NULL for squares. */
const char *amped_loss_name(const amped_cpd_options *how);

#endif
