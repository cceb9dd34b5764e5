/* Describe: the small texts and JSON values that several commands tell of a tensor. */
#ifndef AMPED_FORMAT_H
#define AMPED_FORMAT_H

#include <jansson.h>

#include "tensor/labels.h"
#include "base/types.h"

/* Room for the dimensions of any tensor. */
#define AMPED_DIMS_TEXT 256

/* "610 x 9724 x 271" into a buffer of AMPED_DIMS_TEXT bytes, which is returned. */
const char *amped_format_dims(char *buffer, int order, const uint64_t *dims);

/* "float32" or "float64". */
const char *amped_vtype_name(amped_vtype type);

/* Text of a file or user, printable: control characters become '?'. Cut where the buffer ends. */
const char *amped_format_text(char *buffer, size_t size, const char *text);

/* The name of a mode likewise, "" where it has none. */
const char *amped_format_name(char *buffer, size_t size, const amped_labels *labels);

/* A count (a float above 2^63 - 1, where JSON integers end); an array of them; a number, or null
 * where it is not finite; text of any bytes, those that are not ASCII as '?' where it is not UTF-8
 * (jansson takes nothing else); the name of a mode, or null. NULL where memory does not suffice. */
json_t *amped_json_count(uint64_t n);
json_t *amped_json_counts(const uint64_t *counts, int n);
json_t *amped_json_number(double x);
json_t *amped_json_text(const char *text, uint64_t length);
json_t *amped_json_mode_name(const amped_labels *labels);

#endif
