/* Metrics: the numbers that sweeps improve, by name. */
#ifndef AMPED_METRIC_H
#define AMPED_METRIC_H

#include <stdbool.h>

/* Does the metric rise as a model becomes better? All do except errors. */
bool amped_metric_rises(const char *name);

#endif
