/* Metric of a result or checkpoint file: its name and the names of its datasets. */
#include "hdf5/hdf5_metric.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789_";

amped_hdf5_metric amped_hdf5_metric_of(const char *name) {
  amped_hdf5_metric metric;
  (void)snprintf(metric.name, sizeof metric.name, "%s", name);
  (void)snprintf(metric.group, sizeof metric.group, "/%s", metric.name);
  (void)snprintf(metric.history, sizeof metric.history, "/%s", metric.name);
  (void)snprintf(metric.starts, sizeof metric.starts, "/starts/%s", metric.name);
  return metric;
}

void amped_hdf5_metric_in_group(amped_hdf5_metric *metric, const char *set) {
  (void)snprintf(metric->history, sizeof metric->history, "/%s/%s", metric->name, set);
}

amped_status amped_hdf5_metric_put(amped_hdf5 *file, const amped_hdf5_metric *metric) {
  return amped_hdf5_put_text(file, "/", "metric", metric->name);
}

/* Is it a valid name? The name becomes part of paths in the file, JSON lines and gnuplot's
 * script. */
static bool is_name(const char *text) {
  const size_t length = strlen(text);
  return strspn(text, letters) > 0 && strspn(text, allowed) == length && length < AMPED_METRIC_NAME;
}

static amped_status get_name(amped_hdf5 *file, amped_hdf5_metric *out) {
  bool exists = false;
  char *name = NULL;
  AMPED_TRY(amped_hdf5_has_attribute(file, "/", "metric", &exists));
  if (!exists)
    return AMPED_OK;
  AMPED_TRY(amped_hdf5_get_text(file, "/", "metric", &name));
  const bool good = is_name(name);
  if (good)
    *out = amped_hdf5_metric_of(name);
  amped_free(name);
  return good ? AMPED_OK
              : amped_error(AMPED_BAD_INPUT, file->path,
                            "attribute metric is not a name of at most %d lower-case letters, "
                            "digits and _; make the file again",
                            AMPED_METRIC_NAME - 1);
}

amped_status amped_hdf5_metric_get(amped_hdf5 *file, amped_hdf5_metric *out) {
  bool completion = false, validated = false;
  *out = amped_hdf5_metric_of(AMPED_METRIC_UNNAMED);
  AMPED_TRY(get_name(file, out));
  AMPED_TRY(amped_hdf5_has_attribute(file, "/", "amped_model", &completion));
  if (!completion)
    return AMPED_OK;
  amped_hdf5_metric_in_group(out, "validate");
  AMPED_TRY(amped_hdf5_exists(file, out->history, &validated));
  if (!validated)
    amped_hdf5_metric_in_group(out, "train");
  return AMPED_OK;
}
