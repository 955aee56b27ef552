/* The time of a clock that only moves forward, in seconds from an arbitrary start: for progress,
 * measurements and the plan of a run with a time budget, never for other results. */
#ifndef ATT_BASE_CLOCK_H
#define ATT_BASE_CLOCK_H

double att_clock_seconds(void);

/* Replaces the clock by a function, for tests; NULL: the real one again. */
void att_clock_replace(double (*now)(void));

#endif
