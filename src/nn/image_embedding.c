/* The image embedding of caption models: its parameters, from the settings and the size of the
 * images, and its run on a tape. */
#include "nn/image_embedding.h"

#include "base/error.h"

#include <stdio.h>

#define PREFIX "eye"

enum { KERNEL = 3, POOL = 2 };

/* Each convolution is followed by 2 x 2 max pooling, and the next has twice the channels. Returns
 * the channels of the last one. */
static int64_t build_conv_layers(att_image_embedding *embedding, att_param_builder *builder,
                                 int64_t channels)
{
    int64_t in = embedding->channels;
    for (int i = 0; i < embedding->conv_layers; i++, channels *= 2) {
        char prefix[32];
        snprintf(prefix, sizeof prefix, PREFIX ".convolution.%d", i);
        embedding->conv[i].w =
            att_build_filters(builder, KERNEL * KERNEL * in, channels, prefix, "w");
        embedding->conv[i].bias = att_build_zeros(builder, channels, prefix, "bias");
        embedding->rows /= POOL;
        embedding->columns /= POOL;
        in = channels;
    }
    return in;
}

static void build_norm(att_image_embedding *embedding, att_param_builder *builder)
{
    const att_param gain = { .rank = 1, .shape = { embedding->channels }, .init = ATT_INIT_ONE };
    embedding->norm_gain = att_build_param(builder, &gain, PREFIX, "norm.gain");
    embedding->norm_bias = att_build_zeros(builder, embedding->channels, PREFIX, "norm.bias");
}

static bool check_size(const att_image_embedding *embedding, att_param_builder *builder)
{
    int64_t min = (int64_t)1 << embedding->conv_layers;
    if (embedding->in_rows >= min && embedding->in_columns >= min && embedding->channels > 0)
        return true;
    builder->status =
        att_fail(builder->err, ATT_BAD_INPUT, NULL,
                 "images of %lld × %lld cells with %lld channels are too small for %d convolutions",
                 (long long)embedding->in_rows, (long long)embedding->in_columns,
                 (long long)embedding->channels, embedding->conv_layers);
    return false;
}

void att_image_embedding_build(att_image_embedding *out, att_param_builder *builder,
                               const att_settings *settings, uint64_t dropout_id)
{
    enum { NO = ATT_NO_PARAM };
    *out = (att_image_embedding){ .in_rows = settings->image_rows,
                                  .in_columns = settings->image_columns,
                                  .channels = settings->image_depth,
                                  .rows = settings->image_rows,
                                  .columns = settings->image_columns,
                                  .hidden_size = settings->hidden_size,
                                  .conv_layers = (int)settings->conv_layers,
                                  .norm_gain = NO,
                                  .norm_bias = NO,
                                  .row_positions = NO,
                                  .column_positions = NO,
                                  .dropout = (float)settings->dropout,
                                  .dropout_id = dropout_id };
    if (!check_size(out, builder))
        return;
    int64_t channels = build_conv_layers(out, builder, settings->conv_channels);
    if (out->conv_layers == 0)
        build_norm(out, builder);
    out->projection_w = att_build_matrix(builder, channels, out->hidden_size, PREFIX, "project");
    out->projection_bias = att_build_zeros(builder, out->hidden_size, PREFIX, "project_bias");
    if (!settings->image_positions)
        return;
    const float init_std = 0.5f; /* about the size of the projected cells */
    out->row_positions =
        att_build_embedding(builder, out->rows, out->hidden_size, init_std, PREFIX, "rows");
    out->column_positions =
        att_build_embedding(builder, out->columns, out->hidden_size, init_std, PREFIX, "columns");
}

int64_t att_image_embedding_cell_count(const att_image_embedding *embedding)
{
    return embedding->rows * embedding->columns;
}

att_node *att_image_embedding_convolve(const att_image_embedding *embedding, att_tape *tape,
                                       int64_t count, const float *images)
{
    static const att_conv2d_options options = { .kernel_height = KERNEL,
                                                .kernel_width = KERNEL,
                                                .stride = 1,
                                                .padding = KERNEL / 2,
                                                .activation = ATT_ACTIVATION_RELU };
    const int64_t in[] = { count, embedding->in_rows, embedding->in_columns, embedding->channels };
    att_node *x = att_tape_input_view(tape, 4, in, images);
    for (int i = 0; i < embedding->conv_layers; i++) {
        x = att_conv2d(tape, x, att_tape_param(tape, embedding->conv[i].w),
                       att_tape_param(tape, embedding->conv[i].bias), &options);
        att_tape_name_layer(tape, x, "image convolution", i + 1);
        x = att_max_pool2d(tape, x, POOL, POOL, false);
    }
    return x;
}

/* Position vectors of the cells, row vector plus column vector: [cells,N]. */
static att_node *cell_positions(const att_image_embedding *embedding, att_tape *tape)
{
    int64_t cells = att_image_embedding_cell_count(embedding);
    int32_t *row = att_tape_alloc(tape, cells, sizeof *row);
    int32_t *column = att_tape_alloc(tape, cells, sizeof *column);
    if (!row || !column)
        return NULL;
    for (int64_t i = 0; i < cells; i++) {
        row[i] = (int32_t)(i / embedding->columns);
        column[i] = (int32_t)(i % embedding->columns);
    }
    att_node *sum = att_add(
        tape,
        att_embedding_lookup(tape, att_tape_param(tape, embedding->row_positions), 1, cells, row),
        att_embedding_lookup(tape, att_tape_param(tape, embedding->column_positions), 1, cells,
                             column));
    return att_reshape(tape, sum, 2, (int64_t[]){ cells, embedding->hidden_size });
}

/* The tanh acts on content plus position, so that even the mean of all cells shows which of two
 * objects is on the left. */
att_node *att_image_embedding_run(const att_image_embedding *embedding, att_tape *tape,
                                  int64_t count, const float *images)
{
    int64_t cells = att_image_embedding_cell_count(embedding);
    att_node *x = att_image_embedding_convolve(embedding, tape, count, images);
    if (embedding->conv_layers == 0)
        x = att_layer_norm(tape, x, att_tape_param(tape, embedding->norm_gain),
                           att_tape_param(tape, embedding->norm_bias));
    if (!x)
        return NULL;
    x = att_reshape(tape, x, 3, (int64_t[]){ count, cells, x->shape[3] });
    x = att_dropout(tape, x, embedding->dropout, embedding->dropout_id);
    x = att_linear(tape, x, att_tape_param(tape, embedding->projection_w),
                   att_tape_param(tape, embedding->projection_bias), ATT_ACTIVATION_NONE, false);
    if (embedding->row_positions != ATT_NO_PARAM)
        x = att_add(tape, x, cell_positions(embedding, tape));
    return att_tape_name_layer(tape, att_activate(tape, x, ATT_ACTIVATION_TANH), "image embedding",
                               0);
}

att_node *att_image_embedding_mean(const att_image_embedding *embedding, att_tape *tape,
                                   att_node *x)
{
    int64_t cells = att_image_embedding_cell_count(embedding), count = x ? x->shape[0] : 0;
    int64_t *first = att_tape_alloc(tape, count, sizeof *first);
    int64_t *lengths = att_tape_alloc(tape, count, sizeof *lengths);
    if (!x || !first || !lengths)
        return NULL;
    for (int64_t i = 0; i < count; i++) {
        first[i] = i * cells;
        lengths[i] = cells;
    }
    return att_sequence_pool(tape, x, ATT_POOL_MODE_MEAN, count, first, lengths);
}
