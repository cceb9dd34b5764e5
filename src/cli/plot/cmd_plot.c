/* plot: draws a result, a run, or several runs, by gnuplot. */
#include <string.h>

#include "cli/commands.h"
#include "cli/completion_text.h"
#include "tensor/format.h"
#include "cli/plot/plot_result.h"
#include "cli/result_argument.h"
#include "cli/plot/plot_run.h"
#include "cli/plot/plot_runs.h"
#include "base/facts.h"
#include "base/file.h"
#include "base/json.h"
#include "session/output_guard.h"
#include "base/mem.h"
#include "formats/completion_file.h"
#include "formats/result_file.h"

static bool is_run(const char *path) {
  return amped_file_has_suffix(path, ".json");
}

static amped_status plot_result(amped_plot *f, const char *path, const amped_number_list *asked,
                                const char *heat) {
  amped_ktensor k = {.order = 0};
  amped_result_metric metric = {.sweeps = 0};
  amped_completion c = {.order = 0};
  amped_status status = AMPED_OK;
  AMPED_GO(out, amped_result_argument_read("plot", path, &k));
  AMPED_GO(out, amped_result_file_metric(path, true, &metric));
  AMPED_GO(out, amped_completion_file_read(path, k.order, k.dims, true, &c));
  AMPED_GO(out, amped_completion_fill(path, &c, &k));
  amped_completion_weigh(&c, &k);
  status = amped_result_argument_check(path, &k, asked);
  if (status == AMPED_OK)
    status = amped_plot_result(f, path, &k, &metric, &c, asked, heat);
out:
  amped_completion_free(&c);
  amped_result_metric_free(&metric);
  amped_ktensor_free(&k);
  return status;
}

/* The output's path: -o, or the input's name with the suffix .svg. The caller frees *out with
 * amped_free. */
static amped_status choose_output(const amped_options *o, char **out) {
  const char *in = o->args[0];
  if (o->output != NULL)
    return amped_strdup(out, o->output);
  const char *slash = strrchr(in, '/');
  const char *dot = strrchr(slash != NULL ? slash : in, '.');
  int stem = dot != NULL && dot != in ? (int)(dot - in) : (int)strlen(in);
  uint64_t bytes = strlen(in) + 8;
  AMPED_TRY(amped_alloc(out, bytes, 1, "a path"));
  (void)snprintf(*out, bytes, "%.*s.svg", stem, in);
  return AMPED_OK;
}

static amped_status tell(const amped_plot *f, const char *input, amped_json *json) {
  amped_facts facts;
  amped_facts_begin(&facts, "plot");
  amped_fact_json(&facts, "input", amped_json_string(input));
  amped_fact(&facts, "output", amped_json_string(f->name), "%s: ", f->name);
  if (f->form == AMPED_PLOT_SCRIPT)
    amped_fact_words(&facts, "the script and its data; gnuplot %s draws it\n", f->name);
  else
    amped_fact_words(&facts, "drawn by gnuplot\n");
  return amped_facts_write(&facts, json);
}

/* Check that all of several inputs are runs, and that the output is none of them. */
static amped_status check_runs(const amped_options *o, const char *path) {
  for (int i = 0; i < o->nargs; i++) {
    if (!is_run(o->args[i]))
      return amped_error(
          AMPED_USAGE, o->args[i],
          "is not a RUN.json; if several files are named, all must be written by --json");
    if (amped_file_same(path, o->args[i]))
      return amped_error(AMPED_USAGE, path, "is an input; name another file with -o");
  }
  return o->output != NULL
             ? AMPED_OK
             : amped_error(AMPED_USAGE, NULL,
                           "several runs need a name for the picture; give -o OUT.svg");
}

static amped_status draw(amped_plot *f, const amped_options *o) {
  const char *in = o->args[0];
  if (o->nargs > 1)
    return amped_plot_runs(f, o->args, o->nargs);
  return is_run(in) ? amped_plot_run(f, in) : plot_result(f, in, &o->components, o->heat);
}

static amped_status plot(const amped_options *o, const char *path, amped_json *json) {
  const char *in = o->args[0];
  amped_plot f;
  amped_status status = AMPED_OK;
  if (o->nargs > 1)
    AMPED_TRY(check_runs(o, path));
  if (is_run(in) && (o->components.count > 0 || o->heat != NULL))
    return amped_error(AMPED_USAGE, in, "is a run; leave out --%s, which is for results",
                       o->components.count > 0 ? "components" : "heat");
  AMPED_GO(out, amped_plot_open(path, in, o->overwrite, &f));
  AMPED_GO(out, amped_json_apart(json, path));
  AMPED_GO(out, draw(&f, o));
  AMPED_GO(out, amped_plot_draw(&f));
  status = tell(&f, in, json);
out:
  amped_plot_close(&f);
  return status;
}

amped_status amped_cmd_plot(const amped_options *o) {
  amped_json *json = NULL;
  char *path = NULL;
  AMPED_TRY(choose_output(o, &path));
  amped_status status = amped_json_check_apart(o->json, path);
  if (status == AMPED_OK)
    status = amped_output_json(o->json, o->overwrite, &json);
  if (status == AMPED_OK)
    status = amped_json_close(json, plot(o, path, json));
  amped_free(path);
  return status;
}
