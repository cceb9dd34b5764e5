/* Binding: cores that no rank computes on, because mpirun bound the ranks to others.
 *
 * Open MPI's mpirun binds one or two ranks of a node to a core each, and more of them to a socket
 * or a NUMA domain each. */
#ifndef AMPED_BINDING_H
#define AMPED_BINDING_H

#include "session/session.h"

/* Of the node with most idle cores. */
typedef struct amped_binding {
  int cores; /* that mpirun may use */
  int idle;  /* of them: 0 where mpirun started nothing, the user chose the number of threads, or
                GPUs compute */
} amped_binding;

/* Collective. After the backend is open. */
void amped_binding_find(const amped_session *session, amped_binding *out);

#endif
