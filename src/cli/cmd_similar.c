/* similar: ranks the labels of a mode by the cosine of their rows with a label's row. */
#include <math.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/model_mode.h"
#include "cli/model_outputs.h"
#include "cli/ranking_report.h"
#include "cli/result_argument.h"
#include "base/json.h"
#include "base/mem.h"
#include "formats/completion_file.h"
#include "tensor/format.h"
#include "tensor/ranking.h"

/* A component of a smaller weight, as a share of the largest one, has vanished from the model. */
#define FAINT 1e-3

/* Cosines are the values of a model of order 2, both factors of which are the rows at unit length.
 * So the ranking of recommend finds them. */
typedef struct job {
  const amped_options *o;
  amped_ktensor k; /* the result */
  amped_completion c;
  amped_predictor p;
  int mode;
  uint64_t first, end;    /* range of labels to serve */
  amped_ktensor rows;     /* the model of order 2; its factors are one array */
  amped_completion known; /* rows that count in that model */
  amped_predictor pairs;
  uint64_t *seen_begin, *seen; /* each label itself, which is not in its own list */
} job;

static amped_status find_labels(job *j) {
  const amped_model_mode by = {.path = j->o->args[0], .k = &j->k, .option = "--for"};
  const char *label = NULL;
  AMPED_TRY(amped_model_mode_split(&by, j->o->recommend.target, &j->mode, &label));
  j->first = 0;
  j->end = j->k.dims[j->mode];
  if (label == NULL)
    return AMPED_OK;
  AMPED_TRY(amped_model_mode_index(&by, j->mode, label, &j->first));
  j->end = j->first + 1;
  return AMPED_OK;
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* Multiply a row by the weights, if these count. A factor of a power of two, which does not change
 * cosines, keeps squares from overflow and underflow. */
static void weigh(const job *j, double *row) {
  double most = 0.0;
  int exponent = 0;
  for (int r = 0; r < j->k.ncomps; r++) {
    row[r] *= j->o->similar.weighted ? j->k.weights[r] : 1.0;
    most = fmax(most, fabs(row[r]));
  }
  (void)frexp(most, &exponent);
  for (int r = 0; r < j->k.ncomps; r++)
    row[r] = ldexp(row[r], -exponent);
}

/* Give each row of the mode unit length. *zeros = learnt rows of zeros, which have no direction. */
static amped_status scale_rows(job *j, uint64_t *zeros) {
  const uint64_t n = (uint64_t)j->k.ncomps;
  char name[128];
  for (uint64_t i = 0; i < j->k.dims[j->mode]; i++) {
    double *row = j->rows.factors[0] + i * n;
    double squares = 0.0;
    weigh(j, row);
    for (uint64_t r = 0; r < n; r++)
      squares += row[r] * row[r];
    if (!isfinite(squares))
      return amped_error(AMPED_FAILED, j->o->args[0],
                         "a row of %s has an entry that is not finite, or too large for its "
                         "weight; leave out --weighted, or make the result again",
                         amped_format_mode(name, sizeof name, j->mode, &j->k.labels[j->mode]));
    const bool learnt = amped_predictor_knows(&j->p, j->mode, i);
    *zeros += learnt && squares == 0.0;
    j->known.observed[0][i] = j->known.observed[1][i] = learnt && squares > 0.0;
    for (uint64_t r = 0; r < n; r++)
      row[r] /= squares > 0.0 ? sqrt(squares) : 1.0;
  }
  return AMPED_OK;
}

static amped_status make_rows(job *j, uint64_t *zeros) {
  const uint64_t dim = j->k.dims[j->mode];
  const uint64_t n = (uint64_t)j->k.ncomps;
  const uint64_t dims[2] = {dim, dim};
  for (uint64_t i = 0; i < dim; i++)
    if (!amped_predictor_knows(&j->p, j->mode, i)) /* its row is a mean of others */
      memset(j->k.factors[j->mode] + i * n, 0, n * sizeof(double));
  /* Columns of a result of counts sum to 1; other programs write any length. */
  amped_ktensor_normalise(&j->k, ~(UINT64_C(1) << j->mode), NULL);
  j->rows = (amped_ktensor){.order = 2, .ncomps = j->k.ncomps, .dims = {dim, dim}};
  AMPED_TRY(amped_alloc(&j->rows.weights, n, sizeof(double), "rows"));
  for (uint64_t r = 0; r < n; r++)
    j->rows.weights[r] = 1.0;
  AMPED_TRY(amped_alloc(&j->rows.factors[0], dim * n, sizeof(double), "rows"));
  j->rows.factors[1] = j->rows.factors[0];
  memcpy(j->rows.factors[0], j->k.factors[j->mode], dim * n * sizeof(double));
  AMPED_TRY(amped_completion_create(&j->known, 2, dims, false));
  AMPED_TRY(amped_completion_begin_observed(&j->known));
  AMPED_TRY(scale_rows(j, zeros));
  AMPED_TRY(amped_alloc(&j->seen_begin, dim + 1, sizeof *j->seen_begin, "the labels"));
  AMPED_TRY(amped_alloc(&j->seen, dim, sizeof *j->seen, "the labels"));
  for (uint64_t i = 0; i <= dim; i++)
    j->seen_begin[i] = i;
  for (uint64_t i = 0; i < dim; i++)
    j->seen[i] = i;
  return amped_predictor_create(&j->rows, &j->known, &j->pairs);
}

/* ---- reports -------------------------------------------------------------------------------- */

/* Refuse one label whose row cannot be compared. */
static amped_status refuse_unknown(const job *j) {
  char label[256];
  char name[128];
  const amped_labels *labels = &j->k.labels[j->mode];
  if (j->end - j->first > 1 || amped_predictor_knows(&j->pairs, 0, j->first))
    return AMPED_OK;
  return amped_error(AMPED_BAD_INPUT, j->o->args[0],
                     "--for: %s of %s has %s, so nothing is similar to it; name another label",
                     amped_label_text(labels, j->first, label, sizeof label),
                     amped_format_mode(name, sizeof name, j->mode, labels),
                     amped_predictor_knows(&j->p, j->mode, j->first) ? "a row of zeros"
                                                                     : "no learnt entry");
}

/* Count the labels that are in no list. */
static void say_left_out(const job *j, uint64_t zeros) {
  char name[128];
  amped_ranking_report_unlearnt(&j->p, j->mode);
  if (zeros > 0)
    amped_note("%s: %" PRIu64 " of %" PRIu64 " indices have a row of zeros, so they are in no list",
               amped_format_mode(name, sizeof name, j->mode, &j->k.labels[j->mode]), zeros,
               j->k.dims[j->mode]);
}

/* Warn if components with nearly no weight decide cosines: columns have unit length, whatever the
 * weights of their components are. */
static void warn_of_faint(const job *j) {
  const char *model = j->o->args[0];
  double most = 0.0;
  int faint = 0;
  for (int r = 0; r < j->k.ncomps; r++)
    most = fmax(most, fabs(j->k.weights[r]));
  for (int r = 0; r < j->k.ncomps; r++)
    faint += fabs(j->k.weights[r]) < FAINT * most;
  if (amped_ranking_report_faint(model, &j->k, &j->c, "cosines", false))
    return;
  if (faint > 0 && !j->o->similar.weighted)
    amped_warn("%s: %d of its %d components have less than %g of the largest weight, and count in "
               "a cosine as much as the others; add --weighted, or make a result of a smaller "
               "--rank",
               model, faint, j->k.ncomps, FAINT);
}

/* ---- the command ---------------------------------------------------------------------------- */

static amped_status rank_all(const job *j, amped_json *json) {
  const uint64_t dim = j->k.dims[j->mode];
  const uint64_t number = (uint64_t)j->o->top;
  const amped_ranking ranking = {.path = j->o->args[0],
                                 .p = &j->pairs,
                                 .target = 0,
                                 .of = 1,
                                 .most = number < dim ? number : dim,
                                 .seen_begin = j->seen_begin,
                                 .seen = j->seen};
  const amped_ranking_report report = {.o = j->o,
                                       .list = "similar",
                                       .labels = j->k.labels,
                                       .target = j->mode,
                                       .of = j->mode,
                                       .ranking = &ranking,
                                       .first = j->first,
                                       .end = j->end,
                                       .known_only = true};
  uint64_t served = 0;
  AMPED_TRY(amped_ranking_report_write(&report, json, &served));
  if (j->o->output != NULL)
    amped_say("wrote what is similar to %" PRIu64 " label%s to %s", served, served == 1 ? "" : "s",
              amped_ranking_report_name(j->o));
  return AMPED_OK;
}

static amped_status steps(job *j, amped_json *json) {
  const char *model = j->o->args[0];
  uint64_t zeros = 0;
  AMPED_TRY(amped_result_argument_read("similar", model, &j->k));
  AMPED_TRY(amped_completion_file_read(model, j->k.order, j->k.dims, true, &j->c));
  AMPED_TRY(find_labels(j));
  AMPED_TRY(amped_predictor_create(&j->k, &j->c, &j->p));
  AMPED_TRY(make_rows(j, &zeros));
  AMPED_TRY(refuse_unknown(j));
  say_left_out(j, zeros);
  if (j->k.ncomps == 1)
    amped_warn("%s: has one component, so that every cosine is 1 or -1; make a result of a larger "
               "--rank",
               model);
  warn_of_faint(j);
  return rank_all(j, json);
}

amped_status amped_cmd_similar(const amped_options *o) {
  job j = {.o = o};
  amped_model_outputs outputs;
  AMPED_TRY(amped_model_outputs_open(o, "similar labels are", &outputs));
  const amped_status status = amped_model_outputs_close(&outputs, steps(&j, outputs.json));
  j.rows.factors[1] = NULL; /* the same array as factor 0 */
  amped_free(j.seen_begin);
  amped_free(j.seen);
  amped_predictor_free(&j.pairs);
  amped_completion_free(&j.known);
  amped_ktensor_free(&j.rows);
  amped_predictor_free(&j.p);
  amped_completion_free(&j.c);
  amped_ktensor_free(&j.k);
  return status;
}
