/* The image of a caption model on a worksheet: its embedding, a row for each cell of the grid; the
 * first states of an RNN decoder; and attention over the cells drawn as a grid. */
#include "inspect/model_sheet.h"

#include "base/error.h"
#include "data/batch_captions.h"
#include "decode/image_batches.h"

#include <stdio.h>

/* Numbers of an image that are worked out from its features; of a larger image from its cells. */
enum { MAX_FEATURES = 4096 };

att_status att_model_sheet_take_image(att_model_sheet_writer *s, const att_tensor *image,
                                      att_error *err)
{
    if (!image)
        return att_fail(err, ATT_BAD_INPUT, "att_model_sheet_options",
                        "expected an image: the model reads images, not text");
    ATT_TRY(att_image_grids_view(&s->image, image, s->model->settings->image_rows, NULL, err));
    if (s->image.count != 1)
        return att_fail(err, ATT_BAD_INPUT, NULL, "expected one image, found %lld",
                        (long long)s->image.count);
    ATT_TRY(att_image_batches_check(s->model, &s->image, err));
    s->source_length = (size_t)att_image_grid_cells(s->model->settings, &s->image);
    return ATT_OK;
}

att_sources att_model_sheet_sources(const att_model_sheet_writer *s, const int64_t *length)
{
    return (att_sources){ .rows = 1,
                          .length = *length,
                          .ids = s->source.items,
                          .lengths = length,
                          .image_grid = s->image.values,
                          .cells = s->image.rows * s->image.columns,
                          .depth = s->image.depth };
}

/* ---- labels */

static int64_t grid_columns(const att_model_sheet_writer *s)
{
    return s->image.columns >> s->model->settings->conv_layers;
}

/* "2,3" is the third cell of the second row, as in the outputs of att_model_caption(). */
void att_model_sheet_put_source_labels(att_model_sheet_writer *s, const char *name)
{
    if (!s->image.values) {
        att_sheet_put_labels(&s->w, name, s->model->source_vocab, &s->source);
        return;
    }
    size_t columns = (size_t)grid_columns(s);
    att_sheet_put(&s->w, "label %s", name);
    for (size_t i = 0; i < s->source_length; i++)
        att_sheet_put(&s->w, " \"%zu,%zu\"", i / columns + 1, i % columns + 1);
    att_sheet_put(&s->w, "\n");
}

static void put_numbers(att_sheet_writer *w, const char *statement, size_t count)
{
    att_sheet_put(w, "%s", statement);
    for (size_t i = 1; i <= count; i++)
        att_sheet_put(w, " \"%zu\"", i);
    att_sheet_put(w, "\n");
}

void att_image_sheet_put_grid(att_model_sheet_writer *s, const char *weights)
{
    att_sheet_writer *w = &s->w;
    size_t columns = (size_t)grid_columns(s);
    att_sheet_put(w, "\nThe weights of the cells, where they are in the image:\n\ngrid = [");
    for (size_t i = 0; i < s->source_length; i += columns)
        att_sheet_put(w, "%s%s[:, %zu:%zu]", i > 0 ? "; " : "", weights, i + 1, i + columns);
    att_sheet_put(w, "]\n");
    put_numbers(w, "label grid", s->source_length / columns);
    put_numbers(w, "label grid cols", columns);
    att_sheet_put(w, "plot grid\n");
}

/* ---- the embedding */

/* [1 1 1 2 2 2] for the rows of the grid, [1 2 3 1 2 3] for its columns. */
static void put_places(att_model_sheet_writer *s, const char *table, bool rows)
{
    size_t columns = (size_t)grid_columns(s);
    att_sheet_put(&s->w, " + ");
    att_sheet_put_load(&s->w, "eye.%s", table);
    att_sheet_put(&s->w, "[[");
    for (size_t i = 0; i < s->source_length; i++)
        att_sheet_put(&s->w, i > 0 ? " %zu" : "%zu", 1 + (rows ? i / columns : i % columns));
    att_sheet_put(&s->w, "], :]");
}

/* x = the embedding of the features in `cells`. */
static void put_projection(att_model_sheet_writer *s, const att_image_embedding *embedding)
{
    att_sheet_writer *w = &s->w;
    const char *from = "cells";
    if (embedding->conv_layers == 0) {
        att_sheet_put(w, "n = layernorm(cells, ");
        att_sheet_put_load(w, "eye.norm.gain");
        att_sheet_put(w, ", ");
        att_sheet_put_load(w, "eye.norm.bias");
        att_sheet_put(w, ", eps = 1e-5)\n");
        from = "n";
    }
    att_sheet_put_linear(w, "x", from, "eye.project", true);
    if (embedding->row_positions != ATT_NO_PARAM) {
        att_sheet_put(w, "\nThe vector of the row and the vector of the column of each cell say "
                         "where it is.\n\nx = x");
        put_places(s, "rows", true);
        put_places(s, "columns", false);
        att_sheet_put(w, "\n");
    }
    att_sheet_put(w, "x = tanh(x)\n");
}

/* cells = the features of the image, or what the convolutions make of its pixels. */
static void put_features(att_model_sheet_writer *s, const att_image_embedding *embedding,
                         const att_node *features)
{
    int64_t cells = (int64_t)s->source_length, channels = features->shape[3];
    if (embedding->conv_layers > 0)
        att_sheet_put(&s->w,
                      "Left out: %d convolution%s with max pooling over %lld × %lld pixels. The "
                      "features of the %lld × %lld cells behind them, as the model computed them:"
                      "\n\n",
                      embedding->conv_layers, embedding->conv_layers > 1 ? "s" : "",
                      (long long)embedding->in_rows, (long long)embedding->in_columns,
                      (long long)embedding->rows, (long long)embedding->columns);
    else
        att_sheet_put(&s->w,
                      "The features of the image: a row for each of its %lld × %lld cells.\n\n",
                      (long long)embedding->rows, (long long)embedding->columns);
    att_sheet_put(&s->w, "cells = ");
    att_sheet_put_matrix(&s->w, features->value, cells, channels, channels);
    att_sheet_put(&s->w, "\n");
    att_model_sheet_put_source_labels(s, "cells");
    put_projection(s, embedding);
}

static void put_cells(att_model_sheet_writer *s, const att_node *x)
{
    att_sheet_put(&s->w,
                  "Left out: the embedding of the image. x has a row for each of its %zu cells, as "
                  "the model computed it.\n\nx = ",
                  s->source_length);
    att_sheet_put_matrix(&s->w, x->value, x->shape[1], x->shape[2], x->shape[2]);
    att_sheet_put(&s->w, "\n");
}

att_status att_image_sheet_put(att_model_sheet_writer *s, const att_image_embedding *embedding,
                               att_error *err)
{
    att_tape *tape;
    ATT_TRY(att_tape_new(&tape, &s->model->params, err));
    const att_node *features = att_image_embedding_convolve(embedding, tape, 1, s->image.values);
    const att_node *x = att_image_embedding_run(embedding, tape, 1, s->image.values);
    att_status status = att_tape_status(tape, err);
    if (status == ATT_OK) {
        bool small = (int64_t)s->source_length * features->shape[3] <= MAX_FEATURES;
        att_sheet_put(&s->w, "\n## The image\n\n");
        if (small)
            put_features(s, embedding, features);
        else
            put_cells(s, x);
        att_model_sheet_put_source_labels(s, "x");
        if (small)
            att_sheet_put_claim(&s->w, "x", x->value, x->shape[1], x->shape[2], x->shape[2]);
    }
    att_tape_free(tape);
    return status;
}
