/* Methods: the table of all methods of completion. */
#ifndef AMPED_COMPLETE_METHODS_H
#define AMPED_COMPLETE_METHODS_H

#include "solver/complete_method.h"

/* The method that the options name. Static. */
const amped_complete_method *amped_complete_method_find(const amped_complete_options *options);

#endif
