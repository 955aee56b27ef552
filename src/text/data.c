/* What a run learns from, whatever its kind; see data.h. */
#include "text/data.h"

#include "base/error.h"
#include "settings/rows.h"
#include "text/data_kinds.h"

static const att_data_kind *const kinds[ATT_KINDS] = {
    [ATT_KIND_PAIRS] = &att_data_of_pairs,
    [ATT_KIND_TEXT] = &att_data_of_text,
    [ATT_KIND_LABEL] = &att_data_of_labels,
    [ATT_KIND_PICTURE] = &att_data_of_pictures,
};

att_status att_data_close_words(att_vocab *vocab, int32_t **final, const att_settings *settings,
                                att_error *err)
{
    *final = NULL;
    att_tokens tokens = att_vocab_tokens(vocab);
    if (tokens == ATT_TOKENS_BYTE)
        return ATT_OK;
    if (tokens == ATT_TOKENS_SUBWORD)
        return att_vocab_learn(vocab, settings->subwords, settings->min_count, err);
    bool label = tokens == ATT_TOKENS_LINE;
    return att_vocab_close(vocab, label ? 1 : settings->min_count, final, err);
}

att_status att_data_load(att_data *out, const att_settings *settings, att_error *err)
{
    *out = (att_data){ .kind = att_settings_kind(settings) };
    att_status status = kinds[out->kind]->load(out, settings, err);
    if (status != ATT_OK)
        att_data_free(out);
    return status;
}

att_status att_data_read(att_corpus *out, const att_data_reading *how, att_error *err)
{
    const att_settings *settings = how->settings;
    *out = (att_corpus){ 0 };
    if (!how->path && !settings->train && !settings->source && att_task_rows[settings->task].lacks)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "what the model was validated on is not known; name a file");
    att_status status = kinds[att_settings_kind(how->settings)]->read(out, how, err);
    if (status != ATT_OK)
        att_corpus_free(out);
    return status;
}

att_status att_data_batches(att_batches **out, const att_corpus *corpus,
                            const att_settings *settings, int64_t tokens, uint64_t seed,
                            att_error *err)
{
    return kinds[att_settings_kind(settings)]->batches(out, corpus, settings, tokens, seed, err);
}

att_status att_data_report(att_text *out, const att_data *data)
{
    return kinds[data->kind]->report(out, data);
}

void att_data_free(att_data *data)
{
    if (data->target_words != data->source_words)
        att_vocab_free(data->target_words);
    att_vocab_free(data->source_words);
    att_corpus_free(&data->train);
    att_corpus_free(&data->valid);
    *data = (att_data){ 0 };
}
