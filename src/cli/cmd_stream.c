/* stream: learns batches of new entries into a state, and writes the model. */
#include <math.h>
#include <string.h>

#include "base/file_lock.h"
#include "base/launcher.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/signals.h"
#include "base/timer.h"
#include "base/trace.h"
#include "cli/commands.h"
#include "cli/counted_rows.h"
#include "cli/stream_cells.h"
#include "hdf5/hdf5_probe.h"
#include "load/dense_source.h"
#include "state/state_file.h"
#include "session/output_guard.h"
#include "session/report.h"
#include "session/stream_needs.h"
#include "session/stream_report.h"
#include "session/stream_result.h"
#include "solver/complete/entry_set.h"
#include "solver/stream/stream.h"
#include "tensor/format.h"
#include "tensor/mode_names.h"

/* The data of the command, for the functions below. */
typedef struct job {
  const amped_options *o;
  amped_session_options session_options; /* the state's components and precision */
  amped_batch_request request;
  amped_session *session;
  amped_state_file *file; /* on rank 0 */
  amped_state_head head;  /* numbers after the last batch */
  amped_stream_rows rows;
  amped_stream_cells cells; /* rank 0: the cells that the state knows */
  amped_known_list known;   /* rank 0: the sample of these cells, as the source reads it */
  amped_batch_sums sums;    /* rank 0: hashes of the batches that the state has */
  amped_batch_source *source;
  bool are_indices[AMPED_MAX_ORDER]; /* rank 0: labels.h's, of the state; the source's are wider */
  int by;                            /* mode of --by; -1: none */
  char beginning[AMPED_BATCH_CUT_BEGINNING]; /* rank 0: of names of batches that are cut as now */
  uint64_t *learnt[AMPED_MAX_ORDER]; /* cuts: rows of each mode: which have entries in the state */
  amped_output found;                /* rank 0: the file that the result would replace */
  bool told_others;   /* rank 0: a warning had the batches that were not cut from INPUT */
  uint64_t twin;      /* rank 0: an earlier batch of a file that has INPUT's entries */
  size_t twin_length; /* bytes of that file's name; twin 0: none */
  amped_stream_counts counts;
  amped_file_lock output_lock; /* rank 0: lock of -o */
} job;

/* --- before MPI ------------------------------------------------------------------------------ */

static void set_request(job *j) {
  const amped_options *o = j->o;
  const amped_stream_options *s = &o->stream;
  j->request = (amped_batch_request){.kind = s->follow != NULL ? AMPED_BATCH_FOLLOW
                                             : s->by != NULL   ? AMPED_BATCH_BY
                                             : s->has_boxes    ? AMPED_BATCH_BOXES
                                                               : AMPED_BATCH_FILES,
                                     .paths = s->follow != NULL ? &s->follow : o->args + 1,
                                     .count = s->follow != NULL ? 1 : o->nargs - 1,
                                     .by = s->by,
                                     .batch = s->batch > 0 ? s->batch : 1,
                                     .boxes = s->boxes,
                                     .snapshots = s->snapshots,
                                     .max_rows = s->max_rows,
                                     .read = &o->read};
}

/* On the launcher's rank 0, before MPI starts: check which files the run replaces, and probe the
 * inputs. */
static amped_status look(job *j) {
  if (j->o->output != NULL)
    AMPED_TRY(amped_output_look(j->o->output, AMPED_OUTPUT_RESULT, j->o->overwrite, &j->found));
  amped_hdf5_probe_with_previous(j->o->args[0]);
  AMPED_TRY(amped_output_look_previous(j->o->args[0], AMPED_OUTPUT_STATE));
  return amped_batch_source_probe(&j->request);
}

/* --- the state ------------------------------------------------------------------------------- */

/* Refuse a state that this program cannot continue. */
static amped_status check_head(const job *j) {
  const amped_state_head *h = &j->head;
  const char *path = j->o->args[0];
  if (h->history == AMPED_HISTORY_PUBLISHED && !h->biased && !h->nonnegative)
    return AMPED_OK;
  if (h->history == AMPED_HISTORY_PUBLISHED)
    return amped_error(AMPED_BAD_INPUT, path,
                       "has --history=published, but also biases or nonnegative components, which "
                       "it cannot have; begin a new state with amped_mpi complete --state");
  if (h->history == AMPED_HISTORY_MODEL)
    return amped_stream_needs_history(j->session, h->history, path);
  if (h->history_length != amped_equation_length(h->ncomps - (h->biased ? 1 : 0), h->biased))
    return amped_error(AMPED_BAD_INPUT, path,
                       "has histories of %" PRIu64
                       " numbers per row, which do not fit %d components; begin a new state with "
                       "amped_mpi complete --state",
                       h->history_length, h->ncomps - (h->biased ? 1 : 0));
  return AMPED_OK;
}

/* Set --forget. It must stay the same for all batches: untouched rows are scaled only when they are
 * touched again. */
static amped_status set_forget(job *j) {
  const double forget = j->o->stream.forget;
  if (forget > 0.0 && j->head.batches > 1 && forget != j->head.forget)
    return amped_error(
        AMPED_USAGE, j->o->args[0],
        "has --forget=%g since its first batch, which --forget=%g cannot change; leave it out",
        j->head.forget, forget);
  if (forget > 0.0)
    j->head.forget = forget;
  return AMPED_OK;
}

/* Set the clip of this run. The state's sums of clipped errors are for one clip: with another they
 * are unknown. */
static amped_status set_clip(job *j) {
  const amped_clip_option *c = &j->o->clip;
  if (c->given && c->to_data)
    return amped_error(
        AMPED_USAGE, NULL,
        "--clip=data: the range of later batches is unknown; give a range, --clip=LO:HI");
  if (!c->given)
    return AMPED_OK;
  for (int e = 0; e < AMPED_STATE_ERRORS; e++)
    if (j->head.errors[e].count > 0 && (j->head.least != c->least || j->head.most != c->most))
      j->head.errors[e].clipped = (double)NAN;
  j->head.least = c->least;
  j->head.most = c->most;
  return AMPED_OK;
}

/* Report a difference in the treatment of repeated coordinates. A batch is treated as the first fit
 * was, unless the user says otherwise. */
static void tell_duplicates(const job *j) {
  const amped_duplicates asked = j->o->read.duplicates;
  if (asked != AMPED_DUPLICATES_UNKNOWN && asked != j->head.duplicates)
    amped_say("%s: --duplicates=%s applies to the batches of this run; the first fit had %s",
              j->o->args[0], amped_duplicates_policy_name(asked),
              amped_duplicates_policy_name(j->head.duplicates));
}

/* Does the command learn? Without batches it only reads the state, which another stream may be
 * using. */
static bool learns(const job *j) {
  return j->o->nargs > 1 || j->o->stream.follow != NULL;
}

/* Warn if the penalty is 0. `complete` warns about this in its sweeps. A published history has no
 * penalty. */
static void warn_of_reg(const job *j) {
  if (learns(j) && j->head.reg == 0.0 && j->head.history != AMPED_HISTORY_PUBLISHED)
    amped_warn("%s: its penalty is 0, so that rows of few entries may have no unique solution; the "
               "solution of least norm is taken; to avoid this, begin a state with a higher --reg",
               j->o->args[0]);
}

/* Warn if the first fit had weights, which batches have not. */
static void warn_of_weights(const job *j) {
  if (learns(j) && j->head.weighted)
    amped_warn("%s: its first fit had weights; entries of later batches have weight 1, so that "
               "entries of weight 0 must be left out of them; errors have no weights%s",
               j->o->args[0],
               j->o->stream.by != NULL
                   ? ", and --by passes over all entries at indices that have learnt one"
                   : "");
}

/* Rank 0: the hash of the first batch, which identifies the stream. */
static uint64_t first_hash(const job *j) {
  return amped_state_file_batch(j->file, 1).hash;
}

/* Collective: open the state, check it, and report it. */
static amped_status open_state(job *j) {
  const amped_comm *comm = &j->session->comm;
  amped_status status = AMPED_OK;
  if (comm->rank == 0)
    status = amped_state_file_open(j->o->args[0], learns(j) && !j->o->session.plan_only, &j->file);
  AMPED_TRY(amped_comm_agree(comm, status));
  AMPED_TRY(amped_state_head_share(comm, j->file, &j->head));
  j->cells = (amped_stream_cells){.file = j->file, .head = &j->head, .are_read = false};
  AMPED_TRY(amped_comm_agree(comm, check_head(j)));
  AMPED_TRY(amped_comm_agree(comm, set_forget(j)));
  AMPED_TRY(amped_comm_agree(comm, set_clip(j)));
  AMPED_TRY(amped_comm_agree(comm, amped_stream_needs_memory(j->session, &j->head, j->o->args[0])));
  if (comm->rank == 0 && j->o->output != NULL)
    status = amped_output_compare_result(&j->found, first_hash(j), 0, NULL,
                                         j->head.ncomps - j->head.biased);
  AMPED_TRY(amped_comm_agree(comm, status));
  j->session_options.ncomps = j->head.ncomps - (j->head.biased ? 1 : 0);
  j->session_options.ncomps_list[0] = j->session_options.ncomps;
  j->session_options.precision = j->head.type;
  AMPED_TRY(amped_report_start(j->session));
  tell_duplicates(j);
  warn_of_reg(j);
  warn_of_weights(j);
  return amped_stream_report_state(j->session, &j->head, j->file);
}

/* Collective: read all rows and sums of the state. */
static amped_status read_rows(job *j) {
  const amped_comm *comm = &j->session->comm;
  AMPED_TRY(amped_comm_agree(
      comm, amped_stream_rows_create(&j->rows, comm, &j->session->worker, &j->head)));
  AMPED_TRY(amped_state_rows_read(comm, j->file, &j->head, amped_stream_rows_take, &j->rows));
  return amped_state_sums_read(comm, j->file, &j->head, j->rows.sums);
}

/* --- the batches ----------------------------------------------------------------------------- */

/* Rank 0: the mode of --by; -1: none, or the state has none of this name, which the source
 * refuses. */
static int find_by(const job *j, const amped_labels *labels) {
  const char *by = j->o->stream.by;
  return by != NULL ? amped_mode_find(labels, j->head.order, by, strlen(by)) : -1;
}

/* Rank 0: mark the rows that have held-out entries: the state has these entries, too, although
 * their rows have not learnt them. */
static void mark_held(const job *j, uint64_t *const *bits) {
  const amped_sptensor *held = &j->cells.entries[AMPED_STATE_HELD_OUT];
  for (int m = 0; m < held->order; m++)
    for (uint64_t k = 0; k < held->nnz; k++)
      bits[m][held->indices[m][k] / 64] |= UINT64_C(1) << held->indices[m][k] % 64;
}

/* Collective; the status is agreed. bits[m] = rows of mode m that have learnt an entry, on every
 * rank. The caller frees them. */
static amped_status find_learnt_rows(const job *j, uint64_t *bits[AMPED_MAX_ORDER]) {
  const amped_comm *comm = &j->session->comm;
  amped_status status = AMPED_OK;
  for (int m = 0; m < j->head.order; m++)
    AMPED_NEXT(status, amped_alloc(&bits[m], j->head.dims[m] / 64 + 1, sizeof *bits[m],
                                   "the rows of a state"));
  status = amped_comm_agree(comm, status);
  for (int m = 0; m < j->head.order; m++)
    AMPED_NEXT(status,
               amped_stream_rows_learnt(comm, &j->rows, &j->head, m, j->head.dims[m], bits[m]));
  return status;
}

/* Collective; the status is agreed. For a cut: find which rows have entries in the state. */
static amped_status find_learnt(job *j) {
  const amped_comm *comm = &j->session->comm;
  amped_status status = AMPED_OK;
  if (j->request.kind != AMPED_BATCH_BY && j->request.kind != AMPED_BATCH_BOXES)
    return AMPED_OK;
  AMPED_TRY(find_learnt_rows(j, j->learnt));
  if (comm->rank == 0)
    status = amped_stream_cells_read(&j->cells);
  if (comm->rank == 0 && status == AMPED_OK)
    mark_held(j, j->learnt);
  return amped_comm_agree(comm, status);
}

/* Collective; the status is agreed. If the first fit had weights: leave cells whose weight was
 * certainly 0 out of the sample of known cells. */
static amped_status drop_unlearnt(job *j) {
  const amped_comm *comm = &j->session->comm;
  uint64_t *bits[AMPED_MAX_ORDER] = {NULL};
  amped_status status = AMPED_OK;
  if (!j->head.weighted || j->head.sample == 0 || !learns(j))
    return AMPED_OK;
  if (comm->rank == 0)
    status = amped_stream_cells_read(&j->cells);
  status = amped_comm_agree(comm, status);
  AMPED_NEXT(status, find_learnt_rows(j, bits));
  if (comm->rank == 0 && status == AMPED_OK) {
    mark_held(j, bits);
    amped_stream_cells_drop(&j->cells, bits);
  }
  for (int m = 0; m < j->head.order; m++)
    amped_free(bits[m]);
  return status;
}

/* Rank 0: the number of entries of the first fit, and of batches that were no such cuts. */
static uint64_t known_nnz(const job *j) {
  uint64_t nnz = 0;
  for (uint64_t number = 1; number <= j->head.batches; number++) {
    const amped_state_batch batch = amped_state_file_batch(j->file, number);
    nnz += number == 1 || !amped_batch_cut_is(batch.name, j->beginning) ? batch.nnz : 0;
  }
  return nnz;
}

/* Rank 0: the state's cells, once they are read; NULL: the state has no sample of them. */
static const amped_known_list *known_list(job *j) {
  const amped_stream_cells *c = &j->cells;
  if (!c->are_read || j->head.sample == 0)
    return NULL;
  j->known = (amped_known_list){.cells = &c->entries[AMPED_STATE_SAMPLE],
                                .most = c->most[AMPED_STATE_SAMPLE],
                                .seed = j->head.split_seed,
                                .weighted = j->head.weighted};
  return &j->known;
}

/* Rank 0: list the hashes of the state's batches. */
static amped_status list_sums(job *j) {
  for (uint64_t number = 1; number <= j->head.batches; number++) {
    const amped_state_batch batch = amped_state_file_batch(j->file, number);
    AMPED_TRY(amped_batch_sums_add(&j->sums, batch.hash, batch.nnz));
  }
  return AMPED_OK;
}

/* Collective: open the source of batches, with the state's labels and dims. */
static amped_status open_source(job *j) {
  const amped_comm *comm = &j->session->comm;
  amped_batch_target target = {.path = j->o->args[0],
                               .order = j->head.order,
                               .sums = &j->sums,
                               .split_seed = j->head.split_seed,
                               .sample = j->head.sample,
                               .duplicates = j->head.duplicates};
  amped_labels labels[AMPED_MAX_ORDER];
  amped_status status = AMPED_OK;
  memset(labels, 0, sizeof labels);
  memcpy(target.dims, j->head.dims, sizeof target.dims);
  memcpy(target.first, j->head.first, sizeof target.first);
  if (comm->rank == 0) {
    target.earlier = amped_state_file_names(j->file);
    status = list_sums(j);
  }
  for (int m = 0; m < j->head.order && comm->rank == 0 && status == AMPED_OK; m++)
    status = amped_state_file_labels(j->file, m, &labels[m]);
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    j->are_indices[m] = labels[m].are_indices;
  target.labels = comm->rank == 0 ? labels : NULL;
  if (comm->rank == 0 && status == AMPED_OK) {
    j->by = find_by(j, labels);
    amped_batch_cut_begin(j->by, j->by >= 0 ? &labels[j->by] : NULL, j->beginning);
    target.known_nnz = known_nnz(j);
  }
  status = amped_comm_agree(comm, status);
  AMPED_NEXT(status, find_learnt(j));
  amped_comm_broadcast(comm, &j->by, sizeof j->by);
  target.learnt =
      comm->rank == 0 && j->learnt[0] != NULL ? (const uint64_t *const *)j->learnt : NULL;
  if (status == AMPED_OK && comm->rank == 0)
    target.known = known_list(j);
  if (status == AMPED_OK)
    status = amped_batch_source_open(comm, &j->request, &target, &j->source);
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    amped_labels_free(&labels[m]);
  return status;
}

/* The name of a batch of --by behind INPUT. */
static const char *behind_input(const job *j, const amped_source_batch *batch) {
  return batch->name + strlen(j->request.paths[0]);
}

/* The part behind INPUT of the name of an earlier batch that was cut from INPUT, or from a file
 * that holds INPUT's entries; otherwise NULL. */
static const char *behind_twin(const job *j, const char *earlier) {
  const char *same = amped_batch_cut_behind_file(earlier, j->request.paths[0]);
  if (same == NULL && j->twin > 0) {
    const char *twin = amped_state_file_batch(j->file, j->twin).name;
    same = strncmp(earlier, twin, j->twin_length) == 0 ? earlier + j->twin_length : NULL;
  }
  return same;
}

/* Rank 0: before the first batch of a cut is learnt, warn if the state has no sample of its cells,
 * and earlier batches did not come from cutting INPUT. A cut skips only entries of the first fit,
 * so entries of those batches are learnt again. Batches of a cut are named "INPUT (...)". */
static void tell_others(job *j) {
  const char *input = j->request.paths[0];
  uint64_t others = 0;
  if (j->told_others || j->head.sample > 0 || (j->o->stream.by == NULL && !j->o->stream.has_boxes))
    return;
  j->told_others = true;
  for (uint64_t number = 2; number <= j->head.batches; number++)
    others += behind_twin(j, amped_state_file_batch(j->file, number).name) == NULL;
  if (others > 0)
    amped_warn("%s: %" PRIu64 " earlier batch%s %s not cut from %s; entries that they share with "
               "this file are learnt again",
               j->o->args[0], others, others == 1 ? "" : "es", others == 1 ? "was" : "were", input);
}

/* Bytes of the name of FILE in the name of an earlier batch that was cut from the same indices of
 * some file; 0: it was not. */
static size_t file_of_cut(const char *earlier, const char *behind) {
  const size_t length = strlen(earlier);
  const size_t tail = strlen(behind);
  return length > tail && strcmp(earlier + length - tail, behind) == 0 ? length - tail : 0;
}

/* Rank 0: an earlier batch has the entries of this one. If it was cut from the same indices of
 * another file, this file has come in the place of INPUT: a copy that grows under new names. */
static void find_twin(job *j, const amped_source_batch *batch, uint64_t number) {
  const char *earlier = amped_state_file_batch(j->file, number).name;
  const size_t length =
      j->request.kind == AMPED_BATCH_BY ? file_of_cut(earlier, behind_input(j, batch)) : 0;
  if (length == 0)
    return;
  j->twin = number;
  j->twin_length = length;
}

/* Is an earlier batch of the same indices, cut by --by from INPUT or from a file that holds INPUT's
 * entries? */
static bool is_same_cut(const job *j, const char *earlier, const amped_source_batch *batch) {
  const char *same = j->request.kind == AMPED_BATCH_BY ? behind_twin(j, earlier) : NULL;
  return same != NULL && strcmp(same, behind_input(j, batch)) == 0;
}

static const char *without_folder(const char *path) {
  const char *end = strrchr(path, '/');
  return end != NULL ? end + 1 : path;
}

/* Has an earlier batch the name of this one: of the same indices of another file, or of a file of a
 * folder? */
static bool is_namesake(const job *j, const char *earlier, const amped_source_batch *batch) {
  if (j->request.kind == AMPED_BATCH_BY)
    return file_of_cut(earlier, behind_input(j, batch)) > 0;
  return j->request.kind == AMPED_BATCH_FOLLOW &&
         strcmp(without_folder(earlier), without_folder(batch->name)) == 0;
}

/* Rank 0: find the earlier batch of which this one is a changed version, as its hash is another: of
 * the same cut; or of the same name, if most cells are known. *number 0: there is none. */
static amped_status find_changed(job *j, const amped_source_batch *batch, uint64_t *number) {
  uint64_t other = 0;
  amped_known_cells cells = {.compared = 0};
  for (uint64_t k = j->head.batches; k > 1 && *number == 0; k--) {
    const char *earlier = amped_state_file_batch(j->file, k).name;
    if (is_same_cut(j, earlier, batch))
      *number = k;
    else if (other == 0 && is_namesake(j, earlier, batch))
      other = k;
  }
  if (*number > 0 || other == 0 || j->head.sample == 0)
    return AMPED_OK;
  AMPED_TRY(amped_stream_cells_count(&j->cells, batch, NULL, &cells));
  if (amped_stream_cells_repeat(&cells)) {
    *number = other;
    find_twin(j, batch, other);
  }
  return AMPED_OK;
}

/* Collective: find the earlier batch with these entries, or the last of several that have them
 * together, or one of which this is a changed version, and report that this one is skipped.
 * *number 0: there is none. */
static amped_status find_before(job *j, const amped_source_batch *batch, uint64_t *number) {
  amped_state_batch earlier = {.name = "", .hash = batch->hash, .nnz = batch->nnz};
  amped_status status = AMPED_OK;
  *number = 0;
  if (j->session->comm.rank == 0) {
    *number = amped_state_file_find(j->file, batch->hash, &earlier.name);
    if (*number > 0) {
      find_twin(j, batch, *number);
      if (*number > 1 && !amped_batch_cut_is(earlier.name, j->beginning))
        amped_batch_source_recognise(j->source, batch->nnz);
    } else
      *number = batch->same_as;
    if (*number == 0)
      status = find_changed(j, batch, number);
    if (*number > 0)
      earlier = amped_state_file_batch(j->file, *number);
    else if (status == AMPED_OK)
      tell_others(j);
  }
  AMPED_TRY(amped_comm_agree(&j->session->comm, status));
  amped_comm_broadcast(&j->session->comm, number, sizeof *number);
  return *number > 0 ? amped_stream_report_skipped(j->session, batch, *number, &earlier) : AMPED_OK;
}

static void add_errors(amped_state_errors *to, const amped_errors *from) {
  to->count += from->count;
  to->squares += from->squares;
  to->absolute += from->absolute;
  to->clipped += from->clipped;
}

/* The state's head, updated by the batch. */
static amped_state_head head_with(const job *j, const amped_source_batch *batch,
                                  const amped_learnt *learnt) {
  amped_state_head head = j->head;
  memcpy(head.dims, batch->dims, sizeof head.dims);
  head.growing = learnt->growing;
  head.squares += batch->squares;
  add_errors(&head.errors[AMPED_STATE_BEFORE], &learnt->before);
  add_errors(&head.errors[AMPED_STATE_AFTER], &learnt->after);
  add_errors(&head.errors[AMPED_STATE_HELD], &learnt->held_after);
  return head;
}

/* Collective: write the batch to disk. When it returns, the batch is safe. */
static amped_status write_batch(job *j, const amped_source_batch *batch,
                                const amped_learnt *learnt) {
  const amped_comm *comm = &j->session->comm;
  amped_state_head head = head_with(j, batch, learnt);
  const amped_state_change change = {
      .head = &head,
      .added = batch->added,
      .entries = {&learnt->held_out, &batch->sample},
      .batch = {batch->name, batch->hash, batch->nnz},
      .sums = amped_state_sums_width(&head) > 0 ? (const double *const *)j->rows.sums : NULL};
  amped_state_rows mine = {.get = amped_stream_change_get,
                           .context = (void *)(uintptr_t)&learnt->change};
  amped_status status = AMPED_OK;
  for (int m = 0; m < head.order; m++) {
    mine.count[m] = learnt->change.count[m];
    mine.indices[m] = learnt->change.indices[m];
  }
  AMPED_TRY(amped_state_rows_put(comm, j->file, &head, false, &mine));
  if (comm->rank == 0)
    status = amped_state_file_commit(j->file, &change);
  AMPED_TRY(amped_comm_agree(comm, status));
  AMPED_TRY(amped_state_head_share(comm, j->file, &j->head));
  return amped_batch_source_accept(j->source, batch);
}

/* Is the batch a file with a dense array? */
static bool is_array(const job *j, const amped_source_batch *batch) {
  bool is_one = false;
  if (j->request.kind == AMPED_BATCH_FILES || j->request.kind == AMPED_BATCH_FOLLOW)
    (void)amped_dense_source_is(batch->name, j->request.read->dataset, &is_one);
  amped_status_clear();
  return is_one;
}

/* The file of a batch: its own, or INPUT, which is cut. */
static const char *path_of(const job *j, const amped_source_batch *batch) {
  const bool whole = j->request.kind == AMPED_BATCH_FILES || j->request.kind == AMPED_BATCH_FOLLOW;
  return whole ? batch->name : j->o->args[1];
}

/* Are values of the batch sums of rows, or numbers of rows? */
static bool are_sums(const job *j, const amped_source_batch *batch) {
  return amped_input_info(batch->input)->duplicates == AMPED_DUPLICATES_SUM ||
         amped_counted_rows_are(path_of(j, batch), j->request.read);
}

/* Collective: check a table whose rows count 1 each beside the values that the state keeps. */
static amped_status check_counted(job *j, const amped_source_batch *batch) {
  const char *path = path_of(j, batch);
  amped_status status = AMPED_OK;
  if (j->session->comm.rank == 0 && amped_counted_rows_are(path, j->request.read)) {
    const amped_state_list list = j->head.sample > 0 ? AMPED_STATE_SAMPLE : AMPED_STATE_HELD_OUT;
    const amped_sptensor *known = &j->cells.entries[list];
    status = amped_stream_cells_read(&j->cells);
    if (status == AMPED_OK)
      status = amped_counted_rows_check(path, j->o->args[0], known->values, known->nnz, false);
  }
  return amped_comm_agree(&j->session->comm, status);
}

/* Collective: compare the batch's cells with the state's, before the batch is written. *out: rank
 * 0's. */
static amped_status compare_cells(job *j, const amped_source_batch *batch,
                                  const amped_learnt *learnt, amped_known_cells *out) {
  amped_status status = AMPED_OK;
  if (j->session->comm.rank == 0) {
    status = amped_stream_cells_count(&j->cells, batch, &learnt->held_out, out);
    if (status == AMPED_OK)
      amped_stream_cells_report(&j->cells, batch->name, is_array(j, batch), are_sums(j, batch),
                                out);
  }
  return amped_comm_agree(&j->session->comm, status);
}

/* Collective: find the model's error at all held-out entries that the state keeps. */
static amped_status find_so_far(job *j, const amped_stream *stream, const amped_source_batch *batch,
                                amped_learnt *learnt, amped_errors *out) {
  const double began = amped_time();
  amped_status status = AMPED_OK;
  amped_trace_begin(AMPED_PHASE_ERRORS, AMPED_NO_NUMBER);
  if (stream->comm->rank == 0)
    status = amped_stream_cells_add(&j->cells, batch, &learnt->held_out);
  status = amped_comm_agree(stream->comm, status);
  if (status == AMPED_OK)
    status = amped_stream_errors(stream, &j->cells.entries[AMPED_STATE_HELD_OUT], out);
  amped_trace_end();
  learnt->evaluate_sec += amped_time() - began;
  return status;
}

/* Fails if the error after the batch is not finite; the same on every rank. */
static amped_status check_errors(const job *j, const amped_source_batch *batch,
                                 const amped_learnt *learnt) {
  if (isfinite(learnt->after.squares))
    return AMPED_OK;
  return amped_error(
      AMPED_FAILED, batch->name,
      "the error is not a number after this batch, with reg %g; the state stays as it was before "
      "the batch; begin a state with --precision=double or a higher --reg",
      j->head.reg);
}

/* The error before learning, in units of the spread of the first fit's values, that no values of
 * the same unit have. */
#define FAR 10.0

/* Warn of a batch whose values are far from the model's. */
static void tell_far(const job *j, const amped_source_batch *batch, const amped_learnt *learnt) {
  const double error = amped_errors_rmse(&learnt->before);
  if (error > FAR * j->head.scale)
    amped_warn("%s: its values are %.4g off the model before they are learnt, and the values of "
               "the first fit spread by %.4g; if their unit is another one, or --value names "
               "another column, the state is spoilt: fit anew, or go on from an older copy of it",
               batch->name, error, j->head.scale);
}

/* Rank 0: the labels of the state, borrowed, and those that the batch adds. */
static void find_labels(const job *j, const amped_source_batch *batch,
                        amped_labels all[AMPED_MAX_ORDER], amped_labels added[AMPED_MAX_ORDER]) {
  for (int m = 0; m < j->head.order; m++) {
    all[m] = amped_batch_source_labels(j->source, m);
    all[m].are_indices = j->are_indices[m];
    added[m] = batch->added[m];
    added[m].are_indices = all[m].are_indices;
    added[m].from_zero = all[m].from_zero;
    added[m].period = all[m].period;
  }
}

/* Rank 0: say as what the new rows of the growing mode begin, if the user did not name the mode, if
 * it is not its last row, or if a label comes late. labels: of the state, before the batch. */
static void tell_growing(const job *j, const amped_source_batch *batch, const amped_learnt *learnt,
                         const amped_labels *labels) {
  const int m = learnt->growing;
  char mode[128];
  char label[128];
  char first[96] = "";
  if (m < 0 || learnt->likes == 0 ||
      (m == j->by && !learnt->late && learnt->like + 1 == j->head.dims[m]))
    return;
  if (learnt->first > 0)
    (void)snprintf(first, sizeof first,
                   "; the state had %" PRIu64 " of them without a learnt entry", learnt->first);
  amped_say("%s: new rows of %s begin as copies of %s%s", batch->name,
            amped_format_mode(mode, sizeof mode, m, &labels[m]),
            learnt->likes > 1 ? "the last learnt row before each"
                              : amped_label_text(&labels[m], learnt->like, label, sizeof label),
            first);
}

/* Collective: learn a batch, write it and report it. */
static amped_status learn(job *j, const amped_source_batch *batch) {
  amped_labels all[AMPED_MAX_ORDER] = {{0}};
  amped_labels added[AMPED_MAX_ORDER] = {{0}};
  const amped_stream stream = {.comm = &j->session->comm,
                               .worker = &j->session->worker,
                               .rows = &j->rows,
                               .head = &j->head,
                               .sweeps = j->o->stream.sweeps,
                               .random_order = j->o->stream.random_order,
                               .labels = {.all = all, .added = added}};
  if (j->session->comm.rank == 0)
    find_labels(j, batch, all, added);
  const double began = amped_time();
  amped_learnt learnt;
  amped_errors so_far = {0};
  amped_known_cells cells = {.compared = 0};
  amped_stream_progress told = {.batch = batch,
                                .learnt = &learnt,
                                .head = &j->head,
                                .labels = all,
                                .so_far = &so_far,
                                .cells = &cells};
  amped_status status = AMPED_OK;
  amped_trace_begin(AMPED_PHASE_BATCH, (int64_t)j->head.batches + 1);
  AMPED_GO(done, amped_stream_learn(&stream, batch->input, j->by, &learnt));
  AMPED_GO(done, amped_comm_agree(stream.comm, check_errors(j, batch, &learnt)));
  amped_trace_begin(AMPED_PHASE_REPORT, AMPED_NO_NUMBER);
  if (stream.comm->rank == 0) {
    tell_growing(j, batch, &learnt, all);
    tell_far(j, batch, &learnt);
  }
  AMPED_GO(done, compare_cells(j, batch, &learnt, &cells));
  amped_trace_end();
  const double learnt_at = amped_time();
  amped_trace_begin(AMPED_PHASE_WRITE, AMPED_NO_NUMBER);
  AMPED_GO(done, write_batch(j, batch, &learnt));
  amped_trace_end();
  told.write_sec = amped_time() - learnt_at;
  if (stream.comm->rank == 0)
    amped_state_file_sizes(j->file, &told.state_bytes, &told.journal_bytes);
  AMPED_GO(done, find_so_far(j, &stream, batch, &learnt, &so_far));
  told.total_sec = amped_time() - began;
  j->counts.learnt++;
  amped_signals_saved("the state holds the earlier batches");
  amped_trace_begin(AMPED_PHASE_REPORT, AMPED_NO_NUMBER);
  status = amped_stream_report_batch(j->session, &told);
  amped_trace_end();
done:
  amped_trace_end();
  amped_learnt_free(&learnt);
  return status;
}

/* Collective: report that a signal stopped the stream. */
static amped_status tell_stopped(const job *j) {
  amped_status status = AMPED_STOPPED;
  if (j->session->comm.rank == 0)
    status = amped_error(
        AMPED_STOPPED, j->o->args[0],
        "holds all finished batches; a signal stopped the stream, and the same command continues");
  return amped_comm_agree(&j->session->comm, status);
}

/* Collective: write the current model. */
static amped_status write_result(const job *j) {
  const char *path = j->o->output;
  amped_labels labels[AMPED_MAX_ORDER];
  if (path == NULL)
    return AMPED_OK;
  memset(labels, 0, sizeof labels);
  amped_trace_begin(AMPED_PHASE_WRITE, AMPED_NO_NUMBER);
  for (int m = 0; m < j->head.order && j->session->comm.rank == 0; m++)
    labels[m] = amped_batch_source_labels(j->source, m); /* borrowed */
  AMPED_TRY(amped_stream_result_write(j->session, &j->head, &j->rows, labels,
                                      j->session->comm.rank == 0 ? first_hash(j) : 0, path));
  amped_trace_end();
  amped_say("result: %s (amped_mpi top %s shows it)", path, path);
  return AMPED_OK;
}

/* Collective: AMPED_STOPPED if a rank has caught a signal. */
static amped_status look_for_signal(const job *j) {
  uint64_t caught = amped_signals_caught() != NULL;
  amped_comm_sum_u64(&j->session->comm, &caught, 1);
  return caught > 0 ? AMPED_STOPPED : AMPED_OK;
}

/* Collective: learn the next batch. *more: there was one. */
static amped_status step(job *j, bool *more) {
  uint64_t before = 0;
  amped_source_batch batch;
  memset(&batch, 0, sizeof batch);
  amped_trace_begin(AMPED_PHASE_READ, AMPED_NO_NUMBER);
  amped_status status = amped_batch_source_next(j->source, &batch);
  amped_trace_end();
  *more = batch.input != NULL;
  if (status == AMPED_OK && *more)
    status = find_before(j, &batch, &before);
  if (status == AMPED_OK && before > 0)
    j->counts.skipped++;
  if (status == AMPED_OK && *more && before == 0)
    status = check_counted(j, &batch);
  if (status == AMPED_OK && *more && before == 0)
    status = learn(j, &batch);
  amped_batch_release(&batch);
  AMPED_TRY(status);
  return look_for_signal(j);
}

/* After a bad batch: the result would be of the batches before it. */
static void tell_unwritten(const job *j) {
  if (j->o->output != NULL && j->counts.learnt > 0)
    amped_warn("%s: is not written; amped_mpi stream %s -o %s writes the model of the batches that "
               "were learnt",
               j->o->output, j->o->args[0], j->o->output);
}

/* Collective: learn all batches, then write the result. A signal is kept until the input is open,
 * since a file that is cut into batches is read whole. */
static amped_status learn_all(job *j) {
  const double began = amped_time();
  bool more = true;
  amped_trace_begin(AMPED_PHASE_INIT, AMPED_NO_NUMBER);
  AMPED_TRY(read_rows(j));
  amped_trace_end();
  AMPED_TRY(amped_comm_agree(&j->session->comm, amped_signals_catch()));
  amped_trace_begin(AMPED_PHASE_READ, AMPED_NO_NUMBER);
  AMPED_TRY(drop_unlearnt(j));
  AMPED_TRY(open_source(j));
  amped_trace_end();
  amped_status status = look_for_signal(j);
  while (more && status == AMPED_OK)
    status = step(j, &more);
  if (status != AMPED_OK && status != AMPED_STOPPED) {
    tell_unwritten(j);
    return status;
  }
  AMPED_TRY(write_result(j));
  AMPED_TRY(amped_stream_report_end(j->session, &j->head, &j->counts, amped_time() - began));
  return status == AMPED_STOPPED ? tell_stopped(j) : status;
}

/* --- the command ----------------------------------------------------------------------------- */

/* Collective: lock the result, so that no other job writes it. Drafts that a killed job left are
 * removed. */
static amped_status lock_output(job *j) {
  const amped_comm *comm = &j->session->comm;
  const bool takes = comm->rank == 0 && j->o->output != NULL && !j->o->session.plan_only;
  return amped_comm_agree(comm,
                          takes ? amped_file_lock_take(j->o->output, &j->output_lock) : AMPED_OK);
}

static amped_status run(job *j) {
  amped_trace_begin(AMPED_PHASE_START, AMPED_NO_NUMBER);
  AMPED_TRY(amped_session_open_backend(j->session));
  AMPED_TRY(amped_comm_agree(&j->session->comm, amped_stream_needs_backend(j->session, "stream")));
  AMPED_TRY(lock_output(j));
  AMPED_TRY(open_state(j));
  amped_trace_end();
  return j->o->session.plan_only ? AMPED_OK : learn_all(j);
}

amped_status amped_cmd_stream(const amped_options *o) {
  amped_session session;
  job j = {.session = &session,
           .o = o,
           .session_options = o->session,
           .by = -1,
           .output_lock = {NULL, -1}};
  amped_status status = AMPED_OK;
  j.session_options.own_input = true;
  j.session_options.keeps_result = !o->session.plan_only;
  set_request(&j);
  if (amped_launcher_rank() <= 0)
    status = look(&j);
  status = amped_session_start(&session, &j.session_options, status);
  if (status == AMPED_OK)
    status = run(&j);
  status = amped_session_finish(&session, status);
  amped_batch_source_close(j.source);
  amped_state_file_close(j.file);
  amped_file_lock_release(&j.output_lock);
  amped_stream_cells_free(&j.cells);
  amped_batch_sums_free(&j.sums);
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    amped_free(j.learnt[m]);
  amped_stream_rows_free(&j.rows);
  amped_session_close(&session);
  return status;
}
