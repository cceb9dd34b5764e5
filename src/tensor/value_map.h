/* Value map: representation of a tensor's values in memory. Value x is stored as (x - centre) /
 * unit, computed in double and then rounded to the type of values in memory. So float can hold the
 * differences of values far from 0. */
#ifndef AMPED_VALUE_MAP_H
#define AMPED_VALUE_MAP_H

#include "base/types.h"

typedef struct amped_value_map {
  double centre;
  double unit; /* above 0 */
} amped_value_map;

/* The map of values that are stored unchanged. */
static inline amped_value_map amped_value_map_none(void) {
  const amped_value_map none = {0.0, 1.0};
  return none;
}

static inline bool amped_value_map_is_none(amped_value_map map) {
  return map.centre == 0.0 && map.unit == 1.0;
}

/* to: the stored number, before rounding. from: the inverse. */
AMPED_BOTH static inline double amped_value_map_to(amped_value_map map, double x) {
  return (x - map.centre) / map.unit;
}

AMPED_BOTH static inline double amped_value_map_from(amped_value_map map, double stored) {
  return map.centre + map.unit * stored;
}

#endif
