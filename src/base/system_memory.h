/* System memory: bytes that this process, its control groups and its node may still take. */
#ifndef AMPED_SYSTEM_MEMORY_H
#define AMPED_SYSTEM_MEMORY_H

#include <stdint.h>

#include "base/status.h"

/* Bytes that all processes of this node may still take together. This is the least of MemAvailable
 * and the bytes that the control groups of this process (versions 1 and 2) and their parents leave.
 * 0 where the system does not tell. */
uint64_t amped_mem_node_available(void);

/* Bytes that the limits of this process (ulimit -v and -d) leave; UINT64_MAX where there is no
 * limit. */
uint64_t amped_mem_limit_left(void);

/* Bytes that this process may take: the lesser of the two above. 0 where the system does not
 * tell. */
uint64_t amped_mem_available(void);

/* May this process take so many bytes more for `what` ("its factors") of a file, as the file
 * claims? Called before memory is allocated, which the system would give and not have. AMPED_FAILED
 * where they are not free, with file, need, what is free, and a remedy. */
amped_status amped_mem_check(const char *path, const char *what, uint64_t bytes);

/* The memory of the machine, and the least limit of the control groups that hold this process. 0
 * where the system does not tell, or where there is no limit. */
uint64_t amped_mem_total(void);
uint64_t amped_mem_groups_limit(void);

/* Bytes that the control group of a folder below /sys/fs/cgroup leaves: its limit less the bytes in
 * use. Cached file pages do not count as used, since the kernel drops them. UINT64_MAX where the
 * group has no limit. */
uint64_t amped_mem_group_left(const char *folder);
/* The limit of that group. */
uint64_t amped_mem_group_limit(const char *folder);

#endif
