/* Names, checks, locks and writes the result files of cpd and complete. */
#include "cli/cpd_outputs.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "cli/commands.h"
#include "cli/input_files.h"
#include "base/mem.h"
#include "formats/completion_file.h"
#include "hdf5/hdf5_probe.h"
#include "formats/result_file.h"
#include "session/stream_begin.h"
#include "session/trace_file.h"
#include "session/checkpoint_file.h"
#include "text/io_format.h"

/* Most results of one name that are kept in the folder of temporary files. */
#define MOST_REFUGES 1000

/* Parts of a file's name that say which kind of model is in it. */
static const char *const models[] = {".cpd", ".completion"};

static const char *model_of(const amped_options *o) {
  return models[strcmp(o->command->name, "complete") == 0];
}

/* Insert a part into a name: with "r8", "out.cpd.h5" and "out.h5" become "out.r8.cpd.h5" and
 * "out.r8.h5". The caller frees *out. */
static amped_status add_part(const char *name, const char *part, char **out) {
  uint64_t stem = amped_io_stem(name);
  const uint64_t size = strlen(name) + strlen(part) + 2;
  for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
    const size_t n = strlen(models[i]);
    if (stem > n && strncmp(name + stem - n, models[i], n) == 0)
      stem -= n;
  }
  AMPED_TRY(amped_alloc(out, size, 1, "the output's name"));
  (void)snprintf(*out, size, "%.*s.%s%s", (int)stem, name, part, name + stem);
  return AMPED_OK;
}

/* The result file's name: the user's, or "STEM.cpd.h5" in the current folder (complete:
 * "STEM.completion.h5"). The caller frees *out. */
static amped_status output_name(const amped_options *o, char **out) {
  if (o->output != NULL)
    return amped_strdup(out, o->output);
  const char *name = strrchr(o->args[0], '/');
  name = name != NULL ? name + 1 : o->args[0];
  if (strcmp(name, "-") == 0)
    name = "stdin";
  uint64_t length = amped_io_stem(name);
  const uint64_t size = length + strlen(model_of(o)) + sizeof ".h5";
  AMPED_TRY(amped_alloc(out, size, 1, "the output's name"));
  (void)snprintf(*out, size, "%.*s%s.h5", (int)length, name, model_of(o));
  return AMPED_OK;
}

static amped_status output_path(const amped_options *o, int ncomps, char **out) {
  char *name = NULL;
  char part[16];
  if (o->session.ncomps_count == 1)
    return output_name(o, out);
  AMPED_TRY(output_name(o, &name));
  (void)snprintf(part, sizeof part, "r%d", ncomps);
  amped_status status = add_part(name, part, out);
  amped_free(name);
  return status;
}

/* The file that --on-signal=result writes: "out.partial.cpd.h5". */
static amped_status partial_path(const amped_options *o, char **out) {
  char *name = NULL;
  AMPED_TRY(output_name(o, &name));
  amped_status status = add_part(name, "partial", out);
  amped_free(name);
  return status;
}

static bool has_models(const amped_options *o) {
  return strcmp(o->command->name, "cpd") == 0 && o->session.ncomps_count * o->session.starts > 1;
}

amped_status amped_cpd_outputs_checkpoint(const amped_options *o, int ncomps, int start,
                                          char **out) {
  char part[32];
  if (!has_models(o))
    return amped_strdup(out, o->checkpoint.file);
  (void)snprintf(part, sizeof part, "r%d.s%d", ncomps, start);
  return add_part(o->checkpoint.file, part, out);
}

amped_status amped_cpd_outputs_checkpoints(const amped_options *o,
                                           amped_status (*act)(const amped_options *o,
                                                               const char *path, void *context),
                                           void *context) {
  const int starts = has_models(o) ? o->session.starts : 1;
  const int ranks = has_models(o) ? o->session.ncomps_count : 1;
  amped_status status = AMPED_OK;
  for (int i = 0; i < ranks * starts && o->checkpoint.file != NULL && status == AMPED_OK; i++) {
    char *path = NULL;
    AMPED_TRY(
        amped_cpd_outputs_checkpoint(o, o->session.ncomps_list[i / starts], i % starts + 1, &path));
    status = act(o, path, context);
    amped_free(path);
  }
  return status;
}

static amped_status probe(const amped_options *o, const char *path, void *context) {
  (void)o;
  (void)context;
  amped_hdf5_probe_with_previous(path);
  return AMPED_OK;
}

amped_status amped_cpd_outputs_probe(const amped_options *o) {
  return amped_cpd_outputs_checkpoints(o, probe, NULL);
}

/* Has the result its own file, apart from this output? */
static amped_status check_apart(const char *path, const char *option, const char *file) {
  if (amped_file_is_one(path, file))
    return amped_error(AMPED_USAGE, path,
                       "is named for the result and for another output of this run; name "
                       "another file with %s",
                       option);
  if (amped_file_lock_is_between(path, file))
    return amped_error(AMPED_USAGE, file,
                       "conflicts with the result %s: one has the name of the other's lock "
                       "file; name another file with %s",
                       path, option);
  return AMPED_OK;
}

/* Is the result apart from both generations of a checkpoint? context: the result's path. */
static amped_status check_checkpoint(const amped_options *o, const char *file, void *context) {
  const char *path = context;
  char *previous = NULL;
  (void)o;
  AMPED_TRY(amped_file_previous(file, &previous));
  amped_status status = check_apart(path, "--checkpoint", file);
  if (status == AMPED_OK)
    status = check_apart(path, "--checkpoint", previous);
  amped_free(previous);
  return status;
}

/* Has the result its own file? */
static amped_status check_name(const amped_options *o, char *path) {
  const struct {
    const char *option, *file;
  } others[] = {{"--checkpoint", o->checkpoint.file},
                {"--json", o->json},
                {"--trace", o->session.trace},
                {"--state", o->stream.state}};
  for (size_t k = 0; k < sizeof others / sizeof others[0]; k++)
    AMPED_TRY(check_apart(path, others[k].option, others[k].file));
  return amped_cpd_outputs_checkpoints(o, check_checkpoint, path);
}

amped_status amped_cpd_outputs_check_names(const amped_options *o) {
  amped_status status = AMPED_OK;
  if (o->nowrite || o->session.plan_only)
    return AMPED_OK;
  const int count = o->session.ncomps_count + (o->checkpoint.result_on_signal ? 1 : 0);
  for (int i = 0; i < count && status == AMPED_OK; i++) {
    char *path = NULL;
    status = i < o->session.ncomps_count ? output_path(o, o->session.ncomps_list[i], &path)
                                         : partial_path(o, &path);
    if (status == AMPED_OK)
      status = check_name(o, path);
    amped_free(path);
  }
  return status;
}

/* Refuse a name that suggests another format than the file will have. */
static amped_status check_suffix(const char *path) {
  static const char *const others[] = {".npy", ".json", ".svg", ".png", ".gz", ".zst"};
  amped_format format = AMPED_FORMAT_HDF5;
  bool other = false;
  if (amped_io_format(path, &format) != AMPED_OK)
    amped_status_clear(); /* not the suffix of a tensor format */
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
    other = other || amped_file_has_suffix(path, others[i]);
  if (!other && format == AMPED_FORMAT_HDF5)
    return AMPED_OK;
  return amped_error(AMPED_USAGE, path,
                     "results are HDF5 files; name it .h5, and amped_mpi convert turns it into "
                     "text or .npy");
}

/* Check that a result can be written to this path. */
static amped_status look(const amped_options *o, amped_cpd_output *out) {
  AMPED_TRY(check_suffix(out->path));
  AMPED_TRY(amped_input_files_check_apart(o, out->path, "-o"));
  AMPED_TRY(amped_file_check_writable(out->path));
  return amped_output_look(out->path, AMPED_OUTPUT_RESULT, o->overwrite, &out->found);
}

static amped_status look_at_checkpoint(const amped_options *o, const char *path, void *context) {
  amped_output found;
  char *previous = NULL;
  (void)context;
  if (amped_file_is_special(path))
    return amped_error(AMPED_USAGE, path,
                       "cannot hold a checkpoint, from which a run continues; name a file with "
                       "--checkpoint");
  AMPED_TRY(amped_file_check_writable(path));
  AMPED_TRY(amped_file_previous(path, &previous));
  amped_status status = amped_file_check_writable(previous);
  if (status == AMPED_OK)
    status = o->checkpoint.resume && !o->overwrite
                 ? amped_output_look_previous(path, AMPED_OUTPUT_CHECKPOINT)
                 : amped_output_look(path, AMPED_OUTPUT_CHECKPOINT, o->overwrite, &found);
  amped_free(previous);
  return status;
}

amped_status amped_cpd_outputs_look(const amped_options *o, amped_cpd_outputs *out) {
  memset(out, 0, sizeof *out);
  if (o->session.plan_only)
    return AMPED_OK;
  for (int i = 0; i < o->session.ncomps_count && !o->nowrite; i++) {
    AMPED_TRY(output_path(o, o->session.ncomps_list[i], &out->results[i].path));
    out->count++;
    AMPED_TRY(look(o, &out->results[i]));
  }
  if (o->checkpoint.result_on_signal) {
    AMPED_TRY(partial_path(o, &out->partial.path));
    AMPED_TRY(look(o, &out->partial));
  }
  return amped_cpd_outputs_checkpoints(o, look_at_checkpoint, NULL);
}

amped_status amped_cpd_outputs_place(const amped_options *o, amped_cpd_outputs *out) {
  memset(out, 0, sizeof *out);
  AMPED_TRY(output_name(o, &out->results[0].path));
  out->count = 1;
  if (amped_file_is_special(out->results[0].path))
    return amped_error(AMPED_USAGE, out->results[0].path,
                       "cannot hold a result, which is removed after timing; name a file with -o");
  return amped_file_check_writable(out->results[0].path);
}

amped_status amped_cpd_outputs_lock(amped_cpd_outputs *out) {
  for (int i = 0; i < out->count; i++)
    AMPED_TRY(amped_file_lock_take(out->results[i].path, &out->results[i].lock));
  return out->partial.path != NULL ? amped_file_lock_take(out->partial.path, &out->partial.lock)
                                   : AMPED_OK;
}

amped_status amped_cpd_outputs_compare(const amped_options *o, const amped_cpd_outputs *out,
                                       const amped_tensor_info *info) {
  const uint64_t *dims = o->session.fix == NULL ? info->dims : NULL;
  for (int i = 0; i < out->count; i++)
    AMPED_TRY(amped_output_compare_result(&out->results[i].found, info->hash, info->order, dims,
                                          o->session.ncomps_list[i]));
  return out->partial.path != NULL
             ? amped_output_compare_result(&out->partial.found, info->hash, info->order, dims,
                                           o->session.ncomps)
             : AMPED_OK;
}

/* The most bytes of a result. */
static uint64_t result_bytes(const amped_options *o, const amped_plan *plan, int ncomps,
                             const amped_labels *labels) {
  const uint64_t bytes =
      amped_result_file_bytes(plan->order, plan->dims, ncomps, AMPED_F64, labels);
  return strcmp(o->command->name, "complete") == 0
             ? bytes + amped_completion_file_bytes(plan->order, plan->dims, ncomps, o->cpd.iters)
             : bytes;
}

/* Most bytes of a checkpoint. complete adds a column of biases, and stores the best sweep's factors
 * with the current ones. Accelerated sweeps also store the factors of the sweep before. */
static uint64_t checkpoint_bytes(const amped_options *o, const amped_plan *plan, const char *path,
                                 int components) {
  const bool completes = strcmp(o->command->name, "complete") == 0;
  const bool has_two = completes || o->cpd.accelerate != AMPED_ACCELERATE_NONE;
  const int ncomps = (has_two ? 2 : 1) * (components + (completes ? 1 : 0));
  return amped_checkpoint_file_bytes(path, plan->order, plan->dims, ncomps, o->session.precision);
}

/* Bytes of all models' checkpoints. */
static amped_status all_checkpoint_bytes(const amped_options *o, const amped_plan *plan,
                                         uint64_t *bytes) {
  const bool several = has_models(o);
  const int starts = several ? o->session.starts : 1;
  *bytes = 0;
  for (int i = 0; i < (several ? o->session.ncomps_count * starts : 1); i++) {
    const int ncomps = several ? o->session.ncomps_list[i / starts] : o->session.ncomps;
    char *path = NULL;
    AMPED_TRY(amped_cpd_outputs_checkpoint(o, ncomps, i % starts + 1, &path));
    *bytes += checkpoint_bytes(o, plan, path, ncomps);
    amped_free(path);
  }
  return AMPED_OK;
}

amped_status amped_cpd_outputs_room(const amped_options *o, const amped_cpd_outputs *out,
                                    const amped_plan *plan, const amped_labels *labels) {
  amped_file_need needs[AMPED_MAX_NCOMPS_COUNT + 3];
  int count = 0;
  for (; count < out->count; count++)
    needs[count] = (amped_file_need){out->results[count].path,
                                     result_bytes(o, plan, o->session.ncomps_list[count], labels),
                                     "name another file with -o"};
  if (o->checkpoint.file != NULL) {
    needs[count] = (amped_file_need){o->checkpoint.file, 0, "name another file with --checkpoint"};
    AMPED_TRY(all_checkpoint_bytes(o, plan, &needs[count++].bytes));
  }
  if (o->session.trace != NULL)
    needs[count++] = (amped_file_need){o->session.trace, amped_trace_file_bytes(plan->nranks),
                                       "name another file with --trace"};
  if (o->stream.state != NULL)
    needs[count++] = (amped_file_need){
        o->stream.state,
        amped_stream_begin_bytes(plan, o->complete.bias == AMPED_BIAS_FULL, o->stream.history),
        "name another file with --state"};
  return amped_file_check_room(needs, count);
}

static amped_status find_refuge(const char *path, char **out) {
  const char *folder = amped_file_scratch();
  const char *base = strrchr(path, '/');
  char part[32] = "partial";
  char *name = NULL;
  struct stat there;
  amped_status status = AMPED_OK;
  base = base != NULL ? base + 1 : path;
  const uint64_t size = strlen(folder) + strlen(base) + sizeof part + 2;
  AMPED_TRY(amped_alloc(out, size, 1, "a path"));
  for (int i = 1; i <= MOST_REFUGES; i++) {
    AMPED_GO(fail, add_part(base, part, &name));
    (void)snprintf(*out, size, "%s/%s", folder, name);
    amped_free(name);
    if (lstat(*out, &there) != 0) /* a broken link is somebody's file, too */
      return AMPED_OK;
    (void)snprintf(part, sizeof part, "partial%d", i + 1);
  }
  status = amped_error(AMPED_FAILED, *out, "is there already; remove it");
fail:
  amped_free(*out);
  *out = NULL;
  return status;
}

/* Save a result that could not be written to `path` in the folder of temporary files, and add its
 * name to the error. */
static amped_status keep(const char *path, const amped_ktensor *k, const amped_run_record *record) {
  char line[1024];
  char *refuge = NULL;
  (void)snprintf(line, sizeof line, "%s", amped_status_bare(amped_status_message()));
  if (find_refuge(path, &refuge) != AMPED_OK ||
      amped_result_file_write(refuge, k, record) != AMPED_OK) {
    amped_free(refuge);
    return AMPED_FAILED; /* the first error stays */
  }
  amped_status_clear();
  (void)amped_error(AMPED_FAILED, NULL, "%s; what was computed is in %s", line, refuge);
  amped_free(refuge);
  return AMPED_FAILED;
}

amped_status amped_cpd_outputs_write(const char *path, const amped_ktensor *k,
                                     const amped_run_record *record) {
  amped_status status = amped_result_file_write(path, k, record);
  return status == AMPED_FAILED ? keep(path, k, record) : status;
}

static void free_output(amped_cpd_output *out) {
  amped_file_lock_release(&out->lock);
  amped_free(out->path);
}

void amped_cpd_outputs_free(amped_cpd_outputs *out) {
  for (int i = 0; i < AMPED_MAX_NCOMPS_COUNT; i++)
    free_output(&out->results[i]);
  free_output(&out->partial);
  memset(out, 0, sizeof *out);
}
