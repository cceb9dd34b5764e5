/* Model options: options of the commands that use a model: predict and recommend. */
#ifndef AMPED_MODEL_OPTIONS_H
#define AMPED_MODEL_OPTIONS_H

#include "base/option.h"

typedef struct amped_predict_options {
  bool cold;            /* predict cells with indices that are not in the model */
  const char *observed; /* dense tensor whose observed cells an array of predictions keeps; NULL */
} amped_predict_options;

typedef struct amped_recommend_options {
  const char *target;      /* --for: MODE or MODE:LABEL */
  const char *of;          /* --of: MODE */
  amped_text_list at;      /* --at: MODE:LABEL */
  amped_text_list exclude; /* tensors */
} amped_recommend_options;

extern const amped_option_group amped_predict_option_rows;   /* --cold, --observed */
extern const amped_option_group amped_of_option_rows;        /* --of, also an option of complete */
extern const amped_option_group amped_recommend_option_rows; /* --for, --at, --exclude */

#endif
