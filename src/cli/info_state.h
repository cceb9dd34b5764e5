/* What info tells of a stream's state (hdf5/state_file.h). */
#ifndef AMPED_INFO_STATE_H
#define AMPED_INFO_STATE_H

#include "base/json.h"
#include "cli/options.h"

/* Tell of the state o->args[0], which was probed: lines, and a line of JSON. With --verify all of
 * it is read. */
amped_status amped_info_state(const amped_options *o, amped_json *json);

#endif
