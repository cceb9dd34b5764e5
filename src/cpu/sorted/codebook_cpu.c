/* Codebook: values of a coded copy, in host memory. */
#include "cpu/sorted/codebook_cpu.h"

#include <string.h>

#include "base/mem.h"

amped_status amped_codebook_cpu_create(amped_codebook_cpu *c, const amped_plan *plan) {
  const amped_dictionary *d = plan->dictionary;
  const amped_vtype type = plan->value_type;
  static const char what[] = "the dictionary of values";
  AMPED_TRY(amped_alloc(&c->dictionary, d->count, sizeof *c->dictionary, what));
  AMPED_TRY(amped_alloc(&c->values, d->count, type, what));
  for (uint64_t i = 0; i < d->count; i++) {
    amped_value_put(c->values, type, i, d->values[i]);
    c->dictionary[i] = amped_value_get(c->values, type, i);
  }
  c->ruler = amped_dictionary_ruler(d, type);
  return AMPED_OK;
}

void amped_codebook_cpu_free(amped_codebook_cpu *c) {
  amped_free(c->dictionary);
  amped_free(c->values);
  memset(c, 0, sizeof *c);
}

uint64_t amped_codebook_cpu_bytes(const amped_plan *plan) {
  return plan->dictionary->count * (sizeof(double) + plan->value_type);
}
