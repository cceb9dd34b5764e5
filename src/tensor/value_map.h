/* Value map: representation of a tensor's values in memory. Value x is stored as (x - centre) /
 * unit, computed in double and then rounded to the type of values in memory. So float can hold the
 * differences of values far from 0. */
#ifndef AMPED_VALUE_MAP_H
#define AMPED_VALUE_MAP_H

#include "base/types.h"

typedef struct amped_value_map {
  double centre;
  double unit; /* above 0 */
  double most; /* largest magnitude that is stored, if above 0: larger numbers become it. Only
                  entries of weight 0 may be larger */
} amped_value_map;

/* The map of values that are stored unchanged. */
static inline amped_value_map amped_value_map_none(void) {
  const amped_value_map none = {.centre = 0.0, .unit = 1.0, .most = 0.0};
  return none;
}

static inline bool amped_value_map_is_none(amped_value_map map) {
  return map.centre == 0.0 && map.unit == 1.0 && !(map.most > 0.0);
}

/* to: the mapped number, before rounding. from: the inverse. store: the mapped number, limited to
 * map.most, for the tensor's own nonzeros. */
AMPED_BOTH static inline double amped_value_map_to(amped_value_map map, double x) {
  return (x - map.centre) / map.unit;
}

AMPED_BOTH static inline double amped_value_map_from(amped_value_map map, double stored) {
  return map.centre + map.unit * stored;
}

AMPED_BOTH static inline double amped_value_map_store(amped_value_map map, double x) {
  const double y = amped_value_map_to(map, x);
  if (!(map.most > 0.0))
    return y;
  return y > map.most ? map.most : y < -map.most ? -map.most : y;
}

#endif
