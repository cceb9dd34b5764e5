/* Placement: the balancers GREEDY, EQUAL and BLOCK. */
#include "plan/placement.h"

#include <string.h>

#include "base/mem.h"
#include "base/sort.h"

const char *const amped_placement_names[] = {"greedy", "equal", "block", NULL};

/* The counts of one mode, and the ranks. */
typedef struct table {
  const uint64_t *idp_nnz;
  uint64_t idp_count;
  int nranks;
  uint64_t nnz;
  const int *owners; /* given owners; NULL: to be chosen */
} table;

/* --- greedy ------------------------------------------------------------------------------------*/

typedef struct idp {
  uint64_t nnz;
  uint64_t number;
} idp;

typedef struct load {
  uint64_t nnz;
  uint64_t idps;
  int rank;
} load;

typedef struct heap {
  load *loads; /* loads[0] is the rank that gets the next iDp */
  int count;
} heap;

typedef struct greedy {
  const table *t;
  uint64_t limit;
  idp *order;      /* [at most idp_count] largest first, equal ones by number */
  uint64_t filled; /* number of iDps with nonzeros */
  heap h;
  uint64_t *nnz;   /* [nranks] nonzeros of iDps that are not split */
  uint64_t *split; /* [nranks] nonzeros of split iDps */
  int *owner;
} greedy;

static bool before(const load *a, const load *b) {
  if (a->nnz != b->nnz)
    return a->nnz < b->nnz;
  if (a->idps != b->idps)
    return a->idps < b->idps;
  return a->rank < b->rank;
}

static void sift_down(heap *h, int i) {
  for (;;) {
    int least = i;
    for (int child = 2 * i + 1; child <= 2 * i + 2; child++)
      if (child < h->count && before(&h->loads[child], &h->loads[least]))
        least = child;
    if (least == i)
      return;
    load swap = h->loads[i];
    h->loads[i] = h->loads[least];
    h->loads[least] = swap;
    i = least;
  }
}

static void heapify(heap *h) {
  for (int i = h->count / 2 - 1; i >= 0; i--)
    sift_down(h, i);
}

uint64_t amped_balance_limit(uint64_t idp_count, int nranks) {
  uint64_t ranks = (uint64_t)nranks;
  uint64_t even = amped_ceil_div(idp_count, ranks);
  uint64_t quarter_more = idp_count / ranks + idp_count / ranks / 4;
  return even > quarter_more ? even : quarter_more;
}

/* Places iDp i on the first rank of the heap; a rank that has reached its limit leaves the heap. */
static void give(greedy *g, const idp *i, uint64_t nnz) {
  load *first = &g->h.loads[0];
  g->owner[i->number] = first->rank;
  g->nnz[first->rank] += nnz;
  first->nnz += nnz;
  first->idps++;
  if (first->idps == g->limit && g->h.count > 1)
    *first = g->h.loads[--g->h.count];
  sift_down(&g->h, 0);
}

/* Keeps the given owners; the first `splits` iDps of the order count as empty. Without splits, no
 * order is needed. */
static void stay(greedy *g, uint64_t splits) {
  memcpy(g->owner, g->t->owners, g->t->idp_count * sizeof *g->owner);
  memset(g->nnz, 0, (size_t)g->t->nranks * sizeof *g->nnz);
  for (uint64_t i = 0; i < g->t->idp_count; i++)
    g->nnz[g->owner[i]] += g->t->idp_nnz[i];
  for (uint64_t k = 0; k < splits; k++)
    g->nnz[g->owner[g->order[k].number]] -= g->order[k].nnz;
}

/* Places the rows of all iDps, and the nonzeros of all except the first `splits` iDps of the order,
 * which are split. */
static void place(greedy *g, uint64_t splits) {
  if (g->t->owners != NULL) {
    stay(g, splits);
    return;
  }
  g->h.count = g->t->nranks;
  for (int p = 0; p < g->t->nranks; p++) {
    g->h.loads[p] = (load){0, 0, p};
    g->nnz[p] = 0;
  }
  for (uint64_t k = splits; k < g->filled; k++)
    give(g, &g->order[k], g->order[k].nnz);
  /* Empty iDps make the rows even: from here on nonzeros do not count. */
  for (int p = 0; p < g->h.count; p++)
    g->h.loads[p].nnz = 0;
  heapify(&g->h);
  for (uint64_t k = 0; k < splits; k++)
    give(g, &g->order[k], 0);
  for (uint64_t k = g->filled; k < g->t->idp_count; k++)
    give(g, &g->order[k], 0);
}

/* Are `total` nonzeros enough to fill all ranks up to `level`? */
static bool reaches(const greedy *g, uint64_t level, uint64_t total) {
  for (int p = 0; p < g->t->nranks; p++)
    if (g->nnz[p] < level) {
      if (level - g->nnz[p] > total)
        return false;
      total -= level - g->nnz[p];
    }
  return true;
}

/* Distributes `total` nonzeros of split iDps to the ranks with the fewest. Returns the most minus
 * the fewest nonzeros of a rank afterwards. */
static uint64_t fill(const greedy *g, uint64_t total) {
  uint64_t low = 0; /* a level that `total` reaches */
  uint64_t high = g->t->nnz + 1;
  while (high - low > 1) {
    uint64_t middle = low + (high - low) / 2;
    if (reaches(g, middle, total))
      low = middle;
    else
      high = middle;
  }
  for (int p = 0; p < g->t->nranks; p++) {
    g->split[p] = g->nnz[p] < low ? low - g->nnz[p] : 0;
    total -= g->split[p];
  }
  for (int p = 0; p < g->t->nranks && total > 0; p++)
    if (g->nnz[p] <= low) {
      g->split[p]++;
      total--;
    }
  uint64_t most = 0;
  uint64_t least = UINT64_MAX;
  for (int p = 0; p < g->t->nranks; p++) {
    uint64_t nnz = g->nnz[p] + g->split[p];
    most = nnz > most ? nnz : most;
    least = nnz < least ? nnz : least;
  }
  return most - least;
}

static uint64_t split_and_fill(greedy *g, uint64_t splits) {
  uint64_t total = 0;
  for (uint64_t k = 0; k < splits; k++)
    total += g->order[k].nnz;
  place(g, splits);
  return fill(g, total);
}

static bool is_even(const greedy *g, uint64_t spread) {
  uint64_t mean = g->t->nnz / (uint64_t)g->t->nranks;
  return spread <= AMPED_SPLIT_LEAST || spread <= mean / AMPED_SPLIT_SHARE;
}

/* Chooses the number of largest iDps to split until the ranks are even: doubles the number, then
 * halves the interval. If all iDps are split, ranks are always even. */
static uint64_t find_splits(greedy *g) {
  uint64_t low = 0; /* too few */
  uint64_t high = 1;
  while (high < g->filled && !is_even(g, split_and_fill(g, high))) {
    low = high;
    high *= 2;
  }
  high = high < g->filled ? high : g->filled;
  while (high - low > 1) {
    uint64_t middle = low + (high - low) / 2;
    if (is_even(g, split_and_fill(g, middle)))
      high = middle;
    else
      low = middle;
  }
  (void)split_and_fill(g, high);
  return high;
}

/* Orders the iDps with at least `least` nonzeros, largest first. scratch: [2 idp_count]. The sort
 * is stable. */
static amped_status sort_idps(greedy *g, uint64_t least, uint64_t *scratch) {
  const table *t = g->t;
  uint64_t *less = scratch; /* most nonzeros of an iDp, minus this iDp's */
  uint64_t *numbers = scratch + t->idp_count;
  void *arrays[] = {less, numbers};
  uint64_t most = 0;
  uint64_t count = 0;
  for (uint64_t i = 0; i < t->idp_count; i++)
    most = t->idp_nnz[i] > most ? t->idp_nnz[i] : most;
  for (uint64_t i = 0; i < t->idp_count; i++)
    if (t->idp_nnz[i] >= least) {
      less[count] = most - t->idp_nnz[i];
      numbers[count++] = i;
    }
  const amped_sort_field key = {less, amped_sort_bits(less, count)};
  AMPED_TRY(amped_sort(count, &key, 1, 0, arrays, 2));
  g->filled = 0;
  for (uint64_t k = 0; k < count; k++) {
    g->order[k] = (idp){most - less[k], numbers[k]};
    g->filled += g->order[k].nnz > 0;
  }
  return AMPED_OK;
}

static amped_status order_idps(greedy *g, uint64_t least) {
  uint64_t *scratch = NULL;
  if (g->order == NULL)
    AMPED_TRY(amped_alloc(&g->order, g->t->idp_count, sizeof *g->order, "the order of iDps"));
  AMPED_TRY(amped_alloc(&scratch, g->t->idp_count, 2 * sizeof *scratch, "the order of iDps"));
  const amped_status status = sort_idps(g, least, scratch);
  amped_free(scratch);
  return status;
}

/* Least nonzeros, in multiples of the mean, of the iDps that are first considered for splitting if
 * owners are given. */
#define LARGE_MEANS 4

/* Orders iDps if owners are given. Only the large iDps are ordered if splitting them makes ranks
 * even; otherwise all iDps are. */
static amped_status order_large(greedy *g) {
  AMPED_TRY(order_idps(g, LARGE_MEANS * (g->t->nnz / g->t->idp_count + 1)));
  return is_even(g, split_and_fill(g, g->filled)) ? AMPED_OK : order_idps(g, 0);
}

/* Chooses the number of splits. Given owners are even most of the time: then no order is made. */
static amped_status choose_splits(greedy *g, uint64_t *splits, uint64_t *unsplit_spread) {
  *splits = 0;
  if (g->t->owners == NULL)
    AMPED_TRY(order_idps(g, 0));
  *unsplit_spread = split_and_fill(g, 0);
  if (is_even(g, *unsplit_spread))
    return AMPED_OK;
  if (g->t->owners != NULL)
    AMPED_TRY(order_large(g));
  *splits = find_splits(g);
  return AMPED_OK;
}

/* Lists the first `count` iDps of the order, by number. */
static amped_status list_splits(const greedy *g, uint64_t count, amped_balance *b) {
  AMPED_TRY(amped_alloc(&b->splits, count, sizeof *b->splits, "the split iDps"));
  for (uint64_t k = 0; k < count; k++)
    b->splits[k] = g->order[k].number;
  b->split_count = count;
  const amped_sort_field key = {b->splits, amped_sort_bits(b->splits, count)};
  return amped_sort(count, &key, 1, 0, (void *[]){b->splits}, 1);
}

static amped_status place_greedily(greedy *g, amped_balance *b) {
  const table *t = g->t;
  uint64_t nranks = (uint64_t)t->nranks;
  uint64_t splits = 0;
  AMPED_TRY(amped_alloc(&g->h.loads, nranks, sizeof *g->h.loads, "the loads of ranks"));
  AMPED_TRY(amped_alloc(&g->nnz, nranks, sizeof *g->nnz, "the loads of ranks"));
  AMPED_TRY(amped_alloc(&g->split, nranks, sizeof *g->split, "the loads of ranks"));
  AMPED_TRY(choose_splits(g, &splits, &b->unsplit_spread));
  AMPED_TRY(list_splits(g, splits, b));
  for (int p = 0; p < t->nranks; p++)
    b->cuts[p + 1] = b->cuts[p] + g->split[p];
  return AMPED_OK;
}

static amped_status balance_greedy(const table *t, uint64_t limit, amped_balance *b) {
  greedy g = {.t = t, .limit = limit, .owner = b->owner};
  if (t->nranks == 1) {
    memset(b->owner, 0, t->idp_count * sizeof *b->owner);
    return AMPED_OK;
  }
  amped_status status = place_greedily(&g, b);
  amped_free(g.order);
  amped_free(g.h.loads);
  amped_free(g.nnz);
  amped_free(g.split);
  return status;
}

/* --- equal -------------------------------------------------------------------------------------*/

/* The number of rank p's first nonzero: nnz * p / nranks without overflow. */
static uint64_t even_bound(const table *t, int p) {
  uint64_t ranks = (uint64_t)t->nranks;
  return t->nnz / ranks * (uint64_t)p + t->nnz % ranks * (uint64_t)p / ranks;
}

static amped_status balance_equal(const table *t, amped_balance *b) {
  uint64_t first = 0; /* number of the iDp's first nonzero */
  int p = 0;          /* the rank of this nonzero */
  AMPED_TRY(amped_alloc(&b->splits, (uint64_t)t->nranks, sizeof *b->splits, "the split iDps"));
  for (uint64_t i = 0; i < t->idp_count; i++) {
    uint64_t end = first + t->idp_nnz[i];
    while (p + 1 < t->nranks && even_bound(t, p + 1) <= first)
      p++;
    b->owner[i] = p;
    if (p + 1 < t->nranks && even_bound(t, p + 1) < end) {
      b->splits[b->split_count++] = i;
      for (int q = p + 1; q <= t->nranks; q++) {
        uint64_t bound = even_bound(t, q);
        b->cuts[q] += (bound < end ? bound : end) - first;
      }
    }
    first = end;
  }
  return AMPED_OK;
}

/* --- block -------------------------------------------------------------------------------------*/

/* The end of the longest run of iDps from `first` on with at most `most` nonzeros. */
static uint64_t most_consecutive(const table *t, uint64_t first, uint64_t most) {
  uint64_t i = first;
  for (uint64_t left = most; i < t->idp_count && t->idp_nnz[i] <= left; i++)
    left -= t->idp_nnz[i];
  return i;
}

/* The smallest limit of nonzeros per rank with which all iDps can be placed. */
static uint64_t least_maximum(const table *t) {
  uint64_t low = 0; /* too few, unless there are no nonzeros */
  uint64_t high = t->nnz;
  while (high - low > 1) {
    uint64_t middle = low + (high - low) / 2;
    uint64_t end = 0;
    for (int p = 0; p < t->nranks; p++)
      end = most_consecutive(t, end, middle);
    if (end == t->idp_count)
      high = middle;
    else
      low = middle;
  }
  return high;
}

/* starts[p], p > 0: the first iDp at which rank p may begin, so that no rank from p on gets more
 * than `most` nonzeros. */
static void earliest_starts(const table *t, uint64_t most, uint64_t *starts) {
  uint64_t i = t->idp_count;
  for (int p = t->nranks - 1; p > 0; p--) {
    for (uint64_t left = most; i > 0 && t->idp_nnz[i - 1] <= left; i--)
      left -= t->idp_nnz[i - 1];
    starts[p] = i;
  }
}

/* Assigns iDps: each rank gets a number of nonzeros as close as possible to an even part of the
 * rest, within the least maximum. */
static void take_blocks(const table *t, uint64_t most, const uint64_t *starts, int *owner) {
  uint64_t rest = t->nnz;
  uint64_t i = 0;
  for (int p = 0; p < t->nranks; p++) {
    bool last = p + 1 == t->nranks;
    uint64_t even = rest / (uint64_t)(t->nranks - p);
    uint64_t end = most_consecutive(t, i, most);
    uint64_t sum = 0;
    for (; i < end; i++) {
      uint64_t with = sum + t->idp_nnz[i];
      bool nearer = with <= even || with - even < even - sum;
      if (!last && i >= starts[p + 1] && (sum >= even || !nearer))
        break;
      owner[i] = p;
      sum = with;
    }
    rest -= sum;
  }
}

static amped_status balance_block(const table *t, amped_balance *b) {
  uint64_t *starts = NULL;
  uint64_t most = least_maximum(t);
  AMPED_TRY(amped_calloc(&starts, (uint64_t)t->nranks, sizeof *starts, "the blocks of iDps"));
  earliest_starts(t, most, starts);
  take_blocks(t, most, starts, b->owner);
  amped_free(starts);
  return AMPED_OK;
}

/* --- all ---------------------------------------------------------------------------------------*/

static amped_status create(amped_balance *b, amped_placement placement, const table *t,
                           uint64_t limit) {
  AMPED_TRY(amped_alloc(&b->owner, t->idp_count, sizeof *b->owner, "the plan"));
  AMPED_TRY(amped_calloc(&b->cuts, (uint64_t)t->nranks + 1, sizeof *b->cuts, "the plan"));
  switch (t->owners != NULL ? AMPED_PLACEMENT_GREEDY : placement) {
  case AMPED_PLACEMENT_EQUAL:
    return balance_equal(t, b);
  case AMPED_PLACEMENT_BLOCK:
    return balance_block(t, b);
  default:
    return balance_greedy(t, limit, b);
  }
}

amped_status amped_balance_create(amped_balance *b, amped_placement placement,
                                  const uint64_t *idp_nnz, uint64_t idp_count, int nranks,
                                  uint64_t limit, const int *owners) {
  table t = {.idp_nnz = idp_nnz, .idp_count = idp_count, .nranks = nranks, .owners = owners};
  memset(b, 0, sizeof *b);
  for (uint64_t i = 0; i < idp_count; i++)
    t.nnz += idp_nnz[i];
  amped_status status = create(b, placement, &t, limit);
  if (status != AMPED_OK)
    amped_balance_free(b);
  return status;
}

amped_status amped_balance_rows(amped_balance *b, uint64_t idp_count, int nranks) {
  amped_status status = AMPED_OK;
  memset(b, 0, sizeof *b);
  AMPED_GO(fail, amped_alloc(&b->owner, idp_count, sizeof *b->owner, "the plan"));
  AMPED_GO(fail, amped_calloc(&b->cuts, (uint64_t)nranks + 1, sizeof *b->cuts, "the plan"));
  for (uint64_t i = 0; i < idp_count; i++)
    b->owner[i] = (int)(i / amped_ceil_div(idp_count, (uint64_t)nranks));
  return AMPED_OK;
fail:
  amped_balance_free(b);
  return status;
}

void amped_balance_free(amped_balance *b) {
  amped_free(b->owner);
  amped_free(b->splits);
  amped_free(b->cuts);
  memset(b, 0, sizeof *b);
}
