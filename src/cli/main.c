/* amped_mpi: the table of commands, and their common start and end. */
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <omp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/launcher.h"
#include "base/signals.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/options_check.h"
#include "mpi/comm.h"

const amped_command amped_commands[] = {
    {.name = "cpd",
     .arguments = "INPUT|--shape=NAME",
     .max_args = 1,
     .parallel = true,
     .summary = "decompose a tensor: CP by alternating least squares",
     .groups =
         {&amped_session_option_rows,   &amped_start_option_rows,     &amped_sweep_option_rows,
          &amped_cpd_option_rows,       &amped_rbs_option_rows,       &amped_seed_option_rows,
          &amped_output_option_rows,    &amped_nowrite_option_rows,   &amped_threads_option_rows,
          &amped_backend_option_rows,   &amped_plan_option_rows,      &amped_checkpoint_option_rows,
          &amped_on_signal_option_rows, &amped_plan_only_option_rows, &amped_watch_option_rows,
          &amped_shape_option_rows,     &amped_values_option_rows,    &amped_products_option_rows,
          &amped_read_option_rows,      &amped_dims_option_rows,      &amped_duplicates_option_rows,
          &amped_dataset_option_rows,   &amped_copies_option_rows},
     .help =
         "INPUT is a tensor file (.h5) that amped_mpi convert or generate made. A list of\n"
         "nonzeros in HDF5 (binsparse COO) is redistributed and ordered by all ranks first; any\n"
         "other input of convert works too, with its options, and is ordered in the memory of\n"
         "rank 0. With --shape it is made in memory instead, as by bench, to measure whole\n"
         "sweeps: cells may be drawn more than once, which the fit does not know.\n\n"
         "--rank=4,8,16 reads the tensor once, writes STEM.r4.cpd.h5, STEM.r8.cpd.h5, ... (with\n"
         "-o OUT.h5: OUT.r4.h5, ...) and ends with a table of fits. With --starts=K each of them\n"
         "is the best of K. --init=FILE and --checkpoint are for one R and one start. SIGTERM,\n"
         "SIGUSR1 and Ctrl-C end such a run after a sweep, with the results so far and exit\n"
         "status 85.\n\n"
         "The result is STEM.cpd.h5 in the current folder, unless -o names another file. It\n"
         "replaces a result of the same input with as many components, and no other file:\n"
         "--overwrite allows that.\n\n"
         "--corcondia: 100 % for a sound model, near or below 0 for one of too many components\n"
         "(Bro & Kiers 2003).\n\n"
         "Example: mpirun -np 4 amped_mpi ratings.h5 --rank=16 -o ratings.cpd.h5\n"
         "         mpirun -np 4 amped_mpi ratings.h5 --rank=4,8,16 --starts=5 --corcondia\n",
     .run = amped_cmd_cpd},
    {.name = "complete",
     .arguments = "INPUT",
     .min_args = 1,
     .max_args = 1,
     .parallel = true,
     .summary = "predict missing entries: fit the observed ones alone",
     .groups = {&amped_session_option_rows,    &amped_start_option_rows,
                &amped_sweep_option_rows,      &amped_complete_model_option_rows,
                &amped_complete_option_rows,   &amped_state_option_rows,
                &amped_history_option_rows,    &amped_of_option_rows,
                &amped_clip_option_rows,       &amped_seed_option_rows,
                &amped_output_option_rows,     &amped_nowrite_option_rows,
                &amped_checkpoint_option_rows, &amped_threads_option_rows,
                &amped_backend_option_rows,    &amped_plan_option_rows,
                &amped_plan_only_option_rows,  &amped_watch_option_rows,
                &amped_read_option_rows,       &amped_dims_option_rows,
                &amped_duplicates_option_rows},
     .help =
         "INPUT is any input of cpd, and an entry that it lacks is unknown, not zero. The model "
         "of\n"
         "an entry is a mean, a bias of each of its indices, and R components. Penalties keep\n"
         "rows of few entries from fitting noise; their strength, --reg, is chosen by the error\n"
         "(rmse: root mean square) on entries that are held out. The model of the best sweep is\n"
         "the result: STEM.completion.h5 in the current folder, unless -o names another file.\n\n"
         "SIGTERM, SIGUSR1 and Ctrl-C end the run after a sweep, with the best model so far and\n"
         "exit status 85.\n\n"
         "docs/completion.md tells how to choose. With --state=FILE amped_mpi stream goes on\n"
         "from the model as further entries come.\n\n"
         "Example: mpirun -np 4 amped_mpi complete ratings.h5 --rank=16\n"
         "         mpirun -np 4 amped_mpi complete ratings.h5 --rank=16 --test=later.h5\n"
         "         amped_mpi complete ratings.h5 --rank=8 --reg=0.5 --holdout=10% --clip=1:5\n"
         "         amped_mpi complete plays.csv --value=count --implicit=40 --rank=16 --of=song\n",
     .run = amped_cmd_complete},
    {.name = "stream",
     .arguments = "STATE BATCH...|STATE INPUT --by=MODE|STATE INPUT --boxes=...|STATE --follow=DIR",
     .min_args = 1,
     .max_args = AMPED_MAX_ARGS,
     .parallel = true,
     .summary = "keep a completion model up to date as batches of entries come",
     .groups = {&amped_stream_option_rows, &amped_learn_option_rows, &amped_clip_option_rows,
                &amped_output_option_rows, &amped_threads_option_rows, &amped_backend_option_rows,
                &amped_plan_only_option_rows, &amped_watch_option_rows, &amped_read_option_rows,
                &amped_dims_option_rows, &amped_duplicates_option_rows},
     .help =
         "STATE is what amped_mpi complete --state=STATE began. A BATCH is any input of convert;\n"
         "it may have new indices, and new labels, in all modes. Each is learnt without the\n"
         "entries before it, and STATE is safe after each. A batch that STATE has learnt is\n"
         "skipped. SIGTERM, SIGUSR1 and Ctrl-C end the stream after the batch in hand, with exit\n"
         "status 85; the same command goes on, also where the stream was killed.\n\n"
         "-o RESULT.h5 writes the model after the last batch, for predict, recommend and top;\n"
         "without a batch, the model as it is.\n\n"
         "docs/streaming.md tells what is learnt, and how well.\n\n"
         "Example: amped_mpi complete ratings.h5 --rank=16 --state=ratings.state\n"
         "         mpirun -np 4 amped_mpi stream ratings.state may.csv june.csv --value=stars\n"
         "         amped_mpi stream trips.state trips.h5 --by=day --sweeps=3 --forget=0.98\n"
         "         amped_mpi stream ratings.state --follow=incoming --value=stars\n",
     .run = amped_cmd_stream},
    {.name = "bench",
     .arguments = "INPUT|--shape=NAME|--dense",
     .max_args = 1,
     .parallel = true,
     .summary = "time MTTKRP over all modes, a whole run, a sweep of completion, or a stream",
     .groups = {&amped_session_option_rows,    &amped_seed_option_rows,
                &amped_bench_option_rows,      &amped_complete_model_option_rows,
                &amped_history_option_rows,    &amped_learn_option_rows,
                &amped_output_option_rows,     &amped_copies_option_rows,
                &amped_kernel_option_rows,     &amped_threads_option_rows,
                &amped_backend_option_rows,    &amped_plan_option_rows,
                &amped_watch_option_rows,      &amped_shape_option_rows,
                &amped_values_option_rows,     &amped_dense_option_rows,
                &amped_cell_type_option_rows,  &amped_products_option_rows,
                &amped_read_option_rows,       &amped_dims_option_rows,
                &amped_duplicates_option_rows, &amped_dataset_option_rows},
     .help =
         "With --shape the tensor is made in memory, on the device that computes: billions of\n"
         "nonzeros in seconds. Its indices are skewed; --skew=0 makes them uniform.\n\n"
         "The gather ceiling is the time that reading the factor rows alone would take, at\n"
         "random, at the rate measured in the same run for tables of these sizes.\n\n"
         "Of a dense tensor, a file or --dense --dims=AxBxC, whole sweeps of cpd are timed: the\n"
         "updates that contract the tensor and those that read an earlier contraction apart.\n"
         "--repeat counts groups of sweeps that read the tensor a whole number of times. The\n"
         "ceiling is the larger of the bytes and the multiply-adds of a sweep, each over the\n"
         "rate measured in the same run.\n\n"
         "--whole is a run of cpd from the start of the process to the result on the disk,\n"
         "which is written beside the file of -o and removed again. Each part stands beside\n"
         "its bound, measured in the same call: the file read once more, by all threads of\n"
         "the ranks that read; its nonzeros over the link to the device; the gather ceiling;\n"
         "factor rows read and written once, in order; as many bytes as the result written\n"
         "to the same folder and flushed.\n\n"
         "--complete is a sweep of complete from its random start, with --method, --bias and\n"
         "--nonnegative: nothing is held out, and no error is found. Assembly is adding up a\n"
         "row's equations; it stands beside MTTKRP of the same R in the same call. Its bounds\n"
         "are the gather ceiling, and R (R + 1) / 2 multiply-adds a nonzero at the rate of\n"
         "large matrix products.\n\n"
         "--stream=N learns all but (--repeat + 1) N entries, drawn at random, as one batch,\n"
         "then these as batches of N, as stream does, with --history, --forget, --sweeps,\n"
         "--bias and --nonnegative; the first of them is not timed. With --shape so many are\n"
         "made beside --nnz. No state is written. Nothing is held out, and the penalty is 1.\n\n"
         "Example: mpirun -np 4 amped_mpi bench ratings.h5\n"
         "         amped_mpi bench --shape=amazon --nnz=500M\n"
         "         amped_mpi bench --dense --dims=1000x1000x1000 --rank=16\n"
         "         amped_mpi bench ratings.h5 --whole --repeat=20\n"
         "         amped_mpi bench --shape=netflix --complete --rank=32\n"
         "         amped_mpi bench --shape=netflix --stream=1M --rank=32 --history=model\n",
     .run = amped_cmd_bench},
    {.name = "convert",
     .arguments = "IN OUT",
     .min_args = 2,
     .max_args = 2,
     .writes = true,
     .summary = "turn text, tables or arrays into a tensor file, or back; results into tables, "
                "text or .npy",
     .groups = {&amped_read_option_rows, &amped_dims_option_rows, &amped_duplicates_option_rows,
                &amped_convert_option_rows, &amped_dense_option_rows, &amped_dataset_option_rows,
                &amped_threads_option_rows},
     .help =
         "IN: .tns .coo .txt (FROSTT text), .csv .tsv (tables), each also .gz or .zst; .h5 (ours,\n"
         "any binsparse COO, or a result); - is standard input. Text may have a header of Tensor\n"
         "Toolbox and pyttb (sptensor, tensor), GenTen or ParTI. A table's columns are keys, but\n"
         "for --value; without it every row counts 1.\n"
         "OUT: .h5 (tensor file), .csv .tsv (tables with labels), .tns (text without labels), the\n"
         "last three also .gz or .zst; - is standard output (text). For a result OUT.csv or "
         "OUT.tsv\n"
         "(component, mode, label, weight; the components' weights in OUT.weights.csv), OUT.npy "
         "or\n"
         "OUT.txt (no labels), which become OUT.weights.npy, OUT.mode0.npy, OUT.mode1.npy, ...\n\n"
         "Dense tensors are arrays of 3 to 8 dimensions: .npy, the dataset of an .h5 or .mat file\n"
         "(v7.3; its modes come reversed). They need --dense or --sparse. With --dense, which any\n"
         "input takes, OUT is .h5 or .npy and has all cells; labels are left out.\n\n"
         "A tensor that --memory does not hold is sorted on disk, into the same file. How much\n"
         "room the temporary files (about two copies' worth) and OUT take is said, and looked\n"
         "for, before they are written. Labels of tables, and buffers of up to 100 MB, come on\n"
         "top of --memory.\n\n"
         "Example: amped_mpi convert trips.csv trips.h5 --keys=from,to,hour --value=count\n"
         "         zcat trips.csv.gz | amped_mpi convert - trips.h5 --keys=from,to,hour\n"
         "         amped_mpi convert trips.cpd.h5 trips.cpd.csv\n"
         "         amped_mpi convert image.npy image.h5 --dense\n",
     .run = amped_cmd_convert},
    {.name = "info",
     .arguments = "FILE|--system",
     .max_args = 1,
     .summary =
         "tell what a tensor, table, result or state holds, or what ranks find where they run",
     .groups = {&amped_info_option_rows, &amped_read_option_rows, &amped_dims_option_rows,
                &amped_dataset_option_rows},
     .help = "FILE is a tensor file, a result, the state of a stream, or any input of convert, "
             "which is\nthen read whole.\n\n"
             "Example: amped_mpi info ratings.h5 --verify\n"
             "         amped_mpi info ratings.csv --value=stars\n"
             "         mpirun -np 4 amped_mpi info --system\n",
     .run = amped_cmd_info},
    {.name = "top",
     .arguments = "RESULT",
     .min_args = 1,
     .max_args = 1,
     .summary = "leading labels of every component of a result",
     .groups = {&amped_top_option_rows, &amped_width_option_rows, &amped_components_option_rows},
     .help =
         "Where a mode has no labels, indices stand for them, as the input counts them. "
         "Components\n"
         "and modes are counted from 1; in --json, and in names of files and of objects in files, "
         "modes and\n"
         "indices are counted from 0.\n\n"
         "On a terminal, text that is longer than the screen goes through $PAGER, else less or\n"
         "more; amped_mpi top RESULT | cat goes without.\n\n"
         "Example: amped_mpi top ratings.cpd.h5 -n 5\n"
         "         amped_mpi top ratings.cpd.h5 --components=1,4-6 --width=100\n",
     .run = amped_cmd_top},
    {.name = "compare",
     .arguments = "A B",
     .min_args = 2,
     .max_args = 2,
     .summary = "how well the components of two results match",
     .help =
         "A and B are results; their numbers of components may differ. Where both have labels in "
         "a\n"
         "mode, rows of the same label are matched, and a label that one lacks is a row of zeros\n"
         "there. Where one alone has labels that are numbers, these are indices of the other. "
         "Other\n"
         "modes are matched by index and must have the same dimension. Modes have the same names\n"
         "in the same order.\n\n"
         "The factor match score (1: the same model) is the mean over pairs of components of\n"
         "the product of their columns' absolute cosines, times 1 - |difference| / larger of\n"
         "their weights, as Tensor Toolbox's score. Pairs are taken greedily, the best first.\n"
         "Components are numbered by descending weight, as top does.\n\n"
         "Example: amped_mpi compare seed1.cpd.h5 seed2.cpd.h5\n",
     .run = amped_cmd_compare},
    {.name = "plot",
     .arguments = "RESULT|RUN.json...",
     .min_args = 1,
     .max_args = AMPED_MAX_ARGS,
     .summary = "draw a result, or the course of runs",
     .groups = {&amped_output_option_rows, &amped_components_option_rows},
     .help =
         "RESULT.h5: the metric (cpd: fit) over sweeps, weights, and the factors of components,\n"
         "a row each; without --components the first 6. A component's share is that of its\n"
         "weight in the sum of all weights. Modes whose labels are numbers, dates or times are\n"
         "drawn in their order; of a mode of more than 14 names each component has its largest\n"
         "entries. RUN.json (what cpd --json=RUN.json wrote): the metric over sweeps and over\n"
         "time, what the time of a sweep went into, and balance over ranks; of stream --json,\n"
         "errors of batches, what their time went into, and their sizes. Several RUN.json, named\n"
         "by their files: the metric of all, and its distance from the best, over sweeps and "
         "time.\n\n"
         "-o OUT.svg or OUT.png, which gnuplot draws; it must be installed. -o OUT.gp writes the\n"
         "script and its data in one file: gnuplot OUT.gp then draws OUT.svg, anywhere.\n\n"
         "Examples: amped_mpi plot ratings.cpd.h5 -o ratings.svg --components=1,4-6\n"
         "          amped_mpi plot als.json lm.json -o runs.svg\n",
     .run = amped_cmd_plot},
    {.name = "predict",
     .arguments = "RESULT COORDS",
     .min_args = 2,
     .max_args = 2,
     .summary = "values of a model at the cells of a tensor or table, and how far off they are",
     .groups = {&amped_predict_option_rows, &amped_clip_option_rows, &amped_output_option_rows,
                &amped_read_option_rows, &amped_dims_option_rows, &amped_threads_option_rows},
     .help =
         "RESULT is a result of complete, or of cpd. COORDS is any input of convert; its values\n"
         "are compared with the model's: rmse and mae, of the model as it is. A table's columns\n"
         "are keys, but for --value; without it the cells have no values. Where COORDS and\n"
         "RESULT have labels, these tell which indices are meant. With --clip the error of the\n"
         "clipped values is told, too, and -o has these.\n\n"
         "-o: .csv .tsv (tables with labels), .tns (text without labels), the three also .gz or\n"
         ".zst; .h5 (tensor file); - is standard output (a table). Cells keep their order, but in\n"
         ".h5.\n\n"
         "Example: amped_mpi predict ratings.completion.h5 test.csv --value=stars --clip=0.5:5\n"
         "         amped_mpi predict ratings.completion.h5 wanted.csv -o guesses.csv\n",
     .run = amped_cmd_predict},
    {.name = "recommend",
     .arguments = "RESULT",
     .min_args = 1,
     .max_args = 1,
     .summary = "the labels of a mode with the highest values, for one label of another or for all",
     .groups = {&amped_recommend_option_rows, &amped_of_option_rows, &amped_top_option_rows,
                &amped_output_option_rows, &amped_read_option_rows, &amped_dims_option_rows,
                &amped_threads_option_rows},
     .help =
         "RESULT is a result of complete, or of cpd. Modes that neither --for, --of nor --at\n"
         "names count with the mean of their rows. Of equal values the lower index comes first.\n"
         "The options of reading are for the tensor of --exclude.\n\n"
         "-o: .csv .tsv (also .gz or .zst), a row a recommendation, the best first.\n\n"
         "Example: amped_mpi recommend ratings.completion.h5 --for=user:U7 --of=item "
         "--exclude=ratings.h5\n"
         "         amped_mpi recommend ratings.completion.h5 --for=user --of=item -n 5 -o "
         "all.csv\n",
     .run = amped_cmd_recommend},
    {.name = "generate",
     .arguments = "OUT",
     .min_args = 1,
     .max_args = 1,
     .writes = true,
     .summary = "make a synthetic tensor",
     .groups = {&amped_dims_option_rows, &amped_shape_option_rows, &amped_generate_option_rows,
                &amped_dense_option_rows, &amped_cell_type_option_rows, &amped_seed_option_rows,
                &amped_threads_option_rows},
     .help = "With --planted the model is written beside OUT, to STEM.planted.h5.\n\n"
             "Example: amped_mpi generate small.h5 --dims=1000x2000x3000 --nnz=1M --skew=0.8\n"
             "         amped_mpi generate known.h5 --dims=60x50x40 --nnz=9k --planted=3\n"
             "         amped_mpi generate some.h5 --dims=300x200x100 --planted=5 --observed=0.01 "
             "--noise=0.01\n"
             "         amped_mpi generate full.h5 --dense --dims=300x200x100 --planted=5 "
             "--noise=0.01 --collinear=0.9\n",
     .run = amped_cmd_generate},
    {.name = NULL},
};

/* Check that standard output was written. A reader that ends early, such as head, is no failure. */
static amped_status check_output(void) {
  struct pollfd output = {.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
  if (fflush(stdout) == 0 && ferror(stdout) == 0)
    return AMPED_OK;
  if (poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0)
    return AMPED_OK;
  return amped_error(AMPED_FAILED, "standard output",
                     "cannot be written; free disk space or send it elsewhere");
}

/* Open the standard streams that are closed: otherwise the next file would get the number of one of
 * them, and receive messages. Standard output is opened for reading only, so that a write to it
 * still fails. */
static void hold_standard_streams(void) {
  static const int modes[] = {O_RDONLY, O_RDONLY, O_WRONLY};
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
    if (fcntl(fd, F_GETFD) < 0)
      (void)open("/dev/null", modes[fd]);
}

static bool has_started(void) {
  int started = 0;
  return MPI_Initialized(&started) == MPI_SUCCESS && started != 0;
}

static bool returned; /* main has returned */
static const char *input;

/* Print an error if a library ended the program: HDF5 does so silently if some of its allocations
 * fail. */
static void tell_of_exit(void) {
  if (returned || errno != ENOMEM)
    return;
  (void)amped_error(AMPED_FAILED, input,
                    "out of memory: a library ended the program; use a machine with more memory, "
                    "or allow more (ulimit -v)");
  amped_status_report();
  _exit(AMPED_FAILED);
}

/* Does the command run on the ranks of a job? Other commands run in one process and never ask the
 * launcher: its variables are also set for programs that a job's script starts. */
static bool needs_ranks(const amped_options *options) {
  return options->command == NULL || options->command->parallel || options->info.system;
}

/* Report wrong options, which every rank finds before MPI starts. The launcher's rank 0 prints its
 * error at once. Then MPI starts on all ranks, as in a session. They agree, and another rank prints
 * an error only if rank 0 has none. */
static void agree_on_failure(amped_status status, int launcher_rank) {
  amped_comm comm;
  if (launcher_rank == 0)
    amped_status_report();
  if (amped_comm_start(&comm) == AMPED_OK)
    (void)amped_comm_agree(&comm, status);
  amped_comm_stop(&comm);
}

/* Print the error of a failure, unless a rank printed one. AMPED_FAILED before MPI starts is a
 * rank's own failure, such as missing memory, which MPI would meet as well. */
static void report_failure(amped_status status, bool ranks, int launcher_rank) {
  if (ranks && !has_started() && launcher_rank >= 0 && status != AMPED_FAILED)
    agree_on_failure(status, launcher_rank);
  amped_status_report();
}

static const volatile int elsewhere = 1;

int main(int argc, char **argv) {
  amped_options options = {.command = NULL};
  bool done = false;
  int rank = amped_launcher_rank();
  (void)atexit(tell_of_exit);
  hold_standard_streams();
  amped_log_open();
  /* Writing to a closed pipe fails that write, and does not end the program. */
  (void)signal(SIGPIPE, SIG_IGN);
  (void)signal(SIGXFSZ, SIG_IGN); /* ulimit -f: the write fails, with an error */
  amped_status status = amped_command_line_parse(argc, argv, &options, &done);
  bool ranks = needs_ranks(&options);
  if (status == AMPED_OK && !done)
    status = amped_options_check(&options);
  if (status == AMPED_OK && !done)
    status = amped_signals_watch(!ranks || rank <= 0,
                                 options.command->parallel || options.command->writes);
  /* A launcher ends the other ranks of a job if a rank fails. Until the ranks share a flag, assume
   * that another rank may have failed. */
  if (ranks && rank >= 0)
    amped_signals_silence(&elsewhere);
  if (status == AMPED_OK && !done) {
    input = options.nargs > 0 ? options.args[0] : NULL;
    amped_log_verbosity(options.log.verbosity);
    amped_log_progress(options.log.progress);
    if (options.threads > 0)
      omp_set_num_threads(options.threads);
    amped_log_speaker(!ranks || rank <= 0); /* until MPI gives the rank */
    status = options.command->run(&options);
  }
  if (status != AMPED_OK)
    report_failure(status, ranks, rank);
  if (status == AMPED_OK) {
    status = check_output();
    amped_status_report();
  }
  returned = true;
  return (int)status;
}
