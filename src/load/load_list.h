/* Collect: a file that holds one coordinate list, and no ordered copies, becomes copies on the
 * ranks. For each mode nonzeros are dealt to their owners, whose backends put them in order.
 *
 * The copies are those that amped_load_copies makes of the same tensor with ordered copies, nonzero
 * by nonzero; but nonzeros of split iDps are numbered in the order of the list, so that ranks may
 * have other parts of them. It takes one pass over the file for each mode beside the census, and
 * one more where every mode has split iDps and the file does not say its hash. */
#ifndef AMPED_LOAD_LIST_H
#define AMPED_LOAD_LIST_H

#include "backend/backend.h"
#include "load/input.h"

/* Collective; the status is agreed. `info` is the census's. Nonzeros at equal coordinates count in
 * *norm_squared once, with their sum: unless the file says its norm, it is set anew where there are
 * some, and a warning tells. Shows progress. *seconds is this rank's wall time. */
amped_status amped_load_list(const amped_comm *comm, amped_input *source, bool parallel,
                             const amped_tensor_info *info, const amped_plan *plan,
                             const amped_worker *worker, double *norm_squared, double *seconds);

/* Bytes of device and host memory that amped_load_list takes on a rank that reads or not, beyond
 * what the backend requires for its copies, and without the search for repeats. */
amped_status amped_load_list_bytes(const amped_tensor_info *info, const amped_plan *plan,
                                   const amped_worker *worker, bool reads, bool parallel,
                                   uint64_t *device_bytes, uint64_t *host_bytes);

#endif
