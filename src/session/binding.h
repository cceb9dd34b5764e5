/* Binding: cores that no rank computes on, because mpirun bound the ranks to other cores.
 *
 * Open MPI's mpirun binds each rank to one core if a node has one or two ranks, and to a socket or
 * NUMA domain if it has more. */
#ifndef AMPED_BINDING_H
#define AMPED_BINDING_H

#include "session/session.h"

/* Cores of the node that has most idle cores. */
typedef struct amped_binding {
  int cores; /* cores that mpirun may use */
  int idle;  /* cores without a rank; 0 if mpirun did not start the ranks, the user chose the
                threads, or GPUs compute */
} amped_binding;

/* Collective; call after the backend is open. *out is the same on every rank. */
void amped_binding_find(const amped_session *session, amped_binding *out);

#endif
