/* Wall clock: seconds since an arbitrary start, monotonic. */
#ifndef AMPED_TIMER_H
#define AMPED_TIMER_H

double amped_time(void);

#endif
