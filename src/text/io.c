#include "text/io.h"

#include <string.h>

#include "text/io_table.h"
#include "text/io_tns.h"
#include "hdf5/tensor_file.h"

/* Refuse options that this format would ignore. */
static amped_status check_options(const char *path, amped_format format,
                                  const amped_read_options *o) {
  bool text = format == AMPED_FORMAT_TNS;
  bool table = format == AMPED_FORMAT_TABLE;
  const char *unused = NULL;
  if (o->index_base != AMPED_BASE_AUTO && !text)
    unused = "--index-base is for text tensors (.tns)";
  else if (o->dims_order > 0 && !text)
    unused = "--dims is for text tensors (.tns)";
  else if (o->keys != NULL && !table)
    unused = "--keys is for tables (.csv, .tsv)";
  else if (o->value != NULL && !table)
    unused = "--value is for tables (.csv, .tsv)";
  if (unused != NULL)
    return amped_error(AMPED_USAGE, path, "%s; leave it out", unused);
  if (o->dims_order != 0 && (o->dims_order < AMPED_MIN_ORDER || o->dims_order > AMPED_MAX_ORDER))
    return amped_error(AMPED_USAGE, NULL, "--dims: %d dimensions; orders %d to %d are supported",
                       o->dims_order, AMPED_MIN_ORDER, AMPED_MAX_ORDER);
  return AMPED_OK;
}

amped_status amped_io_read(const char *path, const amped_read_options *options,
                           amped_sptensor *out) {
  amped_format format = AMPED_FORMAT_TNS;
  amped_status status = AMPED_OK;
  memset(out, 0, sizeof *out);
  AMPED_TRY(amped_io_format(path, &format));
  AMPED_TRY(check_options(path, format, options));
  switch (format) {
  case AMPED_FORMAT_TNS:
    status = amped_tns_read(path, options, out);
    break;
  case AMPED_FORMAT_TABLE:
    status = amped_table_read(path, options, out);
    break;
  case AMPED_FORMAT_HDF5:
    status = amped_tensor_file_load(path, options->overflow, out);
    break;
  }
  AMPED_TRY(status);
  if (out->nnz == 0 && options->overflow != NULL)
    return AMPED_OK; /* the last chunk was empty, and the overflow has the other nonzeros: readers
                        check this */
  status = amped_sptensor_validate(out, path);
  if (status != AMPED_OK)
    amped_sptensor_free(out);
  return status;
}
