/* Cut integers: the first of them, and a warning. */
#include "tensor/cut_integers.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "tensor/dense_info.h"

void amped_cut_integers_add(amped_cut_integers *cut, amped_cell_type type, uint64_t bits, int order,
                            const uint64_t *place) {
  if (cut->count++ > 0)
    return;
  cut->negative = type == AMPED_CELL_I64 && bits >> 63 != 0;
  cut->size = cut->negative ? -bits : bits;
  memcpy(cut->place, place, (size_t)order * sizeof *place);
}

void amped_cut_warn(const char *path, uint64_t count, const char *first, const char *where) {
  char number[32] = "some";
  if (count > 0)
    (void)snprintf(number, sizeof number, "%" PRIu64, count);
  amped_warn("%s: %s value%s rounded, because a double does not hold all digits of whole "
             "numbers above 2^53; the first is %s %s; subtract a constant from all values to keep "
             "them",
             path, number, count == 1 ? " is" : "s are", first, where);
}

void amped_cut_integers_warn(const amped_cut_integers *cut, int order, const char *path) {
  char place[AMPED_DENSE_PLACE];
  char where[AMPED_DENSE_PLACE + 16];
  char first[32];
  if (cut->count == 0)
    return;
  (void)snprintf(first, sizeof first, "%s%" PRIu64, cut->negative ? "-" : "", cut->size);
  if (order > 0)
    (void)snprintf(where, sizeof where, "at (%s)", amped_dense_place(order, cut->place, place));
  else
    (void)snprintf(where, sizeof where, "(element %" PRIu64 ")", cut->place[0]);
  amped_cut_warn(path, order > 0 ? cut->count : 0, first, where);
}
