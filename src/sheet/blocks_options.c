/* The options of an attention call as an att_attention_options. */
#include "sheet/blocks.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_WINDOW = 1 << 30 };

static att_status read_words(const att_call *call, att_attention_options *options)
{
    const char *scores[ATT_SCORE_COUNT + 1] = { NULL };
    for (size_t i = 0; i < ATT_SCORE_COUNT; i++)
        scores[i] = att_score_name((att_score)i);
    size_t chosen = ATT_SCORE_SCALED;
    ATT_TRY(att_option_word(call, "score", scores, &chosen));
    options->score = (att_score)chosen;
    const char *normalizers[ATT_NORMALIZER_COUNT + 1] = { NULL };
    for (size_t i = 0; i < ATT_NORMALIZER_COUNT; i++)
        normalizers[i] = att_normalizer_name((att_normalizer)i);
    chosen = ATT_NORMALIZE_SOFTMAX;
    ATT_TRY(att_option_word(call, "normalizer", normalizers, &chosen));
    options->normalizer = (att_normalizer)chosen;
    return ATT_OK;
}

static att_status read_scale(const att_call *call, att_attention_options *options)
{
    ATT_TRY(att_option_number(call, "scale", &options->scale));
    if (att_call_option(call, "scale") && options->scale == 0.0)
        return att_call_fail(call, att_option_node(call, "scale"),
                             "%s: scale must not be 0, which would make every score 0",
                             call->function->name);
    ATT_TRY(att_option_number(call, "softcap", &options->soft_cap));
    if (att_call_option(call, "softcap") && options->soft_cap <= 0.0)
        return att_call_fail(call, att_option_node(call, "softcap"),
                             "%s: softcap must be above 0, found %g", call->function->name,
                             options->soft_cap);
    return ATT_OK;
}

/* window = n: n keys on both sides; window = [l r]; -1 means unlimited. */
static att_status read_window(const att_call *call, att_attention_options *options)
{
    const att_value *value = att_call_option(call, "window");
    if (!value)
        return ATT_OK;
    const att_matrix *m = value->kind == ATT_VALUE_MATRIX ? value->matrix : NULL;
    if (!m || m->rows != 1 || m->cols < 1 || m->cols > 2)
        return att_call_fail(call, att_option_node(call, "window"),
                             "%s: window: expected a number of keys or [left right]",
                             call->function->name);
    int64_t side[2] = { 0, 0 };
    for (int64_t i = 0; i < 2; i++) {
        double reach = m->data[i < m->cols ? i : 0];
        if (!(reach >= -1.0 && reach <= MAX_WINDOW) || reach != (double)(int64_t)reach)
            return att_call_fail(
                call, att_option_node(call, "window"),
                "%s: window: expected whole numbers, or -1 for unlimited, found %g",
                call->function->name, reach);
        side[i] = (int64_t)reach;
    }
    options->window = true;
    options->window_left = side[0];
    options->window_right = side[1];
    return ATT_OK;
}

static att_status read_masks(const att_call *call, att_sheet_attention *out)
{
    const att_value *mask = att_call_option(call, "mask");
    if (mask && mask->kind == ATT_VALUE_WORD) {
        static const char *const words[] = { "causal", NULL };
        size_t word = 0;
        ATT_TRY(att_option_word(call, "mask", words, &word));
        out->options.causal = true;
    }
    if (att_call_option(call, "causal"))
        out->options.causal = true;
    ATT_TRY(att_option_integer(call, "offset", -MAX_WINDOW, MAX_WINDOW, &out->options.offset));
    ATT_TRY(att_option_integer(call, "length", 0, MAX_WINDOW, &out->length));
    return read_window(call, &out->options);
}

att_status att_sheet_attention_read(const att_sheet_layer *layer, int64_t heads,
                                    att_sheet_attention *out)
{
    *out = (att_sheet_attention){ .heads = heads, .length = -1 };
    out->options.size = sizeof out->options;
    ATT_TRY(read_words(layer->call, &out->options));
    ATT_TRY(read_scale(layer->call, &out->options));
    return read_masks(layer->call, out);
}

att_status att_sheet_attention_option(const att_sheet_layer *layer,
                                      const att_sheet_attention *attention, const char *name,
                                      int64_t head, const att_matrix **out)
{
    const att_call *call = layer->call;
    const att_value *value = att_call_option(call, name);
    *out = NULL;
    if (!value)
        return ATT_OK;
    if (value->kind == ATT_VALUE_LIST) {
        if (value->item_count != (size_t)attention->heads)
            return att_call_fail(call, att_option_node(call, name),
                                 "%s: %s is a list of %zu, but there %s %" PRId64 " head%s",
                                 call->function->name, name, value->item_count,
                                 attention->heads == 1 ? "is" : "are", attention->heads,
                                 attention->heads == 1 ? "" : "s");
        value = &value->items[head == 0 ? 0 : head - 1];
    }
    *out = value->matrix;
    return ATT_OK;
}
