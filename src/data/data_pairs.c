/* Data of sequence-to-sequence models and classifiers: pairs of lines, from files or synthetic. */
#include "data/data_loaders.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/quote.h"
#include "data/data_choices.h"
#include "data/example_reader.h"
#include "data/hold_out.h"
#include "data/known_sources.h"
#include "data/synthetic_strings.h"
#include "data/unknown_tokens.h"

#include <string.h>

/* The text of the training and validation corpus. */
typedef struct pair_corpora {
    att_pair_text train, valid; /* `valid` is empty if pairs are held out of `train` */
    bool valid_from_train;
    double valid_fraction; /* of `train` that is held out */
} pair_corpora;

/* ---- loading the text */

static att_status generate_corpora(pair_corpora *out, const att_settings *settings, att_error *err)
{
    out->train.tsv.name = "training strings";
    out->valid.tsv.name = "validation strings";
    return att_task_generate(&out->train.tsv.text, &out->valid.tsv.text, settings, err);
}

static att_status load_corpora(pair_corpora *out, const att_settings *settings, att_error *err)
{
    const att_pair_files train = { settings->train, settings->source, settings->target,
                                   settings->guided_alignment };
    const att_pair_files valid = { settings->valid, settings->valid_source, settings->valid_target,
                                   NULL };
    if (!train.tsv && !(train.source && train.target))
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "there is no training data: give train, or source and target");
    ATT_TRY(att_pair_text_load(&out->train, &train, err));
    out->valid_from_train = !valid.tsv && !valid.source;
    return out->valid_from_train
               ? att_hold_out_fraction(&out->valid_fraction, &out->train, settings, err)
               : att_pair_text_load(&out->valid, &valid, err);
}

static const char *name_of(const att_pair_text *text)
{
    return text->tsv.name ? text->tsv.name : text->source.name;
}

/* ---- encoding it */

static bool has_labels(const att_settings *settings)
{
    att_model_type type = att_settings_model_type(settings);
    return type == ATT_MODEL_CLASSIFIER || type == ATT_MODEL_TAGGER;
}

static att_status extend_vocabularies(att_data *out, att_error *err)
{
    bool joint = out->source_vocab == out->target_vocab;
    att_status status =
        att_data_extend_vocab(&out->source_vocab, out->initial->source, &out->added_source, err);
    if (joint)
        out->target_vocab = out->source_vocab;
    ATT_TRY(status);
    return joint ? ATT_OK
                 : att_data_extend_vocab(&out->target_vocab, out->initial->target,
                                         &out->added_target, err);
}

/* Finalizes both vocabularies and the ids of the training corpus. With BPE the corpus must be
 * encoded again: only then are the tokens of a line known. */
static att_status finish_vocabularies(att_data *out, const att_settings *settings, bool *again,
                                      att_error *err)
{
    int32_t *source = NULL, *target = NULL;
    bool joint = out->source_vocab == out->target_vocab;
    if (settings->joint && !joint)
        ATT_TRY(att_vocab_share_counts(out->source_vocab, out->target_vocab, err));
    att_status status = att_data_finish_vocab(out->source_vocab, &source, settings, err);
    if (status == ATT_OK && !joint)
        status = has_labels(settings)
                     ? att_vocab_finalize(out->target_vocab, 1, &target, err)
                     : att_data_finish_vocab(out->target_vocab, &target, settings, err);
    /* for copying too, which compares the texts of tokens that the final vocabularies lack */
    *again = !source || !(joint || target) || att_settings_copies(settings);
    if (status == ATT_OK && out->initial) {
        status = extend_vocabularies(out, err);
        *again = true;
    }
    if (status == ATT_OK && !*again)
        att_corpus_renumber(&out->train, source, joint ? source : target);
    att_free(source);
    att_free(target);
    return status;
}

static const char *noun(const att_pair_read_options *reading)
{
    return reading->format.kind == ATT_EXAMPLES_PAIRS ? "pairs" : "sentences";
}

static att_status refuse_empty(const att_corpus *corpus, const att_pair_read_options *reading,
                               const char *name, const char *purpose, att_error *err)
{
    if (corpus->pairs > 0)
        return ATT_OK;
    if (corpus->stats.lines == 0)
        return att_fail(err, ATT_BAD_INPUT, name, "has no %s to %s on", noun(reading), purpose);
    return att_fail(err, ATT_BAD_INPUT, name,
                    "has no %s to %s on: each of its %lld lines%s has an empty side or more tokens "
                    "than max-length",
                    noun(reading), purpose, (long long)corpus->stats.lines,
                    reading->valid_fraction == 0 ? ""
                    : reading->read_valid        ? " that are held out for validation"
                                                 : " that are not held out for validation");
}

att_status att_data_example_format(att_example_format *out, const att_settings *settings,
                                   att_error *err)
{
    att_model_type type = att_settings_model_type(settings);
    *out = (att_example_format){ .kind = type == ATT_MODEL_TAGGER       ? ATT_EXAMPLES_TAGGED
                                         : type == ATT_MODEL_CLASSIFIER ? ATT_EXAMPLES_SENTENCES
                                                                        : ATT_EXAMPLES_PAIRS,
                                 .format = (att_data_format)settings->format };
    if (!att_settings_uses_files(settings))
        out->format = ATT_DATA_TSV; /* synthetic strings */
    return att_settings_columns(&out->columns, settings, err);
}

/* How files are read, whatever is read from them. */
static att_status file_options(att_pair_read_options *out, const att_settings *settings,
                               const att_vocab *source, const att_vocab *target, att_error *err)
{
    *out = (att_pair_read_options){
        .source_vocab = source,
        .target_vocab = target,
        .keep_words = has_labels(settings) && settings->char_features != ATT_CHAR_FEATURES_NONE,
        .copies = att_settings_copies(settings),
    };
    return att_data_example_format(&out->format, settings, err);
}

static att_status read_options(att_pair_read_options *out, const pair_corpora *from,
                               const att_settings *settings, const att_vocab *source,
                               const att_vocab *target, att_error *err)
{
    ATT_TRY(file_options(out, settings, source, target, err));
    out->max_length = att_settings_uses_files(settings) ? settings->max_length : 0;
    out->valid_fraction = from->valid_fraction;
    out->seed = (uint64_t)settings->data_seed;
    out->keep_source_hashes = true;
    return ATT_OK;
}

/* A label cannot be unknown in training. */
static att_status refuse_new_labels(const att_corpus *train, const char *name, att_error *err)
{
    if (!train->has_labels || train->stats.target.unknown_tokens == 0)
        return ATT_OK;
    return att_fail_at(
        err, ATT_BAD_INPUT, name, (int)train->stats.unknown_label_line, 0, NULL,
        "the label '%s' is not one of the model in init-from; init-vocab extend adds "
        "it",
        train->stats.unknown_label);
}

/* Names target tokens that the model of init-from cannot generate. */
static att_status find_unknown_targets(att_data *out, const pair_corpora *from,
                                       const att_settings *settings, att_error *err)
{
    return out->train.stats.target.unknown_tokens == 0
               ? ATT_OK
               : att_unknown_targets(&out->unknown_targets, &from->train, settings,
                                     out->target_vocab, err);
}

static att_status read_train(att_data *out, const pair_corpora *from, const att_settings *settings,
                             att_error *err)
{
    att_pair_read_options options;
    ATT_TRY(read_options(&options, from, settings, out->source_vocab, out->target_vocab, err));
    if (!att_data_keeps_vocab(out)) {
        options.counted_source = out->source_vocab;
        options.counted_target = out->target_vocab;
        options.copies = false; /* until the vocabularies are final */
    }
    ATT_TRY(att_corpus_read(&out->train, &from->train, &options, err));
    ATT_TRY(refuse_empty(&out->train, &options, name_of(&from->train), "train", err));
    bool again;
    if (att_data_keeps_vocab(out)) {
        ATT_TRY(refuse_new_labels(&out->train, name_of(&from->train), err));
        return find_unknown_targets(out, from, settings, err);
    }
    ATT_TRY(finish_vocabularies(out, settings, &again, err));
    if (!again)
        return ATT_OK;
    att_corpus_free(&out->train);
    options.counted_source = options.counted_target = NULL;
    options.source_vocab = out->source_vocab;
    options.target_vocab = out->target_vocab;
    options.copies = att_settings_copies(settings);
    ATT_TRY(att_corpus_read(&out->train, &from->train, &options, err));
    return refuse_empty(&out->train, &options, name_of(&from->train), "train", err);
}

static att_status read_valid(att_corpus *out, const pair_corpora *from,
                             const att_data_read_options *reading, att_error *err)
{
    const att_settings *settings = reading->settings;
    att_pair_read_options options;
    ATT_TRY(
        read_options(&options, from, settings, reading->source_vocab, reading->target_vocab, err));
    options.keep_target_text = reading->keep_target_text;
    options.keep_words |= reading->keep_words;
    options.link_sources = att_settings_model_type(settings) == ATT_MODEL_SEQ2SEQ;
    options.read_valid = from->valid_from_train;
    if (from->valid_from_train && settings->valid_fraction == 0)
        options.valid_fraction = ATT_VALID_SAMPLE;
    const att_pair_text *valid = from->valid_from_train ? &from->train : &from->valid;
    ATT_TRY(att_corpus_read(out, valid, &options, err));
    if (from->valid_from_train && settings->valid_fraction == 0 && out->pairs == 0) {
        att_corpus_free(out);
        options.valid_fraction = 1; /* so few pairs that a sample has none: all of them */
        ATT_TRY(att_corpus_read(out, valid, &options, err));
    }
    if (from->valid_from_train && out->stats.lines == 0)
        return att_fail(err, ATT_BAD_INPUT, name_of(valid), ATT_NOTHING_HELD_OUT);
    ATT_TRY(refuse_empty(out, &options, name_of(valid), "validate", err));
    if (from->valid_from_train && has_labels(settings) &&
        out->stats.target.unknown_tokens == out->stats.target.tokens)
        return att_fail_at(err, ATT_BAD_INPUT, name_of(valid), (int)out->stats.unknown_label_line,
                           0, NULL, ATT_LABELS_HELD_OUT, out->stats.unknown_label);
    return ATT_OK;
}

/* ---- overlap of training and validation */

static att_status count_overlap(att_data *data, att_error *err)
{
    att_known_sources sources = { 0 };
    att_status status =
        att_known_sources_add(&sources, data->valid.source_hashes, data->valid.pairs, err);
    if (status == ATT_OK)
        att_known_sources_find(&sources, data->train.source_hashes, data->train.pairs);
    data->overlapping_sources = att_known_sources_found(&sources);
    att_known_sources_free(&sources);
    return status;
}

static void free_hashes(att_corpus *corpus)
{
    att_free(corpus->source_hashes);
    corpus->source_hashes = NULL;
}

/* ---- loading and reading */

static att_status get_corpora(pair_corpora *out, const att_settings *settings, att_error *err)
{
    return att_settings_uses_files(settings) ? load_corpora(out, settings, err)
                                             : generate_corpora(out, settings, err);
}

static void free_corpora(pair_corpora *from)
{
    att_pair_text_free(&from->train);
    att_pair_text_free(&from->valid);
}

/* Whether the training file has a column of tags. */
static att_status find_tags(bool *out, const att_pair_text *train, const att_settings *settings,
                            att_error *err)
{
    att_example_format format;
    att_example_reader examples;
    *out = false;
    if (!train->tsv.name)
        return ATT_OK;
    ATT_TRY(att_data_example_format(&format, settings, err));
    att_status status = att_example_reader_start(&examples, &train->tsv, &format, err);
    *out = examples.has_tags;
    att_example_reader_free(&examples);
    return status;
}

static att_status load(att_data *out, pair_corpora *from, att_settings *settings, att_error *err)
{
    ATT_TRY(get_corpora(from, settings, err));
    ATT_TRY(att_data_choose_tokens(out, settings, &from->train, err));
    ATT_TRY(att_data_choose_copy(out, settings, &from->train, err));
    bool lower = settings->lowercase, labels = has_labels(settings);
    const att_vocab *source = out->initial ? out->initial->source : NULL;
    const att_vocab *target = out->initial ? out->initial->target : NULL;
    ATT_TRY(att_data_start_vocab(&out->source_vocab, out, source,
                                 (att_tokenizer_kind)settings->source_tokens, lower, err));
    bool tags;
    ATT_TRY(find_tags(&tags, &from->train, settings, err));
    if (tags && source && !att_vocab_has_tags(source))
        return att_fail(err, ATT_BAD_INPUT, name_of(&from->train),
                        "has tags beside the text, but the model of init-from was trained without");
    if (tags && !att_vocab_has_tags(out->source_vocab))
        att_vocab_set_tags(out->source_vocab);
    if (settings->joint && settings->source_tokens == settings->target_tokens)
        out->target_vocab = out->source_vocab;
    else
        ATT_TRY(att_data_start_vocab(&out->target_vocab, out, target,
                                     (att_tokenizer_kind)settings->target_tokens, lower && !labels,
                                     err));
    ATT_TRY(read_train(out, from, settings, err));
    ATT_TRY(att_data_choose_run(out, settings, err));
    ATT_TRY(att_data_load_vectors(out, settings, err));
    const att_data_read_options valid = {
        .settings = settings,
        .source_vocab = out->source_vocab,
        .target_vocab = out->target_vocab,
        .keep_target_text =
            settings->best_metric == ATT_BEST_METRIC_BLEU ||
            out->model_type == ATT_MODEL_TAGGER, /* for labels that training lacks */
    };
    ATT_TRY(read_valid(&out->valid, from, &valid, err));
    out->valid_in_train = from->valid_from_train && settings->valid_fraction == 0;
    out->held_out = from->valid_from_train && !out->valid_in_train ? out->valid.pairs : 0;
    if (!out->valid_in_train)
        ATT_TRY(count_overlap(out, err));
    free_hashes(&out->train);
    free_hashes(&out->valid);
    return ATT_OK;
}

static att_status load_pairs(att_data *out, att_settings *settings, att_error *err)
{
    pair_corpora from = { 0 };
    att_status status = load(out, &from, settings, err);
    free_corpora(&from);
    return status;
}

/* A format or columns of the caller replace both of the settings, which describe other files. */
static att_status replace_format(att_example_format *out, const att_data_read_options *options,
                                 att_error *err)
{
    if (!options->format && !options->columns)
        return ATT_OK;
    att_settings given = *options->settings;
    given.columns = options->columns;
    given.format = ATT_DATA_AUTO;
    ATT_TRY(att_settings_check_format(&given, options->format, err));
    out->format = (att_data_format)given.format;
    return att_settings_columns(&out->columns, &given, err);
}

/* Reads the pairs of one file. */
static att_status read_file(att_corpus *out, const att_data_read_options *options, att_error *err)
{
    att_pair_read_options reading;
    ATT_TRY(file_options(&reading, options->settings, options->source_vocab, options->target_vocab,
                         err));
    ATT_TRY(replace_format(&reading.format, options, err));
    reading.keep_target_text = options->keep_target_text;
    reading.keep_words |= options->keep_words;
    reading.link_sources = att_settings_model_type(options->settings) == ATT_MODEL_SEQ2SEQ;
    const att_pair_files files = { .tsv = options->path };
    att_pair_text text = { 0 };
    att_status status = att_pair_text_load(&text, &files, err);
    if (status == ATT_OK)
        status = att_corpus_read(out, &text, &reading, err);
    if (status == ATT_OK && out->pairs == 0)
        status = att_fail(err, ATT_BAD_INPUT, options->path, "has no %s, expected at least one",
                          noun(&reading));
    att_pair_text_free(&text);
    return status;
}

static att_status read_pairs(att_corpus *out, const att_data_read_options *options, att_error *err)
{
    if (options->path)
        return read_file(out, options, err);
    pair_corpora from = { 0 };
    att_status status = get_corpora(&from, options->settings, err);
    if (status == ATT_OK)
        status = read_valid(out, &from, options, err);
    free_corpora(&from);
    return status;
}

static att_status batch_pairs(att_batches **out, const att_corpus *corpus,
                              const att_settings *settings, int64_t tokens, uint64_t seed,
                              att_error *err)
{
    (void)settings;
    return att_pair_batches_new(out, corpus, tokens, seed, err);
}

/* ---- classifiers and taggers: targets are labels */

static att_status load_labels(att_data *out, att_settings *settings, att_error *err)
{
    ATT_TRY(load_pairs(out, settings, err));
    int32_t labels = att_vocab_size(out->target_vocab) - ATT_ID_FIRST;
    if (labels > 1)
        return ATT_OK;
    const char *label = att_vocab_token(out->target_vocab, ATT_ID_FIRST);
    char quoted[ATT_QUOTED_SIZE];
    return att_fail(err, ATT_BAD_INPUT, settings->train ? settings->train : settings->target,
                    "has only one label, '%s'; expected at least two",
                    att_quote(quoted, label, strlen(label)));
}

const att_data_loader att_classifier_data = {
    .load = load_labels,
    .read = read_pairs,
    .batches = batch_pairs,
    .report = att_classifier_data_report,
};

const att_data_loader att_tagger_data = {
    .load = load_labels,
    .read = read_pairs,
    .batches = batch_pairs,
    .report = att_classifier_data_report,
};

const att_data_loader att_seq2seq_data = {
    .load = load_pairs,
    .read = read_pairs,
    .batches = batch_pairs,
    .report = att_seq2seq_data_report,
};
