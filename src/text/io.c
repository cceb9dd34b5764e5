/* Tensors in: checks the options against the format, and calls the format's reader. */
#include "text/io.h"

#include <string.h>

#include "text/io_table.h"
#include "text/io_tns.h"
#include "formats/tensor_file.h"

/* Returns a given option that is only for tables; NULL: none. */
static const char *option_of_table(const amped_read_options *o) {
  return o->keys != NULL          ? "--keys"
         : o->value != NULL       ? "--value"
         : o->separator != '\0'   ? "--separator"
         : o->no_header           ? "--no-header"
         : o->empty != NULL       ? "--empty"
         : o->skips_missing       ? "--missing"
         : o->dates.count > 0     ? "--date"
         : o->same_labels != NULL ? "--same-labels"
                                  : NULL;
}

amped_status amped_io_check(const char *path, amped_format format, const amped_read_options *o) {
  const char *text = o->index_base != AMPED_BASE_AUTO ? "--index-base"
                     : o->header != AMPED_HEADER_AUTO ? "--header"
                     : o->dims_order > 0              ? "--dims"
                                                      : NULL;
  const char *table = option_of_table(o);
  if (o->format != AMPED_READ_AUTO && format >= AMPED_FORMAT_HDF5)
    return amped_error(AMPED_USAGE, path, "--format is for text and tables; leave it out");
  if (text != NULL && format != AMPED_FORMAT_TNS)
    return amped_error(AMPED_USAGE, path, "%s is for text tensors (.tns); leave it out", text);
  if (table != NULL && format != AMPED_FORMAT_TABLE)
    return amped_error(AMPED_USAGE, path, "%s is for tables (.csv, .tsv); leave it out", table);
  if (o->dims_order != 0 && (o->dims_order < AMPED_MIN_ORDER || o->dims_order > AMPED_MAX_ORDER))
    return amped_error(AMPED_USAGE, NULL, "--dims: %d dimensions; orders %d to %d are supported",
                       o->dims_order, AMPED_MIN_ORDER, AMPED_MAX_ORDER);
  return AMPED_OK;
}

/* Does one of the files have this format? True if the list is empty. */
static bool any_has(const char *const *files, int count, const amped_read_options *o,
                    amped_format wanted) {
  bool any = count == 0;
  for (int i = 0; i < count && !any; i++)
    any = files[i] != NULL && amped_io_has_format(files[i], o, wanted);
  return any;
}

amped_read_options amped_io_options_of(const char *path, const char *const *files, int count,
                                       const amped_read_options *o) {
  amped_read_options out = *o;
  const bool is_text = amped_io_has_format(path, o, AMPED_FORMAT_TNS);
  const bool is_table = amped_io_has_format(path, o, AMPED_FORMAT_TABLE);
  const bool texts = any_has(files, count, o, AMPED_FORMAT_TNS);
  const bool tables = any_has(files, count, o, AMPED_FORMAT_TABLE);
  if (!is_text && texts) {
    out.index_base = AMPED_BASE_AUTO;
    out.header = AMPED_HEADER_AUTO;
    out.dims_order = 0;
  }
  if (!is_table && tables) {
    out.keys = out.value = out.weights = out.empty = out.same_labels = NULL;
    out.dates.count = 0;
    out.separator = '\0';
    out.no_header = out.skips_missing = false;
  }
  if (!is_text && !is_table && (texts || tables)) {
    out.format = AMPED_READ_AUTO;
    out.duplicates = AMPED_DUPLICATES_UNKNOWN;
  }
  return out;
}

amped_status amped_io_read(const char *path, const amped_read_options *options,
                           amped_sptensor *out) {
  amped_format format = AMPED_FORMAT_TNS;
  amped_status status = AMPED_OK;
  memset(out, 0, sizeof *out);
  AMPED_TRY(amped_io_input_format(path, options, &format));
  AMPED_TRY(amped_io_check(path, format, options));
  switch (format) {
  case AMPED_FORMAT_TNS:
    status = amped_tns_read(path, options, out);
    break;
  case AMPED_FORMAT_TABLE:
    status = amped_table_read(path, options, out);
    break;
  case AMPED_FORMAT_NPY:
    status = amped_error(AMPED_USAGE, path,
                         "a dense tensor, but a list of cells is needed; amped_mpi convert "
                         "--sparse --nan=missing makes one");
    break;
  case AMPED_FORMAT_HDF5:
    status = amped_tensor_file_load(path, options->may_be_empty, options->overflow, out);
    break;
  }
  AMPED_TRY(status);
  if (format != AMPED_FORMAT_HDF5) /* an HDF5 file has its own policy */
    out->duplicates = AMPED_DUPLICATES_KEEP;
  if (out->nnz == 0 && (options->overflow != NULL || options->may_be_empty))
    return AMPED_OK; /* the overflow has all other nonzeros, or the tensor may be empty; readers
                        check this */
  status = amped_sptensor_validate(out, path);
  if (status != AMPED_OK)
    amped_sptensor_free(out);
  return status;
}
