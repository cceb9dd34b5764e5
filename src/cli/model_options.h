/* Model options: options of the commands that use a model: predict, recommend, evaluate and
 * similar.
 */
#ifndef AMPED_MODEL_OPTIONS_H
#define AMPED_MODEL_OPTIONS_H

#include "base/number_list.h"
#include "base/option.h"

typedef struct amped_predict_options {
  bool cold;            /* predict cells with indices that are not in the model */
  const char *by;       /* mode by whose labels errors are reported; NULL */
  const char *observed; /* dense tensor whose observed cells an array of predictions keeps; NULL */
} amped_predict_options;

/* Options of recommend, some of which evaluate and similar share. */
typedef struct amped_recommend_options {
  const char *target;      /* --for: MODE or MODE:LABEL */
  const char *of;          /* --of: MODE */
  amped_text_list at;      /* --at: MODE:LABEL */
  amped_text_list exclude; /* tensors */
  const char *exclude_any; /* modes of --at whose labels do not matter for exclude; NULL: none */
} amped_recommend_options;

typedef struct amped_evaluate_options {
  const char *by; /* --for: mode by whose label entries are excluded; NULL: all others */
  bool cold;      /* rank cells that have an unknown index in another mode */
  amped_number_list at_ranks; /* ranks at which hits are counted */
} amped_evaluate_options;

typedef struct amped_similar_options {
  bool weighted; /* rows times the components' weights */
} amped_similar_options;

extern const amped_option_group amped_predict_option_rows;   /* --cold, --by, --observed */
extern const amped_option_group amped_of_option_rows;        /* --of, also an option of complete */
extern const amped_option_group amped_for_option_rows;       /* --for */
extern const amped_option_group amped_recommend_option_rows; /* --at, --exclude-any */
extern const amped_option_group amped_exclude_option_rows;   /* --exclude */
extern const amped_option_group amped_evaluate_option_rows;  /* --for, --cold, --at-ranks */
extern const amped_option_group amped_similar_option_rows;   /* --weighted */

#endif
