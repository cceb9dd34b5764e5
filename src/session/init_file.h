/* Init file: the factors that a run starts from, of --init=FILE. */
#ifndef AMPED_INIT_FILE_H
#define AMPED_INIT_FILE_H

#include "plan/plan.h"
#include "session/session_options.h"
#include "tensor/completion.h"

/* Rank 0. Reads the file, and brings its rows into the order of the tensor, whose labels [order]
 * these are: by label where both have some, by the rules of text/index_match.h where one has. A
 * file without labels beside a tensor with some is taken by index, with a warning, as factors of
 * other programs have none. `model`, if not NULL, becomes what a completion has beside factors, its
 * rows in the same order; its order is 0 where the file is a plain decomposition.
 *
 * AMPED_BAD_INPUT: the file has another order or another number of components than `ncomps`; rows
 * of the tensor are not among its rows; a dataset disagrees with its content hash and the user does
 * not force it. The caller frees *start and *model, after a failure, too. */
amped_status amped_init_file_read(const amped_session_options *options, const amped_plan *plan,
                                  const amped_labels *labels, int ncomps, amped_ktensor *start,
                                  amped_completion *model);

#endif
