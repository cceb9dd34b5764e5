/* Methods: the table of all completion methods, and the choice of one. */
#include "solver/complete/complete_methods.h"

#include "solver/complete/complete_als.h"
#include "solver/complete/complete_block.h"
#include "solver/complete/complete_sgd.h"

/* In the order of amped_complete_kind. */
static const amped_complete_method *const methods[] = {&amped_complete_als, &amped_complete_block,
                                                       &amped_complete_sgd};

const amped_complete_method *amped_complete_method_find(const amped_complete_options *options) {
  return options->block > 0 ? &amped_complete_block : methods[options->method];
}
