/* Value sample: some values of an input, for centring the values in memory (tensor/value_map.h)
 * before all of them are known. */
#ifndef AMPED_VALUE_SAMPLE_H
#define AMPED_VALUE_SAMPLE_H

#include "load/input.h"
#include "tensor/value_map.h"

/* The most values of a sample. */
#define AMPED_VALUE_SAMPLE 4096

/* Collective; the status is agreed. Choose centre and unit of the map. Centre: the median of a
 * sample spread over the list, or over mode 0's copy, and therefore a value of the data. Unit: the
 * power of two below the magnitude of the values. (x - centre) / unit neither overflows nor
 * underflows in float, and the division rounds nothing. norm_squared: over all values. The same map
 * on every rank. */
amped_status amped_value_sample_map(const amped_comm *comm, amped_input *input, double norm_squared,
                                    amped_value_map *out);

/* Not collective. The map of a tensor some of whose entries have weight 0, from `count` values of
 * the other entries, at least 1, which are put into ascending order. Values of entries of weight 0
 * may be anything: they are limited to map.most, and spoil the digits of no other value. */
amped_value_map amped_value_sample_map_of(double *sample, uint64_t count);

#endif
