/* Stream cells: the cells that a state knows, by its lists of entries, and how many of a batch's
 * cells are among them. Rank 0; not collective. Start with file and head set, and all else zero. */
#ifndef AMPED_STREAM_CELLS_H
#define AMPED_STREAM_CELLS_H

#include "load/batch_source.h"
#include "state/state_file.h"

typedef struct amped_stream_cells {
  amped_state_file *file;       /* borrowed */
  const amped_state_head *head; /* borrowed: numbers after the last batch */
  bool are_read;
  amped_sptensor entries[AMPED_STATE_LISTS];
  uint64_t most[AMPED_STATE_LISTS]; /* most entries that a list keeps here */
} amped_stream_cells;

/* Read the state's lists, once: before a batch is added. */
amped_status amped_stream_cells_read(amped_stream_cells *cells);
void amped_stream_cells_free(amped_stream_cells *cells);

/* Leave the cells out of the sample that have a row without a learnt entry. bits: the rows of each
 * mode that have learnt one. The lists are read. */
void amped_stream_cells_drop(amped_stream_cells *cells, uint64_t *const *bits);

/* Count the cells of a batch that the state knows. A state of an old version has no sample; there
 * the batch's held-out entries are compared. Values that were rounded anew are the same. held_out:
 * used only without a sample. */
amped_status amped_stream_cells_count(amped_stream_cells *cells, const amped_source_batch *batch,
                                      const amped_sptensor *held_out, amped_known_cells *out);

/* Does a batch repeat what was learnt? Half of its cells are known with the same values. */
bool amped_stream_cells_repeat(const amped_known_cells *known);

/* Report the known cells. Warn if the batch repeats, or if its values are sums of rows (are_sums).
 * Warn also if half of the cells of an array (is_array) are known, because its cells always begin
 * at index 1. A published history learns no known cell, and reports its number otherwise. */
void amped_stream_cells_report(const amped_stream_cells *cells, const char *name, bool is_array,
                               bool are_sums, const amped_known_cells *known);

/* Add a learnt batch's entries to the lists. The head has the batch. */
amped_status amped_stream_cells_add(amped_stream_cells *cells, const amped_source_batch *batch,
                                    const amped_sptensor *held_out);

#endif
