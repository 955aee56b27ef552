/* Any bytes as the vocabulary in a model's metadata. A vocabulary that is accepted is the same when
 * written and read back, and splits a line into tokens that it contains. */
#include "fuzz/fuzz.h"

#include "base/string.h"
#include "text/vocab.h"

static const char line[] = "The cat sat, twice: \xC3\xA9\xE0\xA6\x95!";

static void check_line(const att_vocab *vocab)
{
    att_ids ids = { 0 };
    att_string text = { 0 };
    att_error err = { 0 };
    att_status status = att_vocab_encode(vocab, NULL, &ids, line, strlen(line), &err);
    if (status == ATT_OK) {
        for (size_t i = 0; i < ids.count; i++)
            PROMISE(ids.items[i] >= 0 && ids.items[i] < att_vocab_size(vocab));
        PROMISE(att_vocab_decode(vocab, &text, ids.items, ids.count) == ATT_OK);
    } else {
        check_refusal(status, &err);
    }
    att_ids_free(&ids);
    att_string_free(&text);
}

static void check_again(const att_vocab *vocab)
{
    att_string json = { 0 }, same = { 0 };
    att_error err = { 0 };
    att_vocab *again;
    PROMISE(att_vocab_to_json(&json, vocab, &err) == ATT_OK);
    PROMISE(att_vocab_from_json(&again, json.data, "model", &err) == ATT_OK);
    PROMISE(att_vocab_equal(vocab, again));
    PROMISE(att_vocab_to_json(&same, again, &err) == ATT_OK);
    PROMISE(strcmp(json.data, same.data) == 0);
    att_vocab_free(again);
    att_string_free(&json);
    att_string_free(&same);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t live = att_alloc_live();
    att_error err = { 0 };
    att_string json = { 0 };
    att_vocab *vocab;
    PROMISE(att_string_append(&json, (const char *)data, size) == ATT_OK);
    att_status status = att_vocab_from_json(&vocab, json.data, "model", &err);
    if (status == ATT_OK) {
        check_line(vocab);
        check_again(vocab);
    } else {
        PROMISE(!vocab);
        check_refusal(status, &err);
    }
    att_vocab_free(vocab);
    att_string_free(&json);
    PROMISE(att_alloc_live() == live);
    return 0;
}
