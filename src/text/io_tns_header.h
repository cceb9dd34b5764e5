/* Header of a .tns file: the text before its first nonzero, that is comments and the header of a
 * dialect. */
#ifndef AMPED_IO_TNS_HEADER_H
#define AMPED_IO_TNS_HEADER_H

#include "text/io_text.h"
#include "text/io_tns_claim.h"
#include "text/read_options.h"

typedef enum amped_tns_expect {
  AMPED_TNS_FIRST, /* first line of a header, or a nonzero */
  AMPED_TNS_ORDER, /* lines of a header */
  AMPED_TNS_DIMS,
  AMPED_TNS_NNZ,
  AMPED_TNS_NNZ_OR_DATA, /* line with one number, or the first nonzero */
  AMPED_TNS_DATA         /* first nonzero: the header is complete */
} amped_tns_expect;

/* Header read so far. Start from {.form}. The numbers are claims of the file: no allocation may
 * depend on them. */
typedef struct amped_tns_header {
  amped_read_header form; /* chosen by the user */
  amped_tns_expect expect;
  int order;     /* valid once expect is AMPED_TNS_DATA */
  bool has_dims; /* dims[0 .. order-1] are valid, each 1 .. 2^63 */
  uint64_t dims[AMPED_MAX_ORDER];
  uint64_t nnz_line; /* line that gives nnz; 0: none */
  uint64_t nnz;
  bool base_said; /* the header gives the index base */
  uint64_t base;
  bool sptensor;         /* Tensor Toolbox or GenTen header, with nnz */
  bool dense;            /* Tensor Toolbox header of a dense tensor */
  bool market;           /* Matrix Market banner: dims and nnz follow in one line */
  amped_tns_claim claim; /* set if the first nonzero may also be a header */
} amped_tns_header;

/* Consume lines of the chunk up to the first nonzero, or to the end of the chunk. */
amped_status amped_tns_header_read(amped_tns_header *header, const char *path,
                                   amped_text_chunk *chunk);

/* Count the fields of the line at p; the first `most` fields are stored as begin, end pairs. */
int amped_tns_fields(const char *p, const char *(*fields)[2], int most);

/* Is there a blank? Carriage returns are one at the end of a line, which ends with '\n': inside a
 * line they would join lines that end with them alone. */
static inline bool amped_tns_blank(const char *p) {
  const char *end = p;
  while (*end == '\r')
    end++;
  return *p == ' ' || *p == '\t' || (end > p && *end == '\n');
}

/* Does a comment begin here, at the start of a line? (# also begins one after fields.) */
static inline bool amped_tns_comment(char c) {
  return c == '#' || c == '%';
}

static inline const char *amped_tns_skip_blanks(const char *p) {
  while (amped_tns_blank(p))
    p++;
  return p;
}

#endif
