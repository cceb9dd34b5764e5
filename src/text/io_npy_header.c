/* Header of .npy files: a parser for Python's dictionary, and its writer. */
#include "text/io_npy_header.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Bytes for a type's code, such as "<f8". Codes of structures are longer and are refused. */
#define MOST_CODE 16

/* Remaining text. */
typedef struct cursor {
  const char *at, *end;
  const char *where;
} cursor;

typedef struct found {
  bool descr, order, shape;
  char code[MOST_CODE];
  bool fortran;
} found;

static amped_status bad(const cursor *c, const char *what) {
  return amped_error(AMPED_BAD_INPUT, c->where,
                     "has a header %s; save the array again with numpy.save", what);
}

static void skip_blanks(cursor *c) {
  while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r'))
    c->at++;
}

/* Skip blanks and, if the next character is `expected`, consume it. */
static bool take(cursor *c, char expected) {
  skip_blanks(c);
  if (c->at == c->end || *c->at != expected)
    return false;
  c->at++;
  return true;
}

static bool take_word(cursor *c, const char *word) {
  const size_t length = strlen(word);
  skip_blanks(c);
  if ((size_t)(c->end - c->at) < length || memcmp(c->at, word, length) != 0)
    return false;
  c->at += length;
  return true;
}

/* Read a quoted text without escapes, of less than `room` bytes. */
static bool take_text(cursor *c, char *to, size_t room) {
  skip_blanks(c);
  if (c->at == c->end || (*c->at != '\'' && *c->at != '"'))
    return false;
  const char quote = *c->at++;
  size_t length = 0;
  for (; c->at < c->end && *c->at != quote; c->at++) {
    if (length + 1 >= room || !isprint((unsigned char)*c->at) || *c->at == '\\')
      return false;
    to[length++] = *c->at;
  }
  to[length] = '\0';
  return c->at++ < c->end;
}

static bool take_number(cursor *c, uint64_t *out) {
  skip_blanks(c);
  const char *begin = c->at;
  *out = 0;
  for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++)
    if (!amped_mul(*out, 10, out) || !amped_add(*out, (uint64_t)(*c->at - '0'), out))
      return false;
  const bool some = c->at > begin;
  (void)(some && take(c, 'L')); /* suffix of Python 2's long integers */
  return some;
}

static amped_status read_shape(cursor *c, amped_dense_info *info) {
  int order = 0;
  if (!take(c, '('))
    return bad(c, "without a shape");
  while (!take(c, ')')) {
    uint64_t dim = 0;
    if (!take_number(c, &dim))
      return bad(c, "whose shape is not a list of dimensions of at most 64 bits");
    if (order < AMPED_MAX_ORDER)
      info->dims[order] = dim;
    order++;
    skip_blanks(c);
    if (!take(c, ',') && (c->at == c->end || *c->at != ')'))
      return bad(c, "whose shape does not end");
  }
  info->order = order;
  return AMPED_OK;
}

static amped_status read_descr(cursor *c, found *f) {
  skip_blanks(c);
  if (c->at < c->end && *c->at == '[')
    return amped_error(AMPED_BAD_INPUT, c->where,
                       "holds a structured array; save one of its fields, of numbers");
  if (!take_text(c, f->code, sizeof f->code))
    return bad(c, "without a type");
  f->descr = true;
  return AMPED_OK;
}

static amped_status read_order(cursor *c, found *f) {
  f->fortran = take_word(c, "True");
  f->order = f->fortran || take_word(c, "False");
  return f->order ? AMPED_OK : bad(c, "whose fortran_order is neither True nor False");
}

static amped_status read_pair(cursor *c, found *f, amped_dense_info *info) {
  char key[16];
  if (!take_text(c, key, sizeof key) || !take(c, ':'))
    return bad(c, "that is not a dictionary of descr, fortran_order and shape");
  if (strcmp(key, "descr") == 0 && !f->descr)
    return read_descr(c, f);
  if (strcmp(key, "fortran_order") == 0 && !f->order)
    return read_order(c, f);
  if (strcmp(key, "shape") == 0 && !f->shape) {
    f->shape = true;
    return read_shape(c, info);
  }
  return bad(c, "that is not a dictionary of descr, fortran_order and shape");
}

static amped_status read_dictionary(cursor *c, found *f, amped_dense_info *info) {
  if (!take(c, '{'))
    return bad(c, "that is not a dictionary");
  while (!take(c, '}')) {
    AMPED_TRY(read_pair(c, f, info));
    skip_blanks(c);
    if (!take(c, ',') && (c->at == c->end || *c->at != '}'))
      return bad(c, "that does not end");
  }
  skip_blanks(c);
  if (c->at != c->end)
    return bad(c, "with bytes after its dictionary");
  return f->descr && f->order && f->shape ? AMPED_OK
                                          : bad(c, "that lacks descr, fortran_order or shape");
}

static const struct {
  const char *code; /* numpy's code, without its byte order */
  amped_cell_type type;
} types[] = {{"i1", AMPED_CELL_I8},  {"u1", AMPED_CELL_U8},  {"i2", AMPED_CELL_I16},
             {"u2", AMPED_CELL_U16}, {"i4", AMPED_CELL_I32}, {"u4", AMPED_CELL_U32},
             {"i8", AMPED_CELL_I64}, {"u8", AMPED_CELL_U64}, {"f2", AMPED_CELL_F16},
             {"f4", AMPED_CELL_F32}, {"f8", AMPED_CELL_F64}};
#define TYPES (sizeof types / sizeof types[0])

static amped_status refuse_type(const char *where, const char *code) {
  const char *kind = code[0] != '\0' && strchr("<>|=", code[0]) != NULL ? code + 1 : code;
  const char *what = *kind == 'O'                   ? "Python objects"
                     : *kind == 'c'                 ? "complex numbers"
                     : *kind == 'b'                 ? "booleans"
                     : *kind == 'S' || *kind == 'U' ? "text"
                                                    : "no integers or floats of 1 to 8 bytes";
  return amped_error(AMPED_BAD_INPUT, where,
                     "holds %s (numpy's type %s); save it as integers or floats", what, code);
}

static amped_status find_type(const cursor *c, const char *code, amped_npy_header *out) {
  const char order = code[0];
  if (order == '\0' || strchr("<>|=", order) == NULL)
    return refuse_type(c->where, code);
  for (size_t i = 0; i < TYPES; i++)
    if (strcmp(code + 1, types[i].code) == 0) {
      out->info.type = types[i].type;
      out->swapped = order == '>' && amped_cell_bytes(types[i].type) > 1;
      return order != '|' || amped_cell_bytes(types[i].type) == 1 ? AMPED_OK
                                                                  : refuse_type(c->where, code);
    }
  return refuse_type(c->where, code);
}

static amped_status check_shape(amped_dense_info *info, bool fortran, const char *where) {
  if (info->order < AMPED_MIN_ORDER || info->order > AMPED_MAX_ORDER)
    return amped_error(AMPED_BAD_INPUT, where,
                       "has %d dimensions; tensors of %d to %d modes can be decomposed",
                       info->order, AMPED_MIN_ORDER, AMPED_MAX_ORDER);
  for (int m = 0; m < info->order; m++) {
    info->layout[m] = fortran ? info->order - 1 - m : m;
    if (info->dims[m] == 0)
      return amped_error(AMPED_BAD_INPUT, where, "has no cells; give a tensor that has some");
  }
  return amped_dense_info_count(info)
             ? AMPED_OK
             : amped_error(AMPED_BAD_INPUT, where,
                           "has more cells than 63 bits count; the file is damaged, save the array "
                           "again");
}

amped_status amped_npy_header_read(const char *text, uint64_t length, const char *where,
                                   amped_npy_header *out) {
  cursor c = {text, text + length, where};
  found f = {.descr = false};
  memset(out, 0, sizeof *out);
  AMPED_TRY(read_dictionary(&c, &f, &out->info));
  AMPED_TRY(find_type(&c, f.code, out));
  return check_shape(&out->info, f.fortran, where);
}

uint64_t amped_npy_header_text(const amped_dense_info *info, char *text) {
  const char *code = "";
  for (size_t i = 0; i < TYPES; i++)
    if (types[i].type == info->type)
      code = types[i].code;
  size_t n = (size_t)snprintf(text, AMPED_NPY_HEADER,
                              "{'descr': '%s%s', 'fortran_order': False, 'shape': (",
                              amped_cell_bytes(info->type) > 1 ? "<" : "|", code);
  for (int m = 0; m < info->order; m++)
    n += (size_t)snprintf(text + n, AMPED_NPY_HEADER - n, "%s%" PRIu64, m > 0 ? ", " : "",
                          info->dims[m]);
  return n + (size_t)snprintf(text + n, AMPED_NPY_HEADER - n, "), }");
}
