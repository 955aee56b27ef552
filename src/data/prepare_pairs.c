/* Preparing pairs, labeled sentences and tagged sentences: lines of one file, or of two parallel
 * files, a part at a time through the reader of corpora in memory (corpus.h). See prepare.h. */
#include "data/prepare.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/progress.h"
#include "base/quote.h"
#include "base/string.h"
#include "data/hold_out.h"
#include "data/data_choices.h"
#include "data/example_reader.h"
#include "data/token_corpus.h"

#include <stdio.h>
#include <string.h>

/* The settings that the data choose are chosen by the first pairs, at most 20000. */
enum { SAMPLE_LINES = 20001, SAMPLE_PARTS = 8 };

/* One pass over some corpora. */
typedef struct pair_pass {
    att_prepare_run *run;
    att_prepare_corpus *list;
    size_t count;
    att_pair_read_options options;
    att_token_split split;
    bool encodes; /* else it counts */
    att_corpus_stats stats;
    int64_t pairs;
} pair_pass;

/* ---- parts of corpora */

typedef struct pair_part {
    att_string source, target;
    int64_t lines_before, source_before, target_before;
} pair_part;

static void free_part(pair_part *part)
{
    att_string_free(&part->source);
    att_string_free(&part->target);
}

/* Parallel files must have the same number of lines. */
static att_status refuse_lines(const att_prepare_corpus *from, pair_part *part, int64_t sources,
                               int64_t targets, att_error *err)
{
    for (int64_t more = 1; more > 0; sources += more) {
        part->source.length = 0;
        ATT_TRY(att_text_stream_lines(from->source, &part->source, att_prepare_part_size(),
                                      INT64_MAX, &more, err));
    }
    for (int64_t more = 1; more > 0; targets += more) {
        part->target.length = 0;
        ATT_TRY(att_text_stream_lines(from->target, &part->target, att_prepare_part_size(),
                                      INT64_MAX, &more, err));
    }
    return att_fail(err, ATT_BAD_INPUT, att_text_stream_name(from->target),
                    "has %lld line%s and %s has %lld: they must correspond line by line",
                    (long long)targets, targets == 1 ? "" : "s", att_text_stream_name(from->source),
                    (long long)sources);
}

/* Reads the next lines of a corpus; *lines is 0 at its end. */
static att_status next_part(const att_prepare_corpus *from, pair_part *part, size_t size,
                            int64_t *lines, att_error *err)
{
    part->source_before += (int64_t)part->source.length;
    part->target_before += (int64_t)part->target.length;
    part->source.length = part->target.length = 0;
    ATT_TRY(att_text_stream_lines(from->source, &part->source, size, INT64_MAX, lines, err));
    if (!from->target)
        return ATT_OK;
    int64_t targets;
    ATT_TRY(att_text_stream_lines(from->target, &part->target, SIZE_MAX / 2,
                                  *lines > 0 ? *lines : 1, &targets, err));
    if (targets == *lines)
        return ATT_OK;
    return refuse_lines(from, part, part->lines_before + *lines, part->lines_before + targets, err);
}

/* The part as a text of pairs; it borrows the strings. */
static att_pair_text text_of(const att_prepare_corpus *from, const pair_part *part)
{
    struct att_text_file source = { .name = att_text_stream_name(from->source),
                                    .text = part->source,
                                    .lines_before = part->lines_before,
                                    .bytes_before = part->source_before };
    if (!from->target)
        return (att_pair_text){ .tsv = source };
    struct att_text_file target = { .name = att_text_stream_name(from->target),
                                    .text = part->target,
                                    .lines_before = part->lines_before,
                                    .bytes_before = part->target_before };
    return (att_pair_text){ .source = source, .target = target };
}

/* ---- statistics */

static void add_side(att_sequence_stats *sum, const att_sequence_stats *part, bool first)
{
    if (first || part->min_length < sum->min_length)
        sum->min_length = part->min_length;
    sum->max_length = att_max_i64(sum->max_length, part->max_length);
    sum->tokens += part->tokens;
    sum->unknown_tokens += part->unknown_tokens;
}

static void add_stats(pair_pass *pass, const att_corpus *part)
{
    att_corpus_stats *sum = &pass->stats;
    const att_corpus_stats *more = &part->stats;
    for (int i = 0; i < ATT_SKIP_COUNT; i++) {
        for (int64_t k = 0; k < att_min_i64(more->skipped[i], ATT_SKIP_MAX_LINES); k++)
            if (sum->skipped[i] + k < ATT_SKIP_MAX_LINES)
                sum->skipped_lines[i][sum->skipped[i] + k] = more->skipped_lines[i][k];
        sum->skipped[i] += more->skipped[i];
    }
    if (part->pairs > 0) {
        add_side(&sum->source, &more->source, pass->pairs == 0);
        add_side(&sum->target, &more->target, pass->pairs == 0);
    }
    sum->lines += more->lines;
    sum->crlf_lines += more->crlf_lines;
    sum->has_bom |= more->has_bom;
    if (sum->unknown_label_line == 0) {
        sum->unknown_label_line = more->unknown_label_line;
        memcpy(sum->unknown_label, more->unknown_label, sizeof sum->unknown_label);
    }
    if (!*sum->format)
        memcpy(sum->format, more->format, sizeof sum->format);
    pass->pairs += part->pairs;
}

/* ---- writing */

static att_status write_side(pair_pass *pass, const att_sequences *side, int64_t pairs, bool target,
                             att_error *err)
{
    att_token_writer *to = pass->run->writer;
    att_token_section ids = target ? ATT_SECTION_TARGET_IDS : ATT_SECTION_SOURCE_IDS;
    att_token_section offsets = target ? ATT_SECTION_TARGET_OFFSETS : ATT_SECTION_SOURCE_OFFSETS;
    int64_t before = att_token_writer_count(to, pass->split, ids), zero = 0;
    if (att_token_writer_count(to, pass->split, offsets) == 0)
        ATT_TRY(att_token_writer_add(to, pass->split, offsets, &zero, 1, err));
    ATT_TRY(att_token_writer_add(to, pass->split, ids, side->ids, side->offsets[pairs], err));
    for (int64_t p = 1; p <= pairs; p++) {
        int64_t end = before + side->offsets[p];
        ATT_TRY(att_token_writer_add(to, pass->split, offsets, &end, 1, err));
    }
    return ATT_OK;
}

static att_status write_part(pair_pass *pass, const att_corpus *part, att_error *err)
{
    att_token_writer *to = pass->run->writer;
    ATT_TRY(write_side(pass, &part->source, part->pairs, false, err));
    ATT_TRY(write_side(pass, &part->target, part->pairs, true, err));
    if (pass->split == ATT_TOKENS_TRAIN || part->pairs == 0)
        return ATT_OK;
    ATT_TRY(att_token_writer_add(to, pass->split, ATT_SECTION_LINES, part->line_numbers,
                                 part->pairs, err));
    ATT_TRY(att_token_writer_add(to, pass->split, ATT_SECTION_SOURCE_HASHES, part->source_hashes,
                                 part->pairs, err));
    const char *last = att_corpus_target_text(part, part->pairs - 1);
    int64_t size = last - part->target_text + (int64_t)strlen(last) + 1;
    return att_token_writer_add(to, pass->split, ATT_SECTION_TARGET_TEXT, part->target_text, size,
                                err);
}

/* ---- a pass */

static att_status prune(att_prepare_run *run, att_error *err)
{
    att_data *data = &run->data;
    ATT_TRY(att_vocab_prune(data->source_vocab, run->count_limit, &run->pruned[0], err));
    return data->target_vocab == data->source_vocab
               ? ATT_OK
               : att_vocab_prune(data->target_vocab, run->count_limit, &run->pruned[1], err);
}

static att_status use_part(pair_pass *pass, att_prepare_corpus *from, const att_pair_text *text,
                           att_error *err)
{
    att_corpus part;
    ATT_TRY(att_corpus_read(&part, text, &pass->options, err));
    add_stats(pass, &part);
    att_known_sources *sources = &pass->run->valid_sources;
    if (pass->encodes && pass->split == ATT_TOKENS_TRAIN)
        att_known_sources_find(sources, part.source_hashes, part.pairs);
    att_status status = pass->encodes ? write_part(pass, &part, err) : prune(pass->run, err);
    if (status == ATT_OK && pass->split == ATT_TOKENS_VALID)
        status = att_known_sources_add(sources, part.source_hashes, part.pairs, err);
    if (pass->encodes && pass->split == ATT_TOKENS_TRAIN) {
        from->examples += part.pairs;
        from->source_tokens += part.stats.source.tokens;
        from->target_tokens += part.stats.target.tokens;
    }
    att_corpus_free(&part);
    return status;
}

static att_status read_corpus(pair_pass *pass, size_t index, pair_part *part, att_error *err)
{
    att_prepare_corpus *from = &pass->list[index];
    ATT_TRY(att_text_stream_rewind(from->source, err));
    if (from->target)
        ATT_TRY(att_text_stream_rewind(from->target, err));
    for (int64_t lines;; part->lines_before += lines) {
        ATT_TRY(next_part(from, part, att_prepare_part_size(), &lines, err));
        if (lines == 0)
            return ATT_OK;
        att_pair_text text = text_of(from, part);
        ATT_TRY(use_part(pass, from, &text, err));
        ATT_TRY(att_progress_step(att_prepare_position(pass->list, index), err));
    }
}

static att_status run_pass(pair_pass *pass, const char *phase, att_error *err)
{
    att_progress_scope scope;
    att_status status = ATT_OK;
    att_progress_begin(&scope, phase, att_prepare_size(pass->list, pass->count));
    for (size_t i = 0; i < pass->count && status == ATT_OK; i++) {
        pair_part part = { 0 };
        status = read_corpus(pass, i, &part, err);
        free_part(&part);
    }
    return att_progress_end(&scope, status, err);
}

/* ---- what the data choose */

/* The names that JSON lines have for the columns are those of the first object of all. */
typedef struct known_format {
    att_example_format format;
    att_string keys[ATT_COLUMN_COUNT];
    bool has_tags;
    double valid_fraction; /* that is held out, if there are no validation data */
} known_format;

static att_status find_keys(known_format *out, att_example_reader *examples, att_error *err)
{
    for (int i = 0; i < ATT_COLUMN_COUNT && examples->keys[i].length > 0; i++) {
        out->keys[i] = examples->keys[i];
        examples->keys[i] = (att_string){ 0 };
        out->format.columns.items[i] =
            (att_column){ .number = -1, .name = out->keys[i].data, .length = out->keys[i].length };
        out->format.columns.count = i + 1;
    }
    (void)err;
    return ATT_OK;
}

static att_status find_format(known_format *out, const att_pair_text *sample,
                              const att_settings *settings, att_error *err)
{
    att_example_reader examples;
    ATT_TRY(att_data_example_format(&out->format, settings, err));
    if (!sample->tsv.name)
        return ATT_OK;
    att_status status = att_example_reader_start(&examples, &sample->tsv, &out->format, err);
    out->format.format = examples.format;
    out->has_tags = examples.has_tags;
    if (status == ATT_OK && examples.format == ATT_DATA_JSONL)
        status = find_keys(out, &examples, err);
    att_example_reader_free(&examples);
    if (status == ATT_OK &&
        (out->format.format == ATT_DATA_CSV || out->format.format == ATT_DATA_CONLL))
        status = att_fail(err, ATT_BAD_INPUT, sample->tsv.name,
                          "is %s, expected one example per line: tab-separated, JSON lines, or two "
                          "parallel files",
                          out->format.format == ATT_DATA_CSV ? "CSV" : "a CoNLL file");
    return status;
}

static att_status start_vocabs(att_prepare_run *run, bool tags, att_error *err)
{
    att_data *out = &run->data;
    const att_settings *settings = run->settings;
    const att_initial_vocabs *initial = out->initial;
    bool lower = settings->lowercase;
    bool labels = out->model_type != ATT_MODEL_SEQ2SEQ;
    ATT_TRY(att_data_start_vocab(&out->source_vocab, out, initial ? initial->source : NULL,
                                 (att_tokenizer_kind)settings->source_tokens, lower, err));
    if (tags && initial && !att_vocab_has_tags(initial->source))
        return att_fail(err, ATT_BAD_INPUT, att_text_stream_name(run->train[0].source),
                        "has tags beside the text, but the model of init-from was trained without");
    if (tags && !att_vocab_has_tags(out->source_vocab))
        att_vocab_set_tags(out->source_vocab);
    if (settings->joint && settings->source_tokens == settings->target_tokens)
        out->target_vocab = out->source_vocab;
    else
        return att_data_start_vocab(&out->target_vocab, out, initial ? initial->target : NULL,
                                    (att_tokenizer_kind)settings->target_tokens, lower && !labels,
                                    err);
    return ATT_OK;
}

static att_status refuse_text_features(const att_prepare_run *run, att_error *err)
{
    const att_settings *settings = run->settings;
    const char *name = att_text_stream_name(run->train[0].source);
    bool labels = run->data.model_type != ATT_MODEL_SEQ2SEQ;
    if (att_settings_copies(settings))
        return att_fail(err, ATT_BAD_INPUT, name,
                        "copy needs the words of the source, which a token file lacks: train from "
                        "the text, or give --no-copy");
    if (labels && settings->char_features != ATT_CHAR_FEATURES_NONE)
        return att_fail(err, ATT_BAD_INPUT, name,
                        "char-features needs the characters of the words, which a token file "
                        "lacks: train from the text");
    if (settings->guided_alignment)
        return att_fail(err, ATT_BAD_INPUT, settings->guided_alignment,
                        "guided-alignment: a token file has no alignments; train from the text");
    return ATT_OK;
}

/* Looks at the first lines: their format, and the settings that nobody gave. */
static att_status look_at_sample(att_prepare_run *run, known_format *format, att_error *err)
{
    pair_part part = { 0 };
    int64_t lines;
    size_t size = SAMPLE_PARTS * att_max_size(att_prepare_part_size(), 8 << 20);
    att_status status = next_part(&run->train[0], &part, size, &lines, err);
    if (status == ATT_OK && lines == 0)
        status = att_fail(err, ATT_BAD_INPUT, att_text_stream_name(run->train[0].source),
                          "has no pairs to train on");
    att_pair_text sample = text_of(&run->train[0], &part);
    if (status == ATT_OK)
        status = find_format(format, &sample, run->settings, err);
    format->valid_fraction = run->settings->valid_fraction;
    if (status == ATT_OK && run->train_count == 1) /* of several, another may have enough sources */
        status = att_hold_out_fraction(&format->valid_fraction, &sample, run->settings, err);
    if (status == ATT_OK)
        status = att_data_choose_tokens(&run->data, run->settings, &sample, err);
    if (status == ATT_OK)
        status = att_data_choose_copy(&run->data, run->settings, &sample, err);
    if (status == ATT_OK)
        status = refuse_text_features(run, err);
    free_part(&part);
    return status;
}

/* ---- the passes */

static pair_pass new_pass(att_prepare_run *run, const known_format *format, bool from_train)
{
    const att_settings *settings = run->settings;
    return (pair_pass){ .run = run,
                        .list = run->train,
                        .count = run->train_count,
                        .options = { .source_vocab = run->data.source_vocab,
                                     .target_vocab = run->data.target_vocab,
                                     .max_length = settings->max_length,
                                     .valid_fraction = from_train ? format->valid_fraction : 0,
                                     .seed = (uint64_t)settings->data_seed,
                                     .format = format->format } };
}

static att_status finish_vocabs(att_prepare_run *run, att_error *err)
{
    att_data *data = &run->data;
    const att_settings *settings = run->settings;
    int32_t *source = NULL, *target = NULL;
    bool joint = data->source_vocab == data->target_vocab;
    if (settings->joint && !joint)
        ATT_TRY(att_vocab_share_counts(data->source_vocab, data->target_vocab, err));
    att_status status = att_data_finish_vocab(data->source_vocab, &source, settings, err);
    att_free(source);
    if (status == ATT_OK && !joint)
        status = data->model_type != ATT_MODEL_SEQ2SEQ
                     ? att_vocab_finalize(data->target_vocab, 1, &target, err)
                     : att_data_finish_vocab(data->target_vocab, &target, settings, err);
    att_free(target);
    return status;
}

static att_status refuse_empty(const pair_pass *pass, const char *purpose, att_error *err)
{
    const char *noun = pass->run->data.model_type == ATT_MODEL_SEQ2SEQ ? "pairs" : "sentences";
    if (pass->pairs > 0)
        return ATT_OK;
    const char *name = att_text_stream_name(pass->list[0].source);
    if (pass->stats.lines == 0 && pass->options.read_valid)
        return att_fail(err, ATT_BAD_INPUT, name, ATT_NOTHING_HELD_OUT);
    if (pass->stats.lines == 0)
        return att_fail(err, ATT_BAD_INPUT, name, "has no %s to %s on", noun, purpose);
    return att_fail(err, ATT_BAD_INPUT, name,
                    "has no %s to %s on: each of its %lld lines has an empty side or more tokens "
                    "than max-length",
                    noun, purpose, (long long)pass->stats.lines);
}

/* Labels of training must be known, and more than one. */
static att_status check_labels(const att_prepare_run *run, const att_corpus_stats *stats,
                               att_error *err)
{
    char quoted[ATT_QUOTED_SIZE];
    const char *name = att_text_stream_name(run->train[0].source);
    const att_vocab *labels = run->data.target_vocab;
    if (run->data.model_type == ATT_MODEL_SEQ2SEQ)
        return ATT_OK;
    if (stats->target.unknown_tokens > 0)
        return att_fail_at(err, ATT_BAD_INPUT, name, (int)stats->unknown_label_line, 0, NULL,
                           "the label '%s' is not one of the model in init-from",
                           stats->unknown_label);
    if (att_vocab_size(labels) - ATT_ID_FIRST > 1)
        return ATT_OK;
    const char *label = att_vocab_token(labels, ATT_ID_FIRST);
    return att_fail(err, ATT_BAD_INPUT, name, "has only one label, '%s'; expected at least two",
                    att_quote(quoted, label, strlen(label)));
}

static att_status count_tokens(att_prepare_run *run, const known_format *format, att_error *err)
{
    if (att_data_keeps_vocab(&run->data))
        return ATT_OK;
    pair_pass pass = new_pass(run, format, !run->valid);
    pass.options.counted_source = run->data.source_vocab;
    pass.options.counted_target = run->data.target_vocab;
    ATT_TRY(run_pass(&pass, "counting tokens", err));
    ATT_TRY(refuse_empty(&pass, "train", err));
    return finish_vocabs(run, err);
}

/* After the validation data, whose sources are looked for. */
static att_status encode_train(att_prepare_run *run, const known_format *format, att_error *err)
{
    pair_pass pass = new_pass(run, format, !run->valid);
    pass.encodes = pass.options.keep_source_hashes = true;
    ATT_TRY(run_pass(&pass, "encoding", err));
    ATT_TRY(refuse_empty(&pass, "train", err));
    run->data.train.stats = pass.stats;
    if (!run->data.valid_in_train)
        run->data.overlapping_sources = att_known_sources_found(&run->valid_sources);
    return check_labels(run, &pass.stats, err);
}

static att_status encode_valid(att_prepare_run *run, const known_format *format, att_error *err)
{
    bool from_train = !run->valid, sample = from_train && run->settings->valid_fraction == 0;
    pair_pass pass = new_pass(run, format, from_train);
    pass.encodes = true;
    pass.split = ATT_TOKENS_VALID;
    pass.options.keep_target_text = pass.options.keep_source_hashes = true;
    pass.options.read_valid = from_train;
    if (sample)
        pass.options.valid_fraction = ATT_VALID_SAMPLE;
    if (!from_train) {
        pass.list = run->valid;
        pass.count = 1;
        ATT_TRY(att_data_example_format(&pass.options.format, run->settings, err));
    }
    ATT_TRY(run_pass(&pass, "encoding validation data", err));
    if (sample && pass.pairs == 0) {
        pass.stats = (att_corpus_stats){ 0 };
        pass.options.valid_fraction = 1; /* so few pairs that a sample has none: all of them */
        ATT_TRY(run_pass(&pass, "encoding validation data", err));
    }
    ATT_TRY(refuse_empty(&pass, "validate", err));
    att_corpus *valid = &run->data.valid;
    valid->pairs = pass.pairs;
    valid->stats = pass.stats;
    valid->has_labels = run->data.train.has_labels = run->data.model_type != ATT_MODEL_SEQ2SEQ;
    run->data.valid_in_train = sample;
    run->data.held_out = from_train && !sample ? pass.pairs : 0;
    if (from_train && valid->has_labels &&
        pass.stats.target.unknown_tokens == pass.stats.target.tokens)
        return att_fail_at(err, ATT_BAD_INPUT, att_text_stream_name(pass.list[0].source),
                           (int)pass.stats.unknown_label_line, 0, NULL, ATT_LABELS_HELD_OUT,
                           pass.stats.unknown_label);
    return ATT_OK;
}

static att_status prepare(att_prepare_run *run, known_format *format, att_error *err)
{
    ATT_TRY(look_at_sample(run, format, err));
    ATT_TRY(start_vocabs(run, format->has_tags, err));
    ATT_TRY(count_tokens(run, format, err));
    ATT_TRY(att_prepare_start(run, err));
    ATT_TRY(encode_valid(run, format, err));
    ATT_TRY(encode_train(run, format, err));
    return att_prepare_finish(run, err);
}

att_status att_prepare_pairs(att_prepare_run *run, att_error *err)
{
    known_format format = { 0 };
    att_status status = prepare(run, &format, err);
    att_known_sources_free(&run->valid_sources);
    for (int i = 0; i < ATT_COLUMN_COUNT; i++)
        att_string_free(&format.keys[i]);
    return status;
}
