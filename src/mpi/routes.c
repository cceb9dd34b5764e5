/* Routes: two rings, one of the nodes and one inside each node. */
#include "mpi/routes.h"

#include <string.h>

#include "base/buffers.h"

static amped_buffers buffers(amped_places *p, uint64_t count) {
  amped_buffers b = {.what = "the places of ranks"};
  AMPED_BUFFER(&b, HOST, p->first, count);
  AMPED_BUFFER(&b, HOST, p->size, count);
  return b;
}

amped_status amped_places_create(const int *local, int count, int rails, amped_places *p) {
  memset(p, 0, sizeof *p);
  AMPED_TRY(amped_buffers_allocate(buffers(p, (uint64_t)count)));
  p->count = count;
  p->rails = rails;
  for (int first = 0, end = 0; first < count; first = end) {
    for (end = first + 1; end < count && local[end] != 0;)
      end++;
    for (int i = first; i < end; i++) {
      p->first[i] = first;
      p->size[i] = end - first;
    }
  }
  return AMPED_OK;
}

void amped_places_free(amped_places *p) {
  amped_buffers_free(buffers(p, 0));
  memset(p, 0, sizeof *p);
}

/* The first place of the node after this place's node, and of the node before it. */
static int node_after(const amped_places *p, int at) {
  return (p->first[at] + p->size[at]) % p->count;
}

static int node_before(const amped_places *p, int at) {
  return p->first[(p->first[at] + p->count - 1) % p->count];
}

amped_route amped_route_of(const amped_places *p, int part, int at) {
  const int rail = (part - p->first[part]) % p->rails;
  const int here = p->first[at];
  const int size = p->size[at];
  const int local = at - here;
  const int begin =
      p->first[part] == here ? part - here : rail; /* its ring inside this node begins here */
  const int after = (local + 1) % size;
  amped_route r = {.from = here + (local + size - 1) % size, .to = {-1, -1}};
  if (local == begin)
    r.from = at == part ? -1 : node_before(p, at) + rail;
  if (local == rail && node_after(p, at) != p->first[part])
    r.to[0] = node_after(p, at) + rail;
  if (after != begin)
    r.to[1] = here + after;
  return r;
}
