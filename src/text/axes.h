/* Axes: names and values of the modes of an array, as the user gives them.
 *
 * --modes=A,B,C names all modes. --axis=MODE:FIRST:LAST gives a mode evenly spaced values;
 * --axis=MODE:FILE gives it the lines of a text, one value per index. Values become labels, which
 * results keep, so that a picture or a table shows them. A mode that has a name only gets the
 * numbers of its indices, from 1, as labels. Host memory; not collective. */
#ifndef AMPED_AXES_H
#define AMPED_AXES_H

#include "base/status.h"
#include "tensor/labels.h"
#include "text/axis_options.h"

/* AMPED_USAGE if names or axes are given for a file that is no array. */
amped_status amped_axes_refuse(const amped_axis_options *options, const char *path);

/* Name and label the modes of the array `path` of these dimensions; labels: [order], which may have
 * names and labels from the file, and lose those that the options replace. options may be NULL.
 * AMPED_USAGE: the number of names is not the order, or a name is empty or repeated. An axis has an
 * unknown mode, or a mode that has one already. FIRST and LAST are equal or not finite.
 * AMPED_BAD_INPUT: a file of an axis has another number of lines than the mode has indices, an
 * empty line, a line that is no UTF-8 text, or a line twice. */
amped_status amped_axes_label(const amped_axis_options *options, const char *path, int order,
                              const uint64_t *dims, amped_labels *labels);

#endif
