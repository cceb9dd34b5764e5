/* Groups: the cheapest cut of the list of models. */
#include "plan/groups.h"

#include <math.h>
#include <string.h>

#include "base/buffers.h"

static amped_buffers buffers(amped_groups *g, uint64_t models) {
  amped_buffers b = {.what = "the list of models"};
  AMPED_BUFFER(&b, HOST, g->ncomps, models);
  AMPED_BUFFER(&b, HOST, g->ends, models);
  return b;
}

amped_status amped_groups_create(const int *ncomps, int count, int starts, amped_groups *g) {
  memset(g, 0, sizeof *g);
  AMPED_TRY(amped_buffers_allocate(buffers(g, (uint64_t)count * (uint64_t)starts)));
  for (int i = 0; i < count; i++)
    for (int k = 0; k < starts; k++)
      g->ncomps[g->models++] = ncomps[i];
  amped_groups_choose(g, 1, AMPED_MAX_NCOMPS, false, AMPED_F32, &(amped_width_costs){.count = 0});
  return AMPED_OK;
}

void amped_groups_free(amped_groups *g) {
  amped_buffers_free(buffers(g, 0));
  memset(g, 0, sizeof *g);
}

static double cost_of(const amped_width_costs *costs, amped_vtype type, int columns) {
  const double bytes = (double)columns * type;
  int i = 0;
  if (costs->count == 0)
    return 1.0;
  while (i < costs->count - 1 && bytes > (double)costs->table[i].bytes)
    i++;
  return costs->table[i].sec * fmax(1.0, bytes / (double)costs->table[i].bytes);
}

/* Set the results of the chosen ends. */
static void describe(amped_groups *g, amped_vtype type, const amped_width_costs *costs) {
  double alone = 0.0;
  double grouped = 0.0;
  g->count = g->largest = g->columns = 0;
  for (int first = 0; first < g->models; first = g->ends[first]) {
    int columns = 0;
    for (int k = first; k < g->ends[first]; k++) {
      columns += g->ncomps[k];
      alone += cost_of(costs, type, g->ncomps[k]);
    }
    grouped += cost_of(costs, type, columns);
    g->count++;
    g->largest = g->ends[first] - first > g->largest ? g->ends[first] - first : g->largest;
    g->columns = columns > g->columns ? columns : g->columns;
  }
  g->saved = alone / grouped;
  g->widest = grouped / cost_of(costs, type, g->columns);
}

/* The cheapest cut of the models from `first` on, if rest[k] is the cost of those from first + 1 +
 * k on. Returns the cost. If costs are equal, the largest group wins. */
static double cut(amped_groups *g, int first, int most, int columns, amped_vtype type,
                  const amped_width_costs *costs, const double *rest) {
  double best = INFINITY;
  int width = 0;
  for (int k = first; k < g->models && k < first + most; k++) {
    width += g->ncomps[k];
    if (k > first && width > columns)
      break;
    const double cost = cost_of(costs, type, width) + rest[k - first];
    if (cost <= best) {
      best = cost;
      g->ends[first] = k + 1;
    }
  }
  return best;
}

void amped_groups_choose(amped_groups *g, int most, int columns, bool largest, amped_vtype type,
                         const amped_width_costs *costs) {
  const amped_width_costs equal = {.count = 0};
  double rest[AMPED_MAX_NCOMPS + 1]; /* costs from first + 1, first + 2, .. on */
  most = most < AMPED_MAX_NCOMPS ? most : AMPED_MAX_NCOMPS;
  for (int k = 0; k <= AMPED_MAX_NCOMPS; k++)
    rest[k] = 0.0;
  for (int first = g->models - 1; first >= 0; first--) {
    const double cost = cut(g, first, most, columns, type, largest ? &equal : costs, rest);
    memmove(rest + 1, rest, AMPED_MAX_NCOMPS * sizeof *rest);
    rest[0] = cost;
  }
  describe(g, type, costs);
}
