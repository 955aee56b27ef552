/* Lines sorted by a model: text to tokens, batches of similar length, and labels (attend.h). */
#include "attend.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/math.h"
#include "decode/answer_make.h"
#include "decode/judge.h"

/* Tokens to a batch, padding included: enough to keep the products busy. */
enum { BATCH_TOKENS = 4096 };

struct att_verdicts {
    att_verdict *items; /* [count] */
    size_t count;
    att_arena arena;
};

typedef struct sorter {
    att_model *model;
    const att_sorting *how;
    att_verdicts *verdicts;
    att_judge *judge;
    att_questions questions;
    att_answer_maker maker; /* makes the tokens of lines */
} sorter;

/* ---- one verdict */

/* The most probable, the first of equals. */
static int64_t largest(const double *values, int64_t count)
{
    int64_t best = 0;
    for (int64_t i = 1; i < count; i++)
        if (values[i] > values[best])
            best = i;
    return best;
}

static att_status add_probabilities(sorter *s, att_verdict *out, const float *log_probs,
                                    att_error *err)
{
    int64_t labels = out->label_count;
    double *values = att_arena_take(&s->verdicts->arena, (size_t)labels, sizeof *values);
    if (!values)
        return att_fail_memory(err);
    for (int64_t i = 0; i < labels; i++)
        values[i] = att_exp((double)log_probs[i]);
    out->probabilities = values;
    out->label = largest(values, labels);
    out->text = att_model_label(s->model, (size_t)out->label);
    return ATT_OK;
}

static att_status add_weights(sorter *s, att_verdict *out, const float *weights, int64_t heads,
                              int64_t length, att_error *err)
{
    size_t count = (size_t)out->token_count;
    if (!weights)
        return ATT_OK;
    double *each = att_arena_take(&s->verdicts->arena, (size_t)heads * count, sizeof *each);
    double *mean = att_arena_take(&s->verdicts->arena, count, sizeof *mean);
    if (!each || !mean)
        return att_fail_memory(err);
    for (size_t i = 0; i < count; i++) {
        mean[i] = 0;
        for (size_t h = 0; h < (size_t)heads; h++) {
            each[h * count + i] = (double)weights[h * (size_t)length + i];
            mean[i] += each[h * count + i] / (double)heads;
        }
    }
    out->weights = mean;
    out->head_weights = each;
    out->heads = heads;
    return ATT_OK;
}

static att_status make_verdict(sorter *s, const att_question *q, const att_judged_rows *rows,
                               int64_t r, att_error *err)
{
    att_verdict *out = &s->verdicts->items[q->index];
    att_answer read = { 0 };
    ATT_TRY(att_answer_source(&s->maker, &read, q, err));
    out->label_count = rows->labels;
    out->unknown = read.unknown;
    out->left_over = read.left_over;
    out->token_count = read.source_count;
    out->tokens = read.source_tokens;
    att_tokens tokens = att_vocab_tokens(s->model->source_words);
    out->spaced = tokens == ATT_TOKENS_WORD || tokens == ATT_TOKENS_SPACE;
    ATT_TRY(add_probabilities(s, out, rows->log_probs + r * rows->labels, err));
    const float *weights = rows->weights ? rows->weights + r * rows->heads * rows->length : NULL;
    return add_weights(s, out, weights, rows->heads, rows->length, err);
}

/* ---- all of them */

static att_status sort_batch(sorter *s, const att_question *q, int64_t count, att_error *err)
{
    att_sources sources;
    att_judged_rows rows;
    att_status status = att_question_sources(&sources, q, count, err);
    if (status == ATT_OK)
        status = att_in_line(att_judge_run(s->judge, &sources, s->how->attention, &rows, err),
                             q->index, err);
    for (int64_t r = 0; r < count && status == ATT_OK; r++)
        status = make_verdict(s, &q[r], &rows, r, err);
    att_question_sources_free(&sources);
    return status;
}

static att_status sort_all(sorter *s, att_error *err)
{
    size_t at = 0, count = s->questions.count;
    const att_question *items = s->questions.items;
    while (at < count && items[at].source.count > 0) {
        size_t most =
            s->how->batch > 0 ? (size_t)s->how->batch : 1 + BATCH_TOKENS / items[at].source.count;
        size_t rows = att_questions_batch(&s->questions, at, most);
        ATT_TRY(sort_batch(s, &items[at], (int64_t)rows, err));
        at += rows;
    }
    for (; at < count; at++) /* nothing was asked: nothing is answered */
        s->verdicts->items[items[at].index] = (att_verdict){ .text = "", .label = -1 };
    return ATT_OK;
}

static att_status run(sorter *s, const char *const *lines, size_t count, att_error *err)
{
    const att_sorting *how = s->how;
    s->verdicts->items = att_arena_take(&s->verdicts->arena, count, sizeof *s->verdicts->items);
    if (!s->verdicts->items)
        return att_fail_memory(err);
    ATT_TRY(att_judge_new(&s->judge, s->model, how->with, how->with_count, err));
    const att_line_limit limit = {
        att_longest_line(s->model, how->with, how->with_count, how->longest), how->too_long
    };
    ATT_TRY(att_questions_read(&s->questions, s->model->source_words, lines, count, &limit, err));
    return sort_all(s, err);
}

att_status att_model_sort(att_verdicts **out, att_model *model, const char *const *lines,
                          size_t count, const att_sorting *how, att_error *err)
{
    static const att_sorting usual = { 0 };
    *out = NULL;
    att_verdicts *verdicts = att_alloc_zero(1, sizeof *verdicts);
    if (!verdicts)
        return att_fail_memory(err);
    verdicts->count = count;
    sorter s = { .model = model, .how = how ? how : &usual, .verdicts = verdicts };
    s.maker = (att_answer_maker){ .model = model, .memory = &verdicts->arena };
    att_status status = run(&s, lines, count, err);
    att_questions_free(&s.questions);
    att_judge_free(s.judge);
    att_text_free(&s.maker.scratch);
    if (status == ATT_OK)
        *out = verdicts;
    else
        att_verdicts_free(verdicts);
    return status;
}

void att_verdicts_free(att_verdicts *verdicts)
{
    if (!verdicts)
        return;
    att_arena_free(&verdicts->arena);
    att_free(verdicts);
}

size_t att_verdicts_count(const att_verdicts *verdicts)
{
    return verdicts->count;
}

const att_verdict *att_verdicts_get(const att_verdicts *verdicts, size_t index)
{
    return index < verdicts->count ? &verdicts->items[index] : NULL;
}
