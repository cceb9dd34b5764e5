/* Codebook: the values that a coded copy's codes stand for, in host memory. */
#ifndef AMPED_CODEBOOK_CPU_H
#define AMPED_CODEBOOK_CPU_H

#include "plan/plan.h"
#include "tensor/dictionary.h"

/* Arrays of plan->dictionary->count values, owned by the struct; NULL where there are none. */
typedef struct amped_codebook_cpu {
  double *dictionary; /* plan->dictionary, rounded to plan->value_type */
  void *values;       /* the same in plan->value_type */
  amped_ruler ruler;  /* gives the same values, unless its step is 0 */
} amped_codebook_cpu;

/* The caller has zeroed *c, and calls free, also where this fails. */
amped_status amped_codebook_cpu_create(amped_codebook_cpu *c, const amped_plan *plan);
void amped_codebook_cpu_free(amped_codebook_cpu *c);

/* Bytes of its arrays. */
uint64_t amped_codebook_cpu_bytes(const amped_plan *plan);

#endif
