/* Writes gnuplot scripts, runs gnuplot, and marks and publishes its pictures. */
#include "cli/plot/plot.h"

#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "base/draft.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/printable.h"
#include "cli/plot/plot_fonts.h"
#include "session/output_guard.h"

/* Most pixels of a side: gnuplot's png terminals accept no more, and readers of PDF no page of more
 * than 200 inches. A page has 96 pixels per inch, as in .svg. */
#define PNG_MOST 32767
#define PDF_MOST 19200
#define PER_INCH 96.0

/* Pixels of a character of the font, of a wide character, and between two ticks. */
#define CHARACTER 7
#define WIDE_CHARACTER 12
#define GAP 10

/* Pixels that a title may take beyond its axes. */
#define TITLE_ROOM 50

/* Bytes for a mark, and for what stays behind it. */
#define MARK_BYTES 128
#define TAIL_BYTES 64

/* Bytes of the last chunk of a .png. */
#define PNG_END 12

/* Exit status of a child that did not find its program. */
#define NOT_THERE 127

static const char *const suffixes[] = {".svg", ".png", ".pdf", ".gp"};

static const char *base_of(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash != NULL ? slash + 1 : path;
}

/* Can the script name this picture within '...'? Quotes and control characters are not allowed
 * there. */
static bool is_plain(const char *path) {
  for (const char *at = base_of(path); *at != '\0'; at++)
    if (*at == '\'' || *at == '"' || (unsigned char)*at < 0x20)
      return false;
  return true;
}

/* Open a nameless file in memory. It is freed when the last process that has it open ends. */
static int open_memory(const char *path) {
  int fd = memfd_create("amped_mpi plot", MFD_CLOEXEC);
  if (fd < 0)
    (void)amped_error_errno(AMPED_FAILED, errno, path,
                            "cannot be drawn: no file in memory; try "
                            "again when more memory is free");
  return fd;
}

amped_status amped_plot_open(const char *path, const char *input, bool overwrite, amped_plot *f) {
  amped_output found;
  int form = 0;
  memset(f, 0, sizeof *f);
  while (form <= AMPED_PLOT_SCRIPT && !amped_file_has_suffix(base_of(path), suffixes[form]))
    form++;
  if (form > AMPED_PLOT_SCRIPT || !is_plain(path))
    return amped_error(
        AMPED_USAGE, path,
        "pictures are .svg, .png or .pdf, scripts .gp, in names without quotes; name "
        "another with -o");
  f->form = (amped_plot_form)form;
  AMPED_TRY(amped_strdup(&f->name, path));
  if (amped_file_same(path, input))
    return amped_error(AMPED_FAILED, path,
                       "is the input and would be overwritten; name another with -o");
  AMPED_TRY(amped_file_check_writable(path));
  AMPED_TRY(amped_output_look(path, AMPED_OUTPUT_PLOT, overwrite, &found));
  int fd = open_memory(path);
  if (fd < 0)
    return AMPED_FAILED;
  f->script = fdopen(fd, "w+");
  if (f->script == NULL) {
    (void)close(fd);
    return amped_error_errno(AMPED_FAILED, errno, path, "cannot be drawn; try again");
  }
  return AMPED_OK;
}

/* Print the terminal that draws the picture. */
static void print_terminal(const amped_plot *f) {
  switch (f->form) {
  case AMPED_PLOT_PNG:
    fprintf(f->script,
            "png = strstrt(GPVAL_TERMINALS, ' pngcairo ') ? 'pngcairo' : 'png'\n"
            "set terminal @png noenhanced size %d,%d font ',8.5'\n",
            f->width, f->height);
    break;
  case AMPED_PLOT_PDF:
    fprintf(f->script,
            "set terminal pdfcairo noenhanced size %.4fin,%.4fin font 'sans,7' fontscale 1\n",
            f->width / PER_INCH, f->height / PER_INCH);
    break;
  default:
    fprintf(f->script,
            "set terminal svg noenhanced size %d,%d font 'sans,11' background rgb 'white'\n",
            f->width, f->height);
  }
}

static amped_status check_height(const amped_plot *f) {
  const int most = f->form == AMPED_PLOT_PNG   ? PNG_MOST
                   : f->form == AMPED_PLOT_PDF ? PDF_MOST
                                               : INT_MAX;
  if (f->height <= most)
    return AMPED_OK;
  return amped_error(AMPED_USAGE, f->name,
                     "a %s of these components would be %d pixels high, and at most %d are "
                     "possible; draw fewer with --components, or an .svg",
                     suffixes[f->form], f->height, most);
}

amped_status amped_plot_begin(amped_plot *f, int width, int height, const char *title) {
  const char *base = base_of(f->name);
  f->width = width;
  f->height = height;
  AMPED_TRY(check_height(f));
  fprintf(f->script,
          "# Data and script in one file, " AMPED_OUTPUT_PLOT_MARK ": gnuplot draws it.\n"
          "set encoding utf8\n");
  print_terminal(f);
  if (f->form == AMPED_PLOT_SCRIPT) /* ./ because a name that begins with < would be a command */
    fprintf(f->script, "set output './%.*s.svg'\n", (int)(strlen(base) - strlen(".gp")), base);
  fprintf(f->script, "set datafile separator \"\\t\"\n"
                     "set style fill solid 1.0 noborder\n"
                     "set border 3 linecolor rgb '#444444'\n"
                     "set multiplot\n");
  amped_plot_note(f, 12, 18, true, title);
  return AMPED_OK;
}

void amped_plot_block(amped_plot *f, const char *name, const char *columns) {
  fprintf(f->script, "\n$%s << END\n# %s\n", name, columns);
}

void amped_plot_block_end(amped_plot *f) {
  fprintf(f->script, "END\n");
}

static double across(const amped_plot *f, int x) {
  return (double)x / f->width;
}

static double up(const amped_plot *f, int y) {
  return 1.0 - (double)y / f->height;
}

/* Print the title of a panel. One that is too wide is broken at the blank nearest to its middle. */
static void print_title(const amped_plot *f, const amped_plot_box *axes, const char *title) {
  const char *middle = title + strlen(title) / 2;
  const char *best = NULL;
  for (const char *at = strchr(title, ' '); at != NULL; at = strchr(at + 1, ' '))
    if (best == NULL || labs(at - middle) < labs(best - middle))
      best = at;
  if (best == NULL || amped_plot_text_width(title) <= axes->width + TITLE_ROOM)
    fprintf(f->script, "set title '%s' offset 0,-0.6\n", title);
  else
    fprintf(f->script, "set title '%.*s'.\"\\n\".'%s' offset 0,-0.6\n", (int)(best - title), title,
            best + 1);
}

void amped_plot_panel(amped_plot *f, const amped_plot_box *axes, const char *title) {
  fprintf(f->script,
          "set margins at screen %.6f, at screen %.6f, at screen %.6f, at screen %.6f\n"
          "unset key\nunset xlabel\nunset xzeroaxis\n"
          "set xrange [*:*]\nset yrange [*:*]\n"
          "set xtics autofreq nomirror norotate autojustify\nset ytics autofreq nomirror\n"
          "set format x '%%.6g'\nset format y '%%.6g'\n"
          "unset grid\nset grid ytics linetype 1 linecolor rgb '#dddddd'\n",
          across(f, axes->left), across(f, axes->left + axes->width),
          up(f, axes->top + axes->height), up(f, axes->top));
  print_title(f, axes, title);
}

void amped_plot_spread(amped_plot *f, double least, double most) {
  const double middle = 0.5 * (least + most);
  const double half = 5e-5 * fmax(fabs(least), fabs(most));
  if (isfinite(middle) && 0.5 * (most - least) < half)
    fprintf(f->script, "set yrange [%.9g:%.9g]\n", middle - half, middle + half);
}

void amped_plot_panel_end(amped_plot *f) {
  fprintf(f->script, "unset label\n");
}

/* Points of a .png and a .pdf, pixels of an .svg. */
static const char *heading_font(const amped_plot *f) {
  return f->form == AMPED_PLOT_PNG   ? " font ',10'"
         : f->form == AMPED_PLOT_PDF ? " font ',8.5'"
                                     : " font ',13'";
}

void amped_plot_note(amped_plot *f, int x, int y, bool heading, const char *text) {
  fprintf(f->script, "set label '%s' at screen %.6f,%.6f left%s\n", text, across(f, x), up(f, y),
          heading ? heading_font(f) : "");
}

void amped_plot_name(amped_plot *f, int x, int y, bool upright, const char *text) {
  fprintf(f->script, "set label '%s' at screen %.6f,%.6f center%s\n", text, across(f, x), up(f, y),
          upright ? " rotate by 90" : "");
}

void amped_plot_colours(amped_plot *f, const amped_plot_box *bar, double least, double most) {
  const double end = fmax(fmax(most, -least), DBL_MIN);
  if (least < 0.0)
    fprintf(f->script,
            "set palette defined (-1 " AMPED_PLOT_VERMILION ", 0 '#ffffff', 1 " AMPED_PLOT_BLUE
            ")\nset cbrange [%.6g:%.6g]\n",
            -end, end);
  else
    fprintf(f->script,
            "set palette defined (0 '#ffffff', 1 " AMPED_PLOT_BLUE ")\nset cbrange [0:%.6g]\n",
            end > DBL_MIN ? end : 1.0);
  fprintf(f->script,
          "set colorbox vertical user origin screen %.6f,%.6f size screen %.6f,%.6f\n"
          "set format cb '%%.3g'\nset cbtics scale 0.5\n",
          across(f, bar->left), up(f, bar->top + bar->height), (double)bar->width / f->width,
          (double)bar->height / f->height);
}

void amped_plot_key(amped_plot *f, const amped_plot_box *axes) {
  fprintf(f->script, "set key at screen %.6f,%.6f left top Left reverse samplen 1.5\n",
          across(f, axes->left + axes->width + 8), up(f, axes->top));
}

void amped_plot_whole_ticks(amped_plot *f, uint64_t first, uint64_t last, int width) {
  static const uint64_t steps[] = {1, 2, 5};
  char text[32];
  uint64_t step = 1;
  (void)snprintf(text, sizeof text, "%" PRIu64, last);
  const uint64_t fit = (uint64_t)(width / (amped_plot_text_width(text) + GAP));
  for (int i = 0; (last - first) / step >= (fit > 1 ? fit : 1); i++)
    step = steps[(i + 1) % 3] * (step / steps[i % 3] * ((i + 1) % 3 == 0 ? 10 : 1));
  /* "set xtics 2" alone would put ticks at fractions on a short axis. */
  fprintf(f->script, "set xtics %" PRIu64 ",%" PRIu64 ",%" PRIu64 " format '%%.0f'\n",
          step == 1 ? first : amped_ceil_div(first, step) * step, step, last);
}

double amped_plot_round_step(double x) {
  const double power = pow(10.0, floor(log10(x)));
  return x <= power         ? power
         : x <= 2.0 * power ? 2.0 * power
         : x <= 5.0 * power ? 5.0 * power
                            : 10.0 * power;
}

void amped_plot_tick(amped_plot *f, bool first, const char *text, double at) {
  fprintf(f->script, "%s'", first ? "" : ", ");
  for (; *text != '\0'; text++) /* ticks are formats, so % is doubled */
    fprintf(f->script, "%s%c", *text == '%' ? "%" : "", *text);
  fprintf(f->script, "' %.9g", at);
}

/* Replace a character that would end a text of the script. A typographic apostrophe ends none. */
static const char *in_script(const char *character) {
  switch (*character) {
  case '\'':
    return "\xe2\x80\x99";
  case '"':
  case '\\':
  case '`':
    return "_";
  default:
    return character;
  }
}

const char *amped_plot_text(char *buffer, const char *text, uint64_t length) {
  char form[AMPED_PLOT_TEXT_BYTES + AMPED_PRINTABLE_UNIT];
  char unit[AMPED_PRINTABLE_UNIT];
  size_t used = 0;
  int characters = 0;
  /* The printable form is at least as long as the part of it that is kept. */
  (void)amped_printable(form, sizeof form, text, length);
  const uint64_t bytes = strlen(form);
  for (uint64_t at = 0; at < bytes; characters++) {
    at += amped_printable_next(form + at, bytes - at, unit);
    if (characters == AMPED_PLOT_TEXT) {
      memcpy(buffer + used, "...", 4);
      return buffer;
    }
    const char *as = in_script(unit);
    memcpy(buffer + used, as, strlen(as) + 1);
    used += strlen(as);
  }
  buffer[used] = '\0';
  return buffer;
}

static bool is_continuation(char c) {
  return ((unsigned char)c & 0xc0) == 0x80;
}

int amped_plot_text_width(const char *text) {
  int width = 0;
  for (; *text != '\0'; text++) /* three bytes or more: mostly scripts with wide characters */
    if (!is_continuation(*text))
      width += (unsigned char)*text >= 0xe0 ? WIDE_CHARACTER : CHARACTER;
  return width;
}

/* ---- drawing -------------------------------------------------------------------------------- */

/* In the child: become this program with these three files. It ends with its parent. */
static void become(const char *const *command, int in, int out, int complaints) {
  (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
      dup2(complaints, STDERR_FILENO) < 0)
    _exit(1);
  (void)execvp(command[0], (char *const *)command);
  _exit(errno == ENOENT ? NOT_THERE : 1);
}

/* Run a program. Returns its exit status; -1 if it could not be started or was killed. */
static int run_program(const char *const *command, int in, int out, int complaints) {
  int ended = 0;
  const pid_t child = fork();
  if (child == 0)
    become(command, in, out, complaints);
  pid_t waited = 0;
  do
    waited = child > 0 ? waitpid(child, &ended, 0) : -1;
  while (waited < 0 && child > 0 && errno == EINTR);
  return waited >= 0 && WIFEXITED(ended) ? WEXITSTATUS(ended) : -1;
}

/* gnuplot's message about an error: its last line that is not empty. */
static const char *complaint(int fd, char *buffer, size_t size) {
  ssize_t length = pread(fd, buffer, size - 1, 0);
  buffer[length > 0 ? length : 0] = '\0';
  char *end = buffer + strlen(buffer);
  while (end > buffer && (unsigned char)end[-1] <= ' ')
    *--end = '\0';
  char *line = strrchr(buffer, '\n');
  line = line != NULL ? line + 1 : buffer;
  line += strspn(line, " \t");
  return *line != '\0' ? line : "it does not say why";
}

static amped_status run_gnuplot(const amped_plot *f, int picture, int complaints) {
  static const char *const gnuplot[] = {"gnuplot", "-d", NULL}; /* without the user's settings */
  char said[1024];
  const int script = fileno(f->script);
  if (lseek(script, 0, SEEK_SET) != 0)
    return amped_error_errno(AMPED_FAILED, errno, f->name, "cannot be drawn; try again");
  const int status = run_program(gnuplot, script, picture, complaints);
  if (status == NOT_THERE)
    return amped_error(AMPED_FAILED, f->name,
                       "is not drawn, as gnuplot is not installed; install it (Debian, Ubuntu: "
                       "apt-get install gnuplot-nox), or write its script with -o OUT.gp and run "
                       "gnuplot OUT.gp elsewhere");
  if (status != 0 || lseek(picture, 0, SEEK_END) <= 0)
    return amped_error(AMPED_FAILED, f->name,
                       "gnuplot failed (%s); write its script with -o OUT.gp and look with gnuplot "
                       "OUT.gp",
                       complaint(complaints, said, sizeof said));
  return AMPED_OK;
}

/* ---- fonts ---------------------------------------------------------------------------------- */

/* Read a file in memory. The caller frees *out with amped_free. */
static amped_status read_memory(const amped_plot *f, int fd, char **out, uint64_t *length) {
  const off_t end = lseek(fd, 0, SEEK_END);
  *length = end > 0 ? (uint64_t)end : 0;
  AMPED_TRY(amped_alloc(out, *length + 1, 1, "a plot"));
  for (uint64_t at = 0; at < *length;) {
    const ssize_t n = pread(fd, *out + at, *length - at, (off_t)at);
    if (n <= 0)
      return amped_error_errno(AMPED_FAILED, errno, f->name, "cannot be drawn; try again");
    at += (uint64_t)n;
  }
  return AMPED_OK;
}

/* Ask fontconfig, which finds gnuplot's fonts, for their characters. Without an answer there are no
 * ranges. */
static amped_status find_fonts(const amped_plot *f, int complaints, amped_plot_fonts *fonts) {
  static const char *const list[] = {"fc-list", "--format=%{charset}\n", NULL};
  char *text = NULL;
  uint64_t length = 0;
  const int answer = open_memory(f->name);
  if (answer < 0)
    return AMPED_FAILED;
  amped_status status = AMPED_OK;
  if (run_program(list, answer, answer, complaints) == 0) {
    status = read_memory(f, answer, &text, &length);
    if (status == AMPED_OK)
      status = amped_plot_fonts_parse(text, length, fonts);
  }
  amped_free(text);
  (void)close(answer);
  return status;
}

static bool is_ascii(const char *text, uint64_t length) {
  bool is = true;
  for (uint64_t i = 0; i < length && is; i++)
    is = (unsigned char)text[i] < 0x80;
  return is;
}

/* Replace characters of the script without font. */
static amped_status replace(const amped_plot *f, int complaints, char *text, uint64_t length) {
  amped_plot_fonts fonts = {.count = 0};
  uint32_t first = 0;
  amped_status status = find_fonts(f, complaints, &fonts);
  const uint64_t count =
      status == AMPED_OK ? amped_plot_fonts_replace(&fonts, text, &length, &first) : 0;
  amped_free(fonts.ranges);
  if (count == 0)
    return status;
  amped_warn("%s: %" PRIu64 " characters have no font here, first U+%04" PRIX32
             ", and are drawn as ?; draw an .svg, or install a font",
             f->name, count, first);
  const int script = fileno(f->script);
  return pwrite(script, text, length, 0) == (ssize_t)length && ftruncate(script, (off_t)length) == 0
             ? AMPED_OK
             : amped_error_errno(AMPED_FAILED, errno, f->name,
                                 "cannot be drawn; try again when more memory is free");
}

/* A reader of an .svg finds its fonts itself. */
static amped_status check_fonts(const amped_plot *f, int complaints) {
  char *text = NULL;
  uint64_t length = 0;
  if (f->form != AMPED_PLOT_PNG && f->form != AMPED_PLOT_PDF)
    return AMPED_OK;
  amped_status status = read_memory(f, fileno(f->script), &text, &length);
  if (status == AMPED_OK && !is_ascii(text, length))
    status = replace(f, complaints, text, length);
  amped_free(text);
  return status;
}

/* ---- pictures ------------------------------------------------------------------------------- */

/* Copy a file in memory to the disk. */
static amped_status copy(int from, int to, const char *name) {
  char buffer[1 << 16];
  off_t at = 0;
  for (;;) {
    const ssize_t length = pread(from, buffer, sizeof buffer, at);
    if (length == 0)
      return AMPED_OK;
    ssize_t done = 0;
    for (ssize_t n = 0; done < length && n >= 0; done += n > 0 ? n : 0)
      n = write(to, buffer + done, (size_t)(length - done));
    if (length < 0 || done < length)
      return amped_error_errno(AMPED_FAILED, errno, name,
                               "cannot be written; free disk space or name another with -o");
    at += length;
  }
}

static amped_status save(const amped_plot *f, int from) {
  amped_draft draft;
  AMPED_TRY(amped_draft_open(f->name, false, &draft));
  amped_status status = copy(from, draft.fd, f->name);
  if (status == AMPED_OK)
    return amped_draft_publish(&draft, false);
  amped_draft_close(&draft);
  return status;
}

/* Make the mark of a picture: a comment in an .svg and a .pdf, a chunk of text in a .png. Returns
 * its length. */
static size_t make_mark(const amped_plot *f, unsigned char *mark) {
  static const char text[] = "tEXtSoftware\0" AMPED_OUTPUT_PLOT_MARK;
  const char *comment = f->form == AMPED_PLOT_PDF ? "% " AMPED_OUTPUT_PLOT_MARK "\n"
                                                  : "<!-- " AMPED_OUTPUT_PLOT_MARK " -->\n";
  const size_t length = sizeof text - 1;
  const unsigned long crc = crc32(0, (const Bytef *)text, (uInt)length);
  const unsigned char head[] = {0, 0, 0, (unsigned char)(length - 4)};
  const unsigned char check[] = {(unsigned char)(crc >> 24), (unsigned char)(crc >> 16),
                                 (unsigned char)(crc >> 8), (unsigned char)crc};
  if (f->form != AMPED_PLOT_PNG) {
    memcpy(mark, comment, strlen(comment));
    return strlen(comment);
  }
  memcpy(mark, head, sizeof head);
  memcpy(mark + sizeof head, text, length);
  memcpy(mark + sizeof head + length, check, sizeof check);
  return sizeof head + length + sizeof check;
}

/* Read the bytes that stay behind the mark, at most TAIL_BYTES: the last chunk of a .png; of a .pdf
 * what follows the last table of offsets, which so stay right. Returns their number. */
static size_t read_tail(const amped_plot *f, int picture, off_t end, char *tail) {
  const off_t most = f->form == AMPED_PLOT_SVG   ? 0
                     : f->form == AMPED_PLOT_PNG ? PNG_END
                                                 : TAIL_BYTES;
  const off_t first = end > most ? end - most : 0;
  const ssize_t length = pread(picture, tail, (size_t)(end - first), first);
  const char *from = f->form == AMPED_PLOT_PDF && length > 0
                         ? memmem(tail, (size_t)length, "startxref", strlen("startxref"))
                         : tail;
  if (length <= 0 || from == NULL)
    return 0;
  const size_t kept = (size_t)length - (size_t)(from - tail);
  memmove(tail, from, kept);
  return kept;
}

/* Write the program's mark into the picture, so that a later plot may replace it. */
static amped_status mark_picture(const amped_plot *f, int picture) {
  unsigned char mark[MARK_BYTES + TAIL_BYTES];
  char tail[TAIL_BYTES];
  const off_t end = lseek(picture, 0, SEEK_END);
  const size_t behind = read_tail(f, picture, end, tail);
  const size_t length = make_mark(f, mark);
  memcpy(mark + length, tail, behind);
  if (pwrite(picture, mark, length + behind, end - (off_t)behind) == (ssize_t)(length + behind))
    return AMPED_OK;
  return amped_error_errno(AMPED_FAILED, errno, f->name,
                           "cannot be drawn; try again when more memory is free");
}

static amped_status draw_picture(const amped_plot *f) {
  int picture = open_memory(f->name);
  if (picture < 0)
    return AMPED_FAILED;
  int complaints = open_memory(f->name);
  amped_status status = complaints >= 0 ? check_fonts(f, complaints) : AMPED_FAILED;
  if (status == AMPED_OK)
    status = run_gnuplot(f, picture, complaints);
  if (status == AMPED_OK)
    status = mark_picture(f, picture);
  if (status == AMPED_OK)
    status = save(f, picture);
  (void)close(picture);
  if (complaints >= 0)
    (void)close(complaints);
  return status;
}

amped_status amped_plot_draw(amped_plot *f) {
  fprintf(f->script, "unset multiplot\nunset output\n");
  if (fflush(f->script) != 0 || ferror(f->script) != 0)
    return amped_error_errno(AMPED_FAILED, errno, f->name,
                             "cannot be drawn; try again when more memory is free");
  return f->form == AMPED_PLOT_SCRIPT ? save(f, fileno(f->script)) : draw_picture(f);
}

void amped_plot_close(amped_plot *f) {
  if (f->script != NULL)
    (void)fclose(f->script);
  amped_free(f->name);
  memset(f, 0, sizeof *f);
}
