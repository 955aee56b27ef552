/* The public calls of att_session: sources from lines, ids, images or nothing, and checked steps.
 */
#include "attend.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/options.h"
#include "base/minmax.h"
#include "base/progress.h"
#include "data/batch_captions.h"
#include "data/extended_vocab.h"
#include "decode/image_batches.h"
#include "decode/requests.h"
#include "decode/session.h"

#include <assert.h>
#include <string.h>

static_assert((int)ATT_TOKEN_PAD == (int)ATT_ID_PAD && (int)ATT_TOKEN_UNK == (int)ATT_ID_UNK &&
                  (int)ATT_TOKEN_BOS == (int)ATT_ID_BOS && (int)ATT_TOKEN_EOS == (int)ATT_ID_EOS &&
                  (int)ATT_TOKEN_FIRST == (int)ATT_ID_FIRST,
              "the ids of attend.h are those of every vocabulary");

/* ---- opening */

static att_status check_type(const att_model *model, att_error *err)
{
    att_model_type type = att_model_type_get(model);
    if (type != ATT_MODEL_CLASSIFIER && type != ATT_MODEL_TAGGER)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, NULL,
                    "expected a model that generates tokens, found %s (%s)",
                    att_model_type_phrase(type), model->architecture->name);
}

static att_status set_start_token(att_session *session, att_error *err)
{
    session->start_token = ATT_ID_BOS;
    if (att_model_type_get(session->model) != ATT_MODEL_LM)
        return ATT_OK;
    return att_lm_start_token(&session->start_token, session->model->target_vocab, err);
}

att_status att_session_new(att_session **out, const att_model *model,
                           const att_session_options *options, att_error *err)
{
    att_session_options all;
    *out = NULL;
    ATT_TRY(check_type(model, err));
    ATT_TRY(ATT_OPTIONS_COPY(att_session_options, &all, options, err));
    att_session *session;
    ATT_TRY(att_session_open(&session, model, all.ensemble, all.ensemble_count, err));
    session->want_attention = all.attention;
    session->want_hidden = all.hidden_states;
    session->max_source_length =
        att_input_limit_of(model, all.ensemble, all.ensemble_count, -1).max_length;
    att_status status = set_start_token(session, err);
    if (status == ATT_OK)
        *out = session;
    else
        att_session_free(session);
    return status;
}

/* ---- sources */

/* Forgets the sources and makes room for new ones: without tokens where `length` is 0. */
static att_status reset_sources(att_session *session, size_t sources, size_t length, att_error *err)
{
    session->rows = session->sources = session->source_length = 0;
    att_free(session->source_ids);
    att_free(session->source_lengths);
    session->source_ids = NULL;
    session->source_lengths = att_alloc_zero(sources, sizeof *session->source_lengths);
    if (length > 0)
        session->source_ids = att_alloc(sources, length * sizeof *session->source_ids);
    if (!session->source_lengths || (length > 0 && !session->source_ids))
        return att_fail_memory(err);
    session->sources = (int64_t)sources;
    session->source_length = (int64_t)length;
    return ATT_OK;
}

static att_status check_count(size_t count, att_error *err)
{
    if (count > 0)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, NULL, "expected at least 1 source, found 0");
}

static att_status start(att_session *session, const att_sources *sources, att_error *err)
{
    att_progress_scope scope;
    att_progress_begin(&scope, "encoding", 0);
    att_status status = att_session_start(session, sources, session->want_attention, err);
    status = att_progress_end(&scope, status, err);
    session->rows = status == ATT_OK ? sources->rows : 0;
    return status;
}

static att_status check_reads_tokens(const att_session *session, att_error *err)
{
    if (session->model->source_vocab)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, NULL, "expected a model that reads lines, found %s (%s)",
                    att_model_type_phrase(att_model_type_get(session->model)),
                    session->model->architecture->name);
}

static att_status check_source(const att_session *session, const int32_t *ids, int64_t length,
                               att_error *err)
{
    int32_t vocabulary = att_vocab_size(session->model->source_vocab);
    if (length < 1)
        return att_fail(err, ATT_BAD_INPUT, NULL, "the input has no tokens");
    if (session->max_source_length > 0 && length > session->max_source_length)
        return att_fail(err, ATT_BAD_INPUT, NULL, "expected at most %lld source tokens, found %lld",
                        (long long)session->max_source_length, (long long)length);
    for (int64_t i = 0; i < length; i++)
        if (ids[i] < 0 || ids[i] >= vocabulary)
            return att_fail(err, ATT_BAD_INPUT, NULL,
                            "expected source ids from 0 to %d, found %d at position %lld",
                            (int)vocabulary - 1, (int)ids[i], (long long)i);
    return ATT_OK;
}

/* Appends the ids of one source in its extended vocabulary, padded, and the tokens that it adds. */
static att_status add_copy_ids(att_session *session, att_extended_vocab *vocab, const int32_t *ids,
                               int64_t length, const char *line, att_error *err)
{
    ATT_TRY(att_extended_vocab_source(vocab, &session->copy_ids, ids, (size_t)length, line,
                                      line ? strlen(line) : 0, err));
    for (int64_t i = length; i < session->source_length; i++)
        if (att_ids_add(&session->copy_ids, ATT_ID_PAD) != ATT_OK)
            return att_fail_memory(err);
    for (size_t i = 0; i < vocab->words.count; i++)
        if (att_string_append(&session->copy_words, vocab->words.items[i].text,
                              vocab->words.items[i].length + 1) != ATT_OK)
            return att_fail_memory(err);
    if (att_ids_add(&session->copy_counts, (int32_t)vocab->words.count) != ATT_OK)
        return att_fail_memory(err);
    return ATT_OK;
}

/* `lines` has the texts of unknown tokens; or NULL. */
static att_status find_copy_ids(att_session *session, const char *const *lines, att_error *err)
{
    att_extended_vocab vocab = { .source = session->model->source_vocab,
                                 .target = session->model->target_vocab };
    att_status status = ATT_OK;
    session->copy_ids.count = session->copy_counts.count = session->copy_words.length = 0;
    for (int64_t r = 0; r < session->sources && status == ATT_OK; r++)
        status = add_copy_ids(session, &vocab, session->source_ids + r * session->source_length,
                              session->source_lengths[r], lines ? lines[r] : NULL, err);
    att_extended_vocab_free(&vocab);
    return status;
}

/* Sequences end to end become the padded rows of a batch. */
static att_status start_tokens(att_session *session, const int32_t *ids, const int64_t *lengths,
                               size_t count, const char *const *lines, att_error *err)
{
    int64_t longest = 0;
    const int32_t *at = ids;
    ATT_TRY(check_reads_tokens(session, err));
    ATT_TRY(check_count(count, err));
    for (size_t r = 0; r < count; at += lengths[r++]) {
        ATT_TRY(att_error_at_line(check_source(session, at, lengths[r], err), r, err));
        longest = att_max_i64(longest, lengths[r]);
    }
    ATT_TRY(reset_sources(session, count, (size_t)longest, err));
    at = ids;
    for (size_t r = 0; r < count; at += lengths[r++]) {
        session->source_lengths[r] = lengths[r];
        for (int64_t i = 0; i < longest; i++)
            session->source_ids[(int64_t)r * longest + i] = i < lengths[r] ? at[i] : ATT_ID_PAD;
    }
    bool copies = att_settings_copies(session->model->settings);
    if (copies)
        ATT_TRY(find_copy_ids(session, lines, err));
    return start(session,
                 &(att_sources){ .rows = (int64_t)count,
                                 .length = longest,
                                 .ids = session->source_ids,
                                 .lengths = session->source_lengths,
                                 .copy_ids = copies ? session->copy_ids.items : NULL },
                 err);
}

att_status att_session_start_ids(att_session *session, const int32_t *ids, const int64_t *lengths,
                                 size_t count, att_error *err)
{
    return start_tokens(session, ids, lengths, count, NULL, err);
}

static att_status encode_lines(att_session *session, att_ids *ids, int64_t *lengths,
                               const char *const *lines, size_t count, att_error *err)
{
    for (size_t r = 0; r < count; r++) {
        size_t before = ids->count;
        att_status status = att_vocab_encode(session->model->source_vocab, &session->tokenizer, ids,
                                             lines[r], strlen(lines[r]), err);
        ATT_TRY(att_error_at_line(status, r, err));
        lengths[r] = (int64_t)(ids->count - before);
    }
    return ATT_OK;
}

att_status att_session_start_lines(att_session *session, const char *const *lines, size_t count,
                                   att_error *err)
{
    ATT_TRY(check_reads_tokens(session, err));
    ATT_TRY(check_count(count, err));
    att_ids ids = { 0 };
    int64_t *lengths = att_alloc(count, sizeof *lengths);
    att_status status =
        lengths ? encode_lines(session, &ids, lengths, lines, count, err) : att_fail_memory(err);
    if (status == ATT_OK)
        status = start_tokens(session, ids.items, lengths, count, lines, err);
    att_ids_free(&ids);
    att_free(lengths);
    return status;
}

static att_status start_grids(att_session *session, const att_image_grids *grids, float *batch,
                              att_error *err)
{
    size_t stride = (size_t)att_image_grids_stride(grids);
    for (int64_t i = 0; i < grids->count; i++)
        memcpy(batch + (size_t)i * stride, att_image_grids_get(grids, i), stride * sizeof *batch);
    ATT_TRY(reset_sources(session, (size_t)grids->count, 0, err));
    session->source_length = att_image_grid_cells(session->model->settings, grids);
    for (int64_t i = 0; i < grids->count; i++)
        session->source_lengths[i] = session->source_length;
    return start(session,
                 &(att_sources){ .rows = grids->count,
                                 .length = session->source_length,
                                 .lengths = session->source_lengths,
                                 .image_grid = batch,
                                 .cells = grids->rows * grids->columns,
                                 .depth = grids->depth },
                 err);
}

att_status att_session_start_images(att_session *session, const att_tensor *images, att_error *err)
{
    const att_settings *settings = session->model->settings;
    att_image_grids grids;
    ATT_TRY(att_model_require_type(session->model, ATT_MODEL_CAPTION, err));
    ATT_TRY(att_image_grids_view(&grids, images, settings->image_rows, NULL, err));
    ATT_TRY(att_image_batches_check(session->model, &grids, err));
    ATT_TRY(check_count((size_t)grids.count, err));
    float *batch =
        att_alloc((size_t)grids.count, (size_t)att_image_grids_stride(&grids) * sizeof *batch);
    att_status status = batch ? start_grids(session, &grids, batch, err) : att_fail_memory(err);
    att_free(batch);
    return status;
}

att_status att_session_start_text(att_session *session, size_t rows, att_error *err)
{
    ATT_TRY(att_model_require_type(session->model, ATT_MODEL_LM, err));
    ATT_TRY(check_count(rows, err));
    ATT_TRY(reset_sources(session, rows, 0, err));
    return start(session,
                 &(att_sources){ .rows = (int64_t)rows, .lengths = session->source_lengths }, err);
}

/* ---- steps */

static att_status check_tokens(const att_session *session, const int32_t *tokens, int64_t count,
                               att_error *err)
{
    for (int64_t i = 0; i < count; i++)
        if (tokens[i] < 0 || tokens[i] >= session->vocab_size)
            return att_fail(err, ATT_BAD_INPUT, NULL,
                            "expected token ids from 0 to %lld, found %d at index %lld",
                            (long long)session->vocab_size - 1, (int)tokens[i], (long long)i);
    return ATT_OK;
}

static att_status check_order(const att_session *session, int64_t rows, const int64_t *order,
                              att_error *err)
{
    if (session->rows == 0)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "the session has no sources: start it before the first step");
    if (rows < 1)
        return att_fail(err, ATT_BAD_INPUT, NULL, "expected at least 1 row, found %lld",
                        (long long)rows);
    for (int64_t r = 0; r < rows; r++) {
        int64_t from = order ? order[r] : r;
        if (from < 0 || from >= session->rows)
            return att_fail(err, ATT_BAD_INPUT, NULL,
                            "row %lld continues row %lld, expected a row from 0 to %lld",
                            (long long)r, (long long)from, (long long)session->rows - 1);
    }
    return ATT_OK;
}

static void set_output(att_session *session, const att_decoder_output *decoded)
{
    bool attention = session->want_attention && decoded->attention;
    bool hidden = session->want_hidden && decoded->hidden;
    session->output = (att_session_output){
        .size = sizeof session->output,
        .rows = session->rows,
        .vocab_size = session->vocab_size,
        .log_probs = decoded->log_probs,
        .layers = attention ? decoded->attention_maps / decoded->heads : 0,
        .heads = attention ? decoded->heads : 0,
        .source_length = session->source_length,
        .attention = attention ? decoded->attention : NULL,
        .hidden_size = hidden ? decoded->hidden_size : 0,
        .hidden = hidden ? decoded->hidden : NULL,
    };
}

/* A step that fails leaves the decoders between two steps: the session is not started then. */
static att_status step(att_session *session, int64_t rows, const int32_t *tokens,
                       const int64_t *order, att_error *err)
{
    att_decoder_output decoded;
    att_progress_scope scope;
    att_progress_begin(&scope, "decoding", 0);
    session->rows = 0;
    att_status status = att_session_advance(session, rows, tokens, order, &decoded, err);
    status = att_progress_end(&scope, status, err);
    ATT_TRY(status);
    session->rows = rows;
    set_output(session, &decoded);
    return ATT_OK;
}

att_status att_session_step(att_session *session, int64_t rows, const int32_t *tokens,
                            const int64_t *order, const att_session_output **out, att_error *err)
{
    *out = NULL;
    ATT_TRY(check_order(session, rows, order, err));
    ATT_TRY(check_tokens(session, tokens, rows, err));
    ATT_TRY(step(session, rows, tokens, order, err));
    *out = &session->output;
    return ATT_OK;
}

att_status att_session_feed(att_session *session, int64_t rows, const int32_t *tokens,
                            int64_t count, const att_session_output **out, att_error *err)
{
    *out = NULL;
    ATT_TRY(check_order(session, rows, NULL, err));
    if (count < 1)
        return att_fail(err, ATT_BAD_INPUT, NULL, "expected at least 1 token per row, found %lld",
                        (long long)count);
    ATT_TRY(check_tokens(session, tokens, rows * count, err));
    int32_t *column = att_alloc((size_t)rows, sizeof *column);
    att_status status = column ? ATT_OK : att_fail_memory(err);
    for (int64_t t = 0; t < count && status == ATT_OK; t++) {
        for (int64_t r = 0; r < rows; r++)
            column[r] = tokens[r * count + t];
        status = step(session, rows, column, NULL, err);
    }
    att_free(column);
    if (status == ATT_OK)
        *out = &session->output;
    return status;
}

/* ---- properties */

int32_t att_session_start_token(const att_session *session)
{
    return session->start_token;
}

int32_t att_session_end_token(const att_session *session)
{
    if (att_model_type_get(session->model) != ATT_MODEL_LM)
        return ATT_ID_EOS;
    return att_vocab_prepends_bos(session->model->target_vocab) ? ATT_ID_BOS : -1;
}

int32_t att_session_vocab_size(const att_session *session)
{
    return (int32_t)session->vocab_size;
}

int64_t att_session_source_count(const att_session *session)
{
    return session->sources;
}

int64_t att_session_source_length(const att_session *session, int64_t source)
{
    return source >= 0 && source < session->sources ? session->source_lengths[source] : 0;
}

const char *att_session_source_token(const att_session *session, int64_t source, int64_t index)
{
    if (!session->source_ids || index < 0 || index >= att_session_source_length(session, source))
        return NULL;
    return att_vocab_token(session->model->source_vocab,
                           session->source_ids[source * session->source_length + index]);
}

const char *att_session_token(const att_session *session, int64_t source, int32_t token)
{
    int32_t size = att_vocab_size(session->model->target_vocab);
    if (token < size)
        return token < 0 ? NULL : att_vocab_token(session->model->target_vocab, token);
    bool copies = session->copy_counts.count > 0;
    if (!copies || source < 0 || source >= session->sources ||
        token - size >= session->copy_counts.items[source])
        return NULL;
    int64_t index = token - size;
    for (int64_t r = 0; r < source; r++)
        index += session->copy_counts.items[r];
    const char *word = session->copy_words.data;
    while (index-- > 0)
        word += strlen(word) + 1;
    return word;
}
