/* Results as text, NumPy files or tables, for programs without HDF5: one file for the weights and
 * one for each factor; of tables, one for all factors.
 *
 * OUT.npy, or a name without suffix, gives OUT.weights.npy, OUT.mode0.npy, ... (numpy.load:
 * float64, C order). OUT.txt gives OUT.weights.txt, OUT.mode0.txt, ..., one row a line, with
 * numbers of 17 digits that read back exactly. OUT.csv and OUT.tsv are io_table_write.h's. All
 * files are complete before the first file gets its final name. */
#ifndef AMPED_IO_RESULT_H
#define AMPED_IO_RESULT_H

#include "tensor/ktensor.h"

/* Check the name: AMPED_USAGE for another suffix, AMPED_FAILED where the files cannot be written.
 * Writes nothing. */
amped_status amped_io_result_check(const char *path);

/* The file name of a mode's factor, or of the weights; not of tables. The caller frees it with
 * amped_free. */
#define AMPED_RESULT_WEIGHTS (-1)
amped_status amped_io_result_name(const char *path, int mode, char **out);

amped_status amped_io_result_write(const char *path, const amped_ktensor *k);

#endif
