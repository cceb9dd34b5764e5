/* Way: the row of --exchange. */
#include "mpi/way.h"

const char *const amped_way_names[] = {"auto", "rails", "ring", "allgatherv", NULL};

static const amped_option rows[] = {
    {.name = "exchange",
     .type = AMPED_OPTION_WORD,
     .words = amped_way_names,
     .help = "send factor rows to other nodes on every rank's link, round one ring, or by "
             "MPI_Allgatherv",
     .initial = "auto",
     .initially = "auto: rails if a node of several has several ranks, else a ring",
     AMPED_OPTION_FIELD(amped_exchange_options, way)},
};

const amped_option_group amped_exchange_option_rows = AMPED_OPTION_GROUP(rows);
