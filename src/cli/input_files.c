/* Input files: the names in options and arguments. */
#include "cli/input_files.h"

#include <string.h>

#include "base/file.h"
#include "cli/commands.h"

typedef amped_status visitor(const char *file, void *context);

static amped_status visit_one(const char *file, visitor *visit, void *context) {
  return file == NULL || strcmp(file, "-") == 0 ? AMPED_OK : visit(file, context);
}

static amped_status visit_list(const amped_text_list *list, visitor *visit, void *context) {
  for (int i = 0; i < list->count; i++)
    AMPED_TRY(visit_one(list->texts[i], visit, context));
  return AMPED_OK;
}

/* The file of MODE:FILE. The name of a mode may have colons, so each may be the last of MODE. */
static amped_status visit_axis(const char *axis, visitor *visit, void *context) {
  for (const char *at = strchr(axis, ':'); at != NULL; at = strchr(at + 1, ':'))
    AMPED_TRY(visit_one(at + 1, visit, context));
  return AMPED_OK;
}

/* Visit each name, except standard input and an argument that the command writes, until it fails. A
 * text is visited also if it may be no file, as a column of --weights. */
static amped_status visit_all(const amped_options *o, visitor *visit, void *context) {
  const char *const named[] = {o->session.init, o->complete.validate, o->complete.weights,
                               o->predict.observed};
  for (int i = 0; i < o->nargs - (o->command->writes ? 1 : 0); i++)
    AMPED_TRY(visit_one(o->args[i], visit, context));
  for (size_t i = 0; i < sizeof named / sizeof named[0]; i++)
    AMPED_TRY(visit_one(named[i], visit, context));
  AMPED_TRY(visit_list(&o->complete.test, visit, context));
  AMPED_TRY(visit_list(&o->recommend.exclude, visit, context));
  for (int i = 0; i < o->axes.count; i++)
    AMPED_TRY(visit_axis(o->axes.axes[i], visit, context));
  return AMPED_OK;
}

/* An output, and the option that names it. */
typedef struct output {
  const char *file, *option;
} output;

static amped_status check_apart(const char *file, void *context) {
  const output *out = context;
  if (!amped_file_is_one(out->file, file))
    return AMPED_OK;
  return amped_error(
      AMPED_USAGE, out->file, "is an input of this run and would be overwritten; name another %s%s",
      out->option != NULL ? "with " : "output", out->option != NULL ? out->option : "");
}

amped_status amped_input_files_check_apart(const amped_options *o, const char *file,
                                           const char *option) {
  output out = {file, option};
  return file == NULL ? AMPED_OK : visit_all(o, check_apart, &out);
}
