/* Backend options: --backend, --copies, --kernel, --products and related rows. */
#include "backend/backend_options.h"

static const char *const tiles_words[] = {"auto", "off", NULL};

static bool parse_tiles(void *options, const char *text) {
  amped_backend_options *o = options;
  int word = amped_parse_word(text, tiles_words);
  if (word < 0)
    return amped_parse_bytes(text, &o->tile_bytes) && o->tile_bytes > 0;
  o->tile_bytes = word == 0 ? 0 : UINT64_MAX;
  return true;
}

static const amped_option backend_rows[] = {
    {.name = "backend",
     .type = AMPED_OPTION_NAME,
     .words = AMPED_OPTION_WORDS("auto", "cuda", "cpu"),
     .help = "compute on GPUs or CPUs",
     .initial = "auto",
     .initially = "auto: GPUs if any rank has one; then all must",
     AMPED_OPTION_FIELD(amped_backend_options, name)},
    {.name = "residency",
     .type = AMPED_OPTION_WORD,
     .words = AMPED_OPTION_WORDS("auto", "resident", "stream"),
     .numbers = AMPED_OPTION_NUMBERS(AMPED_RESIDENCY_AUTO, AMPED_RESIDENCY_RESIDENT,
                                     AMPED_RESIDENCY_STREAM),
     .help = "keep nonzeros on the GPU, or stream them from the host",
     .initial = "auto",
     .initially = "auto: stream what does not fit",
     AMPED_OPTION_FIELD(amped_backend_options, residency)},
    {.name = "device-memory",
     .type = AMPED_OPTION_BYTES,
     .least = 1,
     .value = "SIZE",
     .help = "largest device memory per rank",
     .initially = "all that is free",
     AMPED_OPTION_FIELD(amped_backend_options, device_memory)},
    {.name = "tiles",
     .type = AMPED_OPTION_CUSTOM,
     .words = tiles_words,
     .parse = parse_tiles,
     .value = "auto|off|SIZE",
     .help = "sort nonzeros in tiles, so that factor rows stay in the GPU's cache",
     .initial = "auto",
     .initially = "auto: if predicted faster",
     .expected_text = "auto, off, or a size such as 16M"},
    {.name = "deterministic",
     .type = AMPED_OPTION_FLAG,
     .help = "give the same bits in every run with the same number of ranks and threads",
     .initially = "off",
     AMPED_OPTION_FIELD(amped_backend_options, deterministic)},
    {.name = "share-gpus",
     .type = AMPED_OPTION_FLAG,
     .help = "let several ranks use one GPU",
     AMPED_OPTION_FIELD(amped_backend_options, share_gpus)},
};

static const amped_option copies_rows[] = {
    {.name = "copies",
     .type = AMPED_OPTION_WORD,
     .words = AMPED_OPTION_WORDS("auto", "all", "one"),
     .numbers = AMPED_OPTION_NUMBERS(AMPED_COPIES_AUTO, AMPED_COPIES_ALL, AMPED_COPIES_ONE),
     .help = "a sorted copy of the nonzeros per mode, or one for all",
     .initial = "auto",
     .initially = "auto: all if they fit, else the fastest",
     AMPED_OPTION_FIELD(amped_backend_options, copies)},
};

static const amped_option kernel_rows[] = {
    {.name = "kernel",
     .type = AMPED_OPTION_NAME,
     .words = AMPED_OPTION_WORDS("sorted", "published"),
     .help = "MTTKRP kernel: ours, or AMPED's Algorithm 2 as published (GPUs only)",
     .initial = "sorted",
     AMPED_OPTION_FIELD(amped_backend_options, format)},
};

static const amped_option products_rows[] = {
    {.name = "products",
     .type = AMPED_OPTION_WORD,
     .words = AMPED_OPTION_WORDS("exact", "tf32"),
     .numbers = AMPED_OPTION_NUMBERS(0, 1),
     .help = "dense tensors: multiply in full precision, or in TF32 on GPUs except in the last fit",
     .initial = "exact",
     AMPED_OPTION_FIELD(amped_backend_options, tf32)},
};

const amped_option_group amped_backend_option_rows = AMPED_OPTION_GROUP(backend_rows);
const amped_option_group amped_copies_option_rows = AMPED_OPTION_GROUP(copies_rows);
const amped_option_group amped_kernel_option_rows = AMPED_OPTION_GROUP(kernel_rows);
const amped_option_group amped_products_option_rows = AMPED_OPTION_GROUP(products_rows);
