/* Lines answered by a model: text to tokens, batches of similar length, and back (attend.h). */
#include "attend.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "decode/greedy.h"
#include "text/tokens.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Source tokens to a batch, padding included: enough to keep the products busy. */
enum { BATCH_TOKENS = 4096 };

struct att_answers {
    att_answer *items; /* [count] */
    size_t count;
    att_arena arena;
};

/* A line on its way through. */
typedef struct question {
    size_t index;
    const char *line;
    att_ids source;
    att_ids target; /* to be followed */
} question;

typedef struct session {
    att_model *model;
    const att_answer_how *how;
    att_answers *answers;
    att_decoder *decoder;
    question *questions; /* [count] the longest first */
    size_t count;
    att_text scratch;
} session;

/* ---- questions */

/* An error in one of many lines says which. */
static att_status in_line(att_status status, size_t index, att_error *err)
{
    if (status != ATT_OK && err)
        err->line = (int)index + 1;
    return status;
}

static int by_length(const void *a, const void *b)
{
    const question *one = a, *other = b;
    if (one->source.count != other->source.count)
        return one->source.count > other->source.count ? -1 : 1;
    return one->index < other->index ? -1 : 1;
}

static att_status read_questions(session *s, const char *const *lines, att_error *err)
{
    s->questions = att_alloc_zero(s->count, sizeof *s->questions);
    if (!s->questions)
        return att_fail_memory(err);
    for (size_t i = 0; i < s->count; i++) {
        question *q = &s->questions[i];
        q->index = i;
        q->line = lines[i];
        ATT_TRY(in_line(
            att_vocab_encode(s->model->source_words, &q->source, lines[i], strlen(lines[i]), err),
            i, err));
        if (!s->how->targets)
            continue;
        const char *target = s->how->targets[i];
        ATT_TRY(in_line(
            att_vocab_encode(s->model->target_words, &q->target, target, strlen(target), err), i,
            err));
    }
    qsort(s->questions, s->count, sizeof *s->questions, by_length);
    return ATT_OK;
}

/* ---- answers */

/* The tokens of the line as it was typed: what the model does not know is shown all the same. */
static att_status source_tokens(session *s, att_answer *answer, const question *q, att_error *err)
{
    att_arena *arena = &s->answers->arena;
    const char **tokens = att_arena_take(arena, q->source.count, sizeof *tokens);
    if (!tokens)
        return att_fail_memory(err);
    ATT_TRY(
        att_line_compose(&s->scratch, q->line, strlen(q->line), s->model->settings->lower, err));
    const att_vocab *words = s->model->source_words;
    att_splitter splitter = { .text = s->scratch.data,
                              .length = s->scratch.length,
                              .tokens = att_vocab_tokens(words) };
    for (size_t i = 0; i < q->source.count; i++) {
        /* Subwords are never unknown, and the line does not show where they end. */
        const char *token = att_vocab_word(words, q->source.items[i]);
        size_t length = strlen(token);
        if (splitter.tokens != ATT_TOKENS_SUBWORD && !att_split_next(&splitter, &token, &length))
            break;
        tokens[i] = att_arena_copy(arena, token, length);
        if (!tokens[i])
            return att_fail_memory(err);
        answer->unknown += q->source.items[i] == ATT_ID_UNKNOWN;
    }
    answer->source_tokens = tokens;
    answer->source_count = (int64_t)q->source.count;
    return ATT_OK;
}

static att_status target_tokens(session *s, att_answer *answer, const att_output *output,
                                att_error *err)
{
    att_arena *arena = &s->answers->arena;
    size_t count = (size_t)output->count;
    const char **tokens = att_arena_take(arena, count, sizeof *tokens);
    double *scores = att_arena_take(arena, count, sizeof *scores);
    if (!tokens || !scores)
        return att_fail_memory(err);
    for (size_t i = 0; i < count; i++) {
        const char *word = att_vocab_word(s->model->target_words, output->ids[i]);
        tokens[i] = att_arena_copy(arena, word, strlen(word));
        if (!tokens[i])
            return att_fail_memory(err);
        scores[i] = (double)output->log_probs[i];
        answer->score += scores[i];
    }
    answer->target_tokens = tokens;
    answer->token_scores = scores;
    answer->target_count = output->count;
    answer->cut = output->cut;
    return ATT_OK;
}

static att_status answer_text(session *s, att_answer *answer, const att_output *output,
                              att_error *err)
{
    s->scratch.length = 0;
    if (att_vocab_decode(s->model->target_words, &s->scratch, output->ids, (size_t)output->count) !=
        ATT_OK)
        return att_fail_memory(err);
    answer->text = att_arena_copy(&s->answers->arena, s->scratch.length > 0 ? s->scratch.data : "",
                                  s->scratch.length);
    return answer->text ? ATT_OK : att_fail_memory(err);
}

/* The weights that are looked at: of one head, or the mean of a layer's. */
static att_status choose_weights(session *s, att_answer *answer, const att_output *output,
                                 att_error *err)
{
    int64_t T = answer->target_count, S = answer->source_count, H = output->heads;
    double *weights = att_arena_take(&s->answers->arena, (size_t)(T * S), sizeof *weights);
    if (!weights)
        return att_fail_memory(err);
    int64_t layer = s->how->layer > 0 ? s->how->layer : answer->layers;
    int64_t first = (layer - 1) * H + (s->how->head > 0 ? s->how->head - 1 : 0);
    int64_t count = s->how->head > 0 ? 1 : H;
    for (int64_t t = 0; t < T; t++)
        for (int64_t i = 0; i < S; i++) {
            const float *from = output->weights + (t * output->maps + first) * S + i;
            double sum = 0;
            for (int64_t h = 0; h < count; h++)
                sum += (double)from[h * S];
            weights[t * S + i] = sum / (double)count;
        }
    answer->weights = weights;
    return ATT_OK;
}

/* Those of every head: kept step after step, wanted map after map. */
static att_status all_weights(session *s, att_answer *answer, const att_output *output,
                              att_error *err)
{
    int64_t T = answer->target_count, S = answer->source_count, M = output->maps;
    double *all = att_arena_take(&s->answers->arena, (size_t)(T * S), (size_t)M * sizeof *all);
    if (!all)
        return att_fail_memory(err);
    for (int64_t m = 0; m < M; m++)
        for (int64_t t = 0; t < T; t++)
            for (int64_t i = 0; i < S; i++)
                all[(m * T + t) * S + i] = (double)output->weights[(t * M + m) * S + i];
    answer->head_weights = all;
    return ATT_OK;
}

static att_status answer_weights(session *s, att_answer *answer, const att_output *output,
                                 att_error *err)
{
    if (!output->weights)
        return ATT_OK;
    const att_answer_how *how = s->how;
    answer->layers = output->maps / output->heads;
    answer->heads = output->heads;
    if (how->layer > answer->layers || how->head > answer->heads)
        return att_fail(err, ATT_BAD_INPUT, NULL, "there is no %s %lld: the model has %lld",
                        how->layer > answer->layers ? "layer" : "head",
                        (long long)(how->layer > answer->layers ? how->layer : how->head),
                        (long long)(how->layer > answer->layers ? answer->layers : answer->heads));
    ATT_TRY(choose_weights(s, answer, output, err));
    return how->every_head ? all_weights(s, answer, output, err) : ATT_OK;
}

static att_status make_answer(session *s, const question *q, const att_output *output,
                              att_error *err)
{
    att_answer *answer = &s->answers->items[q->index];
    ATT_TRY(source_tokens(s, answer, q, err));
    ATT_TRY(target_tokens(s, answer, output, err));
    ATT_TRY(answer_weights(s, answer, output, err));
    return answer_text(s, answer, output, err);
}

/* ---- batches */

/* Memory of one batch: `rows` questions of which the first is the longest. */
typedef struct batch {
    int64_t rows, length;
    int32_t *ids;
    int64_t *lengths;
    att_forced *forced;
    att_output *outputs;
} batch;

static bool batch_take(batch *b, const question *q)
{
    size_t rows = (size_t)b->rows;
    b->ids = att_alloc(rows, (size_t)b->length * sizeof *b->ids);
    b->lengths = att_alloc(rows, sizeof *b->lengths);
    b->forced = att_alloc(rows, sizeof *b->forced);
    b->outputs = att_alloc_zero(rows, sizeof *b->outputs);
    if (!b->ids || !b->lengths || !b->forced || !b->outputs)
        return false;
    for (int64_t r = 0; r < b->rows; r++) {
        int64_t length = (int64_t)q[r].source.count;
        b->lengths[r] = length;
        b->forced[r] = (att_forced){ q[r].target.items, q[r].target.count };
        for (int64_t i = 0; i < b->length; i++)
            b->ids[r * b->length + i] = i < length ? q[r].source.items[i] : ATT_ID_NONE;
    }
    return true;
}

static void batch_free(batch *b)
{
    for (int64_t r = 0; b->outputs && r < b->rows; r++)
        att_output_free(&b->outputs[r]);
    att_free(b->ids);
    att_free(b->lengths);
    att_free(b->forced);
    att_free(b->outputs);
}

static att_status answer_batch(session *s, const question *q, batch *b, att_error *err)
{
    if (!batch_take(b, q))
        return att_fail_memory(err);
    const att_sources sources = { b->rows, b->length, b->ids, b->lengths };
    const att_greedy_how how = { .most_tokens = s->how->most_tokens,
                                 .weights = s->how->attention,
                                 .forced = s->how->targets ? b->forced : NULL };
    ATT_TRY(in_line(att_greedy(b->outputs, s->decoder, &sources, &how, err), q->index, err));
    for (int64_t r = 0; r < b->rows; r++)
        ATT_TRY(make_answer(s, &q[r], &b->outputs[r], err));
    return ATT_OK;
}

/* How many of the questions from `first` on go together: all of them have tokens. */
static size_t batch_size(const session *s, size_t first)
{
    size_t length = s->questions[first].source.count, most = 1 + BATCH_TOKENS / length, count = 1;
    while (count < most && first + count < s->count && s->questions[first + count].source.count > 0)
        count++;
    return count;
}

static att_status answer_all(session *s, att_error *err)
{
    size_t at = 0;
    while (at < s->count && s->questions[at].source.count > 0) {
        const question *q = &s->questions[at];
        size_t rows = batch_size(s, at);
        batch b = { .rows = (int64_t)rows, .length = (int64_t)q->source.count };
        att_status status = answer_batch(s, q, &b, err);
        batch_free(&b);
        ATT_TRY(status);
        at += rows;
    }
    for (; at < s->count; at++) /* nothing was asked: nothing is answered */
        s->answers->items[s->questions[at].index].text = "";
    return ATT_OK;
}

/* ---- the public calls */

static void session_end(session *s)
{
    for (size_t i = 0; s->questions && i < s->count; i++) {
        att_ids_free(&s->questions[i].source);
        att_ids_free(&s->questions[i].target);
    }
    att_free(s->questions);
    att_decoder_free(s->decoder);
    att_text_free(&s->scratch);
}

att_status att_model_answer(att_answers **out, att_model *model, const char *const *lines,
                            size_t count, const att_answer_how *how, att_error *err)
{
    static const att_answer_how usual = { 0 };
    *out = NULL;
    att_answers *answers = att_alloc_zero(1, sizeof *answers);
    if (!answers)
        return att_fail_memory(err);
    answers->items = att_arena_take(&answers->arena, count, sizeof *answers->items);
    answers->count = count;
    session s = { .model = model, .how = how ? how : &usual, .answers = answers, .count = count };
    att_status status =
        answers->items ? att_decoder_new(&s.decoder, model, err) : att_fail_memory(err);
    if (status == ATT_OK)
        status = read_questions(&s, lines, err);
    if (status == ATT_OK)
        status = answer_all(&s, err);
    session_end(&s);
    if (status == ATT_OK)
        *out = answers;
    else
        att_answers_free(answers);
    return status;
}

void att_answers_free(att_answers *answers)
{
    if (!answers)
        return;
    att_arena_free(&answers->arena);
    att_free(answers);
}

size_t att_answers_count(const att_answers *answers)
{
    return answers->count;
}

const att_answer *att_answers_get(const att_answers *answers, size_t index)
{
    return index < answers->count ? &answers->items[index] : NULL;
}

bool att_answer_map(att_map *out, const att_answer *answer)
{
    if (!answer->weights)
        return false;
    *out = (att_map){ .panels = 1,
                      .queries = answer->target_count,
                      .keys = answer->source_count,
                      .weights = answer->weights,
                      .query_labels = answer->target_tokens,
                      .key_labels = answer->source_tokens };
    return true;
}

bool att_answer_layer_map(att_map *out, const att_answer *answer, int64_t layer)
{
    if (!answer->head_weights || layer < 0 || layer > answer->layers)
        return false;
    att_answer_map(out, answer);
    int64_t first = (layer > 0 ? layer - 1 : answer->layers - 1) * answer->heads;
    out->weights = answer->head_weights + first * answer->target_count * answer->source_count;
    out->panels = answer->heads;
    return true;
}
