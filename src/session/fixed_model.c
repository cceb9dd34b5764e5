/* Fixed model: modes, working lengths, Gram matrices of rows outside the tensor, the result. */
#include "session/fixed_model.h"

#include <cblas.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/facts.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/random.h"
#include "tensor/format.h"
#include "tensor/mode_names.h"

/* Rows whose products are added up at a time. */
#define ROWS 4096

static bool is_fixed(const amped_fixed_model *f, int mode) {
  return (f->modes >> mode & 1) != 0;
}

/* Components of the run, without a column of biases. */
static int components_of(const amped_session *session) {
  return session->plan.ncomps - (session->options->biased ? 1 : 0);
}

/* --- modes ------------------------------------------------------------------------------------ */

/* Rank 0: get the modes as bits. */
static amped_status choose_modes(const char *text, const amped_labels *labels, int order,
                                 uint64_t *modes) {
  bool chosen[AMPED_MAX_ORDER] = {false};
  int count = 0;
  *modes = 0;
  AMPED_TRY(amped_mode_list_find("--fix", text, labels, order, chosen));
  for (int m = 0; m < order; m++) {
    *modes |= (uint64_t)chosen[m] << m;
    count += chosen[m];
  }
  return count < order ? AMPED_OK
                       : amped_error(AMPED_USAGE, NULL,
                                     "--fix=%s fixes all %d modes and leaves nothing to fit; leave "
                                     "out a mode",
                                     text, order);
}

amped_status amped_fixed_model_find_modes(const amped_session *session, const char *text,
                                          const amped_labels *labels, uint64_t *modes) {
  const amped_comm *comm = &session->comm;
  amped_status status = AMPED_OK;
  *modes = 0;
  if (comm->rank == 0)
    status = choose_modes(text, labels, session->plan.order, modes);
  AMPED_TRY(amped_comm_agree(comm, status));
  amped_comm_broadcast(comm, modes, sizeof *modes);
  return AMPED_OK;
}

/* --- lengths ---------------------------------------------------------------------------------- */

/* by[r]: power of two that gives the factor's column r a length of 1/2 to 1. */
static void find_lengths(const amped_ktensor *k, int mode, double *by) {
  const uint64_t n = (uint64_t)k->ncomps;
  const double *factor = k->factors[mode];
  double most[AMPED_MAX_NCOMPS] = {0.0};
  double squares[AMPED_MAX_NCOMPS] = {0.0};
  for (uint64_t i = 0; i < k->dims[mode] * n; i++)
    most[i % n] = fmax(most[i % n], fabs(factor[i]));
  for (uint64_t i = 0; i < k->dims[mode] * n; i++)
    if (most[i % n] > 0.0)
      squares[i % n] += (factor[i] / most[i % n]) * (factor[i] / most[i % n]);
  for (uint64_t r = 0; r < n; r++) {
    int of_most = 0;
    int exponent = 0;
    const double part = frexp(most[r], &of_most);
    (void)frexp(part * sqrt(squares[r]), &exponent);
    by[r] = ldexp(1.0, -(of_most + exponent));
  }
}

static void scale_columns(amped_ktensor *k, int mode, const double *by) {
  const uint64_t n = (uint64_t)k->ncomps;
  for (uint64_t i = 0; i < k->dims[mode] * n; i++)
    k->factors[mode][i] *= by[i % n];
}

/* --- rows outside the tensor --------------------------------------------------------------- */

static double stored(amped_vtype type, double x) {
  return type == AMPED_F32 ? (double)(float)x : x;
}

static void add_products(uint64_t rows, int n, const double *buffer, double *gram) {
  if (rows > 0)
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, n, n, (int)rows, 1.0, buffer, n, buffer, n,
                1.0, gram, n);
}

/* Add the products of the kept rows that are not in `has`, scaled and rounded as in a run. */
static void add_rows(const amped_ktensor *kept, int mode, const double *by, const bool *has,
                     amped_vtype type, double *buffer, double *gram) {
  const uint64_t n = (uint64_t)kept->ncomps;
  uint64_t rows = 0;
  for (uint64_t i = 0; i < kept->dims[mode]; i++) {
    if (has[i])
      continue;
    for (uint64_t r = 0; r < n; r++)
      buffer[rows * n + r] = stored(type, kept->factors[mode][i * n + r] * by[r]);
    if (++rows == ROWS) {
      add_products(rows, (int)n, buffer, gram);
      rows = 0;
    }
  }
  add_products(rows, (int)n, buffer, gram);
}

/* Rank 0: the Gram matrix of mode's rows outside the tensor. */
static amped_status find_outside(const amped_session *session, int mode, amped_fixed_model *f) {
  const amped_ktensor *kept = &f->fix.kept;
  const uint64_t *places = f->fix.places[mode];
  const uint64_t n = (uint64_t)kept->ncomps;
  double *buffer = NULL;
  bool *has = NULL;
  amped_status status = amped_calloc(&has, kept->dims[mode], sizeof *has, "the rows of a model");
  if (status == AMPED_OK)
    status = amped_alloc(&buffer, ROWS * n, sizeof *buffer, "the rows of a model");
  if (status == AMPED_OK) {
    for (uint64_t i = 0; i < session->plan.dims[mode]; i++)
      has[places != NULL ? places[i] : i] = true;
    add_rows(kept, mode, f->by + (uint64_t)mode * n, has, session->options->precision, buffer,
             f->outside[mode]);
  }
  amped_free(buffer);
  amped_free(has);
  return status;
}

/* Collective; the status is agreed. Find these matrices on every rank. */
static amped_status share_outside(const amped_session *session, amped_fixed_model *f) {
  const amped_plan *plan = &session->plan;
  const uint64_t n = (uint64_t)plan->ncomps;
  amped_status status = AMPED_OK;
  for (int m = 0; m < plan->order; m++) {
    if (f->rows_outside[m] == 0)
      continue;
    AMPED_NEXT(status, amped_calloc(&f->outside[m], n * n, sizeof(double), "a Gram matrix"));
    if (session->comm.rank == 0)
      AMPED_NEXT(status, find_outside(session, m, f));
    status = amped_comm_agree(&session->comm, status);
    AMPED_TRY(status);
    amped_comm_broadcast(&session->comm, f->outside[m], n * n * sizeof(double));
  }
  return AMPED_OK;
}

/* Mark rows, given by index, at their positions. */
static void mark(const amped_plan *plan, int mode, const uint8_t *rows, uint8_t *out) {
  for (uint64_t i = 0; i < plan->dims[mode]; i++)
    out[amped_plan_position(plan, mode, i)] = rows[i];
}

/* Collective; the status is agreed. Mark rows that have learnt nothing on every rank. */
static amped_status share_unlearnt(const amped_session *session, amped_fixed_model *f) {
  const amped_plan *plan = &session->plan;
  amped_status status = AMPED_OK;
  for (int m = 0; m < plan->order && session->comm.rank == 0; m++)
    for (uint64_t i = 0; i < plan->dims[m] && f->fix.unlearnt[m] != NULL; i++)
      f->rows_unlearnt[m] += f->fix.unlearnt[m][i];
  amped_comm_broadcast(&session->comm, f->rows_unlearnt, sizeof f->rows_unlearnt);
  for (int m = 0; m < plan->order; m++) {
    const uint64_t rows = amped_plan_factor_rows(plan, m);
    if (f->rows_unlearnt[m] == 0)
      continue;
    status = amped_comm_agree(&session->comm,
                              amped_calloc(&f->unlearnt[m], rows, 1, "the rows of a model"));
    AMPED_TRY(status);
    if (session->comm.rank == 0)
      mark(plan, m, f->fix.unlearnt[m], f->unlearnt[m]);
    amped_comm_broadcast(&session->comm, f->unlearnt[m], rows);
  }
  return AMPED_OK;
}

/* Collective; the status is agreed. Find the products of fixed columns' multipliers on every rank.
 * vanishes: a product of 0 is a component that the model has lost. */
static amped_status share_scale(const amped_session *session, bool vanishes, amped_fixed_model *f) {
  const amped_plan *plan = &session->plan;
  const uint64_t n = (uint64_t)components_of(session);
  amped_status status = amped_alloc(&f->scale, n, sizeof(double), "the lengths of fixed columns");
  AMPED_TRY(amped_comm_agree(&session->comm, status));
  for (uint64_t r = 0; r < n && session->comm.rank == 0; r++) {
    f->scale[r] = 1.0;
    for (int m = 0; m < plan->order; m++)
      f->scale[r] *= is_fixed(f, m) ? f->by[(uint64_t)m * n + r] : 1.0;
    if (!isfinite(f->scale[r]) || (!vanishes && !isnormal(f->scale[r])))
      status = amped_error(AMPED_BAD_INPUT, session->options->init,
                           "component %" PRIu64 " of its fixed factors is too long or too short to "
                           "compute with; scale the columns, and the weights by the inverse",
                           r + 1);
  }
  AMPED_TRY(amped_comm_agree(&session->comm, status));
  amped_comm_broadcast(&session->comm, f->scale, n * sizeof *f->scale);
  return AMPED_OK;
}

/* --- reading ---------------------------------------------------------------------------------- */

static uint64_t hash_of(const amped_ktensor *kept) {
  uint64_t hash = 0;
  for (int m = 0; m < kept->order; m++) {
    const uint64_t count = kept->factors[m] != NULL ? kept->dims[m] * (uint64_t)kept->ncomps : 0;
    hash = amped_mix64(hash ^ count);
    for (uint64_t i = 0; i < count; i++) {
      uint64_t bits = 0;
      memcpy(&bits, &kept->factors[m][i], sizeof bits);
      hash = amped_mix64(hash ^ bits);
    }
  }
  return hash;
}

/* Rank 0: give columns lengths that fit in any precision. In free columns only the directions
 * count. */
static amped_status set_lengths(amped_fixed_model *f, amped_ktensor *start) {
  int exponents[AMPED_MAX_NCOMPS];
  const uint64_t n = (uint64_t)start->ncomps;
  AMPED_TRY(amped_alloc(&f->by, (uint64_t)start->order * n, sizeof *f->by,
                        "the lengths of fixed columns"));
  for (int m = 0; m < start->order; m++) {
    double *by = f->by + (uint64_t)m * n;
    if (is_fixed(f, m)) {
      find_lengths(&f->fix.kept, m, by);
      scale_columns(start, m, by);
    } else {
      amped_ktensor_balance_mode(start, m, exponents);
    }
  }
  for (uint64_t r = 0; r < n; r++)
    start->weights[r] = 1.0;
  return AMPED_OK;
}

/* Rank 0: read the file. */
static amped_status read_file(const amped_session *session, const amped_labels *labels,
                              amped_fixed_model *f, amped_ktensor *start, amped_completion *model) {
  AMPED_TRY(amped_init_file_read(session->options, &session->plan, labels, components_of(session),
                                 &f->fix, start, model));
  f->hash = hash_of(&f->fix.kept);
  if (model == NULL)
    return set_lengths(f, start);
  f->by = f->fix.by;
  f->fix.by = NULL;
  return AMPED_OK;
}

/* Report the fixed modes, their rows outside the tensor, and new rows of free modes. */
static amped_status tell(amped_session *session, const amped_labels *labels,
                         const amped_fixed_model *f) {
  const amped_plan *plan = &session->plan;
  const uint64_t *outside = f->rows_outside;
  const uint64_t *unlearnt = f->rows_unlearnt;
  char name[128];
  amped_facts facts;
  amped_facts_begin(&facts, "fix");
  for (int m = 0; m < plan->order; m++) {
    const bool fixed = is_fixed(f, m);
    (void)amped_format_mode(name, sizeof name, m, &labels[m]);
    if (fixed)
      amped_fact_words(&facts, "fixed: %s, %" PRIu64 " rows of %s", name,
                       plan->dims[m] + outside[m], session->options->init);
    if (outside[m] > 0)
      amped_fact_words(&facts, ", %" PRIu64 " of them not in the tensor", outside[m]);
    if (unlearnt[m] > 0)
      amped_fact_words(&facts,
                       "; %" PRIu64 " row%s in the tensor %s learnt nothing there: the mean of "
                       "the others stands for %s, as in predict",
                       unlearnt[m], unlearnt[m] == 1 ? "" : "s", unlearnt[m] == 1 ? "has" : "have",
                       unlearnt[m] == 1 ? "it" : "them");
    if (f->fix.fresh[m] > 0)
      amped_fact_words(&facts, "%s: %" PRIu64 " of %" PRIu64 " rows are new and begin at random",
                       name, f->fix.fresh[m], plan->dims[m]);
    if (fixed || f->fix.fresh[m] > 0)
      amped_fact_words(&facts, "\n");
    amped_fact_item(&facts, "fixed", json_boolean(fixed));
    amped_fact_item(&facts, "new_rows", amped_json_count(f->fix.fresh[m]));
    amped_fact_item(&facts, "rows_outside", amped_json_count(outside[m]));
    amped_fact_item(&facts, "rows_unlearnt", amped_json_count(unlearnt[m]));
  }
  amped_facts_say(&facts);
  return amped_facts_write(&facts, session->json);
}

static void set_key(int order, amped_fixed_model *f) {
  int used = snprintf(f->key, sizeof f->key, "modes");
  for (int m = 0; m < order; m++)
    if (is_fixed(f, m))
      used += snprintf(f->key + used, sizeof f->key - (size_t)used, " %d", m + 1);
  (void)snprintf(f->key + used, sizeof f->key - (size_t)used, " of %016" PRIx64, f->hash);
}

amped_status amped_fixed_model_read(amped_session *session, const amped_fixed_request *request,
                                    const amped_labels *labels, amped_fixed_model *f,
                                    amped_ktensor *start, amped_completion *model) {
  const amped_comm *comm = &session->comm;
  const amped_plan *plan = &session->plan;
  amped_status status = AMPED_OK;
  memset(f, 0, sizeof *f);
  memset(start, 0, sizeof *start);
  f->modes = request->modes;
  f->fix = (amped_init_fix){.modes = request->modes,
                            .nonnegative = request->nonnegative,
                            .seed = session->options->seed,
                            .whole = session->is_dense,
                            .context = request->context};
  if (comm->rank == 0)
    status = read_file(session, labels, f, start, model);
  AMPED_TRY(amped_comm_agree(comm, status));
  for (int m = 0; m < plan->order && comm->rank == 0; m++)
    f->rows_outside[m] = is_fixed(f, m) ? f->fix.kept.dims[m] - plan->dims[m] : 0;
  amped_comm_broadcast(comm, f->rows_outside, sizeof f->rows_outside);
  AMPED_TRY(share_unlearnt(session, f));
  for (int m = 0; m < plan->order; m++) /* checkpoints of earlier versions have other rows */
    if (f->rows_unlearnt[m] > 0)
      f->hash = amped_mix64(f->hash ^ f->rows_unlearnt[m]);
  amped_comm_broadcast(comm, &f->hash, sizeof f->hash);
  set_key(plan->order, f);
  AMPED_TRY(share_scale(session, model != NULL, f));
  if (request->outside)
    AMPED_TRY(share_outside(session, f));
  if (comm->rank == 0)
    status = tell(session, labels, f);
  return amped_comm_agree(comm, status);
}

/* --- use -------------------------------------------------------------------------------------- */

amped_fixed_modes amped_fixed_model_modes(const amped_fixed_model *f) {
  amped_fixed_modes out = {.modes = f->modes};
  for (int m = 0; m < AMPED_MAX_ORDER; m++) {
    out.outside[m] = f->outside[m];
    out.unlearnt[m] = f->unlearnt[m];
  }
  memcpy(out.rows_outside, f->rows_outside, sizeof out.rows_outside);
  out.scale = f->scale;
  return out;
}

static void negate_column(amped_ktensor *k, int mode, int column) {
  for (uint64_t i = 0; i < k->dims[mode]; i++)
    k->factors[mode][i * (uint64_t)k->ncomps + (uint64_t)column] *= -1.0;
}

void amped_fixed_model_lend(const amped_fixed_model *f, amped_ktensor *result) {
  int free_mode = 0;
  if (f->modes == 0)
    return;
  for (int m = 0; m < result->order; m++) {
    if (!is_fixed(f, m)) {
      free_mode = m;
      continue;
    }
    amped_free(result->factors[m]);
    result->factors[m] = f->fix.kept.factors[m];
    result->labels[m] = f->fix.kept.labels[m];
    result->dims[m] = f->fix.kept.dims[m];
  }
  for (int r = 0; r < result->ncomps; r++) {
    result->weights[r] *= fabs(f->scale[r]);
    if (f->scale[r] < 0.0)
      negate_column(result, free_mode, r);
  }
}

void amped_fixed_model_take_back(const amped_fixed_model *f, amped_ktensor *result) {
  for (int m = 0; m < result->order; m++)
    if (is_fixed(f, m)) {
      result->factors[m] = NULL;
      memset(&result->labels[m], 0, sizeof result->labels[m]);
    }
}

/* Put a copy of [count] elements in place of the array *to. */
static amped_status replace(const void *from, uint64_t count, uint64_t bytes, void **to) {
  void *copy = NULL;
  AMPED_TRY(amped_alloc(&copy, count, bytes, "a fixed factor"));
  if (from != NULL)
    memcpy(copy, from, count * bytes);
  else
    memset(copy, 1, count * bytes);
  amped_free(*to);
  *to = copy;
  return AMPED_OK;
}

/* A file that does not say which rows had entries has learnt all of them. */
static amped_status complete_mode(const amped_fixed_model *f, int mode, amped_completion *result) {
  const amped_completion *kept = &f->fix.kept_model;
  const uint64_t dim = f->fix.kept.dims[mode];
  void *bias = result->bias[mode];
  void *observed = result->observed[mode];
  amped_status status = AMPED_OK;
  result->dims[mode] = dim;
  if (result->biased)
    status = replace(kept->bias[mode], dim, sizeof(double), &bias);
  if (status == AMPED_OK)
    status = replace(kept->observed[mode], dim, 1, &observed);
  result->bias[mode] = bias;
  result->observed[mode] = observed;
  for (int r = 0; r < result->ncomps; r++)
    result->lengths[mode * result->ncomps + r] = fabs(f->by[mode * result->ncomps + r]);
  return status;
}

amped_status amped_fixed_model_complete(const amped_fixed_model *f, amped_completion *result) {
  for (int m = 0; m < result->order; m++)
    if (is_fixed(f, m))
      AMPED_TRY(complete_mode(f, m, result));
  return AMPED_OK;
}

void amped_fixed_model_free(amped_fixed_model *f) {
  amped_init_fix_free(&f->fix);
  amped_free(f->by);
  amped_free(f->scale);
  for (int m = 0; m < AMPED_MAX_ORDER; m++) {
    amped_free(f->outside[m]);
    amped_free(f->unlearnt[m]);
  }
  memset(f, 0, sizeof *f);
}
