#include "balance.h"

#include <stdlib.h>

#include "mem.h"

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
  load *loads; /* the rank to serve next is loads[0] */
  int count;
} heap;

static int larger_first(const void *left, const void *right) {
  const idp *a = left;
  const idp *b = right;
  if (a->nnz != b->nnz)
    return a->nnz > b->nnz ? -1 : 1;
  return a->number < b->number ? -1 : a->number > b->number;
}

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

/* Give iDp i to the first rank of the heap; a rank that has its limit leaves the heap. */
static void give(heap *h, const idp *i, uint64_t limit, int *owner) {
  load *first = &h->loads[0];
  owner[i->number] = first->rank;
  first->nnz += i->nnz;
  first->idps++;
  if (first->idps == limit && h->count > 1)
    *first = h->loads[--h->count];
  sift_down(h, 0);
}

amped_status amped_balance(const uint64_t *idp_nnz, uint64_t idp_count, int nranks, uint64_t limit,
                           int *owner) {
  amped_status status = AMPED_OK;
  idp *order = NULL;
  heap h = {NULL, nranks};
  uint64_t k = 0;

  AMPED_GO(done, amped_alloc(&order, idp_count, sizeof *order, "the order of iDps"));
  AMPED_GO(done, amped_calloc(&h.loads, (uint64_t)nranks, sizeof *h.loads, "the loads of ranks"));
  for (uint64_t i = 0; i < idp_count; i++)
    order[i] = (idp){idp_nnz[i], i};
  qsort(order, idp_count, sizeof *order, larger_first);
  for (int p = 0; p < nranks; p++)
    h.loads[p].rank = p;
  for (; k < idp_count && order[k].nnz > 0; k++)
    give(&h, &order[k], limit, owner);
  /* Empty iDps even out the rows: from here on nonzeros do not count. */
  for (int p = 0; p < h.count; p++)
    h.loads[p].nnz = 0;
  heapify(&h);
  for (; k < idp_count; k++)
    give(&h, &order[k], limit, owner);
done:
  amped_free(h.loads);
  amped_free(order);
  return status;
}
