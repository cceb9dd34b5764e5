/* Cell files: files of cells beside a model, read as indices of the model. They are CELLS and the
 * files of --exclude, in the commands recommend and evaluate. In all functions o->args[0] is the
 * file of the model. */
#ifndef AMPED_CELL_FILES_H
#define AMPED_CELL_FILES_H

#include "cli/options.h"
#include "tensor/completion.h"
#include "tensor/sptensor.h"

/* Is the file a state of stream, whatever its name? False if it cannot be read. */
bool amped_cell_files_is_state(const char *path);

/* Probe the HDF5 files among the inputs after the model: CELLS, if the command has it, and the
 * files of --exclude. Call it before an HDF5 file is read. AMPED_BAD_INPUT, with the remedy, if
 * --exclude names a state of stream. */
amped_status amped_cell_files_probe(const amped_options *o);

/* Read one of these files. Indices of *out are the model's; an index that the model does not have
 * is AMPED_PREDICTOR_COLD. *has_values: its entries have values of the user's; otherwise they are
 * all 1. AMPED_BAD_INPUT if the model has none of the indices of a needed mode ([order]). Free the
 * tensor with amped_sptensor_free. */
amped_status amped_cell_files_read(const amped_options *o, const char *path, const amped_ktensor *k,
                                   const bool *needed, amped_sptensor *out, bool *has_values);

/* Does an entry of this value stand for an event? False for 0 with a model of --implicit, if the
 * file has values. */
bool amped_cell_files_is_event(const amped_completion *c, bool has_values, double value);

/* A choice of entries of --exclude, and of the indices that are kept. */
typedef struct amped_cell_files_wanted {
  bool kept[AMPED_MAX_ORDER];   /* modes in which the model must have the entry's index */
  bool fixed[AMPED_MAX_ORDER];  /* modes in which the entry's index must be `at` */
  uint64_t at[AMPED_MAX_ORDER]; /* read if fixed */
} amped_cell_files_wanted;

/* Read all files of --exclude, and join the wanted events. Lines count the other entries of each
 * file. *out has the indices of kept modes only (NULL in the others), and no values. A cell may
 * come several times. Events of CELLS, if --exclude names it, come last: *own is their number. Free
 * *out with amped_sptensor_free. */
amped_status amped_cell_files_join(const amped_options *o, const amped_ktensor *k,
                                   const amped_completion *c, const amped_cell_files_wanted *wanted,
                                   amped_sptensor *out, uint64_t *own);

#endif
