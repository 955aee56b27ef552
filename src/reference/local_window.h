/* Local attention with a predicted center (Luong et al. 2015, 3.2, "local-p") in double precision.
 */
#ifndef ATT_REFERENCE_LOCAL_WINDOW_H
#define ATT_REFERENCE_LOCAL_WINDOW_H

#include <stdint.h>

/* The bias -(s - p)² / (2 deviation²) of keys s = 0 … keys-1 for one query. The center p is
 * length * place: `place` in (0, 1) is the predicted fraction of a source of `length` tokens. */
void att_reference_local_window(double *bias, int64_t keys, double place, int64_t length,
                                double deviation);

#endif
