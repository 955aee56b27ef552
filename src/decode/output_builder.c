/* Answers from hypotheses; see answer_make.h. */
#include "decode/output_builder.h"

#include "base/error.h"
#include "base/string.h"
#include "text/pretokenizer.h"

#include <string.h>

/* The tokens of the line as it was typed: what the model does not know is shown all the same. */
att_status att_output_builder_source(att_output_builder *maker, att_output *answer,
                                     const att_request *q, att_error *err)
{
    const att_vocab *words = maker->model->source_vocab;
    const char **tokens = att_arena_alloc(maker->arena, q->source.count, sizeof *tokens);
    if (!tokens)
        return att_fail_memory(err);
    ATT_TRY(att_line_normalize_nfc(&maker->scratch, q->line, strlen(q->line),
                                   maker->model->settings->lowercase, err));
    att_pretokenizer splitter = { .text = maker->scratch.data,
                                  .length = maker->scratch.length,
                                  .kind = att_vocab_tokenizer_kind(words) };
    for (size_t i = 0; i < q->source.count; i++) {
        /* Subwords are never unknown, and the line does not show where they end; nor does it show
         * its own end. */
        const char *token = att_vocab_token(words, q->source.items[i]);
        size_t length = strlen(token);
        bool shown = !att_vocab_is_subword(words) && q->source.items[i] != ATT_ID_EOS;
        if (shown && !att_pretokenizer_next(&splitter, &token, &length))
            break;
        tokens[i] = att_arena_strndup(maker->arena, token, length);
        if (!tokens[i])
            return att_fail_memory(err);
        answer->unknown_tokens += q->source.items[i] == ATT_ID_UNK;
    }
    answer->source_tokens = tokens;
    answer->source_count = (int64_t)q->source.count;
    answer->truncated_input_tokens = q->truncated_tokens;
    return ATT_OK;
}

/* The cells of a picture. */
static void set_source_cells(const att_output_builder *maker, att_output *answer)
{
    answer->grid_rows = maker->grid_rows;
    answer->grid_columns = maker->grid_columns;
    answer->source_count = maker->grid_rows * maker->grid_columns;
    answer->source_tokens = maker->cell_names;
}

/* The source token that step t looked at most, the first of equals. */
static int64_t argmax_attention(const att_hypothesis *found, int64_t t, int64_t length)
{
    const float *look = found->attention + t * length;
    int64_t best = 0;
    for (int64_t i = 1; i < length; i++)
        if (look[i] > look[best])
            best = i;
    return best;
}

/* Whether a token is to be copied from the source. Subwords spell every word, and have no unknown
 * one to be replaced. */
static bool is_replaced(const att_output_builder *maker, int32_t id)
{
    return maker->options->replace_unknown && id == ATT_ID_UNK &&
           !att_vocab_is_subword(maker->model->target_vocab);
}

/* Token t as it is shown: what was copied from the source has its letters. */
static const char *output_token(const att_output_builder *maker, const att_output *answer,
                                const att_hypothesis *found, int64_t t)
{
    if (is_replaced(maker, found->ids[t]))
        return answer->source_tokens[argmax_attention(found, t, answer->source_count)];
    return att_vocab_token(maker->model->target_vocab, found->ids[t]);
}

static att_status set_target_tokens(att_output_builder *maker, att_output *answer,
                                    const att_hypothesis *found, att_error *err)
{
    if (maker->options->replace_unknown && found->count > 0 && !found->attention)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "the model has no attention that unknown tokens could be copied by");
    size_t count = (size_t)found->count;
    const char **tokens = att_arena_alloc(maker->arena, count, sizeof *tokens);
    double *scores = att_arena_alloc(maker->arena, count, sizeof *scores);
    if (!tokens || !scores)
        return att_fail_memory(err);
    for (size_t t = 0; t < count; t++) {
        const char *word = output_token(maker, answer, found, (int64_t)t);
        tokens[t] = att_arena_strndup(maker->arena, word, strlen(word));
        if (!tokens[t])
            return att_fail_memory(err);
        scores[t] = (double)found->log_probs[t];
    }
    answer->target_tokens = tokens;
    answer->token_scores = scores;
    answer->target_count = found->count;
    return ATT_OK;
}

/* Joins the tokens as they are shown. */
static att_status join_tokens(att_string *out, const att_vocab *words, const att_output *answer,
                              const att_hypothesis *found)
{
    for (int64_t t = 0; t < found->count; t++)
        if (found->ids[t] == ATT_ID_UNK || found->ids[t] >= ATT_ID_FIRST)
            ATT_TRY(att_detokenize_append(out, 0, att_vocab_tokenizer_kind(words),
                                          answer->target_tokens[t]));
    return ATT_OK;
}

static att_status set_text(att_output_builder *maker, att_output *answer,
                           const att_hypothesis *found, att_error *err)
{
    const att_vocab *words = maker->model->target_vocab;
    maker->scratch.length = 0;
    bool copied = false;
    for (int64_t t = 0; t < found->count; t++)
        copied |= is_replaced(maker, found->ids[t]);
    att_status status =
        copied ? join_tokens(&maker->scratch, words, answer, found)
               : att_vocab_decode(words, &maker->scratch, found->ids, (size_t)found->count);
    if (status != ATT_OK)
        return att_fail_memory(err);
    const char *text = maker->scratch.length > 0 ? maker->scratch.data : "";
    answer->text = att_arena_strndup(maker->arena, text, maker->scratch.length);
    return answer->text ? ATT_OK : att_fail_memory(err);
}

/* ---- attention */

/* [maps, targets, sources] of weights kept as [targets, maps, sources]. */
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

static att_status set_attention(att_output_builder *maker, att_output *answer,
                                const att_hypothesis *found, att_error *err)
{
    if (!maker->options->attention || !found->attention)
        return ATT_OK;
    int64_t T = answer->target_count, S = answer->source_count;
    answer->layers = maker->attention_maps / maker->heads;
    answer->heads = maker->heads;
    answer->weights = transpose_attention(maker->arena, found->attention, 1, T, S);
    if (!answer->weights)
        return att_fail_memory(err);
    if (!found->head_attention)
        return ATT_OK;
    answer->head_weights =
        transpose_attention(maker->arena, found->head_attention, maker->attention_maps, T, S);
    return answer->head_weights ? ATT_OK : att_fail_memory(err);
}

/* ---- all of it */

static att_status build_one(att_output_builder *maker, att_output *answer,
                            const att_hypothesis *found, att_error *err)
{
    answer->score = found->log_prob_sum;
    answer->normalized_score = found->normalized_score;
    answer->truncated = found->truncated;
    ATT_TRY(set_target_tokens(maker, answer, found, err));
    ATT_TRY(set_attention(maker, answer, found, err));
    return set_text(maker, answer, found, err);
}

att_status att_output_builder_build(att_output_builder *maker, att_output *out,
                                    const att_request *question, const att_hypothesis *found,
                                    int64_t count, att_error *err)
{
    if (maker->grid_rows > 0)
        set_source_cells(maker, out);
    else
        ATT_TRY(att_output_builder_source(maker, out, question, err));
    att_output *others = att_arena_alloc(maker->arena, (size_t)(count - 1), sizeof *others);
    if (!others)
        return att_fail_memory(err);
    for (int64_t i = 1; i < count; i++) {
        others[i - 1] = *out;
        ATT_TRY(build_one(maker, &others[i - 1], &found[i], err));
    }
    ATT_TRY(build_one(maker, out, &found[0], err));
    out->alternatives = others;
    out->alternative_count = count - 1;
    return ATT_OK;
}

/* ---- alignments */

att_status att_output_alignment(att_string *out, const att_output *answer, att_error *err)
{
    if (answer->target_count > 0 && !answer->weights)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "the model has no attention to align by: it was trained with none, or with "
                        "a fixed context");
    int64_t S = answer->source_count, count = answer->target_count - !answer->truncated;
    for (int64_t t = 0; t < count; t++) {
        const double *row = answer->weights + t * S;
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
