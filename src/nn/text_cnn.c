/* Words with their neighbours; see windows.h. */
#include "nn/text_cnn.h"

#include <stdio.h>

void att_text_cnn_build(att_text_cnn *windows, att_param_builder *builder, const char *prefix)
{
    int64_t sizes = windows->max_window - windows->min_window + 1;
    for (int64_t i = 0; i < sizes; i++) {
        char name[32];
        snprintf(name, sizeof name, "window%d", (int)(windows->min_window + i));
        att_linear_layer_build(&windows->filters[i], builder,
                               (windows->min_window + i) * windows->input_size,
                               windows->output_size / sizes, true, prefix, name);
    }
}

/* What stands `offset` tokens further on, [B,S,D]: the rows of x taken as a table. */
static att_node *shift_rows(att_tape *tape, att_node *x, const int64_t *lengths, int64_t offset)
{
    int64_t rows = x->shape[0], columns = x->shape[1];
    int32_t *which = att_tape_alloc(tape, rows * columns, sizeof *which);
    att_node *table = att_reshape(tape, x, 2, (int64_t[]){ rows * columns, x->shape[2] });
    for (int64_t i = 0; which && i < rows * columns; i++) {
        int64_t row = i / columns, at = i % columns + offset;
        bool within = i % columns < lengths[row] && at >= 0 && at < lengths[row];
        which[i] = within ? (int32_t)(row * columns + at) : -1;
    }
    return which ? att_embedding_lookup(tape, table, rows, columns, which) : NULL;
}

att_node *att_text_cnn_run(const att_text_cnn *windows, att_tape *tape, att_node *x,
                           const int64_t *lengths)
{
    att_node *beside[ATT_MAX_WINDOWS], *seen[ATT_MAX_WINDOWS];
    int64_t before = (windows->max_window - 1) / 2;
    if (!x)
        return NULL;
    for (int64_t i = 0; i < windows->max_window; i++)
        beside[i] = i == before ? x : shift_rows(tape, x, lengths, i - before);
    int count = 0;
    for (int64_t size = windows->min_window; size <= windows->max_window; size++, count++) {
        att_node *window = att_concat(tape, beside + before - (size - 1) / 2, (int)size);
        seen[count] =
            att_linear_layer_run(&windows->filters[count], tape, window, ATT_ACTIVATION_RELU);
    }
    return att_concat(tape, seen, count);
}
