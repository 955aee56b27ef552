/* Loading data of every type of model; see data.h. */
#include "data/data.h"

#include "base/error.h"
#include "base/minmax.h"
#include "base/number.h"
#include "base/quote.h"
#include "settings/setting_specs.h"
#include "data/batch_lm.h"
#include "data/data_loaders.h"
#include "data/prepared.h"

#include <string.h>

static const att_data_loader *const loaders[ATT_MODEL_TYPES] = {
    [ATT_MODEL_SEQ2SEQ] = &att_seq2seq_data,       [ATT_MODEL_LM] = &att_lm_data,
    [ATT_MODEL_CLASSIFIER] = &att_classifier_data, [ATT_MODEL_CAPTION] = &att_caption_data,
    [ATT_MODEL_TAGGER] = &att_tagger_data,
};

att_status att_data_finish_vocab(att_vocab *vocab, int32_t **final, const att_settings *settings,
                                 att_error *err)
{
    *final = NULL;
    att_tokenizer_kind tokens = att_vocab_tokenizer_kind(vocab);
    if (tokens == ATT_TOKENIZER_BYTE) {
        att_vocab_sort_tags(vocab);
        return ATT_OK;
    }
    if (tokens == ATT_TOKENIZER_BPE)
        return att_vocab_train_bpe(vocab, settings->bpe_merges, settings->min_count, err);
    bool label = tokens == ATT_TOKENIZER_LINE && !settings->joint;
    return att_vocab_finalize(vocab, label ? 1 : settings->min_count, final, err);
}

att_status att_data_start_vocab(att_vocab **out, const att_data *data, const att_vocab *initial,
                                att_tokenizer_kind kind, bool lower, att_error *err)
{
    return att_data_keeps_vocab(data) ? att_vocab_clone(out, initial, err)
                                      : att_vocab_new(out, kind, lower, err);
}

att_status att_data_extend_vocab(att_vocab **vocab, const att_vocab *initial, int64_t *added,
                                 att_error *err)
{
    att_vocab *extended;
    ATT_TRY(att_vocab_clone(&extended, initial, err));
    att_status status = att_vocab_extend(extended, *vocab, added, err);
    att_vocab_free(status == ATT_OK ? *vocab : extended);
    if (status == ATT_OK)
        *vocab = extended;
    return status;
}

att_status att_data_load(att_data *out, att_settings *settings, att_error *err)
{
    return att_data_load_initial(out, settings, NULL, err);
}

/* Refuses data for fine-tuning that are mostly tokens which the model lacks: it would read and
 * write unknown tokens alone. Bytes that spell everything are never unknown, and unknown words of a
 * sentence are seen by their characters where the model has such features. */
static att_status refuse_foreign(const att_data *data, const att_settings *settings, att_error *err)
{
    const att_corpus_stats *stats = &data->train.stats;
    bool spelled = settings->char_features != ATT_CHAR_FEATURES_NONE && data->train.has_labels;
    bool target = 2 * stats->target.unknown_tokens > stats->target.tokens;
    bool source = 2 * stats->source.unknown_tokens > stats->source.tokens && !spelled;
    if (!att_data_keeps_vocab(data) || !(target || source))
        return ATT_OK;
    const att_sequence_stats *side = target ? &stats->target : &stats->source;
    const char *examples =
        target && data->unknown_targets.length > 0 ? data->unknown_targets.data : NULL;
    return att_fail(
        err, ATT_BAD_INPUT, settings->train ? settings->train : settings->source,
        "%lld of %lld %stokens are not in the vocabulary of the model in init-from%s%s; "
        "init-vocab extend adds them",
        (long long)side->unknown_tokens, (long long)side->tokens,
        !data->source_vocab ? ""
        : target            ? "target "
                            : "source ",
        examples ? ", such as " : "", examples ? examples : "");
}

att_status att_data_load_initial(att_data *out, att_settings *settings,
                                 const att_initial_vocabs *initial, att_error *err)
{
    *out = (att_data){ .model_type = att_settings_model_type(settings), .initial = initial };
    const char *prepared;
    att_status status = att_prepared_path(&prepared, settings, err);
    if (status == ATT_OK)
        status = prepared ? att_prepared_load(out, settings, err)
                          : loaders[out->model_type]->load(out, settings, err);
    if (status == ATT_OK)
        status = refuse_foreign(out, settings, err);
    out->initial = NULL;
    if (status != ATT_OK)
        att_data_free(out);
    return status;
}

/* The first file that reading would open because the settings name it; NULL: none. */
static const char *recorded_file(const att_data_read_options *options)
{
    const att_settings *s = options->settings;
    bool captions = att_settings_model_type(s) == ATT_MODEL_CAPTION;
    const char *const own[] = { s->valid, s->valid_source, s->train, s->source };
    for (size_t i = 0; !options->path && i < ATT_COUNT(own); i++)
        if (own[i])
            return own[i];
    double number;
    bool own_features = captions && !(options->path && options->features);
    if (own_features && (s->valid_features || s->features))
        return s->valid_features ? s->valid_features : s->features;
    return captions && s->features_scale && !att_double_parse(&number, s->features_scale)
               ? s->features_scale
               : NULL;
}

att_status att_data_check_recorded(const att_data_read_options *options, att_error *err)
{
    char quoted[ATT_QUOTED_SIZE];
    const char *file = options->recorded_data ? NULL : recorded_file(options);
    if (!file)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, NULL,
                    "expected the file of the data: the model names '%s', which is opened only "
                    "with recorded-data",
                    att_quote(quoted, file, strlen(file)));
}

att_status att_data_read(att_corpus *out, const att_data_read_options *options, att_error *err)
{
    const att_settings *settings = options->settings;
    *out = (att_corpus){ 0 };
    if (!options->path && !settings->train && !settings->source &&
        att_task_specs[settings->task].required)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "the model does not name its validation data: name a file");
    ATT_TRY(att_data_check_recorded(options, err));
    const char *prepared = NULL;
    if (!options->path)
        ATT_TRY(att_prepared_path(&prepared, settings, err));
    att_status status = prepared
                            ? att_prepared_read_valid(out, options, prepared, err)
                            : loaders[att_settings_model_type(settings)]->read(out, options, err);
    if (status != ATT_OK)
        att_corpus_free(out);
    return status;
}

att_status att_data_batches(att_batches **out, const att_corpus *corpus,
                            const att_settings *settings, int64_t tokens, uint64_t seed,
                            att_error *err)
{
    return loaders[att_settings_model_type(settings)]->batches(out, corpus, settings, tokens, seed,
                                                               err);
}

att_status att_data_training_batches(att_batches **out, const att_corpus *corpus,
                                     const att_settings *settings, att_error *err)
{
    if (att_settings_model_type(settings) != ATT_MODEL_LM ||
        settings->architecture != ATT_ARCHITECTURE_RNN)
        return att_data_batches(out, corpus, settings, settings->batch_tokens,
                                (uint64_t)settings->seed, err);
    const att_lm_batches_options options = { .batch_tokens = settings->batch_tokens,
                                             .sequence_length = settings->sequence_length,
                                             .carry_state = true,
                                             .seed = (uint64_t)settings->seed,
                                             .groups = settings->accumulate };
    return att_lm_batches_new(out, corpus, &options, err);
}

att_status att_data_report(att_string *out, const att_data *data)
{
    return loaders[data->model_type]->report(out, data);
}

void att_data_free(att_data *data)
{
    if (data->target_vocab != data->source_vocab)
        att_vocab_free(data->target_vocab);
    att_vocab_free(data->source_vocab);
    att_corpus_free(&data->train);
    att_corpus_free(&data->valid);
    att_word_vectors_free(&data->vectors);
    att_string_free(&data->unknown_targets);
    att_string_free(&data->choices);
    *data = (att_data){ 0 };
}
