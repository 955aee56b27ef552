/* The time of a clock that only moves forward, in seconds from an arbitrary start: for progress and
 * measurements, never for results. */
#ifndef ATT_BASE_CLOCK_H
#define ATT_BASE_CLOCK_H

double att_clock_seconds(void);

#endif
