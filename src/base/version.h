/* Version: the release and revision of this program. */
#ifndef AMPED_VERSION_H
#define AMPED_VERSION_H

/* The release; and the revision of the source from which the program was built, "" if unknown. */
const char *amped_version(void);
const char *amped_revision(void);

#endif
