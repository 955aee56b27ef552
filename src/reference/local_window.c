/* The bias of local attention in double precision. */
#include "reference/local_window.h"

void att_reference_local_window(double *bias, int64_t keys, double place, int64_t length,
                                double deviation)
{
    double center = (double)length * place;
    for (int64_t s = 0; s < keys; s++) {
        double distance = (double)s - center;
        bias[s] = -distance * distance / (2 * deviation * deviation);
    }
}
