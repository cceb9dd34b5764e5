/* Value sample: some values of an input, by which the values in memory are centred
 * (tensor/value_map.h) before all of them are known. */
#ifndef AMPED_VALUE_SAMPLE_H
#define AMPED_VALUE_SAMPLE_H

#include "load/input.h"
#include "tensor/value_map.h"

/* Collective; the status is agreed. The map whose centre is the median of a sample that is spread
 * over the list, or over mode 0's copy, and so a value of the data. The unit is the power of two
 * below the size of the values: (x - centre) / unit neither overflows nor underflows in float, and
 * dividing rounds nothing. norm_squared: of all values. The same map on every rank. */
amped_status amped_value_sample_map(const amped_comm *comm, amped_input *input, double norm_squared,
                                    amped_value_map *out);

#endif
