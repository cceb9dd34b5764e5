/* Result argument: the file of a command that shows results (top, compare, plot). */
#ifndef AMPED_RESULT_ARGUMENT_H
#define AMPED_RESULT_ARGUMENT_H

#include "base/number_list.h"
#include "tensor/ktensor.h"

/* Is the file a result, for `command`? Another, such as a tensor, is AMPED_BAD_INPUT, with the
 * command that makes a result of it. */
amped_status amped_result_argument_is(const char *command, const char *path);

/* Ask, and read it. Free with amped_ktensor_free. */
amped_status amped_result_argument_read(const char *command, const char *path, amped_ktensor *out);

/* May the result's components be shown, all or as asked for? AMPED_USAGE: there is no component of
 * such a number. AMPED_BAD_INPUT: the result has more than AMPED_MAX_NCOMPS. */
amped_status amped_result_argument_check(const char *path, const amped_ktensor *k,
                                         const amped_number_list *asked);

#endif
