/* The monotonic clock, by clock_gettime(). */
#include "base/clock.h"

#include <stddef.h>
#include <time.h>

static double (*replacement)(void);

void att_clock_replace(double (*now)(void))
{
    replacement = now;
}

double att_clock_seconds(void)
{
    if (replacement)
        return replacement();
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
