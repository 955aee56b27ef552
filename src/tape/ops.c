/* The table of all operations, over which the gradient check runs. */
#include "tape/ops.h"

#include "tape/op.h"

#define OPERATIONS(OP)                                                                             \
    OP(add)                                                                                        \
    OP(multiply)                                                                                   \
    OP(scale)                                                                                      \
    OP(sum)                                                                                        \
    OP(activation)                                                                                 \
    OP(linear)                                                                                     \
    OP(bmm)                                                                                        \
    OP(reshape)                                                                                    \
    OP(concat)                                                                                     \
    OP(slice)                                                                                      \
    OP(stack)                                                                                      \
    OP(select)                                                                                     \
    OP(expand)                                                                                     \
    OP(sequence_pool)                                                                              \
    OP(embedding)                                                                                  \
    OP(dropout)                                                                                    \
    OP(residual)                                                                                   \
    OP(layer_norm)                                                                                 \
    OP(rms_norm)                                                                                   \
    OP(swiglu)                                                                                     \
    OP(rope)                                                                                       \
    OP(conv2d)                                                                                     \
    OP(max_pool2d)                                                                                 \
    OP(avg_pool2d)                                                                                 \
    OP(rnn)                                                                                        \
    OP(rnn_final_state)                                                                            \
    OP(attention)                                                                                  \
    OP(local_window)                                                                               \
    OP(cross_entropy)                                                                              \
    OP(linear_cross_entropy)                                                                       \
    OP(guided_alignment_loss)                                                                      \
    OP(crf)                                                                                        \
    OP(copy_cross_entropy)

#define DECLARE(name) extern const att_op att_op_##name;
OPERATIONS(DECLARE)

#define ROW(name) &att_op_##name,
const att_op *const att_ops[] = { OPERATIONS(ROW) };
const int att_op_count = sizeof att_ops / sizeof *att_ops;
