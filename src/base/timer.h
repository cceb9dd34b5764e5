/* Wall clock: seconds since an arbitrary start, monotonic. */
#ifndef AMPED_TIMER_H
#define AMPED_TIMER_H

double amped_time(void);

/* amped_time() at the start of this process, accurate to about 10 ms; -INFINITY if unknown. */
double amped_time_of_process(void);

#endif
