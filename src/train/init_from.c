/* Fine-tuning: a run that starts from the weights of another model (setting init-from). What
 * determines the architecture must be the same; the vocabulary is kept or extended. */
#include "train/training.h"

#include "base/error.h"
#include "base/minmax.h"
#include "base/string.h"
#include "tensor/tensor.h"

#include <math.h>
#include <string.h>

/* Groups of settings that are taken from the model where they are not given, and must not differ.
 */
static const char *const taken_groups[] = { "tokens", "model",      "rnn",    "transformer",
                                            "cnn",    "classifier", "tagger", "images" };

/* Keys of these groups that have nothing to do with the weights: they are left alone. */
static const char *const other_keys[] = {
    "init-from",         "init-vocab",     "init-range", "preset",           "features",
    "valid-features",    "features-scale", "image-size", "guided-alignment", "attention-dropout",
    "embedding-dropout", "min-count",      "max-length", "vectors",          "vectors-tune"
};

/* Taken over, but another value may be given. */
static const char *const free_keys[] = { "sequence-length" };

static bool is_listed(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* Takes over one setting of the model, or refuses another value. */
static att_status take_setting(att_settings *settings, const att_model *model, const char *key,
                               att_error *err)
{
    att_string own = { 0 }, other = { 0 };
    att_status status = att_settings_get(&own, settings, key, err);
    if (status == ATT_OK)
        status = att_settings_get(&other, model->settings, key, err);
    bool given = att_settings_is_given(settings, key);
    if (status == ATT_OK && !given && other.length > 0)
        status = att_settings_set_from(settings, key, other.data, ATT_FROM_MODEL, err);
    if (status == ATT_OK && given && !is_listed(key, free_keys, ATT_COUNT(free_keys)) &&
        (own.length != other.length || memcmp(own.data, other.data, own.length) != 0))
        status = att_fail(err, ATT_BAD_INPUT, settings->init_from,
                          "has %s %s, found %s: a model is fine-tuned with the tokens and the "
                          "architecture that it has",
                          key, other.length > 0 ? other.data : "(none)",
                          own.length > 0 ? own.data : "(none)");
    att_string_free(&own);
    att_string_free(&other);
    return status;
}

static att_status take_settings(att_settings *settings, const att_model *model, att_error *err)
{
    const att_setting *row;
    for (size_t i = 0; (row = att_setting_get(i)) != NULL; i++)
        if (is_listed(row->group, taken_groups, ATT_COUNT(taken_groups)) &&
            !is_listed(row->key, other_keys, ATT_COUNT(other_keys)) &&
            att_settings_applies(model->settings, row))
            ATT_TRY(take_setting(settings, model, row->key, err));
    return ATT_OK;
}

static att_status check_extendable(const att_settings *settings, const att_vocab *vocab,
                                   att_error *err)
{
    if (settings->init_vocab != ATT_INIT_VOCAB_EXTEND || !vocab)
        return ATT_OK;
    if (settings->joint && settings->source_tokens != settings->target_tokens)
        return att_fail(err, ATT_BAD_INPUT, settings->init_from,
                        "shares tokens of different kinds (joint): init-vocab extend is for sides "
                        "of one kind, expected keep");
    if (!att_vocab_is_subword(vocab))
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, settings->init_from,
                    "has %s, which spell every text: init-vocab extend has no use here, expected "
                    "keep",
                    att_tokenizer_specs[att_vocab_tokenizer_kind(vocab)].unit);
}

att_status att_init_from_settings(att_settings *settings, const att_model *model, att_error *err)
{
    att_model_type type = att_settings_model_type(settings);
    if (att_model_type_get(model) != type)
        return att_fail(err, ATT_BAD_INPUT, settings->init_from, "is %s, but the task trains %s",
                        att_model_type_phrase(att_model_type_get(model)),
                        att_model_type_phrase(type));
    ATT_TRY(take_settings(settings, model, err));
    ATT_TRY(check_extendable(settings, model->source_vocab, err));
    return check_extendable(settings, model->target_vocab, err);
}

/* ---- weights */

static att_status refuse_shape(const att_param *to, const att_param *from, const char *name,
                               att_error *err)
{
    char found[ATT_SHAPE_STRING_SIZE], expected[ATT_SHAPE_STRING_SIZE];
    return att_fail(err, ATT_BAD_INPUT, name, "the tensor '%s': expected shape %s, found %s",
                    to->name, att_shape_to_string(expected, to->rank, to->shape),
                    att_shape_to_string(found, from->rank, from->shape));
}

/* Where the rows of a vocabulary go that grows: new tokens follow the old ones, but tags are the
 * last, so that those of the old vocabulary move. */
typedef struct row_shift {
    int64_t from; /* the first row that moves, */
    int64_t by;   /* and by how many rows */
} row_shift;

/* Copies a tensor into one that is as large or larger, where a dimension that grew is that of the
 * vocabulary. */
static void copy_block(float *to, const int64_t *to_shape, const float *from,
                       const int64_t *from_shape, int rank, row_shift shift)
{
    int64_t to_stride = 1, from_stride = 1, rows = from_shape[0];
    int64_t still = to_shape[0] > rows ? att_min_i64(shift.from, rows) : rows;
    for (int i = 1; i < rank; i++) {
        to_stride *= to_shape[i];
        from_stride *= from_shape[i];
    }
    for (int64_t row = 0; row < rows; row++) {
        float *into = to + (row < still ? row : row + shift.by) * to_stride;
        if (rank == 1)
            *into = from[row];
        else
            copy_block(into, to_shape + 1, from + row * from_stride, from_shape + 1, rank - 1,
                       shift);
    }
}

static row_shift shift_of(const att_vocab *old, const att_vocab *new)
{
    int64_t before = att_vocab_size(old) - att_vocab_tag_count(old);
    return (row_shift){ before, att_vocab_size(new) - att_vocab_tag_count(new) - before };
}

/* Only the vocabulary of the source has tags; with `joint`, every table is of that one. */
static row_shift shift_for(const att_param *param, const att_model *to, const att_model *from)
{
    bool source = to->settings->joint || strncmp(param->name, "source.", strlen("source.")) == 0;
    if (!source || !from->source_vocab || !att_vocab_has_tags(from->source_vocab))
        return (row_shift){ INT64_MAX, 0 };
    return shift_of(from->source_vocab, to->source_vocab);
}

static att_status copy_param(att_model *to, int index, const att_model *from, bool extended,
                             const char *name, att_error *err)
{
    const att_param *param = &to->params.items[index];
    int found = att_params_find(&from->params, param->name);
    if (found < 0)
        return att_fail(err, ATT_BAD_INPUT, name, "has no tensor '%s'", param->name);
    const att_param *old = &from->params.items[found];
    bool same = param->rank == old->rank, larger = same;
    for (int i = 0; i < param->rank && same; i++)
        same = param->shape[i] == old->shape[i];
    for (int i = 0; i < param->rank && larger; i++)
        larger = param->shape[i] >= old->shape[i];
    if (!same && !(extended && larger))
        return refuse_shape(param, old, name, err);
    att_tensor into = att_param_view(&to->params, index);
    att_tensor values = att_param_view(&from->params, found);
    copy_block(into.data, param->shape, values.data, old->shape, param->rank,
               shift_for(param, to, from));
    return ATT_OK;
}

att_status att_init_from_values(att_training *training, const att_model *model, att_error *err)
{
    const att_settings *settings = training->settings;
    bool extended = settings->init_vocab == ATT_INIT_VOCAB_EXTEND;
    att_params *params = &training->model->params;
    for (int i = 0; i < params->count; i++)
        ATT_TRY(copy_param(training->model, i, model, extended, settings->init_from, err));
    att_params_mark_changed(params);
    att_output_length *length = &training->model->output_length;
    length->ratio = fmax(length->ratio, model->output_length.ratio);
    length->excess = fmax(length->excess, model->output_length.excess);
    return ATT_OK;
}
