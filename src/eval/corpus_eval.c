/* Runs a model over the batches of a corpus: teacher forcing for the loss and the token accuracy,
 * and beam search for outputs, which are compared with the references. */
#include "eval/corpus_eval.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/progress.h"
#include "decode/beam_search.h"
#include "eval/ensemble_loss.h"
#include "eval/caption_eval.h"
#include "data/data.h"
#include "model/layer_check.h"

#include <string.h>

typedef struct evaluation {
    const att_model *model;
    const att_corpus *corpus;
    att_token_metrics *metrics;
    att_tape *tape;
    const att_corpus_eval_options *options;
    att_beam_search *search;   /* NULL: teacher forcing only */
    att_session *session;      /* of an ensemble; else NULL */
    uint64_t *stream_ids;      /* [rows of a batch] random streams of sampling */
    att_row_loss_result *rows; /* [rows of a batch] */
    att_batches *batches;
    att_carried_state carried_state; /* RNN state between the chunks of a text */
} evaluation;

/* Teacher forcing: the loss of the references, and how many tokens were the most probable. */
static att_status eval_teacher_forced(evaluation *e, const att_batch *batch, att_error *err)
{
    const att_loss_options loss_options = { .carried_state = &e->carried_state };
    att_loss_result result = { .rows = e->rows };
    memset(e->rows, 0, (size_t)batch->rows * sizeof *e->rows);
    for (int64_t r = 0; e->options->token_losses && r < batch->rows; r++)
        e->rows[r].token_losses = e->options->token_losses + batch->pair_index[r];
    if (e->session) {
        ATT_TRY(att_ensemble_loss(&result, e->session, batch, err));
    } else {
        att_tape_begin(e->tape, false, 0, 0);
        att_model_loss(e->model, e->tape, batch, e->carried_state.width > 0 ? &loss_options : NULL,
                       &result);
        ATT_TRY(att_tape_status(e->tape, err));
        ATT_TRY(att_layer_check_losses(e->tape, &result, batch->rows, err));
    }
    e->metrics->loss += result.loss;
    e->metrics->steps += result.tokens;
    e->metrics->correct_steps += result.correct;
    e->metrics->unscored_steps += result.unscored;
    for (int64_t r = 0; e->options->per_pair && r < batch->rows; r++)
        att_token_metrics_merge(&e->options->per_pair[batch->pair_index[r]],
                                &(att_token_metrics){ .loss = e->rows[r].loss,
                                                      .steps = e->rows[r].tokens,
                                                      .correct_steps = e->rows[r].correct });
    return ATT_OK;
}

/* Replaces the row of a batch in `line` by the line of its pair in the file. */
static att_status error_at_pair(att_status status, const evaluation *e, const att_batch *batch,
                                att_error *err)
{
    bool is_text = att_model_type_get(e->model) == ATT_MODEL_LM; /* one pair: it has no lines */
    const int64_t *lines = is_text ? NULL : e->corpus->line_numbers;
    if (status == ATT_BAD_INPUT && err && err->line > 0)
        err->line = lines ? (int)lines[batch->pair_index[err->line - 1]] : 0;
    return status;
}

/* Joins the tokens of an output, some of which may be copied ones that the vocabulary lacks. */
static att_status join_tokens(att_string *out, const evaluation *e, int64_t pair,
                              const int32_t *ids, size_t count)
{
    const att_vocab *vocab = e->model->target_vocab;
    int32_t size = att_vocab_size(vocab);
    bool extended = false;
    for (size_t i = 0; i < count; i++)
        extended |= ids[i] >= size;
    if (!extended)
        return att_vocab_decode(vocab, out, ids, count);
    for (size_t i = 0; i < count; i++) {
        const char *token = ids[i] < size
                                ? att_vocab_token(vocab, ids[i])
                                : att_copy_ids_word(&e->corpus->copy, pair, ids[i] - size);
        if (ids[i] == ATT_ID_UNK || ids[i] >= ATT_ID_FIRST)
            ATT_TRY(att_detokenize_append(out, 0, att_vocab_tokenizer_kind(vocab), token));
    }
    return ATT_OK;
}

/* Stores an output as text. */
static att_status keep_text(evaluation *e, int64_t pair, const int32_t *ids, size_t count,
                            att_error *err)
{
    att_string text = { 0 };
    att_output_texts *texts = e->options->output_texts;
    att_status status = join_tokens(&text, e, pair, ids, count);
    if (status == ATT_OK)
        texts->lines[pair] =
            att_arena_strndup(&texts->arena, text.length > 0 ? text.data : "", text.length);
    att_string_free(&text);
    return status == ATT_OK && texts->lines[pair] ? ATT_OK : att_fail_memory(err);
}

/* Whether an output equals the target of another pair with the same source: further references. */
static bool equals_other_target(const att_corpus *corpus, int64_t pair, const int32_t *ids,
                                size_t count)
{
    if (!corpus->same_source)
        return false;
    for (int64_t p = corpus->same_source[pair]; p != pair; p = corpus->same_source[p]) {
        int64_t length;
        const int32_t *reference = att_sequences_get(&corpus->target, p, &length);
        if (att_tokens_equal(ids, count, reference, (size_t)length))
            return true;
    }
    return false;
}

static att_status compare_outputs(evaluation *e, const att_batch *batch, att_error *err)
{
    for (int64_t r = 0; r < batch->rows; r++) {
        int64_t length;
        const int32_t *reference =
            att_sequences_get(&e->corpus->target, batch->pair_index[r], &length);
        if (e->corpus->copy.target)
            reference = e->corpus->copy.target + (reference - e->corpus->target.ids);
        int64_t found;
        const att_hypothesis *hypothesis = att_beam_search_hypotheses(e->search, r, &found);
        bool ended = hypothesis->count > 0 && hypothesis->ids[hypothesis->count - 1] == ATT_ID_EOS;
        size_t count = (size_t)hypothesis->count - ended;
        att_token_metrics one = { 0 };
        if (att_token_metrics_add(&one, e->model->target_vocab, hypothesis->ids, count, reference,
                                  (size_t)length) != ATT_OK)
            return att_fail_memory(err);
        if (equals_other_target(e->corpus, batch->pair_index[r], hypothesis->ids, count))
            one.exact_matches = 1;
        one.truncated = hypothesis->truncated;
        att_token_metrics_merge(e->metrics, &one);
        if (e->options->per_pair)
            att_token_metrics_merge(&e->options->per_pair[batch->pair_index[r]], &one);
        if (e->options->output_texts)
            ATT_TRY(keep_text(e, batch->pair_index[r], hypothesis->ids, count, err));
    }
    return ATT_OK;
}

static att_status eval_outputs(evaluation *e, const att_batch *batch, att_error *err)
{
    const att_sources sources = att_batch_sources(batch);
    for (int64_t r = 0; r < batch->rows; r++)
        e->stream_ids[r] = (uint64_t)batch->pair_index[r];
    const att_search_batch task = { .sources = &sources, .stream_ids = e->stream_ids };
    ATT_TRY(att_beam_search_run(e->search, &task, err));
    return compare_outputs(e, batch, err);
}

/* Evaluates batch `index`; *stop is set where the caller wants no more. */
static att_status eval_batch(evaluation *e, int64_t index, bool *stop, att_error *err)
{
    const att_corpus_eval_options *options = e->options;
    const att_batch *batch = att_batches_get(e->batches, index);
    ATT_TRY(att_batches_status(e->batches, err));
    ATT_TRY(error_at_pair(eval_teacher_forced(e, batch, err), e, batch, err));
    if (e->search)
        ATT_TRY(error_at_pair(eval_outputs(e, batch, err), e, batch, err));
    *stop = options->on_batch && !options->on_batch(options->context);
    return *stop ? ATT_OK : att_progress_check(err);
}

/* The counts of each batch by themselves, added up in the order of one process. */
static att_status eval_shared_batches(evaluation *e, const att_eval_share *share, att_error *err)
{
    att_token_metrics *total = e->metrics;
    int64_t count = att_batches_count(e->batches);
    bool stop = false;
    att_token_metrics *each = att_alloc_zero((size_t)count, sizeof *each);
    if (!each)
        return att_fail_memory(err);
    att_status status = ATT_OK;
    for (int64_t i = share->rank; status == ATT_OK && !stop && i < count; i += share->count) {
        e->metrics = &each[i];
        status = eval_batch(e, i, &stop, err);
    }
    e->metrics = total;
    att_error unused;
    att_status combined =
        share->combine(share->context, each, count, status == ATT_OK ? err : &unused);
    for (int64_t i = 0; i < count; i++)
        att_token_metrics_merge(total, &each[i]);
    att_free(each);
    return status == ATT_OK ? combined : status;
}

static att_status eval_batches(evaluation *e, att_error *err)
{
    const att_corpus_eval_options *options = e->options;
    bool whole = options->token_losses || options->per_pair || options->output_texts ||
                 e->carried_state.width > 0;
    bool stop = false;
    att_batches_start_sequential(e->batches);
    if (options->share && options->share->count > 1 && !whole)
        return eval_shared_batches(e, options->share, err);
    for (int64_t i = 0; !stop && i < att_batches_count(e->batches); i++)
        ATT_TRY(eval_batch(e, i, &stop, err));
    return ATT_OK;
}

static att_status open_search(evaluation *e, const att_decoding_options *decoding, att_error *err)
{
    static const att_decoding_options greedy = ATT_INIT(att_decoding_options);
    return att_beam_search_new(&e->search, e->model, decoding ? decoding : &greedy, err);
}

static att_status open_rows(evaluation *e, att_error *err)
{
    size_t rows = (size_t)att_batches_limits(e->batches).rows;
    e->stream_ids = att_alloc(rows, sizeof *e->stream_ids);
    e->rows = att_alloc(rows, sizeof *e->rows);
    return e->stream_ids && e->rows ? ATT_OK : att_fail_memory(err);
}

att_status att_corpus_eval(att_token_metrics *metrics, const att_model *model,
                           const att_corpus *corpus, const att_corpus_eval_options *options,
                           att_error *err)
{
    att_corpus part = *corpus;
    if (options->max_pairs > 0 && options->max_pairs < part.pairs)
        part.pairs = options->max_pairs;
    int64_t tokens =
        options->batch_tokens > 0 ? options->batch_tokens : model->settings->batch_tokens;
    evaluation e = { .model = model, .corpus = &part, .metrics = metrics, .options = options };
    att_status status = att_data_batches(&e.batches, &part, model->settings, tokens, 0, err);
    if (status == ATT_OK)
        status = open_rows(&e, err);
    if (status == ATT_OK)
        status = att_tape_new(&e.tape, &model->params, err);
    if (status == ATT_OK && options->decoding && options->decoding->ensemble_count > 0)
        status = att_session_open(&e.session, model, options->decoding->ensemble,
                                  options->decoding->ensemble_count, err);
    if (status == ATT_OK)
        status =
            att_carried_state_new(&e.carried_state, model, att_batches_limits(e.batches).rows, err);
    bool captions = att_model_type_get(model) == ATT_MODEL_CAPTION;
    if (status == ATT_OK && options->decode && !captions)
        status = open_search(&e, options->decoding, err);
    if (status == ATT_OK)
        status = eval_batches(&e, err);
    if (status == ATT_OK && options->decode && captions)
        status = att_caption_eval_outputs(metrics, model, &part, options, err);
    att_free(e.stream_ids);
    att_free(e.rows);
    att_session_free(e.session);
    att_beam_search_free(e.search);
    att_tape_free(e.tape);
    att_batches_free(e.batches);
    att_carried_state_free(&e.carried_state);
    return status;
}
