/* Lines and JSON of a stream: its state, each batch, and the end. */
#include "session/stream_report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "session/report.h"
#include "solver/complete/entry_set.h"
#include "solver/stream/stream_published.h"
#include "tensor/format.h"

/* Format one number per mode: "12, 0, 3". */
static const char *list_numbers(const uint64_t *numbers, int order, char *text, size_t size) {
  size_t at = 0;
  text[0] = '\0';
  for (int m = 0; m < order && at < size; m++)
    at += (size_t)snprintf(text + at, size - at, "%s%" PRIu64, m > 0 ? ", " : "", numbers[m]);
  return text;
}

static json_t *json_numbers(const uint64_t *numbers, int order) {
  json_t *list = json_array();
  for (int m = 0; m < order; m++)
    (void)json_array_append_new(list, json_integer((json_int_t)numbers[m]));
  return list;
}

/* JSON of the errors at some entries; null if there are none. */
static json_t *json_errors(const amped_errors *e) {
  if (e->count == 0)
    return json_null();
  return json_pack("{s:I, s:o, s:o, s:o}", "count", (json_int_t)e->count, "rmse",
                   amped_json_number(amped_errors_rmse(e)), "clipped",
                   amped_json_number(amped_errors_clipped_rmse(e)), "mae",
                   amped_json_number(e->absolute / (double)e->count));
}

static json_t *json_state_errors(const amped_state_errors *e) {
  const amped_errors errors = {e->count, e->squares, e->absolute, e->clipped};
  return json_errors(&errors);
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
  char rows[192];
  char bytes[3][32];
  amped_status status = AMPED_OK;
  if (comm->rank == 0)
    amped_state_file_sizes(file, &state, &journal);
  amped_say("state: %" PRIu64 " batch%s of %" PRIu64 " entries; rows %s; reg %.4g, forget %g",
            head->batches, head->batches == 1 ? "" : "es", head->nnz,
            list_numbers(head->dims, head->order, rows, sizeof rows), head->reg, head->forget);
  amped_say("memory: %s of rows a rank at most%s, with room to grow; files: %s and a journal of %s",
            amped_format_bytes(bytes[0], (uint64_t)(device.max > 0.0 ? device.max : host.max)),
            device.max > 0.0 ? ", on its GPU" : "", amped_format_bytes(bytes[1], state),
            amped_format_bytes(bytes[2], journal));
  if (session->json != NULL)
    status = amped_json_line(
        session->json,
        json_pack("{s:s, s:I, s:I, s:o, s:i, s:b, s:f, s:f, s:f, s:f, s:f, s:s, s:I, s:I, s:I, "
                  "s:I}",
                  "event", "state", "batches", (json_int_t)head->batches, "entries",
                  (json_int_t)head->nnz, "dims", json_numbers(head->dims, head->order), "rank",
                  head->ncomps - (head->biased ? 1 : 0), "biased", head->biased ? 1 : 0, "mean",
                  head->mean, "scale", head->scale, "reg", head->reg, "forget", head->forget,
                  "holdout", head->holdout, "history", amped_history_names[head->history],
                  "device_bytes", (json_int_t)device.max, "host_bytes", (json_int_t)host.max,
                  "state_bytes", (json_int_t)state, "journal_bytes", (json_int_t)journal));
  return amped_comm_agree(comm, status);
}

/* Format an rmse: ", held out 0.89"; "" if there are no entries. */
static const char *error_text(const char *name, const amped_errors *e, char *text, size_t size) {
  char error[AMPED_ERROR_TEXT];
  text[0] = '\0';
  if (e->count > 0)
    (void)snprintf(text, size, ", %s %s", name, amped_format_error(error, amped_errors_rmse(e)));
  return text;
}

static void say_batch(const amped_stream_told *t, const amped_spread *s) {
  const amped_learnt *l = t->learnt;
  char rows[192];
  char held[64];
  char so_far[64];
  char before[AMPED_ERROR_TEXT];
  char after[AMPED_ERROR_TEXT];
  amped_say("batch %" PRIu64 "  %s: %" PRIu64 " entries; new rows %s; rmse %s before, %s "
            "after%s%s  %.4f s (load %.4f, rows %.4f, exchange %.4f, errors %.4f, write %.4f; a "
            "sweep %.4g ms)",
            t->head->batches, t->batch->name, l->learnt + l->held + l->dropped,
            list_numbers(t->batch->new_rows, t->head->order, rows, sizeof rows),
            amped_format_error(before, amped_errors_rmse(&l->before)),
            amped_format_error(after, amped_errors_rmse(&l->after)),
            error_text("held out", &l->held_after, held, sizeof held),
            error_text("all held out so far", t->so_far, so_far, sizeof so_far), s[5].max,
            amped_report_part(s[0].mean), amped_report_part(s[1].mean),
            amped_report_part(s[2].mean), amped_report_part(s[3].mean),
            amped_report_part(s[4].mean), 1e3 * s[6].max);
  if (l->dropped > 0)
    amped_say("%s: %" PRIu64 " entries within the old dimensions are dropped, because "
              "--history=published learns only new indices",
              t->batch->name, l->dropped);
}

static json_t *json_times(const amped_batch_times *t) {
  return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "entries", t->entries, "rows",
                   t->rows, "plan", t->plan, "memory", t->memory, "copies", t->copies, "fits",
                   t->fits, "start", t->start, "moves", t->moves, "end", t->end);
}

amped_status amped_stream_report_batch(amped_session *session, const amped_stream_told *t) {
  const amped_learnt *l = t->learnt;
  const amped_state_head *h = t->head;
  const double times[] = {l->load_sec,  l->rows_sec,  l->exchange_sec, l->evaluate_sec,
                          t->write_sec, t->total_sec, l->sweep_sec};
  amped_spread s[7];
  amped_status status = AMPED_OK;
  amped_comm_spreads(&session->comm, 7, times, s);
  say_batch(t, s);
  if (session->json != NULL)
    status = amped_json_line(
        session->json,
        json_pack(
            "{s:s, s:I, s:o, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:{s:o, s:o, "
            "s:o}, s:I, s:I, s:f, s:f, s:{s:f, s:f, s:f, s:f, s:f}, s:o}",
            "event", "batch", "batch", (json_int_t)h->batches, "name",
            amped_json_string(t->batch->name), "learnt", (json_int_t)l->learnt, "held",
            (json_int_t)l->held, "dropped", (json_int_t)l->dropped, "dims",
            json_numbers(h->dims, h->order), "new_rows", json_numbers(t->batch->new_rows, h->order),
            "touched", json_numbers(l->touched, h->order), "growing",
            l->growing >= 0 ? json_integer(l->growing) : json_null(), "before",
            json_errors(&l->before), "after", json_errors(&l->after), "held_out",
            json_errors(&l->held_after), "all_held_out", json_errors(t->so_far), "sums", "before",
            json_state_errors(&h->errors[AMPED_STATE_BEFORE]), "after",
            json_state_errors(&h->errors[AMPED_STATE_AFTER]), "held_out",
            json_state_errors(&h->errors[AMPED_STATE_HELD]), "state_bytes",
            (json_int_t)t->state_bytes, "journal_bytes", (json_int_t)t->journal_bytes, "seconds",
            s[5].max, "sweep_seconds", s[6].max, "seconds_of", "load", s[0].mean, "rows", s[1].mean,
            "exchange", s[2].mean, "errors", s[3].mean, "write", s[4].mean, "seconds_beside",
            json_times(&l->times)));
  return amped_comm_agree(&session->comm, status);
}

amped_status amped_stream_report_skipped(amped_session *session, const amped_source_batch *batch,
                                         uint64_t number, const amped_state_batch *earlier) {
  amped_status status = AMPED_OK;
  if (earlier->hash == batch->hash)
    amped_say("%s was learnt before, as batch %" PRIu64 " (%s); it is skipped", batch->name, number,
              earlier->name);
  else
    amped_warn(
        "%s was learnt before, as batch %" PRIu64 ", with %" PRIu64 " entries, and has %" PRIu64
        " now; it is skipped, as the old entries would count twice; stream late entries as a "
        "file of their own",
        batch->name, number, earlier->nnz, batch->nnz);
  if (session->json != NULL)
    status = amped_json_line(session->json, json_pack("{s:s, s:o, s:I}", "event", "skipped", "name",
                                                      amped_json_string(batch->name), "batch",
                                                      (json_int_t)number));
  return amped_comm_agree(&session->comm, status);
}

amped_status amped_stream_report_end(amped_session *session, const amped_state_head *head,
                                     const amped_stream_counts *counts, double seconds) {
  char skipped[48] = "";
  amped_status status = AMPED_OK;
  if (counts->skipped > 0)
    (void)snprintf(skipped, sizeof skipped, ", %" PRIu64 " skipped", counts->skipped);
  amped_say("learnt %" PRIu64 " batch%s%s; %s holds %" PRIu64 " of %" PRIu64 " entries; %.2f s",
            counts->learnt, counts->learnt == 1 ? "" : "es", skipped, session->options->input,
            head->batches, head->nnz, seconds);
  if (session->json != NULL)
    status = amped_json_line(
        session->json,
        json_pack("{s:s, s:I, s:I, s:I, s:I, s:f}", "event", "end", "learnt",
                  (json_int_t)counts->learnt, "skipped", (json_int_t)counts->skipped, "batches",
                  (json_int_t)head->batches, "entries", (json_int_t)head->nnz, "seconds", seconds));
  return amped_comm_agree(&session->comm, status);
}
