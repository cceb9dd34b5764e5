/* Loader: a way in which a tensor comes to the ranks. prepare.h takes the first loader whose
 * `takes` says yes; a further kind of input is a further row of the list. */
#ifndef AMPED_LOADER_H
#define AMPED_LOADER_H

#include "session/session.h"

typedef struct amped_loader {
  /* Does this loader fit the session's options? The same answer on every rank; nothing is open. */
  bool (*takes)(const amped_session *session);
  /* Collective; the status is agreed. Opens the input. Reads or counts the facts that a plan is
   * made of (amped_session_info). */
  amped_status (*tables)(amped_session *session);
  /* Collective, also where an earlier step of this rank failed; the status is its own. Adds the
   * bytes that `load` takes on this rank, beside the worker's. AMPED_USAGE: the worker's format
   * cannot take such an input. */
  amped_status (*need)(amped_session *session, uint64_t *device_bytes, uint64_t *host_bytes);
  /* Collective; the status is agreed. Every rank's tensor part gets its nonzeros; sets
   * session->distribute_sec. The worker is prepared for the plan. */
  amped_status (*load)(amped_session *session);
} amped_loader;

/* The session's loader; static. */
const amped_loader *amped_loader_of(const amped_session *session);

#endif
