/* Vocabularies as JSON, for the metadata of a model; text/vocab.h describes the members. */
#include "text/vocab.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "base/quote.h"
#include "base/string.h"
#include "text/utf8.h"
#include "text/vocab_internal.h"

#include <string.h>

/* ---- writing */

static void put_entries(att_json_writer *out, const att_vocab *vocab)
{
    att_json_begin_array(out, "words");
    for (size_t i = 0; i < vocab->count && !vocab->entries[i].is_tag; i++)
        att_json_put_bytes(out, NULL, vocab->entries[i].text, vocab->entries[i].length);
    att_json_end(out);
}

static void put_tags(att_json_writer *out, const att_vocab *vocab)
{
    att_json_begin_array(out, "tags");
    for (size_t i = vocab->count - (size_t)att_vocab_tag_count(vocab); i < vocab->count; i++) {
        size_t length;
        const char *tag = att_vocab_entry_key(&vocab->entries[i], &length);
        att_json_put_bytes(out, NULL, tag, length);
    }
    att_json_end(out);
}

/* The characters as one string, in the order of their tokens. */
static att_status put_characters(att_json_writer *out, const att_bpe *bpe)
{
    att_string characters = { 0 };
    att_status status = ATT_OK;
    size_t count;
    att_bpe_characters(bpe, &count);
    for (size_t i = 0; i < count && status == ATT_OK; i++) {
        size_t length;
        const char *character = att_bpe_token_bytes(bpe, ATT_BPE_BYTES + i, &length);
        status = att_string_append(&characters, character, length);
    }
    if (status == ATT_OK)
        att_json_put_bytes(out, "characters", characters.data, characters.length);
    att_string_free(&characters);
    return status;
}

static void put_merges(att_json_writer *out, const att_bpe *bpe)
{
    size_t count;
    const att_bpe_merge *merges = att_bpe_merges(bpe, &count);
    att_json_begin_array(out, "merges");
    for (size_t i = 0; i < count; i++) {
        att_json_put_integer(out, NULL, merges[i].left);
        att_json_put_integer(out, NULL, merges[i].right);
    }
    att_json_end(out);
}

/* The pieces after those of single bytes, which every model has. */
static void put_pieces(att_json_writer *out, const att_sentencepiece *pieces)
{
    att_json_begin_array(out, "pieces");
    for (size_t i = ATT_SENTENCEPIECE_BYTES; i < att_sentencepiece_size(pieces); i++) {
        size_t length;
        const char *text = att_sentencepiece_piece(pieces, i, &length);
        att_json_put_bytes(out, NULL, text, length);
    }
    att_json_end(out);
}

static att_status put_tokens(att_json_writer *out, const att_vocab *vocab)
{
    if (vocab->kind == ATT_TOKENIZER_BYTE)
        return ATT_OK;
    if (vocab->sentencepiece) {
        put_pieces(out, vocab->sentencepiece);
    } else if (vocab->bpe) {
        ATT_TRY(put_characters(out, vocab->bpe));
        put_merges(out, vocab->bpe);
    } else {
        put_entries(out, vocab);
    }
    return ATT_OK;
}

att_status att_vocab_to_json(att_string *out, const att_vocab *vocab, att_error *err)
{
    size_t before = out->length;
    att_json_writer json = att_json_begin(out, ATT_JSON_EXACT);
    att_json_begin_object(&json, NULL);
    att_json_put_string(&json, "tokens", att_tokenizer_kind_names[vocab->kind]);
    att_json_put_bool(&json, "lowercase", vocab->lowercase);
    if (vocab->prepend_bos)
        att_json_put_bool(&json, "add_bos", true);
    if (vocab->whole_text)
        att_json_put_bool(&json, "whole_text", true);
    if (vocab->append_eos)
        att_json_put_bool(&json, "add_eos", true);
    if (put_tokens(&json, vocab) != ATT_OK) {
        out->length = before;
        return att_fail_memory(err);
    }
    if (vocab->has_tags)
        put_tags(&json, vocab);
    att_json_end(&json);
    return att_json_finish(&json, "the vocabulary", err);
}

/* ---- reading */

static att_status read_tokenizer(att_tokenizer_kind *out, const att_json *root, const char *name,
                                 att_error *err)
{
    char quoted[ATT_QUOTED_SIZE];
    const char *word;
    ATT_TRY(att_json_get_string(&word, root, "tokens", name, err));
    for (size_t i = 0; i < ATT_TOKENIZER_KINDS; i++) {
        if (strcmp(att_tokenizer_kind_names[i], word) != 0)
            continue;
        *out = (att_tokenizer_kind)i;
        return ATT_OK;
    }
    return att_fail(err, ATT_BAD_INPUT, name, "unknown kind of tokens '%s'",
                    att_quote(quoted, word, strlen(word)));
}

static att_status read_entries(att_vocab *vocab, const att_json *root, const char *name,
                               att_error *err)
{
    char quoted[ATT_QUOTED_SIZE];
    const att_json *words, *word;
    ATT_TRY(att_json_get(&words, root, "words", ATT_JSON_ARRAY, name, err));
    for (size_t i = 0; i < words->count; i++) {
        ATT_TRY(att_json_get_item(&word, words, i, ATT_JSON_STRING, name, err));
        if (word->length == 0)
            return att_fail(err, ATT_BAD_INPUT, name, "\"words\"[%zu] is empty", i);
        if (att_vocab_find_entry(vocab, word->string, word->length) >= 0)
            return att_fail(err, ATT_BAD_INPUT, name, "\"words\" has '%s' twice",
                            att_quote(quoted, word->string, word->length));
        ATT_TRY(att_vocab_add_entry(vocab, word->string, word->length, err));
    }
    return ATT_OK;
}

static att_status read_tags(att_vocab *vocab, const att_json *root, const char *name,
                            att_error *err)
{
    char quoted[ATT_QUOTED_SIZE];
    const att_json *tags, *tag;
    if (!att_json_find(root, "tags"))
        return ATT_OK;
    ATT_TRY(att_json_get(&tags, root, "tags", ATT_JSON_ARRAY, name, err));
    att_vocab_set_tags(vocab);
    for (size_t i = 0; i < tags->count; i++) {
        const char *found;
        size_t at = 0, length;
        ATT_TRY(att_json_get_item(&tag, tags, i, ATT_JSON_STRING, name, err));
        if (!att_tags_next(tag->string, tag->length, &at, &found, &length) || length != tag->length)
            return att_fail(err, ATT_BAD_INPUT, name, "\"tags\"[%zu]: expected one tag, found '%s'",
                            i, att_quote(quoted, tag->string, tag->length));
        if (att_vocab_find_tag(vocab, tag->string, tag->length) >= 0)
            return att_fail(err, ATT_BAD_INPUT, name, "\"tags\" has '%s' twice",
                            att_quote(quoted, tag->string, tag->length));
        ATT_TRY(att_vocab_add_tag(vocab, tag->string, tag->length, err));
    }
    return ATT_OK;
}

/* Decodes the code points into `out` and returns their number. The JSON reader has checked that the
 * string is UTF-8. */
static size_t decode_characters(uint32_t *out, const att_json *characters)
{
    size_t count = 0;
    for (size_t at = 0; at < characters->length;)
        at +=
            att_utf8_decode_lossy(characters->string + at, characters->length - at, &out[count++]);
    return count;
}

/* A number that is not a token id becomes -1: att_bpe_new() reports its position. */
static int32_t token_id(const att_json *value)
{
    bool fits =
        value->type == ATT_JSON_INTEGER && value->integer >= 0 && value->integer <= INT32_MAX;
    return fits ? (int32_t)value->integer : -1;
}

static void read_merges(att_bpe_merge *out, const att_json *merges)
{
    for (size_t i = 0; i < merges->count / 2; i++)
        out[i] =
            (att_bpe_merge){ token_id(&merges->items[2 * i]), token_id(&merges->items[2 * i + 1]) };
}

static att_status read_bpe(att_vocab *vocab, const att_json *root, const char *name, att_error *err)
{
    const att_json *characters, *merges;
    ATT_TRY(att_json_get(&characters, root, "characters", ATT_JSON_STRING, name, err));
    ATT_TRY(att_json_get(&merges, root, "merges", ATT_JSON_ARRAY, name, err));
    if (merges->count % 2 != 0)
        return att_fail(err, ATT_BAD_INPUT, name,
                        "expected pairs of tokens for \"merges\", found %zu tokens", merges->count);
    uint32_t *codes = att_alloc(characters->length, sizeof *codes);
    att_bpe_merge *pairs = att_alloc(merges->count / 2, sizeof *pairs);
    att_bpe *bpe = NULL;
    att_status status;
    if (codes && pairs) {
        read_merges(pairs, merges);
        status = att_bpe_new(&bpe, codes, decode_characters(codes, characters), pairs,
                             merges->count / 2, name, err);
    } else {
        status = att_fail_memory(err);
    }
    att_free(codes);
    att_free(pairs);
    return status == ATT_OK ? att_vocab_set_bpe(vocab, bpe, err) : status;
}

static att_status read_pieces(att_vocab *vocab, const att_json *list, const char *name,
                              att_error *err)
{
    const char **texts = att_alloc(list->count, sizeof *texts);
    att_sentencepiece *pieces = NULL;
    att_status status = texts ? ATT_OK : att_fail_memory(err);
    for (size_t i = 0; i < list->count && status == ATT_OK; i++) {
        const att_json *piece;
        status = att_json_get_item(&piece, list, i, ATT_JSON_STRING, name, err);
        if (status == ATT_OK)
            texts[i] = piece->string;
    }
    if (status == ATT_OK)
        status = att_sentencepiece_new(&pieces, texts, list->count, name, err);
    att_free(texts);
    return status == ATT_OK ? att_vocab_set_sentencepiece(vocab, pieces, err) : status;
}

/* A flag that is false where it is missing. */
static att_status read_flag(bool *out, const att_json *root, const char *key, const char *name,
                            att_error *err)
{
    *out = false;
    return att_json_find(root, key) ? att_json_get_bool(out, root, key, name, err) : ATT_OK;
}

static att_status read_flags(att_vocab *vocab, const att_json *root, const char *name,
                             att_error *err)
{
    bool add_eos;
    ATT_TRY(read_flag(&add_eos, root, "add_eos", name, err));
    ATT_TRY(read_flag(&vocab->prepend_bos, root, "add_bos", name, err));
    ATT_TRY(read_flag(&vocab->whole_text, root, "whole_text", name, err));
    if (add_eos)
        att_vocab_set_append_eos(vocab);
    return ATT_OK;
}

static att_status check_flags_of_kind(const att_vocab *vocab, const char *name, att_error *err)
{
    const char *flag = vocab->prepend_bos && vocab->kind != ATT_TOKENIZER_BPE ? "add_bos"
                       : vocab->whole_text && (int)vocab->kind >= ATT_DOCUMENT_TOKENIZER_KINDS
                           ? "whole_text"
                           : NULL;
    if (!flag)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, name,
                    "\"%s\" is true, but tokens of the kind '%s' have no use for it", flag,
                    att_tokenizer_kind_names[vocab->kind]);
}

static att_status read_tokens(att_vocab *vocab, const att_json *root, const char *name,
                              att_error *err)
{
    if (vocab->kind == ATT_TOKENIZER_BYTE)
        return ATT_OK;
    if (vocab->kind != ATT_TOKENIZER_BPE)
        return read_entries(vocab, root, name, err);
    const att_json *pieces;
    if (!att_json_find(root, "pieces"))
        return read_bpe(vocab, root, name, err);
    ATT_TRY(att_json_get(&pieces, root, "pieces", ATT_JSON_ARRAY, name, err));
    return read_pieces(vocab, pieces, name, err);
}

static att_status read_vocab(att_vocab **out, const att_json *root, const char *name,
                             att_error *err)
{
    att_tokenizer_kind kind = ATT_TOKENIZER_CHAR;
    bool lowercase = false;
    ATT_TRY(read_tokenizer(&kind, root, name, err));
    ATT_TRY(att_json_get_bool(&lowercase, root, "lowercase", name, err));
    ATT_TRY(att_vocab_new(out, kind, lowercase, err));
    ATT_TRY(read_flags(*out, root, name, err));
    ATT_TRY(check_flags_of_kind(*out, name, err));
    ATT_TRY(read_tokens(*out, root, name, err));
    return read_tags(*out, root, name, err);
}

att_status att_vocab_from_json(att_vocab **out, const char *json, const char *name, att_error *err)
{
    *out = NULL;
    att_json_doc doc;
    att_error cause = { 0 };
    att_status status = att_json_read(&doc, json, strlen(json), name, NULL, &cause);
    if (status == ATT_OK)
        status = read_vocab(out, doc.root, name, &cause);
    att_json_free(&doc);
    if (status == ATT_OK)
        return ATT_OK;
    att_vocab_free(*out);
    *out = NULL;
    return att_json_fail_in(err, &cause, "the vocabulary", name);
}

/* ---- roles */

/* The flags that each role uses. */
static const struct role_spec {
    const char *phrase;
    bool add_bos, add_eos, whole_text, tags;
} role_specs[ATT_VOCAB_ROLES] = {
    [ATT_VOCAB_SOURCE] = { "a source vocabulary", .add_eos = true, .tags = true },
    [ATT_VOCAB_TARGET] = { "a target vocabulary", .add_eos = false },
    [ATT_VOCAB_JOINT] = { "a joint vocabulary", .tags = true },
    [ATT_VOCAB_TEXT] = { "the vocabulary of a language model", .add_bos = true,
                         .whole_text = true },
    [ATT_VOCAB_LABELS] = { "a vocabulary of labels", .add_eos = false },
    [ATT_VOCAB_TAGS] = { "the vocabulary of a tagger", .add_eos = false },
};

att_status att_vocab_check_role(const att_vocab *vocab, att_vocab_role role, const char *name,
                                att_error *err)
{
    const struct role_spec *spec = &role_specs[role];
    const char *flag = vocab->prepend_bos && !spec->add_bos     ? "add_bos"
                       : vocab->append_eos && !spec->add_eos    ? "add_eos"
                       : vocab->whole_text && !spec->whole_text ? "whole_text"
                                                                : NULL;
    if (flag)
        return att_fail(err, ATT_BAD_INPUT, name,
                        "the vocabulary: \"%s\" is true, but %s has no use for it", flag,
                        spec->phrase);
    if (vocab->has_tags && !spec->tags)
        return att_fail(err, ATT_BAD_INPUT, name,
                        "the vocabulary has \"tags\", but %s has no use for them", spec->phrase);
    bool labels = role == ATT_VOCAB_LABELS || role == ATT_VOCAB_TAGS;
    att_tokenizer_kind kind = role == ATT_VOCAB_TAGS ? ATT_TOKENIZER_SPACE : ATT_TOKENIZER_LINE;
    if (labels && vocab->kind != kind)
        return att_fail(err, ATT_BAD_INPUT, name,
                        "the vocabulary: %s tokens of the kind '%s', expected '%s'",
                        role == ATT_VOCAB_TAGS ? "a tagger has" : "labels have",
                        att_tokenizer_kind_names[vocab->kind], att_tokenizer_kind_names[kind]);
    return ATT_OK;
}

/* ---- copies */

/* Through the form of model files, which has all of a vocabulary but its counts. */
att_status att_vocab_clone(att_vocab **out, const att_vocab *vocab, att_error *err)
{
    att_string json = { 0 };
    *out = NULL;
    att_status status = att_vocab_to_json(&json, vocab, err);
    if (status == ATT_OK)
        status = att_vocab_from_json(out, json.data, "the vocabulary", err);
    att_string_free(&json);
    return status;
}

att_status att_vocab_extend(att_vocab *vocab, const att_vocab *more, int64_t *added, att_error *err)
{
    *added = 0;
    for (size_t i = 0; i < more->count; i++) {
        const att_vocab_entry *token = &more->entries[i];
        size_t length;
        const char *key = att_vocab_entry_key(token, &length);
        if ((token->is_tag ? att_vocab_find_tag : att_vocab_find_entry)(vocab, key, length) >= 0)
            continue;
        ATT_TRY((token->is_tag ? att_vocab_add_tag : att_vocab_add_entry)(vocab, key, length, err));
        ++*added;
    }
    return att_vocab_move_tags_last(vocab) == ATT_OK ? ATT_OK : att_fail_memory(err);
}
