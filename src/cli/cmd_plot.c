#include <string.h>

#include "cli/commands.h"
#include "tensor/format.h"
#include "cli/plot_result.h"
#include "cli/result_argument.h"
#include "cli/plot_sweeps.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "hdf5/result_file.h"

static bool is_run(const char *path) {
  return amped_file_has_suffix(path, ".json");
}

static amped_status plot_result(amped_plot *f, const char *path) {
  amped_ktensor k = {.order = 0};
  amped_result_metric metric = {.sweeps = 0};
  amped_status status = AMPED_OK;
  AMPED_GO(out, amped_result_argument_read("plot", path, &k));
  AMPED_GO(out, amped_result_file_metric(path, &metric));
  amped_plot_result(f, path, &k, &metric);
out:
  amped_result_metric_free(&metric);
  amped_ktensor_free(&k);
  return status;
}

/* -o, or the input's name with .svg for its suffix; amped_alloc'd. */
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
  const char *picture = f->names[AMPED_PLOT_PICTURE];
  const char *data = f->names[AMPED_PLOT_DATA];
  const char *script = f->names[AMPED_PLOT_SCRIPT];
  amped_say("%s: drawn by gnuplot from %s and %s", picture, data, script);
  if (json == NULL)
    return AMPED_OK;
  return amped_json_line(json, json_pack("{s:s, s:o, s:o, s:o, s:o}", "event", "plot", "input",
                                         amped_json_text(input, strlen(input)), "output",
                                         amped_json_text(picture, strlen(picture)), "data",
                                         amped_json_text(data, strlen(data)), "script",
                                         amped_json_text(script, strlen(script))));
}

/* Refuse a JSON file that is also a file of the plot. */
static amped_status check_json(const amped_plot *f, const amped_json *json) {
  for (int i = 0; i < AMPED_PLOT_FILES; i++)
    AMPED_TRY(amped_json_apart(json, f->names[i]));
  return AMPED_OK;
}

static amped_status plot(const amped_options *o, const char *path, amped_json *json) {
  const char *in = o->args[0];
  amped_plot f;
  amped_status status = AMPED_OK;
  AMPED_GO(out, amped_plot_open(path, in, &f));
  AMPED_GO(out, check_json(&f, json));
  AMPED_GO(out, is_run(in) ? amped_plot_sweeps(&f, in) : plot_result(&f, in));
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
  amped_status status = amped_json_open(o->json, &json);
  if (status == AMPED_OK)
    status = amped_json_close(json, plot(o, path, json));
  amped_free(path);
  return status;
}
