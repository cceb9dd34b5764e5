/* State file: opening with recovery, reading, merging journals into a new STATE, and writing
 * batches. */
#include "state/state_file.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/system_memory.h"
#include "base/target.h"
#include "hdf5/hdf5_probe.h"
#include "state/state_base.h"
#include "state/state_changes.h"
#include "state/state_journal.h"
#include "state/state_names.h"

/* Target size of the rows processed per call. */
#define PIECE_BYTES (UINT64_C(4) << 20)

/* Most attempts of a reader to open a state that a stream is writing, a tenth of a second apart. */
#define MOST_TRIES 50

/* Journals of a state. OLDER counts only if STATE.prev replaces STATE. */
enum { OLDER, JOURNAL, JOURNALS };

/* Flag of an offset that lies in JOURNAL; without it, the offset lies in OLDER. */
#define IN_JOURNAL (UINT64_C(1) << 63)

struct amped_state_file {
  const char *path;
  amped_state_names names;
  const char *state, *previous, *journal_name, *older_name; /* entries of names */
  amped_file_lock lock, journal_lock;
  bool writes;
  bool failed;                /* only close may be called */
  amped_state_writer *writer; /* writer of a new state, until its first commit */
  amped_state_base base;
  amped_journal journals[JOURNALS];
  int reading;            /* journal being scanned */
  unsigned char *entries; /* rows read from a journal: PIECE_BYTES, or one row */
  amped_state_head head;
  uint64_t merge_at;        /* bytes of the journal from which it is merged into STATE, if more than
                               the base has */
  amped_state_changes all;  /* changes since the base */
  amped_state_changes news; /* changes since the last commit */
};

/* --- a batch ---------------------------------------------------------------------------------- */

/* Number that identifies the whole state. A journal stores the id of the state that it follows. */
static uint64_t id_of(const amped_state_file *f) {
  uint64_t words[AMPED_STATE_WORDS];
  uint64_t id = 0;
  amped_state_head_pack(&f->head, words);
  for (int i = 0; i < amped_state_head_words(&f->head); i++)
    id = amped_mix64(id ^ words[i]);
  for (uint64_t i = 0; i < f->all.batches.count; i++)
    id = amped_mix64(amped_mix64(id ^ f->all.batches.hashes[i]) ^ f->all.batches.nnz[i]);
  return id;
}

/* Returns `status`, with a line about the next batch. The line names the journal if status is
 * AMPED_BAD_INPUT, and the state otherwise. */
static amped_status wrong_batch(const amped_state_file *f, amped_status status, const char *what) {
  return amped_error(status, status == AMPED_BAD_INPUT ? f->journals[f->reading].path : f->path,
                     "batch %" PRIu64 " %s; %s", f->head.batches + 1, what,
                     status == AMPED_BAD_INPUT
                         ? "restore the state and its journal from a backup"
                         : "this is a mistake of amped_mpi, please report it");
}

/* Check that the batch has every new row exactly once. */
static amped_status check_rows(const amped_state_file *f, int mode, uint64_t dim,
                               amped_status refusal) {
  const amped_state_places *p = &f->news.rows[mode];
  const uint64_t old = f->head.dims[mode];
  unsigned char *seen = NULL;
  uint64_t behind = 0;
  for (uint64_t i = 0; i < p->count; i++) {
    if (p->rows[i] >= dim)
      return wrong_batch(f, refusal, "has a row beyond the state");
    behind += p->rows[i] >= old;
  }
  if (behind != dim - old)
    return wrong_batch(f, refusal, "lacks a row that is new");
  AMPED_TRY(amped_calloc(&seen, behind, 1, "the rows of a batch"));
  for (uint64_t i = 0; i < p->count; i++)
    if (p->rows[i] >= old && seen[p->rows[i] - old]++ == 0)
      behind--;
  amped_free(seen);
  return behind == 0 ? AMPED_OK : wrong_batch(f, refusal, "lacks a row that is new");
}

static amped_status check_labels(const amped_state_file *f, int mode, uint64_t dim,
                                 amped_status refusal) {
  uint64_t count = 0;
  for (uint64_t i = 0; i < f->news.labels.count; i++)
    count += f->news.labels.list[i].mode == mode ? f->news.labels.list[i].count : 0;
  const uint64_t expected = f->base.labelled[mode] ? dim - f->head.dims[mode] : 0;
  return count == expected ? AMPED_OK
                           : wrong_batch(f, refusal, "lacks a label of a row that is new");
}

/* Does the mode have sums exactly if the state has sums? */
static amped_status check_sums(const amped_state_file *f, int mode, amped_status refusal) {
  const bool expected = amped_state_sums_width(&f->head) > 0;
  return (f->news.sums[mode] > 0) == expected ? AMPED_OK
                                              : wrong_batch(f, refusal, "lacks the sums of a mode");
}

/* Can `head` follow the current head, `old`? */
static bool follows(const amped_state_head *old, const amped_state_head *head) {
  bool is = head->order == old->order && head->ncomps == old->ncomps && head->type == old->type &&
            head->history == old->history && head->history_length == old->history_length &&
            head->batches == old->batches + 1 &&
            amped_state_head_version(head) == amped_state_head_version(old);
  for (int m = 0; is && m < head->order; m++)
    is = head->dims[m] >= old->dims[m] && head->first[m] == old->first[m];
  return is;
}

/* Can the news, with this head, become part of the state? */
static amped_status check_news(const amped_state_file *f, const amped_state_head *head,
                               amped_status refusal) {
  if (!follows(&f->head, head) || f->news.batches.count != 1 ||
      head->nnz != f->head.nnz + f->news.batches.nnz[0])
    return wrong_batch(f, refusal, "does not follow the one before");
  for (int m = 0; m < head->order; m++) {
    AMPED_TRY(check_rows(f, m, head->dims[m], refusal));
    AMPED_TRY(check_labels(f, m, head->dims[m], refusal));
    AMPED_TRY(check_sums(f, m, refusal));
  }
  return AMPED_OK;
}

/* Make the news part of the state, with this head. */
static amped_status absorb(amped_state_file *f, const amped_state_head *head) {
  AMPED_TRY(amped_state_changes_join(&f->all, &f->news, head->order));
  amped_state_changes_clear(&f->news);
  f->head = *head;
  return AMPED_OK;
}

/* --- reading a journal ------------------------------------------------------------------------ */

static uint64_t place_in(const amped_state_file *f, uint64_t at) {
  return f->reading == JOURNAL ? at | IN_JOURNAL : at;
}

static const amped_journal *journal_of(const amped_state_file *f, uint64_t *at) {
  const int which = (*at & IN_JOURNAL) != 0 ? JOURNAL : OLDER;
  *at &= ~IN_JOURNAL;
  return &f->journals[which];
}

static amped_status see_row(void *context, int mode, uint64_t index, uint64_t touched,
                            uint64_t place) {
  amped_state_file *f = context;
  if (touched > f->head.batches + 1)
    return wrong_batch(f, AMPED_BAD_INPUT, "has a row of a later batch");
  return amped_state_places_add(&f->news.rows[mode], index, place_in(f, place));
}

static amped_status see_sums(void *context, int mode, uint64_t place) {
  amped_state_file *f = context;
  f->news.sums[mode] = place_in(f, place);
  return AMPED_OK;
}

static amped_status see_labels(void *context, int mode, uint64_t count, uint64_t place) {
  amped_state_file *f = context;
  return amped_state_pieces_add(&f->news.labels, mode, count, place_in(f, place));
}

static amped_status see_entries(void *context, amped_state_list list, uint64_t count,
                                uint64_t place) {
  amped_state_file *f = context;
  return amped_state_pieces_add(&f->news.entries[list], 0, count, place_in(f, place));
}

static amped_status see_batch(void *context, uint64_t hash, uint64_t nnz, const char *name) {
  amped_state_file *f = context;
  return amped_state_batches_add(&f->news.batches, hash, nnz, name, strlen(name));
}

static amped_status see_commit(void *context, const amped_state_head *head) {
  amped_state_file *f = context;
  AMPED_TRY(check_news(f, head, AMPED_BAD_INPUT));
  return absorb(f, head);
}

static void see_drop(void *context) {
  amped_state_file *f = context;
  amped_state_changes_clear(&f->news);
}

/* Read the open journal `which`. If this process writes it, what a killed stream left is cut
 * off. */
static amped_status replay(amped_state_file *f, int which) {
  const amped_journal_visit visit = {.row = see_row,
                                     .sums = see_sums,
                                     .labels = see_labels,
                                     .entries = see_entries,
                                     .batch = see_batch,
                                     .commit = see_commit,
                                     .drop = see_drop,
                                     .context = f};
  amped_journal *j = &f->journals[which];
  char size[32];
  uint64_t dropped = 0;
  f->reading = which;
  AMPED_TRY(amped_journal_scan(j, &visit, &dropped));
  if (dropped > 0 && f->writes)
    amped_warn("%s: %s of an unfinished batch are dropped; batch %" PRIu64 " is the last", j->path,
               amped_format_bytes(size, dropped), f->head.batches);
  else if (dropped > 0)
    amped_say("%s: %s of an unfinished batch are ignored; batch %" PRIu64 " is the last", j->path,
              amped_format_bytes(size, dropped), f->head.batches);
  return j->writes ? amped_journal_cut(j) : AMPED_OK;
}

/* --- opening ---------------------------------------------------------------------------------- */

static bool is_there(const char *path) {
  return access(path, F_OK) == 0;
}

static amped_status make_names(amped_state_file *f) {
  amped_target target;
  AMPED_TRY(amped_target_find(f->path, &target));
  amped_target_close(&target);
  AMPED_TRY(amped_state_names_make(f->path, &f->names));
  f->state = f->names.list[AMPED_STATE_NAME];
  f->previous = f->names.list[AMPED_STATE_PREVIOUS];
  f->journal_name = f->names.list[AMPED_STATE_JOURNAL];
  f->older_name = f->names.list[AMPED_STATE_OLDER];
  return AMPED_OK;
}

static amped_status make(const char *path, bool writes, amped_state_file **out) {
  amped_state_file *f = NULL;
  *out = NULL;
  AMPED_TRY(amped_calloc(&f, 1, sizeof *f, "a state"));
  f->path = path;
  f->writes = writes;
  for (int i = 0; i < JOURNALS; i++)
    f->journals[i].fd = -1;
  *out = f;
  AMPED_TRY(make_names(f));
  if (!writes)
    return AMPED_OK;
  AMPED_TRY(amped_file_lock_take(path, &f->lock));
  return amped_file_lock_take(f->journal_name, &f->journal_lock); /* removes the draft of a killed
                                                                     stream */
}

void amped_state_file_close(amped_state_file *f) {
  if (f == NULL)
    return;
  if (f->writes && !f->failed && f->journals[JOURNAL].open &&
      amped_journal_cut(&f->journals[JOURNAL]) != AMPED_OK)
    amped_status_clear(); /* the rest is dropped when the state is next opened */
  if (f->writer != NULL)
    amped_state_writer_close(f->writer);
  amped_free(f->writer);
  amped_state_base_close(&f->base);
  for (int i = 0; i < JOURNALS; i++)
    amped_journal_close(&f->journals[i]);
  amped_state_changes_free(&f->all);
  amped_state_changes_free(&f->news);
  amped_free(f->entries);
  amped_file_lock_release(&f->journal_lock);
  amped_file_lock_release(&f->lock);
  amped_state_names_free(&f->names);
  amped_free(f);
}

amped_status amped_state_file_is(const char *path, bool *out) {
  amped_hdf5 file;
  char *format = NULL;
  *out = false;
  amped_status status = amped_hdf5_open(path, &file);
  if (status == AMPED_OK)
    status = amped_hdf5_has_attribute(&file, "/", "amped_format", out);
  if (status == AMPED_OK && *out)
    status = amped_hdf5_get_text(&file, "/", "amped_format", &format);
  *out = *out && format != NULL && strcmp(format, "state") == 0;
  amped_free(format);
  amped_hdf5_close(&file);
  return status;
}

bool amped_state_file_was(const char *path) {
  char *previous = NULL;
  bool is = false;
  const bool was = amped_file_previous(path, &previous) == AMPED_OK && is_there(previous) &&
                   amped_state_file_is(previous, &is) == AMPED_OK && is;
  amped_free(previous);
  return was;
}

/* Take over head and batches of the open base. */
static amped_status take_base(amped_state_file *f) {
  f->head = f->base.head;
  amped_state_changes_clear(&f->all);
  amped_state_changes_clear(&f->news);
  return amped_state_base_batches(&f->base, &f->all.batches);
}

static amped_status open_base(amped_state_file *f, const char *name, bool trusted) {
  AMPED_TRY(amped_state_base_open(name, trusted, &f->base));
  return take_base(f);
}

/* Read the older journal if it follows the base. This happens if the base is STATE.prev, or if a
 * stream was killed before it had published the new STATE. */
static amped_status replay_older(amped_state_file *f) {
  amped_journal *j = &f->journals[OLDER];
  AMPED_TRY(amped_journal_open(f->older_name, false, &f->head, j));
  if (j->open && j->fits && j->id == id_of(f))
    return replay(f, OLDER);
  amped_journal_close(j);
  return AMPED_OK;
}

static amped_status replay_journal(amped_state_file *f) {
  amped_journal *j = &f->journals[JOURNAL];
  f->reading = JOURNAL;
  AMPED_TRY(amped_journal_open(f->journal_name, f->writes, &f->head, j));
  if (!j->open)
    return AMPED_OK;
  if (!j->fits || j->id != id_of(f))
    return amped_error(AMPED_BAD_INPUT, j->path,
                       "does not belong to %s; put the state and its own journal together again",
                       f->path);
  return replay(f, JOURNAL);
}

static amped_status write_state(amped_state_file *f, bool compacts);

/* Open a STATE that exists. */
static amped_status open_latest(amped_state_file *f) {
  AMPED_TRY(open_base(f, f->path, false));
  if (!is_there(f->journal_name)) {
    AMPED_TRY(replay_older(f));
    if (f->journals[OLDER].open && f->writes)
      return write_state(f, false);
  }
  return replay_journal(f);
}

/* STATE is missing or damaged. Open STATE.prev, which with its journal has the same rows. */
static amped_status open_previous(amped_state_file *f) {
  AMPED_TRY(open_base(f, f->previous, false));
  AMPED_TRY(replay_older(f));
  if (f->writes)
    AMPED_TRY(write_state(f, false));
  return replay_journal(f);
}

/* Turn the error about STATE into a warning. */
static void warn_of_damage(const amped_state_file *f) {
  amped_warn("%s (the previous state, %s, is used, with its journal)",
             amped_status_bare(amped_status_message()), f->previous);
  amped_status_clear();
}

static amped_status open_any(amped_state_file *f) {
  if (is_there(f->state) && !amped_hdf5_is(f->path) && !is_there(f->previous))
    return amped_error(AMPED_BAD_INPUT, f->path,
                       "is not the state of a stream; begin a state with amped_mpi complete "
                       "--state=FILE");
  if (is_there(f->state)) {
    amped_status status = amped_state_base_open(f->path, false, &f->base);
    amped_state_base_close(&f->base);
    if (status == AMPED_OK)
      return open_latest(f);
    if (status != AMPED_BAD_INPUT || !is_there(f->previous))
      return status;
    warn_of_damage(f);
  } else if (is_there(f->previous)) {
    amped_warn("%s is missing (the previous state, %s, is used, with its journal)", f->path,
               f->previous);
  } else {
    return amped_error(AMPED_BAD_INPUT, f->path,
                       "cannot be opened; begin a state with amped_mpi complete --state=FILE");
  }
  return open_previous(f);
}

static amped_status open_once(const char *path, bool writes, amped_state_file **out) {
  amped_state_file *f = NULL;
  *out = NULL;
  amped_status status = make(path, writes, &f);
  if (status == AMPED_OK)
    status = open_any(f);
  if (status != AMPED_OK) {
    if (f != NULL)
      f->failed = true; /* keeps close from cutting the journal */
    amped_state_file_close(f);
    return status;
  }
  *out = f;
  return AMPED_OK;
}

/* A reader may come while a stream merges STATE and its journal. It then tries again. */
amped_status amped_state_file_open(const char *path, bool writes, amped_state_file **out) {
  const struct timespec pause = {0, 100000000};
  amped_status status = open_once(path, writes, out);
  for (int tries = 0;
       status == AMPED_BAD_INPUT && !writes && tries < MOST_TRIES && amped_file_lock_is_held(path);
       tries++) {
    amped_status_clear();
    (void)nanosleep(&pause, NULL);
    status = open_once(path, writes, out);
  }
  if (status == AMPED_BAD_INPUT && !writes && amped_file_lock_is_held(path)) {
    amped_status_clear();
    return amped_error(
        AMPED_FAILED, path,
        "is being changed by a stream, and could not be read between two batches; try again");
  }
  return status;
}

/* --- questions -------------------------------------------------------------------------------- */

const amped_state_head *amped_state_file_head(const amped_state_file *f) {
  return &f->head;
}

static uint64_t part_bytes(const amped_state_head *head, int part) {
  return amped_state_columns(head, part) * amped_state_type(head, part).bytes;
}

uint64_t amped_state_piece_rows(const amped_state_head *head) {
  uint64_t bytes = 0;
  for (int part = 0; part < AMPED_STATE_PARTS; part++)
    bytes += part_bytes(head, part);
  return bytes < PIECE_BYTES ? PIECE_BYTES / bytes : 1;
}

const amped_labels *amped_state_file_names(const amped_state_file *f) {
  return &f->all.batches.names;
}

amped_state_batch amped_state_file_batch(const amped_state_file *f, uint64_t number) {
  const amped_state_batches *b = &f->all.batches;
  return (amped_state_batch){b->names.bytes + b->names.offsets[number - 1], b->hashes[number - 1],
                             b->nnz[number - 1]};
}

uint64_t amped_state_file_find(const amped_state_file *f, uint64_t hash, const char **name) {
  *name = NULL;
  for (uint64_t i = 0; i < f->all.batches.count; i++)
    if (f->all.batches.hashes[i] == hash) {
      *name = amped_state_file_batch(f, i + 1).name;
      return i + 1;
    }
  return 0;
}

void amped_state_file_sizes(const amped_state_file *f, uint64_t *state, uint64_t *journal) {
  *state = f->base.file.bytes;
  *journal = 0;
  for (int i = 0; i < JOURNALS; i++)
    *journal += f->journals[i].open ? f->journals[i].end : 0;
}

/* --- reading ---------------------------------------------------------------------------------- */

static amped_status read_base_rows(amped_state_file *f, int mode, uint64_t first, uint64_t count,
                                   void *const parts[AMPED_STATE_PARTS]) {
  const uint64_t dim = f->base.head.dims[mode];
  if (first >= dim)
    return AMPED_OK;
  amped_status status = amped_state_base_read(&f->base, mode, first,
                                              count < dim - first ? count : dim - first, parts);
  if (status == AMPED_BAD_INPUT && is_there(f->previous))
    amped_warn("%s, with the journals, is the state before the damage; remove %s to use it",
               f->previous, f->path);
  return status;
}

/* Number of rows, from `from` on and before `end`, whose entries follow one another in a journal;
 * at most `most`. */
static uint64_t run_of(const amped_state_places *p, uint64_t from, uint64_t end, uint64_t most,
                       uint64_t row_bytes) {
  uint64_t n = 1;
  while (n < most && from + n < end && p->at[from + n] == p->at[from] + n * row_bytes)
    n++;
  return n;
}

/* Copy the row of an entry to its place among rows first, first + 1, ... */
static void take_row(const amped_state_file *f, const amped_journal *j, const unsigned char *entry,
                     uint64_t row, void *const parts[AMPED_STATE_PARTS]) {
  void *to[AMPED_STATE_PARTS];
  for (int part = 0; part < AMPED_STATE_PARTS; part++)
    to[part] = parts[part] != NULL ? (unsigned char *)parts[part] + row * part_bytes(&f->head, part)
                                   : NULL;
  amped_journal_row(j, entry, to[AMPED_STATE_FACTOR], to[AMPED_STATE_HISTORY],
                    to[AMPED_STATE_TOUCHED]);
}

/* Replace base rows by newer rows from the journals. */
static amped_status read_journal_rows(amped_state_file *f, int mode, uint64_t first, uint64_t count,
                                      void *const parts[AMPED_STATE_PARTS]) {
  amped_state_places *p = &f->all.rows[mode];
  AMPED_TRY(amped_state_places_sort(p));
  const uint64_t end = amped_sort_find(p->rows, p->count, first + count);
  for (uint64_t i = amped_sort_find(p->rows, p->count, first), n = 0; i < end; i += n) {
    uint64_t at = p->at[i];
    const amped_journal *j = journal_of(f, &at);
    const uint64_t most = j->row_bytes < PIECE_BYTES ? PIECE_BYTES / j->row_bytes : 1;
    if (f->entries == NULL)
      AMPED_TRY(amped_alloc(&f->entries, most, j->row_bytes, "rows of a journal"));
    n = run_of(p, i, end, most, j->row_bytes);
    AMPED_TRY(amped_journal_rows(j, at, n, f->entries));
    for (uint64_t k = 0; k < n; k++)
      take_row(f, j, f->entries + k * j->row_bytes, p->rows[i + k] - first, parts);
  }
  return AMPED_OK;
}

amped_status amped_state_file_read(amped_state_file *f, int mode, uint64_t first, uint64_t count,
                                   void *factor, void *history, uint64_t *touched) {
  void *const parts[AMPED_STATE_PARTS] = {factor, f->head.history_length > 0 ? history : NULL,
                                          touched};
  AMPED_TRY(read_base_rows(f, mode, first, count, parts));
  return read_journal_rows(f, mode, first, count, parts);
}

amped_status amped_state_file_sums(amped_state_file *f, int mode, double *out) {
  uint64_t at = f->all.sums[mode];
  if (at == 0)
    return amped_state_base_sums(&f->base, mode, out);
  const amped_journal *j = journal_of(f, &at);
  return amped_journal_sums(j, at, out);
}

/* Labels that the journals add to a mode: bytes and number. */
static amped_status count_labels(const amped_state_file *f, int mode, uint64_t *bytes,
                                 uint64_t *count) {
  *bytes = *count = 0;
  for (uint64_t i = 0; i < f->all.labels.count; i++) {
    const amped_state_piece *p = &f->all.labels.list[i];
    uint64_t at = p->at;
    uint64_t more = 0;
    if (p->mode != mode)
      continue;
    const amped_journal *j = journal_of(f, &at);
    AMPED_TRY(amped_journal_label_bytes(j, at, &more));
    *bytes += more;
    *count += p->count;
  }
  return AMPED_OK;
}

static amped_status add_labels(const amped_state_file *f, int mode, amped_labels *out) {
  uint64_t bytes = 0;
  uint64_t count = 0;
  AMPED_TRY(count_labels(f, mode, &bytes, &count));
  if (count == 0)
    return AMPED_OK;
  const uint64_t all = out->offsets[out->count] + bytes;
  AMPED_TRY(amped_mem_check(f->path, "its labels", bytes + count * sizeof *out->offsets));
  AMPED_TRY(amped_realloc(&out->bytes, all > 0 ? all : 1, 1, "labels"));
  AMPED_TRY(amped_realloc(&out->offsets, out->count + count + 1, sizeof *out->offsets, "labels"));
  for (uint64_t i = 0; i < f->all.labels.count; i++) {
    const amped_state_piece *p = &f->all.labels.list[i];
    uint64_t at = p->at;
    if (p->mode != mode)
      continue;
    const amped_journal *j = journal_of(f, &at);
    AMPED_TRY(amped_journal_labels(j, at, p->count, out));
  }
  return AMPED_OK;
}

amped_status amped_state_file_labels(amped_state_file *f, int mode, amped_labels *out) {
  AMPED_TRY(amped_state_base_labels(&f->base, mode, out));
  if (out->count == 0)
    return AMPED_OK;
  amped_status status = add_labels(f, mode, out);
  if (status != AMPED_OK)
    amped_labels_free(out);
  return status;
}

static amped_status check_entries(const amped_state_file *f, const amped_journal *j,
                                  const amped_sptensor *t) {
  for (int m = 0; m < t->order; m++)
    for (uint64_t i = 0; i < t->nnz; i++)
      if (t->indices[m][i] >= f->head.dims[m])
        return amped_error(AMPED_BAD_INPUT, j->path,
                           "has an entry beyond the state; restore the state and its "
                           "journal from a backup");
  return AMPED_OK;
}

/* Add entries of a piece of a list, or of the base if p is NULL. */
static amped_status add_entries(amped_state_file *f, amped_state_list list,
                                const amped_state_piece *p, amped_sptensor *out) {
  const uint64_t count = p != NULL ? p->count : f->base.entries[list];
  amped_sptensor t;
  uint64_t at = p != NULL ? p->at : 0;
  const amped_journal *j = journal_of(f, &at);
  AMPED_TRY(amped_mem_check(f->path, "its lists of entries",
                            count * ((uint64_t)f->head.order + 4) * sizeof(uint64_t)));
  AMPED_TRY(amped_sptensor_create(&t, f->head.order, count));
  amped_status status = p != NULL ? amped_journal_entries(j, at, count, &t)
                                  : amped_state_base_entries(&f->base, list, &t);
  if (status == AMPED_OK && p != NULL)
    status = check_entries(f, j, &t);
  if (status == AMPED_OK)
    status =
        amped_entry_sample_add(out, &t, f->head.split_seed, amped_state_list_most(&f->head, list));
  amped_sptensor_free(&t);
  return status;
}

amped_status amped_state_file_entries(amped_state_file *f, amped_state_list list,
                                      amped_sptensor *out) {
  const amped_state_pieces *pieces = &f->all.entries[list];
  amped_status status = AMPED_OK;
  memset(out, 0, sizeof *out);
  out->order = f->head.order;
  AMPED_GO(done, add_entries(f, list, NULL, out));
  for (uint64_t i = 0; i < pieces->count; i++)
    AMPED_GO(done, add_entries(f, list, &pieces->list[i], out));
  memcpy(out->dims, f->head.dims, sizeof out->dims);
done:
  if (status != AMPED_OK)
    amped_sptensor_free(out);
  return status;
}

/* Allocate a piece of rows: one array per part; free with free_parts. */
static amped_status make_parts(const amped_state_head *head, uint64_t rows,
                               void *parts[AMPED_STATE_PARTS]) {
  memset(parts, 0, AMPED_STATE_PARTS * sizeof *parts);
  for (int part = 0; part < AMPED_STATE_PARTS; part++)
    AMPED_TRY(amped_alloc(&parts[part], rows, part_bytes(head, part), "rows of a state"));
  return AMPED_OK;
}

static void free_parts(void *parts[AMPED_STATE_PARTS]) {
  for (int part = 0; part < AMPED_STATE_PARTS; part++)
    amped_free(parts[part]);
}

/* Read all rows and pass them to w; NULL: only read. */
static amped_status read_all(amped_state_file *f, amped_state_writer *w) {
  const uint64_t step = amped_state_piece_rows(&f->head);
  void *parts[AMPED_STATE_PARTS];
  amped_status status = AMPED_OK;
  AMPED_GO(done, make_parts(&f->head, step, parts));
  for (int m = 0; m < f->head.order; m++)
    for (uint64_t first = 0; first < f->head.dims[m]; first += step) {
      const uint64_t left = f->head.dims[m] - first;
      const uint64_t count = left < step ? left : step;
      AMPED_GO(done, amped_state_file_read(f, m, first, count, parts[AMPED_STATE_FACTOR],
                                           parts[AMPED_STATE_HISTORY], parts[AMPED_STATE_TOUCHED]));
      if (w != NULL)
        AMPED_GO(done, amped_state_writer_rows(w, count, (const void *const *)parts));
    }
done:
  free_parts(parts);
  return status;
}

/* Read the sums of all modes into new arrays; free with free_sums. */
static amped_status read_sums(amped_state_file *f, double *sums[AMPED_MAX_ORDER]) {
  const uint64_t width = amped_state_sums_width(&f->head);
  for (int m = 0; m < f->head.order && width > 0; m++) {
    AMPED_TRY(amped_alloc(&sums[m], width * width, sizeof *sums[m], "the sums of a state"));
    AMPED_TRY(amped_state_file_sums(f, m, sums[m]));
  }
  return AMPED_OK;
}

static void free_sums(double *sums[AMPED_MAX_ORDER]) {
  for (int m = 0; m < AMPED_MAX_ORDER; m++)
    amped_free(sums[m]);
}

/* Read all lists of entries; free with free_entries, also after a failure. */
static amped_status read_entries(amped_state_file *f, amped_sptensor lists[AMPED_STATE_LISTS]) {
  memset(lists, 0, AMPED_STATE_LISTS * sizeof *lists);
  for (int l = 0; l < AMPED_STATE_LISTS; l++)
    AMPED_TRY(amped_state_file_entries(f, (amped_state_list)l, &lists[l]));
  return AMPED_OK;
}

static void free_entries(amped_sptensor lists[AMPED_STATE_LISTS]) {
  for (int l = 0; l < AMPED_STATE_LISTS; l++)
    amped_sptensor_free(&lists[l]);
}

amped_status amped_state_file_verify(amped_state_file *f, bool *sealed) {
  amped_sptensor entries[AMPED_STATE_LISTS];
  double *sums[AMPED_MAX_ORDER] = {NULL};
  AMPED_TRY(read_all(f, NULL));
  amped_status status = read_sums(f, sums);
  free_sums(sums);
  AMPED_TRY(status);
  for (int m = 0; m < f->head.order; m++) {
    amped_labels labels;
    AMPED_TRY(amped_state_file_labels(f, m, &labels));
    amped_labels_free(&labels);
  }
  status = read_entries(f, entries);
  free_entries(entries);
  AMPED_TRY(status);
  return amped_state_base_sealed(&f->base, sealed);
}

/* --- a new STATE ------------------------------------------------------------------------------ */

static amped_status rename_file(const char *from, const char *to) {
  return rename(from, to) == 0
             ? AMPED_OK
             : amped_error_errno(AMPED_FAILED, errno, from, "cannot be renamed to %s", to);
}

/* Write everything of a new STATE except its rows. */
static amped_status finish_state(amped_state_file *f, amped_state_writer *w) {
  amped_labels labels[AMPED_MAX_ORDER];
  amped_sptensor entries[AMPED_STATE_LISTS] = {{.order = 0}};
  double *sums[AMPED_MAX_ORDER] = {NULL};
  amped_status status = AMPED_OK;
  memset(labels, 0, sizeof labels);
  for (int m = 0; m < f->head.order; m++)
    AMPED_GO(done, amped_state_file_labels(f, m, &labels[m]));
  AMPED_GO(done, read_entries(f, entries));
  AMPED_GO(done, read_sums(f, sums));
  status = amped_state_writer_finish(w, &f->head, labels, (const double *const *)sums, entries,
                                     &f->all.batches);
done:
  free_sums(sums);
  for (int m = 0; m < f->head.order; m++)
    amped_labels_free(&labels[m]);
  free_entries(entries);
  return status;
}

/* Publish the new STATE. compacts: the journal, now merged into STATE, first becomes
 * STATE.journal.prev. So at any moment STATE or STATE.prev exists, with the journal that follows
 * it. */
static amped_status exchange(amped_state_file *f, amped_state_writer *w, bool compacts) {
  if (compacts)
    AMPED_TRY(rename_file(f->journal_name, f->older_name));
  amped_status status = amped_state_writer_publish(w, compacts);
  if (status != AMPED_OK && compacts && is_there(f->state))
    (void)rename(f->older_name, f->journal_name);
  return status;
}

/* Merge base and journals into the draft of a new STATE. */
static amped_status draft_state(amped_state_file *f, amped_state_writer *w) {
  AMPED_TRY(amped_state_writer_open(f->path, &f->head, w));
  amped_status status = read_all(f, w);
  if (status == AMPED_OK)
    status = finish_state(f, w);
  if (status != AMPED_OK)
    amped_state_writer_close(w);
  return status;
}

/* Give the draft its name, and open it. */
static amped_status publish_state(amped_state_file *f, amped_state_writer *w, bool compacts) {
  const amped_status status = exchange(f, w, compacts);
  amped_state_writer_close(w);
  AMPED_TRY(status);
  amped_state_base_close(&f->base);
  for (int i = 0; i < JOURNALS; i++)
    amped_journal_close(&f->journals[i]);
  f->merge_at = 0;
  return open_base(f, f->state, true);
}

/* Merge base and journals into a new STATE. compacts: the old STATE becomes STATE.prev, and its
 * journal STATE.journal.prev. Otherwise STATE was missing or damaged, and the files that it was
 * rebuilt from stay. */
static amped_status write_state(amped_state_file *f, bool compacts) {
  amped_state_writer w;
  AMPED_TRY(draft_state(f, &w));
  return publish_state(f, &w, compacts);
}

/* Merge the journal into STATE if it is the longer one. If the new STATE cannot be written, nothing
 * is lost: a warning, and the next try when the journal is twice as long. */
static amped_status merge(amped_state_file *f) {
  const uint64_t bytes = f->journals[JOURNAL].end;
  amped_state_writer w;
  if (bytes <= f->base.file.bytes || bytes <= f->merge_at)
    return AMPED_OK;
  const amped_status status = draft_state(f, &w);
  if (status == AMPED_OK)
    return publish_state(f, &w, true);
  if (status != AMPED_FAILED)
    return status;
  amped_warn("%s (all batches are in %s and its journal, which are not merged yet)",
             amped_status_bare(amped_status_message()), f->path);
  amped_status_clear();
  f->merge_at = 2 * bytes;
  return AMPED_OK;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* Check that the sizes of all rows fit in 64 bits. */
static amped_status check_sizes(const amped_state_head *head, const char *path) {
  uint64_t sum = 0;
  for (int m = 0; m < head->order; m++)
    for (int part = 0; part < AMPED_STATE_PARTS; part++) {
      uint64_t bytes = 0;
      if (!amped_mul(head->dims[m], part_bytes(head, part), &bytes) ||
          !amped_add(sum, bytes, &sum) || sum > INT64_MAX / 4)
        return amped_error(AMPED_FAILED, path,
                           "a state of these dimensions is larger than any file; compress indices "
                           "with amped_mpi convert --compact");
    }
  return AMPED_OK;
}

amped_status amped_state_file_reserve(const char *path, amped_state_file **out) {
  amped_status status = make(path, true, out);
  if (status != AMPED_OK) {
    amped_state_file_close(*out);
    *out = NULL;
  }
  return status;
}

amped_status amped_state_file_begin(amped_state_file *f, const amped_state_head *head) {
  amped_state_head first = *head;
  first.batches = first.nnz = 0;
  memcpy(first.first, head->dims, sizeof first.first);
  AMPED_TRY(amped_state_head_check(&first, f->path, AMPED_FAILED));
  AMPED_TRY(check_sizes(&first, f->path));
  f->head = first;
  AMPED_TRY(amped_calloc(&f->writer, 1, sizeof *f->writer, "a state"));
  return amped_state_writer_open(f->path, head, f->writer);
}

amped_status amped_state_file_create(const char *path, const amped_state_head *head,
                                     amped_state_file **out) {
  AMPED_TRY(amped_state_file_reserve(path, out));
  amped_status status = amped_state_file_begin(*out, head);
  if (status != AMPED_OK) {
    amped_state_file_close(*out);
    *out = NULL;
  }
  return status;
}

static amped_status check_finite(const amped_state_file *f, int mode, int part, uint64_t count,
                                 const uint64_t *indices, const void *values) {
  const uint64_t columns = amped_state_columns(&f->head, part);
  for (uint64_t i = 0; i < count * columns; i++)
    if (!isfinite(f->head.type == AMPED_F32 ? (double)((const float *)values)[i]
                                            : ((const double *)values)[i]))
      return amped_error(AMPED_FAILED, f->path,
                         "row %" PRIu64 " of mode %d is not finite: the model has diverged; the "
                         "state stays as it was",
                         indices[i / columns], mode + 1);
  return AMPED_OK;
}

static amped_status put_new(amped_state_file *f, int mode, uint64_t count, const uint64_t *indices,
                            const void *const parts[AMPED_STATE_PARTS]) {
  bool in_order = mode == f->writer->mode;
  for (uint64_t i = 0; i < count; i++)
    in_order = in_order && indices[i] == f->writer->row + i;
  return in_order ? amped_state_writer_rows(f->writer, count, parts)
                  : amped_error(AMPED_FAILED, f->path,
                                "rows of a new state are out of order; this is a mistake of "
                                "amped_mpi, please report it");
}

static amped_status open_journal(amped_state_file *f) {
  amped_journal *j = &f->journals[JOURNAL];
  return j->open ? AMPED_OK : amped_journal_create(f->journal_name, &f->head, id_of(f), j);
}

static amped_status put_journal(amped_state_file *f, int mode, uint64_t count,
                                const uint64_t *indices,
                                const void *const parts[AMPED_STATE_PARTS]) {
  amped_journal *j = NULL;
  uint64_t place = 0;
  AMPED_TRY(open_journal(f));
  j = &f->journals[JOURNAL];
  AMPED_TRY(amped_journal_put_rows(j, mode, count, indices, parts[AMPED_STATE_FACTOR],
                                   parts[AMPED_STATE_HISTORY], parts[AMPED_STATE_TOUCHED], &place));
  for (uint64_t i = 0; i < count; i++)
    AMPED_TRY(amped_state_places_add(&f->news.rows[mode], indices[i],
                                     (place + i * j->row_bytes) | IN_JOURNAL));
  return AMPED_OK;
}

/* Record a failure: after one, only close may be called. */
static amped_status ended(amped_state_file *f, amped_status status) {
  f->failed = f->failed || status != AMPED_OK;
  return status;
}

static amped_status put(amped_state_file *f, int mode, uint64_t count, const uint64_t *indices,
                        const void *const parts[AMPED_STATE_PARTS]) {
  const uint64_t *touched = parts[AMPED_STATE_TOUCHED];
  AMPED_TRY(check_finite(f, mode, AMPED_STATE_FACTOR, count, indices, parts[AMPED_STATE_FACTOR]));
  if (f->head.history_length > 0)
    AMPED_TRY(
        check_finite(f, mode, AMPED_STATE_HISTORY, count, indices, parts[AMPED_STATE_HISTORY]));
  for (uint64_t i = 0; i < count; i++)
    if (touched[i] > f->head.batches + 1)
      return wrong_batch(f, AMPED_FAILED, "has a row of a later batch");
  return f->writer != NULL ? put_new(f, mode, count, indices, parts)
                           : put_journal(f, mode, count, indices, parts);
}

amped_status amped_state_file_put(amped_state_file *f, int mode, uint64_t count,
                                  const uint64_t *indices, const void *factor, const void *history,
                                  const uint64_t *touched) {
  const void *const parts[AMPED_STATE_PARTS] = {factor, history, touched};
  return count == 0 ? AMPED_OK : ended(f, put(f, mode, count, indices, parts));
}

amped_status amped_state_file_drop(amped_state_file *f) {
  amped_state_changes_clear(&f->news);
  return f->journals[JOURNAL].open ? ended(f, amped_journal_cut(&f->journals[JOURNAL])) : AMPED_OK;
}

/* Select the entries of a batch, or of the first fit, that are stored; free with free_entries, also
 * after a failure. */
static amped_status keep_entries(const amped_state_file *f, const amped_state_change *c,
                                 amped_sptensor out[AMPED_STATE_LISTS]) {
  memset(out, 0, AMPED_STATE_LISTS * sizeof *out);
  for (int l = 0; l < AMPED_STATE_LISTS; l++) {
    out[l].order = f->head.order;
    if (c->entries[l] != NULL)
      AMPED_TRY(amped_entry_sample_add(&out[l], c->entries[l], f->head.split_seed,
                                       amped_state_list_most(&f->head, (amped_state_list)l)));
  }
  return AMPED_OK;
}

/* Remove the files of the state that this one replaces. */
static void remove_old(const amped_state_file *f) {
  (void)unlink(f->older_name);
  (void)unlink(f->previous);
}

/* Check that the change has sums exactly if the state has sums, and that all are finite. */
static amped_status check_new_sums(const amped_state_file *f, const amped_state_change *c) {
  const uint64_t width = amped_state_sums_width(&f->head);
  if ((c->sums != NULL) != (width > 0))
    return wrong_batch(f, AMPED_FAILED, "lacks the sums of a mode");
  for (int m = 0; m < f->head.order && width > 0; m++)
    for (uint64_t i = 0; i < width * width; i++)
      if (!isfinite(c->sums[m][i]))
        return amped_error(AMPED_FAILED, f->path,
                           "sums of mode %d are not finite: the model has diverged; the state "
                           "stays as it was",
                           m + 1);
  return AMPED_OK;
}

static amped_status finish_new(amped_state_file *f, const amped_state_head *head,
                               const amped_state_change *c) {
  amped_sptensor entries[AMPED_STATE_LISTS];
  for (int m = 0; m < head->order; m++)
    if (head->dims[m] != f->head.dims[m] ||
        (c->added[m].count > 0 && c->added[m].count != head->dims[m]))
      return wrong_batch(f, AMPED_FAILED, "lacks a label of a row that is new");
  AMPED_TRY(amped_state_batches_add(&f->all.batches, c->batch.hash, c->batch.nnz, c->batch.name,
                                    strlen(c->batch.name)));
  amped_status status = keep_entries(f, c, entries);
  if (status == AMPED_OK)
    status =
        amped_state_writer_finish(f->writer, head, c->added, c->sums, entries, &f->all.batches);
  free_entries(entries);
  return status;
}

/* Finish and publish a new state. Until it has its name, the old STATE keeps a journal that follows
 * it. */
static amped_status commit_new(amped_state_file *f, const amped_state_head *head,
                               const amped_state_change *c) {
  AMPED_TRY(finish_new(f, head, c));
  remove_old(f);
  if (is_there(f->journal_name))
    AMPED_TRY(rename_file(f->journal_name, f->older_name));
  AMPED_TRY(amped_state_writer_publish(f->writer, false));
  remove_old(f);
  amped_state_writer_close(f->writer);
  amped_free(f->writer);
  f->writer = NULL;
  return open_base(f, f->state, true);
}

static amped_status put_lists(amped_state_file *f, const amped_state_change *c) {
  amped_journal *j = &f->journals[JOURNAL];
  amped_sptensor entries[AMPED_STATE_LISTS];
  amped_status status = AMPED_OK;
  uint64_t place = 0;
  for (int m = 0; m < f->head.order; m++) {
    if (c->added[m].count == 0)
      continue;
    AMPED_TRY(amped_journal_put_labels(j, m, &c->added[m], &place));
    AMPED_TRY(amped_state_pieces_add(&f->news.labels, m, c->added[m].count, place | IN_JOURNAL));
  }
  for (int m = 0; m < f->head.order && c->sums != NULL; m++) {
    AMPED_TRY(amped_journal_put_sums(j, m, c->sums[m], &place));
    f->news.sums[m] = place | IN_JOURNAL;
  }
  AMPED_GO(done, keep_entries(f, c, entries));
  for (int l = 0; l < AMPED_STATE_LISTS; l++) {
    if (entries[l].nnz == 0)
      continue;
    AMPED_GO(done, amped_journal_put_entries(j, (amped_state_list)l, &entries[l], &place));
    AMPED_GO(done,
             amped_state_pieces_add(&f->news.entries[l], 0, entries[l].nnz, place | IN_JOURNAL));
  }
  AMPED_GO(done, amped_state_batches_add(&f->news.batches, c->batch.hash, c->batch.nnz,
                                         c->batch.name, strlen(c->batch.name)));
  status = amped_journal_put_batch(j, &c->batch);
done:
  free_entries(entries);
  return status;
}

static amped_status commit_batch(amped_state_file *f, const amped_state_head *head,
                                 const amped_state_change *c) {
  AMPED_TRY(check_sizes(head, f->path));
  AMPED_TRY(open_journal(f));
  AMPED_TRY(put_lists(f, c));
  AMPED_TRY(check_news(f, head, AMPED_FAILED));
  AMPED_TRY(amped_journal_commit(&f->journals[JOURNAL], head));
  AMPED_TRY(absorb(f, head));
  return merge(f);
}

amped_status amped_state_file_commit(amped_state_file *f, const amped_state_change *change) {
  amped_state_head head = *change->head;
  head.batches = f->head.batches + 1;
  head.nnz = f->head.nnz + change->batch.nnz;
  memcpy(head.first, f->head.first, sizeof head.first);
  AMPED_TRY(ended(f, amped_state_head_check(&head, f->path, AMPED_FAILED)));
  AMPED_TRY(ended(f, check_new_sums(f, change)));
  return ended(f,
               f->writer != NULL ? commit_new(f, &head, change) : commit_batch(f, &head, change));
}
