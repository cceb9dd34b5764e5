/* Planted noise: normal numbers by the Box-Muller method, and adding them to values. */
#include "generate/planted_noise.h"

#include <math.h>

#include "base/random.h"

#define STREAM_NOISE (UINT64_C(67) << 56)
#define STREAM_ANGLE (UINT64_C(68) << 56)

double amped_planted_normal(uint64_t seed, uint64_t radius_stream, uint64_t angle_stream,
                            uint64_t k) {
  double u = 1.0 - amped_random_double(seed, radius_stream, k);
  double angle = amped_random_double(seed, angle_stream, k);
  return sqrt(-2.0 * log(u)) * cos(2.0 * M_PI * angle);
}

amped_status amped_planted_noise_check(double noise) {
  if (!(noise >= 0.0 && noise <= 1e6))
    return amped_error(AMPED_USAGE, NULL, "noise %g; give --noise from 0 to 1e6", noise);
  return AMPED_OK;
}

double amped_planted_noise_add(amped_sptensor *t, double noise, uint64_t seed) {
  double sd = noise * sqrt(amped_sptensor_norm_squared(t) / (double)t->nnz);
  if (noise == 0.0)
    return 0.0;
#pragma omp parallel for schedule(static)
  for (uint64_t k = 0; k < t->nnz; k++)
    t->values[k] = (double)(float)(t->values[k] +
                                   sd * amped_planted_normal(seed, STREAM_NOISE, STREAM_ANGLE, k));
  return sd;
}
