/* System memory: what this process, its control groups and its node may still take. */
#ifndef AMPED_SYSTEM_MEMORY_H
#define AMPED_SYSTEM_MEMORY_H

#include <stdint.h>

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
