/* CPD methods: the ways to find a CP decomposition. A further one is a row of the table. */
#ifndef AMPED_CPD_METHODS_H
#define AMPED_CPD_METHODS_H

#include "solver/cpd_als.h"

typedef struct amped_cpd_method {
  const char *name;      /* as the user says it; the order is that of amped_cpd_method_name */
  const char *described; /* for the user; NULL where nothing needs to be said */
  const amped_solver *(*solver)(const amped_cpd_options *how);
  /* Adds the bytes that a run takes beside the factors. */
  void (*require)(const amped_worker *worker, const amped_plan *plan, const amped_cpd_options *how,
                  uint64_t *device_bytes, uint64_t *host_bytes);
  /* Collective; the status is agreed; a status of after_sweep is passed on. before: of a checkpoint
   * that options->start is of, the second set of factors, where the solver keeps one. The caller
   * frees the result. */
  amped_status (*run)(const amped_context *context, const amped_cpd_options *how,
                      const amped_saved_factors *before, const amped_iterate_options *options,
                      amped_solver_result *result);
} amped_cpd_method;

const amped_cpd_method *amped_cpd_method_of(const amped_cpd_options *how);

/* AMPED_USAGE where the options exclude each other. */
amped_status amped_cpd_method_check(const amped_cpd_options *how);

#endif
