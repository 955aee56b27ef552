/* A picture in the place of a source; see recurrent.h. Its mean starts the decoder (handout 004),
 * and where there is attention its cells are what is looked at (Xu et al. 2015, "Show, attend and
 * tell"). A decoder that starts from nothing knows of the picture what it looked at, and no more.
 */
#include "model/recurrent.h"

#include <stdio.h>

void att_recurrent_build_sight(att_recurrent_parts *parts, att_builder *builder,
                               const att_settings *settings)
{
    int64_t state = att_cell_states((att_cell)settings->cell) * parts->width;
    att_eye_build(&parts->eye, builder, settings, att_drop_place(ATT_DROP_SOURCE, 0));
    parts->starts_seeing = settings->picture_start;
    for (int i = 0; parts->starts_seeing && i < parts->layers; i++) {
        char prefix[32];
        snprintf(prefix, sizeof prefix, "start.%d", i);
        att_affine_build(&parts->see[i], builder, parts->width, state, true, prefix, "w");
    }
}

/* Where a layer starts, [B, states N]. */
static att_node *start_of(const att_recurrent_parts *parts, att_tape *tape, int layer,
                          att_node *mean)
{
    if (parts->starts_seeing)
        return att_affine_run(&parts->see[layer], tape, mean, ATT_ACTIVATION_TANH);
    int64_t width = att_cell_states(parts->decoder[layer].cell) * parts->width;
    return mean ? att_tape_input(tape, 2, (int64_t[]){ mean->shape[0], width }, NULL) : NULL;
}

void att_recurrent_see(att_walk *walk, const att_sources *sources)
{
    const att_recurrent_parts *parts = walk->parts;
    att_tape *tape = walk->tape;
    att_node *cells = att_eye_run(&parts->eye, tape, sources->rows, sources->grid);
    att_node *mean = att_eye_mean(&parts->eye, tape, cells);
    walk->rows = sources->rows;
    walk->memory = (att_memory){ .values = cells, .lengths = sources->lengths };
    for (int i = 0; i < parts->layers; i++)
        walk->state[i] = start_of(parts, tape, i, mean);
    if (parts->scored)
        walk->memory.keys = att_glimpse_keys(&parts->glimpse, tape, cells);
    if (parts->fixed)
        walk->last = mean;
}
