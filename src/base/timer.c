/* Wall clock, and the start time of this process. */
#include "base/timer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double seconds_of(clockid_t clock) {
  struct timespec now;
  (void)clock_gettime(clock, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double amped_time(void) {
  return seconds_of(CLOCK_MONOTONIC);
}

/* The start time is word 22 of /proc/self/stat, in ticks since the system's start. Word 2 is the
 * program's name in brackets; the name may contain blanks and brackets. */
double amped_time_of_process(void) {
  char line[1024] = "";
  unsigned long long ticks = 0;
  FILE *file = fopen("/proc/self/stat", "re");
  if (file != NULL && fgets(line, sizeof line, file) == NULL)
    line[0] = '\0';
  if (file != NULL)
    (void)fclose(file);
  const char *name = strrchr(line, ')');
  if (name == NULL || sscanf(name + 1,
                             " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                             "%*s %*s %*s %llu",
                             &ticks) != 1)
    return -INFINITY;
  const double age = seconds_of(CLOCK_BOOTTIME) - (double)ticks / (double)sysconf(_SC_CLK_TCK);
  return amped_time() - age;
}
