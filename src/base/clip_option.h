/* Clip option: the range to which predictions are cut, "0.5:5"; or "data": the range of the values
 * to which a model was fitted. */
#ifndef AMPED_CLIP_OPTION_H
#define AMPED_CLIP_OPTION_H

#include <stdbool.h>

#include "base/option.h"

typedef struct amped_clip_option {
  bool given;
  bool to_data;       /* least and most are not the user's */
  double least, most; /* finite, least <= most */
} amped_clip_option;

extern const amped_option_group amped_clip_option_rows; /* --clip */

/* x, or the bound that x exceeds. x if no clip is given. */
static inline double amped_clip(const amped_clip_option *clip, double x) {
  return !clip->given ? x : x < clip->least ? clip->least : x > clip->most ? clip->most : x;
}

#endif
