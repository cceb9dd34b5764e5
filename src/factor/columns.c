/* Columns: the plan, the view and the context of a model among others. */
#include "factor/columns.h"

#include <string.h>

static amped_plan plan_of(const amped_plan *whole, int ncomps) {
  amped_plan plan = *whole;
  amped_plan_set_ncomps(&plan, ncomps);
  return plan;
}

/* Set the members that follow the whole context. */
static void follow(amped_columns *c, const amped_context *whole, int first) {
  amped_factor_set *const view = c->worker.factors;
  c->worker = *whole->worker;
  c->worker.factors = view;
  c->worker.whole = whole->worker;
  c->worker.columns_before = first;
  c->worker.columns_after = whole->plan->ncomps - first - c->plan.ncomps;
  c->context = (amped_context){whole->comm, &c->plan, &c->worker, whole->exchange};
}

amped_status amped_columns_open(const amped_context *whole, int first, int ncomps,
                                amped_columns *c) {
  const amped_worker *worker = whole->worker;
  memset(c, 0, sizeof *c);
  c->plan = plan_of(whole->plan, ncomps);
  AMPED_TRY(worker->backend->factors->view(worker->factors, &c->plan, first, &c->worker.factors));
  follow(c, whole, first);
  return AMPED_OK;
}

void amped_columns_close(amped_columns *c) {
  if (c->worker.factors != NULL)
    c->worker.backend->factors->destroy(c->worker.factors);
  memset(c, 0, sizeof *c);
}

void amped_columns_place(amped_columns *c, const amped_context *whole, int first) {
  follow(c, whole, first);
  c->worker.backend->factors->place(c->worker.factors, first);
}

void amped_columns_require(const amped_worker *worker, const amped_plan *plan, int ncomps,
                           uint64_t *device_bytes, uint64_t *host_bytes) {
  const amped_plan own = plan_of(plan, ncomps);
  worker->backend->factors->require_view(worker->device, &own, device_bytes, host_bytes);
}
