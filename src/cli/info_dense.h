/* Info dense: info about a dense tensor (load/dense_source.h). */
#ifndef AMPED_INFO_DENSE_H
#define AMPED_INFO_DENSE_H

#include "base/json.h"
#include "cli/options.h"

/* Report the dense tensor o->args[0] as lines and a line of JSON. An HDF5 file must have been
 * probed. All cells are read if the file does not store their statistics, and with --verify. */
amped_status amped_info_dense(const amped_options *o, amped_json *json);

#endif
