/* Stream needs: can a session's device keep the rows of a stream, and learn them? */
#ifndef AMPED_STREAM_NEEDS_H
#define AMPED_STREAM_NEEDS_H

#include "hdf5/state_head.h"
#include "session/session.h"

/* Not collective; the same on every rank. AMPED_USAGE, with a line about `what`, a command or an
 * option, where the backend has no rows of streams. */
amped_status amped_stream_needs_backend(const amped_session *session, const char *what);

/* The same for the history of a state, or NULL. */
amped_status amped_stream_needs_history(const amped_session *session, amped_history history,
                                        const char *path);

/* Collective on a node. AMPED_FAILED, this rank's own, where memory does not hold the rows of the
 * head's dims. `name` is that of the state or input. */
amped_status amped_stream_needs_memory(const amped_session *session, const amped_state_head *head,
                                       const char *name);

#endif
