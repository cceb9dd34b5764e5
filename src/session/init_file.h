/* Init file: the factors of --init=FILE, from which a run starts. */
#ifndef AMPED_INIT_FILE_H
#define AMPED_INIT_FILE_H

#include "plan/plan.h"
#include "session/session_options.h"
#include "tensor/completion.h"

/* Rank 0. Reads the file and brings its rows into the tensor's order. Rows are matched by label if
 * both have labels, and by the rules of text/index_match.h if only one has. A file without labels
 * is matched by index, with a warning, if the tensor has labels: files of other programs have none.
 *
 * labels: [order], the tensor's. model: gets the other parts of a completion model, with rows in
 * the same order; its order is 0 if the file is a plain decomposition. NULL: not wanted. The caller
 * frees *start and *model, even after a failure.
 *
 * AMPED_BAD_INPUT: the file has another order, or not `ncomps` components; or it does not have all
 * rows of the tensor; or a dataset does not match its content hash and the user does not force
 * it. */
amped_status amped_init_file_read(const amped_session_options *options, const amped_plan *plan,
                                  const amped_labels *labels, int ncomps, amped_ktensor *start,
                                  amped_completion *model);

#endif
