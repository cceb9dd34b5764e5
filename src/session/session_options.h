/* Session options: the user's options of the tensor, of the ranks and of their reports. Strings are
 * borrowed from argv. */
#ifndef AMPED_SESSION_OPTIONS_H
#define AMPED_SESSION_OPTIONS_H

#include "backend/backend_options.h"
#include "base/option.h"
#include "generate/shape_options.h"
#include "plan/plan_options.h"
#include "text/read_options.h"

/* Most numbers of components in a run, and most random starts of each. */
#define AMPED_MAX_NCOMPS_COUNT 64
#define AMPED_MAX_STARTS 1000

/* What is read of a file with ordered copies. */
typedef enum amped_load { AMPED_LOAD_AUTO, AMPED_LOAD_COPIES, AMPED_LOAD_LIST } amped_load;

/* Who reads the input. AUTO: rank 0 a sparse tensor, every rank its slab of a dense one. */
typedef enum amped_readers {
  AMPED_READERS_AUTO,
  AMPED_READERS_ROOT,
  AMPED_READERS_ALL
} amped_readers;

/* A dense tensor that a command makes: bench in memory, convert and generate in a file. */
typedef struct amped_cells_options {
  bool made;
  amped_vtype type; /* of its cells; 0: not given, which is float */
  int order;        /* the command sets order and dims from --dims; no options of the user */
  uint64_t dims[AMPED_MAX_ORDER];
} amped_cells_options;

typedef struct amped_session_options {
  const char *command;            /* its name */
  const char *input;              /* file, or the shape's name */
  const amped_read_options *read; /* how a text or table is read */
  const char *json;               /* file, "-" for standard output, or NULL */
  const char *init;               /* file of the factors to start from; NULL: random */
  bool overwrite;                 /* any file in the place of an output */
  bool force_init;                /* even if its content hash is wrong */
  uint64_t seed;
  int ncomps;                              /* the largest of the list */
  int ncomps_list[AMPED_MAX_NCOMPS_COUNT]; /* as the user gave them, each once */
  int ncomps_count;
  int starts;  /* of every number of components */
  bool biased; /* factors have a column of biases behind their components: the command sets it; no
                  option of the user */
  bool own_input; /* the command reads its input by itself; no option of the user */
  amped_vtype precision;
  amped_readers readers;
  const char *dataset; /* of a foreign HDF5 file, that holds a dense tensor; NULL: the only one */
  amped_load load;
  bool plan_only;
  const char *trace;   /* file, or NULL */
  double hang_timeout; /* seconds, 0: never */
  amped_shape_options shape;
  amped_cells_options cells;
  amped_plan_options plan;
  amped_backend_options backend;
} amped_session_options;

extern const amped_option_group amped_session_option_rows; /* --rank, --precision, --read, --load */
extern const amped_option_group amped_start_option_rows;   /* --starts, --init, --force-init */
extern const amped_option_group amped_watch_option_rows;   /* --trace, --hang-timeout */
extern const amped_option_group amped_plan_only_option_rows; /* --plan */
extern const amped_option_group amped_dataset_option_rows;   /* --dataset */
extern const amped_option_group amped_dense_option_rows;     /* --dense */
extern const amped_option_group amped_cell_type_option_rows; /* --type */

#endif
