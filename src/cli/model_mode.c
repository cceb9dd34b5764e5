/* Model mode: MODE:LABEL of an option, in a model. */
#include "cli/model_mode.h"

#include <string.h>

#include "tensor/format.h"
#include "tensor/mode_names.h"
#include "tensor/predictor.h"
#include "text/model_cells.h"

static amped_status no_mode(const amped_model_mode *m, const char *text) {
  char names[AMPED_MODES_TEXT];
  return amped_error(AMPED_USAGE, m->path, "has no mode for %s=%s; %s", m->option, text,
                     amped_mode_names(names, m->k->labels, m->k->order));
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
  const uint64_t first = labels->from_zero ? 0 : 1;
  char name[128];
  amped_model_index(labels, m->k->dims[mode], label, strlen(label), index);
  if (*index != AMPED_PREDICTOR_COLD)
    return AMPED_OK;
  (void)amped_format_mode(name, sizeof name, mode, labels);
  if (labels->count == 0)
    return amped_error(AMPED_BAD_INPUT, m->path,
                       "%s: %s has no index %s; its indices are %" PRIu64 " to %" PRIu64, m->option,
                       name, label, first, m->k->dims[mode] - 1 + first);
  return amped_error(AMPED_BAD_INPUT, m->path,
                     "%s: %s has no label %s; name one of the model's (amped_mpi convert %s "
                     "OUT.csv lists them)",
                     m->option, name, label, m->path);
}
