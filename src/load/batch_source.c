/* Batch source: batches of a stream, from files, slices, boxes or a followed folder. */
#include "load/batch_source.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/option.h"
#include "base/signals.h"
#include "hdf5/hdf5_probe.h"
#include "hdf5/hdf5_prober.h"
#include "tensor/entry_sample.h"
#include "tensor/format.h"
#include "tensor/mode_names.h"
#include "text/io.h"
#include "text/io_tns.h"

/* Pause between two scans of a folder. */
static const struct timespec pause_between = {0, 200000000};

/* A file of a followed folder, as it was when it was examined. */
typedef struct examined {
  bool exists;
  struct stat st;
  bool told; /* a warning said that it has changed since */
} examined;

struct amped_batch_source {
  const amped_comm *comm;
  const amped_batch_request *request;
  const char *path; /* path of the state */
  amped_duplicates duplicates;
  amped_batch_sums *sums;
  const amped_known_list *known; /* rank 0 */
  uint64_t split_seed, sample;
  uint64_t dims[AMPED_MAX_ORDER]; /* dims of the state, on every rank */
  int order;
  amped_batch_indices indices; /* rank 0 */
  int next;                    /* FILES: the next path of the request */
  amped_input *input;          /* BY, BOXES */
  amped_batch_cut *cut;        /* rank 0 */
  amped_intern taken;          /* FOLLOW: names of files that were examined */
  examined *seen;              /* [taken.count] these files; the array has spare capacity */
  uint64_t room;
};

static bool is_hdf5(const char *path, const amped_read_options *read) {
  return amped_io_has_format(path, read, AMPED_FORMAT_HDF5);
}

amped_status amped_batch_source_probe(const amped_batch_request *r) {
  bool any = r->kind == AMPED_BATCH_FOLLOW;
  if (r->kind == AMPED_BATCH_BY || r->kind == AMPED_BATCH_BOXES)
    return is_hdf5(r->paths[0], r->read) ? amped_hdf5_probe(r->paths[0]) : AMPED_OK;
  for (int i = 0; i < r->count && !any; i++)
    any = is_hdf5(r->paths[i], r->read);
  return any ? amped_hdf5_probe_later() : AMPED_OK;
}

/* --- life ------------------------------------------------------------------------------------- */

/* Finds the mode of --by: by its name in the state, or its number from 1. */
static amped_status find_mode(const amped_batch_source *s, int *mode) {
  const char *by = s->request->by;
  char names[AMPED_MODES_TEXT];
  amped_labels labels[AMPED_MAX_ORDER];
  for (int m = 0; m < s->order; m++)
    labels[m] = amped_batch_indices_labels(&s->indices, m);
  *mode = amped_mode_find(labels, s->order, by, strlen(by));
  if (*mode >= 0)
    return AMPED_OK;
  return amped_error(AMPED_USAGE, NULL, "--by: the state has no mode %.64s; %s", by,
                     amped_mode_names(names, labels, s->order));
}

/* Rank 0: opens the cut of BY or BOXES. */
static amped_status open_cut(amped_batch_source *s, const amped_batch_target *target) {
  const amped_batch_request *r = s->request;
  int mode = -1;
  if (r->kind == AMPED_BATCH_BY)
    AMPED_TRY(find_mode(s, &mode));
  else if (r->boxes.order != s->order)
    return amped_error(AMPED_USAGE, NULL,
                       "--boxes: %d dimensions, but the state of %s has %d modes", r->boxes.order,
                       s->path, s->order);
  const amped_batch_cut_request cut = {.mode = mode,
                                       .batch = r->batch,
                                       .boxes = &r->boxes,
                                       .known_nnz = target->known_nnz,
                                       .known = target->known,
                                       .learnt = target->learnt,
                                       .earlier = target->earlier};
  s->indices.by = mode;
  return amped_batch_cut_open(s->input, &s->indices, &cut, &s->cut);
}

/* Rank 0: the options for a file. Each of the user's options applies to the formats that it is for.
 * The files of a folder are not known before they come. */
static amped_read_options read_options(const amped_batch_source *s, const char *path) {
  const amped_batch_request *r = s->request;
  amped_read_options read =
      amped_io_options_of(path, r->paths, r->kind == AMPED_BATCH_FOLLOW ? 0 : r->count, r->read);
  if (is_hdf5(path, &read))
    return read;
  if (read.duplicates == AMPED_DUPLICATES_UNKNOWN)
    read.duplicates = s->duplicates;
  amped_labels labels[AMPED_MAX_ORDER];
  for (int m = 0; m < s->order && s->comm->rank == 0; m++)
    labels[m] = amped_batch_indices_labels(&s->indices, m);
  amped_read_options_know(&read, s->order, s->comm->rank == 0 ? labels : NULL);
  return read;
}

static amped_status check_folder(const char *path) {
  struct stat st;
  if (stat(path, &st) != 0)
    return amped_error_errno(AMPED_BAD_INPUT, errno, path, "cannot be followed");
  return S_ISDIR(st.st_mode)
             ? AMPED_OK
             : amped_error(AMPED_BAD_INPUT, path, "is not a folder; name one with --follow");
}

/* Collective. */
static amped_status begin(amped_batch_source *s, const amped_batch_target *target) {
  const amped_comm *comm = s->comm;
  const amped_batch_request *r = s->request;
  amped_status status = AMPED_OK;
  if (comm->rank == 0)
    status = amped_batch_indices_create(target->path, target->order, target->dims, target->first,
                                        target->labels, &s->indices);
  if (comm->rank == 0 && status == AMPED_OK && r->kind == AMPED_BATCH_FOLLOW)
    status = check_folder(r->paths[0]);
  AMPED_TRY(amped_comm_agree(comm, status));
  if (r->kind != AMPED_BATCH_BY && r->kind != AMPED_BATCH_BOXES)
    return AMPED_OK;
  const amped_read_options read = read_options(s, r->paths[0]);
  AMPED_TRY(amped_input_open(comm, r->paths[0], &read, false, &s->input));
  if (comm->rank == 0)
    status = open_cut(s, target);
  return amped_comm_agree(comm, status);
}

amped_status amped_batch_source_open(const amped_comm *comm, const amped_batch_request *request,
                                     const amped_batch_target *target, amped_batch_source **out) {
  amped_batch_source *s = NULL;
  *out = NULL;
  amped_status status = amped_calloc(&s, 1, sizeof *s, "the source of batches");
  AMPED_GO(done, amped_comm_agree(comm, status));
  s->comm = comm;
  s->request = request;
  s->path = target->path;
  s->order = target->order;
  s->duplicates = target->duplicates;
  s->sums = target->sums;
  s->known = target->known;
  s->split_seed = target->split_seed;
  s->sample = target->sample;
  memcpy(s->dims, target->dims, sizeof s->dims);
  status = begin(s, target);
done:
  if (status != AMPED_OK) {
    amped_batch_source_close(s);
    return status;
  }
  *out = s;
  return AMPED_OK;
}

void amped_batch_source_close(amped_batch_source *s) {
  if (s == NULL)
    return;
  amped_batch_cut_close(s->cut);
  amped_input_close(s->input);
  amped_batch_indices_free(&s->indices);
  amped_intern_free(&s->taken);
  amped_free(s->seen);
  amped_hdf5_prober_stop();
  amped_free(s);
}

void amped_batch_release(amped_source_batch *batch) {
  amped_input_close(batch->input);
  amped_sptensor_free(&batch->sample);
  amped_free(batch->name);
  memset(batch, 0, sizeof *batch);
}

/* --- files of a folder ------------------------------------------------------------------------ */

static bool ends_with(const char *name, const char *suffix) {
  const size_t n = strlen(name);
  const size_t m = strlen(suffix);
  return n >= m && strcasecmp(name + n - m, suffix) == 0;
}

/* Unfinished files and drafts. This program's drafts have ".tmp." within their names. */
static bool is_unfinished(const char *name) {
  return name[0] == '.' || strstr(name, ".tmp.") != NULL || ends_with(name, ".tmp") ||
         ends_with(name, ".part") || ends_with(name, ".lock");
}

static amped_status join(const char *folder, const char *name, char **out) {
  const uint64_t bytes = strlen(folder) + strlen(name) + 2;
  AMPED_TRY(amped_alloc(out, bytes, 1, "a path"));
  (void)snprintf(*out, bytes, "%s%s%s", folder, ends_with(folder, "/") ? "" : "/", name);
  return AMPED_OK;
}

/* The number of a name that was examined; AMPED_INTERN_NONE: it was not. */
static uint64_t find_taken(const amped_batch_source *s, const char *name) {
  const uint64_t n = strlen(name);
  return amped_intern_find(&s->taken, amped_intern_hash(name, n), name, n);
}

/* Notes a name that is examined now, and its file. */
static amped_status take(amped_batch_source *s, const char *name, const examined *file) {
  const uint64_t n = strlen(name);
  uint64_t id = 0;
  AMPED_TRY(amped_intern_add(&s->taken, amped_intern_hash(name, n), name, n, &id));
  if (id == s->room) {
    const uint64_t room = s->room > 0 ? 2 * s->room : 64;
    AMPED_TRY(amped_realloc(&s->seen, room, sizeof *s->seen, "the files of a folder"));
    s->room = room;
  }
  s->seen[id] = *file;
  return AMPED_OK;
}

static bool has_changed(const struct stat *then, const struct stat *now) {
  return now->st_size != then->st_size || now->st_mtim.tv_sec != then->st_mtim.tv_sec ||
         now->st_mtim.tv_nsec != then->st_mtim.tv_nsec;
}

/* Must a file of the folder be examined? Yes, if its name is new, or if another file was moved to
 * it. A file that changed in place may be incomplete: a warning says once that it is not read. */
static bool is_next(amped_batch_source *s, int folder, const char *name) {
  const uint64_t id = find_taken(s, name);
  struct stat now;
  if (id == AMPED_INTERN_NONE || fstatat(folder, name, &now, 0) != 0)
    return id == AMPED_INTERN_NONE;
  examined *file = &s->seen[id];
  if (file->exists && !has_changed(&file->st, &now))
    return false;
  if (!file->exists || now.st_ino != file->st.st_ino || now.st_dev != file->st.st_dev)
    return true;
  if (!file->told)
    amped_warn("%s: %s was read and has changed since, in place; it is not read again: move "
               "complete files into the folder",
               s->request->paths[0], name);
  file->told = true;
  return false;
}

/* Finds the first name, in order, that must be examined; "": none is left. */
static amped_status first_name(amped_batch_source *s, char name[NAME_MAX + 1]) {
  const char *folder = s->request->paths[0];
  DIR *entries = opendir(folder);
  name[0] = '\0';
  if (entries == NULL)
    return amped_error_errno(AMPED_BAD_INPUT, errno, folder, "cannot be followed");
  for (struct dirent *e = readdir(entries); e != NULL; e = readdir(entries))
    if (!is_unfinished(e->d_name) && (name[0] == '\0' || strcmp(e->d_name, name) < 0) &&
        is_next(s, dirfd(entries), e->d_name))
      (void)snprintf(name, NAME_MAX + 1, "%s", e->d_name);
  (void)closedir(entries);
  return AMPED_OK;
}

/* Can this file be a batch? A file that cannot is reported once. Pipes are refused: no signal would
 * end the wait for their writer. */
static bool is_batch(const amped_batch_source *s, const char *path, const examined *file) {
  amped_format format = AMPED_FORMAT_TNS;
  if (!file->exists || S_ISDIR(file->st.st_mode))
    return false;
  if (!S_ISREG(file->st.st_mode)) {
    amped_say("%s: is not a regular file; it is passed over", path);
    return false;
  }
  const bool is = amped_io_input_format(path, s->request->read, &format) == AMPED_OK;
  amped_status_clear();
  if (!is)
    amped_say("%s: its suffix is not that of a known format; it is passed over", path);
  return is;
}

/* Rank 0: finds the next file. *path is the caller's (amped_free); NULL: none yet. */
static amped_status look_at_folder(amped_batch_source *s, char **path) {
  char name[NAME_MAX + 1];
  for (*path = NULL;;) {
    examined file = {.told = false};
    AMPED_TRY(first_name(s, name));
    if (name[0] == '\0')
      return AMPED_OK;
    AMPED_TRY(join(s->request->paths[0], name, path));
    file.exists = stat(*path, &file.st) == 0;
    AMPED_TRY(take(s, name, &file));
    if (is_batch(s, *path, &file))
      return AMPED_OK;
    amped_free(*path);
    *path = NULL;
  }
}

/* --- the next batch --------------------------------------------------------------------------- */

/* Rank 0: reads a file into `list`, with its labels; nnz 0: the file is empty. */
static amped_status read_file(const amped_batch_source *s, const char *path, amped_sptensor *list) {
  amped_read_options read = read_options(s, path);
  struct stat st;
  read.may_be_empty = true;
  if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > 0)
    AMPED_TRY(amped_input_read_list(path, &read, list));
  if (list->nnz == 0)
    amped_say("%s: has no entries; it is passed over", path);
  return AMPED_OK;
}

/* Rank 0: takes the next batch, in the user's indices. *name NULL: no batch is left; with FOLLOW,
 * none yet. */
static amped_status take_list(amped_batch_source *s, amped_sptensor *list, char **name) {
  const amped_batch_request *r = s->request;
  amped_status status = AMPED_OK;
  memset(list, 0, sizeof *list);
  *name = NULL;
  if (s->cut != NULL)
    return amped_batch_cut_next(s->cut, list, name);
  while (list->nnz == 0) {
    amped_sptensor_free(list);
    amped_free(*name);
    *name = NULL;
    if (r->kind == AMPED_BATCH_FOLLOW)
      AMPED_TRY(look_at_folder(s, name));
    else if (s->next < r->count)
      AMPED_TRY(amped_strdup(name, r->paths[s->next++]));
    if (*name == NULL)
      return AMPED_OK;
    status = read_file(s, *name, list);
    if (status != AMPED_OK)
      return status;
  }
  return AMPED_OK;
}

/* Rank 0: limit of a mode's rows after a batch with this number of entries. Each entry has at most
 * one new row; twice the sum leaves space for indices that have no entry yet. */
static uint64_t most_rows(const amped_batch_source *s, int mode, uint64_t entries) {
  uint64_t most = 0;
  if (s->request->max_rows > 0)
    return s->request->max_rows;
  return amped_add(s->dims[mode], entries, &most) && amped_mul(most, 2, &most) ? most : UINT64_MAX;
}

/* Rank 0: "line 12: " for the first line of a text that has the index; "" if unknown. */
static const char *line_of(const amped_batch_source *s, const char *path, int mode, uint64_t index,
                           char text[48]) {
  const amped_read_options read = read_options(s, path);
  uint64_t line = 0;
  struct stat st;
  amped_format format = AMPED_FORMAT_HDF5;
  text[0] = '\0';
  if (stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
      amped_io_input_format(path, &read, &format) == AMPED_OK && format == AMPED_FORMAT_TNS &&
      amped_tns_line(path, &read, mode, index, &line) == AMPED_OK && line > 0)
    (void)snprintf(text, 48, "line %" PRIu64 ": ", line);
  amped_status_clear();
  return text;
}

/* Rank 0: refuses a batch that grows a mode too much. One wrong index would grow the state by a row
 * for each index below it. */
static amped_status check_growth(const amped_batch_source *s, const char *name,
                                 const amped_sptensor *list) {
  char line[48];
  const char *path = s->cut != NULL ? s->request->paths[0] : name;
  for (int m = 0; m < s->order; m++) {
    const uint64_t most = most_rows(s, m, list->nnz);
    const amped_labels labels = amped_batch_indices_labels(&s->indices, m);
    char mode[128];
    if (list->dims[m] <= s->dims[m] || list->dims[m] <= most)
      continue;
    return amped_error(
        AMPED_BAD_INPUT, name,
        "%sindex %" PRIu64 " of %s, which has %" PRIu64 " rows in %s: a batch of %" PRIu64
        " entries may grow it to %" PRIu64
        "%s; correct the index, or allow more rows with --max-rows=%" PRIu64,
        line_of(s, path, m, list->dims[m] - 1, line), list->dims[m],
        amped_format_mode(mode, sizeof mode, m, &labels), s->dims[m], s->path, list->nnz, most,
        s->request->max_rows > 0 ? " (--max-rows)" : ", 2 x (rows + entries)", list->dims[m]);
  }
  return AMPED_OK;
}

/* Rank 0: leaves out the batches of the state with which a list begins. If nothing else is there,
 * all entries stay. */
static amped_status take_behind(const amped_batch_source *s, amped_sptensor *list,
                                amped_source_batch *out) {
  amped_beginning found;
  AMPED_TRY(amped_beginning_of(s->sums, list, &found));
  out->begins = found.nnz > 0;
  if (found.nnz == list->nnz) {
    out->same_as = found.last;
    out->unlearnt = amped_unlearnt_of(s->known, list);
    return AMPED_OK;
  }
  out->unlearnt = amped_beginning_cut(found.nnz, s->known, list);
  out->known = found.nnz - out->unlearnt.nnz;
  return AMPED_OK;
}

/* Rank 0: compares a file's list with what the state has learnt. Only the rest of a snapshot is
 * kept, or what comes behind batches with which the file begins. */
static amped_status take_rest(const amped_batch_source *s, const char *name, amped_sptensor *list,
                              amped_source_batch *out) {
  if (s->sums == NULL || s->cut != NULL)
    return AMPED_OK;
  const amped_snapshot found = amped_snapshot_of(s->sums, s->dims, list);
  out->mixed = s->known != NULL && s->known->weighted && !amped_known_list_is_whole(s->known);
  out->same_as = found.same_as;
  if (found.same_as > 0) {
    out->unlearnt = amped_unlearnt_of(s->known, list);
    return AMPED_OK;
  }
  if (!found.is_one)
    return s->request->snapshots ? amped_snapshot_refuse(&found, s->sums, name, s->path)
                                 : take_behind(s, list, out);
  out->unlearnt = amped_snapshot_cut(s->dims, s->known, list);
  out->known = found.inside - out->unlearnt.nnz;
  return AMPED_OK;
}

/* Rank 0: translates a list to the state's indices, and leaves out what a snapshot repeats. */
static amped_status turn(amped_batch_source *s, const char *name, amped_sptensor *list,
                         amped_source_batch *out) {
  const amped_labels *labels = s->cut != NULL ? amped_batch_cut_labels(s->cut) : list->labels;
  if (s->cut == NULL)
    AMPED_TRY(amped_batch_indices_check(&s->indices, name, list->order, labels));
  AMPED_TRY(amped_batch_indices_translate(&s->indices, name, labels, list));
  AMPED_TRY(take_rest(s, name, list, out));
  AMPED_TRY(check_growth(s, name, list));
  for (int m = 0; m < list->order; m++)
    amped_labels_free(&list->labels[m]);
  return amped_sptensor_validate(list, name);
}

/* Collective: copies rank 0's name to all ranks. */
static amped_status share_name(const amped_comm *comm, char **name) {
  uint64_t bytes = *name != NULL ? strlen(*name) + 1 : 0;
  amped_status status = AMPED_OK;
  amped_comm_broadcast(comm, &bytes, sizeof bytes);
  if (comm->rank != 0)
    status = amped_alloc(name, bytes, 1, "the name of a batch");
  AMPED_TRY(amped_comm_agree(comm, status));
  amped_comm_broadcast(comm, *name, bytes);
  return AMPED_OK;
}

/* Collective: makes the batch of rank 0's list. */
static amped_status make_batch(amped_batch_source *s, amped_sptensor *list,
                               amped_source_batch *out) {
  const amped_comm *comm = s->comm;
  amped_status status = AMPED_OK;
  if (comm->rank == 0) {
    /* Entries of weight 0 count in the first fit. A batch that the state has stays whole. */
    const amped_unlearnt counted = out->same_as == 0 ? out->unlearnt : (amped_unlearnt){.nnz = 0};
    out->hash = amped_sptensor_hash(list) - counted.hash;
    out->nnz = list->nnz - counted.nnz;
    out->squares = fmax(amped_sptensor_norm_squared(list) - counted.squares, 0.0);
    out->sample.order = s->order;
    if (s->sample > 0)
      status = amped_entry_sample_add(&out->sample, list, s->split_seed, s->sample);
    memcpy(out->dims, list->dims, sizeof out->dims);
    for (int m = 0; m < s->order; m++)
      out->added[m] = amped_batch_indices_staged(&s->indices, m);
  }
  AMPED_TRY(amped_comm_agree(comm, status));
  amped_comm_broadcast(comm, &out->hash, sizeof out->hash);
  amped_comm_broadcast(comm, &out->nnz, sizeof out->nnz);
  amped_comm_broadcast(comm, &out->known, sizeof out->known);
  amped_comm_broadcast(comm, &out->mixed, sizeof out->mixed);
  amped_comm_broadcast(comm, &out->unlearnt, sizeof out->unlearnt);
  amped_comm_broadcast(comm, &out->same_as, sizeof out->same_as);
  amped_comm_broadcast(comm, &out->begins, sizeof out->begins);
  amped_comm_broadcast(comm, &out->squares, sizeof out->squares);
  amped_comm_broadcast(comm, out->dims, sizeof out->dims);
  for (int m = 0; m < s->order; m++)
    out->new_rows[m] = out->dims[m] - s->dims[m];
  return amped_input_of_list(comm, out->name, comm->rank == 0 ? list : NULL, &out->input);
}

/* Collective: has any rank received a signal? */
static bool is_signalled(const amped_comm *comm) {
  uint64_t caught = amped_signals_caught() != NULL;
  amped_comm_sum_u64(comm, &caught, 1);
  return caught > 0;
}

/* Collective: gets rank 0's next list, and its name; FOLLOW waits for one. */
static amped_status await_list(amped_batch_source *s, amped_sptensor *list, char **name) {
  for (bool waits = false;; waits = true) {
    uint64_t found = 0;
    amped_status status = AMPED_OK;
    if (is_signalled(s->comm))
      return AMPED_STOPPED;
    if (s->comm->rank == 0) {
      status = take_list(s, list, name);
      found = *name != NULL;
    }
    AMPED_TRY(amped_comm_agree(s->comm, status));
    amped_comm_broadcast(s->comm, &found, sizeof found);
    if (found > 0 || s->request->kind != AMPED_BATCH_FOLLOW)
      return AMPED_OK;
    if (!waits)
      amped_say_verbose("%s: waiting for files", s->request->paths[0]);
    amped_heartbeat_step();
    (void)nanosleep(&pause_between, NULL);
  }
}

amped_status amped_batch_source_next(amped_batch_source *s, amped_source_batch *out) {
  amped_sptensor list = {.order = 0};
  amped_status status = AMPED_OK;
  memset(out, 0, sizeof *out);
  AMPED_GO(fail, await_list(s, &list, &out->name));
  AMPED_GO(fail, share_name(s->comm, &out->name));
  if (out->name == NULL)
    return AMPED_OK;
  if (s->comm->rank == 0)
    status = turn(s, out->name, &list, out);
  AMPED_GO(fail, amped_comm_agree(s->comm, status));
  AMPED_GO(fail, make_batch(s, &list, out));
  return AMPED_OK;
fail:
  amped_sptensor_free(&list);
  amped_batch_release(out);
  return status;
}

amped_status amped_batch_source_accept(amped_batch_source *s, const amped_source_batch *batch) {
  amped_status status = AMPED_OK;
  if (s->comm->rank == 0)
    status = amped_batch_indices_accept(&s->indices, batch->dims);
  if (s->comm->rank == 0 && s->sums != NULL && status == AMPED_OK)
    status = amped_batch_sums_add(s->sums, batch->hash, batch->nnz);
  memcpy(s->dims, batch->dims, sizeof s->dims);
  return amped_comm_agree(s->comm, status);
}

void amped_batch_source_recognise(amped_batch_source *s, uint64_t nnz) {
  if (s->cut != NULL)
    amped_batch_cut_recognise(s->cut, nnz);
}

amped_labels amped_batch_source_labels(const amped_batch_source *s, int mode) {
  return amped_batch_indices_labels(&s->indices, mode);
}
