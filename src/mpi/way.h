/* Way: how factor rows travel between ranks, as the user chose it with --exchange. */
#ifndef AMPED_WAY_H
#define AMPED_WAY_H

#include "base/option.h"

typedef enum amped_way {
  AMPED_WAY_AUTO,  /* rails if there are several nodes of several ranks, else a ring; MPI_Allgatherv
                      for small parts of many ranks, or if the user chose MPI's algorithm */
  AMPED_WAY_RAILS, /* between nodes on every rank's link, then round inside the node (routes.h) */
  AMPED_WAY_RING,  /* round one ring of all ranks */
  AMPED_WAY_ALLGATHERV /* MPI_Allgatherv in place */
} amped_way;

typedef struct amped_exchange_options {
  amped_way way;
} amped_exchange_options;

/* The words of amped_way; NULL ends the list. */
extern const char *const amped_way_names[];

extern const amped_option_group amped_exchange_option_rows; /* --exchange */

#endif
