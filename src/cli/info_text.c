/* Facts about several kinds of files, for info. */
#include "cli/info_text.h"

#include <float.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>

#include "tensor/form.h"
#include "tensor/format.h"

static json_t *form_name(bool dense) {
  return json_string(dense ? "dense" : "sparse");
}

void amped_info_norm(amped_facts *f, double norm_squared, uint64_t nnz) {
  const double norm = sqrt(norm_squared);
  const bool small = nnz > 0 && norm_squared < DBL_MIN / DBL_EPSILON;
  if (isfinite(norm) && !small)
    amped_fact(f, "norm", amped_json_number(norm), "norm         %.9g\n", norm);
  else
    amped_fact(f, "norm", json_null(),
               "norm         none: the squares of the values %s; scale the values %s\n",
               small ? "are too small for all digits of a double"
                     : "add up to more than a double holds",
               small ? "up" : "down");
}

void amped_info_form(amped_facts *facts, double density) {
  amped_fact_words(facts, "form         %s\n", amped_form_text(density));
  amped_fact_json(facts, "faster", form_name(amped_form_dense_is_faster(density)));
  amped_fact_json(facts, "smaller", form_name(amped_form_dense_is_smaller(density)));
}

void amped_info_label_line(amped_facts *facts, int mode, const amped_labels *labels) {
  char name[128];
  char first[64];
  char last[64];
  const bool periods = labels->period != AMPED_PERIOD_NONE;
  if (labels->count > 0)
    amped_fact_words(facts, "labels %d     %s%s%s ... %s%s%s%s\n", mode + 1,
                     amped_format_name(name, sizeof name, labels), labels->name != NULL ? ": " : "",
                     amped_label_text(labels, 0, first, sizeof first),
                     amped_label_text(labels, labels->count - 1, last, sizeof last),
                     periods ? " (" : "", periods ? amped_period_word(labels->period) : "",
                     periods ? " of a time stamp)" : "");
}

void amped_info_labels(amped_facts *facts, int mode, const amped_labels *labels, uint64_t count) {
  const bool named = labels->name != NULL && *labels->name != '\0';
  amped_info_label_line(facts, mode, labels);
  amped_fact_item(facts, "mode_names", amped_json_string(named ? labels->name : NULL));
  amped_fact_item(facts, "labels", amped_json_count(count));
}

void amped_info_sealed(amped_facts *facts, bool sealed, const char *what) {
  amped_fact_json(facts, "content_hash", json_boolean(sealed));
  if (!sealed)
    amped_fact_words(facts, "             %s no content hash: only checksums protect them\n", what);
}
