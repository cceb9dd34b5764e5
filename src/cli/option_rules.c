/* Option rules: the tables, and their check. */
#include "cli/option_rules.h"

#include <stdio.h>
#include <string.h>

/* ---- the tables ------------------------------------------------------------------------------ */

#define SAMPLING "sample|block|epochs|search|polish|memory"

const amped_option_rule amped_option_rules[] = {
    /* outputs */
    {.when = "output",
     .excludes = "nowrite|plan",
     .why = "{2} writes no result; leave out --output"},
    {.when = "on-signal=result",
     .excludes = "nowrite|plan",
     .why = "{2} writes no result; leave out --on-signal"},
    {.command = "bench",
     .when = "output",
     .needs = "whole",
     .why = "bench writes a result only with --whole; add that, or leave out --output"},

    /* one tensor: a file, --shape or --dense */
    {.command = "cpd",
     .when = "modes|axis",
     .excludes = "shape",
     .why = "--shape has no names and values of modes; leave out {1}"},
    {.command = "bench",
     .when = "type",
     .needs = "dense",
     .why = "--type is for the cells of --dense; add --dense, or leave out --type"},
    {.command = "bench",
     .when = "dense",
     .excludes = "FILE|shape",
     .why = "a file or --shape, and --dense, are two tensors; leave out one of them"},
    {.command = "bench",
     .when = "dense",
     .needs = "dims",
     .why = "--dense needs the dimensions; add --dims=AxBxC"},
    {.command = "bench",
     .when = "dense",
     .excludes = "whole|complete|stream",
     .why = "--whole, --complete and --stream are for sparse tensors; leave them or --dense out"},
    {.command = "bench",
     .when = "dense",
     .excludes = "read|load|dataset",
     .why = "with --dense nothing is read; leave out --read, --load and --dataset"},
    {.command = "bench",
     .when = "dense",
     .excludes = "TEXT",
     .why = "with --dense nothing is read; leave out options for reading text and tables"},
    {.command = "cpd",
     .needs = "FILE|shape",
     .why = "the input file is missing; give one, or --shape=NAME; see amped_mpi --help"},
    {.command = "bench",
     .needs = "FILE|shape|dense",
     .why = "the input file is missing; give one, or --shape=NAME; see amped_mpi --help"},
    {.command = "cpd|bench",
     .when = "shape",
     .excludes = "FILE",
     .why = "a file and --shape are two tensors; leave out one of them"},
    {.command = "cpd|bench",
     .when = "nnz|scale|skew|values",
     .needs = "shape",
     .why = "--nnz, --scale, --skew and --values are for --shape; leave them out, or give --shape"},
    {.command = "cpd|bench",
     .when = "shape",
     .excludes = "read|load",
     .why = "with --shape nothing is read; leave out {2}"},
    {.command = "cpd|bench",
     .when = "shape",
     .excludes = "TEXT|dims",
     .why = "with --shape nothing is read; leave out options for reading text and tables"},
    {.command = "cpd",
     .when = "checkpoint",
     .excludes = "shape",
     .why = "a checkpoint belongs to a file's tensor; leave out --checkpoint or --shape"},

    /* products of dense tensors */
    {.when = "products=tf32",
     .excludes = "precision=double",
     .why = "--products=tf32 rounds more than float does; leave it or --precision=double out"},
    {.when = "products=tf32",
     .excludes = "shape|whole|complete|stream",
     .why = "--products=tf32 is for dense tensors, and this is for sparse ones; leave it out"},

    /* a fit that ends the run */
    {.command = "cpd",
     .when = "stop-fit",
     .excludes = "shape",
     .why = "the fit of a shape's tensor means nothing; leave out --stop-fit"},
    {.command = "cpd",
     .when = "stop-fit",
     .excludes = "products=tf32",
     .why = "--products=tf32 rounds the fit that --stop-fit waits for; leave out one of the two"},

    /* methods of cpd */
    {.command = "cpd",
     .when = SAMPLING,
     .needs = "method=rbs",
     .why =
         "--sample, --block, --epochs, --search, --polish and --memory are for --method=rbs; add "
         "it, or leave them out"},
    {.command = "cpd",
     .when = "method=rbs",
     .excludes = "iters",
     .why = "--method=rbs has --epochs and then --polish sweeps; leave out --iters"},
    {.command = "cpd",
     .when = "method=rbs",
     .excludes = "accelerate=linesearch|accelerate=momentum",
     .why = "--accelerate is for sweeps over the whole tensor; leave out --accelerate or "
            "--method=rbs"},
    {.command = "cpd",
     .when = "method=rbs",
     .excludes = "PENALTY",
     .why = "--ridge and --l1 are for --method=als; leave them or --method=rbs out"},
    {.command = "cpd",
     .when = "method=rbs",
     .excludes = "shape",
     .why = "--method=rbs is for dense tensors, and a shape is sparse; leave it out"},
    {.command = "cpd",
     .when = "method=lm",
     .excludes = "accelerate=linesearch|accelerate=momentum|nonnegative|PENALTY",
     .why = "{2} is for --method=als, and --method=lm cannot use it; leave out one of the two"},
    {.command = "cpd",
     .when = "init=normal",
     .excludes = "nonnegative",
     .why =
         "--init=normal has entries of both signs, and --nonnegative chooses starts that suit its "
         "modes; leave out --init or --nonnegative"},
    {.command = "cpd",
     .when = "accelerate=linesearch|accelerate=momentum",
     .excludes = "PENALTY",
     .why = "--accelerate judges its steps by the residual only, and {2} adds to it; leave out one "
            "of the two"},

    /* losses of cpd */
    {.command = "cpd",
     .when = "kkt",
     .needs = "loss=poisson",
     .why = "--kkt is for --loss=poisson; add that, or leave out --kkt"},
    {.command = "cpd",
     .when = "loss=poisson",
     .excludes = "method",
     .why =
         "--method says how squares are made small, and --loss=poisson has its own method; leave "
         "out one of the two"},
    {.command = "cpd",
     .when = "loss=poisson",
     .excludes = "PENALTY|corcondia|stop-fit",
     .why = "{2} is for --loss=squares; leave out {2} or --loss=poisson"},
    {.command = "cpd",
     .when = "loss=poisson",
     .excludes = "accelerate=linesearch",
     .why = "--accelerate=linesearch is for --loss=squares; with --loss=poisson there are momentum "
            "and none"},
    {.command = "cpd",
     .when = "loss=poisson",
     .excludes = "nonnegative",
     .why = "--loss=poisson keeps all factors nonnegative; leave out --nonnegative"},
    {.command = "cpd",
     .when = "loss=poisson",
     .excludes = "fix",
     .why = "--loss=poisson changes the factors of all modes, and --fix keeps some; leave out one "
            "of the two"},
    {.command = "cpd",
     .when = "loss=poisson",
     .excludes = "init=normal",
     .why = "--init=normal has entries of both signs, and --loss=poisson begins with none below 0; "
            "leave out --init"},
    {.command = "cpd",
     .when = "loss=poisson",
     .excludes = "copies=one",
     .why = "--loss=poisson needs a copy for each mode, and --copies=one keeps one; leave out "
            "--copies"},
    {.command = "cpd",
     .when = "loss=poisson",
     .excludes = "products=tf32",
     .why =
         "--products=tf32 is for dense tensors, which --loss=poisson reads as lists; leave it out"},

    /* several decompositions, starts */
    {.command = "bench", .when = "RANKS", .why = "bench takes one --rank"},
    {.command = "cpd",
     .when = "side-by-side",
     .needs = "RANKS|STARTS",
     .why = "--side-by-side is for several models; add --starts or several values of --rank, or "
            "leave it out"},
    {.command = "cpd",
     .when = "side-by-side",
     .excludes = "method=lm|method=rbs",
     .why = "{2} makes one model at a time; leave out --side-by-side"},
    {.when = "RANKS|STARTS",
     .excludes = "INIT",
     .why = "--init=FILE is one start with one R, and {1} needs several; leave out one of the two"},
    {.when = "RANKS|STARTS",
     .excludes = "on-signal=result",
     .why = "--on-signal=result is for one decomposition; a run of {1} always keeps finished "
            "results; leave out --on-signal"},
    {.command = "complete",
     .when = "RANKS|STARTS",
     .excludes = "checkpoint",
     .why =
         "--checkpoint holds one decomposition, and {1} makes more; leave out one of the two, or "
         "run a job for each (jobs/slurm/array.sh)"},
    {.when = "force-init",
     .needs = "INIT",
     .why = "--force-init is for the file of --init; name one"},
    {.when = "fix", .needs = "INIT", .why = "--fix keeps factors of a model; name it with --init"},
    {.command = "cpd",
     .when = "fix",
     .excludes = "method=lm|method=rbs",
     .why = "{2} changes the factors of all modes, and --fix keeps some; leave out one of the two"},
    {.command = "complete",
     .when = "fix",
     .excludes = "method=sgd|state",
     .why = "{2} goes on learning all modes, and --fix keeps some; leave out one of the two"},
    {.command = "cpd",
     .when = "fix",
     .excludes = "corcondia",
     .why = "--corcondia judges a model whose factors were all fitted; leave it or --fix out"},
    {.when = "checkpoint",
     .excludes = "plan",
     .why = "--plan runs nothing; leave out --checkpoint"},
    {.when = "resume|checkpoint-every",
     .needs = "checkpoint",
     .why = "{1} needs --checkpoint=FILE"},

    /* info */
    {.command = "info",
     .when = "system",
     .excludes = "FILE|verify",
     .why = "--system is not about a file; leave out {2}"},
    {.command = "info",
     .needs = "FILE|system",
     .why = "the input file is missing; give one, or --system; see amped_mpi info --help"},

    /* bench */
    {.command = "bench",
     .when = "whole",
     .excludes = "complete|stream",
     .why =
         "--whole is a run of cpd, --complete a sweep of complete, --stream one of stream; leave "
         "out all but one"},
    {.command = "bench",
     .when = "complete",
     .excludes = "stream",
     .why =
         "--whole is a run of cpd, --complete a sweep of complete, --stream one of stream; leave "
         "out all but one"},
    {.command = "bench",
     .when = "loss=poisson",
     .excludes = "whole|complete|stream|dense|copies=one|kernel=published",
     .why = "--loss=poisson times passes over a copy for each mode; leave out {2}"},
    {.command = "bench",
     .when = "method|block",
     .needs = "complete",
     .why = "--method and --block are for bench --complete; add --complete, or leave them out"},
    {.command = "bench",
     .when = "bias|nonnegative",
     .needs = "complete|stream",
     .why = "--bias and --nonnegative are for bench --complete and --stream; add one of these, or "
            "leave them out"},
    {.command = "bench",
     .when = "copies=one",
     .excludes = "complete|stream",
     .why = "--copies=one is for MTTKRP, and --complete and --stream fit rows; leave out one of "
            "them"},
    {.command = "bench",
     .when = "history|forget|sweeps",
     .needs = "stream",
     .why = "--history, --forget and --sweeps are for bench --stream; add --stream, or leave them "
            "out"},
    {.command = "bench",
     .when = "history=published",
     .why = "--history=published learns only new indices, and batches of bench --stream have none; "
            "time it with amped_mpi stream --boxes"},
    {.command = "bench",
     .when = "stream",
     .excludes = "read|load|placement|overlap",
     .why = "--read, --load, --placement and --overlap do not apply to --stream; leave them out"},
    {.when = "copies=one",
     .excludes = "kernel=published|tiles",
     .why = "{2} is for a copy for each mode, and --copies=one keeps none; leave out one of the "
            "two"},

    /* complete: methods, events, weights, validation */
    {.when = "method=sgd",
     .excludes = "block",
     .why = "--method=sgd takes steps with whole rows; leave out --block, or use --method=als"},
    {.command = "complete",
     .when = "implicit",
     .excludes = "bias=full|bias=mean",
     .why = "--implicit models zeros and ones, which need no mean and no biases; leave out --bias"},
    {.command = "complete",
     .when = "implicit",
     .excludes = "block|method=ccd",
     .why = "--implicit solves for whole rows, because zeros everywhere tie their components "
            "together; leave out --block and --method=ccd"},
    {.command = "complete",
     .when = "implicit",
     .excludes = "weights",
     .why = "--implicit makes the weights from the values; leave out --weights"},
    {.command = "complete",
     .when = "implicit",
     .excludes = "method=sgd",
     .why = "--method=sgd visits only entries, and --implicit has a zero in every other cell; use "
            "--method=als"},
    {.command = "complete",
     .when = "weights",
     .excludes = "method=sgd",
     .why = "--method=sgd gives every entry the same weight; use --method=als, or leave out "
            "--weights"},
    {.command = "complete",
     .when = "VALIDATION",
     .excludes = "validate",
     .why = "--holdout and --validate both give entries to validate on; leave out one of the two"},
    {.command = "complete",
     .when = "holdout-by",
     .excludes = "validate|UNHELD",
     .why = "--holdout-by says which entries --holdout chooses together, and with {2} it chooses "
            "none; leave out one of the two"},
    {.command = "complete",
     .when = "holdout-by",
     .excludes = "state",
     .why = "--state goes on to hold out each entry by itself; leave out --holdout-by, or --state"},
    {.command = "complete",
     .when = "race=off",
     .needs = "RACE",
     .why = "--race=off makes runs in full that held-out errors would end early, and here is one "
            "run, or no held-out error; leave it out"},
    {.command = "complete",
     .when = "of",
     .needs = "implicit",
     .why = "--of names the mode that --implicit ranks; add --implicit, or leave out --of"},
    {.command = "complete",
     .when = "implicit",
     .excludes = "clip",
     .why = "--implicit ranks entries, and predicts no values to clip; leave out --clip"},
    {.command = "complete",
     .when = "weights",
     .excludes = "duplicates=keep",
     .why =
         "--weights gives one weight per cell, and --duplicates=keep may keep several entries of "
         "a cell; leave out one of the two"},

    /* states */
    {.command = "complete",
     .when = "history",
     .needs = "state",
     .why = "--history is for a state; add --state=FILE"},
    {.command = "complete",
     .when = "keep-validation",
     .needs = "state",
     .why = "--keep-validation is for a state; add --state=FILE"},
    {.command = "complete",
     .when = "history=published",
     .needs = "bias=none",
     .why = "--history=published has no biases; add --bias=none"},
    {.command = "complete",
     .when = "history=published",
     .excludes = "nonnegative",
     .why = "--history=published may give negative components; leave out --nonnegative"},
    {.command = "complete",
     .when = "history=published",
     .needs = "context=auto|context=none",
     .why = "--history=published pulls no mode to 1; leave out --context"},
    {.command = "complete",
     .when = "state",
     .excludes = "RANKS",
     .why = "--state holds one model, not one for each --rank; give one number"},
    {.command = "complete",
     .when = "state",
     .excludes = "implicit",
     .why =
         "--implicit learns from cells without an entry, and a batch cannot say which cells have "
         "none; leave out --state. Later fit old and new entries together, with --implicit and, if "
         "no label is new, --init=RESULT"},

    /* stream */
    {.command = "stream",
     .when = "by",
     .excludes = "boxes",
     .why = "--by and --boxes are two ways to cut INPUT; leave out one of the two"},
    {.command = "stream",
     .when = "follow",
     .excludes = "by|boxes|FILES",
     .why = "--follow takes batches from its folder; leave out other files, --by and --boxes"},
    {.command = "stream",
     .when = "by|boxes",
     .needs = "FILES",
     .why = "--by and --boxes cut one INPUT; give STATE and that file"},
    {.command = "stream",
     .when = "by|boxes",
     .excludes = "BATCHES",
     .why = "--by and --boxes cut one INPUT; give STATE and that file"},
    {.command = "stream",
     .when = "batch",
     .needs = "by",
     .why = "--batch counts indices of --by; add --by"},
    {.command = "stream",
     .when = "snapshots",
     .excludes = "by|boxes",
     .why =
         "--by and --boxes cut one INPUT, and --snapshots takes whole files; leave out one of the "
         "two"},
    {.command = "stream",
     .when = "snapshots",
     .needs = "FILES|follow",
     .why = "--snapshots is about batches; give files, or --follow=DIR, or leave it out"},
    {.command = "stream",
     .needs = "FILES|follow|output|plan",
     .why = "a batch is missing; give files, INPUT with --by or --boxes, or --follow=DIR; see "
            "amped_mpi stream --help"},

    /* recommend */
    {.command = "recommend",
     .needs = "for",
     .why = "--for (for whom) or --of (labels of which mode) is missing; see amped_mpi recommend "
            "--help"},
    {.command = "recommend",
     .needs = "of",
     .why = "--for (for whom) or --of (labels of which mode) is missing; see amped_mpi recommend "
            "--help"},
    {.command = "recommend",
     .when = "TEXT|dims",
     .needs = "exclude",
     .why = "options for reading text and tables are for the tensor of --exclude; name one, or "
            "leave them out"},

    {.command = "recommend",
     .when = "exclude-any",
     .needs = "exclude",
     .why =
         "--exclude-any is about the tensors of --exclude; name one, or leave out --exclude-any"},

    /* evaluate, similar */
    {.command = "evaluate",
     .needs = "of",
     .why = "--of (the mode that is ranked) is missing; see amped_mpi evaluate --help"},
    {.command = "evaluate",
     .when = "for",
     .needs = "exclude",
     .why = "--for says which entries --exclude leaves out; name a tensor with --exclude, or leave "
            "out --for"},
    {.command = "similar",
     .needs = "for",
     .why = "--for (a mode, or one of its labels) is missing; see amped_mpi similar --help"},

    /* generate */
    {.command = "generate",
     .when = "dense",
     .needs = "dims",
     .why = "--dense needs --dims, such as --dims=100x200x300"},
    {.command = "generate",
     .when = "dense",
     .excludes = "shape|nnz|scale|skew",
     .why = "--dense has all cells of --dims; leave out --shape, --nnz, --scale and --skew"},
    {.command = "generate",
     .when = "dense",
     .excludes = "observed|factor-mean",
     .why = "--observed makes a list of cells, and --dense makes all cells; leave out --dense, or "
            "--observed and --factor-mean"},
    {.command = "generate",
     .when = "collinear|signed|type",
     .needs = "dense",
     .why = "--collinear, --signed and --type are for dense tensors; give --dense too"},
    {.command = "generate",
     .when = "noise|collinear|signed",
     .needs = "planted",
     .why = "--noise, --collinear and --signed are for a planted model; give --planted too"},
    {.command = "generate",
     .needs = "dims|shape",
     .why = "neither --dims nor --shape is given; give one, such as --dims=100x200x300"},
    {.command = "generate",
     .when = "shape",
     .excludes = "dims",
     .why = "--shape has its own dimensions; leave out --dims"},
    {.command = "generate",
     .when = "observed",
     .needs = "planted",
     .why = "--observed draws cells of a planted model; give --planted too"},
    {.command = "generate",
     .when = "observed",
     .excludes = "shape",
     .why = "--observed is a share of the cells of --dims; leave out --shape"},
    {.command = "generate",
     .when = "observed",
     .excludes = "nnz",
     .why = "--observed gives the number of cells to draw; leave out --nnz"},
    {.command = "generate",
     .needs = "dense|shape|nnz|observed",
     .why = "the number of nonzeros is missing; give --nnz, such as --nnz=1M"},
    {.command = "generate",
     .when = "scale",
     .needs = "shape",
     .why = "--scale is for --shape; leave it out, or give --shape"},
    {.command = "generate",
     .when = "factor-mean",
     .needs = "observed",
     .why = "--factor-mean is for --observed; give --observed too, or leave it out"},
    {.command = "generate",
     .when = "planted",
     .excludes = "skew",
     .why = "--skew does not apply to --planted tensors; leave out one of them"},

    /* predict: at cells of a file, or at all cells */
    {.command = "predict",
     .needs = "FILES|output",
     .why = "the cells are missing; name a file of them, or all cells with -o OUT.npy"},
    {.command = "predict",
     .when = "cold|TEXT|dims",
     .needs = "FILES",
     .why = "{1} is for a file of cells; name one after the result, or leave out {1}"},
    {.command = "predict",
     .when = "by",
     .needs = "FILES",
     .why = "--by is for a file of cells with values; name one after the result"},
    {.command = "predict",
     .when = "top",
     .needs = "by",
     .why = "-n is for --by=MODE; give it too, or leave out -n"},
    {.command = "predict",
     .when = "observed|type",
     .excludes = "FILES",
     .why = "{1} is for an array of all cells; leave it out, or leave out the file of cells"},
    {.command = "predict",
     .when = "dataset",
     .needs = "FILES|observed",
     .why = "--dataset is for a file of cells, or for --observed; leave it out"},

    /* convert, also by the kind of its input */
    {.command = "convert",
     .when = "dense",
     .excludes = "sparse",
     .why = "--dense and --sparse exclude each other"},
    {.command = "convert",
     .when = "dense",
     .excludes = "drop-zeros|copies",
     .why = "--dense writes all cells; --drop-zeros and --copies are for sparse tensors"},
    {.command = "convert",
     .when = "nan=missing",
     .needs = "sparse",
     .why = "--nan=missing leaves cells out of a list; add --sparse, or use --nan=zero"},
    {.command = "convert",
     .when = "compact",
     .excludes = "same-labels",
     .why = "--compact would separate indices that --same-labels joins; leave out one of the two"},
    {.command = "convert",
     .input = "dense",
     .needs = "dense|sparse",
     .why = "is a dense tensor; give --dense to write it as one, --sparse to write the cells that "
            "are not 0, or --sparse --nan=missing to write all cells that are not missing"},
    {.command = "convert",
     .input = "dense",
     .when = "TEXT|dims",
     .why =
         "is a dense tensor; the options of reading text and tables, --dims and --duplicates are "
         "for sparse ones"},
    {.command = "convert",
     .input = "dense",
     .when = "drop-zeros",
     .needs = "nan=missing",
     .why = "is a dense tensor; --drop-zeros is for sparse ones, and for --sparse --nan=missing"},
    {.command = "convert",
     .input = "dense",
     .when = "compact|label-order|temporary",
     .needs = "sparse",
     .why = "is a dense tensor and stays one; --compact, --label-order and --temporary are for "
            "sparse ones"},
    {.command = "convert",
     .input = "sparse",
     .when = "sparse",
     .why = "is not a file of a dense tensor; leave out --sparse"},
    {.command = "convert",
     .input = "sparse",
     .when = "modes|axis",
     .why = "is not a dense tensor; leave out {1}, which is for the modes of an array"},
    {.command = "convert",
     .input = "sparse",
     .when = "nan",
     .why = "is not a dense tensor; leave out --nan, which is for dense tensors"},
    {.command = "convert",
     .input = "sparse",
     .when = "dense",
     .excludes = "duplicates=keep",
     .why = "--duplicates=keep: a cell of a dense tensor has one value; give another policy"},
    {.command = "convert",
     .input = "result",
     .when = "TEXT|dims|drop-zeros|compact|label-order|copies|memory|temporary|dense|sparse|nan|"
             "modes|axis",
     .why = "is a result; leave out {1}, which is for tensors"},
    {.why = NULL},
};

const amped_option_default_row amped_option_defaults[] = {
    {.command = "cpd", .option = "tol", .when = "method=rbs", .initial = "1e-3"},
    /* the fit of a shape's tensor is not known (cmd_cpd.c) */
    {.command = "cpd", .option = "tol", .when = "shape", .initial = "0"},
    {.command = "cpd", .option = "tol", .when = "loss=poisson", .initial = "1e-6"},
    {.command = "cpd", .option = "iters", .when = "loss=poisson", .initial = "200"},
    {.command = "cpd", .option = "accelerate", .when = "loss=poisson", .initial = "momentum"},
    {.command = NULL},
};

/* ---- terms ----------------------------------------------------------------------------------- */

/* The first option of reading text and tables that was given; NULL: none. */
static const char *text_option(const amped_options *o) {
  const amped_option_group *const groups[] = {&amped_read_option_rows,
                                              &amped_duplicates_option_rows};
  for (int g = 0; g < 2; g++)
    for (int i = 0; i < groups[g]->count; i++)
      if (amped_options_said(o, &groups[g]->rows[i]) != NULL)
        return groups[g]->rows[i].name;
  return NULL;
}

/* May runs of complete end early? */
static bool races(const amped_complete_options *o, int starts) {
  const bool validates = o->validate != NULL || !o->holdout_given || o->holdout > 0.0;
  return validates && (o->reg_count != 1 || starts > 1);
}

/* Does a term of capital letters hold? said: how a message calls it. */
static bool fact_holds(const amped_options *o, const char *term, size_t length, char *said) {
  const char *option = text_option(o);
  const struct {
    const char *name;
    bool holds;
    const char *said;
  } facts[] = {
      {.name = "FILE", .holds = o->nargs > 0, .said = o->nargs > 0 ? o->args[0] : ""},
      {.name = "FILES", .holds = o->nargs > 1, .said = "other files"},
      {.name = "BATCHES", .holds = o->nargs > 2, .said = "other files"},
      {.name = "RANKS", .holds = o->session.ncomps_count > 1, .said = "several values of --rank"},
      {.name = "STARTS", .holds = o->session.starts > 1, .said = "--starts"},
      {.name = "INIT", .holds = o->session.init != NULL, .said = "--init"},
      {.name = "UNHELD",
       .holds = o->complete.holdout_given && !(o->complete.holdout > 0.0),
       .said = "--holdout=0"},
      {.name = "VALIDATION", .holds = o->complete.holdout > 0.0, .said = "--holdout"},
      {.name = "RACE", .holds = races(&o->complete, o->session.starts), .said = "several runs"},
      {.name = "PENALTY",
       .holds = amped_row_rule_penalises(&o->cpd.rule),
       .said = o->cpd.rule.l1 > 0.0 ? "--l1" : "--ridge"},
      {.name = "TEXT", .holds = option != NULL, .said = option},
  };
  for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++)
    if (strlen(facts[i].name) == length && strncmp(facts[i].name, term, length) == 0) {
      if (facts[i].holds)
        (void)snprintf(said, AMPED_OPTION_CHARS, "%s%.400s", facts[i].said == option ? "--" : "",
                       facts[i].said);
      return facts[i].holds;
    }
  return false;
}

/* The row of a command's option. NULL: it has none of this name. */
static const amped_option *row_of(const amped_command *command, const char *name, size_t length) {
  const amped_option *rows[AMPED_MAX_OPTIONS];
  const int count = amped_command_rows(command, rows);
  for (int i = 0; i < count; i++)
    if (strlen(rows[i]->name) == length && strncmp(rows[i]->name, name, length) == 0)
      return rows[i];
  return NULL;
}

static bool is_value(const char *text, const char *word, size_t length) {
  return text != NULL && strlen(text) == length && strncmp(text, word, length) == 0;
}

static bool option_holds(const amped_options *o, const char *term, size_t length, char *said) {
  const char *equals = memchr(term, '=', length);
  const size_t name = equals != NULL ? (size_t)(equals - term) : length;
  const amped_option *row = row_of(o->command, term, name);
  if (row == NULL)
    return false;
  const char *text = amped_options_said(o, row);
  (void)snprintf(said, AMPED_OPTION_CHARS, "--%s", row->name);
  if (equals == NULL)
    return text != NULL;
  return is_value(text != NULL ? text : amped_command_initial(o->command, row), equals + 1,
                  length - name - 1);
}

const char *amped_option_rules_find(const amped_options *o, const char *terms, char *buffer) {
  for (const char *at = terms; *at != '\0';) {
    const size_t length = strcspn(at, "|");
    const bool is_fact = *at >= 'A' && *at <= 'Z';
    if ((is_fact ? fact_holds : option_holds)(o, at, length, buffer))
      return buffer;
    at += length + (at[length] == '|');
  }
  return NULL;
}

bool amped_option_rules_hold(const amped_options *o, const char *terms) {
  char option[AMPED_OPTION_CHARS];
  return amped_option_rules_find(o, terms, option) != NULL;
}

/* ---- rules ----------------------------------------------------------------------------------- */

/* The message of a rule, with the options that were found. */
static const char *message_of(const char *why, const char *first, const char *second,
                              char *buffer) {
  size_t used = 0;
  for (const char *at = why; *at != '\0' && used + 1 < AMPED_OPTION_CHARS;) {
    const char *part = strncmp(at, "{1}", 3) == 0   ? first
                       : strncmp(at, "{2}", 3) == 0 ? second
                                                    : "";
    if (*part != '\0') {
      const int n = snprintf(buffer + used, AMPED_OPTION_CHARS - used, "%s", part);
      used += n > 0 ? (size_t)n : 0;
      at += 3;
    } else {
      buffer[used++] = *at++;
    }
  }
  buffer[used < AMPED_OPTION_CHARS ? used : AMPED_OPTION_CHARS - 1] = '\0';
  return buffer;
}

/* Is the name in a list with | between names? NULL: a list of all names. */
static bool is_listed(const char *list, const char *name) {
  const size_t length = strlen(name);
  for (const char *at = list; at != NULL && *at != '\0';) {
    const size_t n = strcspn(at, "|");
    if (n == length && strncmp(at, name, n) == 0)
      return true;
    at += n + (at[n] == '|');
  }
  return list == NULL;
}

static bool is_about(const amped_option_rule *rule, const amped_options *o, const char *input) {
  const bool same =
      rule->input == NULL ? input == NULL : input != NULL && strcmp(rule->input, input) == 0;
  return same && is_listed(rule->command, o->command->name);
}

static amped_status check_rule(const amped_options *o, const amped_option_rule *rule) {
  char first[AMPED_OPTION_CHARS] = "";
  char second[AMPED_OPTION_CHARS] = "";
  char text[AMPED_OPTION_CHARS];
  if (rule->when != NULL && amped_option_rules_find(o, rule->when, first) == NULL)
    return AMPED_OK;
  if (rule->needs != NULL && amped_option_rules_find(o, rule->needs, second) != NULL)
    return AMPED_OK;
  if (rule->excludes != NULL && amped_option_rules_find(o, rule->excludes, second) == NULL)
    return AMPED_OK;
  return amped_error(AMPED_USAGE, rule->input != NULL ? o->args[0] : NULL, "%s",
                     message_of(rule->why, first, second, text));
}

amped_status amped_option_rules_check(const amped_options *o, const char *input) {
  for (const amped_option_rule *rule = amped_option_rules; rule->why != NULL && o->command != NULL;
       rule++)
    if (is_about(rule, o, input))
      AMPED_TRY(check_rule(o, rule));
  return AMPED_OK;
}

void amped_option_rules_default(amped_options *o) {
  char buffer[AMPED_OPTION_CHARS];
  const amped_option *done = NULL;
  for (const amped_option_default_row *d = amped_option_defaults; d->command != NULL; d++) {
    if (strcmp(d->command, o->command->name) != 0)
      continue;
    const amped_option *row = row_of(o->command, d->option, strlen(d->option));
    if (row == done || amped_options_said(o, row) != NULL ||
        amped_option_rules_find(o, d->when, buffer) == NULL)
      continue;
    amped_options_put(o, row, d->initial);
    done = row;
  }
}
