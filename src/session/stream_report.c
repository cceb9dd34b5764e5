/* Lines and JSON of a stream: its state, each batch, and the end. */
#include "session/stream_report.h"

#include <stdio.h>
#include <math.h>
#include <string.h>

#include "base/facts.h"
#include "base/log.h"
#include "factor/exchange.h"
#include "session/report.h"
#include "solver/complete/entry_set.h"
#include "solver/stream/stream_published.h"
#include "tensor/format.h"
#include "tensor/mode_names.h"

/* Format one number per mode: "12, 0, 3". */
static const char *list_numbers(const uint64_t *numbers, int order, char *text, size_t size) {
  size_t at = 0;
  text[0] = '\0';
  for (int m = 0; m < order && at < size; m++)
    at += (size_t)snprintf(text + at, size - at, "%s%" PRIu64, m > 0 ? ", " : "", numbers[m]);
  return text;
}

/* JSON of the errors at some entries; null if there are none. */
static json_t *json_errors(const amped_errors *e) {
  amped_facts f;
  if (e->count == 0)
    return json_null();
  amped_facts_begin(&f, NULL);
  amped_fact_json(&f, "count", amped_json_count(e->count));
  amped_fact_json(&f, "rmse", amped_json_number(amped_errors_rmse(e)));
  amped_fact_json(&f, "clipped", amped_json_number(amped_errors_clipped_rmse(e)));
  amped_fact_json(&f, "mae", amped_json_number(e->absolute / (double)e->count));
  return f.json;
}

static json_t *json_state_errors(const amped_state_errors *e) {
  const amped_errors errors = {e->count, e->squares, e->absolute, e->clipped};
  return json_errors(&errors);
}

/* The way of rows, in words with -v. A published history has all rows in host memory. */
static void exchange_fact(const amped_session *session, const amped_state_head *head,
                          amped_facts *f) {
  const char *way =
      amped_exchange_describe(&session->comm, session->worker.backend->device_pointers &&
                                                  head->history != AMPED_HISTORY_PUBLISHED);
  amped_fact_json(f, "exchange", json_string(way));
  if (session->comm.nranks > 1 && amped_log_is_verbose())
    amped_fact_words(f, "exchange: %s\n", way);
  amped_report_way(session);
}

amped_status amped_stream_report_state(amped_session *session, const amped_state_head *head,
                                       const amped_state_file *file) {
  const amped_comm *comm = &session->comm;
  uint64_t device_bytes = 0;
  uint64_t host_bytes = 0;
  amped_stream_rows_require(&session->worker, head, comm->rank, comm->nranks, &device_bytes,
                            &host_bytes);
  host_bytes += amped_stream_published_bytes(head);
  const amped_spread host = amped_comm_spread(comm, (double)host_bytes);
  const amped_spread device = amped_comm_spread(comm, (double)device_bytes);
  uint64_t state = 0;
  uint64_t journal = 0;
  char text[192];
  amped_facts f;
  if (comm->rank == 0)
    amped_state_file_sizes(file, &state, &journal);
  amped_facts_begin(&f, "state");
  amped_fact_json(&f, "rank", json_integer(head->ncomps - (head->biased ? 1 : 0)));
  amped_fact_json(&f, "biased", json_boolean(head->biased));
  amped_fact_json(&f, "mean", amped_json_number(head->mean));
  amped_fact_json(&f, "scale", amped_json_number(head->scale));
  amped_fact_json(&f, "holdout", amped_json_number(head->holdout));
  amped_fact_json(&f, "history", json_string(amped_history_names[head->history]));
  amped_fact(&f, "batches", amped_json_count(head->batches), "state: %" PRIu64 " batch%s",
             head->batches, head->batches == 1 ? "" : "es");
  amped_fact(&f, "entries", amped_json_count(head->nnz), " of %" PRIu64 " entries", head->nnz);
  amped_fact(&f, "dims", amped_json_counts(head->dims, head->order), "; rows %s",
             list_numbers(head->dims, head->order, text, sizeof text));
  amped_fact(&f, "reg", amped_json_number(head->reg), "; reg %.4g", head->reg);
  amped_fact(&f, "forget", amped_json_number(head->forget), ", forget %g\n", head->forget);
  amped_fact_json(&f, "device_bytes", amped_json_count((uint64_t)device.max));
  amped_fact_json(&f, "host_bytes", amped_json_count((uint64_t)host.max));
  amped_fact_words(&f, "memory: %s of rows a rank at most%s, with room to grow",
                   amped_format_bytes(text, (uint64_t)(device.max > 0.0 ? device.max : host.max)),
                   device.max > 0.0 ? ", on its GPU" : "");
  amped_fact(&f, "state_bytes", amped_json_count(state), "; files: %s",
             amped_format_bytes(text, state));
  amped_fact(&f, "journal_bytes", amped_json_count(journal), " and a journal of %s\n",
             amped_format_bytes(text, journal));
  exchange_fact(session, head, &f);
  return amped_comm_agree(comm, amped_facts_write(&f, session->json));
}

/* Add errors, with an rmse such as ", held out 0.89"; null and nothing if there are no entries. */
static void errors_fact(amped_facts *f, const char *key, const char *name, const amped_errors *e) {
  char error[AMPED_ERROR_TEXT];
  amped_fact_json(f, key, json_errors(e));
  if (e->count > 0)
    amped_fact_words(f, ", %s %s", name, amped_format_error(error, amped_errors_rmse(e)));
}

static void sums_facts(const amped_state_head *h, amped_facts *f) {
  amped_facts sums;
  amped_facts_begin(&sums, NULL);
  amped_fact_json(&sums, "before", json_state_errors(&h->errors[AMPED_STATE_BEFORE]));
  amped_fact_json(&sums, "after", json_state_errors(&h->errors[AMPED_STATE_AFTER]));
  amped_fact_json(&sums, "held_out", json_state_errors(&h->errors[AMPED_STATE_HELD]));
  amped_facts_take(f, "sums", &sums);
}

/* The order of modes; if it is random, of each sweep. */
static void order_facts(const amped_learnt *l, amped_facts *f) {
  int modes[AMPED_MAX_ORDER];
  uint64_t numbers[AMPED_MAX_ORDER];
  amped_fact_json(f, "order", json_string(l->order.random ? "random" : "cyclic"));
  for (int s = 0; s < l->sweeps && l->order.random; s++) {
    amped_mode_order_of(&l->order, (uint64_t)s, modes);
    for (int m = 0; m < l->order.count; m++)
      numbers[m] = (uint64_t)modes[m];
    amped_fact_item(f, "orders", amped_json_counts(numbers, l->order.count));
  }
}

/* Cells of the batch that were compared with earlier ones, and how many were known. */
static void cells_facts(const amped_known_cells *cells, amped_facts *f) {
  amped_facts part;
  amped_facts_begin(&part, NULL);
  amped_fact_json(&part, "compared", amped_json_count(cells->compared));
  amped_fact_json(&part, "repeated", amped_json_count(cells->known));
  amped_fact_json(&part, "same", amped_json_count(cells->same));
  amped_facts_take(f, "cells", &part);
}

/* Rows of a mode that are new, or were there, but had learnt nothing. */
static uint64_t new_rows(const amped_stream_progress *t, int mode) {
  const amped_learnt *l = t->learnt;
  return t->batch->new_rows[mode] + (mode == l->growing ? l->first : l->firsts[mode]);
}

static void counts_facts(const amped_stream_progress *t, amped_facts *f) {
  const amped_learnt *l = t->learnt;
  const amped_state_head *h = t->head;
  const amped_count_words words = {.first = "", .next = "", .unnamed = " of"};
  uint64_t rows[AMPED_MAX_ORDER];
  uint64_t unlearnt[AMPED_MAX_ORDER] = {0}; /* rows of the state, of which it had learnt nothing */
  uint64_t all_unlearnt = 0;
  char text[AMPED_COUNTS_TEXT];
  for (int m = 0; m < h->order; m++) {
    rows[m] = new_rows(t, m);
    unlearnt[m] = rows[m] - t->batch->new_rows[m];
    all_unlearnt += unlearnt[m];
  }
  amped_fact(f, "batch", amped_json_count(h->batches), "batch %" PRIu64, h->batches);
  amped_fact(f, "name", amped_json_string(t->batch->name), "  %s", t->batch->name);
  amped_fact_json(f, "known", amped_json_count(t->batch->known));
  cells_facts(t->cells, f);
  amped_fact_json(f, "learnt", amped_json_count(l->learnt));
  amped_fact_json(f, "held", amped_json_count(l->held));
  amped_fact_json(f, "dropped", amped_json_count(l->dropped));
  amped_fact_words(f, ": %" PRIu64 " entries", l->learnt + l->held + l->dropped);
  amped_fact_json(f, "dims", amped_json_counts(h->dims, h->order));
  (void)amped_format_counts(text, h->order, t->labels, rows, &words);
  amped_fact(f, "new_rows", amped_json_counts(rows, h->order), "; %s%s",
             *text != '\0' ? "new rows: " : "no new rows", text);
  if (all_unlearnt > 0)
    amped_fact_words(f, " (%" PRIu64 " of them %s in the state, without a learnt entry)",
                     all_unlearnt, all_unlearnt == 1 ? "was" : "were");
  amped_fact_json(f, "unlearnt_rows", amped_json_counts(unlearnt, h->order));
  amped_fact_json(f, "touched", amped_json_counts(l->touched, h->order));
  order_facts(l, f);
  amped_fact_json(f, "growing", l->growing >= 0 ? json_integer(l->growing) : json_null());
}

/* The names of the modes with new rows, except the mode that grows: "user or item". */
static const char *list_new(const amped_stream_progress *t, char *text, size_t size) {
  char name[128];
  size_t at = 0;
  text[0] = '\0';
  for (int m = 0; m < t->head->order && at < size; m++)
    if (m != t->learnt->growing && new_rows(t, m) > 0) {
      if (amped_labels_are_named(&t->labels[m]))
        (void)amped_format_name(name, sizeof name, &t->labels[m]);
      else
        (void)snprintf(name, sizeof name, "index of mode %d", m + 1);
      at += (size_t)snprintf(text + at, size - at, "%s%s", at > 0 ? " or " : "", name);
    }
  return text;
}

/* The two parts of the errors before the batch: at entries of known rows, and of new ones. Without
 * entries of new rows there are no words. */
static void forecast_facts(const amped_stream_progress *t, amped_facts *f) {
  const amped_errors *known = &t->learnt->before_known;
  const amped_errors *new = &t->learnt->before_new;
  char text[AMPED_ERROR_TEXT];
  char names[AMPED_MODES_TEXT];
  amped_fact_json(f, "before_known", json_errors(known));
  amped_fact_json(f, "before_new", json_errors(new));
  if (new->count == 0)
    return;
  amped_fact_words(f, "; before:");
  if (known->count > 0)
    amped_fact_words(f, " %s at %" PRIu64 " entries of known rows,",
                     amped_format_error(text, amped_errors_rmse(known)), known->count);
  amped_fact_words(f, " %s at %" PRIu64 " with a new %s",
                   amped_format_error(text, amped_errors_rmse(new)), new->count,
                   list_new(t, names, sizeof names));
}

static void errors_facts(const amped_stream_progress *t, amped_facts *f) {
  const amped_learnt *l = t->learnt;
  char text[AMPED_ERROR_TEXT];
  amped_fact(f, "before", json_errors(&l->before), "; rmse %s before",
             amped_format_error(text, amped_errors_rmse(&l->before)));
  if (isfinite(t->head->least) || isfinite(t->head->most))
    amped_fact_words(f, " (%s clipped)",
                     amped_format_error(text, amped_errors_clipped_rmse(&l->before)));
  amped_fact(f, "after", json_errors(&l->after), ", %s after",
             amped_format_error(text, amped_errors_rmse(&l->after)));
  errors_fact(f, "held_out", "held out", &l->held_after);
  errors_fact(f, "all_held_out", "all held out so far", t->so_far);
  if (t->so_far->count > 0)
    amped_fact_words(f, " at %" PRIu64 " cells", t->so_far->count);
  forecast_facts(t, f);
  sums_facts(t->head, f);
}

/* Times that the line does not have. */
static void beside_facts(const amped_batch_times *t, amped_facts *f) {
  amped_facts part;
  amped_facts_begin(&part, NULL);
  amped_fact_json(&part, "entries", amped_json_number(t->entries));
  amped_fact_json(&part, "rows", amped_json_number(t->rows));
  amped_fact_json(&part, "plan", amped_json_number(t->plan));
  amped_fact_json(&part, "memory", amped_json_number(t->memory));
  amped_fact_json(&part, "copies", amped_json_number(t->copies));
  amped_fact_json(&part, "fits", amped_json_number(t->fits));
  amped_fact_json(&part, "start", amped_json_number(t->start));
  amped_fact_json(&part, "moves", amped_json_number(t->moves));
  amped_fact_json(&part, "end", amped_json_number(t->end));
  amped_facts_take(f, "seconds_beside", &part);
}

/* Collective. */
static void times_facts(const amped_comm *comm, const amped_stream_progress *t, amped_facts *f) {
  enum { PARTS = 5, TOTAL = PARTS, SWEEP, TIMES };
  static const char *const names[PARTS] = {"load", "rows", "exchange", "errors", "write"};
  const amped_learnt *l = t->learnt;
  const double times[TIMES] = {l->load_sec,  l->rows_sec,  l->exchange_sec, l->evaluate_sec,
                               t->write_sec, t->total_sec, l->sweep_sec};
  amped_spread s[TIMES];
  amped_facts part;
  amped_comm_spreads(comm, TIMES, times, s);
  amped_fact(f, "seconds", amped_json_number(s[TOTAL].max), "  %.4f s (", s[TOTAL].max);
  amped_facts_begin(&part, NULL);
  for (int i = 0; i < PARTS; i++)
    amped_fact(&part, names[i], amped_json_number(s[i].mean), "%s%s %.4f", i > 0 ? ", " : "",
               names[i], amped_report_part(s[i].mean));
  amped_facts_take(f, "seconds_of", &part);
  amped_fact(f, "sweep_seconds", amped_json_number(s[SWEEP].max), "; a sweep %.4g ms)\n",
             1e3 * s[SWEEP].max);
  beside_facts(&l->times, f);
}

/* Say how many entries of a file are left out, because the state has them. */
static void tell_known(const amped_stream_progress *t) {
  const amped_source_batch *b = t->batch;
  char learns[96] = "";
  if (b->known + b->unlearnt.nnz == 0)
    return;
  if (b->unlearnt.nnz > 0)
    (void)snprintf(learns, sizeof learns,
                   "; %" PRIu64 " had weight 0 in the first fit and are learnt now",
                   b->unlearnt.nnz);
  amped_say("%s: %s; %" PRIu64 " of its %" PRIu64
            " entries were learnt before%s and are left out%s",
            b->name, b->begins ? "begins with earlier batches" : "is a snapshot", b->known,
            b->known + b->unlearnt.nnz + b->nnz,
            b->mixed ? ", or had weight 0 in the first fit," : "", learns);
}

amped_status amped_stream_report_batch(amped_session *session, const amped_stream_progress *t) {
  amped_facts f;
  amped_facts_begin(&f, "batch");
  counts_facts(t, &f);
  errors_facts(t, &f);
  amped_fact_json(&f, "state_bytes", amped_json_count(t->state_bytes));
  amped_fact_json(&f, "journal_bytes", amped_json_count(t->journal_bytes));
  times_facts(&session->comm, t, &f);
  tell_known(t);
  if (t->learnt->dropped > 0)
    amped_say("%s: %" PRIu64 " entries within the old dimensions are dropped, because "
              "--history=published learns only new indices",
              t->batch->name, t->learnt->dropped);
  return amped_comm_agree(&session->comm, amped_facts_write(&f, session->json));
}

amped_status amped_stream_report_skipped(amped_session *session, const amped_source_batch *batch,
                                         uint64_t number, const amped_state_batch *earlier) {
  amped_facts f;
  if (earlier->hash == batch->hash)
    amped_say("%s was learnt before, as batch %" PRIu64 " (%s); it is skipped", batch->name, number,
              earlier->name);
  else if (batch->same_as == number && batch->begins)
    amped_say("%s has the entries of earlier batches, of which %" PRIu64
              " is the last; it is skipped",
              batch->name, number);
  else if (batch->same_as == number)
    amped_say("%s has the entries of batches 1 to %" PRIu64 ", which were learnt; it is skipped",
              batch->name, number);
  else
    amped_warn(
        "%s was learnt before, as batch %" PRIu64 ", with %" PRIu64 " entries, and has %" PRIu64
        " now; it is skipped, as the old entries would count twice; stream late entries as a "
        "file of their own, unless you did",
        batch->name, number, earlier->nnz, batch->nnz);
  if (batch->unlearnt.nnz > 0)
    amped_warn(
        "%s: %" PRIu64
        " of its entries had weight 0 in the first fit and are not learnt; a snapshot with "
        "more entries learns them, or a file of their own, after which snapshots are refused",
        batch->name, batch->unlearnt.nnz);
  amped_facts_begin(&f, "skipped");
  amped_fact_json(&f, "name", amped_json_string(batch->name));
  amped_fact_json(&f, "batch", amped_json_count(number));
  return amped_comm_agree(&session->comm, amped_facts_write(&f, session->json));
}

amped_status amped_stream_report_end(amped_session *session, const amped_state_head *head,
                                     const amped_stream_counts *counts, double seconds) {
  amped_facts f;
  amped_facts_begin(&f, "end");
  amped_fact(&f, "learnt", amped_json_count(counts->learnt), "learnt %" PRIu64 " batch%s",
             counts->learnt, counts->learnt == 1 ? "" : "es");
  amped_fact_json(&f, "skipped", amped_json_count(counts->skipped));
  if (counts->skipped > 0)
    amped_fact_words(&f, ", %" PRIu64 " skipped", counts->skipped);
  amped_fact(&f, "batches", amped_json_count(head->batches), "; %s holds %" PRIu64 " batch%s",
             session->options->input, head->batches, head->batches == 1 ? "" : "es");
  amped_fact(&f, "entries", amped_json_count(head->nnz), " of %" PRIu64 " entries", head->nnz);
  amped_fact(&f, "seconds", amped_json_number(seconds), "; %.2f s\n", seconds);
  return amped_comm_agree(&session->comm, amped_facts_write(&f, session->json));
}
