#include "cli/plot.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"

/* Size of a panel, in points of an .svg and pixels of a .png. */
#define PANEL_WIDTH 380
#define PANEL_HEIGHT 240

/* Exit statuses of the child: no gnuplot; no such folder. */
#define NO_GNUPLOT 127
#define NO_FOLDER 126

static const char *const suffixes[] = {"", ".dat", ".gp"};

static const char *base_of(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash != NULL ? slash + 1 : path;
}

static bool is_picture(const char *path) {
  const char *base = base_of(path);
  const char *dot = strrchr(base, '.');
  return dot != NULL && dot != base &&
         (strcasecmp(dot, ".svg") == 0 || strcasecmp(dot, ".png") == 0);
}

/* The script names files within '...': they may hold no quote and no control character. */
static bool is_plain(const char *path) {
  for (const char *at = base_of(path); *at != '\0'; at++)
    if (*at == '\'' || *at == '"' || (unsigned char)*at < 0x20)
      return false;
  return true;
}

static amped_status name_file(const char *path, const char *input, int i, amped_plot *f) {
  uint64_t bytes = strlen(path) + 8;
  int stem = (int)(strrchr(path, '.') - path);
  AMPED_TRY(amped_alloc(&f->names[i], bytes, 1, "a path"));
  if (i == AMPED_PLOT_PICTURE)
    (void)snprintf(f->names[i], bytes, "%s", path);
  else
    (void)snprintf(f->names[i], bytes, "%.*s%s", stem, path, suffixes[i]);
  if (amped_file_same(f->names[i], input))
    return amped_error(AMPED_FAILED, f->names[i],
                       "is the input and would be overwritten; name another with -o");
  return amped_file_temporary(f->names[i], &f->temporaries[i]);
}

static amped_status open_stream(const amped_plot *f, int i, FILE **out) {
  *out = fopen(f->temporaries[i], "wxe");
  if (*out == NULL)
    return amped_error_errno(AMPED_FAILED, errno, f->names[i],
                             "cannot be written; name another with -o");
  return AMPED_OK;
}

amped_status amped_plot_open(const char *path, const char *input, amped_plot *f) {
  memset(f, 0, sizeof *f);
  if (!is_picture(path) || !is_plain(path))
    return amped_error(AMPED_USAGE, path,
                       "pictures are .svg or .png, in names without quotes; name another with -o");
  for (int i = 0; i < AMPED_PLOT_FILES; i++)
    AMPED_TRY(name_file(path, input, i, f));
  AMPED_TRY(open_stream(f, AMPED_PLOT_DATA, &f->data));
  return open_stream(f, AMPED_PLOT_SCRIPT, &f->script);
}

void amped_plot_layout(amped_plot *f, int rows, int columns, const char *title) {
  const char *picture = f->names[AMPED_PLOT_PICTURE];
  bool png = strcasecmp(strrchr(picture, '.'), ".png") == 0;
  /* A file name that begins with < would be a command, hence ./ */
  fprintf(f->script,
          "# Draws %s: gnuplot %s\n"
          "data = './%s'\n"
          "if (!exists('picture')) picture = './%s'\n",
          base_of(picture), base_of(f->names[AMPED_PLOT_SCRIPT]),
          base_of(f->names[AMPED_PLOT_DATA]), base_of(picture));
  if (png)
    fprintf(f->script,
            "png = strstrt(GPVAL_TERMINALS, ' pngcairo ') ? 'pngcairo' : 'png'\n"
            "set encoding utf8\n"
            "set terminal @png noenhanced size %d,%d font ',9'\n",
            columns * PANEL_WIDTH, rows * PANEL_HEIGHT + 30);
  else
    fprintf(f->script,
            "set encoding utf8\n"
            "set terminal svg noenhanced size %d,%d font 'sans,11' background rgb 'white'\n",
            columns * PANEL_WIDTH, rows * PANEL_HEIGHT + 30);
  fprintf(f->script,
          "set output picture\n"
          "set datafile separator \"\\t\"\n"
          "set grid ytics linetype 1 linecolor rgb '#dddddd'\n"
          "set style fill solid 0.8 noborder\n"
          "unset key\n"
          "set multiplot layout %d,%d title '%s'\n",
          rows, columns, title);
}

void amped_plot_block(amped_plot *f, const char *name, const char *columns) {
  fprintf(f->data, "%s# %s\n# %s\n", f->blocks++ > 0 ? "\n\n" : "", name, columns);
}

static bool is_continuation(char c) {
  return ((unsigned char)c & 0xc0) == 0x80;
}

const char *amped_plot_text(char *buffer, const char *text, uint64_t length) {
  /* jansson refuses text that is not UTF-8. */
  json_t *checked = json_stringn(text, (size_t)length);
  bool utf8 = checked != NULL;
  uint64_t used = 0;
  int characters = 0;
  json_decref(checked);
  for (uint64_t i = 0; i < length; i++) {
    unsigned char c = (unsigned char)text[i];
    characters += !utf8 || !is_continuation(text[i]);
    if (characters > AMPED_PLOT_TEXT) {
      memcpy(buffer + used, "...", 3);
      used += 3;
      break;
    }
    buffer[used++] = c < 0x20 || c == 0x7f || (c >= 0x80 && !utf8)    ? '?'
                     : c == '"' || c == '\'' || c == '\\' || c == '`' ? '_'
                                                                      : (char)c;
  }
  buffer[used] = '\0';
  return buffer;
}

/* Close a stream and say whether all of it arrived. */
static amped_status close_stream(const amped_plot *f, int i, FILE **stream) {
  bool failed = ferror(*stream) != 0;
  errno = 0;
  failed = fclose(*stream) != 0 || failed;
  *stream = NULL;
  if (failed)
    return amped_error_errno(AMPED_FAILED, errno, f->names[i],
                             "cannot be written; free disk space or name another with -o");
  return AMPED_OK;
}

static amped_status commit(amped_plot *f, int i) {
  amped_status status = amped_file_commit(f->temporaries[i], f->names[i]);
  amped_free(f->temporaries[i]);
  f->temporaries[i] = NULL;
  return status;
}

/* The child: gnuplot in the plot's folder, without the user's settings and without output. */
static void become_gnuplot(const char *folder, const char *setting, const char *script) {
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && null >= 0; fd++)
    (void)dup2(null, fd);
  if (chdir(folder) != 0)
    _exit(NO_FOLDER);
  (void)execlp("gnuplot", "gnuplot", "-d", "-e", setting, script, (char *)NULL);
  _exit(errno == ENOENT ? NO_GNUPLOT : NO_FOLDER);
}

static amped_status run_gnuplot(const amped_plot *f, const char *folder) {
  const char *picture = f->names[AMPED_PLOT_PICTURE];
  const char *script = f->names[AMPED_PLOT_SCRIPT];
  char *setting = NULL;
  char *relative = NULL;
  int ended = 0;
  uint64_t bytes = strlen(picture) + strlen(script) + 64;
  AMPED_TRY(amped_alloc(&setting, bytes, 1, "a path"));
  amped_status status = amped_alloc(&relative, bytes, 1, "a path");
  if (status == AMPED_OK) {
    (void)snprintf(setting, bytes, "picture='./%s'", base_of(f->temporaries[AMPED_PLOT_PICTURE]));
    (void)snprintf(relative, bytes, "./%s", base_of(script));
    pid_t child = fork();
    if (child == 0)
      become_gnuplot(folder, setting, relative);
    if (child < 0 || waitpid(child, &ended, 0) != child)
      status = amped_error_errno(AMPED_FAILED, errno, picture,
                                 "gnuplot cannot be started; run gnuplot %s", script);
    else if (WIFEXITED(ended) && WEXITSTATUS(ended) == NO_GNUPLOT)
      status = amped_error(AMPED_FAILED, picture,
                           "is not drawn, as gnuplot is not installed; install it (Debian, Ubuntu: "
                           "apt-get install gnuplot-nox) and run gnuplot %s",
                           script);
    else if (!WIFEXITED(ended) || WEXITSTATUS(ended) != 0)
      status =
          amped_error(AMPED_FAILED, picture, "gnuplot failed; see why with: gnuplot %s", script);
  }
  amped_free(relative);
  amped_free(setting);
  return status;
}

amped_status amped_plot_draw(amped_plot *f) {
  char *folder = NULL;
  fprintf(f->script, "unset multiplot\nunset output\n");
  AMPED_TRY(close_stream(f, AMPED_PLOT_DATA, &f->data));
  AMPED_TRY(close_stream(f, AMPED_PLOT_SCRIPT, &f->script));
  AMPED_TRY(commit(f, AMPED_PLOT_DATA));
  AMPED_TRY(commit(f, AMPED_PLOT_SCRIPT));
  AMPED_TRY(amped_file_folder(f->names[AMPED_PLOT_PICTURE], &folder));
  amped_status status = run_gnuplot(f, folder);
  amped_free(folder);
  return status != AMPED_OK ? status : commit(f, AMPED_PLOT_PICTURE);
}

void amped_plot_close(amped_plot *f) {
  if (f->data != NULL)
    (void)fclose(f->data);
  if (f->script != NULL)
    (void)fclose(f->script);
  for (int i = 0; i < AMPED_PLOT_FILES; i++) {
    amped_file_discard(f->temporaries[i]);
    amped_free(f->temporaries[i]);
    amped_free(f->names[i]);
  }
  memset(f, 0, sizeof *f);
}
