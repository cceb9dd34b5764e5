/* Codebook: the values of a coded copy's codes, in host memory. */
#ifndef AMPED_CODEBOOK_CPU_H
#define AMPED_CODEBOOK_CPU_H

#include "plan/plan.h"
#include "tensor/dictionary.h"

/* Arrays of plan->dictionary->count values, owned by the struct; NULL if there is no dictionary. */
typedef struct amped_codebook_cpu {
  double *dictionary; /* plan->dictionary, rounded to plan->value_type */
  void *values;       /* the same values in plan->value_type */
  amped_ruler ruler;  /* computes the same values, unless its step is 0 */
} amped_codebook_cpu;

/* Create the codebook. The caller zeroes *c before, and calls free also if create fails. */
amped_status amped_codebook_cpu_create(amped_codebook_cpu *c, const amped_plan *plan);
void amped_codebook_cpu_free(amped_codebook_cpu *c);

/* Bytes of a codebook's arrays. */
uint64_t amped_codebook_cpu_bytes(const amped_plan *plan);

#endif
