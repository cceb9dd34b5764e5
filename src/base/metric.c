/* Metrics: the numbers that sweeps improve, by name. */
#include "base/metric.h"

#include <string.h>

bool amped_metric_rises(const char *name) {
  return strcmp(name, "rmse") != 0;
}
