/* Value sample: median and magnitude of values from several places of the input. */
#include "load/value_sample.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/sort.h"

/* Values of the sample, and the number of stretches of the list that they come from. */
#define SAMPLE ((uint64_t)AMPED_VALUE_SAMPLE)
#define STRETCHES UINT64_C(16)

/* Largest stored magnitude beside entries of weight 0, in units: squares of numbers 2^20 times
 * larger still fit into float. */
#define MOST_STORED 0x1p40

/* Reads nonzeros first .. first + count of the input: indices into `spare`, values into out. */
static amped_status read_stretch(amped_input *input, uint64_t first, uint64_t count, void *spare,
                                 void *values, double *out) {
  const amped_tensor_info *info = amped_input_info(input);
  void *indices[AMPED_MAX_ORDER] = {NULL};
  for (int m = 0; m < info->order; m++)
    indices[m] = (char *)spare + (uint64_t)m * SAMPLE * sizeof(uint64_t);
  AMPED_TRY(amped_input_read(input, info->has_copies ? 0 : AMPED_INPUT_LIST, first, count, indices,
                             values));
  amped_values_get(values, info->value_type, 0, count, out);
  return AMPED_OK;
}

/* Rank 0. Reads *count values into sample, in ascending order. */
static amped_status take_sample(amped_input *input, double *sample, uint64_t *count) {
  const uint64_t nnz = amped_input_info(input)->nnz;
  const uint64_t stretches = nnz > SAMPLE ? STRETCHES : 1;
  const uint64_t each = nnz > SAMPLE ? SAMPLE / STRETCHES : nnz;
  void *spare = NULL;
  void *values = NULL;
  amped_status status = AMPED_OK;
  *count = stretches * each;
  AMPED_GO(done,
           amped_alloc(&spare, AMPED_MAX_ORDER * SAMPLE, sizeof(uint64_t), "a sample of values"));
  AMPED_GO(done, amped_alloc(&values, SAMPLE, sizeof(double), "a sample of values"));
  for (uint64_t i = 0; i < stretches; i++)
    AMPED_GO(done, read_stretch(input, (nnz - each) / stretches * i, each, spare, values,
                                sample + i * each));
  qsort(sample, *count, sizeof *sample, amped_compare_doubles);
done:
  amped_free(spare);
  amped_free(values);
  return status;
}

/* The power of two not above the magnitude of the values. */
static double unit_of(double size) {
  return isnormal(size) ? ldexp(1.0, ilogb(size)) : 1.0;
}

amped_value_map amped_value_sample_map_of(double *sample, uint64_t count) {
  qsort(sample, count, sizeof *sample, amped_compare_doubles);
  const double centre = sample[(count - 1) / 2];
  const double spread = fmax(centre - sample[0], sample[count - 1] - centre);
  return (amped_value_map){
      .centre = centre, .unit = unit_of(spread > 0.0 ? spread : fabs(centre)), .most = MOST_STORED};
}

amped_status amped_value_sample_map(const amped_comm *comm, amped_input *input, double norm_squared,
                                    amped_value_map *out) {
  double sample[SAMPLE];
  uint64_t count = 0;
  amped_status status = AMPED_OK;
  *out = amped_value_map_none();
  if (comm->rank == 0)
    status = take_sample(input, sample, &count);
  AMPED_TRY(amped_comm_agree(comm, status));
  if (count > 0) {
    const double mean_square = norm_squared / (double)amped_input_info(input)->nnz;
    out->centre = sample[(count - 1) / 2];
    out->unit = unit_of(fmax(sqrt(mean_square), fmax(-sample[0], sample[count - 1])));
  }
  amped_comm_broadcast(comm, out, sizeof *out);
  return AMPED_OK;
}
