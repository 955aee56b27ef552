/* One recurrent layer; see cell.h. */
#include "nn/cell.h"

#include "base/error.h"

#include <math.h>

/* A weight matrix of gates. Each gate is a matrix of its own, so that the spread goes by the width
 * of one gate and not of all. */
static int gate_matrix(att_builder *builder, int64_t rows, const att_cell_layer *layer,
                       const char *prefix, const char *name)
{
    const att_param like = { .rank = 2,
                             .shape = { rows, att_cell_gates(layer->cell) * layer->width },
                             .start = ATT_START_UNIFORM,
                             .spread = 1 / sqrtf((float)layer->width) };
    return att_build_param(builder, &like, prefix, name);
}

/* An LSTM's forget gate starts open, so that gradients reach far back from the first step on
 * (Jozefowicz et al. 2015). */
static int gate_bias(att_builder *builder, const att_cell_layer *layer, const char *prefix,
                     const char *name)
{
    const att_param like = { .rank = 1,
                             .shape = { att_cell_gates(layer->cell) * layer->width },
                             .start =
                                 layer->cell == ATT_CELL_LSTM ? ATT_START_FORGET : ATT_START_ZERO };
    return att_build_param(builder, &like, prefix, name);
}

void att_cell_build(att_cell_layer *out, att_builder *builder, att_cell cell, int64_t in,
                    int64_t width, const char *prefix)
{
    *out = (att_cell_layer){ .cell = cell, .width = width, .bias_u = ATT_NO_PARAM };
    out->w = gate_matrix(builder, in, out, prefix, "w");
    out->u = gate_matrix(builder, width, out, prefix, "u");
    out->bias = gate_bias(builder, out, prefix, "bias");
    if (cell == ATT_CELL_GRU)
        out->bias_u = gate_bias(builder, out, prefix, "bias_u");
}

att_node *att_cell_layer_run(const att_cell_layer *layer, att_tape *tape, att_node *x,
                             const att_cell_run *run)
{
    const att_recurrent how = { .cell = layer->cell,
                                .reverse = run->reverse,
                                .lengths = run->lengths };
    const att_recurrent_inputs in = {
        .x = x,
        .w = att_tape_param(tape, layer->w),
        .u = att_tape_param(tape, layer->u),
        .bias = att_tape_param(tape, layer->bias),
        .bias_u = layer->bias_u == ATT_NO_PARAM ? NULL : att_tape_param(tape, layer->bias_u),
        .start = run->start,
    };
    return att_recur(tape, &in, &how);
}
