/* Lines answered by a model: text to tokens, batches of similar length, and back (attend.h). */
#include "attend.h"

#include "base/alloc.h"
#include "base/error.h"
#include "decode/answer_make.h"

#include <string.h>

/* Source tokens to a batch, padding included, for each hypothesis that is followed: enough to keep
 * the products busy. */
enum { BATCH_TOKENS = 4096 };

typedef struct session {
    att_model *model;
    const att_answer_how *how;
    att_answers *answers;
    att_search *search;
    att_questions questions;
    att_answer_maker maker;
} session;

/* ---- questions */

/* What an answer is to be, or to begin with: an error says that it is there, not in the line. */
static att_status encode_given(att_ids *out, const session *s, const char *text, att_error *err)
{
    att_error inner = { 0 };
    att_status status = att_vocab_encode(s->model->target_words, out, text, strlen(text), &inner);
    if (status != ATT_BAD_INPUT)
        return status == ATT_OK ? ATT_OK : att_fail_memory(err);
    return att_fail(err, status, NULL, "the %s: %s", s->how->targets ? "target" : "prefix",
                    inner.message);
}

static att_status read_given(session *s, att_error *err)
{
    const char *const *given = s->how->targets ? s->how->targets : s->how->prefixes;
    for (size_t i = 0; given && i < s->questions.count; i++) {
        att_question *q = &s->questions.items[i];
        ATT_TRY(att_in_line(encode_given(&q->given, s, given[q->index], err), q->index, err));
    }
    return ATT_OK;
}

static att_status read_questions(session *s, const char *const *lines, size_t count, att_error *err)
{
    const att_decoding *decoding = &s->how->decoding;
    const att_line_limit limit = { att_longest_line(s->model, decoding->with, decoding->with_count,
                                                    s->how->longest),
                                   s->how->too_long };
    ATT_TRY(att_questions_read(&s->questions, s->model->source_words, lines, count, &limit, err));
    return read_given(s, err);
}

/* ---- batches */

/* Memory of one batch: `rows` questions of which the first is the longest. */
typedef struct batch {
    int64_t rows;
    att_sources sources;
    uint64_t *numbers;
    att_forced *forced;
} batch;

static att_status batch_take(batch *b, const session *s, const att_question *q, att_error *err)
{
    size_t rows = (size_t)b->rows;
    ATT_TRY(att_question_sources(&b->sources, q, b->rows, err));
    b->numbers = att_alloc(rows, sizeof *b->numbers);
    b->forced = att_alloc(rows, sizeof *b->forced);
    if (!b->numbers || !b->forced)
        return att_fail_memory(err);
    for (size_t r = 0; r < rows; r++) {
        b->numbers[r] = s->how->first_line + q[r].index;
        b->forced[r] = (att_forced){ q[r].given.items, q[r].given.count, s->how->targets != NULL };
    }
    return ATT_OK;
}

static void batch_free(batch *b)
{
    att_question_sources_free(&b->sources);
    att_free(b->numbers);
    att_free(b->forced);
}

static att_status answer_batch(session *s, const att_question *q, batch *b, att_error *err)
{
    const att_answer_how *how = s->how;
    ATT_TRY(batch_take(b, s, q, err));
    const att_search_task task = {
        .sources = &b->sources,
        .numbers = b->numbers,
        .forced = how->targets || how->prefixes ? b->forced : NULL,
        .keep = { .look = how->attention || how->copy_unknown,
                  .heads = how->attention && how->every_head,
                  .layer = how->layer,
                  .head = how->head },
    };
    ATT_TRY(att_in_line(att_search_run(s->search, &task, err), q->index, err));
    s->maker.maps = att_search_maps(s->search);
    s->maker.heads = att_search_heads(s->search);
    for (int64_t r = 0; r < b->rows; r++) {
        int64_t count;
        const att_hypothesis *found = att_search_found(s->search, r, &count);
        att_answer *answer = &s->answers->items[q[r].index];
        ATT_TRY(att_answer_make(&s->maker, answer, &q[r], found, count, err));
    }
    return ATT_OK;
}

/* How many of the questions from `first` on go together. */
static size_t batch_size(const session *s, size_t first)
{
    const att_decoding *decoding = &s->how->decoding;
    int64_t width = decoding->beam > decoding->best ? decoding->beam : decoding->best;
    size_t most = (size_t)s->how->batch, length = s->questions.items[first].source.count;
    if (most == 0)
        most = 1 + BATCH_TOKENS / (length * (size_t)(width + !width));
    return att_questions_batch(&s->questions, first, most);
}

static att_status answer_all(session *s, att_error *err)
{
    size_t at = 0, count = s->questions.count;
    const att_question *items = s->questions.items;
    while (at < count && items[at].source.count > 0) {
        size_t rows = batch_size(s, at);
        batch b = { .rows = (int64_t)rows };
        att_status status = answer_batch(s, &items[at], &b, err);
        batch_free(&b);
        ATT_TRY(status);
        at += rows;
    }
    for (; at < count; at++) /* nothing was asked: nothing is answered */
        s->answers->items[items[at].index].text = "";
    return ATT_OK;
}

/* ---- the public calls */

static att_status session_run(session *s, const char *const *lines, att_error *err)
{
    if (att_model_kind(s->model) != ATT_KIND_PAIRS)
        return att_fail(err, ATT_BAD_INPUT, NULL, "the model answers no lines: it is a %s",
                        s->model->family->name);
    size_t count = s->answers->count;
    s->answers->items = att_arena_take(&s->answers->arena, count, sizeof *s->answers->items);
    if (!s->answers->items)
        return att_fail_memory(err);
    ATT_TRY(att_search_new(&s->search, s->model, &s->how->decoding, err));
    ATT_TRY(read_questions(s, lines, count, err));
    return answer_all(s, err);
}

static void session_end(session *s)
{
    att_questions_free(&s->questions);
    att_search_free(s->search);
    att_text_free(&s->maker.scratch);
}

att_status att_model_answer(att_answers **out, att_model *model, const char *const *lines,
                            size_t count, const att_answer_how *how, att_error *err)
{
    static const att_answer_how usual = { 0 };
    *out = NULL;
    att_answers *answers = att_alloc_zero(1, sizeof *answers);
    if (!answers)
        return att_fail_memory(err);
    answers->count = count;
    session s = { .model = model, .how = how ? how : &usual, .answers = answers };
    s.maker = (att_answer_maker){ .model = model, .how = s.how, .memory = &answers->arena };
    att_status status = session_run(&s, lines, err);
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
                      .key_labels = answer->source_tokens,
                      .query_name = "answer",
                      .key_name = "input" };
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
