/* Any bytes as a CoNLL file, or as lines of tokens and labels. The first byte chooses the columns
 * and whether words are kept. Every token of the result has a label, and the labels of a sentence
 * are the words of its text. */
#include "fuzz/fuzz.h"

#include "data/batch.h"
#include "data/conll.h"

enum { KEEP_WORDS = 16, SHORT = 32 };

static int64_t count_words(const char *text)
{
    int64_t words = 0;
    for (const char *c = text; *c; c++)
        words += !strchr(" \t\n\v\f\r", *c) && (c == text || strchr(" \t\n\v\f\r", c[-1]));
    return words;
}

static void check_corpus(const att_corpus *corpus)
{
    for (int64_t p = 0; p < corpus->pairs; p++) {
        int64_t tokens, labels, first = corpus->source.offsets[p];
        (void)att_sequences_get(&corpus->source, p, &tokens);
        (void)att_sequences_get(&corpus->target, p, &labels);
        PROMISE(tokens > 0 && tokens == labels);
        PROMISE(count_words(att_corpus_target_text(corpus, p)) == labels);
        for (int64_t t = first; corpus->source_words && t < first + tokens; t++)
            PROMISE(count_words(corpus->source_words + corpus->source_word_offsets[t]) == 1);
    }
}

/* The reader alone: sentences have tokens, and their lines rise. */
static void check_sentences(const struct att_text_file *file, att_tag_columns columns)
{
    att_conll_reader in;
    att_error err = { 0 };
    bool found = true;
    int64_t before = 0;
    att_status status = att_conll_start(&in, file, columns, &err);
    while (status == ATT_OK && found) {
        status = att_conll_next(&in, &found, &err);
        if (status != ATT_OK || !found)
            break;
        PROMISE(in.count > 0 && in.first_line > before);
        before = in.first_line;
    }
    if (status != ATT_OK)
        check_refusal(status, &err);
    att_conll_free(&in);
}

/* The reader without labels: a second walk over the lines meets each token of each sentence. */
static void check_token_lines(const struct att_text_file *file, int64_t token)
{
    att_conll_reader in;
    att_error err = { 0 };
    bool found = true;
    att_line_reader lines = att_line_reader_start(file->text.data, file->text.length);
    att_line_view line = { 0 };
    att_status status = att_conll_start_unlabeled(&in, file, token, &err);
    while (status == ATT_OK && found) {
        status = att_conll_next(&in, &found, &err);
        if (status != ATT_OK || !found)
            break;
        for (int64_t done = 0; done < in.count;) {
            PROMISE(att_line_reader_next(&lines, &line));
            done += att_conll_line_kind(&in, &line, done) == ATT_CONLL_TOKEN;
            PROMISE(done != 1 || line.number >= in.first_line);
        }
        PROMISE(count_words(in.tokens.data) == in.count && in.labels.length == 0);
    }
    if (status != ATT_OK)
        check_refusal(status, &err);
    att_conll_free(&in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    size_t live = att_alloc_live();
    int choice = *data++, token = choice & 3, label = choice >> 2 & 3;
    att_pair_text text = { .tsv = { .name = "tags" } };
    att_vocab *source, *target;
    att_corpus corpus;
    att_error err = { 0 };
    const att_tag_columns columns = { token, label == token ? (token + 1) & 3 : label };
    PROMISE(att_string_append(&text.tsv.text, (const char *)data, size - 1) == ATT_OK);
    PROMISE(att_vocab_new(&source, ATT_TOKENIZER_SPACE, choice & 1, &err) == ATT_OK);
    PROMISE(att_vocab_new(&target, ATT_TOKENIZER_SPACE, false, &err) == ATT_OK);
    const att_pair_read_options how = {
        .source_vocab = source,
        .target_vocab = target,
        .counted_source = source,
        .counted_target = target,
        .format = { .kind = ATT_EXAMPLES_TAGGED,
                    .columns = { 2,
                                 { { .number = columns.token }, { .number = columns.label } } } },
        .keep_target_text = true,
        .keep_words = choice & KEEP_WORDS,
        .max_length = choice & SHORT ? 3 : 0
    };
    att_status status = att_corpus_read(&corpus, &text, &how, &err);
    if (status == ATT_OK)
        check_corpus(&corpus);
    else
        check_refusal(status, &err);
    att_corpus_free(&corpus);
    check_sentences(&text.tsv, columns);
    check_token_lines(&text.tsv, token);
    att_vocab_free(source);
    att_vocab_free(target);
    att_pair_text_free(&text);
    PROMISE(att_alloc_live() == live);
    return 0;
}
