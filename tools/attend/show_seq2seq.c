/* attend show with a seq2seq model: its output, and the attention map of cross-attention or
 * self-attention. */
#include "show.h"

static att_status show_cross(const att_output *output, const show_settings *set, att_error *err)
{
    att_map map;
    if (!(set->heads ? att_output_layer_map(&map, output, set->layer)
                     : att_output_map(&map, output)))
        return error_set(err, ATT_BAD_INPUT, "",
                         "the model has no attention weights: it was trained with --attention none "
                         "or fixed");
    return show_map(&(show_figure){ output->text, output, &map }, set, err);
}

static att_status show_self(const att_model *model, const char *input, const att_output *output,
                            const show_settings *set, att_error *err)
{
    const att_head_selection line = { .block = show_block(set, ATT_BLOCK_CROSS),
                                      .input = input,
                                      .target = output->text };
    return show_self_attention(model, &line, output->text, set, err);
}

static att_status show_line(const show_settings *set, const decoding *models, const char *input,
                            att_error *err)
{
    bool cross = !set->overview && (set->part == SHOW_CROSS || set->part == SHOW_PART_DEFAULT);
    att_outputs *outputs = NULL;
    const att_generate_options options = { .size = sizeof(att_generate_options),
                                           .decoding = &models->options,
                                           .attention = cross,
                                           .all_heads = cross && set->heads,
                                           .layer = cross ? set->layer : 0,
                                           .head = cross ? set->head : 0,
                                           .targets = set->target ? &set->target : NULL };
    att_status status = att_model_generate(&outputs, models->model, &input, 1, &options, err);
    err->line = 0; /* there is only one line */
    const att_output *output = status == ATT_OK ? att_outputs_get(outputs, 0) : NULL;
    if (output && output->source_count == 0)
        status = error_set(err, ATT_BAD_INPUT, "", "the input has no tokens");
    else if (output)
        status = cross ? show_cross(output, set, err)
                       : show_self(models->model, input, output, set, err);
    att_outputs_free(outputs);
    return status;
}

att_status show_seq2seq(const void *settings, const decoding *models, const char *input,
                        att_error *err)
{
    att_string read = { 0 };
    const char *line;
    att_status status = show_read_line(&line, &read, input, err);
    if (status == ATT_OK)
        status = show_line(settings, models, line, err);
    att_string_free(&read);
    return status;
}
