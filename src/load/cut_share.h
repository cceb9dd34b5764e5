/* Cut share: integers that lose digits (tensor/cut_integers.h), which ranks have read, on rank 0.
 */
#ifndef AMPED_CUT_SHARE_H
#define AMPED_CUT_SHARE_H

#include "mpi/comm.h"
#include "tensor/cut_integers.h"

/* Collective. Rank 0 warns of all that ranks have read, and names the first of the lowest rank that
 * has some. order, path: as of amped_cut_integers_warn. */
void amped_cut_share_warn(const amped_comm *comm, const amped_cut_integers *own, int order,
                          const char *path);

#endif
