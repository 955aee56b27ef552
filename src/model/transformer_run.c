/* Sequences taken through a Transformer; see transformer.h. A decoder that has the whole sequence
 * at hand and one that goes token by token run the same code, but for where keys and values of the
 * tokens before come from. */
#include "model/transformer.h"

const att_stretch *att_stretch_new(att_tape *tape, int64_t rows, int64_t length,
                                   const int64_t *lengths, const int32_t *ids)
{
    int64_t tokens = 0, at = 0;
    for (int64_t r = 0; r < rows; r++)
        tokens += lengths[r];
    att_stretch *out = att_tape_take(tape, 1, sizeof *out);
    int64_t *offsets = att_tape_take(tape, rows + 1, sizeof *offsets);
    int32_t *packed = att_tape_take(tape, tokens, sizeof *packed);
    int32_t *positions = att_tape_take(tape, tokens, sizeof *positions);
    if (!positions)
        return NULL;
    for (int64_t r = 0; r < rows; r++) {
        offsets[r] = at;
        for (int64_t t = 0; t < lengths[r]; t++, at++) {
            packed[at] = ids[r * length + t];
            positions[at] = (int32_t)t;
        }
    }
    offsets[rows] = at;
    *out = (att_stretch){ rows, tokens, offsets, packed, positions };
    return out;
}

static void notice(const att_run *run, att_head_part part, int layer, att_node *x,
                   att_node *attended)
{
    att_watch *watch = run->watch;
    if (!watch || watch->part != part || watch->layer != layer)
        return;
    watch->x = x;
    watch->attended = attended;
}

/* ---- encoder */

/* Takes the vectors of sources, x [1,N,D], through the layers. */
static att_node *run_encoder(att_run *run, att_node *x, const att_stretch *sources)
{
    const att_transformer_parts *parts = run->parts;
    att_tape *tape = run->tape;
    run->sources = sources->sequences;
    run->source_offsets = sources->offsets;
    const att_sight sight = { .sequences = sources->sequences,
                              .query_offsets = sources->offsets,
                              .key_offsets = sources->offsets };
    for (int i = 0; i < parts->encoder_layers; i++) {
        const att_layer *layer = &parts->encoder[i];
        att_node *inner = att_frame_enter(&layer->self_frame, tape, x);
        att_node *into = att_heads_into(&layer->self, tape, inner, sources->positions);
        att_node *seen = att_heads_attend(&layer->self, tape, into, NULL, &sight);
        notice(run, ATT_PART_ENCODER, i, x, seen);
        x = att_frame_leave(&layer->self_frame, tape, x, att_heads_out(&layer->self, tape, seen));
        x = att_layer_feed(layer, tape, x);
    }
    return att_norm_run(&parts->encoder_norm, tape, x);
}

/* Keys and values of what the encoder said, for each layer of the decoder. */
static void remember(att_run *run, att_node *x)
{
    if (run->watch)
        run->watch->memory = x;
    for (int i = 0; i < run->parts->decoder_layers; i++)
        run->memory[i] = att_heads_keys(&run->parts->decoder[i].cross, run->tape, x);
}

att_node *att_transformer_read(att_run *run, const att_stretch *sources)
{
    if (!sources)
        return NULL;
    att_node *x = att_embedding_run_rows(&run->parts->source, run->tape, sources->tokens,
                                         sources->ids, sources->positions);
    return run_encoder(run, x, sources);
}

void att_transformer_encode(att_run *run, const att_stretch *sources)
{
    if (sources)
        remember(run, att_transformer_read(run, sources));
}

void att_transformer_take(att_run *run, const att_sources *sources)
{
    att_transformer_encode(run, att_stretch_new(run->tape, sources->rows, sources->length,
                                                sources->lengths, sources->ids));
}

/* A picture is a sequence of cells. */
void att_transformer_see(att_run *run, const att_sources *sources)
{
    const att_eye *eye = &run->parts->eye;
    att_tape *tape = run->tape;
    int64_t rows = sources->rows, cells = att_eye_cells(eye), all = rows * cells;
    int64_t *offsets = att_tape_take(tape, rows + 1, sizeof *offsets);
    int32_t *positions = att_tape_take(tape, all, sizeof *positions);
    att_stretch *lie = att_tape_take(tape, 1, sizeof *lie);
    if (!offsets || !positions || !lie)
        return;
    for (int64_t r = 0; r <= rows; r++)
        offsets[r] = r * cells;
    for (int64_t i = 0; i < all; i++)
        positions[i] = (int32_t)(i % cells);
    *lie = (att_stretch){
        .sequences = rows, .tokens = all, .offsets = offsets, .positions = positions
    };
    att_node *x = att_eye_run(eye, tape, rows, sources->grid);
    x = att_reshape(tape, x, 3, (int64_t[]){ 1, all, eye->width });
    remember(run, run_encoder(run, x, lie));
}

/* ---- decoder */

/* Attention to the tokens before, and to the token itself. */
static att_node *look_back(att_run *run, int index, att_node *x, const att_stretch *targets)
{
    const att_layer *layer = &run->parts->decoder[index];
    att_tape *tape = run->tape;
    att_node *inner = att_frame_enter(&layer->self_frame, tape, x);
    att_node *into = att_heads_into(&layer->self, tape, inner, targets->positions);
    att_sight sight = { .sequences = targets->sequences,
                        .query_offsets = targets->offsets,
                        .key_offsets = targets->offsets,
                        .causal = true };
    att_node *keys = NULL;
    if (run->pages) {
        att_pages_write(run->pages, index, into, run->parts->width);
        keys = att_pages_read(run->pages, tape, index);
        sight.key_offsets = att_pages_offsets(run->pages);
        sight.causal = false;
    }
    att_node *seen = att_heads_attend(&layer->self, tape, into, keys, &sight);
    notice(run, ATT_PART_DECODER, index, x, seen);
    return att_frame_leave(&layer->self_frame, tape, x, att_heads_out(&layer->self, tape, seen));
}

/* Rows `which` of x [1,N,D]; all of them as they are where it is NULL. */
static att_node *rearrange(att_tape *tape, att_node *x, const int32_t *which)
{
    if (!which || !x)
        return x;
    att_node *table = att_reshape(tape, x, 2, &x->shape[1]);
    return att_embed(tape, table, 1, x->shape[1], which);
}

/* Attention to the sources. */
static att_node *look_across(att_run *run, int index, att_node *x)
{
    const att_layer *layer = &run->parts->decoder[index];
    att_tape *tape = run->tape;
    const att_sight sight = { .sequences = run->sources,
                              .query_offsets = run->query_offsets,
                              .key_offsets = run->source_offsets };
    att_node *inner = att_frame_enter(&layer->cross_frame, tape, x);
    att_node *query = att_heads_into(&layer->cross, tape, inner, NULL);
    query = rearrange(tape, query, run->by_source);
    att_node *seen = att_heads_attend(&layer->cross, tape, query, run->memory[index], &sight);
    notice(run, ATT_PART_CROSS, index, x, seen);
    if (run->want_weights)
        run->weights[index] = att_attend_weights(tape, seen);
    seen = rearrange(tape, seen, run->back);
    return att_frame_leave(&layer->cross_frame, tape, x, att_heads_out(&layer->cross, tape, seen));
}

att_node *att_transformer_decode(att_run *run, const att_stretch *targets)
{
    const att_transformer_parts *parts = run->parts;
    if (!targets)
        return NULL;
    att_node *x = att_embedding_run_rows(&parts->target, run->tape, targets->tokens, targets->ids,
                                         targets->positions);
    for (int i = 0; i < parts->decoder_layers; i++) {
        x = look_back(run, i, x, targets);
        if (parts->reads)
            x = look_across(run, i, x);
        x = att_layer_feed(&parts->decoder[i], run->tape, x);
    }
    return att_norm_run(&parts->decoder_norm, run->tape, x);
}

att_output_inputs att_transformer_output(const att_run *run, att_node *x)
{
    const att_transformer_parts *parts = run->parts;
    bool tied = parts->output_w == ATT_NO_PARAM, biased = parts->output_b != ATT_NO_PARAM;
    return (att_output_inputs){
        .x = x,
        .w = att_tape_param(run->tape, tied ? parts->target.table : parts->output_w),
        .bias = biased ? att_tape_param(run->tape, parts->output_b) : NULL,
        .transposed = tied,
    };
}
