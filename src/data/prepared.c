/* Loading the dataset of a token file; see prepared.h. Whatever the file states is checked before
 * it is used: sizes, counts and lengths must fit the sections. */
#include "data/prepared.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/minmax.h"
#include "data/data_choices.h"
#include "data/prepared_json.h"
#include "data/same_source.h"

#include <math.h>
#include <string.h>

att_status att_prepared_path(const char **out, const att_settings *settings, att_error *err)
{
    bool is_prepared = false;
    *out = NULL;
    if (settings->train)
        ATT_TRY(att_token_file_detect(&is_prepared, settings->train, err));
    *out = is_prepared ? settings->train : NULL;
    return ATT_OK;
}

/* ---- settings */

att_status att_prepared_settings(att_settings *settings, att_error *err)
{
    const char *path;
    att_token_file *file;
    ATT_TRY(att_prepared_path(&path, settings, err));
    if (!path)
        return ATT_OK;
    if (settings->valid || settings->valid_source)
        return att_fail(err, ATT_BAD_INPUT, path,
                        "has its validation data: valid is given to prepare, not to train");
    if (settings->guided_alignment)
        return att_fail(err, ATT_BAD_INPUT, path,
                        "has no alignments: guided-alignment needs the text of the pairs");
    ATT_TRY(att_token_file_open(&file, path, false, err));
    const char *json = att_token_file_meta(file, ATT_PREPARED_SETTINGS);
    att_status status = json ? att_prepared_settings_apply(settings, json, path, err)
                             : att_fail(err, ATT_BAD_INPUT, path, "has no settings");
    att_token_file_free(file);
    return status;
}

/* ---- vocabularies */

static att_status read_vocab(att_vocab **out, att_token_file *file, const char *key,
                             att_vocab_role role, int32_t *size, att_error *err)
{
    const char *json = att_token_file_meta(file, key);
    if (!json)
        return att_fail(err, ATT_BAD_INPUT, file->name, "lacks the metadata '%s'", key);
    ATT_TRY(att_vocab_from_json(out, json, file->name, err));
    *size = att_vocab_size(*out);
    return att_vocab_check_role(*out, role, file->name, err);
}

static att_status load_vocabs(att_data *out, att_token_file *file, const att_settings *settings,
                              att_error *err)
{
    att_model_type type = out->model_type;
    bool joint = settings->joint && settings->source_tokens == settings->target_tokens;
    if (type == ATT_MODEL_LM)
        return read_vocab(&out->target_vocab, file, ATT_PREPARED_TARGET, ATT_VOCAB_TEXT,
                          &file->vocab_sizes[1], err);
    att_vocab_role source = type == ATT_MODEL_TAGGER ? ATT_VOCAB_TAGS
                            : joint                  ? ATT_VOCAB_JOINT
                                                     : ATT_VOCAB_SOURCE;
    att_vocab_role target = type == ATT_MODEL_TAGGER       ? ATT_VOCAB_TAGS
                            : type == ATT_MODEL_CLASSIFIER ? ATT_VOCAB_LABELS
                                                           : ATT_VOCAB_TARGET;
    ATT_TRY(read_vocab(&out->source_vocab, file, ATT_PREPARED_SOURCE, source, &file->vocab_sizes[0],
                       err));
    if (!joint)
        return read_vocab(&out->target_vocab, file, ATT_PREPARED_TARGET, target,
                          &file->vocab_sizes[1], err);
    out->target_vocab = out->source_vocab;
    file->vocab_sizes[1] = file->vocab_sizes[0];
    return ATT_OK;
}

/* A model that is fine-tuned keeps its vocabularies: the tokens must be those. */
static att_status check_initial(const att_data *data, const char *name, att_error *err)
{
    const att_initial_vocabs *initial = data->initial;
    if (!initial)
        return ATT_OK;
    bool same = att_vocab_equal(initial->target, data->target_vocab) &&
                (!data->source_vocab ||
                 (initial->source && att_vocab_equal(initial->source, data->source_vocab)));
    if (same && !initial->extend)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, name,
                    "was prepared with other vocabularies than those of the model in init-from: "
                    "give init-from to prepare too");
}

/* ---- checks */

enum { MAX_WEIGHT = 1000000 };

static att_status fail_counts(const char *name, const char *what, att_error *err)
{
    return att_fail(err, ATT_BAD_INPUT, name,
                    "the metadata '" ATT_PREPARED_DATA "': %s does not fit the tensors", what);
}

static att_status check_mix(const att_token_corpus *stored, int64_t examples, att_error *err)
{
    const char *name = stored->file->name;
    int64_t sum = 0, total = 0;
    for (size_t i = 0; i < stored->mix.file_count; i++) {
        const att_mix_file *file = &stored->mix.files[i];
        if (file->count < 1 || file->count > examples - sum || file->read < 1 ||
            file->read / MAX_WEIGHT > file->count || file->read > INT64_MAX / 4 - total)
            return fail_counts(name, "\"files\"", err);
        sum += file->count;
        total += file->read;
    }
    return sum == examples && sum > 0 ? ATT_OK : fail_counts(name, "\"files\"", err);
}

static att_status check_side(const att_sequence_stats *side, const char *name, att_error *err)
{
    if (side->tokens < 0 || side->tokens > INT64_MAX / 8 || side->min_length < 0 ||
        side->max_length < side->min_length || side->max_length > INT32_MAX ||
        side->unknown_tokens < 0)
        return fail_counts(name, "a length or a number of tokens", err);
    return ATT_OK;
}

static att_status check_stats(const att_corpus_stats *stats, const char *name, att_error *err)
{
    ATT_TRY(check_side(&stats->source, name, err));
    ATT_TRY(check_side(&stats->target, name, err));
    for (int i = 0; i < ATT_SKIP_COUNT; i++)
        if (stats->skipped[i] < 0)
            return fail_counts(name, "\"skipped\"", err);
    return stats->lines >= 0 && stats->characters >= 0 ? ATT_OK
                                                       : fail_counts(name, "\"lines\"", err);
}

static att_status check_stored(const att_data *data, att_error *err)
{
    const att_token_corpus *stored = data->train.stored;
    const char *name = stored->file->name;
    const att_corpus_stats *stats = &data->train.stats;
    const att_output_length *length = &stored->output_length;
    if (!(length->ratio >= 0 && length->ratio <= ATT_OUTPUT_LENGTH_MAX && length->excess >= 0 &&
          length->excess <= ATT_OUTPUT_LENGTH_MAX))
        return fail_counts(name, "\"output_ratio\" or \"output_excess\"", err);
    if (data->model_type == ATT_MODEL_LM)
        return ATT_OK;
    const att_section_place *train = stored->file->sections[ATT_TOKENS_TRAIN];
    if (stats->source.max_length > train[ATT_SECTION_SOURCE_IDS].count ||
        stats->target.max_length > train[ATT_SECTION_TARGET_IDS].count)
        return fail_counts(name, "the longest source or target", err);
    if (stored->shortest < 1 || stored->max_length < 1 ||
        stored->max_length != att_max_i64(stats->source.max_length, stats->target.max_length) ||
        stored->shortest > stored->max_length + 1)
        return fail_counts(name, "\"max_length\" or \"shortest\"", err);
    return ATT_OK;
}

/* ---- training data */

static int64_t section_count(const att_token_corpus *stored, att_token_section section)
{
    return stored->file->sections[stored->split][section].count;
}

/* A text is one pair; its tokens are read by att_token_corpus_read(). */
static att_status set_text(att_corpus *corpus, int64_t tokens, att_error *err)
{
    corpus->pairs = 1;
    corpus->source.offsets = att_alloc_zero(2, sizeof *corpus->source.offsets);
    corpus->target.offsets = att_alloc_zero(2, sizeof *corpus->target.offsets);
    if (!corpus->source.offsets || !corpus->target.offsets)
        return att_fail_memory(err);
    corpus->target.offsets[1] = tokens;
    return ATT_OK;
}

static att_status load_train(att_data *out, att_error *err)
{
    att_corpus *train = &out->train;
    const att_token_corpus *stored = train->stored;
    bool text = out->model_type == ATT_MODEL_LM;
    int64_t offsets = section_count(stored, ATT_SECTION_TARGET_OFFSETS);
    int64_t examples = text ? section_count(stored, ATT_SECTION_TARGET_IDS) : offsets - 1;
    train->has_labels =
        out->model_type == ATT_MODEL_CLASSIFIER || out->model_type == ATT_MODEL_TAGGER;
    if (!text && (offsets < 2 || section_count(stored, ATT_SECTION_SOURCE_OFFSETS) != offsets))
        return fail_counts(stored->file->name, "the number of pairs", err);
    ATT_TRY(check_mix(stored, examples, err));
    int64_t total = att_mix_total(&stored->mix);
    if (!text) {
        train->pairs = total;
        return ATT_OK;
    }
    if (total < 2)
        return fail_counts(stored->file->name, "the number of tokens", err);
    return set_text(train, total, err);
}

/* ---- validation data */

static att_status load_side(att_sequences *out, const att_token_file *file, bool target,
                            int64_t pairs, att_error *err)
{
    att_token_section section = target ? ATT_SECTION_TARGET_IDS : ATT_SECTION_SOURCE_IDS;
    int64_t tokens = file->sections[ATT_TOKENS_VALID][section].count;
    out->offsets = att_alloc((size_t)pairs + 1, sizeof *out->offsets);
    out->ids = att_alloc((size_t)tokens, sizeof *out->ids);
    if (!out->offsets || !out->ids)
        return att_fail_memory(err);
    ATT_TRY(att_token_file_offsets(file, ATT_TOKENS_VALID, target, 0, pairs, out->offsets, err));
    if (out->offsets[0] != 0 || out->offsets[pairs] != tokens)
        return fail_counts(file->name, "the number of validation tokens", err);
    for (int64_t p = 0; p < pairs; p++)
        if (att_sequences_length(out, p) == 0)
            return fail_counts(file->name, "an empty validation pair", err);
    return att_token_file_read(file, ATT_TOKENS_VALID, section, 0, tokens, out->ids, err);
}

static att_status load_target_text(att_corpus *out, const att_token_file *file, att_error *err)
{
    int64_t size = file->sections[ATT_TOKENS_VALID][ATT_SECTION_TARGET_TEXT].count, at = 0;
    out->target_text = att_alloc((size_t)size + 1, 1);
    out->target_text_offsets = att_alloc((size_t)out->pairs, sizeof *out->target_text_offsets);
    if (!out->target_text || !out->target_text_offsets)
        return att_fail_memory(err);
    out->target_text[size] = '\0';
    ATT_TRY(att_token_file_read(file, ATT_TOKENS_VALID, ATT_SECTION_TARGET_TEXT, 0, size,
                                out->target_text, err));
    for (int64_t p = 0; p < out->pairs; p++) {
        out->target_text_offsets[p] = at;
        if (at >= size)
            return fail_counts(file->name, "the text of the targets", err);
        at += (int64_t)strlen(out->target_text + at) + 1;
    }
    return at == size ? ATT_OK : fail_counts(file->name, "the text of the targets", err);
}

static att_status load_numbers(int64_t **out, const att_token_file *file, att_token_section section,
                               int64_t pairs, att_error *err)
{
    *out = att_alloc((size_t)pairs, sizeof **out);
    if (!*out)
        return att_fail_memory(err);
    return att_token_file_read(file, ATT_TOKENS_VALID, section, 0, pairs, *out, err);
}

/* The pairs of validation are in memory: models are evaluated on them as a whole. */
static att_status load_valid_pairs(att_corpus *out, const att_token_file *file, bool link,
                                   att_error *err)
{
    const att_section_place *sections = file->sections[ATT_TOKENS_VALID];
    out->pairs = sections[ATT_SECTION_TARGET_OFFSETS].count - 1;
    if (out->pairs < 1 || sections[ATT_SECTION_SOURCE_OFFSETS].count != out->pairs + 1 ||
        sections[ATT_SECTION_LINES].count != out->pairs ||
        sections[ATT_SECTION_SOURCE_HASHES].count != out->pairs)
        return fail_counts(file->name, "the number of validation pairs", err);
    ATT_TRY(load_side(&out->source, file, false, out->pairs, err));
    ATT_TRY(load_side(&out->target, file, true, out->pairs, err));
    ATT_TRY(load_numbers(&out->line_numbers, file, ATT_SECTION_LINES, out->pairs, err));
    ATT_TRY(load_target_text(out, file, err));
    if (!link)
        return ATT_OK;
    ATT_TRY(load_numbers(&out->source_hashes, file, ATT_SECTION_SOURCE_HASHES, out->pairs, err));
    return att_corpus_link_sources(out, out->source_hashes, err);
}

/* Labels are one, or one for each token of the source. */
static att_status check_labels(const att_corpus *valid, bool tagger, const char *name,
                               att_error *err)
{
    for (int64_t p = 0; valid->has_labels && p < valid->pairs; p++)
        if (att_sequences_length(&valid->target, p) !=
            (tagger ? att_sequences_length(&valid->source, p) : 1))
            return fail_counts(name, "the number of labels", err);
    return ATT_OK;
}

static att_token_corpus *new_stored(att_token_file *file, att_token_split split)
{
    att_token_corpus *stored = att_alloc_zero(1, sizeof *stored);
    if (stored) {
        stored->file = file;
        stored->split = split;
    }
    return stored;
}

/* The text of validation is read from the file, which is opened once more. */
static att_status load_valid_text(att_corpus *out, const att_token_file *from, const char *path,
                                  att_error *err)
{
    int64_t tokens = from->sections[ATT_TOKENS_VALID][ATT_SECTION_TARGET_IDS].count;
    att_token_file *file;
    if (tokens < 2)
        return fail_counts(path, "the number of validation tokens", err);
    ATT_TRY(att_token_file_open(&file, path, false, err));
    memcpy(file->vocab_sizes, from->vocab_sizes, sizeof file->vocab_sizes);
    bool same = file->sections[ATT_TOKENS_VALID][ATT_SECTION_TARGET_IDS].count == tokens;
    out->stored = new_stored(file, ATT_TOKENS_VALID);
    if (!out->stored || !same) {
        if (!out->stored)
            att_token_file_free(file);
        return same ? att_fail_memory(err)
                    : att_fail(err, ATT_BAD_INPUT, path, "changed while being read");
    }
    att_mix *mix = &out->stored->mix;
    mix->files = att_alloc(1, sizeof *mix->files);
    if (!mix->files)
        return att_fail_memory(err);
    mix->file_count = 1;
    mix->files[0] = (att_mix_file){ tokens, tokens };
    return set_text(out, tokens, err);
}

static att_status load_valid(att_data *out, const char *path, att_error *err)
{
    const att_token_file *file = out->train.stored->file;
    if (out->model_type == ATT_MODEL_LM)
        return load_valid_text(&out->valid, file, path, err);
    out->valid.has_labels = out->train.has_labels;
    ATT_TRY(load_valid_pairs(&out->valid, file, out->model_type == ATT_MODEL_SEQ2SEQ, err));
    return check_labels(&out->valid, out->model_type == ATT_MODEL_TAGGER, path, err);
}

/* ---- all of it */

/* `verify` compares the whole file with its checksum. */
static att_status load(att_data *out, const att_settings *settings, const char *path, bool verify,
                       att_error *err)
{
    att_token_file *file;
    ATT_TRY(att_token_file_open(&file, path, verify, err));
    out->train.stored = new_stored(file, ATT_TOKENS_TRAIN);
    if (!out->train.stored) {
        att_token_file_free(file);
        return att_fail_memory(err);
    }
    const char *json = att_token_file_meta(file, ATT_PREPARED_DATA);
    if (!json)
        return att_fail(err, ATT_BAD_INPUT, path, "lacks the metadata '" ATT_PREPARED_DATA "'");
    ATT_TRY(load_vocabs(out, file, settings, err));
    ATT_TRY(att_prepared_data_parse(out, json, path, err));
    ATT_TRY(check_stats(&out->train.stats, path, err));
    ATT_TRY(check_stats(&out->valid.stats, path, err));
    ATT_TRY(check_stored(out, err));
    ATT_TRY(load_train(out, err));
    return load_valid(out, path, err);
}

static att_status refuse_features(const att_settings *settings, const char *name, att_error *err)
{
    if (att_settings_copies(settings))
        return att_fail(err, ATT_BAD_INPUT, name,
                        "has no text: copy needs the words of the source; train from the text");
    bool labels = att_settings_model_type(settings) == ATT_MODEL_CLASSIFIER ||
                  att_settings_model_type(settings) == ATT_MODEL_TAGGER;
    if (labels && settings->char_features != ATT_CHAR_FEATURES_NONE)
        return att_fail(err, ATT_BAD_INPUT, name,
                        "has no text: char-features needs the characters of the words; train from "
                        "the text");
    return ATT_OK;
}

att_status att_prepared_load(att_data *out, att_settings *settings, att_error *err)
{
    const char *path = settings->train;
    ATT_TRY(load(out, settings, path, true, err));
    ATT_TRY(check_initial(out, path, err));
    if (out->model_type == ATT_MODEL_LM)
        return ATT_OK;
    ATT_TRY(att_data_choose_run(out, settings, err));
    ATT_TRY(refuse_features(settings, path, err));
    return att_data_load_vectors(out, settings, err);
}

att_status att_prepared_read_valid(att_corpus *out, const att_data_read_options *options,
                                   const char *path, att_error *err)
{
    att_data data = { .model_type = att_settings_model_type(options->settings) };
    att_status status = load(&data, options->settings, path, false, err);
    if (status == ATT_OK &&
        (!att_vocab_equal(data.target_vocab, options->target_vocab) ||
         (data.source_vocab && !att_vocab_equal(data.source_vocab, options->source_vocab))))
        status = att_fail(err, ATT_BAD_INPUT, path,
                          "was prepared with other vocabularies than those of the model");
    if (status == ATT_OK) {
        *out = data.valid;
        data.valid = (att_corpus){ 0 };
    }
    att_data_free(&data);
    return status;
}
