/* Row rule: what factors may be, and what is small beside the residual. Factors are the least of
 *
 *     |X - M|^2 / 2 + ridge / 2 * sum over modes of |A|^2 + l1 * sum over modes of |A|_1,
 *
 * M = [[A, B, ..]], where the factors of some modes are nonnegative. The lengths of a component's
 * columns are shared out over the modes so that the penalties are least; M stays as it is. So a
 * unit model (unit_model.h) has one value of this objective. No function is collective. */
#ifndef AMPED_ROW_RULE_H
#define AMPED_ROW_RULE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct amped_row_rule {
  uint64_t nonnegative; /* bit m: the factor of mode m */
  double ridge, l1;     /* at least 0 */
} amped_row_rule;

#define AMPED_ALL_MODES UINT64_MAX

/* Factors may be anything, and nothing is penalised. */
bool amped_row_rule_is_plain(const amped_row_rule *rule);
bool amped_row_rule_penalises(const amped_row_rule *rule);
bool amped_row_rule_is_nonnegative(const amped_row_rule *rule, int mode);
/* New rows of mode come by row descent (row_descent.h), not by an inverse. */
bool amped_row_rule_descends(const amped_row_rule *rule, int mode);

/* Texts, in a caller's buffer of AMPED_ROW_RULE_TEXT, which is returned. key: the same of equal
 * rules alone, such as "nonnegative=0,2 l1=0.1" with modes from 0; NULL where the rule is plain.
 * objective: for the user. modes: nonnegative ones, from 1, as "1 and 3". */
#define AMPED_ROW_RULE_TEXT 512
const char *amped_row_rule_key(const amped_row_rule *rule, int order, char *buffer);
/* A key as the user counts modes, from 1. */
const char *amped_row_rule_key_told(const char *key, char *buffer);
const char *amped_row_rule_objective(const amped_row_rule *rule, char *buffer);
const char *amped_row_rule_modes(const amped_row_rule *rule, int order, char *buffer);

/* Of one component of a unit model with this weight, above 0: the lengths of its columns in all
 * modes, of which the weight is the product; and its penalties then. sizes[m]: the sum of the sizes
 * of mode m's unit column; read where l1 > 0. */
void amped_row_rule_share(const amped_row_rule *rule, int order, double weight, const double *sizes,
                          double *lengths);
double amped_row_rule_penalty(const amped_row_rule *rule, int order, const double *lengths,
                              const double *sizes);

#endif
