/* Entry file: the entries of --validate and --test, from any input of convert to every rank's part
 * of an entry set.
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

#endif
