/* Version: the release and revision of this program. */
#ifndef AMPED_VERSION_H
#define AMPED_VERSION_H

/* The release; and the revision of the source that the program was built from, ""
 * where unknown. */
const char *amped_version(void);
const char *amped_revision(void);

#endif
