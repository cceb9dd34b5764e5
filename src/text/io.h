/* Tensors in and out: picks a format by the name's suffix.
 *
 * .tns .coo .txt (and + .gz, .zst) FROSTT text (io_tns.h); "-" is standard input or output .csv
 * .tsv (and + .gz, .zst) tables (io_table.h), in only .h5 .hdf5 tensor files (tensor_file.h) */
#ifndef AMPED_IO_H
#define AMPED_IO_H

#include "text/io_format.h"

/* Read a tensor of any of these formats into memory: validated, in the file's order, with
 * duplicates. AMPED_USAGE where an option does not apply to the format. Shows progress; uses all
 * threads. The caller frees the tensor. */
amped_status amped_io_read(const char *path, const amped_read_options *options,
                           amped_sptensor *out);

#endif
