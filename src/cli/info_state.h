/* Info state: info about the state of a stream (state/state_file.h). */
#ifndef AMPED_INFO_STATE_H
#define AMPED_INFO_STATE_H

#include "base/json.h"
#include "cli/options.h"

/* Report the state o->args[0] as lines and a line of JSON. The file must have been probed. With
 * --verify all of it is read. */
amped_status amped_info_state(const amped_options *o, amped_json *json);

#endif
