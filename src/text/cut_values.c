/* Cut values: joined over pieces, and a warning. */
#include "text/cut_values.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/log.h"
#include "tensor/cut_integers.h"
#include "text/io_format.h"

static void add(amped_cut_kind *kind, const amped_piece *piece, const amped_noted *noted,
                uint64_t line) {
  if (kind->count == 0 && noted->count > 0) {
    kind->line = line + amped_text_count(piece->begin, noted->at, '\n');
    (void)amped_number_excerpt(kind->text, noted->at, noted->end);
  }
  kind->count += noted->count;
}

void amped_cut_values_add(amped_cut_values *cut, const amped_text_chunk *chunk,
                          const amped_piece *pieces, int count) {
  uint64_t line = chunk->line;
  for (int i = 0; i < count; i++) {
    add(&cut->cuts, &pieces[i], &pieces[i].cuts, line);
    add(&cut->gone, &pieces[i], &pieces[i].gone, line);
    line += pieces[i].lines;
  }
}

void amped_cut_values_warn(const amped_cut_values *cut, const char *path) {
  const amped_cut_kind *cuts = &cut->cuts;
  const amped_cut_kind *gone = &cut->gone;
  char where[48];
  (void)snprintf(where, sizeof where, "in line %" PRIu64, cuts->line);
  if (cuts->count > 0)
    amped_cut_warn(amped_io_name(path), cuts->count, cuts->text, where);
  if (gone->count > 0)
    amped_warn("%s: %" PRIu64 " value%s, because %s nearer to 0 than any double; the first is %s "
               "in line %" PRIu64 "; multiply all values by a constant to keep them",
               amped_io_name(path), gone->count, gone->count == 1 ? " becomes 0" : "s become 0",
               gone->count == 1 ? "it is" : "they are", gone->text, gone->line);
}
