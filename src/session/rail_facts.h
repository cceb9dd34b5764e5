/* Rail facts: the rates of rails (mpi/rail_rate.h), for users. */
#ifndef AMPED_RAIL_FACTS_H
#define AMPED_RAIL_FACTS_H

#include "base/facts.h"
#include "mpi/rail_rate.h"

/* Add the key "rails"; null on one node. Words: "2 rails between nodes; slowest: rail 0, 1.1 GB/s;
 * fastest: rail 1, 1.3 GB/s; in order: 1.1, 1.3"; none on one node. */
void amped_rail_facts(const amped_rail_rates *rates, amped_facts *facts);

/* Rank 0: warn if a rail is far slower than another. */
void amped_rail_facts_warn(const amped_rail_rates *rates);

#endif
