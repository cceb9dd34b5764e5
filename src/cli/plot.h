/* Figure: a picture that gnuplot draws, and beside it the numbers and the script it is drawn from.
 *
 * OUT.svg or OUT.png come with OUT.dat and OUT.gp. The caller prints blocks of tab-separated
 * columns to `data`, each begun by amped_plot_block, and panels to `script`, which find a block
 * by its name: plot data index 'NAME'. The script names its files without a folder, so that the
 * three can be moved together. All get temporary names first. Serial commands only: gnuplot is a
 * child process. */
#ifndef AMPED_PLOT_H
#define AMPED_PLOT_H

#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

/* Characters that amped_plot_text keeps, and room for them. */
#define AMPED_PLOT_TEXT 24
#define AMPED_PLOT_TEXT_BYTES (4 * AMPED_PLOT_TEXT + 8)

typedef enum amped_plot_file {
  AMPED_PLOT_PICTURE,
  AMPED_PLOT_DATA,
  AMPED_PLOT_SCRIPT
} amped_plot_file;
#define AMPED_PLOT_FILES 3

typedef struct amped_plot {
  char *names[AMPED_PLOT_FILES]; /* by amped_plot_file */
  char *temporaries[AMPED_PLOT_FILES];
  FILE *data;
  FILE *script;
  int blocks;
} amped_plot;

/* path ends in .svg or .png (AMPED_USAGE otherwise); none of its three files may be `input`. On
 * failure too, amped_plot_close frees what there is. */
amped_status amped_plot_open(const char *path, const char *input, amped_plot *f);

/* The head of the script: a grid of panels, filled row by row; a title over all. */
void amped_plot_layout(amped_plot *f, int rows, int columns, const char *title);

/* Begin a block of data; columns (text) tells what they hold. */
void amped_plot_block(amped_plot *f, const char *name, const char *columns);

/* Text as a cell of the data, or within '...' of the script: printable UTF-8 without quotes and
 * backslashes, cut at AMPED_PLOT_TEXT characters. The buffer has AMPED_PLOT_TEXT_BYTES. */
const char *amped_plot_text(char *buffer, const char *text, uint64_t length);

/* Put data and script under their names, then draw. Where gnuplot is missing or fails, the two are
 * there and AMPED_FAILED says what to do. */
amped_status amped_plot_draw(amped_plot *f);

void amped_plot_close(amped_plot *f);

#endif
