/* Entry set: its entries, and errors by chunks of entries. */
#include "solver/complete/entry_set.h"

#include <math.h>
#include <string.h>

#include "base/buffers.h"
#include "base/mem.h"

/* Entries per chunk. */
#define CHUNK (UINT64_C(1) << 16)

static amped_buffers buffers(amped_entry_set *set, int order, uint64_t count) {
  amped_buffers b = {.what = "the entries of a file"};
  AMPED_BUFFER(&b, HOST, set->values, count);
  AMPED_BUFFER(&b, HOST, set->cells, count);
  AMPED_BUFFER(&b, ZEROED, set->trained, count);
  for (int m = 0; m < order; m++)
    AMPED_BUFFER(&b, HOST, set->positions[m], count);
  return b;
}

amped_status amped_entry_set_create(amped_entry_set *set, int order, uint64_t count) {
  *set = (amped_entry_set){.order = order, .count = count};
  const amped_status status = amped_buffers_allocate(buffers(set, order, count));
  if (status != AMPED_OK)
    amped_entry_set_free(set);
  return status;
}

void amped_entry_set_free(amped_entry_set *set) {
  amped_buffers_free(buffers(set, set->order, 0));
  memset(set, 0, sizeof *set);
}

void amped_entry_set_finish(const amped_context *context, amped_entry_set *set) {
  set->total = set->count;
  set->first = 0;
  amped_comm_sum_u64(context->comm, &set->total, 1);
  AMPED_MPI(context->comm,
            MPI_Exscan(&set->count, &set->first, 1, MPI_UINT64_T, MPI_SUM, context->comm->mpi));
  if (context->comm->rank == 0)
    set->first = 0;
}

/* Copy all entries of `from` to the entries at, at + 1, ... of `to`. */
static void copy_entries(const amped_entry_set *from, uint64_t at, amped_entry_set *to) {
  if (from->count == 0)
    return;
  for (int m = 0; m < from->order; m++)
    memcpy(to->positions[m] + at, from->positions[m], from->count * sizeof *to->positions[m]);
  memcpy(to->cells + at, from->cells, from->count * sizeof *to->cells);
  memcpy(to->trained + at, from->trained, from->count * sizeof *to->trained);
  memcpy(to->values + at, from->values, from->count * sizeof *to->values);
}

amped_status amped_entry_set_append(const amped_context *context, amped_entry_set *set,
                                    const amped_entry_set *more) {
  amped_entry_set both;
  const amped_status status = amped_comm_agree(
      context->comm, amped_entry_set_create(&both, more->order, set->count + more->count));
  if (status != AMPED_OK) {
    amped_entry_set_free(&both);
    return status;
  }
  copy_entries(set, 0, &both);
  copy_entries(more, set->count, &both);
  both.hash = set->hash + more->hash;
  both.given = set->given + more->given;
  for (int m = 0; m < more->order; m++)
    both.unknown[m] = set->unknown[m] + more->unknown[m];
  amped_entry_set_free(set);
  *set = both;
  amped_entry_set_finish(context, set);
  return AMPED_OK;
}

void amped_entry_set_train(const amped_context *context, amped_entry_set *set,
                           const amped_row_counts *counts) {
  for (int m = 0; m < context->plan->order; m++)
    for (uint64_t i = 0; i < set->count; i++)
      if (set->positions[m][i] != AMPED_NO_ROW && counts->all[m][set->positions[m][i]] > 0.0)
        set->trained[i] = (uint8_t)(set->trained[i] | 1U << m);
  memset(set->untrained, 0, sizeof set->untrained);
  for (int m = 0; m < context->plan->order; m++)
    for (uint64_t i = 0; i < set->count; i++)
      set->untrained[m] += !(set->trained[i] >> m & 1);
  amped_comm_sum_u64(context->comm, set->untrained, AMPED_MAX_ORDER);
}

amped_status amped_entry_set_find_untrained(const amped_context *context,
                                            const amped_entry_set *set,
                                            uint64_t *found[AMPED_MAX_ORDER]) {
  const amped_plan *plan = context->plan;
  amped_status status = AMPED_OK;
  memset(found, 0, AMPED_MAX_ORDER * sizeof *found);
  for (int m = 0; m < plan->order; m++)
    if (set->untrained[m] > 0)
      AMPED_NEXT(status, amped_calloc(&found[m], amped_plan_factor_rows(plan, m), sizeof *found[m],
                                      "the rows of held-out entries"));
  AMPED_TRY(amped_comm_agree(context->comm, status));
  for (int m = 0; m < plan->order; m++) {
    if (found[m] == NULL)
      continue;
    for (uint64_t i = 0; i < set->count; i++)
      if (set->positions[m][i] != AMPED_NO_ROW && !(set->trained[i] >> m & 1))
        found[m][set->positions[m][i]]++;
    amped_comm_sum_u64(context->comm, found[m], amped_plan_factor_rows(plan, m));
  }
  return AMPED_OK;
}

/* --- errors ----------------------------------------------------------------------------------- */

/* Traversal of a chunk of entries. */
typedef struct traversal {
  const amped_context *context;
  const amped_entry_set *set;
  const amped_row_fit *fit;
  const amped_fixed_modes *fixed;
  const amped_mean_rows *means;
  uint64_t *positions[AMPED_MAX_ORDER]; /* [CHUNK] rows; AMPED_NO_ROW: the mean row */
  double *models;                       /* [CHUNK] */
  bool *cold;                           /* [CHUNK] */
} traversal;

static amped_buffers traversal_buffers(traversal *w) {
  amped_buffers b = {.what = "rows of entries"};
  for (int m = 0; m < w->set->order; m++)
    AMPED_BUFFER(&b, HOST, w->positions[m], CHUNK);
  AMPED_BUFFER(&b, HOST, w->models, CHUNK);
  AMPED_BUFFER(&b, HOST, w->cold, CHUNK);
  return b;
}

/* Choose the rows of entry i of the chunk: its own, or the mean row. A row is known if it has
 * learnt something. A fixed row that has not is a mean row. */
static void choose_rows(traversal *w, uint64_t first, uint64_t i) {
  w->cold[i] = false;
  for (int m = 0; m < w->set->order; m++) {
    const uint64_t position = w->set->positions[m][first + i];
    const bool has_row = position != AMPED_NO_ROW;
    const bool known =
        has_row && amped_row_is_known(w->fixed, m, position, w->set->trained[first + i] >> m & 1);
    const bool own = known || (has_row && (w->means == NULL || amped_fixed_modes_has(w->fixed, m)));
    w->positions[m][i] = own ? position : AMPED_NO_ROW;
    w->cold[i] = w->cold[i] || !known;
  }
}

static void add_error(amped_errors *sum, double error, double clipped) {
  sum->count++;
  sum->squares += error * error;
  sum->absolute += fabs(error);
  sum->clipped += clipped * clipped;
}

static amped_status take_chunk(traversal *w, uint64_t first, uint64_t count, double least,
                               double most, amped_entry_errors *out) {
  const amped_worker *worker = w->context->worker;
  const double *none[AMPED_MAX_ORDER] = {NULL};
#pragma omp parallel for schedule(static)
  for (uint64_t i = 0; i < count; i++)
    choose_rows(w, first, i);
  AMPED_TRY(worker->backend->factors->models_at(
      worker->factors, count, (const uint64_t *const *)w->positions,
      w->means != NULL ? (const double *const *)w->means->rows : none, w->fit->biased, w->models));
  for (uint64_t i = 0; i < count; i++) {
    const double value = w->set->values[first + i];
    const double model = w->fit->mean + w->fit->scale * w->models[i];
    const double clipped = fmin(fmax(model, least), most);
    add_error(&out->all, value - model, value - clipped);
    if (w->cold[i])
      add_error(&out->cold, value - model, value - clipped);
  }
  return AMPED_OK;
}

void amped_errors_sum(const amped_comm *comm, amped_errors *e) {
  double all[] = {(double)e->count, e->squares, e->absolute, e->clipped};
  amped_comm_sum(comm, all, 4);
  *e = (amped_errors){(uint64_t)all[0], all[1], all[2], all[3]};
}

amped_status amped_entry_set_errors(const amped_context *context, const amped_entry_set *set,
                                    const amped_row_fit *fit, const amped_fixed_modes *fixed,
                                    const amped_mean_rows *means, double least, double most,
                                    amped_entry_errors *out) {
  traversal w = {.context = context, .set = set, .fit = fit, .fixed = fixed, .means = means};
  memset(out, 0, sizeof *out);
  amped_status status = amped_buffers_allocate(traversal_buffers(&w));
  for (uint64_t first = 0; first < set->count && status == AMPED_OK; first += CHUNK) {
    const uint64_t left = set->count - first;
    status = take_chunk(&w, first, left < CHUNK ? left : CHUNK, least, most, out);
  }
  amped_buffers_free(traversal_buffers(&w));
  AMPED_TRY(amped_comm_agree(context->comm, status));
  amped_errors_sum(context->comm, &out->all);
  amped_errors_sum(context->comm, &out->cold);
  return AMPED_OK;
}

double amped_errors_rmse(const amped_errors *e) {
  return e->count > 0 ? sqrt(e->squares / (double)e->count) : (double)NAN;
}

double amped_errors_clipped_rmse(const amped_errors *e) {
  return e->count > 0 ? sqrt(e->clipped / (double)e->count) : (double)NAN;
}
