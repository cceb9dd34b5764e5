/* Loader: a way to bring a tensor to the ranks. prepare.h uses the first loader in the list whose
 * `takes` returns true. A new kind of input is a new row of the list. */
#ifndef AMPED_LOADER_H
#define AMPED_LOADER_H

#include "session/session.h"

typedef struct amped_loader {
  /* Can this loader load the session's input? Depends on the options only; nothing is open yet. The
   * same answer on every rank. */
  bool (*takes)(const amped_session *session);
  /* Collective; the status is agreed. Opens the input. Reads or counts the tables that a plan is
   * made from (amped_session_info). */
  amped_status (*tables)(amped_session *session);
  /* Collective, even if an earlier step of this rank failed; the status is this rank's own. Adds
   * the bytes that `load` takes on this rank, in addition to the worker's. AMPED_USAGE: the
   * worker's format does not accept this input. */
  amped_status (*need)(amped_session *session, uint64_t *device_bytes, uint64_t *host_bytes);
  /* Collective; the status is agreed. Fills every rank's tensor part with its nonzeros, and sets
   * session->distribute_sec. The worker must be prepared for the plan. */
  amped_status (*load)(amped_session *session);
} amped_loader;

/* The session's loader; static memory. */
const amped_loader *amped_loader_of(const amped_session *session);

#endif
