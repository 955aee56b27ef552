/* The report on the data that `attend train` prints before training; see data.h. */
#include "data/data_loaders.h"

#include "base/error.h"
#include "base/string.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const skip_names[ATT_SKIP_COUNT] = {
    [ATT_SKIP_BLANK] = "empty",
    [ATT_SKIP_EMPTY_SOURCE] = "with an empty source",
    [ATT_SKIP_EMPTY_TARGET] = "with an empty target",
    [ATT_SKIP_LONG_SOURCE] = "with a source longer than max-length",
    [ATT_SKIP_LONG_TARGET] = "with a target longer than max-length",
};

static double percent(int64_t part, int64_t all)
{
    return all > 0 ? 100.0 * (double)part / (double)all : 0;
}

static const char *plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

static att_status report_pairs(att_string *out, const char *name, const att_corpus *corpus)
{
    return att_string_printf(
        out, "%-12s%" PRId64 " pair%s, %" PRId64 " source and %" PRId64 " target tokens\n", name,
        corpus->pairs, plural(corpus->pairs), corpus->stats.source.tokens,
        corpus->stats.target.tokens);
}

att_status att_sequence_stats_report(att_string *out, const char *name, const att_vocab *vocab,
                                     const att_sequence_stats *train,
                                     const att_sequence_stats *valid, int64_t pairs)
{
    char tags[32] = "";
    if (att_vocab_has_tags(vocab))
        snprintf(tags, sizeof tags, " and %d tags", att_vocab_tag_count(vocab));
    ATT_TRY(att_string_printf(out,
                              "%-12s%s%s, vocabulary size %d; sequence length %" PRId64
                              " to %" PRId64 ", mean %.1f\n",
                              name, att_tokenizer_specs[att_vocab_tokenizer_kind(vocab)].unit, tags,
                              att_vocab_size(vocab), train->min_length, train->max_length,
                              (double)train->tokens / (double)pairs));
    if (train->unknown_tokens == 0 && valid->unknown_tokens == 0)
        return ATT_OK;
    return att_string_printf(out,
                             "%-12sunknown tokens: %" PRId64 " (%.2f %%) in training, %" PRId64
                             " (%.2f %%) in validation\n",
                             "", train->unknown_tokens,
                             percent(train->unknown_tokens, train->tokens), valid->unknown_tokens,
                             percent(valid->unknown_tokens, valid->tokens));
}

/* "3 empty (lines 4, 9, 12)" */
static att_status report_skip(att_string *out, const att_corpus_stats *stats, int reason)
{
    int64_t count = stats->skipped[reason];
    ATT_TRY(
        att_string_printf(out, "%" PRId64 " %s (line%s", count, skip_names[reason], plural(count)));
    for (int64_t i = 0; i < count && i < ATT_SKIP_MAX_LINES; i++)
        ATT_TRY(
            att_string_printf(out, "%s %" PRId64, i ? "," : "", stats->skipped_lines[reason][i]));
    return att_string_puts(out, count > ATT_SKIP_MAX_LINES ? ", …)" : ")");
}

static att_status report_skips(att_string *out, const char *name, const att_corpus_stats *stats)
{
    const char *before = "";
    for (int reason = 0; reason < ATT_SKIP_COUNT; reason++) {
        if (stats->skipped[reason] == 0)
            continue;
        if (!*before)
            ATT_TRY(att_string_printf(out, "%-12s%s: ", "skipped", name));
        ATT_TRY(att_string_puts(out, before));
        ATT_TRY(report_skip(out, stats, reason));
        before = ", ";
    }
    return *before ? att_string_puts(out, "\n") : ATT_OK;
}

static att_status report_warnings(att_string *out, const char *name, const att_corpus_stats *stats)
{
    if (stats->crlf_lines > 0)
        ATT_TRY(att_string_printf(out,
                                  "%-12s%s: %" PRId64 " line%s with CRLF line ends, read as LF\n",
                                  "note", name, stats->crlf_lines, plural(stats->crlf_lines)));
    if (stats->has_bom)
        ATT_TRY(att_string_printf(out, "%-12s%s: starts with a byte order mark, which is ignored\n",
                                  "note", name));
    return ATT_OK;
}

static att_status report_unknown_labels(att_string *out, const char *name, const att_corpus *corpus)
{
    int64_t count = corpus->stats.target.unknown_tokens;
    if (!corpus->has_labels || count == 0)
        return ATT_OK;
    return att_string_printf(out,
                             "%-12s%s: %" PRId64 " label%s not in the training data, counted as "
                             "wrong; the first is '%s' in line %" PRId64 "\n",
                             "note", name, count, count == 1 ? " is" : "s are",
                             corpus->stats.unknown_label, corpus->stats.unknown_label_line);
}

att_status att_corpus_warnings(att_string *out, const char *name, const att_corpus *corpus)
{
    ATT_TRY(report_skips(out, name, &corpus->stats));
    ATT_TRY(report_unknown_labels(out, name, corpus));
    return report_warnings(out, name, &corpus->stats);
}

/* Of a file from which sentences are held out, line ends and a byte order mark are noted once. */
static att_status report_all_warnings(att_string *out, const att_data *data)
{
    const att_corpus *valid = &data->valid;
    ATT_TRY(att_corpus_warnings(out, "training", &data->train));
    if (data->held_out == 0 && !data->valid_in_train)
        return att_corpus_warnings(out, "validation", valid);
    ATT_TRY(report_skips(out, "validation", &valid->stats));
    return report_unknown_labels(out, "validation", valid);
}

static att_status report_overlap(att_string *out, const att_data *data)
{
    if (data->overlapping_sources == 0)
        return ATT_OK;
    return att_string_printf(out,
                             "%-12s%" PRId64 " of %" PRId64
                             " validation sources (%.1f %%) are also in the training data\n",
                             "note", data->overlapping_sources, data->valid.pairs,
                             percent(data->overlapping_sources, data->valid.pairs));
}

/* Such as labels that are spelled in another way than those of the training data. */
static att_status report_foreign_labels(att_string *out, const att_data *data)
{
    const att_sequence_stats *labels = &data->valid.stats.target;
    if (!data->valid.has_labels || labels->unknown_tokens < labels->tokens)
        return ATT_OK;
    return att_string_printf(out,
                             "%-12sno label of the validation data is in the training data: there "
                             "is no validation loss, and the last model is kept\n",
                             "note");
}

att_status att_data_report_split(att_string *out, const att_data *data)
{
    if (data->held_out == 0 && !data->valid_in_train)
        return ATT_OK;
    out->length--; /* the newline: the line continues */
    return att_string_puts(out, data->valid_in_train
                                    ? ", a sample of the training data: nothing is held out\n"
                                    : ", held out of the training data\n");
}

static att_status report_validation(att_string *out, const att_data *data)
{
    ATT_TRY(report_pairs(out, "validation", &data->valid));
    return att_data_report_split(out, data);
}

/* "format      CoNLL: …"; nothing for files of source<TAB>target lines, and for two files. */
static att_status report_format(att_string *out, const att_data *data)
{
    const char *train = data->train.stats.format, *valid = data->valid.stats.format;
    if (*train)
        ATT_TRY(att_string_printf(out, "%-12s%s\n", "format", train));
    if (*valid && strcmp(train, valid) != 0)
        return att_string_printf(out, "%-12svalidation: %s\n", *train ? "" : "format", valid);
    return ATT_OK;
}

/* "vectors     12034 of 14745 words found (81.6 %)", and what the data chose. */
static att_status report_choices(att_string *out, const att_data *data)
{
    const att_word_vectors *vectors = &data->vectors;
    if (vectors->size > 0)
        ATT_TRY(att_string_printf(out, "%-12s%" PRId64 " of %" PRId64 " words found (%.1f %%)\n",
                                  "vectors", vectors->found, vectors->words,
                                  percent(vectors->found, vectors->words)));
    return data->choices.length > 0
               ? att_string_append(out, data->choices.data, data->choices.length)
               : ATT_OK;
}

/* ---- classification data */

static att_status report_sentences(att_string *out, const char *name, const att_corpus *corpus)
{
    return att_string_printf(out, "%-12s%" PRId64 " sentence%s, %" PRId64 " tokens\n", name,
                             corpus->pairs, plural(corpus->pairs), corpus->stats.source.tokens);
}

/* "labels      2: positive (52.2 %), negative (47.8 %)" */
static att_status report_labels(att_string *out, const att_data *data)
{
    enum { MAX_LABELS_SHOWN = 10 };
    int32_t labels = att_vocab_size(data->target_vocab) - ATT_ID_FIRST;
    ATT_TRY(att_string_printf(out, "%-12s%d:", "labels", labels));
    for (int32_t i = 0; i < labels && i < MAX_LABELS_SHOWN; i++) {
        const char *label = att_vocab_token(data->target_vocab, ATT_ID_FIRST + i);
        int64_t count = att_vocab_token_count(data->target_vocab, ATT_ID_FIRST + i);
        ATT_TRY(att_string_printf(out, "%s %s", i > 0 ? "," : "", label));
        if (count > 0) /* a vocabulary that was read from a file has no counts */
            ATT_TRY(att_string_printf(out, " (%.1f %%)",
                                      percent(count, data->train.stats.target.tokens)));
    }
    return att_string_puts(out, labels > MAX_LABELS_SHOWN ? ", …\n" : "\n");
}

att_status att_classifier_data_report(att_string *out, const att_data *data)
{
    ATT_TRY(report_format(out, data));
    ATT_TRY(report_sentences(out, "training", &data->train));
    ATT_TRY(report_sentences(out, "validation", &data->valid));
    ATT_TRY(att_data_report_split(out, data));
    ATT_TRY(att_sequence_stats_report(out, "tokens", data->source_vocab, &data->train.stats.source,
                                      &data->valid.stats.source, data->train.pairs));
    ATT_TRY(report_labels(out, data));
    ATT_TRY(report_choices(out, data));
    ATT_TRY(report_all_warnings(out, data));
    ATT_TRY(report_foreign_labels(out, data));
    return report_overlap(out, data);
}

/* ---- pairs */

att_status att_seq2seq_data_report(att_string *out, const att_data *data)
{
    const att_corpus_stats *train = &data->train.stats, *valid = &data->valid.stats;
    ATT_TRY(report_format(out, data));
    ATT_TRY(report_pairs(out, "training", &data->train));
    ATT_TRY(report_validation(out, data));
    ATT_TRY(att_sequence_stats_report(out, "source", data->source_vocab, &train->source,
                                      &valid->source, data->train.pairs));
    ATT_TRY(att_sequence_stats_report(out, "target", data->target_vocab, &train->target,
                                      &valid->target, data->train.pairs));
    ATT_TRY(report_choices(out, data));
    ATT_TRY(report_all_warnings(out, data));
    return report_overlap(out, data);
}
