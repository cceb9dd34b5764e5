/* Methods: the table of all completion methods. */
#ifndef AMPED_COMPLETE_METHODS_H
#define AMPED_COMPLETE_METHODS_H

#include "solver/complete/complete_method.h"

/* Returns the method that the options name; static memory. */
const amped_complete_method *amped_complete_method_find(const amped_complete_options *options);

#endif
