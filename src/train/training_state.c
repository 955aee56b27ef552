/* The state of a run as a plain struct, and as JSON; see state.h. */
#include "train/training_state.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/string.h"

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

static double metric_value(const att_validation *validation, att_best_metric by)
{
    switch (by) {
    case ATT_BEST_METRIC_TOKENS:
        return validation->token_error_rate;
    case ATT_BEST_METRIC_LINES:
        return 1 - validation->exact_match;
    case ATT_BEST_METRIC_BLEU: /* what was validated before BLEU was asked for has none */
        return isnan(validation->bleu) ? INFINITY : -validation->bleu;
    case ATT_BEST_METRIC_LOSS:
        break;
    }
    return validation->loss;
}

/* Equal scores are common near the end of a simple task; the loss decides then. */
static bool is_better(const att_validation *a, const att_validation *b, att_best_metric by)
{
    double one = metric_value(a, by), other = metric_value(b, by);
    return one < other || (one == other && a->loss < b->loss);
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
    *better = !best || is_better(validation, best, by);
    state->history[state->history_count++] = *validation;
    if (*better)
        state->best_validation = state->history_count;
    state->interval_loss = 0;
    state->interval_tokens = state->interval_correct = 0;
    return ATT_OK;
}

/* ---- JSON */

#ifdef ATT_HAVE_JANSSON
#include <jansson.h>

/* One member of a struct: an int64_t, a double, or one that is left out where it is no number. */
typedef struct field {
    const char *name; /* NULL ends a table */
    size_t offset;
    enum { FIELD_WHOLE, FIELD_REAL, FIELD_MAYBE } kind;
} field;

#define WHOLE(name, member)                                                                        \
    {                                                                                              \
        name, offsetof(att_training_state, member), FIELD_WHOLE                                    \
    }
#define REAL(name, member)                                                                         \
    {                                                                                              \
        name, offsetof(att_training_state, member), FIELD_REAL                                     \
    }

/* What a reader of the model wants to know. */
static const field state_fields[] = {
    WHOLE("steps", step),
    WHOLE("tokens", tokens),
    WHOLE("train-pairs", train_pairs),
    WHOLE("valid-pairs", valid_pairs),
    WHOLE("averaged", averaged_checkpoints),
    WHOLE("best", best_validation),
    { 0 },
};

/* What else it takes to go on. */
static const field resume_fields[] = {
    WHOLE("epoch", epoch),
    WHOLE("position", epoch_batches),
    WHOLE("batches", batches),
    REAL("since-loss", interval_loss),
    WHOLE("since-tokens", interval_tokens),
    WHOLE("since-right", interval_correct),
    REAL("plateau-best", plateau.best),
    WHOLE("plateau-seen", plateau.validations),
    WHOLE("plateau-waited", plateau.bad_validations),
    WHOLE("plateau-cuts", plateau.reductions),
    WHOLE("data", data_hash),
    { 0 },
};

#undef WHOLE
#undef REAL
#define MAYBE(name, member)                                                                        \
    {                                                                                              \
        name, offsetof(att_validation, member), FIELD_MAYBE                                        \
    }
#define WHOLE(name, member)                                                                        \
    {                                                                                              \
        name, offsetof(att_validation, member), FIELD_WHOLE                                        \
    }
#define REAL(name, member)                                                                         \
    {                                                                                              \
        name, offsetof(att_validation, member), FIELD_REAL                                         \
    }

static const field validation_fields[] = {
    WHOLE("step", step),
    WHOLE("epoch", epoch),
    REAL("learning-rate", learning_rate),
    REAL("train-loss", train_loss),
    REAL("train-accuracy", train_accuracy),
    REAL("loss", loss),
    REAL("accuracy", accuracy),
    REAL("exact", exact_match),
    REAL("errors", token_error_rate),
    MAYBE("bleu", bleu),
    MAYBE("bits", bits_per_character),
    { 0 },
};

/* ---- writing: a double is written with 17 digits, which is exact. What runs out of memory gives
 * NULL, which the setters of jansson refuse. */

static json_t *fields_json(const field *fields, const void *from)
{
    json_t *object = json_object();
    bool good = object != NULL;
    for (; good && fields->name; fields++) {
        const void *member = (const char *)from + fields->offset;
        bool whole = fields->kind == FIELD_WHOLE;
        if (fields->kind == FIELD_MAYBE && isnan(*(const double *)member))
            continue;
        json_t *value =
            whole ? json_integer(*(const int64_t *)member) : json_real(*(const double *)member);
        good = json_object_set_new(object, fields->name, value) == 0;
    }
    if (good)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *history_json(const att_training_state *state)
{
    json_t *list = json_array();
    bool good = list != NULL;
    for (int64_t i = 0; good && i < state->history_count; i++)
        good = json_array_append_new(list, fields_json(validation_fields, &state->history[i])) == 0;
    if (good)
        return list;
    json_decref(list);
    return NULL;
}

static int add_to_text(const char *bytes, size_t size, void *out)
{
    return att_string_append(out, bytes, size) == ATT_OK ? 0 : -1;
}

att_status att_training_state_to_json(att_string *out, const att_training_state *state,
                                      att_error *err)
{
    size_t before = out->length;
    json_t *root = fields_json(state_fields, state);
    bool good = root &&
                json_object_set_new(root, "resume", fields_json(resume_fields, state)) == 0 &&
                json_object_set_new(root, "history", history_json(state)) == 0 &&
                json_dump_callback(root, add_to_text, out, JSON_COMPACT) == 0;
    json_decref(root);
    if (good)
        return ATT_OK;
    out->length = before;
    return att_fail_memory(err);
}

/* ---- reading */

static att_status read_fields(void *to, const field *fields, const json_t *object, const char *name,
                              att_error *err)
{
    for (; fields->name; fields++) {
        const json_t *value = json_object_get(object, fields->name);
        void *member = (char *)to + fields->offset;
        bool whole = fields->kind == FIELD_WHOLE;
        if (!value && fields->kind == FIELD_MAYBE)
            *(double *)member = NAN;
        else if (!whole && json_is_number(value))
            *(double *)member = json_number_value(value);
        else if (whole && json_is_integer(value))
            *(int64_t *)member = json_integer_value(value);
        else
            return att_fail(err, ATT_BAD_INPUT, name,
                            "its record of training lacks the number '%s'", fields->name);
    }
    return ATT_OK;
}

static att_status read_history(att_training_state *state, const json_t *list, const char *name,
                               att_error *err)
{
    size_t count = json_array_size(list);
    if (!json_is_array(list))
        return att_fail(err, ATT_BAD_INPUT, name, "its record of training has no history");
    state->history = att_alloc_zero(count, sizeof *state->history);
    if (!state->history)
        return att_fail_memory(err);
    state->history_count = state->history_capacity = (int64_t)count;
    for (size_t i = 0; i < count; i++)
        ATT_TRY(
            read_fields(&state->history[i], validation_fields, json_array_get(list, i), name, err));
    return ATT_OK;
}

/* Whatever a stranger's file says, counters count and the best is one of the history. */
static att_status check_counters(const att_training_state *state, const char *name, att_error *err)
{
    const int64_t counters[] = { state->step,
                                 state->epoch,
                                 state->epoch_batches,
                                 state->batches,
                                 state->tokens,
                                 state->interval_tokens,
                                 state->interval_correct,
                                 state->plateau.bad_validations,
                                 state->plateau.reductions,
                                 state->best_validation,
                                 state->averaged_checkpoints };
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
        if (counters[i] < 0)
            return att_fail(err, ATT_BAD_INPUT, name, "its record of training counts below 0");
    if (state->best_validation > state->history_count)
        return att_fail(err, ATT_BAD_INPUT, name,
                        "its record of training has %lld validations, of which number %lld is the "
                        "best",
                        (long long)state->history_count, (long long)state->best_validation);
    return ATT_OK;
}

att_status att_training_state_from_json(att_training_state *out, const char *json, const char *name,
                                        att_error *err)
{
    *out = (att_training_state){ 0 };
    json_error_t why;
    json_t *root = json_loads(json, JSON_REJECT_DUPLICATES, &why);
    att_status status = json_is_object(root) ? read_fields(out, state_fields, root, name, err)
                                             : att_fail(err, ATT_BAD_INPUT, name,
                                                        "its record of training is no JSON object");
    if (status == ATT_OK)
        status = read_fields(out, resume_fields, json_object_get(root, "resume"), name, err);
    if (status == ATT_OK)
        status = read_history(out, json_object_get(root, "history"), name, err);
    if (status == ATT_OK)
        status = check_counters(out, name, err);
    json_decref(root);
    if (status != ATT_OK)
        att_training_state_free(out);
    return status;
}

#else

att_status att_training_state_to_json(att_string *out, const att_training_state *state,
                                      att_error *err)
{
    (void)out;
    (void)state;
    return att_fail(err, ATT_UNSUPPORTED, NULL, "this build cannot write models: it lacks jansson");
}

att_status att_training_state_from_json(att_training_state *out, const char *json, const char *name,
                                        att_error *err)
{
    (void)json;
    *out = (att_training_state){ 0 };
    return att_fail(err, ATT_UNSUPPORTED, name, "this build cannot read models: it lacks jansson");
}

#endif
