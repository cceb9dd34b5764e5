/* Plot: a picture that gnuplot draws, with the data and the script that make it.
 *
 * OUT.svg or OUT.png comes with OUT.dat and OUT.gp. The caller prints blocks of tab-separated
 * columns to `data`; amped_plot_block begins each block. It prints panels to `script`, which find a
 * block by its name: plot data index 'NAME'. The script names its files without a folder, so that
 * users can move the three files together. All have temporary names first. Only serial commands
 * call it, because gnuplot is a child process. */
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

/* path ends in .svg or .png (AMPED_USAGE otherwise). None of the three files may be `input`. The
 * caller calls amped_plot_close after a failure, too. */
amped_status amped_plot_open(const char *path, const char *input, amped_plot *f);

/* Print the head of the script: a title over a grid of panels, which are filled row by row. */
void amped_plot_layout(amped_plot *f, int rows, int columns, const char *title);

/* Begin a block of data. `columns` is a text that describes its columns. */
void amped_plot_block(amped_plot *f, const char *name, const char *columns);

/* Text as a cell of the data, or within '...' of the script: printable UTF-8 without quotes and
 * backslashes, cut at AMPED_PLOT_TEXT characters. The buffer has AMPED_PLOT_TEXT_BYTES. */
const char *amped_plot_text(char *buffer, const char *text, uint64_t length);

/* Give data and script their final names, then draw. Where gnuplot is missing or fails, both files
 * stay and AMPED_FAILED tells a remedy. */
amped_status amped_plot_draw(amped_plot *f);

void amped_plot_close(amped_plot *f);

#endif
