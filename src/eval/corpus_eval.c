/* Runs a model over the batches of a corpus: teacher forcing for the loss and the token accuracy,
 * and beam search for outputs, which are compared with the references. */
#include "eval/corpus_eval.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/progress.h"
#include "decode/beam_search.h"
#include "eval/ensemble_loss.h"
#include "eval/caption_eval.h"
#include "eval/shared_results.h"
#include "data/batch_lm.h"
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
    float *row_losses; /* [rows, length of a batch] losses of tokens for other processes, or NULL */
    att_batches *batches;
    att_carried_state carried_state; /* RNN state between the chunks of a text */
} evaluation;

/* Where the losses of the tokens of a row go; NULL: nobody wants them. */
static float *token_losses(const evaluation *e, const att_batch *batch, int64_t row)
{
    if (e->row_losses)
        return e->row_losses + row * att_batches_limits(e->batches).target_length;
    return e->options->token_losses ? e->options->token_losses + batch->pair_index[row] : NULL;
}

/* Teacher forcing: the loss of the references, and how many tokens were the most probable. */
static att_status eval_teacher_forced(evaluation *e, const att_batch *batch, att_error *err)
{
    const att_loss_options loss_options = { .carried_state = &e->carried_state };
    att_loss_result result = { .rows = e->rows };
    memset(e->rows, 0, (size_t)batch->rows * sizeof *e->rows);
    for (int64_t r = 0; r < batch->rows; r++) {
        e->rows[r].token_losses = token_losses(e, batch, r);
        e->rows[r].context_tokens = batch->context_tokens ? batch->context_tokens[r] : 0;
    }
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

/* Evaluates a batch; *stop is set where the caller wants no more. */
static att_status eval_batch(evaluation *e, const att_batch *batch, bool *stop, att_error *err)
{
    const att_corpus_eval_options *options = e->options;
    ATT_TRY(att_batches_status(e->batches, err));
    ATT_TRY(error_at_pair(eval_teacher_forced(e, batch, err), e, batch, err));
    if (e->search)
        ATT_TRY(error_at_pair(eval_outputs(e, batch, err), e, batch, err));
    *stop = options->on_batch && !options->on_batch(options->context);
    return *stop ? ATT_OK : att_progress_check(err);
}

/* ---- several processes. Each evaluates every count-th batch, or its rows of every batch where a
 * batch continues the one before it. Sums are made in the order of one process. */

/* The rows of a batch that a process evaluates: the same in every batch, but for those that end
 * earlier. */
static att_batch own_rows(const evaluation *e, const att_batch *batch)
{
    const att_group *group = e->options->group;
    int64_t limit = att_batches_limits(e->batches).rows, length = batch->target_length;
    int64_t begin = att_min_i64(limit * group->rank / group->count, batch->rows);
    int64_t end = att_min_i64(limit * (group->rank + 1) / group->count, batch->rows);
    att_batch own = *batch;
    own.rows = end - begin;
    own.target_in += begin * length;
    own.target_out += begin * length;
    own.target_lengths += begin;
    own.pair_index += begin;
    own.target_tokens = 0;
    for (int64_t r = 0; r < own.rows; r++)
        own.target_tokens += own.target_lengths[r];
    return own;
}

static att_status put_row(att_shared_results *shared, const evaluation *e, const att_batch *batch,
                          int64_t row, att_error *err)
{
    const att_corpus_eval_options *options = e->options;
    int64_t pair = batch->pair_index[row], tokens = e->rows[row].tokens;
    ATT_TRY(att_shared_results_put(shared, &pair, sizeof pair, err));
    if (options->per_pair)
        ATT_TRY(att_shared_results_put(shared, &options->per_pair[pair], sizeof *options->per_pair,
                                       err));
    if (options->output_texts && e->search)
        ATT_TRY(att_shared_results_put_text(shared, options->output_texts->lines[pair], err));
    if (!e->row_losses)
        return ATT_OK;
    ATT_TRY(att_shared_results_put(shared, &tokens, sizeof tokens, err));
    return att_shared_results_put(
        shared, e->row_losses + row * att_batches_limits(e->batches).target_length,
        (size_t)tokens * sizeof(float), err);
}

/* Evaluates a batch, or nothing of it, and puts its counts and rows. */
static att_status eval_and_put(att_shared_results *shared, evaluation *e, const att_batch *batch,
                               bool *stop, att_error *err)
{
    att_token_metrics counts = { 0 }, *total = e->metrics;
    e->metrics = &counts;
    att_status status = batch->rows > 0 ? eval_batch(e, batch, stop, err) : ATT_OK;
    e->metrics = total;
    ATT_TRY(status);
    ATT_TRY(att_shared_results_put(shared, &counts, sizeof counts, err));
    ATT_TRY(att_shared_results_put(shared, &batch->rows, sizeof batch->rows, err));
    for (int64_t r = 0; r < batch->rows; r++)
        ATT_TRY(put_row(shared, e, batch, r, err));
    return ATT_OK;
}

static att_status eval_own(att_shared_results *shared, evaluation *e, att_error *err)
{
    const att_group *group = e->options->group;
    bool by_rows = e->carried_state.width > 0, stop = false;
    for (int64_t i = 0; !stop && i < att_batches_count(e->batches); i++) {
        if (!by_rows && att_shared_owner(group, i) != group->rank)
            continue;
        const att_batch *batch = att_batches_get(e->batches, i);
        const att_batch own = by_rows ? own_rows(e, batch) : *batch;
        ATT_TRY(eval_and_put(shared, e, &own, &stop, err));
    }
    return ATT_OK;
}

/* Reads the losses of the tokens of a row and adds them to *sum. */
static bool get_losses(att_shared_results *shared, int rank, evaluation *e, int64_t pair,
                       double *sum)
{
    int64_t tokens;
    float *losses = e->row_losses; /* scratch by now */
    if (!att_shared_results_get(shared, rank, &tokens, sizeof tokens) ||
        !att_shared_results_get(shared, rank, losses, (size_t)tokens * sizeof *losses))
        return false;
    for (int64_t t = 0; t < tokens; t++)
        *sum += (double)losses[t];
    if (e->options->token_losses)
        memcpy(e->options->token_losses + pair, losses, (size_t)tokens * sizeof *losses);
    return true;
}

/* *sum: of the losses of tokens, where they are sent. */
static att_status get_row(att_shared_results *shared, int rank, evaluation *e, double *sum,
                          att_error *err)
{
    const att_corpus_eval_options *options = e->options;
    att_output_texts *texts = e->search ? options->output_texts : NULL;
    int64_t pair = 0;
    bool found = att_shared_results_get(shared, rank, &pair, sizeof pair);
    if (found && options->per_pair)
        found = att_shared_results_get(shared, rank, &options->per_pair[pair],
                                       sizeof *options->per_pair);
    const char *text = found && texts ? att_shared_results_get_text(shared, rank) : NULL;
    if (found && texts)
        found = text != NULL;
    if (found && e->row_losses)
        found = get_losses(shared, rank, e, pair, sum);
    if (!found)
        return att_fail(err, ATT_SYSTEM, NULL, "process %d has sent too few results", rank);
    if (text && rank != shared->group->rank) {
        texts->lines[pair] = att_arena_strndup(&texts->arena, text, strlen(text));
        return texts->lines[pair] ? ATT_OK : att_fail_memory(err);
    }
    return ATT_OK;
}

/* Adds what a process found of a batch to *counts; nothing where it was stopped before. */
static att_status get_batch(att_token_metrics *counts, att_shared_results *shared, int rank,
                            evaluation *e, att_error *err)
{
    att_token_metrics found;
    int64_t rows;
    if (!att_shared_results_get(shared, rank, &found, sizeof found) ||
        !att_shared_results_get(shared, rank, &rows, sizeof rows))
        return ATT_OK;
    double sum = counts->loss;
    for (int64_t r = 0; r < rows; r++)
        ATT_TRY(get_row(shared, rank, e, &sum, err));
    att_token_metrics_merge(counts, &found);
    if (e->carried_state.width > 0) /* the batch is not of one process alone: its sum is by token */
        counts->loss = sum;
    return ATT_OK;
}

static att_status get_all(att_shared_results *shared, evaluation *e, att_error *err)
{
    int processes = shared->group->count;
    for (int64_t i = 0; i < att_batches_count(e->batches); i++) {
        att_token_metrics counts = { 0 };
        if (e->carried_state.width > 0)
            for (int r = 0; r < processes; r++)
                ATT_TRY(get_batch(&counts, shared, r, e, err));
        else
            ATT_TRY(get_batch(&counts, shared, att_shared_owner(shared->group, i), e, err));
        att_token_metrics_merge(e->metrics, &counts);
    }
    return ATT_OK;
}

static att_status eval_shared(evaluation *e, att_error *err)
{
    att_shared_results shared;
    ATT_TRY(att_shared_results_new(&shared, e->options->group, err));
    att_status status = att_shared_results_gather(&shared, eval_own(&shared, e, err), err);
    if (status == ATT_OK)
        status = get_all(&shared, e, err);
    att_shared_results_free(&shared);
    return status;
}

/* ---- all batches */

static att_status eval_batches(evaluation *e, att_error *err)
{
    bool stop = false;
    att_batches_start_sequential(e->batches);
    if (att_group_is_shared(e->options->group))
        return eval_shared(e, err);
    for (int64_t i = 0; !stop && i < att_batches_count(e->batches); i++)
        ATT_TRY(eval_batch(e, att_batches_get(e->batches, i), &stop, err));
    return ATT_OK;
}

static att_status open_batches(evaluation *e, att_error *err)
{
    const att_settings *settings = e->model->settings;
    int64_t given = e->options->batch_tokens, tokens = given > 0 ? given : settings->batch_tokens;
    const att_lm_batches_options overlapping = {
        .batch_tokens = tokens,
        .sequence_length = settings->sequence_length,
        .stride = e->options->stride,
    };
    if (e->options->stride > 0)
        return att_lm_batches_new(&e->batches, e->corpus, &overlapping, err);
    return att_data_batches(&e->batches, e->corpus, settings, tokens, 0, err);
}

static att_status open_search(evaluation *e, const att_decoding_options *decoding, att_error *err)
{
    static const att_decoding_options greedy = ATT_INIT(att_decoding_options);
    return att_beam_search_new(&e->search, e->model, decoding ? decoding : &greedy, err);
}

/* After the carried state. */
static att_status open_rows(evaluation *e, att_error *err)
{
    att_batch_limits limits = att_batches_limits(e->batches);
    size_t rows = (size_t)limits.rows;
    bool sends_losses = att_group_is_shared(e->options->group) &&
                        (e->carried_state.width > 0 || e->options->token_losses);
    if (sends_losses) {
        e->row_losses = att_alloc(rows, (size_t)limits.target_length * sizeof *e->row_losses);
        if (!e->row_losses)
            return att_fail_memory(err);
    }
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
    evaluation e = { .model = model, .corpus = &part, .metrics = metrics, .options = options };
    att_status status = open_batches(&e, err);
    if (status == ATT_OK)
        status = att_tape_new(&e.tape, &model->params, err);
    if (status == ATT_OK && options->decoding && options->decoding->ensemble_count > 0)
        status = att_session_open(&e.session, model, options->decoding->ensemble,
                                  options->decoding->ensemble_count, err);
    if (status == ATT_OK)
        status =
            att_carried_state_new(&e.carried_state, model, att_batches_limits(e.batches).rows, err);
    if (status == ATT_OK)
        status = open_rows(&e, err);
    bool captions = att_model_type_get(model) == ATT_MODEL_CAPTION;
    if (status == ATT_OK && options->decode && !captions)
        status = open_search(&e, options->decoding, err);
    if (status == ATT_OK)
        status = eval_batches(&e, err);
    if (status == ATT_OK && options->decode && captions)
        status = att_caption_eval_outputs(metrics, model, &part, options, err);
    att_free(e.stream_ids);
    att_free(e.rows);
    att_free(e.row_losses);
    att_session_free(e.session);
    att_beam_search_free(e.search);
    att_tape_free(e.tape);
    att_batches_free(e.batches);
    att_carried_state_free(&e.carried_state);
    return status;
}
