/* Model mode: MODE:LABEL of an option, in a model. */
#include "cli/model_mode.h"

#include <string.h>

#include "tensor/mode_names.h"
#include "tensor/predictor.h"
#include "text/model_cells.h"

static amped_status no_mode(const amped_model_mode *m, const char *text) {
  return amped_error(
      AMPED_USAGE, m->path,
      "has no mode for %s=%s; use a name that amped_mpi info shows, or a number from 1 to %d",
      m->option, text, m->k->order);
}

amped_status amped_model_mode_find(const amped_model_mode *m, const char *text, int *mode) {
  *mode = amped_mode_find(m->k->labels, m->k->order, text, strlen(text));
  return *mode >= 0 ? AMPED_OK : no_mode(m, text);
}

amped_status amped_model_mode_split(const amped_model_mode *m, const char *text, int *mode,
                                    const char **label) {
  const amped_ktensor *k = m->k;
  *label = NULL;
  *mode = amped_mode_find(k->labels, k->order, text, strlen(text));
  for (const char *at = strchr(text, ':'); *mode < 0 && at != NULL; at = strchr(at + 1, ':')) {
    *mode = amped_mode_find(k->labels, k->order, text, (size_t)(at - text));
    *label = at + 1;
  }
  return *mode >= 0 ? AMPED_OK : no_mode(m, text);
}

amped_status amped_model_mode_index(const amped_model_mode *m, int mode, const char *label,
                                    uint64_t *index) {
  const amped_labels *labels = &m->k->labels[mode];
  amped_model_index(labels, m->k->dims[mode], label, strlen(label), index);
  if (*index != AMPED_PREDICTOR_COLD)
    return AMPED_OK;
  if (labels->count == 0)
    return amped_error(AMPED_BAD_INPUT, m->path,
                       "%s: mode %d has no index %s; number it from 1 to %" PRIu64, m->option,
                       mode + 1, label, m->k->dims[mode]);
  return amped_error(AMPED_BAD_INPUT, m->path,
                     "%s: mode %d has no label %s; name one of the model's (amped_mpi convert %s "
                     "OUT.csv lists them)",
                     m->option, mode + 1, label, m->path);
}
