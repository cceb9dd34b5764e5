#include "session/init_file.h"

#include "base/log.h"
#include "hdf5/result_file.h"

/* Read --init=FILE. A content hash that is wrong is damage, or the user's own change. */
static amped_status read_any(const amped_session_options *o, amped_ktensor *start) {
  char changed[AMPED_HDF5_NAME];
  AMPED_TRY(amped_result_file_read_start(o->init, start, changed));
  if (changed[0] == '\0')
    return AMPED_OK;
  if (!o->force_init)
    return amped_error(AMPED_BAD_INPUT, o->init,
                       "dataset %s disagrees with its content hash: it was damaged, or changed by "
                       "another program; --force-init starts from it all the same",
                       changed);
  amped_warn("%s: dataset %s disagrees with its content hash; --force-init starts from it all the "
             "same",
             o->init, changed);
  return AMPED_OK;
}

amped_status amped_init_file_read(const amped_session_options *o, const amped_plan *plan,
                                  int ncomps, amped_ktensor *start) {
  AMPED_TRY(read_any(o, start));
  if (start->order != plan->order)
    return amped_error(AMPED_BAD_INPUT, o->init,
                       "has order %d, the tensor %d; it belongs to another tensor", start->order,
                       plan->order);
  for (int m = 0; m < plan->order; m++)
    if (start->dims[m] != plan->dims[m])
      return amped_error(AMPED_BAD_INPUT, o->init,
                         "the factor of mode %d has %" PRIu64
                         " rows, the tensor has dimension %" PRIu64
                         "; it belongs to another tensor",
                         m + 1, start->dims[m], plan->dims[m]);
  if (start->ncomps != ncomps)
    return amped_error(AMPED_BAD_INPUT, o->init,
                       "has %d components, the run has %d; use --rank=%d or another start",
                       start->ncomps, ncomps, start->ncomps);
  return AMPED_OK;
}
