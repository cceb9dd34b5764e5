/* What info tells of a dense tensor (load/dense_source.h). */
#ifndef AMPED_INFO_DENSE_H
#define AMPED_INFO_DENSE_H

#include "base/json.h"
#include "cli/options.h"

/* Tell of the dense tensor o->args[0]; an HDF5 file was probed: lines, and a line of JSON. Cells
 * are read where the file does not tell of them, and with --verify. */
amped_status amped_info_dense(const amped_options *o, amped_json *json);

/* --- which form is better ----------------------------------------------------------------------
 */

/* A line; two members of an object: "faster" and "smaller", "dense" or "sparse". false: out of
 * memory. */
void amped_info_say_form(double density);
bool amped_info_json_form(double density, json_t *object);

#endif
