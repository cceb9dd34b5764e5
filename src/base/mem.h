/* Host memory: checked allocation, a live count, and a hook that fails the k-th allocation.
 *
 * amped_alloc takes `count` elements of `size` bytes and stores the pointer through `out` (the
 * address of any pointer variable), NULL for no bytes at all. Multiplication is checked; failure
 * records one line that names `what` and the bytes, returns AMPED_FAILED and stores NULL.
 * amped_calloc zeroes. amped_realloc keeps the old block on failure. amped_free(NULL) is allowed.
 * Any thread. */
#ifndef AMPED_MEM_H
#define AMPED_MEM_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

amped_status amped_alloc(void *out, uint64_t count, size_t size, const char *what);
amped_status amped_calloc(void *out, uint64_t count, size_t size, const char *what);
amped_status amped_realloc(void *inout, uint64_t count, size_t size, const char *what);
void amped_free(void *block);

/* A copy of a string, freed with amped_free. */
amped_status amped_strdup(char **out, const char *s);

/* Blocks allocated and not yet freed: 0 at the end of a program or test that does not leak. */
int64_t amped_mem_live(void);

/* Let the k-th allocation from now on (0 is the next) fail; a negative k switches that off. */
void amped_mem_fail_at(int64_t k);

/* Bytes of memory that all processes of this node may still take together: the least of
 * MemAvailable and of what this one's control groups (versions 1 and 2) and those above them leave.
 * 0 where the system tells nothing. */
uint64_t amped_mem_node_available(void);

/* Bytes that this process's own limits (ulimit -v and -d) leave it; UINT64_MAX where it has none.
 */
uint64_t amped_mem_limit_left(void);

/* What this process may take: the lesser of both. 0 where the system tells nothing. */
uint64_t amped_mem_available(void);

/* The memory of the machine, and the least limit of the control groups that hold this process: 0
 * where the system tells nothing, or there is no limit. */
uint64_t amped_mem_total(void);
uint64_t amped_mem_groups_limit(void);

/* What the control group of a folder below /sys/fs/cgroup leaves: its limit less what is in use,
 * without files in memory, which make room. UINT64_MAX where it has no limit. */
uint64_t amped_mem_group_left(const char *folder);
/* The limit itself. */
uint64_t amped_mem_group_limit(const char *folder);

#endif
