/* Turns hypotheses into outputs: tokens as text, scores, attention weights and alternatives. */
#include "decode/output_builder.h"

#include "base/error.h"
#include "base/string.h"
#include "text/pretokenizer.h"

#include <string.h>

/* A copy of a token in the arena, in brackets if it is a tag. */
static const char *copy_token(att_arena *arena, const char *token, size_t length, bool is_tag)
{
    if (!is_tag)
        return att_arena_strndup(arena, token, length);
    char *copy = att_arena_alloc(arena, length + 3, 1);
    if (!copy)
        return NULL;
    copy[0] = '[';
    memcpy(copy + 1, token, length);
    memcpy(copy + 1 + length, "]", 2);
    return copy;
}

static size_t count_tags(const char *line, size_t length, size_t at)
{
    const char *tag;
    size_t size, count = 0;
    while (att_tags_next(line, length, &at, &tag, &size))
        count++;
    return count;
}

/* The tokens of the line as it was typed, so that unknown tokens are displayed too. */
att_status att_output_builder_source(att_output_builder *builder, att_output *output,
                                     const att_request *q, att_error *err)
{
    const att_vocab *vocab = builder->model->source_vocab;
    size_t line_length = strlen(q->line), at = att_vocab_tags_start(vocab, q->line, line_length);
    size_t first_tag =
        q->source.count + (size_t)q->truncated_tokens - count_tags(q->line, line_length, at);
    const char **tokens = att_arena_alloc(builder->arena, q->source.count, sizeof *tokens);
    if (!tokens)
        return att_fail_memory(err);
    ATT_TRY(att_line_normalize_nfc(&builder->scratch, q->line, at,
                                   builder->model->settings->lowercase, err));
    att_pretokenizer splitter = { .text = builder->scratch.data,
                                  .length = builder->scratch.length,
                                  .kind = att_vocab_tokenizer_kind(vocab) };
    for (size_t i = 0; i < q->source.count; i++) {
        /* Subwords are never unknown, and splitting the line does not find them, nor the start and
         * end tokens: these are displayed as the vocabulary has them, and so is a token beyond the
         * end of the line. Tags come last. */
        int32_t id = q->source.items[i];
        const char *token;
        size_t length;
        bool is_tag = i >= first_tag && att_tags_next(q->line, line_length, &at, &token, &length);
        if (!is_tag) {
            token = att_vocab_token(vocab, id);
            length = strlen(token);
            if (!att_vocab_is_subword(vocab) && id != ATT_ID_BOS && id != ATT_ID_EOS)
                (void)att_pretokenizer_next(&splitter, &token, &length);
        }
        tokens[i] = copy_token(builder->arena, token, length, is_tag);
        if (!tokens[i])
            return att_fail_memory(err);
        output->unknown_tokens += id == ATT_ID_UNK;
        output->unknown_tags += is_tag && id == ATT_ID_UNK;
    }
    output->source_tokens = tokens;
    output->source_count = (int64_t)q->source.count;
    output->truncated_input_tokens = q->truncated_tokens;
    return ATT_OK;
}

static void set_source_cells(const att_output_builder *builder, att_output *output)
{
    output->grid_rows = builder->grid_rows;
    output->grid_columns = builder->grid_columns;
    output->source_count = builder->grid_rows * builder->grid_columns;
    output->source_tokens = builder->cell_names;
}

/* The source token with most attention at step t, the first of equals. */
static int64_t argmax_attention(const att_hypothesis *found, int64_t t, int64_t length)
{
    const float *weights = found->attention + t * length;
    int64_t best = 0;
    for (int64_t i = 1; i < length; i++)
        if (weights[i] > weights[best])
            best = i;
    return best;
}

/* Whether a token is replaced by a source token. Subwords spell every word: none is unknown. */
static bool is_replaced(const att_output_builder *builder, int32_t id)
{
    return builder->options->replace_unknown && id == ATT_ID_UNK &&
           !att_vocab_is_subword(builder->model->target_vocab);
}

/* Whether a token is one of the source that the vocabulary lacks. */
static bool is_extended(const att_output_builder *builder, int32_t id)
{
    return id >= att_vocab_size(builder->model->target_vocab);
}

/* The text of token t. */
static const char *output_token(const att_output_builder *builder, const att_output *output,
                                const att_request *request, const att_hypothesis *found, int64_t t)
{
    size_t at = 0;
    if (is_extended(builder, found->ids[t])) {
        while (request->copy_ids.items[at] != found->ids[t])
            at++;
        return output->source_tokens[at];
    }
    if (is_replaced(builder, found->ids[t]))
        return output->source_tokens[argmax_attention(found, t, output->source_count)];
    return att_vocab_token(builder->model->target_vocab, found->ids[t]);
}

static att_status set_target_tokens(att_output_builder *builder, att_output *output,
                                    const att_request *request, const att_hypothesis *found,
                                    att_error *err)
{
    if (builder->options->replace_unknown && found->count > 0 && !found->attention)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "replace_unknown: expected a model with attention, found one without");
    size_t count = (size_t)found->count;
    const char **tokens = att_arena_alloc(builder->arena, count, sizeof *tokens);
    double *scores = att_arena_alloc(builder->arena, count, sizeof *scores);
    double *copy_probs = att_arena_alloc(builder->arena, count, sizeof *copy_probs);
    uint8_t *copied = att_arena_alloc(builder->arena, count, 1);
    if (!tokens || !scores || !copy_probs || !copied)
        return att_fail_memory(err);
    for (size_t t = 0; t < count; t++) {
        const char *word = output_token(builder, output, request, found, (int64_t)t);
        tokens[t] = att_arena_strndup(builder->arena, word, strlen(word));
        if (!tokens[t])
            return att_fail_memory(err);
        scores[t] = (double)found->log_probs[t];
        copy_probs[t] = (double)found->copied[t];
        copied[t] = copy_probs[t] > 0.5;
    }
    output->target_tokens = tokens;
    output->token_scores = scores;
    output->copy_probs = att_settings_copies(builder->model->settings) ? copy_probs : NULL;
    output->copied = att_settings_copies(builder->model->settings) ? copied : NULL;
    output->target_count = found->count;
    return ATT_OK;
}

/* Joins the displayed tokens, some of which come from the source. */
static att_status join_tokens(att_string *out, const att_vocab *vocab, const att_output *output,
                              const att_hypothesis *found)
{
    for (int64_t t = 0; t < found->count; t++)
        if (found->ids[t] == ATT_ID_UNK || found->ids[t] >= ATT_ID_FIRST)
            ATT_TRY(att_detokenize_append(out, 0, att_vocab_tokenizer_kind(vocab),
                                          output->target_tokens[t]));
    return ATT_OK;
}

static att_status set_text(att_output_builder *builder, att_output *output,
                           const att_hypothesis *found, att_error *err)
{
    const att_vocab *vocab = builder->model->target_vocab;
    builder->scratch.length = 0;
    bool replaced = false;
    for (int64_t t = 0; t < found->count; t++)
        replaced |= is_replaced(builder, found->ids[t]) || is_extended(builder, found->ids[t]);
    att_status status =
        replaced ? join_tokens(&builder->scratch, vocab, output, found)
                 : att_vocab_decode(vocab, &builder->scratch, found->ids, (size_t)found->count);
    if (status != ATT_OK)
        return att_fail_memory(err);
    const char *text = builder->scratch.length > 0 ? builder->scratch.data : "";
    output->text = att_arena_strndup(builder->arena, text, builder->scratch.length);
    return output->text ? ATT_OK : att_fail_memory(err);
}

/* ---- attention */

/* Transposes weights from [targets, maps, sources] to [maps, targets, sources]. */
static const double *transpose_attention(att_arena *memory, const float *from, int64_t maps,
                                         int64_t T, int64_t S)
{
    double *out = att_arena_alloc(memory, (size_t)(maps * T), (size_t)S * sizeof *out);
    for (int64_t m = 0; out && m < maps; m++)
        for (int64_t t = 0; t < T; t++)
            for (int64_t i = 0; i < S; i++)
                out[(m * T + t) * S + i] = (double)from[(t * maps + m) * S + i];
    return out;
}

static att_status set_attention(att_output_builder *builder, att_output *output,
                                const att_hypothesis *found, att_error *err)
{
    if (!builder->options->attention || !found->attention)
        return ATT_OK;
    int64_t T = output->target_count, S = output->source_count;
    output->layers = builder->attention_maps / builder->heads;
    output->heads = builder->heads;
    output->weights = transpose_attention(builder->arena, found->attention, 1, T, S);
    if (!output->weights)
        return att_fail_memory(err);
    if (!found->head_attention)
        return ATT_OK;
    output->head_weights =
        transpose_attention(builder->arena, found->head_attention, builder->attention_maps, T, S);
    return output->head_weights ? ATT_OK : att_fail_memory(err);
}

/* ---- whole outputs */

static att_status build_one(att_output_builder *builder, att_output *output,
                            const att_request *request, const att_hypothesis *found, att_error *err)
{
    output->score = found->log_prob_sum;
    output->normalized_score = found->normalized_score;
    output->truncated = found->truncated;
    ATT_TRY(set_target_tokens(builder, output, request, found, err));
    ATT_TRY(set_attention(builder, output, found, err));
    return set_text(builder, output, found, err);
}

att_status att_output_builder_build(att_output_builder *builder, att_output *out,
                                    const att_request *request, const att_hypothesis *found,
                                    int64_t count, att_error *err)
{
    if (builder->grid_rows > 0)
        set_source_cells(builder, out);
    else
        ATT_TRY(att_output_builder_source(builder, out, request, err));
    size_t others = (size_t)(count - 1);
    const att_output **alternatives = att_arena_alloc(builder->arena, others, sizeof *alternatives);
    att_output *outputs = att_arena_alloc(builder->arena, others, sizeof *outputs);
    if (!alternatives || !outputs)
        return att_fail_memory(err);
    for (size_t i = 0; i < others; i++) {
        outputs[i] = *out;
        alternatives[i] = &outputs[i];
        ATT_TRY(build_one(builder, &outputs[i], request, &found[i + 1], err));
    }
    ATT_TRY(build_one(builder, out, request, &found[0], err));
    out->alternatives = alternatives;
    out->alternative_count = count - 1;
    return ATT_OK;
}

/* ---- alignments */

att_status att_output_alignment(att_string *out, const att_output *output, att_error *err)
{
    if (output->target_count > 0 && !output->weights)
        return att_fail(
            err, ATT_BAD_INPUT, NULL,
            "expected an output with attention, found one without: the model has none, or "
            "`attention` was not set");
    int64_t S = output->source_count, count = output->target_count - !output->truncated;
    for (int64_t t = 0; t < count; t++) {
        const double *row = output->weights + t * S;
        int64_t best = 0;
        for (int64_t i = 1; i < S; i++)
            if (row[i] > row[best])
                best = i;
        if (att_string_printf(out, "%s%lld-%lld", t > 0 ? " " : "", (long long)best,
                              (long long)t) != ATT_OK)
            return att_fail_memory(err);
    }
    return ATT_OK;
}
