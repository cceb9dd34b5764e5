/* Label forms: labels of one mode that may be one text in two forms of Unicode. An accented letter
 * is one character (NFC) or a letter and combining marks (NFD); both look alike, and are different
 * labels here. */
#ifndef AMPED_LABEL_FORMS_H
#define AMPED_LABEL_FORMS_H

#include "tensor/labels.h"

/* Warn if there are some. Compares labels with every accented letter replaced by one sign, so that
 * two texts that differ in accents alone may be named, too, if one has combining marks. where: the
 * file. mode: its number, from 0. Costs a look at all bytes; AMPED_FAILED without memory. */
amped_status amped_label_forms_warn(const char *where, int mode, const amped_labels *labels);

#endif
