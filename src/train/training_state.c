/* The state of a training run: the history of validations, and its JSON form in checkpoints and
 * models. */
#include "train/training_state.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "base/math.h"
#include "base/minmax.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

void att_training_state_free(att_training_state *state)
{
    att_free(state->history);
    *state = (att_training_state){ 0 };
}

const att_validation *att_training_state_last(const att_training_state *state)
{
    return state->history_count > 0 ? &state->history[state->history_count - 1] : NULL;
}

const att_validation *att_training_state_best(const att_training_state *state)
{
    return state->best_validation > 0 ? &state->history[state->best_validation - 1] : NULL;
}

int64_t att_training_state_epoch(const att_training_state *state)
{
    return state->epoch + (state->epoch_batches > 0 || state->epoch == 0);
}

double att_validation_metric(const att_validation *validation, att_best_metric by)
{
    switch (by) {
    case ATT_BEST_METRIC_TOKENS:
        return validation->token_error_rate;
    case ATT_BEST_METRIC_LINES:
        return 1 - validation->exact_match;
    case ATT_BEST_METRIC_BLEU: /* validations before BLEU was chosen have none */
        return isnan(validation->bleu) ? INFINITY : -validation->bleu;
    case ATT_BEST_METRIC_F1: /* labels such as parts of speech form no spans */
        return isnan(validation->f1) ? validation->token_error_rate : 1 - validation->f1;
    case ATT_BEST_METRIC_LOSS:
        break;
    }
    return isnan(validation->loss) ? INFINITY : validation->loss;
}

/* Equal metrics are common near the end of a simple task; the loss decides then. Where no label of
 * the validation data is known, nothing decides: the newer one has been trained for longer. */
bool att_validation_is_better(const att_validation *a, const att_validation *b, att_best_metric by)
{
    double one = att_validation_metric(a, by), other = att_validation_metric(b, by);
    return one < other || (one == other && (a->loss < b->loss || isnan(a->loss)));
}

att_status att_training_state_add_validation(att_training_state *state,
                                             const att_validation *validation, att_best_metric by,
                                             bool *better, att_error *err)
{
    if (state->history_count == state->history_capacity) {
        size_t count = (size_t)state->history_count, bigger = count ? 2 * count : 32;
        att_validation *moved =
            att_realloc(state->history, count * sizeof *moved, bigger, sizeof *moved);
        if (!moved)
            return att_fail_memory(err);
        state->history = moved;
        state->history_capacity = (int64_t)bigger;
    }
    const att_validation *best = att_training_state_best(state);
    *better = !best || att_validation_is_better(validation, best, by);
    state->history[state->history_count] = *validation;
    state->history[state->history_count++].perplexity = att_exp(validation->loss);
    if (*better)
        state->best_validation = state->history_count;
    state->interval_loss = 0;
    state->interval_tokens = state->interval_correct = 0;
    return ATT_OK;
}

/* ---- JSON */

/* More than a run can count, and small enough that a run cannot count on to an overflow. */
#define COUNTER_MAX (INT64_C(1) << 60)

/* One member of a struct, and its key. */
typedef struct field {
    const char *name; /* NULL ends a table */
    size_t offset;
    enum {
        FIELD_COUNTER, /* an integer, 0 to COUNTER_MAX */
        FIELD_HASH,    /* any integer */
        FIELD_NUMBER,
        FIELD_OPTIONAL /* a number; left out if it is NaN */
    } type;
} field;

#define FIELD(type, name, of, member)                                                              \
    {                                                                                              \
        name, offsetof(of, member), FIELD_##type                                                   \
    }

/* The record of the training, shown by attend info. */
static const field state_fields[] = {
    FIELD(COUNTER, "steps", att_training_state, step),
    FIELD(COUNTER, "tokens", att_training_state, tokens),
    FIELD(COUNTER, "train_examples", att_training_state, train_pairs),
    FIELD(COUNTER, "valid_examples", att_training_state, valid_pairs),
    FIELD(COUNTER, "averaged_checkpoints", att_training_state, averaged_checkpoints),
    FIELD(COUNTER, "best_validation", att_training_state, best_validation),
    { 0 },
};

/* Further fields that resuming needs. */
static const field resume_fields[] = {
    FIELD(COUNTER, "epoch", att_training_state, epoch),
    FIELD(COUNTER, "epoch_batch", att_training_state, epoch_batches),
    FIELD(COUNTER, "batches", att_training_state, batches),
    FIELD(NUMBER, "since_loss", att_training_state, interval_loss),
    FIELD(COUNTER, "since_tokens", att_training_state, interval_tokens),
    FIELD(COUNTER, "since_correct", att_training_state, interval_correct),
    FIELD(NUMBER, "plateau_best", att_training_state, plateau.best),
    FIELD(COUNTER, "plateau_validations", att_training_state, plateau.validations),
    FIELD(COUNTER, "plateau_bad_validations", att_training_state, plateau.bad_validations),
    FIELD(COUNTER, "plateau_reductions", att_training_state, plateau.reductions),
    FIELD(HASH, "data_hash", att_training_state, data_hash),
    { 0 },
};

static const field validation_fields[] = {
    FIELD(COUNTER, "step", att_validation, step),
    FIELD(COUNTER, "epoch", att_validation, epoch),
    FIELD(NUMBER, "learning_rate", att_validation, learning_rate),
    FIELD(NUMBER, "train_loss", att_validation, train_loss),
    FIELD(NUMBER, "train_accuracy", att_validation, train_accuracy),
    FIELD(OPTIONAL, "loss", att_validation, loss),
    FIELD(NUMBER, "accuracy", att_validation, accuracy),
    FIELD(NUMBER, "exact_match", att_validation, exact_match),
    FIELD(NUMBER, "token_error_rate", att_validation, token_error_rate),
    FIELD(OPTIONAL, "bleu", att_validation, bleu),
    FIELD(OPTIONAL, "bits_per_character", att_validation, bits_per_character),
    FIELD(OPTIONAL, "truncated_outputs", att_validation, truncated_outputs),
    FIELD(OPTIONAL, "f1", att_validation, f1),
    { 0 },
};

/* ---- writing. Numbers keep every bit, so that a resumed run computes the same as one that was
 * never interrupted. */

static void put_fields(att_json_writer *out, const field *fields, const void *from)
{
    for (; fields->name; fields++) {
        const void *member = (const char *)from + fields->offset;
        if (fields->type == FIELD_COUNTER || fields->type == FIELD_HASH)
            att_json_put_integer(out, fields->name, *(const int64_t *)member);
        else if (fields->type == FIELD_NUMBER || !isnan(*(const double *)member))
            att_json_put_number(out, fields->name, *(const double *)member);
    }
}

static void put_history(att_json_writer *out, const att_training_state *state)
{
    att_json_begin_array(out, "history");
    for (int64_t i = 0; i < state->history_count; i++) {
        att_json_begin_object(out, NULL);
        put_fields(out, validation_fields, &state->history[i]);
        att_json_end(out);
    }
    att_json_end(out);
}

att_status att_training_state_to_json(att_string *out, const att_training_state *state,
                                      att_error *err)
{
    att_json_writer json = att_json_begin(out, ATT_JSON_EXACT);
    att_json_begin_object(&json, NULL);
    put_fields(&json, state_fields, state);
    att_json_begin_object(&json, "resume");
    put_fields(&json, resume_fields, state);
    att_json_end(&json);
    put_history(&json, state);
    att_json_end(&json);
    return att_json_finish(&json, "the training state", err);
}

/* ---- reading */

static att_status check_range(const char *key, int64_t found, int64_t max, const char *name,
                              att_error *err)
{
    if (found >= 0 && found <= max)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, name, "\"%s\" is %lld, expected 0 to %lld", key,
                    (long long)found, (long long)max);
}

static att_status get_fields(void *to, const field *fields, const att_json *object,
                             const char *name, att_error *err)
{
    for (; fields->name; fields++) {
        void *member = (char *)to + fields->offset;
        if (fields->type == FIELD_COUNTER || fields->type == FIELD_HASH)
            ATT_TRY(att_json_get_integer(member, object, fields->name, name, err));
        else if (fields->type == FIELD_OPTIONAL && !att_json_find(object, fields->name))
            *(double *)member = NAN;
        else
            ATT_TRY(att_json_get_number(member, object, fields->name, name, err));
        if (fields->type == FIELD_COUNTER)
            ATT_TRY(check_range(fields->name, *(const int64_t *)member, COUNTER_MAX, name, err));
    }
    return ATT_OK;
}

static att_status get_history(att_training_state *state, const att_json *root, const char *name,
                              att_error *err)
{
    const att_json *list, *row;
    ATT_TRY(att_json_get(&list, root, "history", ATT_JSON_ARRAY, name, err));
    state->history = att_alloc_zero(list->count, sizeof *state->history);
    if (!state->history)
        return att_fail_memory(err);
    state->history_count = state->history_capacity = (int64_t)list->count;
    for (size_t i = 0; i < list->count; i++) {
        ATT_TRY(att_json_get_item(&row, list, i, ATT_JSON_OBJECT, name, err));
        ATT_TRY(get_fields(&state->history[i], validation_fields, row, name, err));
        state->history[i].perplexity = att_exp(state->history[i].loss);
    }
    return ATT_OK;
}

/* Refuses counters that contradict each other, and a best validation that is not in the history. */
static att_status check_counters(const att_training_state *state, const char *name, att_error *err)
{
    const att_plateau *plateau = &state->plateau;
    const struct {
        const char *key;
        int64_t found, max;
    } rows[] = {
        { "steps", state->step, state->batches },
        { "epoch", state->epoch, state->batches },
        { "epoch_batch", state->epoch_batches, state->batches },
        { "since_tokens", state->interval_tokens, state->tokens },
        { "since_correct", state->interval_correct, state->interval_tokens },
        { "plateau_validations", plateau->validations, state->history_count },
        { "plateau_bad_validations", plateau->bad_validations, plateau->validations },
        { "plateau_reductions", plateau->reductions, plateau->validations },
        { "averaged_checkpoints", state->averaged_checkpoints, state->history_count },
    };
    for (size_t i = 0; i < ATT_COUNT(rows); i++)
        ATT_TRY(check_range(rows[i].key, rows[i].found, rows[i].max, name, err));
    for (int64_t i = 0; i < state->history_count; i++) {
        const att_validation *row = &state->history[i];
        ATT_TRY(check_range("step", row->step, state->step, name, err));
        ATT_TRY(check_range("epoch", row->epoch, att_training_state_epoch(state), name, err));
    }
    if (state->best_validation > state->history_count)
        return att_fail(err, ATT_BAD_INPUT, name,
                        "the best validation is number %lld, but there are only %lld",
                        (long long)state->best_validation, (long long)state->history_count);
    return ATT_OK;
}

static att_status get_state(att_training_state *out, const att_json *root, const char *name,
                            att_error *err)
{
    const att_json *resume;
    ATT_TRY(get_fields(out, state_fields, root, name, err));
    ATT_TRY(att_json_get(&resume, root, "resume", ATT_JSON_OBJECT, name, err));
    ATT_TRY(get_fields(out, resume_fields, resume, name, err));
    ATT_TRY(get_history(out, root, name, err));
    return check_counters(out, name, err);
}

att_status att_training_state_from_json(att_training_state *out, const char *json, const char *name,
                                        att_error *err)
{
    *out = (att_training_state){ 0 };
    att_json_doc doc;
    att_error cause = { 0 };
    att_status status = att_json_read(&doc, json, strlen(json), name, NULL, &cause);
    if (status == ATT_OK)
        status = get_state(out, doc.root, name, &cause);
    att_json_free(&doc);
    if (status == ATT_OK)
        return ATT_OK;
    att_training_state_free(out);
    return att_json_fail_in(err, &cause, "the training state", name);
}
