/* Stream needs: can a session's device keep the rows of a stream, and learn them? */
#ifndef AMPED_STREAM_NEEDS_H
#define AMPED_STREAM_NEEDS_H

#include "state/state_head.h"
#include "session/session.h"

/* Not collective; the same on every rank. Returns AMPED_USAGE if the backend cannot keep rows of
 * streams. what: a command or an option, for the message. */
amped_status amped_stream_needs_backend(const amped_session *session, const char *what);

/* Returns AMPED_USAGE if the backend cannot learn with this kind of history. path: the state, or
 * NULL. */
amped_status amped_stream_needs_history(const amped_session *session, amped_history history,
                                        const char *path);

/* Collective on a node. Returns AMPED_FAILED, this rank's own status, if memory cannot hold the
 * rows of the head's dims. name: the state or input, for the message. */
amped_status amped_stream_needs_memory(const amped_session *session, const amped_state_head *head,
                                       const char *name);

#endif
