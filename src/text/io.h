/* Tensors in: picks a format by the options, or by the suffix of the name (io_format.h).
 *
 * .tns .coo .txt (and + .gz, .zst): FROSTT text (io_tns.h); .mtx: Matrix Market, likewise. .csv
 * .tsv (and + .gz, .zst): tables (io_table.h). .h5 .hdf5: tensor files (tensor_file.h). "-" is
 * standard input. */
#ifndef AMPED_IO_H
#define AMPED_IO_H

#include "text/io_format.h"

/* AMPED_USAGE if an option does not apply to the format. */
amped_status amped_io_check(const char *path, amped_format format,
                            const amped_read_options *options);

/* Options for `path`, one of the files that a command reads: without options that apply only to
 * other files of the list, such as --value for text beside a table. An option that applies to no
 * file of the list stays, so that amped_io_check refuses it. files: [count] names, some NULL; count
 * 0: the files are not known yet, and may have any format. */
amped_read_options amped_io_options_of(const char *path, const char *const *files, int count,
                                       const amped_read_options *options);

/* Read a tensor of any of these formats into memory: validated, in the file's order, with
 * duplicates. nnz is 0 if the tensor is empty and is allowed to be (read_options.h). AMPED_USAGE if
 * an option does not apply to the format. Shows progress; uses all threads. The caller frees the
 * tensor. */
amped_status amped_io_read(const char *path, const amped_read_options *options,
                           amped_sptensor *out);

#endif
