/* Planted noise: Gaussian noise on the values of a planted tensor, and the normal numbers for it.
 * Host memory; all OpenMP threads; not collective. */
#ifndef AMPED_PLANTED_NOISE_H
#define AMPED_PLANTED_NOISE_H

#include "tensor/sptensor.h"

/* Standard normal number k of a sequence (Box and Muller), from two streams of random numbers. */
double amped_planted_normal(uint64_t seed, uint64_t radius_stream, uint64_t angle_stream,
                            uint64_t k);

/* AMPED_USAGE if `noise` is out of range. */
amped_status amped_planted_noise_check(double noise);

/* Add normal numbers to the values and round to float. Their standard deviation is `noise` times
 * the root mean square of the values, and is returned. noise 0 changes nothing. */
double amped_planted_noise_add(amped_sptensor *t, double noise, uint64_t seed);

#endif
