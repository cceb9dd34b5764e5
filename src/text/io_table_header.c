#include "text/io_table_header.h"

#include <stdio.h>
#include <string.h>

#include "text/io_csv.h"
#include "text/io_number.h"
#include "base/log.h"
#include "base/mem.h"

/* Bytes of the list of columns in a message. */
#define LIST_BYTES 800

void amped_table_header_free(amped_table_header *header) {
  amped_free(header->names);
  amped_free(header->text);
  amped_free(header->roles);
  *header = (amped_table_header){0};
}

/* "a, b, c": the names of the columns, as many as fit. */
static const char *list_of(const amped_table_header *h, char *buffer) {
  size_t used = 0;
  buffer[0] = '\0';
  for (uint64_t c = 0; c < h->count; c++) {
    size_t length = strlen(h->names[c]);
    const char *comma = c > 0 ? ", " : "";
    if (length + used + 8 > LIST_BYTES) {
      (void)snprintf(buffer + used, LIST_BYTES - used, "%s...", comma);
      break;
    }
    used += (size_t)snprintf(buffer + used, LIST_BYTES - used, "%s%s", comma, h->names[c]);
  }
  return buffer;
}

/* Count the cells of the row in piece, and copy their names to h->text unless it is NULL. NULL on
 * failure. */
static const char *take_names(amped_table_header *h, amped_piece *row, bool tabs) {
  const char *p = row->begin;
  char *text = h->text;
  amped_cell cell = {0};
  for (h->count = 0; !cell.last; h->count++) {
    const char *begin = p;
    p = amped_csv_cell(row, p, tabs, &cell);
    if (p == NULL)
      return NULL;
    if (h->text == NULL)
      continue;
    h->names[h->count] = text;
    uint64_t length = amped_csv_unquote(&cell, text);
    if (!amped_csv_is_utf8(text, text + length)) {
      amped_piece_fail(row, begin,
                       "column %" PRIu64 ": its name is not UTF-8 text; convert the file",
                       h->count + 1);
      return NULL;
    }
    text[length] = '\0';
    text += length + 1;
  }
  return p;
}

/* Read the names of a row of text; *end is behind the row. */
static amped_status read_names(amped_table_header *h, amped_piece *row, bool tabs,
                               const char **end) {
  *end = take_names(h, row, tabs);
  if (*end == NULL)
    return AMPED_OK; /* the piece has the error */
  uint64_t bytes = (uint64_t)(*end - row->begin) + h->count;
  AMPED_TRY(amped_alloc(&h->names, h->count, sizeof *h->names, "a table's header"));
  AMPED_TRY(amped_alloc(&h->text, bytes, 1, "a table's header"));
  *end = take_names(h, row, tabs);
  return AMPED_OK;
}

/* Find the column of a name. */
static amped_status find_column(const amped_table_header *h, const char *path, uint64_t line,
                                const char *option, const char *name, uint64_t *out) {
  char list[LIST_BYTES];
  uint64_t found = 0;
  for (uint64_t c = 0; c < h->count; c++) {
    if (strcmp(h->names[c], name) != 0)
      continue;
    found++;
    *out = c;
  }
  if (found == 1)
    return AMPED_OK;
  if (found > 1)
    return amped_text_error(path, line, "%" PRIu64 " columns are called \"%.200s\"; rename them",
                            found, name);
  return amped_text_error(path, line, "no column \"%.200s\"; %s takes some of: %s", name, option,
                          list_of(h, list));
}

static amped_status check_count(const amped_table_header *h, const char *path, uint64_t line,
                                uint64_t count, bool named) {
  char list[LIST_BYTES];
  if (count >= AMPED_MIN_ORDER && count <= AMPED_MAX_ORDER)
    return AMPED_OK;
  if (named)
    return amped_error(AMPED_USAGE, NULL, "--keys names %" PRIu64 " columns; name %d to %d", count,
                       AMPED_MIN_ORDER, AMPED_MAX_ORDER);
  return amped_text_error(path, line,
                          "%" PRIu64 " key columns; choose %d to %d with --keys (and --value) of: "
                          "%s",
                          count, AMPED_MIN_ORDER, AMPED_MAX_ORDER, list_of(h, list));
}

/* Find the columns of --keys, which has the form of a CSV row, in its order. */
static amped_status named_keys(amped_table_header *h, const char *path, uint64_t line,
                               const char *keys) {
  amped_table_header wanted = {0};
  char *text = NULL;
  const char *end = NULL;
  size_t length = strlen(keys);
  amped_status status = AMPED_OK;
  AMPED_GO(end, amped_alloc(&text, length + 2, 1, "--keys"));
  memcpy(text, keys, length);
  memcpy(text + length, "\n", 2);
  amped_piece row = {.begin = text, .end = text + length + 1};
  AMPED_GO(end, read_names(&wanted, &row, false, &end));
  if (end != row.end) {
    status = amped_error(AMPED_USAGE, NULL, "--keys: %s",
                         end == NULL ? row.error : "one line of column names is wanted");
    goto end;
  }
  AMPED_GO(end, check_count(h, path, line, wanted.count, true));
  for (uint64_t m = 0; m < wanted.count; m++) {
    uint64_t c = 0;
    AMPED_GO(end, find_column(h, path, line, "--keys", wanted.names[m], &c));
    if (h->roles[c] != AMPED_ROLE_NONE) {
      status = amped_error(AMPED_USAGE, NULL, "--keys: column \"%.200s\" is %s; name it once",
                           h->names[c],
                           h->roles[c] == AMPED_ROLE_VALUE ? "also --value" : "named twice");
      goto end;
    }
    h->roles[c] = (int)m;
    h->modes[m] = h->names[c];
  }
  h->order = (int)wanted.count;
end:
  amped_table_header_free(&wanted);
  amped_free(text);
  return status;
}

static amped_status all_keys(amped_table_header *h, const char *path, uint64_t line) {
  AMPED_TRY(check_count(h, path, line, h->count - (h->value != NULL), false));
  for (uint64_t c = 0; c < h->count; c++) {
    if (h->roles[c] == AMPED_ROLE_VALUE)
      continue;
    h->roles[c] = h->order;
    h->modes[h->order++] = h->names[c];
  }
  return AMPED_OK;
}

static amped_status assign_roles(amped_table_header *h, const char *path, uint64_t line,
                                 const amped_read_options *options) {
  AMPED_TRY(amped_alloc(&h->roles, h->count, sizeof *h->roles, "a table's header"));
  for (uint64_t c = 0; c < h->count; c++)
    h->roles[c] = AMPED_ROLE_NONE;
  if (options->value != NULL) {
    uint64_t c = 0;
    AMPED_TRY(find_column(h, path, line, "--value", options->value, &c));
    h->roles[c] = AMPED_ROLE_VALUE;
    h->value = h->names[c];
  }
  return options->keys != NULL ? named_keys(h, path, line, options->keys) : all_keys(h, path, line);
}

/* Are all names numbers? Then the table may have no header. */
static bool all_numbers(const amped_table_header *h) {
  for (uint64_t c = 0; c < h->count; c++) {
    const char *end = h->names[c] + strlen(h->names[c]);
    double ignored = 0.0;
    if (amped_number_decimal(h->names[c], &ignored) != end)
      return false;
  }
  return true;
}

amped_status amped_table_header_read(amped_table_header *header, const char *path, bool tabs,
                                     const amped_read_options *options, amped_text_chunk *chunk) {
  amped_piece row = {.begin = chunk->begin, .end = chunk->end};
  const char *end = NULL;
  AMPED_TRY(read_names(header, &row, tabs, &end));
  AMPED_TRY(amped_text_check(path, chunk, &row, 1));
  AMPED_TRY(assign_roles(header, path, chunk->line, options));
  if (all_numbers(header))
    amped_warn("%s, line %" PRIu64
               ": taken for the names of columns, but all are numbers; a row of the "
               "table needs such a line above it",
               path, chunk->line);
  chunk->line += amped_text_count(chunk->begin, end, '\n');
  chunk->begin = end;
  return AMPED_OK;
}
