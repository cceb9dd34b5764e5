/* Info text: facts that info reports about several kinds of files. */
#ifndef AMPED_INFO_TEXT_H
#define AMPED_INFO_TEXT_H

#include <stdbool.h>

#include "base/facts.h"
#include "tensor/labels.h"

/* The better form of a tensor: a line, and the members "faster" and "smaller", each "dense" or
 * "sparse". */
void amped_info_form(amped_facts *facts, double density);

/* The norm of nnz nonzeros; none if their squares leave a double's range, or lose digits. */
void amped_info_norm(amped_facts *facts, double norm_squared, uint64_t nnz);

/* A mode's labels: a line if there are some; with their `count` an item of "mode_names" and of
 * "labels", too. labels: at least the first and the last label. */
void amped_info_label_line(amped_facts *facts, int mode, const amped_labels *labels);
void amped_info_labels(amped_facts *facts, int mode, const amped_labels *labels, uint64_t count);

/* Has a verified file a hash of all contents? Earlier builds and other programs write none. what:
 * the subject of the line that says so. */
void amped_info_sealed(amped_facts *facts, bool sealed, const char *what);

#endif
