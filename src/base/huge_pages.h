/* Large memory of CPU cores. It begins at a cache line, or if large at a large page, and uses large
 * pages if the system has them, because rows are gathered from all over it.
 *
 * amped_huge_pages_alloc is amped_alloc (mem.h) with these properties; its pages lie near the
 * threads that touch them first. amped_huge_pages_calloc zeroes the memory by all threads in equal
 * parts, which spreads it over all memories of a NUMA machine. amped_huge_pages_free(NULL) is
 * allowed. */
#ifndef AMPED_HUGE_PAGES_H
#define AMPED_HUGE_PAGES_H

#include "base/mem.h"

amped_status amped_huge_pages_alloc(void *out, uint64_t count, uint64_t size, const char *what);
amped_status amped_huge_pages_calloc(void *out, uint64_t count, uint64_t size, int threads,
                                     const char *what);
void amped_huge_pages_free(void *data);
/* Returns the bytes that an allocation of `bytes` takes, with the rounding. */
uint64_t amped_huge_pages_bytes(uint64_t bytes);

#endif
