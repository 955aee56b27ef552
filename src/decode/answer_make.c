/* Answers from hypotheses; see answer_make.h. */
#include "decode/answer_make.h"

#include "base/error.h"
#include "base/text.h"
#include "text/tokens.h"

#include <string.h>

/* The tokens of the line as it was typed: what the model does not know is shown all the same. */
att_status att_answer_source(att_answer_maker *maker, att_answer *answer, const att_question *q,
                             att_error *err)
{
    const att_vocab *words = maker->model->source_words;
    const char **tokens = att_arena_take(maker->memory, q->source.count, sizeof *tokens);
    if (!tokens)
        return att_fail_memory(err);
    ATT_TRY(att_line_compose(&maker->scratch, q->line, strlen(q->line),
                             maker->model->settings->lower, err));
    att_splitter splitter = { .text = maker->scratch.data,
                              .length = maker->scratch.length,
                              .tokens = att_vocab_tokens(words) };
    for (size_t i = 0; i < q->source.count; i++) {
        /* Subwords are never unknown, and the line does not show where they end; nor does it show
         * its own end. */
        const char *token = att_vocab_word(words, q->source.items[i]);
        size_t length = strlen(token);
        bool shown = !att_vocab_spells(words) && q->source.items[i] != ATT_ID_END;
        if (shown && !att_split_next(&splitter, &token, &length))
            break;
        tokens[i] = att_arena_copy(maker->memory, token, length);
        if (!tokens[i])
            return att_fail_memory(err);
        answer->unknown += q->source.items[i] == ATT_ID_UNKNOWN;
    }
    answer->source_tokens = tokens;
    answer->source_count = (int64_t)q->source.count;
    answer->left_over = q->left_over;
    return ATT_OK;
}

/* The cells of a picture. */
static void source_cells(const att_answer_maker *maker, att_answer *answer)
{
    answer->grid_rows = maker->grid_rows;
    answer->grid_columns = maker->grid_columns;
    answer->source_count = maker->grid_rows * maker->grid_columns;
    answer->source_tokens = maker->cells;
}

/* The source token that step t looked at most, the first of equals. */
static int64_t most_looked_at(const att_hypothesis *found, int64_t t, int64_t length)
{
    const float *look = found->looks + t * length;
    int64_t best = 0;
    for (int64_t i = 1; i < length; i++)
        if (look[i] > look[best])
            best = i;
    return best;
}

/* Whether a token is to be copied from the source. Subwords spell every word, and have no unknown
 * one to be replaced. */
static bool is_copied(const att_answer_maker *maker, int32_t id)
{
    return maker->how->copy_unknown && id == ATT_ID_UNKNOWN &&
           !att_vocab_spells(maker->model->target_words);
}

/* Token t as it is shown: what was copied from the source has its letters. */
static const char *word_of(const att_answer_maker *maker, const att_answer *answer,
                           const att_hypothesis *found, int64_t t)
{
    if (is_copied(maker, found->ids[t]))
        return answer->source_tokens[most_looked_at(found, t, answer->source_count)];
    return att_vocab_word(maker->model->target_words, found->ids[t]);
}

static att_status target_tokens(att_answer_maker *maker, att_answer *answer,
                                const att_hypothesis *found, att_error *err)
{
    if (maker->how->copy_unknown && found->count > 0 && !found->looks)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "the model has no attention that unknown tokens could be copied by");
    size_t count = (size_t)found->count;
    const char **tokens = att_arena_take(maker->memory, count, sizeof *tokens);
    double *scores = att_arena_take(maker->memory, count, sizeof *scores);
    if (!tokens || !scores)
        return att_fail_memory(err);
    for (size_t t = 0; t < count; t++) {
        const char *word = word_of(maker, answer, found, (int64_t)t);
        tokens[t] = att_arena_copy(maker->memory, word, strlen(word));
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
static att_status join_tokens(att_text *out, const att_vocab *words, const att_answer *answer,
                              const att_hypothesis *found)
{
    for (int64_t t = 0; t < found->count; t++)
        if (found->ids[t] == ATT_ID_UNKNOWN || found->ids[t] >= ATT_ID_FIRST)
            ATT_TRY(att_tokens_join(out, 0, att_vocab_tokens(words), answer->target_tokens[t]));
    return ATT_OK;
}

static att_status answer_text(att_answer_maker *maker, att_answer *answer,
                              const att_hypothesis *found, att_error *err)
{
    const att_vocab *words = maker->model->target_words;
    maker->scratch.length = 0;
    bool copied = false;
    for (int64_t t = 0; t < found->count; t++)
        copied |= is_copied(maker, found->ids[t]);
    att_status status =
        copied ? join_tokens(&maker->scratch, words, answer, found)
               : att_vocab_decode(words, &maker->scratch, found->ids, (size_t)found->count);
    if (status != ATT_OK)
        return att_fail_memory(err);
    const char *text = maker->scratch.length > 0 ? maker->scratch.data : "";
    answer->text = att_arena_copy(maker->memory, text, maker->scratch.length);
    return answer->text ? ATT_OK : att_fail_memory(err);
}

/* ---- attention */

/* [maps, targets, sources] of weights kept as [targets, maps, sources]. */
static const double *turn_weights(att_arena *memory, const float *from, int64_t maps, int64_t T,
                                  int64_t S)
{
    double *out = att_arena_take(memory, (size_t)(maps * T), (size_t)S * sizeof *out);
    for (int64_t m = 0; out && m < maps; m++)
        for (int64_t t = 0; t < T; t++)
            for (int64_t i = 0; i < S; i++)
                out[(m * T + t) * S + i] = (double)from[(t * maps + m) * S + i];
    return out;
}

static att_status answer_weights(att_answer_maker *maker, att_answer *answer,
                                 const att_hypothesis *found, att_error *err)
{
    if (!maker->how->attention || !found->looks)
        return ATT_OK;
    int64_t T = answer->target_count, S = answer->source_count;
    answer->layers = maker->maps / maker->heads;
    answer->heads = maker->heads;
    answer->weights = turn_weights(maker->memory, found->looks, 1, T, S);
    if (!answer->weights)
        return att_fail_memory(err);
    if (!found->heads)
        return ATT_OK;
    answer->head_weights = turn_weights(maker->memory, found->heads, maker->maps, T, S);
    return answer->head_weights ? ATT_OK : att_fail_memory(err);
}

/* ---- all of it */

static att_status make_one(att_answer_maker *maker, att_answer *answer, const att_hypothesis *found,
                           att_error *err)
{
    answer->score = found->sum;
    answer->rank = found->score;
    answer->cut = found->cut;
    ATT_TRY(target_tokens(maker, answer, found, err));
    ATT_TRY(answer_weights(maker, answer, found, err));
    return answer_text(maker, answer, found, err);
}

att_status att_answer_make(att_answer_maker *maker, att_answer *out, const att_question *question,
                           const att_hypothesis *found, int64_t count, att_error *err)
{
    if (maker->grid_rows > 0)
        source_cells(maker, out);
    else
        ATT_TRY(att_answer_source(maker, out, question, err));
    att_answer *others = att_arena_take(maker->memory, (size_t)(count - 1), sizeof *others);
    if (!others)
        return att_fail_memory(err);
    for (int64_t i = 1; i < count; i++) {
        others[i - 1] = *out;
        ATT_TRY(make_one(maker, &others[i - 1], &found[i], err));
    }
    ATT_TRY(make_one(maker, out, &found[0], err));
    out->others = others;
    out->other_count = count - 1;
    return ATT_OK;
}

/* ---- alignments */

att_status att_answer_alignment(att_text *out, const att_answer *answer, att_error *err)
{
    if (answer->target_count > 0 && !answer->weights)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "the model has no attention to align by: it was trained with none, or with "
                        "a fixed context");
    int64_t S = answer->source_count, count = answer->target_count - !answer->cut;
    for (int64_t t = 0; t < count; t++) {
        const double *row = answer->weights + t * S;
        int64_t best = 0;
        for (int64_t i = 1; i < S; i++)
            if (row[i] > row[best])
                best = i;
        if (att_text_print(out, "%s%lld-%lld", t > 0 ? " " : "", (long long)best, (long long)t) !=
            ATT_OK)
            return att_fail_memory(err);
    }
    return ATT_OK;
}
