/* Plot: a picture that gnuplot draws from a script, which holds the data, too.
 *
 * OUT.svg and OUT.png are pictures; OUT.gp is the script that draws OUT.svg, for another day or
 * another machine. No other file is written: script and picture are in memory until gnuplot has
 * ended well, so that neither a failure nor a signal leaves anything behind. Then the output gets
 * its name as amped_draft_publish gives it. Only serial commands call this, because gnuplot is a
 * child process. */
#ifndef AMPED_PLOT_H
#define AMPED_PLOT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

/* Characters that amped_plot_text keeps, and room for them. */
#define AMPED_PLOT_TEXT 24
#define AMPED_PLOT_TEXT_BYTES (4 * AMPED_PLOT_TEXT + 8)

/* Colours that are told apart by everyone (Okabe and Ito's), as gnuplot writes them. */
#define AMPED_PLOT_BLUE "'#0072b2'"
#define AMPED_PLOT_VERMILION "'#d55e00'"
#define AMPED_PLOT_GREEN "'#009e73'"
#define AMPED_PLOT_ORANGE "'#e69f00'"
#define AMPED_PLOT_PURPLE "'#cc79a7'"
#define AMPED_PLOT_SKY "'#56b4e9'"
#define AMPED_PLOT_BLACK "'#000000'"
#define AMPED_PLOT_GREY "'#b0b0b0'"

typedef enum amped_plot_form { AMPED_PLOT_SVG, AMPED_PLOT_PNG, AMPED_PLOT_SCRIPT } amped_plot_form;

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

/* path ends in .svg, .png or .gp (AMPED_USAGE otherwise) and is not `input`. The caller calls
 * amped_plot_close after a failure, too. The output guard decides what may be replaced. */
amped_status amped_plot_open(const char *path, const char *input, bool overwrite, amped_plot *f);

/* Print the head of the script: the size of the picture in pixels, and its title. AMPED_USAGE where
 * a .png cannot be as high. */
amped_status amped_plot_begin(amped_plot *f, int width, int height, const char *title);

/* Begin a block of data of tab-separated columns, which the caller prints to `script`, and end it.
 * It is called $NAME from there on; `columns` is a text that describes its columns. */
void amped_plot_block(amped_plot *f, const char *name, const char *columns);
void amped_plot_block_end(amped_plot *f);

/* Begin a panel: the axes of its plot are the box, its title stands above them. What an earlier
 * panel set for its axes and key is gone. The end comes after the plot. */
void amped_plot_panel(amped_plot *f, const amped_plot_box *axes, const char *title);
void amped_plot_panel_end(amped_plot *f);

/* Text at a place of the picture, its left end at x; a heading is larger. It is drawn with the next
 * plot: that of the panel that is open, or that comes. */
void amped_plot_note(amped_plot *f, int x, int y, bool heading, const char *text);

/* The legend stands to the right of the axes. */
void amped_plot_key(amped_plot *f, const amped_plot_box *axes);

/* Ticks of an x axis of whole numbers, first to last, that do not touch each other. */
void amped_plot_whole_ticks(amped_plot *f, uint64_t first, uint64_t last, int width);

/* Print a tick of a list, "'text' at", behind a comma unless it is the first. */
void amped_plot_tick(amped_plot *f, bool first, const char *text, uint64_t at);

/* Text as a cell of the data, or within '...' of the script: printable UTF-8 without quotes and
 * backslashes, cut at AMPED_PLOT_TEXT characters. The buffer has AMPED_PLOT_TEXT_BYTES. */
const char *amped_plot_text(char *buffer, const char *text, uint64_t length);

/* The pixels that text takes at most. */
int amped_plot_text_width(const char *text);

/* Draw, and give the output its name. Where gnuplot is missing or fails, AMPED_FAILED tells why,
 * and a remedy. */
amped_status amped_plot_draw(amped_plot *f);

void amped_plot_close(amped_plot *f);

#endif
