/* Claim: decides whether a first line of numbers is a header or a nonzero. */
#include "text/io_tns_claim.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "text/io_format.h"

/* Fewest lines for a decision. In a shorter text, a nonzero's value may equal the number of lines
 * by chance. */
#define ENOUGH_LINES 16
/* Bytes for a line of numbers. */
#define LINE_BYTES ((AMPED_MAX_ORDER + 1) * 21)

static const char *line_text(const amped_tns_claim *c, char *text) {
  size_t used = 0;
  for (int m = 0; m <= c->order; m++)
    used += (size_t)snprintf(text + used, LINE_BYTES - used, "%s%" PRIu64, m > 0 ? " " : "",
                             m < c->order ? c->dims[m] : c->nnz);
  return text;
}

bool amped_tns_claim_exceeded(const amped_tns_claim *c, const uint64_t *maxima) {
  for (int m = 0; m < c->order; m++)
    if (maxima[m] > c->dims[m])
      return true;
  return false;
}

static void give_up_first(amped_sptensor *t) {
  t->nnz--;
  for (int m = 0; m < t->order; m++)
    memmove(t->indices[m], t->indices[m] + 1, t->nnz * sizeof **t->indices);
  memmove(t->values, t->values + 1, t->nnz * sizeof *t->values);
}

void amped_tns_claim_assume(amped_tns_claim *c, amped_sptensor *t, uint64_t behind) {
  c->open = false;
  c->assumed = behind <= c->nnz;
  if (c->assumed)
    give_up_first(t);
}

/* Would all cells, or all but one, be nonzeros? */
static bool fills_cells(const amped_tns_claim *c) {
  uint64_t cells = 1;
  for (int m = 0; m < c->order; m++)
    if (!amped_mul(cells, c->dims[m], &cells))
      return false;
  return c->nnz + 1 >= cells;
}

static amped_status settle_assumed(const amped_tns_claim *c, const char *path, bool holds) {
  char text[LINE_BYTES];
  if (holds)
    return AMPED_OK;
  return amped_error(AMPED_USAGE, path,
                     "line %" PRIu64 " (%s) looked like a header of dimensions and nonzeros when "
                     "memory was full, and later lines contradict it; say --header=none if it is "
                     "a nonzero, or correct the header",
                     c->line, line_text(c, text));
}

/* Warn if the line may be the header of a file that was cut, or to which lines were added. */
static void warn_of_count(const amped_tns_claim *c, const char *path, uint64_t behind) {
  char text[LINE_BYTES];
  if (behind >= ENOUGH_LINES && c->nnz >= behind / 2)
    amped_warn("%s: line %" PRIu64 " (%s) is read as a nonzero; no index is beyond it, but %" PRIu64
               " nonzeros follow: if it is a header, say --header=dims-nnz and correct it; "
               "--header=none reads it as a nonzero without this warning",
               path, c->line, line_text(c, text), behind);
}

amped_status amped_tns_claim_settle(amped_tns_claim *c, const char *path, uint64_t behind,
                                    const uint64_t *maxima, amped_sptensor *t, bool *header) {
  char text[LINE_BYTES];
  const char *name = amped_io_name(path);
  const bool within = !amped_tns_claim_exceeded(c, maxima);
  *header = false;
  if (!c->assumed && !c->open)
    return AMPED_OK;
  if (!c->assumed && (!within || behind != c->nnz)) {
    if (within)
      warn_of_count(c, name, behind);
    return AMPED_OK;
  }
  if (!c->assumed && (c->nnz < ENOUGH_LINES || fills_cells(c)))
    return amped_error(AMPED_USAGE, name,
                       "line %" PRIu64 " (%s) may be a nonzero, or a header: as many lines follow "
                       "as its last number says, and no index is beyond the others; say "
                       "--header=none if it is a nonzero, --header=dims-nnz if it is a header",
                       c->line, line_text(c, text));
  if (c->assumed)
    AMPED_TRY(settle_assumed(c, name, within && behind == c->nnz));
  else
    give_up_first(t);
  c->open = false;
  *header = true;
  amped_note("%s: line %" PRIu64 " (%s) is a header: dimensions, and the number of nonzeros that "
             "follow (--header=none reads it as a nonzero)",
             name, c->line, line_text(c, text));
  return AMPED_OK;
}
