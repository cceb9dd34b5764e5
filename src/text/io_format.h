/* Formats of tensors, by the suffix of a file's name. */
#ifndef AMPED_IO_FORMAT_H
#define AMPED_IO_FORMAT_H

#include "base/status.h"
#include "text/read_options.h"

typedef enum amped_format { AMPED_FORMAT_TNS, AMPED_FORMAT_TABLE, AMPED_FORMAT_HDF5 } amped_format;

/* The format of a file name, compression suffix ignored; AMPED_USAGE where the suffix is
 * unknown. */
amped_status amped_io_format(const char *path, amped_format *out);

/* Length of a path without the suffixes of its format and compression; the whole length where it
 * has neither. */
uint64_t amped_io_stem(const char *path);

#endif
