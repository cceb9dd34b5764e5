#include "cli/options.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/version.h"
#include "plan/overlap.h"

typedef amped_options opts;

/* ---- values -------------------------------------------------------------------------------- */

/* A number with an optional suffix out of `suffixes`, the i-th of which stands for base^(i+1). */
static bool parse_scaled(const char *text, double base, const char *tail, uint64_t *out) {
  static const char suffixes[] = "KMGTPE";
  char *end = NULL;
  if (text[0] < '0' || text[0] > '9')
    return false;
  errno = 0;
  uint64_t exact = strtoull(text, &end, 10);
  bool overflow = errno == ERANGE;
  bool plain = *end == '\0';
  if (plain && !overflow) {
    *out = exact;
    return true;
  }
  double value = strtod(text, &end);
  for (size_t i = 0; suffixes[i] != '\0'; i++)
    if (*end == suffixes[i] || *end == suffixes[i] + 'a' - 'A') {
      value *= pow(base, (double)i + 1.0);
      end++;
      if (*tail != '\0' && end[0] == 'i' && end[1] == tail[0])
        end += 2;
      else if (*tail != '\0' && end[0] == tail[0])
        end++;
      break;
    }
  if (*end != '\0' || !(value < 0x1p63) || value != floor(value))
    return false;
  *out = (uint64_t)value;
  return true;
}

bool amped_parse_bytes(const char *text, uint64_t *out) {
  return parse_scaled(text, 1024.0, "B", out);
}

bool amped_parse_count(const char *text, uint64_t *out) {
  return parse_scaled(text, 1000.0, "", out);
}

static bool parse_real(const char *text, double least, double most, double *out) {
  char *end = NULL;
  *out = strtod(text, &end);
  return end != text && *end == '\0' && *out >= least && *out <= most;
}

static bool parse_int(const char *text, int least, int most, int *out) {
  uint64_t n = 0;
  if (!amped_parse_count(text, &n) || n > (uint64_t)most || (least > 0 && n < (uint64_t)least))
    return false;
  *out = (int)n;
  return true;
}

/* The position of value in a NULL-ended list, -1 where it is not there. */
static int parse_word(const char *value, const char *const *words) {
  for (int i = 0; words[i] != NULL; i++)
    if (strcmp(value, words[i]) == 0)
      return i;
  return -1;
}

/* ---- one function an option: false where the value is malformed or out of range ------------ */

static bool set_rank(opts *o, const char *v) {
  o->session.ncomps = 0;
  o->session.ncomps_count = 0;
  while (o->session.ncomps_count < AMPED_MAX_NCOMPS_COUNT) {
    char number[32];
    int ncomps = 0;
    size_t n = strcspn(v, ",");
    if (n >= sizeof number)
      return false;
    memcpy(number, v, n);
    number[n] = '\0';
    if (!parse_int(number, 1, AMPED_MAX_NCOMPS, &ncomps))
      return false;
    for (int i = 0; i < o->session.ncomps_count; i++)
      if (o->session.ncomps_list[i] == ncomps)
        return false;
    o->session.ncomps_list[o->session.ncomps_count++] = ncomps;
    o->session.ncomps = ncomps > o->session.ncomps ? ncomps : o->session.ncomps;
    if (v[n] == '\0')
      return true;
    v += n + 1;
  }
  return false;
}
static bool set_starts(opts *o, const char *v) {
  return parse_int(v, 1, AMPED_MAX_STARTS, &o->session.starts);
}
static bool set_corcondia(opts *o, const char *v) {
  (void)v;
  return o->cpd.corcondia = true;
}
static bool set_iters(opts *o, const char *v) {
  return amped_parse_count(v, &o->cpd.iters) && o->cpd.iters >= 1 && o->cpd.iters <= 10000000;
}
static bool set_tol(opts *o, const char *v) {
  return parse_real(v, 0.0, 1.0, &o->cpd.tol);
}
static bool set_threads(opts *o, const char *v) {
  return parse_int(v, 1, 4096, &o->threads);
}
static bool set_seed(opts *o, const char *v) {
  return amped_parse_count(v, &o->seed);
}
static bool set_output(opts *o, const char *v) {
  o->output = v;
  return *v != '\0';
}
static bool set_nowrite(opts *o, const char *v) {
  (void)v;
  return o->nowrite = true;
}
static bool set_verbose(opts *o, const char *v) {
  (void)v;
  o->verbosity = AMPED_VERBOSE;
  return true;
}
static bool set_quiet(opts *o, const char *v) {
  (void)v;
  o->verbosity = AMPED_QUIET;
  return true;
}
static bool set_init(opts *o, const char *v) {
  o->session.init = strcmp(v, "random") == 0 ? NULL : v;
  return *v != '\0';
}
static bool set_backend(opts *o, const char *v) {
  static const char *const words[] = {"auto", "cuda", "cpu", NULL};
  o->session.backend.name = v;
  return parse_word(v, words) >= 0;
}
static bool set_precision(opts *o, const char *v) {
  static const char *const words[] = {"float", "double", NULL};
  o->session.precision = parse_word(v, words) == 1 ? AMPED_F64 : AMPED_F32;
  return parse_word(v, words) >= 0;
}
static bool set_residency(opts *o, const char *v) {
  static const char *const words[] = {"auto", "resident", "stream", NULL};
  o->session.backend.residency = (amped_residency)parse_word(v, words);
  return parse_word(v, words) >= 0;
}
static bool set_read(opts *o, const char *v) {
  static const char *const words[] = {"root", "parallel", NULL};
  o->session.read_parallel = parse_word(v, words) == 1;
  return parse_word(v, words) >= 0;
}
static bool set_overlap(opts *o, const char *v) {
  static const char *const words[] = {"auto", "off", NULL};
  o->session.plan.parts = parse_word(v, words) == 0 ? AMPED_PARTS_AUTO : 1;
  return parse_word(v, words) >= 0 || parse_int(v, 2, AMPED_MAX_PARTS, &o->session.plan.parts);
}
static bool set_placement(opts *o, const char *v) {
  o->session.plan.placement = (amped_placement)parse_word(v, amped_placement_names);
  return parse_word(v, amped_placement_names) >= 0;
}
static bool set_plan(opts *o, const char *v) {
  (void)v;
  return o->session.plan_only = true;
}
static bool set_device_memory(opts *o, const char *v) {
  return amped_parse_bytes(v, &o->session.backend.device_memory) &&
         o->session.backend.device_memory > 0;
}
static bool set_tiles(opts *o, const char *v) {
  static const char *const words[] = {"auto", "off", NULL};
  int word = parse_word(v, words);
  o->session.backend.tile_bytes = word == 1 ? UINT64_MAX : 0;
  return word >= 0 || (amped_parse_bytes(v, &o->session.backend.tile_bytes) &&
                       o->session.backend.tile_bytes > 0);
}
static bool set_deterministic(opts *o, const char *v) {
  (void)v;
  return o->session.backend.deterministic = true;
}
static bool set_share_gpus(opts *o, const char *v) {
  (void)v;
  return o->session.backend.share_gpus = true;
}
static bool set_json(opts *o, const char *v) {
  o->json = v;
  return *v != '\0';
}
static bool set_progress(opts *o, const char *v) {
  static const char *const words[] = {"auto", "never", "always", NULL};
  o->progress = (amped_progress_when)parse_word(v, words);
  return parse_word(v, words) >= 0;
}
static bool set_trace(opts *o, const char *v) {
  o->session.trace = v;
  return *v != '\0' && strcmp(v, "-") != 0;
}
static bool set_hang_timeout(opts *o, const char *v) {
  return parse_real(v, 1.0, 1e6, &o->session.hang_timeout);
}
static bool set_checkpoint(opts *o, const char *v) {
  o->checkpoint.file = v;
  return *v != '\0';
}
static bool set_checkpoint_every(opts *o, const char *v) {
  char *end = NULL;
  o->checkpoint.every_sweeps = 0;
  o->checkpoint.every_sec = strtod(v, &end);
  if (end != v && strcmp(end, "s") == 0)
    return o->checkpoint.every_sec > 0.0 && isfinite(o->checkpoint.every_sec);
  o->checkpoint.every_sec = 0.0; /* no suffix of counts: 5m would not mean five minutes */
  return v[strspn(v, "0123456789")] == '\0' && amped_parse_count(v, &o->checkpoint.every_sweeps) &&
         o->checkpoint.every_sweeps > 0;
}
static bool set_resume(opts *o, const char *v) {
  (void)v;
  return o->checkpoint.resume = true;
}
static bool set_kernel(opts *o, const char *v) {
  static const char *const words[] = {"sorted", "published", NULL};
  o->session.backend.kernel = parse_word(v, words) == 1 ? AMPED_KERNEL_ATOMIC : AMPED_KERNEL_SORTED;
  return parse_word(v, words) >= 0;
}
static bool set_repeat(opts *o, const char *v) {
  return parse_int(v, 1, 100000, &o->repeat);
}
static bool set_index_base(opts *o, const char *v) {
  static const char *const words[] = {"0", "1", "auto", NULL};
  static const amped_index_base bases[] = {AMPED_BASE_0, AMPED_BASE_1, AMPED_BASE_AUTO};
  int i = parse_word(v, words);
  o->read.index_base = i >= 0 ? bases[i] : AMPED_BASE_AUTO;
  return i >= 0;
}
static bool set_dims(opts *o, const char *v) {
  o->read.dims_order = 0;
  while (o->read.dims_order < AMPED_MAX_ORDER) {
    char number[32];
    size_t n = strcspn(v, ",x");
    uint64_t dim = 0;
    if (n == 0 || n >= sizeof number)
      return false;
    memcpy(number, v, n);
    number[n] = '\0';
    if (!amped_parse_count(number, &dim) || dim == 0)
      return false;
    o->read.dims[o->read.dims_order++] = dim;
    if (v[n] == '\0')
      return o->read.dims_order >= AMPED_MIN_ORDER;
    v += n + 1;
  }
  return false;
}
static bool set_keys(opts *o, const char *v) {
  o->read.keys = v;
  return *v != '\0';
}
static bool set_value(opts *o, const char *v) {
  o->read.value = v;
  return *v != '\0';
}
static bool set_duplicates(opts *o, const char *v) {
  static const char *const words[] = {"sum", "error", "keep", NULL};
  o->convert.duplicates = (amped_duplicates)parse_word(v, words);
  return parse_word(v, words) >= 0;
}
static bool set_drop_zeros(opts *o, const char *v) {
  (void)v;
  return o->convert.drop_zeros = true;
}
static bool set_memory(opts *o, const char *v) {
  return amped_parse_bytes(v, &o->convert.memory) && o->convert.memory >= AMPED_LEAST_MEMORY;
}
static bool set_temporary(opts *o, const char *v) {
  o->convert.temporary = v;
  return *v != '\0';
}
static bool set_copies(opts *o, const char *v) {
  static const char *const words[] = {"all", "none", NULL};
  o->convert.no_copies = parse_word(v, words) == 1;
  return parse_word(v, words) >= 0;
}
static bool set_verify(opts *o, const char *v) {
  (void)v;
  return o->info.verify = true;
}
static bool set_system(opts *o, const char *v) {
  (void)v;
  return o->info.system = true;
}
static bool set_top(opts *o, const char *v) {
  return parse_int(v, 1, 1000000, &o->top);
}
static bool set_nnz(opts *o, const char *v) {
  return amped_parse_count(v, &o->session.shape.nnz) && o->session.shape.nnz > 0;
}
static bool set_skew(opts *o, const char *v) {
  o->session.shape.skew_count = 0;
  while (o->session.shape.skew_count < AMPED_MAX_ORDER) {
    char *end = NULL;
    double skew = strtod(v, &end);
    if (end == v || !(skew >= 0.0 && skew <= 10.0))
      return false;
    o->session.shape.skew[o->session.shape.skew_count++] = skew;
    if (*end == '\0')
      return true;
    if (*end != ',')
      return false;
    v = end + 1;
  }
  return false;
}
static bool set_planted(opts *o, const char *v) {
  return parse_int(v, 1, AMPED_MAX_NCOMPS, &o->generate.planted);
}
static bool set_noise(opts *o, const char *v) {
  return parse_real(v, 0.0, 1e6, &o->generate.noise);
}
static bool set_shape(opts *o, const char *v) {
  o->session.shape.name = v;
  return *v != '\0';
}
static bool set_values(opts *o, const char *v) {
  static const char *const words[] = {"real", "counts", NULL};
  o->session.shape.values = parse_word(v, words) == 1 ? AMPED_VALUES_COUNTS : AMPED_VALUES_REAL;
  return parse_word(v, words) >= 0;
}
static bool set_scale(opts *o, const char *v) {
  return parse_real(v, 1e-12, 1e6, &o->session.shape.scale);
}

/* ---- the table ----------------------------------------------------------------------------- */

typedef struct option_row {
  const char *name;
  char letter;
  const char *value;   /* what --help calls it; NULL: takes none */
  const char *expects; /* for the message about a wrong value */
  const char *help;
  bool (*set)(opts *o, const char *value);
} option_row;

static const option_row rows[] = {
    {"rank", 'r', "R,...", "whole numbers from 1 to 1024, each once, separated by commas",
     "components of the decomposition; cpd takes several, one result of each [32]", set_rank},
    {"starts", 0, "K", "a whole number from 1 to 1000",
     "random starts, of seeds --seed, --seed + 1, ...; the best fit is the result [1]", set_starts},
    {"corcondia", 0, NULL, "",
     "also compute the core consistency of the result: R^(order - 2) MTTKRPs, at most 1024",
     set_corcondia},
    {"iters", 'i', "N", "a whole number from 1 to 10000000", "sweeps at most [50]", set_iters},
    {"tol", 0, "X", "a number from 0 to 1",
     "stop when the fit changes by less from one sweep to the next; 0: never [1e-5; with "
     "--shape 0]",
     set_tol},
    {"init", 0, "random|FILE", "random or a file's name",
     "start from random factors, or from a file with /weights and /factors/k [random]", set_init},
    {"seed", 0, "N", "a whole number", "seed of random numbers; the same gives the same [1]",
     set_seed},
    {"precision", 0, "float|double", "float or double", "of values and factors in memory [float]",
     set_precision},
    {"output", 'o', "FILE", "a file's name",
     "output file [cpd: the input's stem + .cpd.h5; plot: the same + .svg]; of several R, each is "
     "named with .rR before the suffix",
     set_output},
    {"nowrite", 0, NULL, "", "write no result file", set_nowrite},
    {"backend", 0, "auto|cuda|cpu", "auto, cuda or cpu",
     "compute on GPUs or CPUs [auto: GPUs where "
     "every rank has one]",
     set_backend},
    {"threads", 't', "N", "a whole number from 1 to 4096",
     "CPU threads of a rank [the node's cores, shared by its ranks]", set_threads},
    {"read", 0, "root|parallel", "root or parallel",
     "who reads the input: rank 0 for all, or all ranks, a part each [root]", set_read},
    {"residency", 0, "auto|resident|stream", "auto, resident or stream",
     "where a GPU's share of the tensor stays: on the device, or in pinned host memory and "
     "streamed [auto: on the device as far as it fits, the rest streamed]",
     set_residency},
    {"device-memory", 0, "SIZE", "a size such as 40G or 512M",
     "device memory to use at most, for each rank [what is free]", set_device_memory},
    {"tiles", 0, "auto|off|SIZE", "auto, off, or a size such as 16M",
     "where all copies stay on the GPU, order them by tiles of an input factor, so that gathered "
     "rows come from its cache [auto: where a cost model says that it pays]",
     set_tiles},
    {"placement", 0, "greedy|equal|block", "greedy, equal or block",
     "who computes what: greedy evens out nonzeros and rows, and splits the largest parts where "
     "that helps; equal gives all ranks as many consecutive nonzeros; block whole ranges of "
     "indices "
     "[greedy]",
     set_placement},
    {"overlap", 0, "auto|off|N", "auto, off, or a whole number from 2 to 8",
     "let rows travel in N parts, each while a GPU computes later ones [auto: 4 to 8 where "
     "GPUs have many rows to send]",
     set_overlap},
    {"deterministic", 0, NULL, "",
     "the same bits in every run on as many ranks and threads: sums over ranks in their order, and "
     "a "
     "fixed share of each GPU's memory whatever else is free",
     set_deterministic},
    {"share-gpus", 0, NULL, "", "let several ranks use one GPU", set_share_gpus},
    {"checkpoint", 0, "FILE", "a file's name",
     "save the state of the run as it goes, to FILE, and the one before to FILE.prev; SIGTERM and "
     "SIGUSR1 then save it and stop with exit status 85",
     set_checkpoint},
    {"checkpoint-every", 0, "N|SECONDSs", "a number of sweeps such as 10, or of seconds: 600s",
     "from one checkpoint to the next [10]", set_checkpoint_every},
    {"resume", 0, NULL, "",
     "go on from --checkpoint's file; where there is none yet, start from the beginning",
     set_resume},
    {"plan", 0, NULL, "", "print the plan and the memory it needs, run nothing", set_plan},
    {"trace", 0, "FILE", "a file's name",
     "also write what every rank did when, for ui.perfetto.dev or chrome://tracing", set_trace},
    {"hang-timeout", 0, "SECONDS", "a number of seconds from 1 to 1000000",
     "where no rank of a node takes a step for so long while others wait for it, say which did not "
     "arrive, and end the job; a step is a phase such as MTTKRP of a mode, or a slab that is read "
     "or written [never]",
     set_hang_timeout},
    {"kernel", 0, "sorted|published", "sorted or published",
     "MTTKRP kernel: ours, or AMPED's Algorithm 2 as published (GPUs only) [sorted]", set_kernel},
    {"repeat", 0, "N", "a whole number from 1 to 100000", "timed passes over all modes [5]",
     set_repeat},
    {"index-base", 0, "auto|0|1", "auto, 0 or 1",
     "first index of text input [auto: 1, unless a header says otherwise]", set_index_base},
    {"dims", 0, "AxBxC...", "3 to 8 dimensions such as 10x20x30",
     "dimensions [convert: the largest indices]", set_dims},
    {"keys", 0, "COL,...", "column names separated by commas",
     "columns of a table that become modes, in this order [all but --value]", set_keys},
    {"value", 0, "COL", "a column name", "column of a table that holds the values [each row is 1]",
     set_value},
    {"duplicates", 0, "sum|error|keep", "sum, error or keep",
     "what to do with repeated coordinates [sum]", set_duplicates},
    {"drop-zeros", 0, NULL, "", "leave out entries whose value is zero [they are kept]",
     set_drop_zeros},
    {"copies", 0, "all|none", "all or none",
     "write one ordered copy a mode, or a single list that cpd orders whenever it starts [all]",
     set_copies},
    {"memory", 0, "SIZE", "a size such as 40G or 512M, at least 1M",
     "memory for nonzeros; what is above is sorted on disk [3/4 of what is free]", set_memory},
    {"temporary", 0, "DIR", "a folder's name",
     "folder of temporary files, where they are needed [the output's]", set_temporary},
    {"verify", 0, NULL, "", "read and check all of the file", set_verify},
    {"system", 0, NULL, "",
     "tell what all ranks find where they run: MPI and whether it takes GPU memory, libraries, "
     "GPUs and their links, which GPU, cores and memory each rank has",
     set_system},
    {"top", 'n', "N", "a whole number from 1", "leading labels of every mode to show [10]",
     set_top},
    {"nnz", 0, "N", "a whole number such as 1000000 or 1M", "nonzeros to draw", set_nnz},
    {"skew", 0, "S,...", "numbers from 0 to 10 separated by commas",
     "Zipf exponent for all modes, or one a mode; 0 is uniform [0]", set_skew},
    {"planted", 0, "R", "a whole number from 1 to 1024",
     "draw the tensor from a known model of R components, written beside it", set_planted},
    {"noise", 0, "X", "a number from 0",
     "standard deviation of added noise over the values' root mean square [0]", set_noise},
    {"shape", 0, "amazon|patents|reddit|twitch|nell2", "a name",
     "dimensions, nonzeros and skew of one of the papers' tensors", set_shape},
    {"scale", 0, "X", "a number above 0", "shrink (or grow) a shape's nonzeros and dimensions [1]",
     set_scale},
    {"values", 0, "real|counts", "real or counts",
     "values of a shape's nonzeros: real, or few distinct counts [as in the paper's tensor]",
     set_values},
    {"json", 0, "FILE", "a file's name or -",
     "also write JSON lines; - is standard output (the text then goes to standard error)",
     set_json},
    {"progress", 0, "auto|never|always", "auto, never or always",
     "live progress [auto: on a terminal]", set_progress},
    {"verbose", 'v', NULL, "", "say more", set_verbose},
    {"quiet", 'q', NULL, "", "say nothing but warnings and errors", set_quiet},
};

#define ROWS (sizeof rows / sizeof rows[0])
#define COMMON_OPTIONS " json progress verbose quiet"

static bool takes(const amped_command *command, const char *name) {
  size_t n = strlen(name);
  const char *lists[] = {command->options, COMMON_OPTIONS};
  for (size_t l = 0; l < 2; l++)
    for (const char *at = lists[l]; *at != '\0';) {
      size_t word = strcspn(at, " ");
      if (word == n && strncmp(at, name, n) == 0)
        return true;
      at += word + (at[word] == ' ');
    }
  return false;
}

/* ---- nearest names ------------------------------------------------------------------------- */

static size_t least(size_t a, size_t b) {
  return a < b ? a : b;
}

/* Edit distance (Levenshtein 1966) of two short words. */
static size_t distance(const char *a, const char *b) {
  size_t row[64];
  size_t n = strlen(b);
  if (n >= 64 || strlen(a) >= 64)
    return 64;
  for (size_t j = 0; j <= n; j++)
    row[j] = j;
  for (size_t i = 1; a[i - 1] != '\0'; i++) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= n; j++) {
      size_t above = row[j];
      row[j] = least(least(row[j], row[j - 1]) + 1, diagonal + (a[i - 1] != b[j - 1]));
      diagonal = above;
    }
  }
  return row[n];
}

/* Near enough to be meant: at most half of the letters differ, or it is the beginning. */
static bool is_near(const char *name, const char *candidate) {
  size_t n = strlen(name);
  return distance(name, candidate) <= (n + 1) / 2 || (n > 1 && strncmp(name, candidate, n) == 0);
}

/* "did you mean --rank? " into a buffer, "" where no option is near. */
static const char *suggest_option(char *text, size_t size, const amped_command *command,
                                  const char *name) {
  const char *best = NULL;
  text[0] = '\0';
  for (size_t i = 0; i < ROWS; i++)
    if (takes(command, rows[i].name) && is_near(name, rows[i].name) &&
        (best == NULL || distance(name, rows[i].name) < distance(name, best)))
      best = rows[i].name;
  if (best != NULL)
    (void)snprintf(text, size, "did you mean --%s? ", best);
  return text;
}

/* The same for a command. */
static const char *suggest_command(char *text, size_t size, const char *name) {
  const char *best = NULL;
  text[0] = '\0';
  for (const amped_command *c = amped_commands; c->name != NULL; c++)
    if (is_near(name, c->name) && (best == NULL || distance(name, c->name) < distance(name, best)))
      best = c->name;
  if (best != NULL)
    (void)snprintf(text, size, "did you mean '%s'? ", best);
  return text;
}

static const amped_command *find_command(const char *name) {
  for (const amped_command *c = amped_commands; c->name != NULL; c++)
    if (strcmp(c->name, name) == 0)
      return c;
  return NULL;
}

/* ---- help ---------------------------------------------------------------------------------- */

/* Print text wrapped to 80 columns, `indent` columns in, the first line already at `column`. */
static void print_wrapped(const char *text, int indent, int column) {
  while (*text != '\0') {
    int word = (int)strcspn(text, " \n");
    if (column > indent && column + 1 + word > 79) {
      printf("\n%*s", indent, "");
      column = indent;
    } else if (column > indent) {
      putchar(' ');
      column++;
    }
    printf("%.*s", word, text);
    column += word;
    text += word;
    if (*text == '\n') {
      printf("\n%*s", indent, "");
      column = indent;
    }
    text += *text != '\0';
  }
  putchar('\n');
}

static void print_option(char letter, const char *name, const char *value, const char *help) {
  char left[80];
  int n =
      snprintf(left, sizeof left, "  %c%c%c --%s%s%s", letter ? '-' : ' ', letter ? letter : ' ',
               letter ? ',' : ' ', name, value != NULL ? "=" : "", value != NULL ? value : "");
  fputs(left, stdout);
  if (n > 26) {
    putchar('\n');
    n = 0;
  }
  printf("%*s", 28 - n, "");
  print_wrapped(help, 28, 28);
}

static void print_command_help(const amped_command *command) {
  printf("Usage: %samped_mpi %s [OPTION]... %s\n", command->parallel ? "[mpirun -np RANKS] " : "",
         command->name, command->arguments);
  print_wrapped(command->summary, 0, 0);
  printf("\nOptions [defaults]:\n");
  for (size_t i = 0; i < ROWS; i++)
    if (takes(command, rows[i].name))
      print_option(rows[i].letter, rows[i].name, rows[i].value, rows[i].help);
  print_option('h', "help", NULL, "print this and exit");
  if (command->help != NULL) {
    putchar('\n');
    fputs(command->help, stdout);
  }
}

static void print_program_help(void) {
  printf("Usage: [mpirun -np RANKS] amped_mpi [COMMAND] [OPTION]... FILE...\n"
         "CP decomposition of sparse tensors on many GPUs, or CPU cores.\n\n"
         "Commands (without one, FILE is decomposed as by cpd):\n");
  for (const amped_command *c = amped_commands; c->name != NULL; c++) {
    char left[64];
    int n = snprintf(left, sizeof left, "  %s %s", c->name, c->arguments);
    printf("%s%*s", left, n < 28 ? 28 - n : 1, "");
    print_wrapped(c->summary, 28, 28);
  }
  printf("\nOptions of all commands:\n");
  for (size_t i = 0; i < ROWS; i++)
    if (strstr(COMMON_OPTIONS, rows[i].name) != NULL)
      print_option(rows[i].letter, rows[i].name, rows[i].value, rows[i].help);
  print_option('h', "help", NULL, "print this, or with a command its options, and exit");
  print_option('V', "version", NULL, "print the version and exit");
  printf("\nExit status: 0 done; 1 the run failed; 2 wrong usage; 3 bad input; 85 stopped on\n"
         "a signal, with a checkpoint or with the results finished so far.\n\n"
         "Examples:\n"
         "  amped_mpi convert ratings.csv ratings.h5 --keys=user,item,week --value=stars\n"
         "  mpirun -np 4 amped_mpi ratings.h5 --rank=16\n"
         "  amped_mpi top ratings.cpd.h5\n");
}

static void print_version(void) {
  const char *revision = amped_revision();
  printf("amped_mpi %s%s%s%s\n", amped_version(), *revision ? " (" : "", revision,
         *revision ? ")" : "");
  printf("backends:");
  for (int i = 0; amped_backend_list(i) != NULL; i++)
    printf(" %s", amped_backend_list(i)->name);
  printf("\n");
}

/* ---- parsing ------------------------------------------------------------------------------- */

static void set_defaults(opts *o) {
  memset(o, 0, sizeof *o);
  o->verbosity = AMPED_NORMAL;
  o->session.ncomps = 32;
  o->session.ncomps_list[0] = o->session.ncomps;
  o->session.ncomps_count = 1;
  o->session.starts = 1;
  o->cpd.iters = 50;
  o->cpd.tol = -1.0; /* of the tensor: amped_options_check */
  o->seed = 1;
  o->session.backend.name = "auto";
  o->session.precision = AMPED_F32;
  o->repeat = 5;
  o->read.index_base = AMPED_BASE_AUTO;
  o->top = 10;
  o->session.shape.scale = 1.0;
}

/* The command that the first argument names, or cpd where it is a file; skips it in that case. */
static amped_status choose_command(int *argc, char ***argv, opts *o) {
  const char *first = *argc > 1 ? (*argv)[1] : "";
  o->command = find_command(first);
  if (o->command != NULL) {
    (*argc)--;
    (*argv)++;
    return AMPED_OK;
  }
  o->command = find_command("cpd");
  /* A word that is no option, no existing file and looks like none was meant as a command. */
  if (*argc > 1 && first[0] != '-' && strpbrk(first, "./") == NULL) {
    FILE *file = fopen(first, "re");
    char meant[64];
    if (file == NULL)
      return amped_error(AMPED_USAGE, NULL,
                         "no command and no file is called '%s'; %ssee amped_mpi --help", first,
                         suggest_command(meant, sizeof meant, first));
    (void)fclose(file);
  }
  return AMPED_OK;
}

static amped_status refuse_option(const amped_command *command, const char *argument) {
  char name[64];
  char meant[64];
  size_t n = strcspn(argument, "=");
  if (n >= sizeof name)
    n = sizeof name - 1;
  memcpy(name, argument, n);
  name[n] = '\0';
  const char *bare = name + strspn(name, "-");
  for (size_t i = 0; i < ROWS; i++)
    if (strcmp(bare, rows[i].name) == 0 ||
        (bare[0] == rows[i].letter && bare[0] != '\0' && bare[1] == '\0'))
      return amped_error(AMPED_USAGE, NULL, "%s has no option %s; see amped_mpi %s --help",
                         command->name, name, command->name);
  if (strcmp(bare, "help") == 0 || strcmp(bare, "version") == 0)
    return amped_error(AMPED_USAGE, NULL, "%s takes no value", name);
  return amped_error(AMPED_USAGE, NULL, "no option %s; %ssee amped_mpi %s --help", name,
                     suggest_option(meant, sizeof meant, command, bare), command->name);
}

static amped_status apply(opts *o, const option_row *row, const char *value) {
  if (row->set(o, value))
    return AMPED_OK;
  return amped_error(AMPED_USAGE, NULL, "--%s=%s: %s is expected; see amped_mpi %s --help",
                     row->name, value, row->expects, o->command->name);
}

static amped_status check_arguments(int argc, char **argv, opts *o) {
  for (int i = optind; i < argc; i++) {
    if (o->nargs == o->command->max_args)
      return amped_error(AMPED_USAGE, NULL, "too many files: '%s'; usage: amped_mpi %s %s", argv[i],
                         o->command->name, o->command->arguments);
    o->args[o->nargs++] = argv[i];
  }
  if (o->nargs < o->command->min_args)
    return amped_error(AMPED_USAGE, NULL,
                       "%s is missing; usage: amped_mpi %s %s; see amped_mpi --help",
                       (o->nargs == 0 && o->command->arguments[0] != 'O') ||
                               strstr(o->command->arguments, "OUT") == NULL
                           ? "the input file"
                           : "the output file",
                       o->command->name, o->command->arguments);
  return AMPED_OK;
}

/* getopt's view of the options that the command takes; val is the row number + 256. */
static void make_tables(const amped_command *command, struct option *longs, char *shorts) {
  size_t n = 0;
  char *s = shorts;
  *s++ = ':';
  for (size_t i = 0; i < ROWS; i++) {
    if (!takes(command, rows[i].name))
      continue;
    int argument = rows[i].value != NULL ? required_argument : no_argument;
    longs[n++] = (struct option){rows[i].name, argument, NULL, (int)i + 256};
    if (rows[i].letter != 0) {
      *s++ = rows[i].letter;
      if (argument == required_argument)
        *s++ = ':';
    }
  }
  *s++ = 'h';
  *s++ = 'V';
  *s = '\0';
  longs[n++] = (struct option){"help", no_argument, NULL, 'h'};
  longs[n++] = (struct option){"version", no_argument, NULL, 'V'};
  memset(&longs[n], 0, sizeof longs[n]);
}

amped_status amped_options_parse(int argc, char **argv, amped_options *o, bool *done) {
  struct option longs[ROWS + 3];
  char shorts[2 * ROWS + 8];
  bool named = false;
  *done = false;
  set_defaults(o);
  AMPED_TRY(choose_command(&argc, &argv, o));
  named = find_command(argv[0]) == o->command;
  make_tables(o->command, longs, shorts);
  opterr = 0;
  optind = 1;
  for (;;) {
    int c = getopt_long(argc, argv, shorts, longs, NULL);
    if (c == -1)
      break;
    if (c == 'h' || c == 'V') {
      if (c == 'V')
        print_version();
      else if (named)
        print_command_help(o->command);
      else
        print_program_help();
      *done = true;
      return AMPED_OK;
    }
    if (c == ':')
      return amped_error(AMPED_USAGE, NULL, "%s needs a value; see amped_mpi %s --help",
                         argv[optind - 1], o->command->name);
    if (c == '?') {
      char letter[3] = {'-', (char)optopt, '\0'};
      const char *bad = argv[optind - 1]; /* getopt moves files behind options */
      if (optopt >= 256)                  /* a value for an option that takes none */
        return amped_error(AMPED_USAGE, NULL, "--%s takes no value", rows[optopt - 256].name);
      return refuse_option(o->command, optopt != 0 && strncmp(bad, "--", 2) != 0 ? letter : bad);
    }
    const option_row *row = c >= 256 ? &rows[c - 256] : NULL;
    for (size_t i = 0; i < ROWS && row == NULL; i++)
      if (rows[i].letter == c)
        row = &rows[i];
    AMPED_TRY(apply(o, row, optarg != NULL ? optarg : ""));
  }
  return check_arguments(argc, argv, o);
}
