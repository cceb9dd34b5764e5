/* Groups: which models of a run are computed side by side, as columns of one set of factors.
 *
 * A group's MTTKRPs gather its models' rows together, so a group costs less time than its models
 * one by one, up to some width. Groups have models that follow each other in the run's order. Pure
 * functions. */
#ifndef AMPED_GROUPS_H
#define AMPED_GROUPS_H

#include "base/status.h"
#include "base/types.h"

/* Relative seconds of an MTTKRP with rows of at most `bytes` bytes, as measured. A table is in
 * ascending order; wider rows cost in proportion to the last row of the table. */
typedef struct amped_width_cost {
  uint64_t bytes;
  double sec;
} amped_width_cost;

typedef struct amped_width_costs {
  const amped_width_cost *table;
  int count;
} amped_width_costs;

typedef struct amped_groups {
  int models;    /* models of the run: for each number of components, all starts */
  int *ncomps;   /* [models] */
  int *ends;     /* [models] if a group begins with this model: the number after its last */
  int count;     /* groups */
  int largest;   /* models of the largest group */
  int columns;   /* columns of the widest group */
  double saved;  /* predicted seconds of all MTTKRPs one by one, divided by those in groups */
  double widest; /* predicted seconds of all groups' MTTKRPs, over the widest group's seconds */
} amped_groups;

/* Make the list of models; each is a group. free accepts a zeroed struct. */
amped_status amped_groups_create(const int *ncomps, int count, int starts, amped_groups *groups);
void amped_groups_free(amped_groups *groups);

/* Choose groups of at most `most` models and at most `columns` columns: those that cost the least,
 * or the largest. costs: for the predictions; a table without rows says that all widths cost the
 * same. type: of the factors. A model wider than `columns` is a group. */
void amped_groups_choose(amped_groups *groups, int most, int columns, bool largest,
                         amped_vtype type, const amped_width_costs *costs);

#endif
