/* Wall clock: seconds since an arbitrary start, monotonic. */
#ifndef AMPED_TIMER_H
#define AMPED_TIMER_H

double amped_time(void);

/* amped_time() when this process was started, to some 10 ms; -INFINITY where the system does not
 * tell. */
double amped_time_of_process(void);

#endif
