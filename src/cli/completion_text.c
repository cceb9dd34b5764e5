/* Lines and JSON of a completion model, for info and top. */
#include "cli/completion_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/log.h"
#include "tensor/format.h"

/* The number of sweeps: the length of the longest list of errors. */
static uint64_t sweeps_of(const amped_completion *c) {
  uint64_t sweeps = 0;
  for (int s = 0; s < AMPED_COMPLETION_SETS; s++)
    sweeps = c->errors[s].count > sweeps ? c->errors[s].count : sweeps;
  return sweeps;
}

const char *amped_completion_errors_text(const amped_completion *c, char *buffer) {
  int used = 0;
  buffer[0] = '\0';
  for (int s = 0; s < AMPED_COMPLETION_SETS; s++) {
    const double error = amped_completion_error(c, s);
    if (!isnan(error))
      used += snprintf(buffer + used, AMPED_COMPLETION_TEXT - (size_t)used, "%s%.6g %s",
                       used > 0 ? ", " : "", error, amped_completion_set_names[s]);
  }
  if (used > 0)
    (void)snprintf(buffer + used, AMPED_COMPLETION_TEXT - (size_t)used,
                   " in the best sweep, %" PRIu64 " of %" PRIu64, c->best_sweep, sweeps_of(c));
  return buffer;
}

static void say_context(const amped_completion *c) {
  char text[8 * AMPED_MAX_ORDER] = "";
  int used = 0;
  int count = 0;
  for (int m = 0; m < c->order; m++)
    if (c->context[m]) {
      used +=
          snprintf(text + used, sizeof text - (size_t)used, "%s%d", used > 0 ? ", " : "", m + 1);
      count++;
    }
  if (count > 0)
    amped_say("context      mode%s %s", count == 1 ? "" : "s", text);
}

void amped_completion_say(const amped_completion *c, const char *metric) {
  char text[AMPED_COMPLETION_TEXT];
  amped_say("model        completion: mean %.9g, scale %.9g, %s biases", c->mean, c->scale,
            c->biased ? "with" : "without");
  amped_say("lambda       %.9g", c->reg);
  if (c->implicit > 0.0)
    amped_say("implicit     entries are ones of weight 1 + %.9g times their value, other cells "
              "zeros",
              c->implicit);
  say_context(c);
  if (c->holdout > 0.0)
    amped_say("held out     %.6g %% of the entries, seed %" PRIu64, 100.0 * c->holdout,
              c->split_seed);
  if (sweeps_of(c) > 0)
    amped_say("%-12s %s", metric, amped_completion_errors_text(c, text));
}

bool amped_completion_json(const amped_completion *c, json_t *object) {
  bool done = json_object_set_new(object, "model", json_string("completion")) == 0;
  json_t *context = json_array();
  for (int m = 0; m < c->order; m++)
    done = done && json_array_append_new(context, json_boolean(c->context[m])) == 0;
  done = done && json_object_set_new(object, "mean", json_real(c->mean)) == 0 &&
         json_object_set_new(object, "scale", json_real(c->scale)) == 0 &&
         json_object_set_new(object, "biased", json_boolean(c->biased)) == 0 &&
         json_object_set_new(object, "reg", json_real(c->reg)) == 0 &&
         json_object_set_new(object, "implicit",
                             c->implicit > 0.0 ? json_real(c->implicit) : json_null()) == 0 &&
         json_object_set_new(object, "split_seed", amped_json_count(c->split_seed)) == 0 &&
         json_object_set_new(object, "holdout", json_real(c->holdout)) == 0 &&
         json_object_set_new(object, "best_sweep", amped_json_count(c->best_sweep)) == 0 &&
         json_object_set(object, "context", context) == 0;
  json_decref(context);
  for (int s = 0; s < AMPED_COMPLETION_SETS; s++)
    done = done && json_object_set_new(object, amped_completion_set_names[s],
                                       amped_json_number(amped_completion_error(c, s))) == 0;
  return done;
}
