/* Checks that a command's argument is a result, and reads it. */
#include "cli/result_argument.h"

#include <string.h>

#include "base/file.h"
#include "hdf5/hdf5_probe.h"
#include "formats/result_file.h"
#include "state/state_file.h"
#include "text/io_format.h"

static amped_status refuse(const char *command, const char *path) {
  const char *slash = strrchr(path, '/');
  const char *base = slash != NULL ? slash + 1 : path;
  return amped_error(
      AMPED_BAD_INPUT, path,
      "is not a result; %s needs a result of cpd or complete; amped_mpi %s makes one: %.*s.cpd.h5",
      command, path, (int)amped_io_stem(base), base);
}

/* Refuse an HDF5 file that is no result. */
static amped_status refuse_hdf5(const char *command, const char *path) {
  bool is_state = false;
  AMPED_TRY(amped_state_file_is(path, &is_state));
  if (!is_state)
    return refuse(command, path);
  return amped_error(AMPED_BAD_INPUT, path,
                     "is the state of a stream, not a result; amped_mpi stream %s -o RESULT.h5 "
                     "writes its model for %s",
                     path, command);
}

/* Is it a text or a table? Only the suffix of the name can show this. */
static bool is_text(const char *path) {
  return path[amped_io_stem(path)] != '\0' && !amped_file_has_suffix(path, ".h5") &&
         !amped_file_has_suffix(path, ".hdf5");
}

amped_status amped_result_argument_is(const char *command, const char *path) {
  bool is_result = false;
  AMPED_TRY(amped_file_check_readable(path, NULL));
  if (is_text(path))
    return refuse(command, path);
  AMPED_TRY(amped_hdf5_probe(path)); /* the only HDF5 file that is read */
  AMPED_TRY(amped_result_file_is(path, &is_result));
  return is_result ? amped_result_file_check_model(path) : refuse_hdf5(command, path);
}

amped_status amped_result_argument_read(const char *command, const char *path, amped_ktensor *out) {
  memset(out, 0, sizeof *out);
  AMPED_TRY(amped_result_argument_is(command, path));
  return amped_result_file_read(path, out);
}

amped_status amped_result_argument_check(const char *path, const amped_ktensor *k,
                                         const amped_number_list *asked) {
  const int above = amped_number_list_above(asked, k->ncomps);
  if (k->ncomps > AMPED_MAX_NCOMPS)
    return amped_error(AMPED_BAD_INPUT, path, "has %d components; at most %d are supported",
                       k->ncomps, AMPED_MAX_NCOMPS);
  if (above > 0)
    return amped_error(AMPED_USAGE, path, "has no component %d; its components are 1 to %d", above,
                       k->ncomps);
  return AMPED_OK;
}
