/* Teacher forcing of an ensemble through a decoding session, one step for all rows of a batch. */
#include "eval/ensemble_loss.h"

#include "base/alloc.h"
#include "base/error.h"
#include "model/layer_check.h"
#include "model/log_softmax.h"

/* The rows of the batch whose references have not ended yet. */
typedef struct teacher_forcing {
    const att_batch *batch;
    int64_t rows;
    int64_t *batch_row; /* [rows] their index in the batch */
    int64_t *order;     /* [rows] their index in the previous step */
    int32_t *tokens;    /* [rows] reference tokens fed to the decoder */
} teacher_forcing;

/* Drops the rows that end before position t, and fetches the input tokens of the others. */
static void keep_unfinished_rows(teacher_forcing *f, int64_t t)
{
    const att_batch *batch = f->batch;
    int64_t kept = 0;
    for (int64_t i = 0; i < f->rows; i++) {
        int64_t row = f->batch_row[i];
        if (t >= batch->target_lengths[row])
            continue;
        f->order[kept] = i;
        f->batch_row[kept] = row;
        f->tokens[kept++] = batch->target_in[row * batch->target_length + t];
    }
    f->rows = kept;
}

static void accumulate_step(att_loss_result *result, const teacher_forcing *f, int64_t t,
                            const float *log_probs, int64_t vocabulary)
{
    for (int64_t i = 0; i < f->rows; i++) { /* tokens of other sources, if any, are impossible */
        const float *of_row = log_probs + i * vocabulary;
        int32_t target = f->batch->target_out[f->batch_row[i] * f->batch->target_length + t];
        att_loss_result_add(result, f->batch_row[i], -of_row[target], target,
                            att_argmax(of_row, vocabulary) == target);
    }
}

static att_status run_steps(teacher_forcing *f, att_loss_result *result, att_session *session,
                            att_error *err)
{
    const att_batch *batch = f->batch;
    const att_sources sources = att_batch_sources(batch);
    ATT_TRY(att_session_start(session, &sources, false, err));
    f->rows = batch->rows;
    for (int64_t i = 0; i < batch->rows; i++)
        f->batch_row[i] = i;
    for (int64_t t = 0; t < batch->target_length; t++) {
        att_decoder_output decoded;
        keep_unfinished_rows(f, t);
        att_status status =
            att_session_advance(session, f->rows, f->tokens, f->order, &decoded, err);
        att_layer_error_line(status, f->batch_row, err);
        ATT_TRY(status);
        accumulate_step(result, f, t, decoded.log_probs, session->vocab_size);
    }
    return ATT_OK;
}

att_status att_ensemble_loss(att_loss_result *result, att_session *session, const att_batch *batch,
                             att_error *err)
{
    size_t rows = (size_t)batch->rows;
    teacher_forcing f = { .batch = batch,
                          .batch_row = att_alloc(rows, sizeof *f.batch_row),
                          .order = att_alloc(rows, sizeof *f.order),
                          .tokens = att_alloc(rows, sizeof *f.tokens) };
    att_status status = f.batch_row && f.order && f.tokens ? run_steps(&f, result, session, err)
                                                           : att_fail_memory(err);
    att_free(f.batch_row);
    att_free(f.order);
    att_free(f.tokens);
    return status;
}
