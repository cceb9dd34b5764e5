/* Cut values: joined over pieces, and a warning. */
#include "text/cut_values.h"

#include <stdio.h>

#include "tensor/cut_integers.h"
#include "text/io_format.h"

void amped_cut_values_add(amped_cut_values *cut, const amped_text_chunk *chunk,
                          const amped_piece *pieces, int count) {
  uint64_t line = chunk->line;
  for (int i = 0; i < count; i++) {
    const amped_piece *piece = &pieces[i];
    if (cut->count == 0 && piece->cuts > 0) {
      cut->line = line + amped_text_count(piece->begin, piece->cut_at, '\n');
      (void)amped_number_excerpt(cut->text, piece->cut_at, piece->cut_end);
    }
    cut->count += piece->cuts;
    line += piece->lines;
  }
}

void amped_cut_values_warn(const amped_cut_values *cut, const char *path) {
  char where[48];
  if (cut->count == 0)
    return;
  (void)snprintf(where, sizeof where, "in line %" PRIu64, cut->line);
  amped_cut_warn(amped_io_name(path), cut->count, cut->text, where);
}
