/* Row rule: texts for files and the user, and the lengths of a component's columns. */
#include "solver/cpd/row_rule.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/types.h"

/* Halvings of an error: more than a double has digits and exponents. */
#define HALVINGS 80

bool amped_row_rule_penalises(const amped_row_rule *rule) {
  return rule->ridge > 0.0 || rule->l1 > 0.0;
}

bool amped_row_rule_is_plain(const amped_row_rule *rule) {
  return rule->nonnegative == 0 && !amped_row_rule_penalises(rule);
}

bool amped_row_rule_is_nonnegative(const amped_row_rule *rule, int mode) {
  return (rule->nonnegative >> mode & 1) != 0;
}

bool amped_row_rule_descends(const amped_row_rule *rule, int mode) {
  return rule->l1 > 0.0 || amped_row_rule_is_nonnegative(rule, mode);
}

/* --- texts ------------------------------------------------------------------------------------ */

/* List the nonnegative modes, counted from `first`, with `between` after each one, and
 * `before_last` before the last one. Returns the length. */
static size_t list_modes(const amped_row_rule *rule, int order, int first, const char *between,
                         const char *before_last, char *buffer) {
  size_t used = 0;
  int left = 0;
  for (int m = 0; m < order; m++)
    left += amped_row_rule_is_nonnegative(rule, m);
  buffer[0] = '\0';
  for (int m = 0; m < order; m++)
    if (amped_row_rule_is_nonnegative(rule, m)) {
      left--;
      used += (size_t)snprintf(buffer + used, AMPED_ROW_RULE_TEXT - used, "%d%s", first + m,
                               left > 1    ? between
                               : left == 1 ? before_last
                                           : "");
    }
  return used;
}

const char *amped_row_rule_modes(const amped_row_rule *rule, int order, char *buffer) {
  (void)list_modes(rule, order, 1, ", ", " and ", buffer);
  return buffer;
}

const char *amped_row_rule_key(const amped_row_rule *rule, int order, char *buffer) {
  size_t used = 0;
  if (amped_row_rule_is_plain(rule))
    return NULL;
  if (rule->nonnegative != 0) {
    char modes[AMPED_ROW_RULE_TEXT];
    (void)list_modes(rule, order, 0, ",", ",", modes);
    used = (size_t)snprintf(buffer, AMPED_ROW_RULE_TEXT, "nonnegative=%.200s", modes);
  }
  if (rule->ridge > 0.0)
    used += (size_t)snprintf(buffer + used, AMPED_ROW_RULE_TEXT - used, "%sridge=%.17g",
                             used > 0 ? " " : "", rule->ridge);
  if (rule->l1 > 0.0)
    (void)snprintf(buffer + used, AMPED_ROW_RULE_TEXT - used, "%sl1=%.17g", used > 0 ? " " : "",
                   rule->l1);
  return buffer;
}

/* Each mode is one digit, because there are at most AMPED_MAX_ORDER modes. */
const char *amped_row_rule_key_told(const char *key, char *buffer) {
  const char *modes = strchr(key, '=');
  (void)snprintf(buffer, AMPED_ROW_RULE_TEXT, "%s", key);
  if (strncmp(key, "nonnegative=", 12) != 0 || modes == NULL)
    return buffer;
  for (char *at = buffer + (modes - key) + 1; *at != '\0' && *at != ' '; at++)
    *at = (char)(*at >= '0' && *at < '9' ? *at + 1 : *at);
  return buffer;
}

const char *amped_row_rule_objective(const amped_row_rule *rule, char *buffer) {
  int used = snprintf(buffer, AMPED_ROW_RULE_TEXT, "|X - M|^2 / 2");
  if (rule->ridge > 0.0)
    used += snprintf(buffer + used, AMPED_ROW_RULE_TEXT - (size_t)used,
                     " + %g / 2 * (sum of the factors' squares)", rule->ridge);
  if (rule->l1 > 0.0)
    (void)snprintf(buffer + used, AMPED_ROW_RULE_TEXT - (size_t)used,
                   " + %g * (sum of the factors' sizes)", rule->l1);
  return buffer;
}

/* --- lengths ---------------------------------------------------------------------------------- */

/* Length of a column whose product length * (slope of its penalties) is `slope`. If the penalties
 * are smallest, this product is the same in all modes. A product of ridge and slope could be below
 * or above all doubles; its root is not. */
static double length_of(const amped_row_rule *rule, double slope, double size) {
  const double b = rule->l1 > 0.0 ? rule->l1 * size : 0.0;
  return 2.0 * slope / (b + hypot(b, 2.0 * sqrt(rule->ridge) * sqrt(slope)));
}

/* Search the logarithm of the slope. If it grows by 1, the logarithm of the product of lengths
 * grows by order / 2 to order. So a step by 1 / order of the missing amount halves the error. */
void amped_row_rule_share(const amped_row_rule *rule, int order, double weight, const double *sizes,
                          double *lengths) {
  const double asked = log(weight);
  double slope = 0.0;
  for (int i = 0; i < HALVINGS; i++) {
    double found = 0.0;
    for (int m = 0; m < order; m++) {
      lengths[m] = length_of(rule, exp(slope), rule->l1 > 0.0 ? sizes[m] : 0.0);
      found += log(lengths[m]);
    }
    slope += (asked - found) / order;
  }
}

double amped_row_rule_penalty(const amped_row_rule *rule, int order, const double *lengths,
                              const double *sizes) {
  double sum = 0.0;
  for (int m = 0; m < order; m++) {
    sum += rule->ridge / 2.0 * lengths[m] * lengths[m];
    if (rule->l1 > 0.0)
      sum += rule->l1 * lengths[m] * sizes[m];
  }
  return sum;
}
