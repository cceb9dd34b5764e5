/* Formats of tensors, by the suffix of a file's name. */
#ifndef AMPED_IO_FORMAT_H
#define AMPED_IO_FORMAT_H

#include "base/status.h"
#include "text/read_options.h"

typedef enum amped_format {
  AMPED_FORMAT_TNS,
  AMPED_FORMAT_TABLE,
  AMPED_FORMAT_HDF5,
  AMPED_FORMAT_NPY /* a dense tensor (io_npy.h) */
} amped_format;

/* Find the format of a file name, ignoring a compression suffix. AMPED_USAGE if the suffix is
 * unknown. */
amped_status amped_io_format(const char *path, amped_format *out);

/* Does the suffix mean HDF5, of this program or of netCDF and MATLAB? */
bool amped_io_is_hdf5(const char *path);

/* Find the format of an input. A name of HDF5 or npy always decides; otherwise the options do, or
 * else the name. Standard input, a pipe or a device without such a suffix is text, or a table if an
 * option for tables is given. */
amped_status amped_io_input_format(const char *path, const amped_read_options *options,
                                   amped_format *out);

/* Is this the format of the input? False if the format is unknown. Clears the recorded error. */
bool amped_io_has_format(const char *path, const amped_read_options *options, amped_format wanted);

/* Is it a .tsv table, whose cells have no quotes unless options say otherwise? */
bool amped_io_is_tsv(const char *path);

/* Name of the input in messages: "standard input" for "-". */
const char *amped_io_name(const char *path);

/* Length of a path without the suffixes of format and compression; the whole length if it has
 * neither. */
uint64_t amped_io_stem(const char *path);

#endif
