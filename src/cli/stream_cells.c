/* Stream cells: reading, comparing and extending a state's lists of entries. */
#include "cli/stream_cells.h"

#include <string.h>

#include "base/log.h"

/* Values that differ by less than this share of the values' scale are the same: tables are rounded
 * when they are exported. */
#define SAME 0.01

amped_status amped_stream_cells_read(amped_stream_cells *c) {
  for (int l = 0; l < AMPED_STATE_LISTS && !c->are_read; l++) {
    AMPED_TRY(amped_state_file_entries(c->file, (amped_state_list)l, &c->entries[l]));
    c->most[l] = amped_state_list_most(c->head, (amped_state_list)l);
  }
  c->are_read = true;
  return AMPED_OK;
}

void amped_stream_cells_free(amped_stream_cells *c) {
  for (int l = 0; l < AMPED_STATE_LISTS; l++)
    amped_sptensor_free(&c->entries[l]);
}

void amped_stream_cells_drop(amped_stream_cells *c, uint64_t *const *bits) {
  amped_sptensor *t = &c->entries[AMPED_STATE_SAMPLE];
  const bool is_full = t->nnz == c->most[AMPED_STATE_SAMPLE];
  uint64_t kept = 0;
  for (uint64_t k = 0; k < t->nnz; k++) {
    bool learnt = true;
    for (int m = 0; m < t->order && learnt; m++)
      learnt = (bits[m][t->indices[m][k] / 64] >> t->indices[m][k] % 64 & 1) != 0;
    if (!learnt)
      continue;
    for (int m = 0; m < t->order; m++)
      t->indices[m][kept] = t->indices[m][k];
    t->values[kept++] = t->values[k];
  }
  t->nnz = kept;
  if (is_full) /* a sample of all cells stays one, with fewer cells */
    c->most[AMPED_STATE_SAMPLE] = kept;
}

/* Entries are held out by their cells alone, so a batch that repeats old rows holds the
 * same ones out. */
amped_status amped_stream_cells_count(amped_stream_cells *c, const amped_source_batch *batch,
                                      const amped_sptensor *held_out, amped_known_cells *out) {
  const bool has_sample = c->head->sample > 0;
  const amped_state_list list = has_sample ? AMPED_STATE_SAMPLE : AMPED_STATE_HELD_OUT;
  const amped_sptensor *more = has_sample ? &batch->sample : held_out;
  AMPED_TRY(amped_stream_cells_read(c));
  AMPED_TRY(amped_entry_sample_compare(&c->entries[list], more, c->head->split_seed, c->most[list],
                                       SAME * c->head->scale, out));
  out->all = out->all && has_sample;
  return AMPED_OK;
}

bool amped_stream_cells_repeat(const amped_known_cells *known) {
  return known->same >= 3 && 2 * known->same >= known->compared;
}

void amped_stream_cells_report(const amped_stream_cells *c, const char *name, bool is_array,
                               bool are_sums, const amped_known_cells *known) {
  const char *which = known->all ? "" : " that are compared, a sample of all";
  if (c->head->history == AMPED_HISTORY_PUBLISHED)
    return;
  if (amped_stream_cells_repeat(known))
    amped_warn("%s: of %" PRIu64 " cells%s, earlier batches had %" PRIu64
               " with the same value%s; if the file repeats rows, they are learnt twice, and the "
               "error before is of rows that were learnt: give new rows only",
               name, known->compared, which, known->same,
               c->head->weighted ? ", among them cells whose weight was 0, if there are any" : "");
  else if (known->known >= 3 && 2 * known->known >= known->compared && is_array)
    amped_warn("%s: of %" PRIu64 " cells%s, %" PRIu64
               " were known with other values: an array begins at index 1 of each mode; if it has "
               "new indices, give them as a table, or the whole array as it has grown",
               name, known->compared, which, known->known);
  else if (known->known > 0 && are_sums)
    amped_warn("%s: of %" PRIu64 " cells%s, %" PRIu64
               " were known, and values that are added up within a batch are not added to earlier "
               "batches: the model is one of single batches; for sums of all rows fit all tables "
               "together with amped_mpi complete, or give each row its period as a key (--date)",
               name, known->compared, which, known->known);
  else if (known->known > 0)
    amped_say("%s: of %" PRIu64 " cells%s, %" PRIu64
              " were known; their entries are learnt like others",
              name, known->compared, which, known->known);
}

amped_status amped_stream_cells_add(amped_stream_cells *c, const amped_source_batch *batch,
                                    const amped_sptensor *held_out) {
  const amped_sptensor *more[AMPED_STATE_LISTS] = {held_out, &batch->sample};
  for (int l = 0; l < AMPED_STATE_LISTS; l++) {
    memcpy(c->entries[l].dims, c->head->dims, sizeof c->entries[l].dims);
    AMPED_TRY(amped_entry_sample_add(&c->entries[l], more[l], c->head->split_seed, c->most[l]));
  }
  return AMPED_OK;
}
