/* Any bytes as tab-separated pairs of lines (fuzz_examples.c has the other formats). The first byte
 * chooses the tokenizer, lower case, and whether the bytes after the first 0x1E are alignments. The
 * result must be complete, and its text must be read as the same data again. */
#include "fuzz/fuzz.h"

#include "data/batch.h"
#include "text/utf8.h"

enum { LOWER = 4, ALIGNED = 8, SHORT = 16, SEPARATOR = 0x1E, BATCH_TOKENS = 40 };

typedef struct scene {
    att_vocab *source, *target;
    att_corpus corpus;
    att_tokenizer_kind tokens;
} scene;

/* Tokens of characters, and those given by spaces, join into a line that splits into them again. */
static void check_line(const att_vocab *vocab, const int32_t *ids, int64_t count)
{
    att_string text = { 0 };
    att_ids again = { 0 };
    att_error err = { 0 };
    PROMISE(count > 0);
    for (int64_t i = 0; i < count; i++)
        PROMISE(ids[i] >= ATT_ID_FIRST && ids[i] < att_vocab_size(vocab));
    PROMISE(att_vocab_decode(vocab, &text, ids, (size_t)count) == ATT_OK);
    PROMISE(att_utf8_valid_prefix(text.data, text.length) == text.length);
    PROMISE(att_vocab_encode(vocab, NULL, &again, text.data, text.length, &err) == ATT_OK);
    if (att_vocab_tokenizer_kind(vocab) != ATT_TOKENIZER_WORD) {
        PROMISE(again.count == (size_t)count);
        PROMISE(memcmp(again.items, ids, again.count * sizeof *ids) == 0);
    }
    att_ids_free(&again);
    att_string_free(&text);
}

static void check_pairs(const scene *in)
{
    const att_corpus *corpus = &in->corpus;
    int64_t dropped = 0;
    for (int i = 0; i < ATT_SKIP_COUNT; i++)
        dropped += corpus->stats.skipped[i];
    PROMISE(corpus->pairs + dropped == corpus->stats.lines);
    for (int64_t p = 0; p < corpus->pairs; p++) {
        int64_t sources, targets;
        const int32_t *ids = att_sequences_get(&corpus->source, p, &sources);
        check_line(in->source, ids, sources);
        ids = att_sequences_get(&corpus->target, p, &targets);
        check_line(in->target, ids, targets);
        for (int64_t t = 0; corpus->alignment && t < targets; t++) {
            int32_t key = corpus->alignment[corpus->target.offsets[p] + t];
            PROMISE(key >= -1 && key < sources);
        }
    }
}

static void check_batches(const scene *in)
{
    att_batches *batches;
    att_error err = { 0 };
    PROMISE(att_pair_batches_new(&batches, &in->corpus, BATCH_TOKENS, 1, &err) == ATT_OK);
    att_batches_start_epoch(batches, 0);
    int64_t rows = 0, tokens = 0;
    for (int64_t i = 0; i < att_batches_count(batches); i++) {
        const att_batch *batch = att_batches_get(batches, i);
        rows += batch->rows;
        tokens += batch->source_tokens;
        PROMISE(batch->rows == 1 || batch->rows * batch->source_length <= BATCH_TOKENS);
        PROMISE(batch->rows == 1 || batch->rows * batch->target_length <= BATCH_TOKENS);
    }
    PROMISE(rows == in->corpus.pairs && tokens == in->corpus.stats.source.tokens);
    att_batches_free(batches);
}

/* The text of an id in the extended vocabulary of a pair. */
static const char *copied_text(const att_corpus *corpus, const att_vocab *target, int64_t pair,
                               int32_t id)
{
    int32_t size = att_vocab_size(target);
    PROMISE(id >= 0);
    return id < size ? att_vocab_token(target, id)
                     : att_copy_ids_word(&corpus->copy, pair, id - size);
}

/* Ids for copying stand for the tokens of the lines, whatever the vocabularies lack: those of
 * `small`, against those of `in`, which has all tokens. */
static void check_copy_ids(const scene *in, const scene *small)
{
    const att_corpus *all = &in->corpus, *corpus = &small->corpus;
    PROMISE(corpus->pairs == all->pairs);
    for (int64_t p = 0; p < all->pairs; p++) {
        for (int64_t i = all->source.offsets[p]; i < all->source.offsets[p + 1]; i++)
            PROMISE(strcmp(copied_text(corpus, small->target, p, corpus->copy.source[i]),
                           att_vocab_token(in->source, all->source.ids[i])) == 0);
        for (int64_t i = all->target.offsets[p]; i < all->target.offsets[p + 1]; i++)
            PROMISE(corpus->copy.target[i] == ATT_ID_UNK ||
                    strcmp(copied_text(corpus, small->target, p, corpus->copy.target[i]),
                           att_vocab_token(in->target, all->target.ids[i])) == 0);
    }
}

/* Reads the text again with vocabularies of the tokens that occur twice. */
static void check_copying(const scene *in, const att_pair_text *text, att_pair_read_options how,
                          bool lower)
{
    scene small = { .tokens = in->tokens };
    att_error err = { 0 };
    int32_t *final;
    PROMISE(att_vocab_new(&small.source, in->tokens, lower, &err) == ATT_OK);
    PROMISE(att_vocab_new(&small.target, in->tokens, lower, &err) == ATT_OK);
    how.source_vocab = how.counted_source = small.source;
    how.target_vocab = how.counted_target = small.target;
    PROMISE(att_corpus_read(&small.corpus, text, &how, &err) == ATT_OK);
    att_corpus_free(&small.corpus);
    PROMISE(att_vocab_finalize(small.source, 2, &final, &err) == ATT_OK);
    att_free(final);
    PROMISE(att_vocab_finalize(small.target, 2, &final, &err) == ATT_OK);
    att_free(final);
    how.counted_source = how.counted_target = NULL;
    how.copies = true;
    PROMISE(att_corpus_read(&small.corpus, text, &how, &err) == ATT_OK);
    check_copy_ids(in, &small);
    check_batches(&small);
    att_corpus_free(&small.corpus);
    att_vocab_free(small.source);
    att_vocab_free(small.target);
}

static void close_scene(scene *in)
{
    att_error err = { 0 };
    int32_t *source, *target;
    PROMISE(att_vocab_finalize(in->source, 1, &source, &err) == ATT_OK);
    PROMISE(att_vocab_finalize(in->target, 1, &target, &err) == ATT_OK);
    att_corpus_renumber(&in->corpus, source, target);
    att_free(source);
    att_free(target);
    check_pairs(in);
    check_batches(in);
}

static void add_text(struct att_text_file *out, const char *name, const uint8_t *data, size_t size)
{
    out->name = name;
    PROMISE(att_string_append(&out->text, (const char *)data, size) == ATT_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    size_t live = att_alloc_live();
    int choice = *data++;
    const uint8_t *end = choice & ALIGNED ? memchr(data, SEPARATOR, --size) : NULL;
    if (!(choice & ALIGNED))
        size--;
    size_t first = end ? (size_t)(end - data) : size;
    att_pair_text text = { 0 };
    add_text(&text.tsv, "pairs", data, first);
    if (end)
        add_text(&text.alignment, "align", end + 1, size - first - 1);
    static const att_tokenizer_kind tokens[] = { ATT_TOKENIZER_CHAR, ATT_TOKENIZER_WORD,
                                                 ATT_TOKENIZER_SPACE };
    scene in = { .tokens = tokens[(choice & 3) % 3] };
    att_error err = { 0 };
    PROMISE(att_vocab_new(&in.source, in.tokens, choice & LOWER, &err) == ATT_OK);
    PROMISE(att_vocab_new(&in.target, in.tokens, choice & LOWER, &err) == ATT_OK);
    const att_pair_read_options how = { .source_vocab = in.source,
                                        .target_vocab = in.target,
                                        .counted_source = in.source,
                                        .counted_target = in.target,
                                        .format.format = ATT_DATA_TSV,
                                        .max_length = choice & SHORT ? 5 : 0 };
    att_status status = att_corpus_read(&in.corpus, &text, &how, &err);
    if (status == ATT_OK) {
        close_scene(&in);
        check_copying(&in, &text, how, choice & LOWER);
    } else {
        check_refusal(status, &err);
        PROMISE(err.line > 0 || strstr(err.message, "line by line"));
    }
    att_corpus_free(&in.corpus);
    att_vocab_free(in.source);
    att_vocab_free(in.target);
    att_pair_text_free(&text);
    PROMISE(att_alloc_live() == live);
    return 0;
}
