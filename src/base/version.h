/* Version: which program this is. */
#ifndef AMPED_VERSION_H
#define AMPED_VERSION_H

/* The release; and the revision this program was built from, "" where unknown. */
const char *amped_version(void);
const char *amped_revision(void);

#endif
