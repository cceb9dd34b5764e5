/* Plot fonts: the characters that fonts on this machine have.
 *
 * gnuplot's .png and .pdf are ruined by a character without font: a box as large as the picture. */
#ifndef AMPED_PLOT_FONTS_H
#define AMPED_PLOT_FONTS_H

#include <stdint.h>

#include "base/status.h"

/* Characters, by their Unicode numbers. */
typedef struct amped_plot_fonts {
  uint64_t count;
  uint32_t *ranges; /* [2 * count] first and last of each range; amped_alloc'd */
} amped_plot_fonts;

/* Parse the answer of fc-list: ranges in hexadecimal, "20-7e a0", with blanks and ends of lines
 * between them. Other text is skipped. Free with amped_free(fonts->ranges), also after a failure.
 */
amped_status amped_plot_fonts_parse(const char *text, uint64_t length, amped_plot_fonts *fonts);

/* Replace each character of a UTF-8 text that has no font by a question mark, in place. *length: of
 * the text, before and after. *first: the first character without font; 0: there is none. Returns
 * the number of replaced characters. Without ranges, fonts are
 * assumed to have Latin, Greek and Cyrillic letters. */
uint64_t amped_plot_fonts_replace(const amped_plot_fonts *fonts, char *text, uint64_t *length,
                                  uint32_t *first);

#endif
