/* The table of commands, and their option rows. */
#include "cli/commands.h"

#include <string.h>

/* ---- options that a command describes in its own words --------------------------------------- */

static const amped_option_text cpd_texts[] = {
    {.name = "rank",
     .help = "number of components R; a list such as 4,8,16 or 2-8 makes a result for each",
     .initially = "32; with --init=FILE as in FILE"},
    {.name = "output",
     .help = "result file; with several R, OUT.rR.h5 for each",
     .initially = "STEM.cpd.h5 in this folder"},
    {.name = "skew", .help = "0: uniform indices", .initially = "the shape's skew"},
    {.name = NULL},
};

static const amped_option_text complete_texts[] = {
    {.name = "rank",
     .help = "number of components R; a list such as 4,8,16 or 2-8 makes a result for each",
     .initially = "32; with --init=FILE as in FILE"},
    {.name = "iters", .help = "largest number of sweeps of each run", .initial = "200"},
    {.name = "tol",
     .help = "smallest fall of the error, as a share of it, that is progress; 0: any fall",
     .initial = "1e-4"},
    {.name = "output",
     .help = "result file; with several R, OUT.rR.h5 for each",
     .initially = "STEM.completion.h5 in this folder"},
    {.name = "of",
     .help = "with --implicit: mode whose indices are ranked, by name or number",
     .initially = "second longest"},
    {.name = NULL},
};

static const amped_option_text stream_texts[] = {
    {.name = "clip",
     .help = "report errors of predictions cut to LO:HI, too; data is for complete",
     .initially = "no cut"},
    {.name = "output",
     .help = "write the model after the last batch to this result file",
     .initially = "none"},
    {.name = "duplicates",
     .help = "values at repeated coordinates of a batch",
     .initially = "as in the first fit"},
    {.name = NULL},
};

static const amped_option_text bench_texts[] = {
    {.name = "output",
     .help = "with --whole: the result, which is removed again",
     .initially = "STEM.cpd.h5 in this folder"},
    {.name = "dims",
     .help = "dimensions of the tensor that --dense makes",
     .initially = "for text input, its largest indices"},
    {.name = "dense", .help = "make a dense tensor of --dims in memory"},
    {.name = "skew", .help = "0: uniform indices", .initially = "the shape's skew"},
    {.name = "method", .help = "with --complete: update of rows, as in complete"},
    {.name = "block",
     .help = "with --complete: components that are updated at a time, as in complete",
     .initially = "R; with --method=ccd 1"},
    {.name = "bias",
     .help = "with --complete or --stream: besides components, biases, a mean, or nothing",
     .initially = "full"},
    {.name = "nonnegative", .help = "with --complete or --stream: keep components nonnegative"},
    {.name = "history", .help = "with --stream: what is kept of old entries"},
    {.name = "forget",
     .help = "with --stream: each batch multiplies the weight of older entries by X",
     .initially = "1"},
    {.name = "sweeps", .help = "with --stream: sweeps over each batch"},
    {.name = NULL},
};

static const amped_option_text convert_texts[] = {
    {.name = "dense", .help = "write a dense tensor: all cells", .initially = "sparse"},
    {.name = NULL},
};

static const amped_option_text plot_texts[] = {
    {.name = "output",
     .help = "picture OUT.svg, OUT.png or OUT.pdf, or OUT.gp for gnuplot",
     .initially = "the input's name with .svg"},
    {.name = "components",
     .help = "components to draw, numbered as in top: 1,4-6",
     .initially = "the first 6"},
    {.name = NULL},
};

static const amped_option_text predict_texts[] = {
    {.name = "output", .help = "write the predictions to this file", .initially = "none"},
    {.name = "top", .help = "with --by: labels to show"},
    {.name = "type",
     .help = "without COORDS: type of the cells that are written",
     .initially = "float, if it holds the cells of --observed and the model's values"},
    {.name = "clip",
     .help = "cut predictions to LO:HI, and report both errors; data is for complete",
     .initially = "no cut"},
    {.name = NULL},
};

static const amped_option_text recommend_texts[] = {
    {.name = "output",
     .help = "write the recommendations to this table; -: standard output",
     .initially = "print them as text"},
    {.name = "top", .help = "recommendations for each label"},
    {.name = NULL},
};

static const amped_option_text evaluate_texts[] = {
    {.name = "of",
     .help = "mode whose label in each cell is ranked, by name or number",
     .initially = "must be given"},
    {.name = "exclude",
     .help = "leave out of each ranking what this tensor has for the cell, except the cell itself; "
             "a cell that it has was known, and is not ranked, except if it is CELLS",
     .initially = "nothing"},
    {.name = NULL},
};

static const amped_option_text similar_texts[] = {
    {.name = "for",
     .help = "mode, or one of its labels, to compare; modes by name or number",
     .initially = "must be given"},
    {.name = "output",
     .help = "write the similar labels to this table; -: standard output",
     .initially = "print them as text"},
    {.name = "top", .help = "similar labels for each label"},
    {.name = NULL},
};

static const amped_option_text generate_texts[] = {
    {.name = "dims", .help = "dimensions of the tensor", .initially = "the shape's"},
    {.name = "dense", .help = "make a dense tensor: all cells", .initially = "sparse"},
    {.name = NULL},
};

/* ---- the table ------------------------------------------------------------------------------- */

const amped_command amped_commands[] = {
    {.name = "cpd",
     .arguments = "INPUT|--shape=NAME",
     .max_args = 1,
     .parallel = true,
     .summary = "decompose a tensor into R components (CP)",
     .groups =
         {&amped_session_option_rows,   &amped_start_option_rows,     &amped_side_option_rows,
          &amped_init_option_rows,      &amped_sweep_option_rows,     &amped_cpd_option_rows,
          &amped_rbs_option_rows,       &amped_seed_option_rows,      &amped_output_option_rows,
          &amped_nowrite_option_rows,   &amped_threads_option_rows,   &amped_backend_option_rows,
          &amped_plan_option_rows,      &amped_exchange_option_rows,  &amped_checkpoint_option_rows,
          &amped_on_signal_option_rows, &amped_plan_only_option_rows, &amped_watch_option_rows,
          &amped_shape_option_rows,     &amped_values_option_rows,    &amped_products_option_rows,
          &amped_read_option_rows,      &amped_dims_option_rows,      &amped_duplicates_option_rows,
          &amped_dataset_option_rows,   &amped_axis_option_rows,      &amped_copies_option_rows},
     .texts = cpd_texts,
     .help =
         "INPUT is a tensor file (.h5) that amped_mpi convert or generate made, a list of nonzeros "
         "in HDF5 (binsparse COO), or any other input of convert. A tensor file is sorted already "
         "and starts fastest. All ranks sort a list in HDF5; rank 0 sorts text and tables in its "
         "own memory.\n\n--method=als: alternating least squares. lm: Levenberg-Marquardt steps, "
         "which need more memory and still move when als hardly does. rbs: randomised block "
         "sampling, for a dense tensor; then als over all cells. It takes fewer passes over the "
         "cells, but more time than als if a pass takes milliseconds.\n\nWith --shape a random "
         "tensor "
         "is made in memory, to measure the time of sweeps. It may have a cell more than once, and "
         "its fit means nothing.\n\nWith several values of --rank the tensor is read once, and a "
         "table of fits ends the run. With --starts=K each result is the best of K starts, of "
         "which every second is normal. Normal starts are better for knowledge graphs, uniform "
         "ones for most other tensors. These models are swept side by side, in one pass over the "
         "tensor, as many as take the least time; the plan says how many. --init=FILE "
         "and --on-signal=result are for one R and one start.\n\nSIGTERM, SIGUSR1 and "
         "Ctrl-C end a run of several R or starts after a sweep, with the results so far and exit "
         "status 85.\n\nThe result replaces a result of the same input with the same R, but no "
         "other file; --overwrite replaces any file.\n\n--corcondia: 100 % for a sound model; near "
         "or below 0 for a model with too many components (Bro & Kiers 2003).",
     .example = "mpirun -np 4 amped_mpi cpd ratings.h5 --rank=16",
     .run = amped_cmd_cpd},
    {.name = "complete",
     .arguments = "INPUT",
     .min_args = 1,
     .max_args = 1,
     .parallel = true,
     .summary = "fit only the observed entries, to predict missing ones",
     .groups = {&amped_session_option_rows,
                &amped_start_option_rows,
                &amped_complete_init_option_rows,
                &amped_sweep_option_rows,
                &amped_complete_model_option_rows,
                &amped_complete_option_rows,
                &amped_state_option_rows,
                &amped_history_option_rows,
                &amped_of_option_rows,
                &amped_clip_option_rows,
                &amped_seed_option_rows,
                &amped_output_option_rows,
                &amped_nowrite_option_rows,
                &amped_checkpoint_option_rows,
                &amped_threads_option_rows,
                &amped_backend_option_rows,
                &amped_plan_option_rows,
                &amped_exchange_option_rows,
                &amped_plan_only_option_rows,
                &amped_watch_option_rows,
                &amped_read_option_rows,
                &amped_dims_option_rows,
                &amped_duplicates_option_rows,
                &amped_dataset_option_rows,
                &amped_axis_option_rows},
     .texts = complete_texts,
     .help =
         "INPUT is any input of cpd. An entry that INPUT lacks is unknown, not zero. In a dense "
         "array NaN is missing, as is what netCDF's attributes call missing; a cell of 0 is "
         "observed. The model of an entry is a mean, a bias of each of its indices, and R "
         "components.\n\nPenalties "
         "(--reg) keep rows of few entries from fitting noise. The error (rmse: root mean square) "
         "on held-out entries chooses --reg and the best sweep, whose model is the "
         "result.\n\n--history says what a state keeps of old entries. equations: the normal "
         "equations of each row (exact, most memory). model: the model and one number per row (for "
         "very many rows). published: the factors only, as in the cuSTC paper, where a missing "
         "cell counts as zero.\n\nSIGTERM, SIGUSR1 and Ctrl-C end the run after a sweep, with the "
         "best model so far and exit status 85.\n\ndocs/ratings.md says how to choose options.",
     .example = "mpirun -np 4 amped_mpi complete ratings.h5 --rank=16",
     .run = amped_cmd_complete},
    {.name = "stream",
     .arguments = "STATE [BATCH...]",
     .min_args = 1,
     .max_args = AMPED_MAX_ARGS,
     .parallel = true,
     .summary = "update a completion model with batches of new entries",
     .groups = {&amped_stream_option_rows, &amped_learn_option_rows, &amped_clip_option_rows,
                &amped_output_option_rows, &amped_threads_option_rows, &amped_backend_option_rows,
                &amped_exchange_option_rows, &amped_plan_only_option_rows, &amped_watch_option_rows,
                &amped_read_option_rows, &amped_dims_option_rows, &amped_duplicates_option_rows},
     .texts = stream_texts,
     .help = "STATE is a file that amped_mpi complete --state=STATE made. A BATCH is any input of "
             "convert; it may have new indices and new labels in every mode. Each batch is learnt "
             "without older entries, and STATE is safe on disk after each. A batch that STATE has "
             "learnt already is skipped.\n\nThree other forms take their batches from one INPUT or "
             "from a folder: STATE INPUT --by=MODE; STATE INPUT --boxes=...; STATE "
             "--follow=DIR.\n\nSIGTERM, SIGUSR1 and Ctrl-C end the stream after the current batch, "
             "with exit status 85. The same command continues, even after a kill.\n\nWithout a "
             "batch, -o RESULT.h5 writes the model that STATE holds, for predict, recommend and "
             "top.\n\ndocs/streaming.md says what is learnt, and how well.",
     .example = "mpirun -np 4 amped_mpi stream ratings.state may.csv june.csv --value=stars",
     .run = amped_cmd_stream},
    {.name = "bench",
     .arguments = "INPUT|--shape=NAME|--dense",
     .max_args = 1,
     .parallel = true,
     .answers = true,
     .summary = "time MTTKRP, a whole run, a sweep of complete, or a stream",
     .groups = {&amped_session_option_rows,  &amped_seed_option_rows,
                &amped_bench_option_rows,    &amped_complete_model_option_rows,
                &amped_history_option_rows,  &amped_learn_option_rows,
                &amped_output_option_rows,   &amped_copies_option_rows,
                &amped_kernel_option_rows,   &amped_threads_option_rows,
                &amped_backend_option_rows,  &amped_plan_option_rows,
                &amped_exchange_option_rows, &amped_watch_option_rows,
                &amped_shape_option_rows,    &amped_values_option_rows,
                &amped_dense_option_rows,    &amped_cell_type_option_rows,
                &amped_products_option_rows, &amped_read_option_rows,
                &amped_dims_option_rows,     &amped_duplicates_option_rows,
                &amped_dataset_option_rows},
     .texts = bench_texts,
     .help =
         "Without --whole, --complete or --stream, MTTKRP is timed. The gather ceiling is the time "
         "to read only the factor rows, in random order, at the rate measured in the same run for "
         "tables of these sizes.\n\n--shape makes a random tensor in the memory of the device that "
         "computes: billions of nonzeros in seconds.\n\nA dense tensor (a file, or --dense "
         "--dims=AxBxC) is timed by whole sweeps of cpd: updates that read the tensor, and updates "
         "that read an earlier contraction. --repeat counts groups of sweeps that read the tensor "
         "a whole number of times. The ceiling is the larger of two times: bytes of a sweep at the "
         "measured memory rate, and its multiply-adds at the measured rate.\n\n--whole times cpd "
         "from the start of the process to the result on disk; the result is removed afterwards. "
         "Each part has a bound from the same run: a second read of the file by all threads; the "
         "nonzeros over the link to the device; the gather ceiling; one sequential read and write "
         "of the factor rows; a flushed write of a file of the result's size.\n\n--complete times "
         "a sweep of complete from a random start, with --method, --bias and "
         "--nonnegative (without modes). Nothing is held out. Its bounds are the gather ceiling, "
         "and R (R + 1) / 2 multiply-adds "
         "per nonzero at the rate of large matrix products.\n\n--stream=N draws (--repeat + 1) N "
         "entries, learns all others as one batch, then these in batches of N; the first batch is "
         "not timed. With --shape these entries are made in addition to --nnz. No state is "
         "written, nothing is held out, and the penalty is 1.\n\n--history says what is kept of "
         "old entries: each row's normal equations, or the model and one number per row.",
     .example = "amped_mpi bench --shape=amazon --nnz=500M",
     .run = amped_cmd_bench},
    {.name = "convert",
     .arguments = "IN OUT",
     .min_args = 2,
     .max_args = 2,
     .writes = true,
     .summary = "turn text, tables or arrays into a tensor file, or back; results into tables",
     .groups = {&amped_read_option_rows, &amped_dims_option_rows, &amped_duplicates_option_rows,
                &amped_convert_option_rows, &amped_dense_option_rows, &amped_dataset_option_rows,
                &amped_axis_option_rows, &amped_threads_option_rows},
     .texts = convert_texts,
     .help =
         "IN is text (.tns .coo .txt: FROSTT; .mtx), a table (.csv .tsv), each also .gz or .zst, "
         "or an HDF5 file (.h5: a tensor file, binsparse COO, or a result); - is standard input. "
         "Text may have a header of Tensor Toolbox and pyttb (sptensor, tensor), Matrix Market, "
         "GenTen or ParTI. All columns of a table are keys, except --value; without --value every "
         "row counts 1.\n\nOUT "
         "is a tensor file (.h5), a table with labels (.csv .tsv) or text without labels (.tns); "
         "tables and text also .gz or .zst; - is standard output (text).\n\nA result becomes "
         "OUT.csv or OUT.tsv (component, mode, label, weight; the weights of the components in "
         "OUT.weights.csv), or, without labels, OUT.npy or OUT.txt: the files OUT.weights.npy, "
         "OUT.mode0.npy, OUT.mode1.npy, ...\n\nA dense tensor is an array of 2 to 8 dimensions: "
         ".npy, or a dataset of an .h5, .nc or .mat file (v7.3; modes come reversed). It needs "
         "--dense "
         "or --sparse. With --dense any input is written with all cells, as .h5 or, without "
         "labels, as .npy.\n\nA tensor larger than --memory is sorted on disk, into the same file. "
         "The "
         "space that temporary files (about two copies) and OUT need is printed and checked first. "
         "Labels of tables, and buffers of up to 100 MB, need memory in addition to --memory.",
     .example = "amped_mpi convert trips.csv trips.h5 --keys=from,to,hour --value=count",
     .run = amped_cmd_convert},
    {.name = "info",
     .arguments = "FILE|--system",
     .max_args = 1,
     .answers = true,
     .summary = "show what a tensor, table, result or state holds, or what each rank finds",
     .groups = {&amped_info_option_rows, &amped_read_option_rows, &amped_dims_option_rows,
                &amped_dataset_option_rows},
     .help = "FILE is a tensor file, a result, the state of a stream, or any input of convert, "
             "which is then read whole.",
     .example = "amped_mpi info ratings.h5 --verify",
     .run = amped_cmd_info},
    {.name = "top",
     .arguments = "RESULT",
     .min_args = 1,
     .max_args = 1,
     .answers = true,
     .summary = "show the leading labels of each component of a result",
     .groups = {&amped_top_option_rows, &amped_lift_option_rows, &amped_width_option_rows,
                &amped_components_option_rows},
     .help = "A mode without labels shows its indices, counted as in the input. Components and "
             "modes are numbered from 1. Modes and indices are numbered from 0 in --json and in "
             "names of files and datasets.\n\nIn a result of cpd --loss=poisson an entry is the "
             "label's share in the events of a component, and --lift orders labels by what sets "
             "the component apart.\n\nOn a terminal, text longer than the screen goes "
             "through $PAGER, or else less or more. amped_mpi top RESULT | cat prints it at once.",
     .example = "amped_mpi top ratings.cpd.h5 -n 5 --components=1,4-6",
     .run = amped_cmd_top},
    {.name = "compare",
     .arguments = "A B",
     .min_args = 2,
     .max_args = 2,
     .answers = true,
     .summary = "measure how well the components of two results match",
     .help =
         "A and B are results; they may have different numbers of components. If both have labels "
         "in a mode, rows with the same label are matched; a label that only one of them has is a "
         "row of zeros in the other. If only one has labels and these are numbers, the numbers are "
         "indices of the other. All other modes are matched by index and must have the same "
         "dimension. A and B must have the same modes in the same order.\n\nThe factor match "
         "score, as in Tensor Toolbox, is 1 for equal models. It is the mean over pairs of "
         "components: the product of the absolute cosines of their columns, times 1 - |difference "
         "of lengths| / larger length. The best pair is taken first, then the best of the "
         "remaining components. Components are numbered by descending weight, as in top. The "
         "length of a component is its weight times the norms of its columns: its weight, except "
         "in models of --loss=poisson, whose columns have sum 1. Lengths of a completion model are "
         "in the units of its values; its mean and biases are not compared.",
     .example = "amped_mpi compare seed1.cpd.h5 seed2.cpd.h5",
     .run = amped_cmd_compare},
    {.name = "plot",
     .arguments = "RESULT|RUN.json...",
     .min_args = 1,
     .max_args = AMPED_MAX_ARGS,
     .summary = "draw a result, or the sweeps of runs",
     .groups = {&amped_output_option_rows, &amped_components_option_rows, &amped_heat_option_rows},
     .texts = plot_texts,
     .help =
         "A RESULT gives the metric (cpd: fit) over sweeps, the weights, and one row per component "
         "with its factors. A component's share is its weight divided by the sum of all weights. "
         "Modes with numbers, dates or times as labels are lines in their order; a long line has "
         "the least and the largest entry of each column of pixels. In a mode of more than 14 "
         "names each component shows its largest entries. --heat=day,hour adds a map of the "
         "products of the entries of day and hour.\n\nA RUN.json (written by --json "
         "of cpd or complete) gives the metric over sweeps and over time, the parts of a sweep's "
         "time, and the balance over ranks. A RUN.json of stream gives the errors, times and sizes "
         "of batches. Several RUN.json give the metric of each run, and its distance from the "
         "best, over sweeps and over time.\n\ngnuplot draws .svg, .png and .pdf and must be "
         "installed. "
         "OUT.gp is a file with script and data: gnuplot OUT.gp draws OUT.svg on any machine.",
     .example = "amped_mpi plot ratings.cpd.h5 -o ratings.svg",
     .run = amped_cmd_plot},
    {.name = "predict",
     .arguments = "RESULT [COORDS]",
     .min_args = 1,
     .max_args = 2,
     .answers = true,
     .summary = "predict the values at given cells, or at all cells, and report errors",
     .groups = {&amped_predict_option_rows, &amped_top_option_rows, &amped_clip_option_rows,
                &amped_output_option_rows, &amped_cell_type_option_rows, &amped_read_option_rows,
                &amped_dims_option_rows, &amped_dataset_option_rows, &amped_threads_option_rows},
     .texts = predict_texts,
     .help = "RESULT is a result of complete or cpd. COORDS is any input of convert. If it has "
             "values, the errors of the model at these cells are reported: rmse (root mean square) "
             "and mae (mean absolute), also for the values cut by --clip. All columns of a table "
             "are keys, except --value; without --value the cells have no values. Cells are "
             "matched by labels if COORDS and RESULT both have labels, and by index if neither "
             "has; if only one has, its labels must be numbers.\n\nOUT is a table with "
             "labels (.csv .tsv), text without labels (.tns), each also .gz or .zst, or a tensor "
             "file (.h5); - is standard output (a table). Cells keep their order, except "
             "in .h5. With --clip the cut values are written.\n\nWith --by=MODE a "
             "table has each label of the mode, its number of cells, rmse and mae, in descending "
             "order of rmse; -n shows more of them, and OUT (.csv .tsv) has all instead of the "
             "predictions.\n\nWithout COORDS, OUT is a dense "
             "array (.npy .h5) with the value of every cell. With --observed=ARRAY, cells that are "
             "not missing there are kept, and the errors are those at these cells.",
     .example = "amped_mpi predict ratings.completion.h5 wanted.csv -o guesses.csv",
     .run = amped_cmd_predict},
    {.name = "recommend",
     .arguments = "RESULT",
     .min_args = 1,
     .max_args = 1,
     .answers = true,
     .summary = "list the labels with the highest predicted values, for one label or for all",
     .groups = {&amped_for_option_rows, &amped_recommend_option_rows, &amped_exclude_option_rows,
                &amped_of_option_rows, &amped_top_option_rows, &amped_output_option_rows,
                &amped_read_option_rows, &amped_dims_option_rows, &amped_threads_option_rows},
     .texts = recommend_texts,
     .help = "RESULT is a result of complete or cpd. A mode that --for, --of and --at do not name "
             "counts with the mean of its rows. A label of a mode without labels is an index, "
             "counted as in the input. Of equal values the lower index comes first. Options that "
             "describe a text or table are for the files of --exclude.\n\nOUT is a table (.csv "
             ".tsv, also .gz or .zst) with a row for each recommendation, the best first.",
     .example = "amped_mpi recommend ratings.completion.h5 --for=user:U7 --of=item -n 5",
     .run = amped_cmd_recommend},
    {.name = "evaluate",
     .arguments = "RESULT CELLS",
     .min_args = 2,
     .max_args = 2,
     .answers = true,
     .summary = "rank the true label of each cell among all labels: hit rate, ndcg, MRR",
     .groups = {&amped_of_option_rows, &amped_exclude_option_rows, &amped_evaluate_option_rows,
                &amped_read_option_rows, &amped_dims_option_rows, &amped_threads_option_rows},
     .texts = evaluate_texts,
     .help =
         "RESULT is a result of complete or cpd. CELLS is any table or list that convert reads: "
         "entries that were "
         "not learnt, and that should have high values. In each cell the label of the ranked mode "
         "competes with all labels of that mode that have a learnt entry, by the model's value; "
         "the other labels are the cell's. The best rank is 1. Equal values share the mean of "
         "their ranks.\n\nHit rate (hits@k): share of cells of rank k or better. ndcg: mean of "
         "1 / log2(1 + rank), with 0 beyond rank k. MRR: mean of 1 / rank.\n\nA cell is left out, "
         "and counted, if its ranked label has no learnt entry. Values of CELLS do not count, "
         "except that with a result of --implicit an entry of 0 is no event. Options that "
         "describe a text or table are for CELLS and for the files of --exclude.",
     .example = "amped_mpi evaluate facts.cpd.h5 test.csv --of=tail --exclude=train.csv",
     .run = amped_cmd_evaluate},
    {.name = "similar",
     .arguments = "RESULT",
     .min_args = 1,
     .max_args = 1,
     .answers = true,
     .summary = "list the labels whose rows are most like a label's, for one label or for all",
     .groups = {&amped_for_option_rows, &amped_similar_option_rows, &amped_top_option_rows,
                &amped_output_option_rows, &amped_threads_option_rows},
     .texts = similar_texts,
     .help = "RESULT is a result of complete or cpd. Labels of one mode are compared by the cosine "
             "of their rows of the factor: 1 for rows of one direction, 0 for rows that share no "
             "component. Biases do not count. Of equal values the lower index comes first.\n\nOUT "
             "is a table (.csv .tsv, also .gz or .zst) with a row for each pair, the most similar "
             "first.",
     .example = "amped_mpi similar ratings.completion.h5 --for=item:I12 -n 5",
     .run = amped_cmd_similar},
    {.name = "generate",
     .arguments = "OUT",
     .min_args = 1,
     .max_args = 1,
     .writes = true,
     .summary = "make a random tensor, or one with a known model",
     .groups = {&amped_dims_option_rows, &amped_shape_option_rows, &amped_generate_option_rows,
                &amped_dense_option_rows, &amped_cell_type_option_rows, &amped_seed_option_rows,
                &amped_threads_option_rows},
     .texts = generate_texts,
     .help = "Without --dense, give --dims and --nnz, or --shape. With --planted=R the values come "
             "from a model of R components, which is written to STEM.planted.h5 in the folder of "
             "OUT. With --observed the cells that are not drawn are missing, for complete; without "
             "it they are zero, for cpd.",
     .example = "amped_mpi generate small.h5 --dims=1000x2000x3000 --nnz=1M --skew=0.8",
     .run = amped_cmd_generate},
    {.name = NULL},
};

/* ---- rows ------------------------------------------------------------------------------------ */

const amped_command *amped_command_find(const char *name) {
  for (const amped_command *c = amped_commands; c->name != NULL; c++)
    if (strcmp(c->name, name) == 0)
      return c;
  return NULL;
}

const char *amped_command_initial(const amped_command *command, const amped_option *row) {
  const amped_option_text *text = command->texts;
  for (; text != NULL && text->name != NULL; text++)
    if (strcmp(text->name, row->name) == 0 && text->initial != NULL)
      return text->initial;
  return row->initial;
}

void amped_command_default(const amped_command *command, amped_options *o) {
  const amped_option *rows[AMPED_MAX_OPTIONS];
  const int count = amped_command_rows(command, rows);
  amped_options_default(o);
  o->command = command;
  for (int i = 0; i < count; i++) {
    const char *initial = amped_command_initial(command, rows[i]);
    if (initial != rows[i]->initial)
      amped_options_put(o, rows[i], initial);
  }
}

int amped_command_rows(const amped_command *command, const amped_option *rows[AMPED_MAX_OPTIONS]) {
  int count = amped_options_rows(command->groups, rows, 0);
  return amped_options_rows(amped_common_groups, rows, count);
}
