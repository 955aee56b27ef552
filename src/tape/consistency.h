/* The consistency loss of two rows of logits, which the losses of the tape share (reference/loss.h
 * has the formula). */
#ifndef ATT_TAPE_CONSISTENCY_H
#define ATT_TAPE_CONSISTENCY_H

#include <stddef.h>

/* Two predictions of one token. */
typedef struct att_consistency_rows {
    const float *x, *y; /* [classes] logits */
    float lse_x, lse_y; /* their log-sum-exp */
    size_t classes;
} att_consistency_rows;

/* The loss. Adds `weight` times its gradients to dx and dy [classes], unless these are NULL. */
double att_consistency_loss(const att_consistency_rows *rows, float weight, float *dx, float *dy);

#endif
