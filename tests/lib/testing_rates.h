/* The rates of an H200 (cuda/backend_cuda.cu), by which tests of every backend cut plans in parts.
 */
#ifndef AMPED_TESTING_RATES_H
#define AMPED_TESTING_RATES_H

#include "plan/overlap.h"

static const amped_rates h200_rates = {
    .cache_bytes = UINT64_C(48) << 20,
    .cache_rate = 17e12,
    .memory_rate = 5e12,
    .link_rate = 350e9,
    .link_sec = 50e-6,
};

#endif
