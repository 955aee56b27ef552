/* The inside of a vocabulary, shared by the files of src/text that build, use and store it. */
#ifndef ATT_TEXT_VOCAB_INTERNAL_H
#define ATT_TEXT_VOCAB_INTERNAL_H

#include "base/arena.h"
#include "text/vocab.h"

typedef struct att_vocab_entry {
    const char *text;
    int64_t count;          /* occurrences counted */
    uint32_t length;        /* in bytes */
    int32_t provisional_id; /* used while the vocabulary is finalized */
    int32_t missed;         /* the most occurrences that were dropped before it was added
                             * (att_vocab_prune) */
    bool is_tag;            /* `text` is "[V]" for the tag V */
} att_vocab_entry;

/* Entry i has the id i + ATT_ID_FIRST once the vocabulary is final; tags are then the last. */
struct att_vocab {
    att_tokenizer_kind kind;
    bool lowercase;
    bool whole_text;          /* splits texts, not lines: drops nothing, and adds nothing */
    bool append_eos;          /* lines end in ATT_ID_EOS */
    bool prepend_bos;         /* texts start with ATT_ID_BOS and a space */
    bool has_tags;            /* lines are source<TAB>tags */
    att_vocab_entry *entries; /* [count] */
    size_t count;
    size_t capacity;
    uint32_t *slots;   /* [slot_count] hash table by text: index + 1 of an entry, or 0 */
    size_t slot_count; /* a power of two, at least twice `count` */
    att_arena strings;
    int32_t undercount; /* `missed` of new entries */
    att_bpe *bpe; /* of BPE once it is trained, of bytes from the start; entries are then the names
                   * of tokens for display */
    att_sentencepiece *sentencepiece; /* or pieces learned elsewhere; entries likewise */
};

/* The index of the entry with this text, the first if several have it, or -1. */
ptrdiff_t att_vocab_find_entry(const att_vocab *vocab, const char *token, size_t length);

/* The same for a tag, which is found apart from words with the same text. */
ptrdiff_t att_vocab_find_tag(const att_vocab *vocab, const char *tag, size_t length);

/* Adds an entry; its text must be new. */
att_status att_vocab_add_entry(att_vocab *vocab, const char *token, size_t length, att_error *err);
att_status att_vocab_append_entry(att_vocab *vocab, const char *text, size_t length, bool is_tag,
                                  att_error *err);
att_status att_vocab_add_tag(att_vocab *vocab, const char *tag, size_t length, att_error *err);

/* Moves the tags behind the other entries; both keep their order. */
att_status att_vocab_move_tags_last(att_vocab *vocab);

/* The text by which an entry is found: a tag without its brackets. */
const char *att_vocab_entry_key(const att_vocab_entry *entry, size_t *length);

/* Appends the ids of a line's tags, at most `max_tokens`. A vocabulary without tags appends
 * nothing. The line is checked if it has tags. */
att_status att_vocab_encode_tags(const att_vocab *vocab, size_t max_tokens, att_ids *ids,
                                 const char *line, size_t length, att_error *err);

/* The same while tags are counted: their provisional ids. */
att_status att_vocab_count_tags(att_vocab *vocab, size_t max_tokens, att_ids *ids, const char *line,
                                size_t length, att_error *err);

/* Builds the hash table over all entries. */
att_status att_vocab_index_entries(att_vocab *vocab);

/* Completes a vocabulary with BPE tables or with pieces, which it takes ownership of, even if it
 * fails. */
att_status att_vocab_set_bpe(att_vocab *vocab, att_bpe *bpe, att_error *err);
att_status att_vocab_set_sentencepiece(att_vocab *vocab, att_sentencepiece *pieces, att_error *err);

/* att_vocab_decode() for subwords. */
att_status att_vocab_decode_subwords(const att_vocab *vocab, att_string *out, const int32_t *ids,
                                     size_t count);

/* Iterates over the tokens of a normalized line or text. */
static inline att_pretokenizer att_vocab_split(const att_vocab *vocab, const att_string *normalized)
{
    return (att_pretokenizer){ .text = normalized->data,
                               .length = normalized->length,
                               .kind = vocab->kind,
                               .whole_text = vocab->whole_text };
}

/* Appends the ids of state->normalized to *ids. */
att_status att_vocab_encode_normalized(const att_vocab *vocab, att_tokenizer_state *state,
                                       size_t max_tokens, att_ids *ids, att_error *err);

#endif
