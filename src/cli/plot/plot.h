/* Plot: a picture that gnuplot draws from a script. The script contains the data.
 *
 * OUT.svg, OUT.png and OUT.pdf are pictures; OUT.gp is the script that draws OUT.svg, for another
 * day or another machine. No other file is written. Script and picture are in memory until gnuplot
 * has ended well, so a failure or a signal leaves nothing behind. Then amped_draft_publish gives
 * the output its name. Only serial commands may call this, because gnuplot is a child process. */
#ifndef AMPED_PLOT_H
#define AMPED_PLOT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

/* Characters that amped_plot_text keeps, and bytes of its buffer. */
#define AMPED_PLOT_TEXT 24
#define AMPED_PLOT_TEXT_BYTES (4 * AMPED_PLOT_TEXT + 8)

/* Colours that everyone can distinguish (Okabe and Ito's), in gnuplot's notation. */
#define AMPED_PLOT_BLUE "'#0072b2'"
#define AMPED_PLOT_VERMILION "'#d55e00'"
#define AMPED_PLOT_GREEN "'#009e73'"
#define AMPED_PLOT_ORANGE "'#e69f00'"
#define AMPED_PLOT_PURPLE "'#cc79a7'"
#define AMPED_PLOT_SKY "'#56b4e9'"
#define AMPED_PLOT_BLACK "'#000000'"
#define AMPED_PLOT_GREY "'#b0b0b0'"

typedef enum amped_plot_form {
  AMPED_PLOT_SVG,
  AMPED_PLOT_PNG,
  AMPED_PLOT_PDF,
  AMPED_PLOT_SCRIPT
} amped_plot_form;

typedef struct amped_plot {
  amped_plot_form form;
  char *name;
  FILE *script;
  int width, height;
} amped_plot;

/* A rectangle of the picture, in pixels from its top left corner. */
typedef struct amped_plot_box {
  int left, top, width, height;
} amped_plot_box;

/* path must end in .svg, .png, .pdf or .gp (AMPED_USAGE otherwise) and must not be `input`. The
 * output guard decides what may be replaced. The caller calls amped_plot_close even after a
 * failure. */
amped_status amped_plot_open(const char *path, const char *input, bool overwrite, amped_plot *f);

/* Print the head of the script: the size of the picture in pixels, and its title. AMPED_USAGE: a
 * .png or a .pdf cannot be that high. */
amped_status amped_plot_begin(amped_plot *f, int width, int height, const char *title);

/* Begin a block of data, which the script then calls $NAME. The caller prints its tab-separated
 * columns to `script`, and ends it. columns: a text that describes the columns. */
void amped_plot_block(amped_plot *f, const char *name, const char *columns);
void amped_plot_block_end(amped_plot *f);

/* Begin a panel: its plot's axes are the box, and its title stands above them, in two lines if it
 * is wider than the box and its margins. Settings of an earlier panel for its axes and
 * key are reset. Call the end after the plot. */
void amped_plot_panel(amped_plot *f, const amped_plot_box *axes, const char *title);
void amped_plot_panel_end(amped_plot *f);
/* After the beginning of a panel: its y axis has values from least to most. The axis is widened
 * until six digits are enough for different ticks. */
void amped_plot_spread(amped_plot *f, double least, double most);

/* Print text in the picture with its left end at x. A heading is larger. The text is drawn with the
 * plot of the open panel, or of the next one. */
void amped_plot_note(amped_plot *f, int x, int y, bool heading, const char *text);

/* Print the name of an axis with its middle at x, y; upright: from below to above. It is drawn as a
 * note is. */
void amped_plot_name(amped_plot *f, int x, int y, bool upright, const char *text);

/* Set the colours of values from least <= 0 to most >= 0, and draw a bar of them with numbers on
 * its right: white at 0, blue above, vermilion below. If there are values below 0, both ends are
 * equally far from 0. */
void amped_plot_colours(amped_plot *f, const amped_plot_box *bar, double least, double most);

/* Put the legend to the right of the axes. */
void amped_plot_key(amped_plot *f, const amped_plot_box *axes);

/* Print ticks of an x axis of whole numbers, first to last, that do not touch each other. width:
 * pixels. */
void amped_plot_whole_ticks(amped_plot *f, uint64_t first, uint64_t last, int width);

/* The least of 1, 2 or 5 times a power of ten that is at least x > 0. */
double amped_plot_round_step(double x);

/* Print a tick of a list, "'text' at", after a comma unless it is the first. */
void amped_plot_tick(amped_plot *f, bool first, const char *text, double at);

/* Convert text to a cell of the data, or for '...' in the script: printable UTF-8 without quotes
 * and backslashes, cut at AMPED_PLOT_TEXT characters. The buffer has AMPED_PLOT_TEXT_BYTES. */
const char *amped_plot_text(char *buffer, const char *text, uint64_t length);

/* Most pixels that a text takes. */
int amped_plot_text_width(const char *text);

/* Draw, and give the output its name. AMPED_FAILED, with reason and remedy, if gnuplot is missing
 * or fails. */
amped_status amped_plot_draw(amped_plot *f);

void amped_plot_close(amped_plot *f);

#endif
