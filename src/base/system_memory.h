/* System memory: bytes that this process, its control groups and its node may still take. */
#ifndef AMPED_SYSTEM_MEMORY_H
#define AMPED_SYSTEM_MEMORY_H

#include <stdint.h>

#include "base/status.h"

/* Bytes that all processes of this node may still take together: the least of MemAvailable and the
 * bytes left by the control groups of this process (versions 1 and 2) and their parents. 0 if
 * unknown. */
uint64_t amped_mem_node_available(void);

/* Bytes that the limits of this process (ulimit -v and -d) leave; UINT64_MAX without a limit. */
uint64_t amped_mem_limit_left(void);

/* Bytes that this process may take: the lesser of the two above. 0 if unknown. */
uint64_t amped_mem_available(void);

/* May this process take `bytes` bytes more for `what` ("its factors") of a file, as the file
 * claims? Called before an allocation, because the system may grant memory that it does not have.
 * AMPED_FAILED if they are not free; the line gives file, need, free bytes and a remedy. */
amped_status amped_mem_check(const char *path, const char *what, uint64_t bytes);

/* The memory of the machine, and the least limit of the control groups of this process. 0 if
 * unknown, or without a limit. */
uint64_t amped_mem_total(void);
uint64_t amped_mem_groups_limit(void);

/* Bytes left by the control group of a folder below /sys/fs/cgroup: its limit minus the bytes in
 * use. Cached file pages do not count as used, because the kernel drops them. UINT64_MAX if the
 * group has no limit. */
uint64_t amped_mem_group_left(const char *folder);
/* The limit of this group. */
uint64_t amped_mem_group_limit(const char *folder);

#endif
