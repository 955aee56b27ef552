/* Words with their neighbours; see windows.h. */
#include "nn/windows.h"

#include <stdio.h>

void att_windows_build(att_windows *windows, att_builder *builder, const char *prefix)
{
    int64_t sizes = windows->most - windows->least + 1;
    for (int64_t i = 0; i < sizes; i++) {
        char name[32];
        snprintf(name, sizeof name, "window%d", (int)(windows->least + i));
        att_affine_build(&windows->see[i], builder, (windows->least + i) * windows->in,
                         windows->width / sizes, true, prefix, name);
    }
}

/* What stands `offset` tokens further on, [B,S,D]: the rows of x taken as a table. */
static att_node *look_aside(att_tape *tape, att_node *x, const int64_t *lengths, int64_t offset)
{
    int64_t rows = x->shape[0], columns = x->shape[1];
    int32_t *which = att_tape_take(tape, rows * columns, sizeof *which);
    att_node *table = att_reshape(tape, x, 2, (int64_t[]){ rows * columns, x->shape[2] });
    for (int64_t i = 0; which && i < rows * columns; i++) {
        int64_t row = i / columns, at = i % columns + offset;
        bool within = i % columns < lengths[row] && at >= 0 && at < lengths[row];
        which[i] = within ? (int32_t)(row * columns + at) : -1;
    }
    return which ? att_embed(tape, table, rows, columns, which) : NULL;
}

att_node *att_windows_run(const att_windows *windows, att_tape *tape, att_node *x,
                          const int64_t *lengths)
{
    att_node *beside[ATT_MOST_WINDOWS], *seen[ATT_MOST_WINDOWS];
    int64_t before = (windows->most - 1) / 2;
    if (!x)
        return NULL;
    for (int64_t i = 0; i < windows->most; i++)
        beside[i] = i == before ? x : look_aside(tape, x, lengths, i - before);
    int count = 0;
    for (int64_t size = windows->least; size <= windows->most; size++, count++) {
        att_node *window = att_join(tape, beside + before - (size - 1) / 2, (int)size);
        seen[count] = att_affine_run(&windows->see[count], tape, window, ATT_ACTIVATION_RELU);
    }
    return att_join(tape, seen, count);
}
