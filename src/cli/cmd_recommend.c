/* recommend: ranks the indices of one mode for the indices of another. */
#include <math.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/result_argument.h"
#include "base/file.h"
#include "base/file_lock.h"
#include "base/heartbeat.h"
#include "base/facts.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/printable.h"
#include "base/sort.h"
#include "formats/completion_file.h"
#include "hdf5/hdf5_probe.h"
#include "formats/result_file.h"
#include "session/output_guard.h"
#include "state/state_file.h"
#include "tensor/format.h"
#include "tensor/mode_names.h"
#include "tensor/ranking.h"
#include "text/io.h"
#include "text/io_table_write.h"
#include "text/model_cells.h"

#define LABEL_BYTES 256
#define MODE_BYTES 128

typedef struct job {
  const amped_options *o;
  amped_ktensor k;
  amped_completion c;
  amped_predictor p;
  amped_ranking ranking;
  uint64_t first, end; /* range of targets */
  uint64_t pairs;      /* excluded pairs of a target and an index of --of */
  uint64_t *pair_target, *pair_of;
  uint64_t *seen_begin, *seen; /* the same pairs, sorted, for the ranking */
  amped_best_item *items;      /* best items of a block of targets */
  uint64_t served;             /* labels with a recommendation */
  uint64_t *counts;
  amped_table_ranking *table;
} job;

static bool is_standard(const char *path) {
  return strcmp(path, "-") == 0;
}

/* ---- modes and labels ----------------------------------------------------------------------- */

static amped_status no_mode(const job *j, const char *option, const char *text) {
  char names[AMPED_MODES_TEXT];
  return amped_error(AMPED_USAGE, j->o->args[0], "has no mode for %s=%s; %s", option, text,
                     amped_mode_names(names, j->k.labels, j->k.order));
}

/* Split "MODE:LABEL". MODE may contain colons: the first colon that ends a mode's name or number
 * counts. *label is NULL if the whole text names a mode. */
static amped_status split(const job *j, const char *option, const char *text, int *mode,
                          const char **label) {
  *label = NULL;
  *mode = amped_mode_find(j->k.labels, j->k.order, text, strlen(text));
  for (const char *at = strchr(text, ':'); *mode < 0 && at != NULL; at = strchr(at + 1, ':')) {
    *mode = amped_mode_find(j->k.labels, j->k.order, text, (size_t)(at - text));
    *label = at + 1;
  }
  return *mode >= 0 ? AMPED_OK : no_mode(j, option, text);
}

static amped_status find_label(const job *j, const char *option, int mode, const char *label,
                               uint64_t *index) {
  const int first = j->k.labels[mode].from_zero ? 0 : 1;
  char name[MODE_BYTES];
  (void)amped_format_mode(name, sizeof name, mode, &j->k.labels[mode]);
  amped_model_index(&j->k.labels[mode], j->k.dims[mode], label, strlen(label), index);
  if (*index != AMPED_PREDICTOR_COLD)
    return AMPED_OK;
  if (j->k.labels[mode].count == 0)
    return amped_error(AMPED_BAD_INPUT, j->o->args[0],
                       "%s: %s has no index %s; its indices are %d to %" PRIu64, option, name,
                       label, first, j->k.dims[mode] - 1 + (uint64_t)first);
  return amped_error(AMPED_BAD_INPUT, j->o->args[0],
                     "%s: %s has no label %s; name one of the model's (amped_mpi convert %s "
                     "OUT.csv lists them)",
                     option, name, label, j->o->args[0]);
}

static amped_status find_target(job *j) {
  const char *label = NULL;
  const char *text = j->o->recommend.target;
  AMPED_TRY(split(j, "--for", text, &j->ranking.target, &label));
  j->first = 0;
  j->end = j->k.dims[j->ranking.target];
  if (label == NULL)
    return AMPED_OK;
  AMPED_TRY(find_label(j, "--for", j->ranking.target, label, &j->first));
  j->end = j->first + 1;
  return AMPED_OK;
}

static amped_status find_of(job *j) {
  const char *text = j->o->recommend.of;
  j->ranking.of = amped_mode_find(j->k.labels, j->k.order, text, strlen(text));
  if (j->ranking.of < 0)
    return no_mode(j, "--of", text);
  if (j->ranking.of == j->ranking.target)
    return amped_error(AMPED_USAGE, NULL, "--for and --of name one mode; name two");
  return AMPED_OK;
}

static amped_status find_at(job *j) {
  for (int m = 0; m < j->k.order; m++)
    j->ranking.at[m] = AMPED_PREDICTOR_COLD;
  for (int i = 0; i < j->o->recommend.at.count; i++) {
    const char *text = j->o->recommend.at.texts[i];
    const char *label = NULL;
    char name[MODE_BYTES];
    int mode = 0;
    AMPED_TRY(split(j, "--at", text, &mode, &label));
    if (label == NULL)
      return amped_error(AMPED_USAGE, NULL, "--at=%s names no label; use --at=MODE:LABEL", text);
    if (mode == j->ranking.target || mode == j->ranking.of ||
        j->ranking.at[mode] != AMPED_PREDICTOR_COLD)
      return amped_error(AMPED_USAGE, NULL, "--at=%s: %s is named twice; leave out one", text,
                         amped_format_mode(name, sizeof name, mode, &j->k.labels[mode]));
    AMPED_TRY(find_label(j, "--at", mode, label, &j->ranking.at[mode]));
  }
  return AMPED_OK;
}

/* ---- what was seen -------------------------------------------------------------------------- */

/* A tensor of --exclude, and its entries by what they exclude. */
typedef struct exclusion {
  const char *path;
  bool has_values;
  amped_sptensor t;
  uint64_t zeros;     /* with a model of --implicit: entries of value 0, which are no events */
  uint64_t unknown;   /* an index of --for or --of is not the model's */
  uint64_t elsewhere; /* labels that --at does not name */
  uint64_t kept;      /* pairs that exclude something */
} exclusion;

/* Does the entry lie at the labels of --at? */
static bool is_at(const job *j, const amped_sptensor *t, uint64_t i) {
  for (int m = 0; m < t->order; m++)
    if (j->ranking.at[m] != AMPED_PREDICTOR_COLD && t->indices[m][i] != j->ranking.at[m])
      return false;
  return true;
}

/* Append the pairs of indices of entries that exclude something. */
static amped_status take_pairs(job *j, exclusion *e) {
  const amped_sptensor *t = &e->t;
  const uint64_t *target = t->indices[j->ranking.target];
  const uint64_t *of = t->indices[j->ranking.of];
  uint64_t room = 0;
  if (!amped_add(j->pairs, t->nnz, &room))
    return amped_error(AMPED_BAD_INPUT, e->path, "has too many entries for 64-bit sizes");
  AMPED_TRY(amped_realloc(&j->pair_target, room, sizeof *j->pair_target, "entries to exclude"));
  AMPED_TRY(amped_realloc(&j->pair_of, room, sizeof *j->pair_of, "entries to exclude"));
  for (uint64_t i = 0; i < t->nnz; i++) {
    if (j->c.implicit > 0.0 && e->has_values && t->values[i] == 0.0) {
      e->zeros++;
    } else if (target[i] == AMPED_PREDICTOR_COLD || of[i] == AMPED_PREDICTOR_COLD) {
      e->unknown++;
    } else if (!is_at(j, t, i)) {
      e->elsewhere++;
    } else {
      j->pair_target[j->pairs] = target[i];
      j->pair_of[j->pairs++] = of[i];
      e->kept++;
    }
  }
  return AMPED_OK;
}

static void say_exclusion(const exclusion *e) {
  const uint64_t nnz = e->t.nnz;
  if (e->unknown > 0)
    (10 * e->unknown >= 9 * nnz ? amped_warn : amped_say)(
        "%s: %" PRIu64 " of its %" PRIu64
        " entries have an index that the model does not have, and exclude nothing",
        e->path, e->unknown, nnz);
  if (e->zeros > 0)
    amped_say("%s: %" PRIu64
              " entries have the value 0, which means that nothing happened, and are ignored",
              e->path, e->zeros);
  if (e->elsewhere > 0)
    (e->kept == 0 ? amped_warn : amped_say)("%s: %" PRIu64 " of its %" PRIu64
                                            " entries have other labels than --at, and exclude "
                                            "nothing",
                                            e->path, e->elsewhere, nnz);
}

/* Sort the pairs by target and index, for the ranking. */
static amped_status list_seen(job *j) {
  const uint64_t targets = j->k.dims[j->ranking.target];
  const uint64_t count = j->pairs;
  const amped_sort_field fields[2] = {{j->pair_target, amped_sort_bits(j->pair_target, count)},
                                      {j->pair_of, amped_sort_bits(j->pair_of, count)}};
  void *const arrays[2] = {j->pair_target, j->pair_of};
  AMPED_TRY(amped_sort(count, fields, 2, 0, arrays, 2));
  AMPED_TRY(
      amped_calloc(&j->seen_begin, targets + 1, sizeof *j->seen_begin, "the entries to exclude"));
  AMPED_TRY(amped_alloc(&j->seen, count, sizeof *j->seen, "the entries to exclude"));
  for (uint64_t i = 0; i < count; i++) {
    j->seen_begin[j->pair_target[i] + 1]++;
    j->seen[i] = j->pair_of[i];
  }
  for (uint64_t i = 0; i < targets; i++)
    j->seen_begin[i + 1] += j->seen_begin[i];
  j->ranking.seen_begin = j->seen_begin;
  j->ranking.seen = j->seen;
  return AMPED_OK;
}

/* Options for reading a tensor of --exclude: the user's, except for an HDF5 file beside a text or
 * table, to which they belong. */
static amped_status read_options_of(const job *j, const char *path, amped_read_options *out,
                                    amped_format *format) {
  const amped_text_list *list = &j->o->recommend.exclude;
  bool others = false;
  for (int i = 0; i < list->count; i++) {
    AMPED_TRY(amped_io_input_format(list->texts[i], &j->o->read, format));
    others = others || *format != AMPED_FORMAT_HDF5;
  }
  AMPED_TRY(amped_io_input_format(path, &j->o->read, format));
  amped_options plain;
  amped_options_default(&plain);
  *out = others && *format == AMPED_FORMAT_HDF5 ? plain.read : j->o->read;
  out->known_modes = true;
  out->from_zero = j->k.labels[0].from_zero;
  return AMPED_OK;
}

static amped_status exclude(job *j, const char *path) {
  bool needed[AMPED_MAX_ORDER] = {false};
  exclusion e = {.path = amped_io_name(path), .t = {.order = 0}};
  amped_read_options read;
  amped_format format = AMPED_FORMAT_TNS;
  amped_status status = AMPED_OK;
  for (int m = 0; m < j->k.order; m++)
    needed[m] =
        m == j->ranking.target || m == j->ranking.of || j->ranking.at[m] != AMPED_PREDICTOR_COLD;
  AMPED_TRY(read_options_of(j, path, &read, &format));
  AMPED_GO(done, amped_io_read(path, &read, &e.t));
  e.has_values = format != AMPED_FORMAT_TABLE || read.value != NULL;
  AMPED_GO(done, amped_model_cells_translate(j->o->args[0], &j->k, e.path, read.keys != NULL,
                                             needed, &e.t));
  AMPED_GO(done, take_pairs(j, &e));
  say_exclusion(&e);
done:
  amped_sptensor_free(&e.t);
  return status;
}

static amped_status read_seen(job *j) {
  const amped_text_list *list = &j->o->recommend.exclude;
  for (int i = 0; i < list->count; i++)
    AMPED_TRY(exclude(j, list->texts[i]));
  return list->count > 0 ? list_seen(j) : AMPED_OK;
}

/* ---- reports -------------------------------------------------------------------------------- */

static void say_target(const job *j, uint64_t index, const amped_best_item *items, uint64_t count) {
  char target[LABEL_BYTES];
  char label[LABEL_BYTES];
  if (index > j->first)
    amped_say("%s", "");
  amped_say("%s", amped_label_text(&j->k.labels[j->ranking.target], index, target, sizeof target));
  for (uint64_t i = 0; i < count; i++)
    amped_say("  %4" PRIu64 "  %12.6g  %s", i + 1, items[i].value,
              amped_label_text(&j->k.labels[j->ranking.of], items[i].index, label, sizeof label));
}

static amped_status write_target(const job *j, uint64_t index, const amped_best_item *items,
                                 uint64_t count, amped_json *json) {
  amped_facts f;
  amped_facts item;
  amped_facts_begin(&f, "recommend");
  amped_fact_json(&f, "index", amped_json_count(index));
  amped_fact_json(&f, "label", amped_json_label(&j->k.labels[j->ranking.target], index));
  amped_fact_json(&f, "recommended", json_array());
  for (uint64_t i = 0; i < count; i++) {
    amped_facts_begin(&item, NULL);
    amped_fact_json(&item, "index", amped_json_count(items[i].index));
    amped_fact_json(&item, "label", amped_json_label(&j->k.labels[j->ranking.of], items[i].index));
    amped_fact_json(&item, "value", amped_json_number(items[i].value));
    amped_facts_row(&f, "recommended", &item);
  }
  return amped_facts_write(&f, json);
}

static amped_status tell_target(const job *j, uint64_t index, const amped_best_item *items,
                                uint64_t count, amped_json *json) {
  if (j->table == NULL)
    say_target(j, index, items, count);
  for (uint64_t i = 0; i < count && j->table != NULL; i++)
    AMPED_TRY(amped_table_ranking_row(j->table, index, i + 1, items[i].index, items[i].value));
  return json != NULL ? write_target(j, index, items, count, json) : AMPED_OK;
}

static amped_status rank_all(job *j, amped_json *json) {
  const uint64_t block = amped_ranking_block(&j->ranking);
  const uint64_t most = j->ranking.most;
  AMPED_TRY(amped_alloc(&j->items, block * most, sizeof *j->items, "the best values"));
  AMPED_TRY(amped_alloc(&j->counts, block, sizeof *j->counts, "the best values"));
  for (uint64_t first = j->first; first < j->end; first += block) {
    const uint64_t count = j->end - first < block ? j->end - first : block;
    AMPED_TRY(amped_ranking_find(&j->ranking, first, count, j->items, j->counts));
    for (uint64_t i = 0; i < count; i++)
      j->served += j->counts[i] > 0;
    for (uint64_t i = 0; i < count; i++)
      AMPED_TRY(tell_target(j, first + i, j->items + i * most, j->counts[i], json));
    amped_heartbeat_step();
  }
  return AMPED_OK;
}

static amped_status rank_to_table(job *j, amped_json *json) {
  const char *path = j->o->output;
  AMPED_TRY(
      amped_table_ranking_create(path, j->k.labels, j->ranking.target, j->ranking.of, &j->table));
  AMPED_TRY(rank_all(j, json));
  amped_table_ranking *complete = j->table;
  j->table = NULL;
  AMPED_TRY(amped_table_ranking_finish(complete));
  amped_say("wrote the recommendations for %" PRIu64 " label%s to %s", j->served,
            j->served == 1 ? "" : "s", is_standard(path) ? "standard output" : path);
  if (j->served < j->end - j->first)
    amped_say("%" PRIu64 " label%s without a recommendation: nothing is left for them",
              j->end - j->first - j->served, j->end - j->first - j->served == 1 ? "" : "s");
  return AMPED_OK;
}

/* Say how many indices can be in no list. */
static void say_unlearnt(const job *j) {
  char name[128];
  uint64_t count = 0;
  const int of = j->ranking.of;
  for (uint64_t i = 0; i < j->k.dims[of]; i++)
    count += !amped_predictor_knows(&j->p, of, i);
  if (count > 0)
    amped_say("%s: %" PRIu64 " of %" PRIu64 " indices have no learnt entry, so they are in no list",
              amped_format_mode(name, sizeof name, of, &j->k.labels[of]), count, j->k.dims[of]);
}

/* ---- the command ---------------------------------------------------------------------------- */

static amped_status steps(job *j, amped_json *json) {
  const char *model = j->o->args[0];
  const uint64_t number = (uint64_t)j->o->top;
  AMPED_TRY(amped_result_argument_read("recommend", model, &j->k));
  AMPED_TRY(amped_completion_file_read(model, j->k.order, j->k.dims, true, &j->c));
  AMPED_TRY(find_target(j));
  AMPED_TRY(find_of(j));
  AMPED_TRY(find_at(j));
  AMPED_TRY(amped_predictor_create(&j->k, &j->c, &j->p));
  say_unlearnt(j);
  j->ranking.p = &j->p;
  j->ranking.most = number < j->k.dims[j->ranking.of] ? number : j->k.dims[j->ranking.of];
  if (amped_completion_is_additive(&j->c, &j->k))
    amped_warn(
        "%s: its components are almost zero%s; complete with a smaller --reg or a larger --rank",
        model,
        j->c.biased ? ": biases alone rank, so that all lists are nearly the same"
                    : ", so that its lists mean little");
  AMPED_TRY(read_seen(j));
  return j->o->output != NULL ? rank_to_table(j, json) : rank_all(j, json);
}

static amped_status check_output(const amped_options *o, amped_file_lock *lock) {
  const char *path = o->output;
  amped_output found;
  if (path == NULL)
    return AMPED_OK;
  if (is_standard(path) && o->json != NULL && is_standard(o->json))
    return amped_error(AMPED_USAGE, NULL,
                       "the table and --json=- would mix on standard output; name a file for one");
  if (is_standard(path)) {
    amped_log_to_stderr();
    return AMPED_OK;
  }
  if (!amped_table_named(path))
    return amped_error(AMPED_USAGE, path,
                       "recommendations are written as a table; name OUT.csv or OUT.tsv");
  AMPED_TRY(amped_file_check_writable(path));
  AMPED_TRY(amped_output_look(path, AMPED_OUTPUT_PLAIN, o->overwrite, &found));
  return amped_file_lock_take(path, lock);
}

/* A state holds sums of its entries, not their cells. */
static amped_status refuse_state(const char *path) {
  amped_state_file *file = NULL;
  char name[LABEL_BYTES];
  AMPED_TRY(amped_state_file_open(path, false, &file));
  const amped_state_batch first = amped_state_file_batch(file, 1);
  const uint64_t batches = amped_state_file_head(file)->batches;
  const amped_status status = amped_error(
      AMPED_BAD_INPUT, path,
      "is the state of a stream, which keeps sums of entries but not their cells; name "
      "the files of its %" PRIu64 " batch%s instead, with an --exclude for each; the "
      "first is %s",
      batches, batches == 1 ? "" : "es", amped_printable_text(name, sizeof name, first.name));
  amped_state_file_close(file);
  return status;
}

/* Is it a state, whatever its name? */
static bool is_state(const char *path) {
  bool is = false;
  const bool looked =
      amped_hdf5_probe(path) == AMPED_OK && amped_state_file_is(path, &is) == AMPED_OK;
  amped_status_clear();
  return looked && is;
}

/* Probe a tensor of --exclude if it is HDF5, before an HDF5 file is read. */
static amped_status probe_excluded(const amped_options *o, const char *path) {
  amped_format format = AMPED_FORMAT_TNS;
  const amped_status status = amped_io_input_format(path, &o->read, &format);
  const bool is_hdf5 = status == AMPED_OK && format == AMPED_FORMAT_HDF5;
  if ((is_hdf5 || status == AMPED_BAD_INPUT) && is_state(path))
    return refuse_state(path);
  return is_hdf5 ? amped_hdf5_probe(path) : amped_io_input_format(path, &o->read, &format);
}

static amped_status probe_inputs(const amped_options *o) {
  const amped_text_list *list = &o->recommend.exclude;
  AMPED_TRY(amped_result_argument_is("recommend", o->args[0]));
  for (int i = 0; i < list->count; i++)
    AMPED_TRY(probe_excluded(o, list->texts[i]));
  return AMPED_OK;
}

amped_status amped_cmd_recommend(const amped_options *o) {
  job j = {.o = o};
  amped_json *json = NULL;
  amped_file_lock lock = {NULL, -1};
  amped_status status = AMPED_OK;
  AMPED_GO(done, check_output(o, &lock));
  AMPED_GO(done, probe_inputs(o));
  AMPED_GO(done, amped_output_json(o->json, o->overwrite, &json));
  status = o->output != NULL ? amped_json_apart(json, o->output) : AMPED_OK;
  if (status == AMPED_OK)
    status = steps(&j, json);
  status = amped_json_close(json, status);
done:
  amped_table_ranking_discard(j.table);
  amped_free(j.items);
  amped_free(j.counts);
  amped_free(j.pair_target);
  amped_free(j.pair_of);
  amped_free(j.seen_begin);
  amped_free(j.seen);
  amped_predictor_free(&j.p);
  amped_completion_free(&j.c);
  amped_ktensor_free(&j.k);
  amped_file_lock_release(&lock);
  return status;
}
