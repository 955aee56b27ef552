/* Reading pairs of lines as pairs of token sequences; see corpus.h. */
#include "data/corpus.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/progress.h"
#include "base/quote.h"
#include "data/alignment.h"
#include "data/example_reader.h"
#include "data/hold_out.h"
#include "data/same_source.h"
#include "data/token_corpus.h"
#include "text/pretokenizer.h"
#include "text/words.h"

#include <assert.h>
#include <string.h>

enum { SOURCE, TARGET, SIDES, FIRST_CAPACITY = 256 };

/* One side while it is being read. */
typedef struct sequence_builder {
    const struct att_text_file *file; /* that its text is from */
    const att_vocab *vocab;
    att_vocab *counted; /* the same while it counts tokens; or NULL */
    att_tokenizer_state state;
    att_ids ids;
    int64_t *offsets;
    att_sequence_stats stats;
} sequence_builder;

typedef struct corpus_reader {
    const att_pair_read_options *options;
    sequence_builder sides[SIDES];
    int64_t *line_numbers;
    int64_t *source_hashes;
    att_string target_text;
    int64_t *target_text_offsets;
    att_ids alignment;
    att_string tagged_source; /* source<TAB>tags */
    att_string words, word_scratch;
    int64_t *word_offsets;
    int64_t word_count, word_capacity;
    att_copy_builder copying;
    int64_t pairs, capacity;
    att_corpus_stats stats;
    att_error *err;
} corpus_reader;

static bool is_tagged(const att_pair_read_options *options)
{
    return options->format.kind == ATT_EXAMPLES_TAGGED;
}

static bool has_labels(const att_pair_read_options *options)
{
    return is_tagged(options) || options->format.kind == ATT_EXAMPLES_SENTENCES;
}

static bool keeps_hashes(const att_pair_read_options *options)
{
    return options->link_sources || options->keep_source_hashes;
}

/* ---- memory */

static bool grow_list(int64_t **list, int64_t used, int64_t capacity)
{
    int64_t *more = att_realloc(*list, (size_t)used * sizeof *more, (size_t)capacity, sizeof *more);
    if (more)
        *list = more;
    return more != NULL;
}

/* Reserves memory for one more pair. `offsets` has one entry more than there are pairs. */
static att_status reserve_pair(corpus_reader *in)
{
    if (in->pairs + 1 < in->capacity)
        return ATT_OK;
    int64_t capacity = in->capacity ? in->capacity * 2 : FIRST_CAPACITY;
    int64_t used = in->capacity ? in->pairs + 1 : 0;
    if (!grow_list(&in->sides[SOURCE].offsets, used, capacity) ||
        !grow_list(&in->sides[TARGET].offsets, used, capacity) ||
        !grow_list(&in->line_numbers, used, capacity) ||
        (keeps_hashes(in->options) && !grow_list(&in->source_hashes, used, capacity)) ||
        (in->options->keep_target_text && !grow_list(&in->target_text_offsets, used, capacity)))
        return att_fail_memory(in->err);
    if (used == 0)
        in->sides[SOURCE].offsets[0] = in->sides[TARGET].offsets[0] = 0;
    in->capacity = capacity;
    return ATT_OK;
}

/* ---- one pair */

static att_status tokenize_side(corpus_reader *in, sequence_builder *side,
                                const att_line_view *line)
{
    att_error inner = { 0 };
    size_t max_tokens =
        in->options->max_length > 0 ? (size_t)in->options->max_length + 1 : SIZE_MAX;
    att_status status =
        side->counted ? att_vocab_count_line(side->counted, max_tokens, &side->ids, line->text,
                                             line->length, &inner)
                      : att_vocab_encode_limited(side->vocab, &side->state, max_tokens, &side->ids,
                                                 line->text, line->length, &inner);
    if (status == ATT_NO_MEMORY)
        return att_fail_memory(in->err);
    if (status != ATT_OK)
        return att_fail_at(in->err, status, side->file->name, (int)line->number, 0, NULL, "%s",
                           inner.message);
    return ATT_OK;
}

/* The number of tokens of the current pair. */
static int64_t new_tokens(const corpus_reader *in, const sequence_builder *side)
{
    return (int64_t)side->ids.count - side->offsets[in->pairs];
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Word `index` of a line, from 0; its length is 0 after the last. */
static att_line_view find_word(const att_line_view *line, int64_t index)
{
    size_t start = 0, end = 0;
    for (int64_t i = 0; i <= index; i++) {
        for (start = end; start < line->length && is_space(line->text[start]);)
            start++;
        for (end = start; end < line->length && !is_space(line->text[end]);)
            end++;
    }
    return (att_line_view){ line->text + start, end - start, line->number };
}

static int64_t count_words(const att_line_view *line)
{
    int64_t count = 0;
    for (size_t i = 0; i < line->length; i++)
        count += !is_space(line->text[i]) && (i == 0 || is_space(line->text[i - 1]));
    return count;
}

/* Remembers the first label that the training data lacks. */
static void record_unknown_label(corpus_reader *in, const att_line_view *labels)
{
    const sequence_builder *side = &in->sides[TARGET];
    int64_t count = new_tokens(in, side);
    const int32_t *ids = side->ids.items + side->offsets[in->pairs];
    for (int64_t i = 0; i < count && !side->counted && in->stats.unknown_label_line == 0; i++) {
        if (ids[i] != ATT_ID_UNK)
            continue;
        att_line_view label = is_tagged(in->options) ? find_word(labels, i) : *labels;
        att_quote(in->stats.unknown_label, label.text, label.length);
        in->stats.unknown_label_line = label.number;
    }
}

/* Counts a source with tags that the training data lack; tags are its last tokens. */
static void record_unknown_tags(corpus_reader *in, const att_line_view *source)
{
    const sequence_builder *side = &in->sides[SOURCE];
    if (side->counted || !att_vocab_has_tags(side->vocab))
        return;
    const char *tag;
    size_t length, at = att_vocab_tags_start(side->vocab, source->text, source->length), tags = 0;
    bool unknown = false;
    while (att_tags_next(source->text, source->length, &at, &tag, &length))
        tags++;
    for (size_t i = side->ids.count - tags; i < side->ids.count; i++)
        unknown |= side->ids.items[i] == ATT_ID_UNK;
    if (unknown && in->stats.unknown_tag_pairs++ == 0)
        in->stats.unknown_tag_line = source->number;
}

static att_status check_label_count(const corpus_reader *in, const att_line_view lines[SIDES])
{
    int64_t tokens = count_words(&lines[SOURCE]), labels = count_words(&lines[TARGET]);
    assert(!in->options->source_vocab ||
           att_vocab_tokenizer_kind(in->options->source_vocab) == ATT_TOKENIZER_SPACE);
    if (tokens == labels)
        return ATT_OK;
    return att_fail_at(
        in->err, ATT_BAD_INPUT, in->sides[TARGET].file->name, (int)lines[TARGET].number, 0, NULL,
        "expected a label for each token, found %lld token%s and %lld label%s", (long long)tokens,
        tokens == 1 ? "" : "s", (long long)labels, labels == 1 ? "" : "s");
}

/* The reason to skip the current pair, or -1. */
static int skip_reason(const corpus_reader *in)
{
    int64_t source = new_tokens(in, &in->sides[SOURCE]);
    int64_t target = new_tokens(in, &in->sides[TARGET]);
    int64_t max_length = in->options->max_length > 0 ? in->options->max_length : INT64_MAX;
    if (source == 0)
        return target == 0 ? ATT_SKIP_BLANK : ATT_SKIP_EMPTY_SOURCE;
    if (target == 0)
        return ATT_SKIP_EMPTY_TARGET;
    if (source > max_length)
        return ATT_SKIP_LONG_SOURCE;
    if (target > max_length)
        return ATT_SKIP_LONG_TARGET;
    return -1;
}

static void record_skip(corpus_reader *in, int reason, int64_t line)
{
    int64_t before = in->stats.skipped[reason]++;
    if (before < ATT_SKIP_MAX_LINES)
        in->stats.skipped_lines[reason][before] = line;
}

static void skip_pair(corpus_reader *in, int reason, int64_t line)
{
    record_skip(in, reason, line);
    for (int i = 0; i < SIDES; i++) {
        sequence_builder *side = &in->sides[i];
        size_t start = (size_t)side->offsets[in->pairs];
        if (side->counted && side->ids.count > start)
            att_vocab_uncount_tokens(side->counted, side->ids.items + start,
                                     side->ids.count - start);
        side->ids.count = start;
    }
}

static void keep_pair(corpus_reader *in, int64_t line)
{
    for (int i = 0; i < SIDES; i++) {
        sequence_builder *side = &in->sides[i];
        int64_t tokens = new_tokens(in, side);
        if (in->pairs == 0 || tokens < side->stats.min_length)
            side->stats.min_length = tokens;
        if (tokens > side->stats.max_length)
            side->stats.max_length = tokens;
        for (size_t t = (size_t)side->offsets[in->pairs]; !side->counted && t < side->ids.count;
             t++)
            side->stats.unknown_tokens += side->ids.items[t] == ATT_ID_UNK;
        side->stats.tokens += tokens;
        side->offsets[in->pairs + 1] = (int64_t)side->ids.count;
    }
    in->line_numbers[in->pairs++] = line;
}

/* Stores the line as it is, ended by a zero byte. */
static att_status keep_target_text(corpus_reader *in, const att_line_view *target)
{
    in->target_text_offsets[in->pairs] = (int64_t)in->target_text.length;
    if (att_string_append(&in->target_text, target->text, target->length) != ATT_OK ||
        att_string_append(&in->target_text, "", 1) != ATT_OK)
        return att_fail_memory(in->err);
    return ATT_OK;
}

/* Stores the words of a source as they are written. */
static att_status keep_words(corpus_reader *in, const att_line_view *source)
{
    int64_t tokens = new_tokens(in, &in->sides[SOURCE]), used = in->word_count;
    size_t start = in->words.length;
    if (used + tokens > in->word_capacity) {
        int64_t capacity = 2 * (used + tokens);
        if (!grow_list(&in->word_offsets, used, capacity))
            return att_fail_memory(in->err);
        in->word_capacity = capacity;
    }
    ATT_TRY(att_words_split(&in->words, &in->word_scratch, in->options->source_vocab, source->text,
                            source->length, (size_t)tokens, in->err));
    for (int64_t i = 0; i < tokens; i++) {
        in->word_offsets[used + i] = (int64_t)start;
        start += strlen(in->words.data + start) + 1;
    }
    in->word_count += tokens;
    return ATT_OK;
}

/* Stores the ids of a pair in its extended vocabulary. */
static att_status keep_copy_ids(corpus_reader *in, const att_line_view lines[SIDES])
{
    att_encoded_line encoded[SIDES];
    for (int i = 0; i < SIDES; i++) {
        const sequence_builder *side = &in->sides[i];
        encoded[i] = (att_encoded_line){ side->ids.items + side->offsets[in->pairs],
                                         (size_t)new_tokens(in, side), &lines[i] };
    }
    return att_copy_builder_add(&in->copying, &encoded[SOURCE], &encoded[TARGET], in->err);
}

/* Sources are the same if their tokens are cut from the same text: composed, and lowercased by a
 * vocabulary that does so. Tokens would not do: unknown ones are all alike. */
static att_status keep_source_hash(corpus_reader *in, const att_line_view *source)
{
    const sequence_builder *side = &in->sides[SOURCE];
    ATT_TRY(att_vocab_normalize(side->counted ? side->counted : side->vocab, &in->word_scratch,
                                NULL, source->text, source->length, in->err));
    in->source_hashes[in->pairs] =
        (int64_t)att_hash(in->word_scratch.data, in->word_scratch.length);
    return ATT_OK;
}

static bool is_valid_pair(const att_pair_read_options *options, const att_line_view *source)
{
    return options->valid_fraction > 0 &&
           att_hold_out_place(options->seed, source) < options->valid_fraction;
}

static att_status add_pair(corpus_reader *in, const att_line_view lines[SIDES],
                           const att_line_view *align, const char *align_name)
{
    if (is_valid_pair(in->options, &lines[SOURCE]) != in->options->read_valid)
        return ATT_OK;
    in->stats.lines++;
    if (is_tagged(in->options))
        ATT_TRY(check_label_count(in, lines));
    ATT_TRY(reserve_pair(in));
    for (int i = 0; i < SIDES; i++)
        ATT_TRY(tokenize_side(in, &in->sides[i], &lines[i]));
    int reason = skip_reason(in);
    if (reason >= 0) {
        skip_pair(in, reason, lines[SOURCE].number);
        return ATT_OK;
    }
    if (has_labels(in->options))
        record_unknown_label(in, &lines[TARGET]);
    record_unknown_tags(in, &lines[SOURCE]);
    if (align)
        ATT_TRY(att_alignment_read(&in->alignment, align, align_name,
                                   new_tokens(in, &in->sides[SOURCE]),
                                   new_tokens(in, &in->sides[TARGET]), in->err));
    if (in->options->keep_words)
        ATT_TRY(keep_words(in, &lines[SOURCE]));
    if (in->options->copies)
        ATT_TRY(keep_copy_ids(in, lines));
    if (in->options->keep_target_text)
        ATT_TRY(keep_target_text(in, &lines[TARGET]));
    if (keeps_hashes(in->options))
        ATT_TRY(keep_source_hash(in, &lines[SOURCE]));
    keep_pair(in, lines[SOURCE].number);
    return ATT_OK;
}

/* ---- all pairs */

static void record_line_ends(corpus_reader *in, const att_line_reader *lines)
{
    in->stats.crlf_lines += lines->crlf_lines;
    in->stats.has_bom = in->stats.has_bom || lines->has_bom;
}

static att_line_reader start(const struct att_text_file *file)
{
    return att_text_file_lines(file);
}

static att_status read_two_files(corpus_reader *in, const att_pair_text *from)
{
    att_line_reader sources = start(&from->source), targets = start(&from->target);
    att_line_reader aligns = start(&from->alignment);
    att_line_view align, sides[SIDES];
    while (att_line_reader_next(&sources, &sides[SOURCE]) &&
           att_line_reader_next(&targets, &sides[TARGET])) {
        bool aligned = from->alignment.name && att_line_reader_next(&aligns, &align);
        ATT_TRY(att_text_line_check(&from->source, &sides[SOURCE], in->err));
        ATT_TRY(att_text_line_check(&from->target, &sides[TARGET], in->err));
        ATT_TRY(add_pair(in, sides, aligned ? &align : NULL, from->alignment.name));
        ATT_TRY(att_progress_check(in->err));
    }
    record_line_ends(in, &sources);
    record_line_ends(in, &targets);
    return ATT_OK;
}

/* A CoNLL file without blank lines is one sentence: nothing to train on, and longer than any
 * sentence. */
static att_status refuse_one_sentence(const corpus_reader *in, const att_example_reader *examples,
                                      int64_t first_line)
{
    enum { LONGEST = 500 };
    const sequence_builder *side = &in->sides[SOURCE];
    int64_t limit = in->options->max_length > 0 ? in->options->max_length : LONGEST;
    int64_t tokens = examples->lines.number - first_line + 1;
    if (examples->format != ATT_DATA_CONLL || examples->conll.sentences != 1 ||
        (!side->counted && tokens <= limit))
        return ATT_OK;
    return att_fail(in->err, ATT_BAD_INPUT, side->file->name,
                    "expected a blank line between sentences, found one sentence of %lld lines",
                    (long long)tokens);
}

static att_status read_examples(corpus_reader *in, att_example_reader *examples,
                                const struct att_text_file *alignment)
{
    att_line_reader aligns = start(alignment);
    att_line_view align, sides[SIDES];
    int64_t last_line = 0;
    bool found;
    while (true) {
        ATT_TRY(att_example_reader_next(examples, &found, in->err));
        if (!found)
            break;
        bool aligned = alignment->name && att_line_reader_next(&aligns, &align);
        last_line = examples->sides[ATT_COLUMN_SOURCE].number;
        sides[TARGET] = examples->sides[ATT_COLUMN_TARGET];
        ATT_TRY(att_example_source(&sides[SOURCE], &in->tagged_source, examples, in->err));
        ATT_TRY(add_pair(in, sides, aligned ? &align : NULL, alignment->name));
        ATT_TRY(att_progress_check(in->err));
    }
    record_line_ends(in, &examples->lines);
    return refuse_one_sentence(in, examples, last_line);
}

/* Refuses what the model or the other files have no place for. */
static att_status check_examples(const corpus_reader *in, const att_example_reader *examples,
                                 const att_pair_text *from)
{
    if (from->alignment.name && examples->format == ATT_DATA_CSV)
        return att_fail(in->err, ATT_BAD_INPUT, examples->file->name,
                        "is CSV: guided-alignment needs a line for each pair");
    if (examples->has_tags && !att_vocab_has_tags(in->options->source_vocab))
        return att_fail(in->err, ATT_BAD_INPUT, examples->file->name,
                        "has tags beside the text, but the training data had none; columns "
                        "chooses source and target");
    return ATT_OK;
}

static att_status read_one_file(corpus_reader *in, const att_pair_text *from)
{
    att_example_reader examples;
    att_status status =
        att_example_reader_start(&examples, &from->tsv, &in->options->format, in->err);
    memcpy(in->stats.format, examples.description, sizeof in->stats.format);
    if (status == ATT_OK)
        status = check_examples(in, &examples, from);
    if (status == ATT_OK)
        status = read_examples(in, &examples, &from->alignment);
    att_example_reader_free(&examples);
    return status;
}

static void move_to_corpus(att_corpus *out, corpus_reader *in)
{
    in->stats.source = in->sides[SOURCE].stats;
    in->stats.target = in->sides[TARGET].stats;
    *out = (att_corpus){ .pairs = in->pairs,
                         .has_labels = has_labels(in->options),
                         .source = { in->sides[SOURCE].ids.items, in->sides[SOURCE].offsets },
                         .target = { in->sides[TARGET].ids.items, in->sides[TARGET].offsets },
                         .line_numbers = in->line_numbers,
                         .alignment = in->alignment.items,
                         .source_words = in->words.data,
                         .source_word_offsets = in->word_offsets,
                         .copy = att_copy_builder_finish(&in->copying),
                         .target_text = in->target_text.data,
                         .target_text_offsets = in->target_text_offsets,
                         .stats = in->stats };
}

att_status att_corpus_read(att_corpus *out, const att_pair_text *pairs,
                           const att_pair_read_options *options, att_error *err)
{
    *out = (att_corpus){ 0 };
    ATT_TRY(att_pair_text_check_lines(pairs, err));
    bool one = pairs->tsv.name != NULL;
    corpus_reader in = { .options = options, .err = err };
    in.copying.vocab.source = options->source_vocab;
    in.copying.vocab.target = options->target_vocab;
    in.sides[SOURCE].vocab = options->source_vocab;
    in.sides[TARGET].vocab = options->target_vocab;
    in.sides[SOURCE].counted = options->counted_source;
    in.sides[TARGET].counted = options->counted_target;
    in.sides[SOURCE].file = one ? &pairs->tsv : &pairs->source;
    in.sides[TARGET].file = one ? &pairs->tsv : &pairs->target;
    att_status status = reserve_pair(&in);
    if (status == ATT_OK)
        status = one ? read_one_file(&in, pairs) : read_two_files(&in, pairs);
    att_string_free(&in.word_scratch);
    att_string_free(&in.tagged_source);
    att_tokenizer_state_free(&in.sides[SOURCE].state);
    att_tokenizer_state_free(&in.sides[TARGET].state);
    move_to_corpus(out, &in);
    if (status == ATT_OK && options->link_sources)
        status = att_corpus_link_sources(out, in.source_hashes, err);
    if (options->keep_source_hashes)
        out->source_hashes = in.source_hashes;
    else
        att_free(in.source_hashes);
    if (status != ATT_OK)
        att_corpus_free(out);
    return status;
}

/* ---- using */

static int64_t renumber(att_sequences *side, int64_t pairs, const int32_t *final)
{
    int64_t unknown = 0;
    for (int64_t i = 0; i < side->offsets[pairs]; i++) {
        side->ids[i] = final[side->ids[i]];
        unknown += side->ids[i] == ATT_ID_UNK;
    }
    return unknown;
}

void att_corpus_renumber(att_corpus *corpus, const int32_t *source_final,
                         const int32_t *target_final)
{
    if (source_final)
        corpus->stats.source.unknown_tokens =
            renumber(&corpus->source, corpus->pairs, source_final);
    corpus->stats.target.unknown_tokens = renumber(&corpus->target, corpus->pairs, target_final);
}

void att_corpus_free(att_corpus *corpus)
{
    att_free(corpus->source.ids);
    att_free(corpus->source.offsets);
    att_free(corpus->target.ids);
    att_free(corpus->target.offsets);
    att_free(corpus->line_numbers);
    att_free(corpus->same_source);
    att_free(corpus->alignment);
    att_free(corpus->source_words);
    att_free(corpus->source_word_offsets);
    att_copy_ids_free(&corpus->copy);
    att_free(corpus->target_text);
    att_free(corpus->target_text_offsets);
    att_image_grids_free(&corpus->image_grids);
    att_free(corpus->source_hashes);
    att_token_corpus_free(corpus->stored);
    *corpus = (att_corpus){ 0 };
}

const char *att_corpus_target_text(const att_corpus *corpus, int64_t pair)
{
    return corpus->target_text + corpus->target_text_offsets[pair];
}

int64_t att_corpus_image(const att_corpus *corpus, int64_t pair)
{
    return corpus->source.ids[corpus->source.offsets[pair]] - ATT_ID_FIRST;
}

const int32_t *att_sequences_get(const att_sequences *side, int64_t pair, int64_t *length)
{
    *length = side->offsets[pair + 1] - side->offsets[pair];
    return side->ids + side->offsets[pair];
}
