/* Ranking report: paragraphs, rows of a table and JSON objects. */
#include "cli/ranking_report.h"

#include <math.h>
#include <string.h>

#include "base/facts.h"
#include "base/file.h"
#include "base/heartbeat.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/commands.h"
#include "session/output_guard.h"
#include "tensor/format.h"
#include "text/io_table_write.h"

#define LABEL_BYTES 256

/* Digits of values in text: usually, and at most. */
#define DIGITS 6
#define MOST_DIGITS 15

static bool is_standard(const char *path) {
  return strcmp(path, "-") == 0;
}

const char *amped_ranking_report_name(const amped_options *o) {
  return is_standard(o->output) ? "standard output" : o->output;
}

amped_status amped_ranking_report_check(const amped_options *o, const char *what,
                                        amped_file_lock *lock) {
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
    return amped_error(AMPED_USAGE, path, "%s written as a table; name OUT.csv or OUT.tsv", what);
  AMPED_TRY(amped_file_check_writable(path));
  AMPED_TRY(amped_output_look(path, AMPED_OUTPUT_PLAIN, o->overwrite, &found));
  return amped_file_lock_take(path, lock);
}

void amped_ranking_report_unlearnt(const amped_predictor *p, int mode) {
  const amped_ktensor *k = p->k;
  char name[128];
  uint64_t count = 0;
  for (uint64_t i = 0; i < k->dims[mode]; i++)
    count += !amped_predictor_knows(p, mode, i);
  if (count > 0)
    amped_note("%s: %" PRIu64 " of %" PRIu64
               " indices have no learnt entry, so they are in no list",
               amped_format_mode(name, sizeof name, mode, &k->labels[mode]), count, k->dims[mode]);
}

bool amped_ranking_report_faint(const char *path, const amped_ktensor *k, const amped_completion *c,
                                const char *what, bool by_biases) {
  if (!amped_completion_is_additive(c, k))
    return false;
  if (c->order == 0)
    amped_warn("%s: its components are zero, so that its %s mean nothing; decompose with a smaller "
               "penalty or another --seed",
               path, what);
  else if (by_biases && c->biased)
    amped_warn("%s: its components are almost zero: biases alone rank, so that all %s are nearly "
               "the same; complete with a smaller --reg or a larger --rank, unless its values are "
               "all equal",
               path, what);
  else
    amped_warn("%s: its components are almost zero, so that its %s mean little; complete with a "
               "smaller --reg or a larger --rank, unless its values are all equal",
               path, what);
  return true;
}

/* Workspace of a report. */
typedef struct work {
  const amped_ranking_report *r;
  amped_json *json;
  amped_table_ranking *table; /* NULL: text */
  amped_best_item *items;     /* best items of a block of indices */
  uint64_t *counts;
  uint64_t paragraphs, served;
} work;

/* Digits in which the values of a list differ. */
static int digits_of(const amped_best_item *items, uint64_t count) {
  double least = items[0].value;
  double most = items[0].value;
  for (uint64_t i = 1; i < count; i++) {
    least = fmin(least, items[i].value);
    most = fmax(most, items[i].value);
  }
  const double size = fmax(fabs(least), fabs(most));
  const double more = most > least ? ceil(log10(size / (most - least))) : 0.0;
  return DIGITS + (int)fmax(fmin(more, MOST_DIGITS - DIGITS), 0.0);
}

static void say_index(work *w, uint64_t index, const amped_best_item *items, uint64_t count) {
  const amped_ranking_report *r = w->r;
  const int digits = count > 0 ? digits_of(items, count) : DIGITS;
  char label[LABEL_BYTES];
  if (w->paragraphs++ > 0)
    amped_say("%s", "");
  amped_say("%s", amped_label_text(&r->labels[r->target], index, label, sizeof label));
  for (uint64_t i = 0; i < count; i++)
    amped_say("  %4" PRIu64 "  %12.*g  %s", i + 1, digits, items[i].value,
              amped_label_text(&r->labels[r->of], items[i].index, label, sizeof label));
}

static amped_status write_index(const work *w, uint64_t index, const amped_best_item *items,
                                uint64_t count) {
  const amped_ranking_report *r = w->r;
  amped_facts f;
  amped_facts item;
  amped_facts_begin(&f, r->o->command->name);
  amped_fact_json(&f, "index", amped_json_count(index));
  amped_fact_json(&f, "label", amped_json_label(&r->labels[r->target], index));
  amped_fact_json(&f, r->list, json_array());
  for (uint64_t i = 0; i < count; i++) {
    amped_facts_begin(&item, NULL);
    amped_fact_json(&item, "index", amped_json_count(items[i].index));
    amped_fact_json(&item, "label", amped_json_label(&r->labels[r->of], items[i].index));
    amped_fact_json(&item, "value", amped_json_number(items[i].value));
    amped_facts_row(&f, r->list, &item);
  }
  return amped_facts_write(&f, w->json);
}

static amped_status tell_index(work *w, uint64_t index, const amped_best_item *items,
                               uint64_t count) {
  const amped_ranking *ranking = w->r->ranking;
  if (w->r->known_only && !amped_predictor_knows(ranking->p, ranking->target, index))
    return AMPED_OK;
  w->served += count > 0;
  if (w->table == NULL)
    say_index(w, index, items, count);
  for (uint64_t i = 0; i < count && w->table != NULL; i++)
    AMPED_TRY(amped_table_ranking_row(w->table, index, i + 1, items[i].index, items[i].value));
  return w->json != NULL ? write_index(w, index, items, count) : AMPED_OK;
}

static amped_status rank_all(work *w) {
  const amped_ranking_report *r = w->r;
  const uint64_t block = amped_ranking_block(r->ranking);
  const uint64_t most = r->ranking->most;
  AMPED_TRY(amped_alloc(&w->items, block * most, sizeof *w->items, "the best values"));
  AMPED_TRY(amped_alloc(&w->counts, block, sizeof *w->counts, "the best values"));
  for (uint64_t first = r->first; first < r->end; first += block) {
    const uint64_t count = r->end - first < block ? r->end - first : block;
    AMPED_TRY(amped_ranking_find(r->ranking, first, count, w->items, w->counts));
    for (uint64_t i = 0; i < count; i++)
      AMPED_TRY(tell_index(w, first + i, w->items + i * most, w->counts[i]));
    amped_heartbeat_step();
  }
  return AMPED_OK;
}

amped_status amped_ranking_report_write(const amped_ranking_report *r, amped_json *json,
                                        uint64_t *served) {
  work w = {.r = r, .json = json};
  amped_status status = AMPED_OK;
  if (r->o->output != NULL)
    AMPED_GO(done, amped_table_ranking_create(r->o->output, r->labels, r->target, r->of, &w.table));
  AMPED_GO(done, rank_all(&w));
  amped_table_ranking *complete = w.table;
  w.table = NULL;
  status = complete != NULL ? amped_table_ranking_finish(complete) : AMPED_OK;
done:
  amped_table_ranking_discard(w.table);
  amped_free(w.items);
  amped_free(w.counts);
  *served = w.served;
  return status;
}
