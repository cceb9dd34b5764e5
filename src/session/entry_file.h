/* Entry file: loads the entries of --validate and --test, from any input that convert reads, into
 * each rank's part of an entry set. Also loads the weights of --weights for the tensor's nonzeros.
 *
 * A mode is matched by labels if the tensor and the file both have labels and none is repeated;
 * otherwise by index. An entry has no row in a mode if the tensor does not have its label or
 * index. */
#ifndef AMPED_ENTRY_FILE_H
#define AMPED_ENTRY_FILE_H

#include "session/session.h"
#include "solver/complete/entry_set.h"

/* Collective, after prepare; the status is agreed. labels: the tensor's, on rank 0. option: name of
 * the option, for messages. An HDF5 file must have been probed before MPI started. The caller frees
 * the set. AMPED_BAD_INPUT: the file cannot be read, has another order, or shares no label of two
 * modes. If it shares none of one mode, set->unknown says so (entry_checks.h). */
amped_status amped_entry_file_load(const amped_session *session, const amped_labels *labels,
                                   const char *option, const char *path,
                                   const amped_read_options *read, amped_entry_set *out);

/* Collective; the status is agreed. Refuse weights of `path`, which may be the tensor's own file,
 * if weights of repeated cells were merged and their values, too: AMPED_BAD_INPUT, because it is
 * lost which weight belonged to which value. of_weights: how they were merged, on rank 0. */
amped_status amped_entry_file_check_merged(const amped_session *session, const char *path,
                                           amped_duplicates of_weights);

/* Weights: an open file of weights, matched with the tensor. */
typedef struct amped_entry_weights amped_entry_weights;

/* Collective, when the plan is made; the status is agreed. labels: the tensor's, on rank 0, until
 * close. AMPED_BAD_INPUT: the file cannot be read, or has another order. The caller closes *out,
 * also after a failure; NULL is accepted. */
amped_status amped_entry_weights_open(const amped_session *session, const amped_labels *labels,
                                      const char *path, const amped_read_options *read,
                                      amped_entry_weights **out);
/* Bytes of host memory that weights take on this rank until they are closed: a list in memory and a
 * slab; slab_bytes: a slab alone. */
uint64_t amped_entry_weights_bytes(const amped_entry_weights *weights);
uint64_t amped_entry_weights_slab_bytes(const amped_plan *plan);
void amped_entry_weights_close(amped_entry_weights *weights);

/* Collective, after open; the status is agreed. If some weights are 0: values of entries of other
 * weight, spread over the file, on rank 0. At most AMPED_VALUE_SAMPLE (load/value_sample.h); *count
 * = their number, on every rank. Else *count = 0. Reads the tensor's input once. */
amped_status amped_entry_weights_sample(amped_entry_weights *weights, double *values,
                                        uint64_t *count);

/* Collective, after the part is prepared with weights (row_fit.h); the status is agreed. The file's
 * values become the weights of the tensor's nonzeros at the same cells. *hash identifies the
 * weights, whatever the order of the file. A nonzero whose cell is not in the file gets no weight;
 * the moments show this.
 *
 * AMPED_BAD_INPUT: a weight is negative or too large for the factors' type; or a cell is not an
 * entry of the tensor, or is repeated. */
amped_status amped_entry_weights_apply(amped_entry_weights *weights, uint64_t *hash);

#endif
