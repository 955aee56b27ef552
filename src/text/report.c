/* What was found in the data, for the user; see data.h. */
#include "text/data_kinds.h"

#include "base/error.h"
#include "base/text.h"

#include <inttypes.h>

static const char *const token_names[] = {
    [ATT_TOKENS_CHAR] = "characters",
    [ATT_TOKENS_WORD] = "words",
    [ATT_TOKENS_SPACE] = "given by spaces",
    [ATT_TOKENS_SUBWORD] = "subwords",
    [ATT_TOKENS_LINE] = "lines",
    [ATT_TOKENS_BYTE] = "bytes",
};

const char *att_tokens_name(att_tokens tokens)
{
    return token_names[tokens];
}

static const char *const drop_names[ATT_DROP_COUNT] = {
    [ATT_DROP_BLANK] = "empty",
    [ATT_DROP_NO_SOURCE] = "with an empty source",
    [ATT_DROP_NO_TARGET] = "with an empty target",
    [ATT_DROP_LONG_SOURCE] = "with a source longer than max-length",
    [ATT_DROP_LONG_TARGET] = "with a target longer than max-length",
    [ATT_DROP_NEW_LABEL] = "with a label that is not in the training data",
};

static double percent(int64_t part, int64_t all)
{
    return all > 0 ? 100.0 * (double)part / (double)all : 0;
}

static const char *plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

static att_status report_pairs(att_text *out, const char *name, const att_corpus *corpus)
{
    return att_text_print(
        out, "%-12s%" PRId64 " pair%s, %" PRId64 " source and %" PRId64 " target tokens\n", name,
        corpus->pairs, plural(corpus->pairs), corpus->facts.source.tokens,
        corpus->facts.target.tokens);
}

att_status att_report_side(att_text *out, const char *name, const att_vocab *vocab,
                           const att_side_facts *train, const att_side_facts *valid, int64_t pairs)
{
    ATT_TRY(att_text_print(
        out, "%-12s%s, %d known; %" PRId64 " to %" PRId64 " a line, %.1f on average\n", name,
        token_names[att_vocab_tokens(vocab)], att_vocab_size(vocab) - ATT_ID_FIRST, train->least,
        train->most, (double)train->tokens / (double)pairs));
    if (train->unknown == 0 && valid->unknown == 0)
        return ATT_OK;
    return att_text_print(out,
                          "%-12sunknown: %" PRId64 " (%.2f %%) in training, %" PRId64
                          " (%.2f %%) in validation\n",
                          "", train->unknown, percent(train->unknown, train->tokens),
                          valid->unknown, percent(valid->unknown, valid->tokens));
}

/* "3 empty (lines 4, 9, 12)" */
static att_status report_drop(att_text *out, const att_corpus_facts *facts, int reason)
{
    int64_t count = facts->dropped[reason];
    ATT_TRY(
        att_text_print(out, "%" PRId64 " %s (line%s", count, drop_names[reason], plural(count)));
    for (int64_t i = 0; i < count && i < ATT_DROP_LINES; i++)
        ATT_TRY(att_text_print(out, "%s %" PRId64, i ? "," : "", facts->dropped_at[reason][i]));
    return att_text_puts(out, count > ATT_DROP_LINES ? ", …)" : ")");
}

static att_status report_drops(att_text *out, const char *name, const att_corpus_facts *facts)
{
    const char *before = "";
    for (int reason = 0; reason < ATT_DROP_COUNT; reason++) {
        if (facts->dropped[reason] == 0)
            continue;
        if (!*before)
            ATT_TRY(att_text_print(out, "%-12s%s: ", "left out", name));
        ATT_TRY(att_text_puts(out, before));
        ATT_TRY(report_drop(out, facts, reason));
        before = ", ";
    }
    return *before ? att_text_puts(out, "\n") : ATT_OK;
}

static att_status report_notes(att_text *out, const char *name, const att_corpus_facts *facts)
{
    if (facts->crlf_lines > 0)
        ATT_TRY(att_text_print(
            out, "%-12s%s: %" PRId64 " line%s with the end of DOS, CRLF, taken as any other\n",
            "note", name, facts->crlf_lines, plural(facts->crlf_lines)));
    if (facts->byte_mark)
        ATT_TRY(att_text_print(out, "%-12s%s: starts with a byte order mark, which was left out\n",
                               "note", name));
    return ATT_OK;
}

att_status att_corpus_remarks(att_text *out, const char *name, const att_corpus *corpus)
{
    ATT_TRY(report_drops(out, name, &corpus->facts));
    return report_notes(out, name, &corpus->facts);
}

static att_status report_overlap(att_text *out, const att_data *data)
{
    if (data->seen_source == 0)
        return ATT_OK;
    return att_text_print(out,
                          "%-12s%" PRId64 " of %" PRId64
                          " validation sources (%.1f %%) are also in the training data\n",
                          "note", data->seen_source, data->valid.pairs,
                          percent(data->seen_source, data->valid.pairs));
}

static att_status report_validation(att_text *out, const att_data *data)
{
    ATT_TRY(report_pairs(out, "validation", &data->valid));
    if (data->held_out == 0)
        return ATT_OK;
    out->length--; /* goes on in the same line */
    return att_text_puts(out, ", held out of the training file\n");
}

/* ---- labels */

static att_status report_sentences(att_text *out, const char *name, const att_corpus *corpus)
{
    return att_text_print(out, "%-12s%" PRId64 " sentence%s, %" PRId64 " tokens\n", name,
                          corpus->pairs, plural(corpus->pairs), corpus->facts.source.tokens);
}

/* "labels      2: positive (52.2 %), negative (47.8 %)" */
static att_status report_labels(att_text *out, const att_data *data)
{
    enum { MOST_TOLD = 10 };
    int32_t labels = att_vocab_size(data->target_words) - ATT_ID_FIRST;
    ATT_TRY(att_text_print(out, "%-12s%d:", "labels", labels));
    for (int32_t i = 0; i < labels && i < MOST_TOLD; i++)
        ATT_TRY(att_text_print(
            out, "%s %s (%.1f %%)", i > 0 ? "," : "",
            att_vocab_word(data->target_words, ATT_ID_FIRST + i),
            percent(att_vocab_times(data->target_words, ATT_ID_FIRST + i), data->train.pairs)));
    return att_text_puts(out, labels > MOST_TOLD ? ", …\n" : "\n");
}

att_status att_labels_report(att_text *out, const att_data *data)
{
    ATT_TRY(report_sentences(out, "training", &data->train));
    ATT_TRY(report_sentences(out, "validation", &data->valid));
    if (data->held_out > 0) {
        out->length--; /* goes on in the same line */
        ATT_TRY(att_text_puts(out, ", held out of the training file\n"));
    }
    ATT_TRY(att_report_side(out, "tokens", data->source_words, &data->train.facts.source,
                            &data->valid.facts.source, data->train.pairs));
    ATT_TRY(report_labels(out, data));
    ATT_TRY(att_corpus_remarks(out, "training", &data->train));
    ATT_TRY(att_corpus_remarks(out, "validation", &data->valid));
    return report_overlap(out, data);
}

/* ---- pairs */

att_status att_pairs_report(att_text *out, const att_data *data)
{
    const att_corpus_facts *train = &data->train.facts, *valid = &data->valid.facts;
    ATT_TRY(report_pairs(out, "training", &data->train));
    ATT_TRY(report_validation(out, data));
    ATT_TRY(att_report_side(out, "source", data->source_words, &train->source, &valid->source,
                            data->train.pairs));
    ATT_TRY(att_report_side(out, "target", data->target_words, &train->target, &valid->target,
                            data->train.pairs));
    ATT_TRY(att_corpus_remarks(out, "training", &data->train));
    ATT_TRY(att_corpus_remarks(out, "validation", &data->valid));
    return report_overlap(out, data);
}
