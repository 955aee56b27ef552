/* Any bytes as a text to train BPE on and lines to encode; the first byte chooses the number of
 * merges and the minimum count. Training takes fifty times as long as encoding, and what descends
 * from an input that trains would train too. So one input in 64, by its hash, is trained on, and
 * the lines of all others are encoded by vocabularies trained before. Every line must decode to
 * itself, and the vocabulary read back from its JSON must give the same tokens. */
#include "fuzz/sampling.h"

#include "text/lines.h"
#include "text/pretokenizer.h"
#include "text/vocab.h"

enum { TRAINED_OF = 64, KEPT = 8 };

/* What the lines of an input share, as the lines of a file do. */
typedef struct scratch {
    att_tokenizer_state state, state_again;
    att_ids ids, ids_again;
    att_string text;
} scratch;

static void scratch_free(scratch *s)
{
    att_tokenizer_state_free(&s->state);
    att_tokenizer_state_free(&s->state_again);
    att_ids_free(&s->ids);
    att_ids_free(&s->ids_again);
    att_string_free(&s->text);
}

static void check_line(const att_vocab *vocab, const char *line, size_t length, scratch *s)
{
    const att_ids *ids = &s->ids;
    att_error err = { 0 };
    s->ids.count = s->text.length = 0;
    PROMISE(att_vocab_encode(vocab, &s->state, &s->ids, line, length, &err) == ATT_OK);
    for (size_t i = 0; i < ids->count; i++)
        PROMISE(ids->items[i] >= ATT_ID_FIRST && ids->items[i] < att_vocab_size(vocab));
    PROMISE(att_vocab_decode(vocab, &s->text, ids->items, ids->count) == ATT_OK);
    PROMISE(s->text.length == length);
    PROMISE(length == 0 || memcmp(s->text.data, line, length) == 0);
}

/* The vocabulary read back from its JSON, once for all lines; NULL where it has none. */
static att_vocab *read_back(const att_vocab *vocab)
{
    att_string json = { 0 };
    att_vocab *again = NULL;
    att_error err = { 0 };
    att_status status = att_vocab_to_json(&json, vocab, &err);
    PROMISE(status == ATT_OK || status == ATT_UNSUPPORTED);
    if (status == ATT_OK)
        PROMISE(att_vocab_from_json(&again, json.data, "model", &err) == ATT_OK);
    att_string_free(&json);
    return again;
}

static void check_again(const att_vocab *again, const char *line, size_t length, scratch *s)
{
    att_ids *same = &s->ids_again;
    att_error err = { 0 };
    same->count = 0;
    PROMISE(att_vocab_encode(again, &s->state_again, same, line, length, &err) == ATT_OK);
    PROMISE(same->count == s->ids.count);
    PROMISE(same->count == 0 ||
            memcmp(same->items, s->ids.items, same->count * sizeof *same->items) == 0);
}

/* Any tokens, as a model might answer them, become one line of text. */
static void check_answer(const att_vocab *vocab, const uint8_t *data, size_t size)
{
    att_string text = { 0 };
    att_ids ids = { 0 };
    for (size_t i = 0; i + 1 < size; i += 2)
        PROMISE(att_ids_add(&ids, (data[i] << 8 | data[i + 1]) % att_vocab_size(vocab)) == ATT_OK);
    PROMISE(att_vocab_decode(vocab, &text, ids.items, ids.count) == ATT_OK);
    PROMISE(att_line_valid_prefix(text.data, text.length) == text.length);
    PROMISE(text.length == 0 || !memchr(text.data, '\n', text.length));
    att_ids_free(&ids);
    att_string_free(&text);
}

/* Counts the lines of a text and learns merges from them. */
static att_vocab *train(const char *text, size_t size, int64_t merges, int64_t least)
{
    att_vocab *vocab;
    att_ids ids = { 0 };
    att_error err = { 0 };
    att_line_reader lines = att_line_reader_start(text, size);
    att_line_view line;
    PROMISE(att_vocab_new(&vocab, ATT_TOKENIZER_BPE, false, &err) == ATT_OK);
    while (att_line_reader_next(&lines, &line)) {
        att_status status =
            att_vocab_count_line(vocab, SIZE_MAX, &ids, line.text, line.length, &err);
        if (status != ATT_OK)
            check_refusal(status, &err);
    }
    PROMISE(att_vocab_train_bpe(vocab, merges, least, &err) == ATT_OK);
    att_ids_free(&ids);
    return vocab;
}

/* A vocabulary and the one read back from its JSON. */
typedef struct vocab_pair {
    att_vocab *vocab, *again;
} vocab_pair;

/* Vocabularies that are trained once and kept. */
static const vocab_pair *kept_pair(size_t index)
{
    static const char text[] = "the cat sat on the mat, the hat\nabab abab aaaa\n\xC3\xA9t\xC3\xA9 "
                               "\xC3\xA9t\xC3\xA9 \xE0\xA6\x95\xE0\xA6\x95 <unk> <0xE2> "
                               "\xE2\x96\x81\xE2\x96\x81 1234 12 1\n";
    static vocab_pair pairs[KEPT];
    vocab_pair *pair = &pairs[index];
    if (!pair->vocab) {
        pair->vocab = train(text, strlen(text), (int64_t)index * 12, 1 + (int64_t)index % 2);
        pair->again = read_back(pair->vocab);
    }
    return pair;
}

static void check_lines(const vocab_pair *pair, const char *text, size_t size)
{
    scratch s = { 0 };
    att_line_reader lines = att_line_reader_start(text, size);
    att_line_view line;
    while (att_line_reader_next(&lines, &line)) {
        if (att_line_valid_prefix(line.text, line.length) != line.length)
            continue;
        check_line(pair->vocab, line.text, line.length, &s);
        if (pair->again)
            check_again(pair->again, line.text, line.length, &s);
    }
    scratch_free(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const char *text = (const char *)data + 1;
    if (!one_input_in(TRAINED_OF, data, size)) {
        const vocab_pair *pair = kept_pair(*data % KEPT);
        size_t live = att_alloc_live();
        check_lines(pair, text, size - 1);
        check_answer(pair->vocab, data, size);
        PROMISE(att_alloc_live() == live);
        return 0;
    }
    size_t live = att_alloc_live();
    vocab_pair pair = { train(text, size - 1, *data & 63, 1 + (*data >> 6)), NULL };
    pair.again = read_back(pair.vocab);
    check_lines(&pair, text, size - 1);
    check_answer(pair.vocab, data, size);
    att_vocab_free(pair.again);
    att_vocab_free(pair.vocab);
    PROMISE(att_alloc_live() == live);
    return 0;
}
