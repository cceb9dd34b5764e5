/* Load list: makes copies on the ranks from the coordinate list of a file without ordered copies.
 *
 * For each mode all nonzeros are redistributed to their owners (redistribute.h), whose backends
 * sort them. If the source does not hold the list, this takes one pass over the file for each mode,
 * after the pass of list_stats.h. One more pass follows if coordinates repeat, or if repeats may be
 * hidden because every mode has split iDps.
 *
 * The copies equal those that amped_load_copies makes of the same tensor, nonzero by nonzero.
 * Exception: nonzeros of split iDps are numbered in the order of the list, so that ranks may have
 * other parts of these iDps. */
#ifndef AMPED_LOAD_LIST_H
#define AMPED_LOAD_LIST_H

#include "backend/backend.h"
#include "load/list_source.h"

/* All members are borrowed. */
typedef struct amped_list_load {
  const amped_comm *comm;
  amped_input *input;
  amped_list_source *source;     /* after the pass of amped_list_stats_take */
  const amped_tensor_info *info; /* from amped_list_stats_take */
  const amped_plan *plan;
  const amped_worker *worker; /* prepared for the plan */
  amped_duplicates *record;   /* out: NONE or KEEP, if the list was searched for repeats; NULL: not
                                 wanted */
} amped_list_load;

/* Collective; the status is agreed. *seconds is this rank's wall time. Shows progress.
 *
 * *norm_squared (in and out) is recomputed if coordinates repeat and the file does not state its
 * norm: nonzeros at one coordinate then count once, with their sum, and rank 0 warns.
 * AMPED_BAD_INPUT: the file has changed since list_stats counted it, or a nonzero is invalid. */
amped_status amped_load_list(const amped_list_load *load, double *norm_squared, double *seconds);

/* Bytes of device and host memory that amped_load_list takes on a rank, in addition to the
 * backend's copies. Includes the device memory that the source holds now. Excludes the pass that
 * looks for repeats. Not collective. */
amped_status amped_load_list_bytes(const amped_plan *plan, const amped_worker *worker,
                                   const amped_list_source *source, uint64_t *device_bytes,
                                   uint64_t *host_bytes);

#endif
