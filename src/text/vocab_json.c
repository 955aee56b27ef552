/* Vocabularies in the metadata of a model: {"tokens":"char","lower":false,"words":["a",…]}. */
#include "text/vocab.h"

#include "base/error.h"
#include "base/quote.h"
#include "base/text.h"
#include "text/vocab_words.h"

#include <string.h>

#ifdef ATT_HAVE_JANSSON
#include <jansson.h>

/* The words of the setting, so that both are always spelt alike. */
static const char *const *token_words(void)
{
    return att_setting_find("source-tokens")->words;
}

/* ---- writing. A constructor that runs out of memory gives NULL, which the calls around it pass
 * on; "_new" functions take over the value even when they fail. */

static json_t *words_json(const att_vocab *vocab)
{
    json_t *array = json_array();
    for (size_t i = 0; array && i < vocab->count; i++) {
        const att_word *word = &vocab->words[i];
        if (json_array_append_new(array, json_stringn(word->text, word->length)) != 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

att_status att_vocab_to_json(att_text *out, const att_vocab *vocab, att_error *err)
{
    size_t before = out->length;
    json_t *object = json_object();
    bool good =
        object &&
        json_object_set_new(object, "tokens", json_string(token_words()[vocab->tokens])) == 0 &&
        json_object_set_new(object, "lower", json_boolean(vocab->lower)) == 0 &&
        json_object_set_new(object, "words", words_json(vocab)) == 0 &&
        json_dump_callback(object, att_text_sink, out, JSON_COMPACT) == 0;
    json_decref(object);
    if (good)
        return ATT_OK;
    out->length = before;
    return att_fail_memory(err);
}

/* ---- reading */

static att_status read_tokens(att_tokens *out, const json_t *value, const char *name,
                              att_error *err)
{
    const char *word = json_string_value(value);
    for (int i = 0; word && token_words()[i]; i++) {
        if (strcmp(token_words()[i], word) != 0)
            continue;
        *out = (att_tokens)i;
        return ATT_OK;
    }
    return att_fail(err, ATT_BAD_INPUT, name, "a vocabulary has no kind of tokens known here");
}

static att_status read_words(att_vocab *vocab, const json_t *words, const char *name,
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
        char quoted[ATT_QUOTED];
        if (att_words_find(vocab, word, length) >= 0)
            return att_fail(err, ATT_BAD_INPUT, name, "a vocabulary has the word '%s' twice",
                            att_quote(quoted, word, length));
        ATT_TRY(att_words_add(vocab, word, length, err));
    }
    return ATT_OK;
}

static att_status read_vocab(att_vocab **out, const json_t *root, const char *name, att_error *err)
{
    att_tokens tokens = ATT_TOKENS_CHAR;
    const json_t *lower = json_object_get(root, "lower");
    if (!json_is_object(root) || !json_is_boolean(lower))
        return att_fail(err, ATT_BAD_INPUT, name, "a vocabulary is not as it should be");
    ATT_TRY(read_tokens(&tokens, json_object_get(root, "tokens"), name, err));
    ATT_TRY(att_vocab_new(out, tokens, json_is_true(lower), err));
    return read_words(*out, json_object_get(root, "words"), name, err);
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

att_status att_vocab_to_json(att_text *out, const att_vocab *vocab, att_error *err)
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
