/* A model measured on pairs; see evaluate.h. */
#include "metrics/evaluate.h"

#include "base/alloc.h"
#include "base/error.h"
#include "decode/search.h"
#include "metrics/follow.h"
#include "metrics/gallery.h"
#include "text/data.h"

#include <string.h>

typedef struct evaluation {
    att_model *model;
    const att_corpus *corpus;
    att_tally *tally;
    att_tape *tape;
    const att_evaluate_how *how;
    att_search *search;     /* NULL: no answers */
    att_ensemble *together; /* where several models answer; else NULL */
    uint64_t *numbers;      /* of the rows of a batch */
    att_row_result *rows;   /* likewise */
    att_batches *batches;
    att_carried carried;
} evaluation;

/* The references' own probability, and the tokens foreseen on the way. */
static att_status measure_steps(evaluation *e, const att_batch *batch, att_error *err)
{
    const att_lesson lesson = { .carried = &e->carried };
    att_lesson_result result = { .rows = e->rows };
    memset(e->rows, 0, (size_t)batch->rows * sizeof *e->rows);
    for (int64_t r = 0; e->how->losses && r < batch->rows; r++)
        e->rows[r].losses = e->how->losses + batch->pair[r];
    if (e->together) {
        ATT_TRY(att_follow(&result, e->together, batch, err));
    } else {
        att_tape_begin(e->tape, false, 0, 0);
        att_model_loss(e->model, e->tape, batch, e->carried.width > 0 ? &lesson : NULL, &result);
        ATT_TRY(att_tape_status(e->tape, err));
    }
    e->tally->loss += result.loss;
    e->tally->steps += result.tokens;
    e->tally->right_steps += result.right;
    for (int64_t r = 0; e->how->each && r < batch->rows; r++)
        att_tally_join(&e->how->each[batch->pair[r]],
                       &(att_tally){ .loss = e->rows[r].loss,
                                     .steps = e->rows[r].tokens,
                                     .right_steps = e->rows[r].right });
    return ATT_OK;
}

/* The answer as a line, kept for whoever asked for it. */
static att_status keep_text(evaluation *e, int64_t pair, const int32_t *ids, size_t count,
                            att_error *err)
{
    att_text text = { 0 };
    att_answer_texts *texts = e->how->texts;
    att_status status = att_vocab_decode(e->model->target_words, &text, ids, count);
    if (status == ATT_OK)
        texts->lines[pair] =
            att_arena_copy(&texts->arena, text.length > 0 ? text.data : "", text.length);
    att_text_free(&text);
    return status == ATT_OK && texts->lines[pair] ? ATT_OK : att_fail_memory(err);
}

static att_status compare(evaluation *e, const att_batch *batch, att_error *err)
{
    for (int64_t r = 0; r < batch->rows; r++) {
        int64_t length;
        const int32_t *reference = att_side_get(&e->corpus->target, batch->pair[r], &length);
        int64_t found;
        const att_hypothesis *answer = att_search_found(e->search, r, &found);
        bool ended = answer->count > 0 && answer->ids[answer->count - 1] == ATT_ID_END;
        size_t count = (size_t)answer->count - ended;
        att_tally one = { 0 };
        if (att_tally_add(&one, e->model->target_words, answer->ids, count, reference,
                          (size_t)length) != ATT_OK)
            return att_fail_memory(err);
        att_tally_join(e->tally, &one);
        if (e->how->each)
            att_tally_join(&e->how->each[batch->pair[r]], &one);
        if (e->how->texts)
            ATT_TRY(keep_text(e, batch->pair[r], answer->ids, count, err));
    }
    return ATT_OK;
}

static att_status measure_answers(evaluation *e, const att_batch *batch, att_error *err)
{
    const att_sources sources = att_batch_sources(batch);
    for (int64_t r = 0; r < batch->rows; r++)
        e->numbers[r] = (uint64_t)batch->pair[r];
    const att_search_task task = { .sources = &sources, .numbers = e->numbers };
    ATT_TRY(att_search_run(e->search, &task, err));
    return compare(e, batch, err);
}

static att_status measure(evaluation *e, const att_evaluate_how *how, att_error *err)
{
    att_batches_in_order(e->batches);
    for (int64_t i = 0; i < att_batches_count(e->batches); i++) {
        const att_batch *batch = att_batches_get(e->batches, i);
        ATT_TRY(measure_steps(e, batch, err));
        if (e->search)
            ATT_TRY(measure_answers(e, batch, err));
        if (how->go_on && !how->go_on(how->context))
            return ATT_OK;
    }
    return ATT_OK;
}

static att_status open_search(evaluation *e, const att_decoding *decoding, att_error *err)
{
    static const att_decoding greedy = { 0 };
    return att_search_new(&e->search, e->model, decoding ? decoding : &greedy, err);
}

static att_status open_rows(evaluation *e, att_error *err)
{
    size_t rows = (size_t)att_batches_limits(e->batches).rows;
    e->numbers = att_alloc(rows, sizeof *e->numbers);
    e->rows = att_alloc(rows, sizeof *e->rows);
    return e->numbers && e->rows ? ATT_OK : att_fail_memory(err);
}

att_status att_evaluate(att_tally *tally, att_model *model, const att_corpus *corpus,
                        const att_evaluate_how *how, att_error *err)
{
    att_corpus part = *corpus;
    if (how->most > 0 && how->most < part.pairs)
        part.pairs = how->most;
    int64_t tokens = how->tokens > 0 ? how->tokens : model->settings->batch;
    evaluation e = { .model = model, .corpus = &part, .tally = tally, .how = how };
    att_status status = att_data_batches(&e.batches, &part, model->settings, tokens, 0, err);
    if (status == ATT_OK)
        status = open_rows(&e, err);
    if (status == ATT_OK)
        status = att_tape_new(&e.tape, &model->params, err);
    if (status == ATT_OK && how->decoding && how->decoding->with_count > 0)
        status = att_ensemble_new(&e.together, model, how->decoding->with,
                                  how->decoding->with_count, err);
    if (status == ATT_OK)
        status = att_carried_make(&e.carried, model, att_batches_limits(e.batches).rows, err);
    bool pictures = att_model_kind(model) == ATT_KIND_PICTURE;
    if (status == ATT_OK && how->answers && !pictures)
        status = open_search(&e, how->decoding, err);
    if (status == ATT_OK)
        status = measure(&e, how, err);
    if (status == ATT_OK && how->answers && pictures)
        status = att_gallery_answer(tally, model, &part, how, err);
    att_free(e.numbers);
    att_free(e.rows);
    att_ensemble_free(e.together);
    att_search_free(e.search);
    att_tape_free(e.tape);
    att_batches_free(e.batches);
    att_carried_free(&e.carried);
    return status;
}
