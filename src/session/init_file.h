/* Init file: the factors that a run starts from, of --init=FILE. */
#ifndef AMPED_INIT_FILE_H
#define AMPED_INIT_FILE_H

#include "plan/plan.h"
#include "session/session_options.h"
#include "tensor/ktensor.h"

/* Rank 0. Reads the file and compares its shape with the tensor's, and with `ncomps` components.
 * AMPED_BAD_INPUT where they differ, or a dataset disagrees with its content hash and the user does
 * not force it. The caller frees *start, after a failure, too. */
amped_status amped_init_file_read(const amped_session_options *options, const amped_plan *plan,
                                  int ncomps, amped_ktensor *start);

#endif
