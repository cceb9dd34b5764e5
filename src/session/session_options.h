/* Session options: the user's options for the tensor, the ranks and their reports. Strings are
 * borrowed from argv. */
#ifndef AMPED_SESSION_OPTIONS_H
#define AMPED_SESSION_OPTIONS_H

#include "backend/backend_options.h"
#include "base/option.h"
#include "generate/shape_options.h"
#include "mpi/way.h"
#include "plan/plan_options.h"
#include "text/read_options.h"

/* Most numbers of components in a run, and most random starts of each. */
#define AMPED_MAX_NCOMPS_COUNT 64
#define AMPED_MAX_STARTS 1000

/* How a file with ordered copies is read: all its copies, or one of them as a list. AUTO: as a list
 * if GPUs can hold it, else all copies. */
typedef enum amped_load { AMPED_LOAD_AUTO, AMPED_LOAD_COPIES, AMPED_LOAD_LIST } amped_load;

/* The ranks that read the input. AUTO: rank 0 reads a sparse tensor; every rank reads its slab of a
 * dense one. */
typedef enum amped_readers {
  AMPED_READERS_AUTO,
  AMPED_READERS_ROOT,
  AMPED_READERS_ALL
} amped_readers;

/* Words of --init. */
#define AMPED_INIT_RANDOM "random"
#define AMPED_INIT_NORMAL "normal"

/* A dense tensor that a command makes: bench in memory, convert and generate in a file. */
typedef struct amped_cells_options {
  bool made;
  amped_vtype type; /* type of the cells; 0: not given, which means float */
  int order;        /* order and dims come from the command's --dims, not from an option here */
  uint64_t dims[AMPED_MAX_ORDER];
} amped_cells_options;

typedef struct amped_session_options {
  const char *command;            /* name of the command */
  const char *input;              /* file, or the shape's name */
  const amped_read_options *read; /* how a text or table is read */
  char sparse_option[32];         /* first given option that dense tensors do not have; "": none */
  const char *json;               /* file, "-" for standard output, or NULL */
  const char *init;               /* file of the factors to start from; NULL: random */
  const char *fix;                /* modes whose factors stay as in that file; NULL: none */
  bool init_normal;               /* random factors are normal in every start, by the user's wish */
  bool overwrite;                 /* replace any file that has the name of an output */
  bool force_init;                /* use it even if its content hash is wrong */
  uint64_t seed;
  int ncomps;                              /* the largest number in the list */
  int ncomps_list[AMPED_MAX_NCOMPS_COUNT]; /* in the user's order, each once */
  int ncomps_count;
  int starts;        /* random starts for each number of components */
  int side_by_side;  /* most models side by side; 0: the number that costs the least time */
  bool biased;       /* factors end with a column of biases. Set by the command; no option */
  bool lists_cells;  /* a dense input is read as the list of its cells that are not missing. Set by
                        the command; no option */
  bool keeps_result; /* the run writes a result or a state, so that it goes on if the file of --json
                        cannot be written. Set by the command; no option */
  bool own_input;    /* the command reads its input itself. Set by the command; no option */
  amped_vtype precision;
  amped_readers readers;
  const char *dataset; /* name of the dense tensor in another program's HDF5 file; NULL: the only
                          dataset */
  amped_load load;
  bool plan_only;
  const char *trace;   /* file, or NULL */
  double hang_timeout; /* seconds; 0: never */
  amped_shape_options shape;
  amped_cells_options cells;
  amped_plan_options plan;
  amped_exchange_options exchange;
  amped_backend_options backend;
} amped_session_options;

/* The word for a random start; the file or word that --init means. */
const char *amped_init_word(bool normal);
const char *amped_init_name(const amped_session_options *options);

extern const amped_option_group amped_session_option_rows; /* --rank, --precision, --read, --load */
extern const amped_option_group amped_start_option_rows;   /* --starts, --force-init, --fix */
extern const amped_option_group amped_side_option_rows;    /* --side-by-side */
extern const amped_option_group amped_init_option_rows;    /* --init of cpd */
extern const amped_option_group amped_complete_init_option_rows; /* --init of complete */
extern const amped_option_group amped_watch_option_rows;         /* --trace, --hang-timeout */
extern const amped_option_group amped_plan_only_option_rows;     /* --plan */
extern const amped_option_group amped_dataset_option_rows;       /* --dataset */
extern const amped_option_group amped_dense_option_rows;         /* --dense */
extern const amped_option_group amped_cell_type_option_rows;     /* --type */

#endif
