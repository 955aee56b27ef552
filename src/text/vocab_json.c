/* Vocabularies in the metadata of a model; see vocab.h for what they look like there. */
#include "text/vocab.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/quote.h"
#include "base/string.h"
#include "text/utf8.h"
#include "text/vocab_internal.h"

#include <string.h>

#ifdef ATT_HAVE_JANSSON
#include <jansson.h>

/* The words of the setting, so that both are always spelt alike. */
static const char *const *tokenizer_kind_names(void)
{
    return att_setting_find("source-tokens")->choices;
}

/* ---- writing. A constructor that runs out of memory gives NULL, which the calls around it pass
 * on; "_new" functions take over the value even when they fail. */

static json_t *entries_json(const att_vocab *vocab)
{
    json_t *array = json_array();
    for (size_t i = 0; array && i < vocab->count; i++) {
        const att_vocab_entry *word = &vocab->entries[i];
        if (json_array_append_new(array, json_stringn(word->text, word->length)) != 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

/* Letters in one string: their tokens are spelt one after the other. */
static json_t *characters_json(const att_bpe *subwords)
{
    att_string letters = { 0 };
    size_t count;
    bool good = att_string_append(&letters, "", 0) == ATT_OK;
    att_bpe_characters(subwords, &count);
    for (size_t i = 0; good && i < count; i++) {
        size_t length;
        const char *letter = att_bpe_token_bytes(subwords, ATT_BPE_BYTES + i, &length);
        good = att_string_append(&letters, letter, length) == ATT_OK;
    }
    json_t *string = good ? json_stringn(letters.data, letters.length) : NULL;
    att_string_free(&letters);
    return string;
}

static json_t *merges_json(const att_bpe *subwords)
{
    json_t *array = json_array();
    size_t count;
    const att_bpe_merge *merges = att_bpe_merges(subwords, &count);
    for (size_t i = 0; array && i < count; i++) {
        if (json_array_append_new(array, json_integer(merges[i].left)) != 0 ||
            json_array_append_new(array, json_integer(merges[i].right)) != 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

/* The parts after the bytes. */
static json_t *sentencepiece_json(const att_sentencepiece *parts)
{
    json_t *array = json_array();
    for (size_t i = ATT_SENTENCEPIECE_BYTES; i < att_sentencepiece_size(parts) && array; i++) {
        size_t length;
        const char *text = att_sentencepiece_piece(parts, i, &length);
        if (json_array_append_new(array, json_stringn(text, length)) != 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static bool set_tokens(json_t *object, const att_vocab *vocab)
{
    if (vocab->kind == ATT_TOKENIZER_BYTE)
        return true;
    if (vocab->sentencepiece)
        return json_object_set_new(object, "parts", sentencepiece_json(vocab->sentencepiece)) == 0;
    if (!vocab->bpe)
        return json_object_set_new(object, "words", entries_json(vocab)) == 0;
    return json_object_set_new(object, "letters", characters_json(vocab->bpe)) == 0 &&
           json_object_set_new(object, "merges", merges_json(vocab->bpe)) == 0;
}

att_status att_vocab_to_json(att_string *out, const att_vocab *vocab, att_error *err)
{
    size_t before = out->length;
    json_t *object = json_object();
    bool good = object &&
                json_object_set_new(object, "tokens",
                                    json_string(tokenizer_kind_names()[vocab->kind])) == 0 &&
                json_object_set_new(object, "lower", json_boolean(vocab->lowercase)) == 0 &&
                (!vocab->prepend_bos || json_object_set_new(object, "begins", json_true()) == 0) &&
                (!vocab->whole_text || json_object_set_new(object, "texts", json_true()) == 0) &&
                (!vocab->append_eos || json_object_set_new(object, "ends", json_true()) == 0) &&
                set_tokens(object, vocab) &&
                json_dump_callback(object, att_string_write_callback, out, JSON_COMPACT) == 0;
    json_decref(object);
    if (good)
        return ATT_OK;
    out->length = before;
    return att_fail_memory(err);
}

/* ---- reading */

static att_status read_tokens(att_tokenizer_kind *out, const json_t *value, const char *name,
                              att_error *err)
{
    const char *word = json_string_value(value);
    for (int i = 0; word && tokenizer_kind_names()[i]; i++) {
        if (strcmp(tokenizer_kind_names()[i], word) != 0)
            continue;
        *out = (att_tokenizer_kind)i;
        return ATT_OK;
    }
    return att_fail(err, ATT_BAD_INPUT, name, "a vocabulary has no kind of tokens known here");
}

static att_status read_entries(att_vocab *vocab, const json_t *words, const char *name,
                               att_error *err)
{
    if (!json_is_array(words))
        return att_fail(err, ATT_BAD_INPUT, name, "a vocabulary has no list of words");
    for (size_t i = 0; i < json_array_size(words); i++) {
        const json_t *item = json_array_get(words, i);
        const char *word = json_string_value(item);
        size_t length = json_string_length(item);
        if (!word || length == 0)
            return att_fail(err, ATT_BAD_INPUT, name, "word %zu of a vocabulary is no text", i + 1);
        char quoted[ATT_QUOTED_SIZE];
        if (att_vocab_find_entry(vocab, word, length) >= 0)
            return att_fail(err, ATT_BAD_INPUT, name, "a vocabulary has the word '%s' twice",
                            att_quote(quoted, word, length));
        ATT_TRY(att_vocab_add_entry(vocab, word, length, err));
    }
    return ATT_OK;
}

/* The code points of a string that was checked to be UTF-8 when it was read. */
static size_t read_characters(uint32_t *out, const json_t *letters)
{
    const char *text = json_string_value(letters);
    size_t length = json_string_length(letters), count = 0;
    for (size_t at = 0; at < length;)
        at += att_utf8_decode_lossy(text + at, length - at, &out[count++]);
    return count;
}

/* A number that is no token becomes one that there cannot be: making the subwords tells its place.
 */
static int32_t read_token(const json_t *number)
{
    json_int_t value = json_is_integer(number) ? json_integer_value(number) : -1;
    return value >= 0 && value <= INT32_MAX ? (int32_t)value : -1;
}

static void read_merges(att_bpe_merge *out, const json_t *merges)
{
    for (size_t i = 0; i < json_array_size(merges) / 2; i++)
        out[i] = (att_bpe_merge){ read_token(json_array_get(merges, 2 * i)),
                                  read_token(json_array_get(merges, 2 * i + 1)) };
}

static att_status read_bpe(att_vocab *vocab, const json_t *root, const char *name, att_error *err)
{
    const json_t *letters = json_object_get(root, "letters");
    const json_t *merges = json_object_get(root, "merges");
    if (!json_is_string(letters) || !json_is_array(merges) || json_array_size(merges) % 2 != 0)
        return att_fail(err, ATT_BAD_INPUT, name,
                        "a vocabulary has no letters and pairs of tokens to merge");
    size_t merge_count = json_array_size(merges) / 2;
    uint32_t *codes = att_alloc(json_string_length(letters), sizeof *codes);
    att_bpe_merge *pairs = att_alloc(merge_count, sizeof *pairs);
    att_bpe *subwords = NULL;
    att_status status = ATT_NO_MEMORY;
    if (codes && pairs) {
        read_merges(pairs, merges);
        status = att_bpe_new(&subwords, codes, read_characters(codes, letters), pairs, merge_count,
                             name, err);
    } else {
        att_fail_memory(err);
    }
    att_free(codes);
    att_free(pairs);
    return status == ATT_OK ? att_vocab_set_bpe(vocab, subwords, err) : status;
}

static att_status read_sentencepiece(att_vocab *vocab, const json_t *list, const char *name,
                                     att_error *err)
{
    size_t count = json_array_size(list);
    const char **texts = att_alloc(count, sizeof *texts);
    att_sentencepiece *parts = NULL;
    att_status status = texts ? ATT_OK : att_fail_memory(err);
    for (size_t i = 0; i < count && status == ATT_OK; i++) {
        texts[i] = json_string_value(json_array_get(list, i));
        if (!texts[i])
            status =
                att_fail(err, ATT_BAD_INPUT, name, "part %zu of a vocabulary is no text", i + 1);
    }
    if (status == ATT_OK)
        status = att_sentencepiece_new(&parts, texts, count, name, err);
    att_free(texts);
    return status == ATT_OK ? att_vocab_set_sentencepiece(vocab, parts, err) : status;
}

static att_status read_vocab(att_vocab **out, const json_t *root, const char *name, att_error *err)
{
    att_tokenizer_kind tokens = ATT_TOKENIZER_CHAR;
    const json_t *lower = json_object_get(root, "lower");
    if (!json_is_object(root) || !json_is_boolean(lower))
        return att_fail(err, ATT_BAD_INPUT, name, "a vocabulary is not as it should be");
    ATT_TRY(read_tokens(&tokens, json_object_get(root, "tokens"), name, err));
    ATT_TRY(att_vocab_new(out, tokens, json_is_true(lower), err));
    if (json_is_true(json_object_get(root, "ends")))
        att_vocab_set_append_eos(*out);
    (*out)->prepend_bos = json_is_true(json_object_get(root, "begins"));
    (*out)->whole_text = json_is_true(json_object_get(root, "texts"));
    if (tokens == ATT_TOKENIZER_BYTE)
        return ATT_OK;
    const json_t *parts = json_object_get(root, "parts");
    if (tokens == ATT_TOKENIZER_BPE && json_is_array(parts))
        return read_sentencepiece(*out, parts, name, err);
    if (tokens == ATT_TOKENIZER_BPE)
        return read_bpe(*out, root, name, err);
    return read_entries(*out, json_object_get(root, "words"), name, err);
}

att_status att_vocab_from_json(att_vocab **out, const char *json, const char *name, att_error *err)
{
    *out = NULL;
    json_error_t why;
    json_t *root = json_loads(json, JSON_REJECT_DUPLICATES, &why);
    att_status status = read_vocab(out, root, name, err);
    json_decref(root);
    if (status != ATT_OK) {
        att_vocab_free(*out);
        *out = NULL;
    }
    return status;
}

#else

att_status att_vocab_to_json(att_string *out, const att_vocab *vocab, att_error *err)
{
    (void)out;
    (void)vocab;
    return att_fail(err, ATT_UNSUPPORTED, NULL, "this build cannot write models: it lacks jansson");
}

att_status att_vocab_from_json(att_vocab **out, const char *json, const char *name, att_error *err)
{
    (void)json;
    *out = NULL;
    return att_fail(err, ATT_UNSUPPORTED, name, "this build cannot read models: it lacks jansson");
}

#endif
