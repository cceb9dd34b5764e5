/* Whole gaps: missing cells of an almost dense tensor that form whole fibres, such as missing
 * pixels of a picture with many bands. Entries that are held out one by one have neighbours in
 * their fibre, which missing cells do not have. So their error is too low.
 *
 * A fibre: all cells that share the indices of some modes. */
#ifndef AMPED_WHOLE_GAPS_H
#define AMPED_WHOLE_GAPS_H

#include "solver/complete/complete_problem.h"

/* Collective; the status is agreed. fibres = the fewest modes, two or more, whose fibres are almost
 * all full or empty: at least half of the missing cells are in empty fibres, and at least nine
 * tenths of the cells of other fibres are observed. Cells of an index without any observed cell do
 * not count, as no model knows them. All false: there are none, or a sixteenth of the cells or less
 * is observed, or there are more than AMPED_MOST_FIBRES fibres. The same on every rank. Call it
 * when the problem has its scale, with a tensor whose cells are not repeated. */
#define AMPED_MOST_FIBRES (UINT64_C(1) << 29)
amped_status amped_whole_gaps_find(const amped_context *context,
                                   const amped_complete_problem *problem,
                                   bool fibres[AMPED_MAX_ORDER]);

/* Collective; the status is agreed. *count = held-out entries that have a learnt entry in their
 * fibre. If there are more than AMPED_MOST_FIBRES fibres, nothing is counted, and *fibres becomes
 * all false. The same on every rank. Call it when the problem has its scale. */
amped_status amped_whole_gaps_repeated(const amped_context *context, bool fibres[AMPED_MAX_ORDER],
                                       uint64_t *count);

#endif
