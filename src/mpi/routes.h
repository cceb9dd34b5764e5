/* Routes: the way of every rank's part of an array to all ranks, if each node has several links to
 * the network (rails).
 *
 * A node of g ranks has rail i at its rank i. The smallest node's ranks set the number of rails. A
 * part of local rank l travels on rail l mod rails: from node to node, between the ranks of this
 * rail, round a ring of the nodes. Inside a node it goes round a ring of the node's ranks: on its
 * own node from its owner on, on other nodes from the rank of its rail on. So a part enters each
 * node once, and each rail carries its share of the parts. A rank passes a part on as soon as it
 * has come.
 *
 * Ranks are named by their places: node by node, in the order of local ranks. Pure functions. */
#ifndef AMPED_ROUTES_H
#define AMPED_ROUTES_H

#include "base/status.h"

/* A part's way through one rank: the place that sends it, and the places that get it from here, to
 * the network first. -1: none. */
typedef struct amped_route {
  int from;
  int to[2];
} amped_route;

/* Places of a run. */
typedef struct amped_places {
  int count; /* ranks */
  int rails;
  int *first; /* [count] place of the first rank of this place's node */
  int *size;  /* [count] ranks of this place's node */
} amped_places;

/* Make the list from the local rank of each place: a node begins at each 0. rails: ranks of the
 * smallest node. free accepts a zeroed struct. */
amped_status amped_places_create(const int *local, int count, int rails, amped_places *places);
void amped_places_free(amped_places *places);

/* The route of the part of place `part` through place `at`. */
amped_route amped_route_of(const amped_places *places, int part, int at);

#endif
