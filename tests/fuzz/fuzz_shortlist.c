/* Any bytes as the file of a lexical shortlist; the first byte is the number of target tokens that
 * are kept for each source token. What is read is sorted and in range. */
#include "fuzz/fuzz.h"

#include "decode/shortlist.h"

static void check_lexicon(const att_lexicon *lexicon, const att_vocab *vocab, int64_t best)
{
    PROMISE(lexicon->offsets[0] == 0 && lexicon->offsets[lexicon->sources] > 0);
    for (int64_t s = 0; s < lexicon->sources; s++) {
        int64_t first = lexicon->offsets[s], end = lexicon->offsets[s + 1];
        PROMISE(first <= end && end - first <= best);
        for (int64_t i = first; i < end; i++) {
            const att_lexicon_entry *entry = &lexicon->entries[i];
            PROMISE(entry->source == s && entry->target >= ATT_ID_FIRST &&
                    entry->target < att_vocab_size(vocab));
            PROMISE(i == first || entry[-1].prob >= entry->prob);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const words[] = { "a", "b", "the", "\xC3\x89t", " ", "1" };
    if (size == 0)
        return 0;
    size_t live = att_alloc_live();
    int64_t best = 1 + data[0] % 8;
    att_vocab *vocab;
    att_error err = { 0 };
    att_lexicon lexicon = { 0 };
    struct att_text_file file = { .name = "input" };
    PROMISE(att_vocab_from_tokens(&vocab, ATT_TOKENIZER_CHAR, false, words, 6, &err) == ATT_OK);
    PROMISE(att_string_append(&file.text, (const char *)data + 1, size - 1) == ATT_OK);
    att_status status = att_shortlist_read(&lexicon, &file, vocab, vocab, best, &err);
    if (status == ATT_OK)
        check_lexicon(&lexicon, vocab, best);
    else
        check_refusal(status, &err);
    att_lexicon_free(&lexicon);
    att_string_free(&file.text);
    att_vocab_free(vocab);
    PROMISE(att_alloc_live() == live);
    return 0;
}
