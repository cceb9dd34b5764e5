/* Cut share: integers that lose digits (tensor/cut_integers.h), which ranks have read, on rank 0.
 */
#ifndef AMPED_CUT_SHARE_H
#define AMPED_CUT_SHARE_H

#include "mpi/comm.h"
#include "tensor/cut_integers.h"

/* Collective. Returns their number on all ranks, with the first of the lowest rank that has some.
 */
amped_cut_integers amped_cut_share(const amped_comm *comm, const amped_cut_integers *own);

#endif
