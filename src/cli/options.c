/* Option rows that belong to no folder, and the table of all groups. */
#include "cli/options.h"

#include <assert.h>
#include <string.h>

/* ---- options of no folder ---------------------------------------------------------------- */

static const amped_option json_rows[] = {
    {.name = "json",
     .type = AMPED_OPTION_TEXT,
     .once = true,
     .value = "FILE",
     .help =
         "also write JSON lines to FILE; with -, to standard output, and text to standard error",
     .expected_text = "a file's name or -",
     AMPED_OPTION_FIELD(amped_options, json)},
};

static const amped_option overwrite_rows[] = {
    {.name = "overwrite",
     .type = AMPED_OPTION_FLAG,
     .help = "replace any file that has the name of an output",
     .initially = "only results and tensors of the same nonzeros, plots, --json, traces",
     AMPED_OPTION_FIELD(amped_options, overwrite)},
};

static const amped_option threads_rows[] = {
    {.name = "threads",
     .letter = 't',
     .type = AMPED_OPTION_INT,
     .least = 1,
     .most = 4096,
     .value = "N",
     .help = "CPU threads per rank",
     .initially = "the node's cores, shared by its ranks",
     AMPED_OPTION_FIELD(amped_options, threads)},
};

static const amped_option seed_rows[] = {
    {.name = "seed",
     .type = AMPED_OPTION_COUNT,
     .value = "N",
     .help = "seed of random numbers",
     .initial = "1",
     AMPED_OPTION_FIELD(amped_options, seed)},
};

static const amped_option output_rows[] = {
    {.name = "output",
     .letter = 'o',
     .type = AMPED_OPTION_TEXT,
     .once = true,
     .value = "FILE",
     .help = "output file",
     .initially = "none",
     AMPED_OPTION_FIELD(amped_options, output)},
};

static const amped_option nowrite_rows[] = {
    {.name = "nowrite",
     .type = AMPED_OPTION_FLAG,
     .help = "write no result file",
     AMPED_OPTION_FIELD(amped_options, nowrite)},
};

static const amped_option top_rows[] = {
    {.name = "top",
     .letter = 'n',
     .type = AMPED_OPTION_INT,
     .least = 1,
     .most = 1000000,
     .value = "N",
     .help = "labels to show for each mode",
     .initial = "10",
     AMPED_OPTION_FIELD(amped_options, top)},
};

static const amped_option lift_rows[] = {
    {.name = "lift",
     .type = AMPED_OPTION_FLAG,
     .help = "of counts: order by share x log(share / the label's share in the whole model)",
     .initially = "order by share",
     AMPED_OPTION_FIELD(amped_options, lift)},
};

static const amped_option width_rows[] = {
    {.name = "width",
     .type = AMPED_OPTION_INT,
     .least = 40,
     .most = 10000,
     .value = "N",
     .help = "characters per line; modes that do not fit follow below",
     .initially = "the terminal's width; else no limit",
     AMPED_OPTION_FIELD(amped_options, width)},
};

static bool parse_components(void *options, const char *text) {
  return amped_number_list_parse(text, &((amped_options *)options)->components);
}

static const amped_option components_rows[] = {
    {.name = "components",
     .type = AMPED_OPTION_CUSTOM,
     .parse = parse_components,
     .value = "LIST",
     .help = "components to show, numbered as in top: 1,4-6",
     .initially = "all",
     .expected_text = AMPED_NUMBER_LIST_EXPECTED},
};

static const amped_option heat_rows[] = {
    {.name = "heat",
     .type = AMPED_OPTION_TEXT,
     .value = "MODE,MODE",
     .help = "for each component a heat map over two modes, across and up, by name or number",
     .initially = "none",
     .expected_text = "two modes such as day,hour",
     AMPED_OPTION_FIELD(amped_options, heat)},
};

static const amped_option bench_rows[] = {
    {.name = "repeat",
     .type = AMPED_OPTION_INT,
     .least = 1,
     .most = 100000,
     .value = "N",
     .help = "number of timed passes over all modes, sweeps or batches",
     .initial = "5",
     AMPED_OPTION_FIELD(amped_options, repeat)},
    {.name = "whole",
     .type = AMPED_OPTION_FLAG,
     .help = "time a whole run of cpd, part by part, and compare each part with its bound",
     AMPED_OPTION_FIELD(amped_options, whole)},
    {.name = "complete",
     .type = AMPED_OPTION_FLAG,
     .help = "time a sweep of complete, and compare it with MTTKRP and its bounds",
     AMPED_OPTION_FIELD(amped_options, epoch)},
    {.name = "loss",
     .type = AMPED_OPTION_WORD,
     .words = AMPED_OPTION_WORDS("squares", "poisson"),
     .help = "poisson: time the passes of cpd --loss=poisson, and compare them with MTTKRP",
     .initial = "squares",
     AMPED_OPTION_FIELD(amped_options, loss)},
    {.name = "stream",
     .type = AMPED_OPTION_COUNT,
     .least = 1,
     .most = 0x1p40,
     .value = "N",
     .help =
         "time stream on batches of N entries, phase by phase; all other entries are learnt first",
     AMPED_OPTION_FIELD(amped_options, batch_nnz)},
};

const amped_option_group amped_json_option_rows = AMPED_OPTION_GROUP(json_rows);
const amped_option_group amped_overwrite_option_rows = AMPED_OPTION_GROUP(overwrite_rows);
const amped_option_group amped_threads_option_rows = AMPED_OPTION_GROUP(threads_rows);
const amped_option_group amped_seed_option_rows = AMPED_OPTION_GROUP(seed_rows);
const amped_option_group amped_output_option_rows = AMPED_OPTION_GROUP(output_rows);
const amped_option_group amped_nowrite_option_rows = AMPED_OPTION_GROUP(nowrite_rows);
const amped_option_group amped_top_option_rows = AMPED_OPTION_GROUP(top_rows);
const amped_option_group amped_lift_option_rows = AMPED_OPTION_GROUP(lift_rows);
const amped_option_group amped_width_option_rows = AMPED_OPTION_GROUP(width_rows);
const amped_option_group amped_components_option_rows = AMPED_OPTION_GROUP(components_rows);
const amped_option_group amped_heat_option_rows = AMPED_OPTION_GROUP(heat_rows);
const amped_option_group amped_bench_option_rows = AMPED_OPTION_GROUP(bench_rows);

/* ---- all groups ---------------------------------------------------------------------------- */

/* A group, and the offset of its struct in amped_options. */
static const struct {
  const amped_option_group *group;
  size_t offset;
} parts[] = {
    {&amped_session_option_rows, offsetof(amped_options, session)},
    {&amped_start_option_rows, offsetof(amped_options, session)},
    {&amped_side_option_rows, offsetof(amped_options, session)},
    {&amped_init_option_rows, offsetof(amped_options, session)},
    {&amped_complete_init_option_rows, offsetof(amped_options, session)},
    {&amped_watch_option_rows, offsetof(amped_options, session)},
    {&amped_plan_only_option_rows, offsetof(amped_options, session)},
    {&amped_dataset_option_rows, offsetof(amped_options, session)},
    {&amped_shape_option_rows, offsetof(amped_options, session.shape)},
    {&amped_values_option_rows, offsetof(amped_options, session.shape)},
    {&amped_dense_option_rows, offsetof(amped_options, session.cells)},
    {&amped_cell_type_option_rows, offsetof(amped_options, session.cells)},
    {&amped_plan_option_rows, offsetof(amped_options, session.plan)},
    {&amped_exchange_option_rows, offsetof(amped_options, session.exchange)},
    {&amped_backend_option_rows, offsetof(amped_options, session.backend)},
    {&amped_copies_option_rows, offsetof(amped_options, session.backend)},
    {&amped_kernel_option_rows, offsetof(amped_options, session.backend)},
    {&amped_products_option_rows, offsetof(amped_options, session.backend)},
    {&amped_sweep_option_rows, offsetof(amped_options, cpd)},
    {&amped_cpd_option_rows, offsetof(amped_options, cpd)},
    {&amped_complete_model_option_rows, offsetof(amped_options, complete)},
    {&amped_complete_option_rows, offsetof(amped_options, complete)},
    {&amped_state_option_rows, offsetof(amped_options, stream)},
    {&amped_history_option_rows, offsetof(amped_options, stream)},
    {&amped_learn_option_rows, offsetof(amped_options, stream)},
    {&amped_stream_option_rows, offsetof(amped_options, stream)},
    {&amped_checkpoint_option_rows, offsetof(amped_options, checkpoint)},
    {&amped_on_signal_option_rows, offsetof(amped_options, checkpoint)},
    {&amped_dims_option_rows, offsetof(amped_options, read)},
    {&amped_duplicates_option_rows, offsetof(amped_options, read)},
    {&amped_read_option_rows, offsetof(amped_options, read)},
    {&amped_axis_option_rows, offsetof(amped_options, axes)},
    {&amped_convert_option_rows, offsetof(amped_options, convert)},
    {&amped_generate_option_rows, offsetof(amped_options, generate)},
    {&amped_info_option_rows, offsetof(amped_options, info)},
    {&amped_clip_option_rows, offsetof(amped_options, clip)},
    {&amped_predict_option_rows, offsetof(amped_options, predict)},
    {&amped_of_option_rows, offsetof(amped_options, recommend)},
    {&amped_for_option_rows, offsetof(amped_options, recommend)},
    {&amped_recommend_option_rows, offsetof(amped_options, recommend)},
    {&amped_exclude_option_rows, offsetof(amped_options, recommend)},
    {&amped_evaluate_option_rows, offsetof(amped_options, evaluate)},
    {&amped_similar_option_rows, offsetof(amped_options, similar)},
    {&amped_log_option_rows, offsetof(amped_options, log)},
    {&amped_json_option_rows, 0},
    {&amped_overwrite_option_rows, 0},
    {&amped_threads_option_rows, 0},
    {&amped_seed_option_rows, 0},
    {&amped_output_option_rows, 0},
    {&amped_nowrite_option_rows, 0},
    {&amped_top_option_rows, 0},
    {&amped_lift_option_rows, 0},
    {&amped_width_option_rows, 0},
    {&amped_components_option_rows, 0},
    {&amped_heat_option_rows, 0},
    {&amped_bench_option_rows, 0},
    {&amped_rbs_option_rows, offsetof(amped_options, rbs)}, /* some names occur elsewhere, too */
};

#define PARTS (sizeof parts / sizeof parts[0])

const amped_option_group *const amped_common_groups[] = {
    &amped_json_option_rows, &amped_overwrite_option_rows, &amped_log_option_rows, NULL};

static int append(const amped_option_group *group, const amped_option **rows, int count) {
  for (int i = 0; i < group->count; i++) {
    assert(count < AMPED_MAX_OPTIONS);
    rows[count++] = &group->rows[i];
  }
  return count;
}

int amped_options_rows(const amped_option_group *const *groups, const amped_option **rows,
                       int count) {
  if (groups == NULL)
    for (size_t p = 0; p < PARTS; p++)
      count = append(parts[p].group, rows, count);
  else
    for (int g = 0; groups[g] != NULL; g++)
      count = append(groups[g], rows, count);
  return count;
}

/* Place of a row in the table of all groups. */
typedef struct place {
  int number; /* among all rows */
  size_t offset;
} place;

static place place_of(const amped_option *row) {
  int number = 0;
  for (size_t p = 0; p < PARTS; p++) {
    const amped_option_group *group = parts[p].group;
    for (int i = 0; i < group->count; i++, number++)
      if (&group->rows[i] == row)
        return (place){number, parts[p].offset};
  }
  assert(false);
  return (place){0, 0};
}

void amped_options_default(amped_options *o) {
  memset(o, 0, sizeof *o);
  for (size_t p = 0; p < PARTS; p++)
    for (int i = 0; i < parts[p].group->count; i++)
      amped_option_default(&parts[p].group->rows[i], (char *)o + parts[p].offset);
}

void amped_options_put(amped_options *o, const amped_option *row, const char *text) {
  const bool taken = amped_option_set(row, (char *)o + place_of(row).offset, text);
  assert(taken);
  (void)taken;
}

bool amped_options_set(amped_options *o, const amped_option *row, const char *text) {
  const place at = place_of(row);
  o->said[at.number] = text;
  return amped_option_set(row, (char *)o + at.offset, text);
}

const char *amped_options_said(const amped_options *o, const amped_option *row) {
  return o->said[place_of(row).number];
}
