/* The table of operations. The list here is all there is: the gradient check goes through it. */
#include "tape/ops.h"

#include "tape/op.h"

#define OPERATIONS(OP)                                                                             \
    OP(add)                                                                                        \
    OP(multiply)                                                                                   \
    OP(scale)                                                                                      \
    OP(sum)                                                                                        \
    OP(activate)                                                                                   \
    OP(linear)                                                                                     \
    OP(multiply_each)                                                                              \
    OP(reshape)                                                                                    \
    OP(join)                                                                                       \
    OP(part)                                                                                       \
    OP(stack)                                                                                      \
    OP(step)                                                                                       \
    OP(spread)                                                                                     \
    OP(summarise)                                                                                  \
    OP(embed)                                                                                      \
    OP(dropout)                                                                                    \
    OP(residual)                                                                                   \
    OP(layer_norm)                                                                                 \
    OP(rms_norm)                                                                                   \
    OP(gated)                                                                                      \
    OP(rotate)                                                                                     \
    OP(convolve)                                                                                   \
    OP(grid_max)                                                                                   \
    OP(grid_mean)                                                                                  \
    OP(recur)                                                                                      \
    OP(recur_end)                                                                                  \
    OP(attend)                                                                                     \
    OP(window)                                                                                     \
    OP(cross_entropy)                                                                              \
    OP(output_loss)                                                                                \
    OP(alignment_loss)

#define DECLARE(name) extern const att_op att_op_##name;
OPERATIONS(DECLARE)

#define ROW(name) &att_op_##name,
const att_op *const att_ops[] = { OPERATIONS(ROW) };
const int att_op_count = sizeof att_ops / sizeof *att_ops;
