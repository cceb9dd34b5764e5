/* Label errors: the order of labels, their lines, and their table. */
#include "cli/label_errors.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tensor/format.h"
#include "text/io_table_write.h"

#define LABEL_BYTES 256

static const char what[] = "the errors of labels";

amped_status amped_label_errors_create(const amped_labels *labels, int mode, uint64_t dim,
                                       amped_label_errors *out) {
  amped_status status = AMPED_OK;
  *out = (amped_label_errors){.labels = labels, .mode = mode, .dim = dim};
  AMPED_GO(fail, amped_calloc(&out->of, dim, sizeof *out->of, what));
  AMPED_GO(fail, amped_alloc(&out->order, dim, sizeof *out->order, what));
  return AMPED_OK;
fail:
  amped_label_errors_free(out);
  return status;
}

void amped_label_errors_free(amped_label_errors *e) {
  amped_free(e->of);
  amped_free(e->order);
  memset(e, 0, sizeof *e);
}

typedef struct item {
  double rmse;
  uint64_t index;
} item;

static int largest_first(const void *a, const void *b) {
  const item *x = a;
  const item *y = b;
  if (x->rmse != y->rmse)
    return x->rmse > y->rmse ? -1 : 1;
  return (x->index > y->index) - (x->index < y->index);
}

amped_status amped_label_errors_sort(amped_label_errors *e) {
  item *items = NULL;
  AMPED_TRY(amped_alloc(&items, e->dim, sizeof *items, what));
  e->found = 0;
  for (uint64_t i = 0; i < e->dim; i++)
    if (e->of[i].count > 0)
      items[e->found++] = (item){amped_prediction_errors_rmse(&e->of[i]), i};
  qsort(items, e->found, sizeof *items, largest_first);
  for (uint64_t k = 0; k < e->found; k++)
    e->order[k] = items[k].index;
  amped_free(items);
  return AMPED_OK;
}

static void label_row(const amped_label_errors *e, uint64_t index, amped_facts *f) {
  char label[LABEL_BYTES];
  amped_facts row;
  const double rmse = amped_prediction_errors_rmse(&e->of[index]);
  amped_facts_begin(&row, NULL);
  amped_fact_json(&row, "index", amped_json_count(index));
  amped_fact(&row, "rmse", amped_json_number(rmse), "%12.6g", rmse);
  amped_fact(&row, "cells", amped_json_count(e->of[index].count), "  %8" PRIu64,
             e->of[index].count);
  amped_fact(&row, "label", amped_json_label(e->labels, index), "  %s",
             amped_label_text(e->labels, index, label, sizeof label));
  amped_facts_row(f, "labels", &row);
}

/* Cells that are in no row. */
static void unknown_facts(const amped_label_errors *e, const char *name, amped_facts *by) {
  const double rmse = amped_prediction_errors_rmse(&e->unknown);
  amped_fact_json(by, "unknown", amped_json_count(e->unknown.count));
  amped_fact_json(by, "rmse_unknown", amped_json_number(rmse));
  if (e->unknown.count > 0)
    amped_fact_words(by,
                     "%" PRIu64 " cells are in no row, as their label of %s is unknown to the "
                     "model or has no learnt entry: rmse %.6g\n",
                     e->unknown.count, name, rmse);
}

void amped_label_errors_facts(const amped_label_errors *e, uint64_t most, amped_facts *facts) {
  const uint64_t shown = e->found < most ? e->found : most;
  char name[128];
  amped_facts by;
  (void)amped_format_mode(name, sizeof name, e->mode, e->labels);
  amped_facts_begin(&by, NULL);
  amped_fact_json(&by, "mode", json_integer(e->mode));
  amped_fact_json(&by, "name", amped_json_mode_name(e->labels));
  amped_fact(&by, "found", amped_json_count(e->found),
             "%" PRIu64 " of the %" PRIu64 " labels of %s with cells, by rmse:\n", shown, e->found,
             name);
  amped_fact_words(&by, "        rmse     cells  label\n");
  amped_fact_json(&by, "labels", json_array());
  for (uint64_t k = 0; k < shown; k++)
    label_row(e, e->order[k], &by);
  unknown_facts(e, name, &by);
  amped_facts_take(facts, "by", &by);
}

amped_status amped_label_errors_write(const amped_label_errors *e, const char *path) {
  amped_table_errors *table = NULL;
  amped_status status = AMPED_OK;
  AMPED_TRY(amped_table_errors_create(path, e->labels, e->mode, &table));
  for (uint64_t k = 0; k < e->found && status == AMPED_OK; k++) {
    const amped_prediction_errors *of = &e->of[e->order[k]];
    status = amped_table_errors_row(table, e->order[k], of->count, amped_prediction_errors_rmse(of),
                                    amped_prediction_errors_mae(of));
  }
  if (status == AMPED_OK)
    return amped_table_errors_finish(table);
  amped_table_errors_discard(table);
  return status;
}
