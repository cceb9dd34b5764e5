/* Tensors in and out: picks a format by the name's suffix.
 *
 *   .tns .coo .txt (and + .gz, .zst)   FROSTT text (io_tns.h); "-" is standard input or output
 *   .csv .tsv (and + .gz, .zst)        tables (io_table.h), in only
 *   .h5 .hdf5                          tensor files (tensor_file.h)
 */
#ifndef AMPED_IO_H
#define AMPED_IO_H

#include "text/io_format.h"

/* Read any of them into memory: validated, in the file's order, duplicates kept. Options that the
 * format does not have are AMPED_USAGE. Shows progress; uses all threads. */
amped_status amped_io_read(const char *path, const amped_read_options *options,
                           amped_sptensor *out);

#endif
