/* A convolutional layer over tokens: concatenated neighbors times a filter matrix. */
#include "nn/text_cnn.h"

#include <stdio.h>

void att_text_cnn_build(att_text_cnn *cnn, att_param_builder *builder, const char *prefix)
{
    int64_t sizes = cnn->max_window - cnn->min_window + 1;
    for (int64_t i = 0; i < sizes; i++) {
        char name[32];
        snprintf(name, sizeof name, "window%d", (int)(cnn->min_window + i));
        att_linear_layer_build(&cnn->filters[i], builder, (cnn->min_window + i) * cnn->input_size,
                               cnn->output_size / sizes, true, prefix, name);
    }
}

/* x shifted by `offset` tokens, [B,S,D], zeros outside the sentence: a lookup in the rows of x. */
static att_node *shift_rows(att_tape *tape, att_node *x, const int64_t *lengths, int64_t offset)
{
    int64_t rows = x->shape[0], columns = x->shape[1];
    int32_t *ids = att_tape_alloc(tape, rows * columns, sizeof *ids);
    att_node *table = att_reshape(tape, x, 2, (int64_t[]){ rows * columns, x->shape[2] });
    for (int64_t i = 0; ids && i < rows * columns; i++) {
        int64_t row = i / columns, at = i % columns + offset;
        bool within = i % columns < lengths[row] && at >= 0 && at < lengths[row];
        ids[i] = within ? (int32_t)(row * columns + at) : -1;
    }
    return ids ? att_embedding_lookup(tape, table, rows, columns, ids) : NULL;
}

att_node *att_text_cnn_run(const att_text_cnn *cnn, att_tape *tape, att_node *x,
                           const int64_t *lengths)
{
    att_node *shifted[ATT_MAX_WINDOWS], *outputs[ATT_MAX_WINDOWS];
    int64_t before = (cnn->max_window - 1) / 2;
    if (!x)
        return NULL;
    for (int64_t i = 0; i < cnn->max_window; i++)
        shifted[i] = i == before ? x : shift_rows(tape, x, lengths, i - before);
    int count = 0;
    for (int64_t size = cnn->min_window; size <= cnn->max_window; size++, count++) {
        att_node *window = att_concat(tape, shifted + before - (size - 1) / 2, (int)size);
        outputs[count] =
            att_linear_layer_run(&cnn->filters[count], tape, window, ATT_ACTIVATION_RELU);
    }
    return att_concat(tape, outputs, count);
}
