/* Complete files: names, formats and rules of reading, then the entries. */
#include "cli/complete_files.h"

#include <string.h>

#include "base/log.h"
#include "cli/counted_rows.h"
#include "hdf5/hdf5_probe.h"
#include "load/dense_source.h"
#include "session/entry_checks.h"
#include "solver/complete/unlearnt_entries.h"
#include "text/io.h"

/* --- how files are read ---------------------------------------------------------------------- */

static bool is_hdf5(const char *path, const amped_read_options *read) {
  return amped_io_has_format(path, read, AMPED_FORMAT_HDF5);
}

/* Options for reading `path`, one of the command's files. */
static amped_read_options options_of(const amped_complete_files *f, const char *path) {
  const amped_text_list *test = &f->o->complete.test;
  const char *files[3 + AMPED_MAX_TEXTS] = {f->o->args[0], f->o->complete.validate, f->weights};
  for (int i = 0; i < test->count; i++)
    files[3 + i] = test->texts[i];
  return amped_io_options_of(path, files, 3 + test->count, &f->read);
}

/* Find out whether --weights names a column or a file. It is a column if INPUT is a table and the
 * name has no suffix of a file. */
static amped_status find_weights(amped_complete_files *f) {
  const char *input = f->o->args[0];
  const char *name = f->o->complete.weights;
  amped_format of_input = AMPED_FORMAT_HDF5;
  amped_format of_name = AMPED_FORMAT_HDF5;
  if (name == NULL)
    return AMPED_OK;
  f->read.weights = name; /* set now: the format of a pipe is deduced from it, too */
  const bool table = amped_io_input_format(input, &f->read, &of_input) == AMPED_OK &&
                     of_input == AMPED_FORMAT_TABLE;
  const bool column = table && amped_io_format(name, &of_name) != AMPED_OK;
  amped_status_clear();
  if (column && strcmp(input, "-") == 0)
    return amped_error(AMPED_USAGE, NULL,
                       "--weights=%s: standard input cannot be read again for its weights; name a "
                       "file",
                       name);
  if (!column)
    f->read.weights = NULL;
  f->weights = column ? input : name;
  return AMPED_OK;
}

/* Set how weights are read. Weights of a repeated cell are added, whatever is done with its
 * values. */
static void set_read_of_weights(amped_complete_files *f) {
  f->of_weights = options_of(f, f->weights);
  f->of_weights.are_weights = true;
  f->of_weights.reads_weights = f->of_weights.weights != NULL;
  f->of_weights.duplicates = AMPED_DUPLICATES_UNKNOWN;
}

amped_status amped_complete_files_begin(amped_complete_files *f, const amped_options *o) {
  *f = (amped_complete_files){.o = o, .read = o->read};
  f->read.axes = NULL; /* for INPUT alone */
  AMPED_TRY(find_weights(f));
  if (f->weights != NULL)
    set_read_of_weights(f);
  f->of_input = options_of(f, o->args[0]);
  f->of_input.dataset = o->session.dataset;
  f->of_input.axes = &o->axes;
  return AMPED_OK;
}

void amped_complete_files_free(amped_complete_files *f) {
  amped_entry_weights_close(f->weighing);
  amped_entry_set_free(&f->validate);
  amped_entry_set_free(&f->test);
  amped_entry_set_free(&f->unlearnt);
  amped_row_counts_free(&f->counts);
  amped_rank_set_destroy(f->validate_ranks);
  amped_rank_set_destroy(f->test_ranks);
  memset(f, 0, sizeof *f);
}

static amped_status probe(const amped_complete_files *f, const char *path) {
  return path != NULL && is_hdf5(path, &f->o->read) ? amped_hdf5_probe(path) : AMPED_OK;
}

amped_status amped_complete_files_probe(const amped_complete_files *f) {
  AMPED_TRY(probe(f, f->o->complete.validate));
  for (int i = 0; i < f->o->complete.test.count; i++)
    AMPED_TRY(probe(f, f->o->complete.test.texts[i]));
  return probe(f, f->weights);
}

/* --- weights --------------------------------------------------------------------------------- */

amped_status amped_complete_files_sample(amped_complete_files *f, const amped_session *session,
                                         const amped_labels *labels, double *values,
                                         uint64_t *count) {
  if (session->comm.rank == 0 && amped_counted_rows_are(f->weights, &f->of_weights))
    amped_warn("%s: every row weighs 1, because no --value names a column of weights",
               amped_io_name(f->weights));
  AMPED_TRY(amped_entry_weights_open(session, labels, f->weights, &f->of_weights, &f->weighing));
  return amped_entry_weights_sample(f->weighing, values, count);
}

/* Will the weights, which are not open, be a list in rank 0's memory? */
static bool holds_weights(const amped_complete_files *f) {
  bool is_dense = false;
  if (!is_hdf5(f->weights, &f->of_weights))
    return true;
  if (amped_dense_source_is(f->weights, NULL, &is_dense) != AMPED_OK)
    amped_status_clear(); /* reading them reports it */
  return is_dense;
}

uint64_t amped_complete_files_weight_bytes(const amped_complete_files *f, const amped_plan *plan,
                                           uint64_t *held) {
  *held = f->weighing != NULL ? amped_entry_weights_bytes(f->weighing) : 0;
  if (f->weighing != NULL || f->weights == NULL)
    return *held;
  return amped_entry_weights_slab_bytes(plan) +
         (plan->rank == 0 && holds_weights(f)
              ? plan->nnz * ((uint64_t)plan->order + 1) * sizeof(double)
              : 0);
}

amped_status amped_complete_files_weigh(amped_complete_files *f, amped_complete_problem *p) {
  if (f->weights == NULL)
    return AMPED_OK;
  AMPED_TRY(amped_entry_weights_apply(f->weighing, &p->weights_hash));
  amped_entry_weights_close(f->weighing);
  f->weighing = NULL;
  return AMPED_OK;
}

/* --- entries that validate or test ----------------------------------------------------------- */

/* The call of amped_complete_files_load. */
typedef struct loading {
  amped_complete_files *f;
  const amped_session *session;
  const amped_labels *labels;
  bool gaps;
  amped_complete_problem *p;
  amped_context context;
} loading;

/* Check a table whose rows count 1 each beside the values of INPUT. INPUT may be such a table
 * itself. */
static amped_status check_counted(const loading *l, const char *path,
                                  const amped_read_options *read) {
  const amped_dictionary *d = &amped_session_info(l->session)->dictionary;
  const char *input = l->f->o->args[0];
  amped_status status = AMPED_OK;
  if (l->session->comm.rank == 0 && !(l->p->fit.implicit > 0.0) &&
      amped_counted_rows_are(path, read) && !amped_counted_rows_are(input, &l->f->of_input))
    status = amped_counted_rows_check(path, input, d->values, d->count, true);
  return amped_comm_agree(&l->session->comm, status);
}

/* Rule for repeated cells of a text or table beside INPUT: each counts as it is, and rows without
 * values are counted. */
static amped_duplicates second_rule(const char *path, const amped_read_options *read) {
  return amped_counted_rows_are(path, read) ? AMPED_DUPLICATES_SUM : AMPED_DUPLICATES_KEEP;
}

/* Load the entries of a file, and check them. */
static amped_status load_file(const loading *l, const char *option, const char *path,
                              amped_entry_set *out) {
  const bool implicit = l->p->fit.implicit > 0.0;
  amped_read_options read = options_of(l->f, path);
  if (!is_hdf5(path, &read) && !amped_io_has_format(path, &read, AMPED_FORMAT_NPY))
    read.duplicates = second_rule(path, &read);
  AMPED_TRY(check_counted(l, path, &read));
  AMPED_TRY(amped_entry_file_load(l->session, l->labels, option, path, &read, out));
  amped_entry_checks_new(l->session, l->labels, path, out, implicit ? l->p->fit.prior : NULL);
  AMPED_TRY(amped_entry_checks_drop(l->session, option, path, out));
  return implicit ? amped_entry_checks_events(l->session, path, out) : AMPED_OK;
}

static amped_status load_validate(const loading *l) {
  const char *path = l->f->o->complete.validate;
  if (path == NULL)
    return AMPED_OK;
  l->p->validate = &l->f->validate;
  return load_file(l, "--validate", path, &l->f->validate);
}

static amped_status load_test(const loading *l) {
  const amped_complete_options *o = &l->f->o->complete;
  for (int i = 0; i < o->test.count; i++) {
    const char *path = o->test.texts[i];
    amped_entry_set set = {.order = 0};
    l->p->test = &l->f->test;
    amped_status status = load_file(l, "--test", path, &set);
    if (status == AMPED_OK && l->p->validate != NULL)
      status = amped_entry_checks_common(l->session, path, &set, o->validate, &l->f->validate);
    if (status == AMPED_OK)
      status = amped_entry_set_append(&l->context, &l->f->test, &set);
    amped_entry_set_free(&set);
    AMPED_TRY(status);
  }
  return AMPED_OK;
}

/* Find the rows without training nonzeros that validation and test entries have. */
static amped_status find_judged(const loading *l) {
  amped_complete_problem *p = l->p;
  const amped_entry_set *validate = p->validate != NULL ? p->validate : p->unlearnt;
  if (!l->gaps)
    return AMPED_OK;
  if (validate != NULL)
    AMPED_TRY(amped_entry_set_find_untrained(&l->context, validate, p->judged));
  return p->test != NULL ? amped_entry_set_find_untrained(&l->context, p->test, p->tested)
                         : AMPED_OK;
}

/* Note which entries have rows that are trained, and count held-out entries that have others. */
static amped_status find_trained(const loading *l) {
  amped_complete_files *f = l->f;
  amped_complete_problem *p = l->p;
  if (p->validate == NULL && p->test == NULL && p->held == 0)
    return AMPED_OK;
  AMPED_TRY(amped_row_counts_find(&l->context, &f->counts));
  amped_entry_set_train(&l->context, &f->validate, &f->counts);
  amped_entry_set_train(&l->context, &f->test, &f->counts);
  p->counts = &f->counts;
  if (p->held > 0)
    AMPED_TRY(amped_unlearnt_entries_find(&l->context, &f->counts, &p->fixed, &f->unlearnt,
                                          p->unlearnt_of));
  p->unlearnt = f->unlearnt.total > 0 ? &f->unlearnt : NULL;
  return find_judged(l);
}

/* Make the sets of entries that implicit fits rank. */
static amped_status set_ranks(const loading *l) {
  amped_complete_files *f = l->f;
  amped_complete_problem *p = l->p;
  if (p->validate != NULL || p->held > 0)
    AMPED_TRY(
        amped_rank_set_create(&l->context, p->ranked, p->held, p->validate, &f->validate_ranks));
  if (p->test != NULL)
    AMPED_TRY(
        amped_rank_set_create(&l->context, p->ranked, p->test->total, p->test, &f->test_ranks));
  p->validate_ranks = f->validate_ranks;
  p->test_ranks = f->test_ranks;
  return AMPED_OK;
}

amped_status amped_complete_files_load(amped_complete_files *f, const amped_session *session,
                                       const amped_labels *labels, bool gaps,
                                       amped_complete_problem *p) {
  const loading l = {.f = f,
                     .session = session,
                     .labels = labels,
                     .gaps = gaps,
                     .p = p,
                     .context = amped_session_context(session)};
  AMPED_TRY(load_validate(&l));
  AMPED_TRY(load_test(&l));
  AMPED_TRY(find_trained(&l));
  return p->fit.implicit > 0.0 ? set_ranks(&l) : AMPED_OK;
}
