/* References followed by an ensemble; see follow.h. */
#include "metrics/follow.h"

#include "base/alloc.h"
#include "base/error.h"
#include "model/output.h"

/* Rows of the batch whose reference goes on. */
typedef struct following {
    const att_batch *batch;
    int64_t rows;
    int64_t *row;    /* [rows] of the batch */
    int64_t *order;  /* [rows] where each was among those of the step before */
    int32_t *tokens; /* [rows] */
} following;

/* Drops the rows that have no token at place t, and takes the tokens that the others are fed. */
static void plan(following *f, int64_t t)
{
    const att_batch *batch = f->batch;
    int64_t kept = 0;
    for (int64_t i = 0; i < f->rows; i++) {
        int64_t row = f->row[i];
        if (t >= batch->target_lengths[row])
            continue;
        f->order[kept] = i;
        f->row[kept] = row;
        f->tokens[kept++] = batch->target_in[row * batch->target_length + t];
    }
    f->rows = kept;
}

static void add_step(att_lesson_result *result, const following *f, int64_t t,
                     const float *log_probs, int64_t vocabulary)
{
    for (int64_t i = 0; i < f->rows; i++) {
        const float *of_row = log_probs + i * vocabulary;
        int32_t target = f->batch->target_out[f->row[i] * f->batch->target_length + t];
        att_lesson_add(result, f->row[i], -of_row[target], target,
                       att_largest_place(of_row, vocabulary) == target);
    }
}

static att_status follow_all(following *f, att_lesson_result *result, att_ensemble *ensemble,
                             att_error *err)
{
    const att_batch *batch = f->batch;
    const att_sources sources = att_batch_sources(batch);
    ATT_TRY(att_ensemble_start(ensemble, &sources, false, err));
    f->rows = batch->rows;
    for (int64_t i = 0; i < batch->rows; i++)
        f->row[i] = i;
    for (int64_t t = 0; t < batch->target_length; t++) {
        att_decoded decoded;
        plan(f, t);
        ATT_TRY(att_ensemble_step(ensemble, f->rows, f->tokens, f->order, &decoded, err));
        add_step(result, f, t, decoded.log_probs, att_ensemble_vocabulary(ensemble));
    }
    return ATT_OK;
}

att_status att_follow(att_lesson_result *result, att_ensemble *ensemble, const att_batch *batch,
                      att_error *err)
{
    size_t rows = (size_t)batch->rows;
    following f = { .batch = batch,
                    .row = att_alloc(rows, sizeof *f.row),
                    .order = att_alloc(rows, sizeof *f.order),
                    .tokens = att_alloc(rows, sizeof *f.tokens) };
    att_status status =
        f.row && f.order && f.tokens ? follow_all(&f, result, ensemble, err) : att_fail_memory(err);
    att_free(f.row);
    att_free(f.order);
    att_free(f.tokens);
    return status;
}
