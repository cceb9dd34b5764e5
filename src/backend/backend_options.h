/* Backend options: the user's options for the computing device. They fill the struct of
 * backend.h. */
#ifndef AMPED_BACKEND_OPTIONS_H
#define AMPED_BACKEND_OPTIONS_H

#include "backend/backend.h"
#include "base/option.h"
#include "base/status.h"

/* --backend, --residency, --device-memory, --tiles, --deterministic, --share-gpus */
extern const amped_option_group amped_backend_option_rows;
extern const amped_option_group amped_copies_option_rows;   /* --copies */
extern const amped_option_group amped_kernel_option_rows;   /* --kernel */
extern const amped_option_group amped_products_option_rows; /* --products */

#endif
