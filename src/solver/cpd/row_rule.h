/* Row rule: constraints on factors, and penalties in addition to the residual. Factors minimise
 *
 *     |X - M|^2 / 2 + ridge / 2 * sum over modes of |A|^2 + l1 * sum over modes of |A|_1,
 *
 * with M = [[A, B, ..]], and the factors of some modes are nonnegative. The lengths of a
 * component's columns are distributed over modes so that the penalties are smallest; M stays the
 * same. Therefore a unit model (unit_model.h) has one value of this objective. No function is
 * collective. */
#ifndef AMPED_ROW_RULE_H
#define AMPED_ROW_RULE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct amped_row_rule {
  uint64_t nonnegative; /* bit m: the factor of mode m is nonnegative */
  double ridge, l1;     /* at least 0 */
} amped_row_rule;

#define AMPED_ALL_MODES UINT64_MAX

/* True if factors have no constraint and no penalty. */
bool amped_row_rule_is_plain(const amped_row_rule *rule);
bool amped_row_rule_penalises(const amped_row_rule *rule);
bool amped_row_rule_is_nonnegative(const amped_row_rule *rule, int mode);
/* True if new rows of mode come from row descent (row_descent.h), not from an inverse. */
bool amped_row_rule_descends(const amped_row_rule *rule, int mode);

/* Texts, in a caller's buffer of AMPED_ROW_RULE_TEXT bytes, which is returned. key: equal for equal
 * rules only, such as "nonnegative=0,2 l1=0.1" with modes from 0; NULL if the rule is plain.
 * objective: for the user. modes: nonnegative modes, from 1, as "1 and 3". */
#define AMPED_ROW_RULE_TEXT 512
const char *amped_row_rule_key(const amped_row_rule *rule, int order, char *buffer);
/* The key with modes counted from 1, for the user. */
const char *amped_row_rule_key_told(const char *key, char *buffer);
const char *amped_row_rule_objective(const amped_row_rule *rule, char *buffer);
const char *amped_row_rule_modes(const amped_row_rule *rule, int order, char *buffer);

/* Lengths and penalties of one component of a unit model. share: the lengths of its columns in all
 * modes, whose product is the weight; the weight is above 0. penalty: its penalties with these
 * lengths. sizes[m]: sum of absolute values in mode m's unit column; read only if l1 > 0. */
void amped_row_rule_share(const amped_row_rule *rule, int order, double weight, const double *sizes,
                          double *lengths);
double amped_row_rule_penalty(const amped_row_rule *rule, int order, const double *lengths,
                              const double *sizes);

#endif
