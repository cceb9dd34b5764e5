/* Results as text, NumPy files or tables, for programs without HDF5: one file for the weights and
 * one per factor. Tables have one file for all factors.
 *
 * OUT.npy, or a name without suffix, gives OUT.weights.npy, OUT.mode0.npy, ... (numpy.load:
 * float64, C order). OUT.txt gives OUT.weights.txt, OUT.mode0.txt, ..., one line per row, with
 * numbers of 17 digits that read back exactly. OUT.csv and OUT.tsv are described in
 * io_table_write.h. All files are complete before the first file gets its final name.
 *
 * A completion model (c; NULL: none) must be in the values' own units (amped_completion_unscale).
 * It has additional files: OUT.mean.npy, one number, and OUT.bias0.npy, ... if it has biases. */
#ifndef AMPED_IO_RESULT_H
#define AMPED_IO_RESULT_H

#include "tensor/completion.h"

/* Check the name: AMPED_USAGE for another suffix, AMPED_FAILED if the files cannot be written.
 * Writes nothing. */
amped_status amped_io_result_check(const char *path);

/* Number of files of a result, except tables: the weights and one factor per mode; for a completion
 * model also the mean and one bias per mode. */
int amped_io_result_files(int order, const amped_completion *c);

/* Name of file 0, 1, ... of a result of this order. The caller frees it with amped_free. */
amped_status amped_io_result_name(const char *path, int order, int file, char **out);

amped_status amped_io_result_write(const char *path, const amped_ktensor *k,
                                   const amped_completion *c);

#endif
