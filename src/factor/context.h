/* Context: the part of a session that solvers borrow. The session frees the objects. */
#ifndef AMPED_CONTEXT_H
#define AMPED_CONTEXT_H

#include "factor/exchange.h"

typedef struct amped_context {
  const amped_comm *comm;
  const amped_plan *plan;
  const amped_worker *worker;
  amped_exchange *exchange;
} amped_context;

#endif
