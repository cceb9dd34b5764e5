/* System memory: /proc, control groups (versions 1 and 2) and process limits. */
#include "base/system_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"
#include "base/types.h"

/* Least bytes for which the free memory is checked: the check reads several files of the system. */
#define WORTH_A_LOOK (UINT64_C(1) << 20)

/* Bytes of a path below /sys/fs/cgroup; a longer path is ignored. */
#define PATH_BYTES 4096

/* Reads the number in a one-number file of a folder ("max" and a missing file mean "no limit"). */
static uint64_t number_in(const char *folder, const char *name) {
  char path[PATH_BYTES + 32];
  uint64_t value = UINT64_MAX;
  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "re");
  if (file == NULL)
    return UINT64_MAX;
  if (fscanf(file, "%" SCNu64, &value) != 1)
    value = UINT64_MAX;
  (void)fclose(file);
  return value;
}

/* Reads the bytes of cached files of a control group: the kernel drops them when memory is short.
 * In version 1, names without "total_" leave out the groups below. */
static uint64_t file_bytes(const char *folder, bool totals) {
  char path[PATH_BYTES + 32];
  char line[256];
  char name[64];
  uint64_t value = 0;
  uint64_t sum = 0;
  (void)snprintf(path, sizeof path, "%s/memory.stat", folder);
  FILE *file = fopen(path, "re");
  if (file == NULL)
    return 0;
  while (fgets(line, sizeof line, file) != NULL)
    if (sscanf(line, "%63s %" SCNu64, name, &value) == 2 &&
        (strcmp(name, totals ? "total_inactive_file" : "inactive_file") == 0 ||
         strcmp(name, totals ? "total_active_file" : "active_file") == 0))
      sum += value;
  (void)fclose(file);
  return sum;
}

/* File names of version 2 and of version 1: the limit, and the bytes in use. */
static const char *const group_files[][2] = {{"memory.max", "memory.current"},
                                             {"memory.limit_in_bytes", "memory.usage_in_bytes"}};

uint64_t amped_mem_group_left(const char *folder) {
  for (int version = 0; version < 2; version++) {
    uint64_t limit = number_in(folder, group_files[version][0]);
    uint64_t used = number_in(folder, group_files[version][1]);
    if (limit == UINT64_MAX || used == UINT64_MAX)
      continue;
    uint64_t files = file_bytes(folder, version == 1);
    used = used > files ? used - files : 0;
    return limit > used ? limit - used : 0;
  }
  return UINT64_MAX;
}

uint64_t amped_mem_group_limit(const char *folder) {
  uint64_t limit = number_in(folder, group_files[0][0]);
  return limit != UINT64_MAX ? limit : number_in(folder, group_files[1][0]);
}

/* The least value of `figure` over a control group and its parents. */
static uint64_t least_of_groups(const char *root, const char *group,
                                uint64_t (*figure)(const char *folder)) {
  char folder[PATH_BYTES];
  uint64_t least = UINT64_MAX;
  size_t top = strlen(root);
  (void)snprintf(folder, sizeof folder, "%s%s", root, group);
  for (;;) {
    uint64_t value = figure(folder);
    least = value < least ? value : least;
    char *slash = strrchr(folder, '/');
    if (strlen(folder) <= top || slash == NULL)
      return least;
    *slash = '\0';
  }
}

/* The least value of `figure` over the control groups of this process and their parents. Lines are
 * "0::/GROUP" (version 2) and "N:memory:/GROUP" (version 1). In a container, GROUP may be its name
 * outside the container; then the limit is found at the root. */
static uint64_t least_of_own_groups(uint64_t (*figure)(const char *folder)) {
  char line[PATH_BYTES / 2];
  uint64_t least = UINT64_MAX;
  FILE *file = fopen("/proc/self/cgroup", "re");
  if (file == NULL)
    return UINT64_MAX;
  while (fgets(line, sizeof line, file) != NULL) {
    char *controllers = strchr(line, ':');
    char *group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
    if (group == NULL)
      continue;
    *group++ = '\0';
    group[strcspn(group, "\n")] = '\0';
    uint64_t value = UINT64_MAX;
    if (controllers[1] == '\0')
      value = least_of_groups("/sys/fs/cgroup", group, figure);
    else if (strstr(controllers, "memory") != NULL)
      value = least_of_groups("/sys/fs/cgroup/memory", group, figure);
    least = value < least ? value : least;
  }
  (void)fclose(file);
  return least;
}

/* Reads a value of /proc/meminfo, "MemTotal" or another, in bytes. */
static uint64_t mem_of_system(const char *what) {
  FILE *file = fopen("/proc/meminfo", "re");
  char line[256];
  size_t n = strlen(what);
  uint64_t kib = 0;
  if (file == NULL)
    return 0;
  while (fgets(line, sizeof line, file) != NULL)
    if (strncmp(line, what, n) == 0 && sscanf(line + n, ": %" SCNu64, &kib) == 1)
      break;
  (void)fclose(file);
  return kib * 1024;
}

uint64_t amped_mem_node_available(void) {
  uint64_t system = mem_of_system("MemAvailable");
  uint64_t groups = least_of_own_groups(amped_mem_group_left);
  if (groups == UINT64_MAX)
    return system;
  return system == 0 || groups < system ? groups : system;
}

/* Bytes that a limit leaves when `used` bytes are in use. */
static uint64_t left_of(int resource, uint64_t used) {
  struct rlimit limit;
  if (getrlimit((__rlimit_resource_t)resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return UINT64_MAX;
  return limit.rlim_cur > used ? (uint64_t)limit.rlim_cur - used : 0;
}

/* Bytes of address space and of data of this process. If /proc cannot be opened, memory may be
 * short, and all bytes count as used. */
static void used_by_process(uint64_t *space, uint64_t *data) {
  uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
  FILE *file = fopen("/proc/self/statm", "re");
  *space = *data = UINT64_MAX;
  if (file == NULL)
    return;
  /* size resident shared text lib data dirty */
  if (fscanf(file, "%" SCNu64 " %*u %*u %*u %*u %" SCNu64, space, data) != 2)
    *space = *data = 0;
  (void)fclose(file);
  *space *= page_bytes;
  *data *= page_bytes;
}

uint64_t amped_mem_limit_left(void) {
  uint64_t space = 0;
  uint64_t data = 0;
  used_by_process(&space, &data);
  space = left_of(RLIMIT_AS, space);
  data = left_of(RLIMIT_DATA, data);
  return space < data ? space : data;
}

uint64_t amped_mem_available(void) {
  uint64_t node = amped_mem_node_available();
  uint64_t own = amped_mem_limit_left();
  if (own == UINT64_MAX)
    return node;
  own = own > 0 ? own : 1; /* 0 would mean "unknown" */
  return node == 0 || own < node ? own : node;
}

uint64_t amped_mem_total(void) {
  return mem_of_system("MemTotal");
}

uint64_t amped_mem_groups_limit(void) {
  uint64_t total = amped_mem_total();
  uint64_t limit = least_of_own_groups(amped_mem_group_limit);
  /* Version 1 writes "no limit" as a number above all memory. */
  return limit == UINT64_MAX || (total > 0 && limit >= total) ? 0 : limit;
}

amped_status amped_mem_check(const char *path, const char *what, uint64_t bytes) {
  char need[32];
  char have[32];
  const uint64_t available = bytes >= WORTH_A_LOOK ? amped_mem_available() : 0;
  if (available == 0 || bytes <= available)
    return AMPED_OK;
  return amped_error(AMPED_FAILED, path,
                     "needs %s of memory for %s, and %s are free; use a machine with more memory",
                     amped_format_bytes(need, bytes), what, amped_format_bytes(have, available));
}
