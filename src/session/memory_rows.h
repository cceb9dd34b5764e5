/* Memory rows: what a rank holds, by name, in bytes. Whoever adds up a rank's memory adds a named
 * row, and the total is the sum of the rows; --plan -v prints both. A list needs no free. */
#ifndef AMPED_MEMORY_ROWS_H
#define AMPED_MEMORY_ROWS_H

#include <stdint.h>

typedef struct amped_memory_row {
  char name[40]; /* text, since rank 0 prints rows of other ranks */
  uint64_t device_bytes, host_bytes;
  uint64_t held_bytes; /* part of host_bytes that is allocated before the plan is made */
} amped_memory_row;

/* Zeroed: no rows. */
typedef struct amped_memory_rows {
  int count;
  amped_memory_row row[20];
} amped_memory_rows;

/* Add a row of 0 bytes, to which the caller adds. */
amped_memory_row *amped_memory_row_add(amped_memory_rows *rows, const char *name);

/* The sum of all rows, named "sum". */
amped_memory_row amped_memory_rows_sum(const amped_memory_rows *rows);

/* Print a table of the rows that are not empty, and their sum. rank: whose memory it is. */
void amped_memory_rows_say(const amped_memory_rows *rows, int rank);

#endif
