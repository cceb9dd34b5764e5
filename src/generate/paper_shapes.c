/* Shapes of the papers' tensors: the table of shapes, and scaling. */
#include "generate/paper_shapes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MIN_DIM 46
#define MAX_DENSITY 0.01

/* Sources: AMPED, table 3; FROSTT; the Netflix prize (users, films, days). */
static const amped_shape shapes[] = {
    {"amazon", 3, {4821207, 1774269, 1805187}, UINT64_C(1700000000), 0},
    {"patents", 3, {46, 239172, 239172}, UINT64_C(3600000000), AMPED_SHAPE_CODES},
    {"reddit", 3, {8211298, 176962, 8116559}, UINT64_C(4700000000), 0},
    {"twitch", 5, {15524309, 6161666, 783865, 6103, 6103}, UINT64_C(500000000), 0},
    {"nell2", 3, {12092, 9184, 28818}, UINT64_C(77000000), 0},
    {"netflix", 3, {480189, 17770, 2182}, UINT64_C(100000000), AMPED_SHAPE_RATINGS},
};

static uint64_t scaled(uint64_t dim, double scale) {
  uint64_t least = dim < MIN_DIM ? dim : MIN_DIM;
  double x = round((double)dim * scale);
  return x > (double)least ? (uint64_t)x : least;
}

static void scale_dims(const amped_shape *shape, double scale, amped_shape *out) {
  double factor = scale;
  double most = scale > 1.0 ? scale : 1.0;
  for (;;) {
    double cells = 1.0;
    for (int m = 0; m < shape->order; m++) {
      out->dims[m] = scaled(shape->dims[m], factor);
      cells *= (double)out->dims[m];
    }
    if ((double)out->nnz <= MAX_DENSITY * cells || factor >= most)
      return;
    factor = 2.0 * factor < most ? 2.0 * factor : most;
  }
}

amped_status amped_shape_get(const char *name, double scale, uint64_t nnz, amped_shape *out) {
  char names[128] = "";
  size_t used = 0;
  if (!(scale >= 1e-9 && scale <= 1e3))
    return amped_error(AMPED_USAGE, NULL, "scale %g; give --scale from 1e-9 to 1000", scale);
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
    if (strcmp(shapes[i].name, name) == 0) {
      *out = shapes[i];
      out->nnz = nnz > 0 ? nnz : (uint64_t)fmax(1.0, round((double)shapes[i].nnz * scale));
      scale_dims(&shapes[i], scale, out);
      return AMPED_OK;
    }
    used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "",
                             shapes[i].name);
  }
  return amped_error(AMPED_USAGE, NULL, "no shape is called '%s'; the shapes are %s", name, names);
}
