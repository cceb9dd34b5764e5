/* Rows of a rank's memory, their sum and their table. */
#include "session/memory_rows.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/log.h"

amped_memory_row *amped_memory_row_add(amped_memory_rows *rows, const char *name) {
  assert(rows->count < (int)(sizeof rows->row / sizeof rows->row[0]));
  amped_memory_row *row = &rows->row[rows->count++];
  *row = (amped_memory_row){.device_bytes = 0};
  (void)snprintf(row->name, sizeof row->name, "%s", name);
  return row;
}

amped_memory_row amped_memory_rows_sum(const amped_memory_rows *rows) {
  amped_memory_row sum = {.name = "sum"};
  for (int i = 0; i < rows->count; i++) {
    sum.device_bytes += rows->row[i].device_bytes;
    sum.host_bytes += rows->row[i].host_bytes;
    sum.held_bytes += rows->row[i].held_bytes;
  }
  return sum;
}

static void say(const amped_memory_row *row) {
  if (row->device_bytes + row->host_bytes > 0)
    amped_say("  %-40s  %16" PRIu64 "  %16" PRIu64, row->name, row->device_bytes, row->host_bytes);
}

void amped_memory_rows_say(const amped_memory_rows *rows, int rank) {
  const amped_memory_row sum = amped_memory_rows_sum(rows);
  char head[32];
  (void)snprintf(head, sizeof head, "memory of rank %d", rank);
  amped_say("%-42s  %16s  %16s", head, "device bytes", "host bytes");
  for (int i = 0; i < rows->count; i++)
    say(&rows->row[i]);
  say(&sum);
}
