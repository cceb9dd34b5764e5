/* Format: short texts and JSON values that several commands write about a tensor. */
#ifndef AMPED_FORMAT_H
#define AMPED_FORMAT_H

#include <jansson.h>

#include "tensor/labels.h"
#include "base/types.h"

/* Bytes for the dimensions of any tensor. */
#define AMPED_DIMS_TEXT 256

/* "610 x 9724 x 271" into a buffer of AMPED_DIMS_TEXT bytes, which is returned. */
const char *amped_format_dims(char *buffer, int order, const uint64_t *dims);

/* "float32" or "float64". */
const char *amped_vtype_name(amped_vtype type);

/* The name of a mode in printable form (base/printable.h); "" if the mode has no name. */
const char *amped_format_name(char *buffer, size_t size, const amped_labels *labels);

/* "mode 2 (item)", or "mode 2" if the mode has no name. mode counts from 0. */
const char *amped_format_mode(char *buffer, size_t size, int mode, const amped_labels *labels);

/* Numbers of things of the modes, without modes that have 0: "33 user, 1 month", or with words "33
 * have a new user, 1 a new month". A mode whose name is missing, or a number, is
 * "index of mode 2" if unnamed = " index of". Returns "" if all counts are 0. */
#define AMPED_COUNTS_TEXT 1024
typedef struct amped_count_words {
  const char *first, *next; /* after the first number, and after the others */
  const char *unnamed;      /* before "mode 2", if the mode has no name */
} amped_count_words;
const char *amped_format_counts(char *buffer, int order, const amped_labels *labels,
                                const uint64_t *counts, const amped_count_words *words);

/* Write an error of a model as text with at least six significant digits. Returns the buffer, which
 * has AMPED_ERROR_TEXT bytes. */
#define AMPED_ERROR_TEXT 32
const char *amped_format_error(char *buffer, double error);

/* JSON values; NULL if memory is too small. A count above 2^63 - 1, the largest JSON integer,
 * becomes a float. A number that is not finite, a string NULL, and a missing name of a mode become
 * null. jansson requires UTF-8: a text that is not UTF-8 is written in printable form. */
json_t *amped_json_count(uint64_t n);
json_t *amped_json_counts(const uint64_t *counts, int n);
json_t *amped_json_number(double x);
json_t *amped_json_numbers(const double *numbers, int n);
json_t *amped_json_text(const char *text, uint64_t length);
json_t *amped_json_string(const char *text);
json_t *amped_json_mode_name(const amped_labels *labels);
/* A label; null if the mode has none. */
json_t *amped_json_label(const amped_labels *labels, uint64_t place);

#endif
