/* The option rows for tensor, ranks, starts, trace and watchdog. */
#include "session/session_options.h"

#include <string.h>

#include "base/number_list.h"

/* Words of --side-by-side, whose values are 0 and 1 models. */
static const char *const side_words[] = {"auto", "off", NULL};

/* Parse a list of numbers and ranges of components. */
static bool parse_rank(void *options, const char *text) {
  amped_session_options *o = options;
  amped_number_list list;
  if (!amped_number_list_parse(text, &list) || list.count > AMPED_MAX_NCOMPS_COUNT)
    return false;
  o->ncomps = 0;
  o->ncomps_count = list.count;
  for (int i = 0; i < list.count; i++) {
    o->ncomps_list[i] = list.numbers[i];
    o->ncomps = list.numbers[i] > o->ncomps ? list.numbers[i] : o->ncomps;
  }
  return true;
}

/* Parse the name of the trace file. Standard output cannot take a trace. */
static bool parse_trace(void *options, const char *text) {
  ((amped_session_options *)options)->trace = text;
  return *text != '\0' && strcmp(text, "-") != 0;
}

/* Parse the start of cpd. A file that is called like a word is named with a path: ./normal. */
static bool parse_init(void *options, const char *text) {
  amped_session_options *o = options;
  o->init_normal = strcmp(text, AMPED_INIT_NORMAL) == 0;
  o->init = o->init_normal || strcmp(text, AMPED_INIT_RANDOM) == 0 ? NULL : text;
  return *text != '\0';
}

/* Parse the start of complete, which has no choice between random starts. */
static bool parse_complete_init(void *options, const char *text) {
  return parse_init(options, text) && !((amped_session_options *)options)->init_normal;
}

const char *amped_init_word(bool normal) {
  return normal ? AMPED_INIT_NORMAL : AMPED_INIT_RANDOM;
}

const char *amped_init_name(const amped_session_options *o) {
  return o->init != NULL ? o->init : amped_init_word(o->init_normal);
}

static const amped_option session_rows[] = {
    {.name = "rank",
     .letter = 'r',
     .type = AMPED_OPTION_CUSTOM,
     .parse = parse_rank,
     .value = "R,...",
     .help = "number of components R",
     .initial = "32",
     .expected_text =
         "numbers from 1 to 1024 and ranges such as 4,8 or 2-8, each number once, at most 64"},
    {.name = "precision",
     .type = AMPED_OPTION_WORD,
     .words = AMPED_OPTION_WORDS("float", "double"),
     .numbers = AMPED_OPTION_NUMBERS(AMPED_F32, AMPED_F64),
     .help = "precision of values and factors in memory",
     .initial = "float",
     AMPED_OPTION_FIELD(amped_session_options, precision)},
    {.name = "read",
     .type = AMPED_OPTION_WORD,
     .words = AMPED_OPTION_WORDS("auto", "root", "parallel"),
     .numbers = AMPED_OPTION_NUMBERS(AMPED_READERS_AUTO, AMPED_READERS_ROOT, AMPED_READERS_ALL),
     .help = "who reads the input: rank 0, or all ranks a part each",
     .initial = "auto",
     .initially = "auto: all ranks if dense",
     AMPED_OPTION_FIELD(amped_session_options, readers)},
    {.name = "load",
     .type = AMPED_OPTION_WORD,
     .words = AMPED_OPTION_WORDS("auto", "copies", "list"),
     .numbers = AMPED_OPTION_NUMBERS(AMPED_LOAD_AUTO, AMPED_LOAD_COPIES, AMPED_LOAD_LIST),
     .help = "read all sorted copies from the file, or one and sort the others",
     .initial = "auto",
     .initially = "auto: one if GPUs have room",
     AMPED_OPTION_FIELD(amped_session_options, load)},
};

static const amped_option watch_rows[] = {
    {.name = "trace",
     .type = AMPED_OPTION_CUSTOM,
     .once = true,
     .parse = parse_trace,
     .value = "FILE",
     .help = "also write what each rank did when, for ui.perfetto.dev or chrome://tracing",
     .expected_text = "a file's name"},
    {.name = "hang-timeout",
     .type = AMPED_OPTION_REAL,
     .least = 1.0,
     .most = 1e6,
     .value = "SECONDS",
     .help = "end the job if no rank of a node advances for this long, and name the missing rank",
     .initially = "never",
     .expected_text = "a number of seconds from 1 to 1000000",
     AMPED_OPTION_FIELD(amped_session_options, hang_timeout)},
};

/* Parse the number of models side by side. */
static bool parse_side_by_side(void *options, const char *text) {
  amped_session_options *o = options;
  const int word = amped_parse_word(text, side_words);
  if (word < 0)
    return amped_parse_int(text, 2, AMPED_MAX_NCOMPS, &o->side_by_side);
  o->side_by_side = word;
  return true;
}

static const amped_option start_rows[] = {
    {.name = "starts",
     .type = AMPED_OPTION_INT,
     .least = 1,
     .most = AMPED_MAX_STARTS,
     .value = "K",
     .help = "random starts with seeds --seed, --seed + 1, ...; the best is the result",
     .initial = "1",
     AMPED_OPTION_FIELD(amped_session_options, starts)},
    {.name = "force-init",
     .type = AMPED_OPTION_FLAG,
     .help = "use the file of --init even if its content hash does not match",
     AMPED_OPTION_FIELD(amped_session_options, force_init)},
    {.name = "fix",
     .type = AMPED_OPTION_TEXT,
     .value = "MODE,...",
     .help = "keep the factors of these modes (names or numbers) as they are in the file of --init",
     .initially = "fit all modes",
     .expected_text = "modes by name or by number from 1, such as 1,3",
     AMPED_OPTION_FIELD(amped_session_options, fix)},
};

static const amped_option side_rows[] = {
    {.name = "side-by-side",
     .type = AMPED_OPTION_CUSTOM,
     .words = side_words,
     .parse = parse_side_by_side,
     .value = "auto|off|N",
     .help = "sweep at most N models of several R or starts together, in one pass over the tensor",
     .initial = "auto",
     .initially = "auto: as many as take the least time and fit",
     .expected_text = "auto, off, or a whole number from 2 to 1024"},
};

static const amped_option init_rows[] = {
    {.name = "init",
     .type = AMPED_OPTION_CUSTOM,
     .once = true,
     .words = AMPED_OPTION_WORDS(AMPED_INIT_RANDOM, AMPED_INIT_NORMAL),
     .parse = parse_init,
     .value = "random|normal|FILE",
     .help = "start from factors that are uniform on 0 to 1 (random), normal (both signs), or "
             "those of a file with /weights and /factors/k",
     .initial = AMPED_INIT_RANDOM,
     .initially = "random; starts 2, 4, ... of several normal",
     .expected_text = "random, normal or a file's name"},
};

static const amped_option complete_init_rows[] = {
    {.name = "init",
     .type = AMPED_OPTION_CUSTOM,
     .once = true,
     .words = AMPED_OPTION_WORDS(AMPED_INIT_RANDOM),
     .parse = parse_complete_init,
     .value = "random|FILE",
     .help = "start from random factors, or from a file with /weights and /factors/k",
     .initial = AMPED_INIT_RANDOM,
     .expected_text = "random, or a file's name (./normal if it is called normal)"},
};

static const amped_option plan_only_rows[] = {
    {.name = "plan",
     .type = AMPED_OPTION_FLAG,
     .help = "print the plan and the memory that it needs; compute nothing",
     AMPED_OPTION_FIELD(amped_session_options, plan_only)},
};

static const amped_option dataset_rows[] = {
    {.name = "dataset",
     .type = AMPED_OPTION_TEXT,
     .value = "PATH",
     .help = "dataset of an HDF5 file of another program",
     .initially = "the only one of 3 to 8 dimensions; a matrix must be named",
     .expected_text = "the path of a dataset, such as /group/x",
     AMPED_OPTION_FIELD(amped_session_options, dataset)},
};

static const amped_option dense_rows[] = {
    {.name = "dense",
     .type = AMPED_OPTION_FLAG,
     .help = "write a dense tensor: all cells",
     .initially = "sparse",
     AMPED_OPTION_FIELD(amped_cells_options, made)},
};

static const amped_option cell_type_rows[] = {
    {.name = "type",
     .type = AMPED_OPTION_WORD,
     .words = AMPED_OPTION_WORDS("float", "double"),
     .numbers = AMPED_OPTION_NUMBERS(AMPED_F32, AMPED_F64),
     .help = "type of the cells that --dense makes",
     .initially = "float",
     AMPED_OPTION_FIELD(amped_cells_options, type)},
};

const amped_option_group amped_session_option_rows = AMPED_OPTION_GROUP(session_rows);
const amped_option_group amped_watch_option_rows = AMPED_OPTION_GROUP(watch_rows);
const amped_option_group amped_side_option_rows = AMPED_OPTION_GROUP(side_rows);
const amped_option_group amped_start_option_rows = AMPED_OPTION_GROUP(start_rows);
const amped_option_group amped_init_option_rows = AMPED_OPTION_GROUP(init_rows);
const amped_option_group amped_complete_init_option_rows = AMPED_OPTION_GROUP(complete_init_rows);
const amped_option_group amped_plan_only_option_rows = AMPED_OPTION_GROUP(plan_only_rows);
const amped_option_group amped_dataset_option_rows = AMPED_OPTION_GROUP(dataset_rows);
const amped_option_group amped_dense_option_rows = AMPED_OPTION_GROUP(dense_rows);
const amped_option_group amped_cell_type_option_rows = AMPED_OPTION_GROUP(cell_type_rows);
