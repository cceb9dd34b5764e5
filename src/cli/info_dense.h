/* Info dense: info about a dense tensor (load/dense_source.h), and which form of a tensor is
 * better. */
#ifndef AMPED_INFO_DENSE_H
#define AMPED_INFO_DENSE_H

#include "base/json.h"
#include "cli/options.h"

/* Report the dense tensor o->args[0] as lines and a line of JSON. An HDF5 file must have been
 * probed. All cells are read if the file does not store their statistics, and with --verify. */
amped_status amped_info_dense(const amped_options *o, amped_json *json);

/* --- which form is better ----------------------------------------------------------------------
 */

/* Report the better form as a line, or as two members of an object: "faster" and "smaller", each
 * "dense" or "sparse". Returns false if memory is short. */
void amped_info_say_form(double density);
bool amped_info_json_form(double density, json_t *object);

#endif
