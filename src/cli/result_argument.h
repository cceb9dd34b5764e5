/* Result argument: the result file that a command such as top, compare or plot takes. */
#ifndef AMPED_RESULT_ARGUMENT_H
#define AMPED_RESULT_ARGUMENT_H

#include "base/number_list.h"
#include "tensor/ktensor.h"

/* Is the file a result? Any other file, such as a tensor, is AMPED_BAD_INPUT; the error names the
 * command that makes a result from it. command: for the message. */
amped_status amped_result_argument_is(const char *command, const char *path);

/* Check the file, and read it. Free with amped_ktensor_free. */
amped_status amped_result_argument_read(const char *command, const char *path, amped_ktensor *out);

/* Can these components of the result be shown? AMPED_USAGE: there is no component of such a number.
 * AMPED_BAD_INPUT: the result has more than AMPED_MAX_NCOMPS. */
amped_status amped_result_argument_check(const char *path, const amped_ktensor *k,
                                         const amped_number_list *asked);

#endif
