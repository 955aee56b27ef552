/* Pictures seen; see eye.h. */
#include "nn/eye.h"

#include "base/error.h"

#include <stdio.h>

#define PREFIX "eye"

enum { KERNEL = 3, POOL = 2 };

/* Each convolution is followed by the maximum of two cells by two, and the next has twice the
 * channels. Gives the channels of the last. */
static int64_t build_convolutions(att_eye *eye, att_builder *builder, int64_t channels)
{
    int64_t in = eye->depth;
    for (int i = 0; i < eye->convolutions; i++, channels *= 2) {
        char prefix[32];
        snprintf(prefix, sizeof prefix, PREFIX ".convolution.%d", i);
        eye->convolution[i].w =
            att_build_matrix(builder, KERNEL * KERNEL * in, channels, prefix, "w");
        eye->convolution[i].bias = att_build_zeros(builder, channels, prefix, "bias");
        eye->rows /= POOL;
        eye->columns /= POOL;
        in = channels;
    }
    return in;
}

static void build_norm(att_eye *eye, att_builder *builder)
{
    const att_param gain = { .rank = 1, .shape = { eye->depth }, .start = ATT_START_ONE };
    eye->gain = att_build_param(builder, &gain, PREFIX, "norm.gain");
    eye->shift = att_build_zeros(builder, eye->depth, PREFIX, "norm.bias");
}

static bool check_size(const att_eye *eye, att_builder *builder)
{
    int64_t least = (int64_t)1 << eye->convolutions;
    if (eye->in_rows >= least && eye->in_columns >= least && eye->depth > 0)
        return true;
    builder->status =
        att_fail(builder->err, ATT_BAD_INPUT, NULL,
                 "pictures of %lld × %lld cells of %lld numbers are too small for %d convolutions",
                 (long long)eye->in_rows, (long long)eye->in_columns, (long long)eye->depth,
                 eye->convolutions);
    return false;
}

void att_eye_build(att_eye *out, att_builder *builder, const att_settings *settings,
                   uint64_t drop_place)
{
    enum { NO = ATT_NO_PARAM };
    *out = (att_eye){ .in_rows = settings->picture_rows,
                      .in_columns = settings->picture_columns,
                      .depth = settings->picture_depth,
                      .rows = settings->picture_rows,
                      .columns = settings->picture_columns,
                      .width = settings->width,
                      .convolutions = (int)settings->convolutions,
                      .gain = NO,
                      .shift = NO,
                      .row_places = NO,
                      .column_places = NO,
                      .dropout = (float)settings->dropout,
                      .drop_place = drop_place };
    if (!check_size(out, builder))
        return;
    int64_t channels = build_convolutions(out, builder, settings->channels);
    if (out->convolutions == 0)
        build_norm(out, builder);
    out->project_w = att_build_matrix(builder, channels, out->width, PREFIX, "project");
    out->project_b = att_build_zeros(builder, out->width, PREFIX, "project_bias");
    if (!settings->picture_positions)
        return;
    const float spread = 0.5f; /* as large as what is seen: where it stands tells as much */
    out->row_places = att_build_table(builder, out->rows, out->width, spread, PREFIX, "rows");
    out->column_places =
        att_build_table(builder, out->columns, out->width, spread, PREFIX, "columns");
}

int64_t att_eye_cells(const att_eye *eye)
{
    return eye->rows * eye->columns;
}

static att_node *convolve(const att_eye *eye, att_tape *tape, att_node *x)
{
    static const att_convolution how = { .height = KERNEL,
                                         .width = KERNEL,
                                         .stride = 1,
                                         .padding = KERNEL / 2,
                                         .activation = ATT_ACTIVATION_RELU };
    for (int i = 0; i < eye->convolutions; i++) {
        x = att_convolve(tape, x, att_tape_param(tape, eye->convolution[i].w),
                         att_tape_param(tape, eye->convolution[i].bias), &how);
        x = att_grid_max(tape, x, POOL, POOL, false);
    }
    return x;
}

/* A vector for every cell, the sum of that of its row and that of its column: [cells,N]. */
static att_node *places(const att_eye *eye, att_tape *tape)
{
    int64_t cells = att_eye_cells(eye);
    int32_t *row = att_tape_take(tape, cells, sizeof *row);
    int32_t *column = att_tape_take(tape, cells, sizeof *column);
    if (!row || !column)
        return NULL;
    for (int64_t i = 0; i < cells; i++) {
        row[i] = (int32_t)(i / eye->columns);
        column[i] = (int32_t)(i % eye->columns);
    }
    att_node *sum =
        att_add(tape, att_embed(tape, att_tape_param(tape, eye->row_places), 1, cells, row),
                att_embed(tape, att_tape_param(tape, eye->column_places), 1, cells, column));
    return att_reshape(tape, sum, 2, (int64_t[]){ cells, eye->width });
}

/* What is seen and where are bent together, so that even the mean of all cells tells which of two
 * things is on the left. */
att_node *att_eye_run(const att_eye *eye, att_tape *tape, int64_t count, const float *pictures)
{
    int64_t cells = att_eye_cells(eye);
    const int64_t in[] = { count, eye->in_rows, eye->in_columns, eye->depth };
    att_node *x = att_tape_lend(tape, 4, in, pictures);
    if (eye->convolutions > 0)
        x = convolve(eye, tape, x);
    else
        x = att_layer_norm(tape, x, att_tape_param(tape, eye->gain),
                           att_tape_param(tape, eye->shift));
    if (!x)
        return NULL;
    x = att_reshape(tape, x, 3, (int64_t[]){ count, cells, x->shape[3] });
    x = att_dropout(tape, x, eye->dropout, eye->drop_place);
    x = att_linear(tape, x, att_tape_param(tape, eye->project_w),
                   att_tape_param(tape, eye->project_b), ATT_ACTIVATION_NONE, false);
    if (eye->row_places != ATT_NO_PARAM)
        x = att_add(tape, x, places(eye, tape));
    return att_activate(tape, x, ATT_ACTIVATION_TANH);
}

att_node *att_eye_mean(const att_eye *eye, att_tape *tape, att_node *x)
{
    int64_t cells = att_eye_cells(eye), count = x ? x->shape[0] : 0;
    int64_t *first = att_tape_take(tape, count, sizeof *first);
    int64_t *lengths = att_tape_take(tape, count, sizeof *lengths);
    if (!x || !first || !lengths)
        return NULL;
    for (int64_t i = 0; i < count; i++) {
        first[i] = i * cells;
        lengths[i] = cells;
    }
    return att_summarise(tape, x, ATT_SUMMARY_MEAN, count, first, lengths);
}
