/* Label forms: labels of one mode that look alike, and are different labels here. An accented
 * letter is one character (NFC) or a letter and combining marks (NFD). No-break spaces, zero-width
 * spaces, soft hyphens and byte-order marks are not seen. */
#ifndef AMPED_LABEL_FORMS_H
#define AMPED_LABEL_FORMS_H

#include "tensor/labels.h"

/* Warn if there are some. Compares labels with every accented letter replaced by one sign, so that
 * two texts that differ in accents alone may be named, too, if one has combining marks; and labels
 * without what is not seen. where: the
 * file. mode: its number, from 0. Costs a look at all bytes; AMPED_FAILED without memory. */
amped_status amped_label_forms_warn(const char *where, int mode, const amped_labels *labels);

#endif
