/* Routes test: every part reaches every rank once and enters every node once, on its rail, for
 * nodes of any sizes. */
#include "mpi/routes.h"
#include "tests/lib/testing.h"

#define MOST 40

/* Places of nodes of these sizes. */
static void make(amped_places *p, const int *sizes, int nodes) {
  int local[MOST];
  int count = 0;
  int rails = MOST;
  for (int q = 0; q < nodes; q++) {
    rails = sizes[q] < rails ? sizes[q] : rails;
    for (int i = 0; i < sizes[q]; i++)
      local[count++] = i;
  }
  check_ok(amped_places_create(local, count, rails, p));
}

/* Follow a part from its owner on. */
static void part_is_right(const amped_places *p, int part) {
  int line[MOST] = {part}; /* places that have the part, in the order in which it comes */
  int comes[MOST] = {0};   /* how often it comes to a place */
  int enters[MOST] = {0};  /* how often it enters a node, by the node's first place */
  int have = 1;
  comes[part] = 1;
  ck_assert_int_eq(amped_route_of(p, part, part).from, -1);
  for (int i = 0; i < have; i++) {
    const amped_route r = amped_route_of(p, part, line[i]);
    for (int k = 0; k < 2; k++) {
      const int to = r.to[k];
      if (to < 0)
        continue;
      ck_assert_int_lt(to, p->count);
      ck_assert_int_eq(amped_route_of(p, part, to).from, line[i]);
      ck_assert_int_eq(comes[to]++, 0);
      line[have++] = to;
      if (p->first[to] == p->first[line[i]])
        continue;
      ck_assert_int_eq(k, 0); /* the network comes first */
      ck_assert_int_eq(enters[p->first[to]]++, 0);
      ck_assert_int_eq(to - p->first[to], (part - p->first[part]) % p->rails);
      ck_assert_int_eq(line[i] - p->first[line[i]], to - p->first[to]);
    }
  }
  ck_assert_int_eq(have, p->count);
}

static void all_parts_are_right(const int *sizes, int nodes) {
  amped_places p;
  make(&p, sizes, nodes);
  for (int part = 0; part < p.count; part++)
    part_is_right(&p, part);
  amped_places_free(&p);
}

START_TEST(parts_reach_all_ranks_of_any_nodes) {
  static const int sizes[][5] = {{1},       {4},          {1, 1},         {2, 1},       {1, 2},
                                 {4, 4},    {3, 2},       {2, 3, 5, 2},   {8, 8, 8, 8}, {1, 7, 1},
                                 {5, 3, 4}, {1, 1, 1, 1}, {2, 2, 2, 2, 2}};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    int nodes = 0;
    while (nodes < 5 && sizes[i][nodes] > 0)
      nodes++;
    all_parts_are_right(sizes[i], nodes);
  }
  check_no_leak();
}

/* Between nodes of the same size each rail sends the same number of parts. */
START_TEST(rails_share_the_network) {
  static const int sizes[] = {4, 4, 4};
  int sends[12] = {0};
  amped_places p;
  make(&p, sizes, 3);
  for (int part = 0; part < p.count; part++)
    for (int at = 0; at < p.count; at++)
      sends[at] += amped_route_of(&p, part, at).to[0] >= 0;
  for (int at = 0; at < p.count; at++)
    ck_assert_int_eq(sends[at], 2); /* a part of each of two nodes; the third has its own */
  amped_places_free(&p);
}

TESTING_MAIN("routes", parts_reach_all_ranks_of_any_nodes, rails_share_the_network)
