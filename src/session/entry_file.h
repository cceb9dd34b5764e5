/* Entry file: the entries of --validate and --test, from any input of convert to every rank's part
 * of an entry set; and the weights of --weights, to the nonzeros of the tensor.
 *
 * A mode is matched by labels where the tensor and the file both have them, and no label comes
 * twice; else by index. An entry whose label or index the tensor lacks has no row there. */
#ifndef AMPED_ENTRY_FILE_H
#define AMPED_ENTRY_FILE_H

#include "session/session.h"
#include "solver/entry_set.h"

/* Collective, after prepare; the status is agreed. labels: of the tensor, on rank 0. option: its
 * name, for messages. AMPED_BAD_INPUT: the file cannot be read, has another order, or shares no
 * label of a mode. An HDF5 file has been probed before MPI started. The caller frees the set. */
amped_status amped_entry_file_load(const amped_session *session, const amped_labels *labels,
                                   const char *option, const char *path,
                                   const amped_read_options *read, amped_entry_set *out);

/* Collective, once the part is prepared with weights (row_fit.h); the status is agreed. The values
 * of the file are the weights of the tensor's nonzeros at the same cells. *hash tells them from
 * others: it does not depend on the order of the file. AMPED_BAD_INPUT: as above; a weight is
 * negative, or more than the factors' type holds; a cell is no entry of the tensor, or comes twice.
 * A cell that the file lacks leaves its nonzero without a weight, which moments shows. */
amped_status amped_entry_file_weigh(const amped_session *session, const amped_labels *labels,
                                    const char *path, const amped_read_options *read,
                                    uint64_t *hash);

#endif
