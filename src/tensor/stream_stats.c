/* Stream stats: norm, hash and distinct values over pieces of nonzeros. */
#include "tensor/stream_stats.h"

#include <string.h>

amped_status amped_stream_stats_begin(amped_stream_stats *m) {
  memset(m, 0, sizeof *m);
  return amped_dictionary_search_begin(&m->distinct);
}

/* Ends the current coordinate, which began in section m->section_number. */
static void end_group(amped_stream_stats *m) {
  if (m->nnz > 0)
    amped_kahan_add(&m->section, (long double)m->group * m->group);
}

static void end_section(amped_stream_stats *m) {
  amped_kahan_join(&m->total, &m->section);
  m->section = (amped_kahan){0.0L, 0.0L};
}

static bool continues(const amped_stream_stats *m, const amped_sptensor *t, uint64_t k) {
  for (int i = 0; i < t->order; i++)
    if (t->indices[i][k] != (k > 0 ? t->indices[i][k - 1] : m->last[i]))
      return false;
  return k > 0 || m->nnz > 0;
}

static void add_norm(amped_stream_stats *m, const amped_sptensor *t) {
  const uint64_t before = m->nnz;
  for (uint64_t k = 0; k < t->nnz; k++, m->nnz++) {
    if (continues(m, t, k)) {
      m->group += t->values[k];
      continue;
    }
    end_group(m);
    for (uint64_t b = (before + k) / AMPED_NORM_SECTION; m->section_number < b; m->section_number++)
      end_section(m);
    m->group = t->values[k];
  }
  for (int i = 0; i < t->order && t->nnz > 0; i++)
    m->last[i] = t->indices[i][t->nnz - 1];
}

void amped_stream_stats_add(amped_stream_stats *m, const amped_sptensor *t) {
  m->hash += amped_sptensor_hash(t);
  m->wide = m->wide || !amped_sptensor_fits_float(t);
  amped_dictionary_search_add(&m->distinct, t->values, AMPED_F64, t->nnz);
  add_norm(m, t);
}

amped_status amped_stream_stats_end(amped_stream_stats *m, amped_tensor_info *info) {
  end_group(m);
  end_section(m);
  info->nnz = m->nnz;
  info->hash = m->hash;
  info->norm_squared = amped_kahan_value(&m->total);
  info->value_type = m->wide ? AMPED_F64 : AMPED_F32;
  return amped_dictionary_search_end(&m->distinct, &info->dictionary);
}

void amped_stream_stats_drop(amped_stream_stats *m) {
  amped_dictionary_search_drop(&m->distinct);
}
