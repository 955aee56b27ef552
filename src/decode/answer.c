/* Lines answered by a model: text to tokens, batches of similar length, and back (attend.h). */
#include "attend.h"

#include "base/alloc.h"
#include "base/error.h"
#include "decode/answer_make.h"

#include <stdlib.h>
#include <string.h>

/* Source tokens to a batch, padding included, for each hypothesis that is followed: enough to keep
 * the products busy. */
enum { BATCH_TOKENS = 4096 };

struct att_answers {
    att_answer *items; /* [count] */
    size_t count;
    att_arena arena;
};

typedef struct session {
    att_model *model;
    const att_answer_how *how;
    att_answers *answers;
    int64_t longest; /* tokens of a line; 0: any number */
    att_search *search;
    att_question *questions; /* [count] the longest first */
    size_t count;
    att_answer_maker maker;
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
    const att_question *one = a, *other = b;
    if (one->source.count != other->source.count)
        return one->source.count > other->source.count ? -1 : 1;
    return one->index < other->index ? -1 : 1;
}

/* Cuts or refuses what is longer than the models can take, or the caller wants. */
static att_status limit_source(const session *s, att_question *q, att_error *err)
{
    int64_t count = (int64_t)q->source.count;
    if (s->longest == 0 || count <= s->longest)
        return ATT_OK;
    if (s->how->too_long == ATT_TOO_LONG_REFUSE)
        return att_fail(err, ATT_BAD_INPUT, NULL, "has %lld tokens, and %lld are the most",
                        (long long)count, (long long)s->longest);
    q->left_over = count - s->longest;
    q->source.count = (size_t)s->longest;
    return ATT_OK;
}

static att_status read_question(const session *s, att_question *q, att_error *err)
{
    const char *const *given = s->how->targets ? s->how->targets : s->how->prefixes;
    const att_vocab *source = s->model->source_words, *target = s->model->target_words;
    ATT_TRY(att_vocab_encode(source, &q->source, q->line, strlen(q->line), err));
    ATT_TRY(limit_source(s, q, err));
    if (!given)
        return ATT_OK;
    return att_vocab_encode(target, &q->given, given[q->index], strlen(given[q->index]), err);
}

static att_status read_questions(session *s, const char *const *lines, att_error *err)
{
    s->questions = att_alloc_zero(s->count, sizeof *s->questions);
    if (!s->questions)
        return att_fail_memory(err);
    for (size_t i = 0; i < s->count; i++) {
        s->questions[i].index = i;
        s->questions[i].line = lines[i];
        ATT_TRY(in_line(read_question(s, &s->questions[i], err), i, err));
    }
    qsort(s->questions, s->count, sizeof *s->questions, by_length);
    return ATT_OK;
}

/* ---- batches */

/* Memory of one batch: `rows` questions of which the first is the longest. */
typedef struct batch {
    int64_t rows, length;
    int32_t *ids;
    int64_t *lengths;
    uint64_t *numbers;
    att_forced *forced;
} batch;

static bool batch_take(batch *b, const session *s, const att_question *q)
{
    size_t rows = (size_t)b->rows;
    b->ids = att_alloc(rows, (size_t)b->length * sizeof *b->ids);
    b->lengths = att_alloc(rows, sizeof *b->lengths);
    b->numbers = att_alloc(rows, sizeof *b->numbers);
    b->forced = att_alloc(rows, sizeof *b->forced);
    if (!b->ids || !b->lengths || !b->numbers || !b->forced)
        return false;
    for (int64_t r = 0; r < b->rows; r++) {
        int64_t length = (int64_t)q[r].source.count;
        b->lengths[r] = length;
        b->numbers[r] = s->how->first_line + q[r].index;
        b->forced[r] = (att_forced){ q[r].given.items, q[r].given.count, s->how->targets != NULL };
        for (int64_t i = 0; i < b->length; i++)
            b->ids[r * b->length + i] = i < length ? q[r].source.items[i] : ATT_ID_NONE;
    }
    return true;
}

static void batch_free(batch *b)
{
    att_free(b->ids);
    att_free(b->lengths);
    att_free(b->numbers);
    att_free(b->forced);
}

static att_status answer_batch(session *s, const att_question *q, batch *b, att_error *err)
{
    const att_answer_how *how = s->how;
    if (!batch_take(b, s, q))
        return att_fail_memory(err);
    const att_sources sources = { b->rows, b->length, b->ids, b->lengths };
    const att_search_task task = {
        .sources = &sources,
        .numbers = b->numbers,
        .forced = how->targets || how->prefixes ? b->forced : NULL,
        .keep = { .look = how->attention || how->copy_unknown,
                  .heads = how->attention && how->every_head,
                  .layer = how->layer,
                  .head = how->head },
    };
    ATT_TRY(in_line(att_search_run(s->search, &task, err), q->index, err));
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

/* How many of the questions from `first` on go together: all of them have tokens. */
static size_t batch_size(const session *s, size_t first)
{
    int64_t width = s->how->decoding.beam > s->how->decoding.best ? s->how->decoding.beam
                                                                  : s->how->decoding.best;
    size_t most = (size_t)s->how->batch, count = 1;
    if (most == 0)
        most = 1 + BATCH_TOKENS / (s->questions[first].source.count * (size_t)(width + !width));
    while (count < most && first + count < s->count && s->questions[first + count].source.count > 0)
        count++;
    return count;
}

static att_status answer_all(session *s, att_error *err)
{
    size_t at = 0;
    while (at < s->count && s->questions[at].source.count > 0) {
        const att_question *q = &s->questions[at];
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

/* The longest line that all the models can take; 0: any. */
static int64_t longest_line(const session *s)
{
    const att_decoding *decoding = &s->how->decoding;
    int64_t longest = s->how->longest;
    for (size_t i = 0; i <= decoding->with_count; i++) {
        int64_t own = att_model_longest(i == 0 ? s->model : decoding->with[i - 1]);
        if (own > 0 && (longest == 0 || own < longest))
            longest = own;
    }
    return longest;
}

static att_status session_run(session *s, const char *const *lines, att_error *err)
{
    s->answers->items = att_arena_take(&s->answers->arena, s->count, sizeof *s->answers->items);
    if (!s->answers->items)
        return att_fail_memory(err);
    s->longest = longest_line(s);
    ATT_TRY(att_search_new(&s->search, s->model, &s->how->decoding, err));
    ATT_TRY(read_questions(s, lines, err));
    return answer_all(s, err);
}

static void session_end(session *s)
{
    for (size_t i = 0; s->questions && i < s->count; i++) {
        att_ids_free(&s->questions[i].source);
        att_ids_free(&s->questions[i].given);
    }
    att_free(s->questions);
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
    session s = { .model = model, .how = how ? how : &usual, .answers = answers, .count = count };
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
