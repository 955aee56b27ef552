/* The inside of a vocabulary, shared by the files that build, use and store it. */
#ifndef ATT_TEXT_VOCAB_INTERNAL_H
#define ATT_TEXT_VOCAB_INTERNAL_H

#include "base/arena.h"
#include "text/sentencepiece.h"
#include "text/bpe.h"
#include "text/vocab.h"

typedef struct att_vocab_entry {
    const char *text;
    int64_t count;          /* counted */
    uint32_t length;        /* in bytes */
    int32_t provisional_id; /* its provisional number, while the vocabulary is being closed */
} att_vocab_entry;

/* Word i has the number i + ATT_ID_FIRST once the vocabulary is closed. */
struct att_vocab {
    att_tokenizer_kind kind;
    bool lowercase;
    bool whole_text;          /* splits texts, not lines: drops nothing, and adds nothing */
    bool append_eos;          /* lines end in ATT_ID_EOS */
    bool prepend_bos;         /* texts begin with ATT_ID_BOS and a space */
    att_vocab_entry *entries; /* [count] */
    size_t count;
    size_t capacity;
    uint32_t *slots;   /* [slot_count] one more than a word's place, or 0 */
    size_t slot_count; /* a power of two, at least twice `count` */
    att_arena strings;
    att_bpe *bpe; /* once they are learned, and of bytes from the start; `words` are then
                               their names, not found by them */
    att_sentencepiece *sentencepiece; /* instead of them: those of a vocabulary learned elsewhere */
};

/* The place of a word, or -1. */
ptrdiff_t att_vocab_find_entry(const att_vocab *vocab, const char *token, size_t length);

/* Composes and splits a line, and appends the numbers of its tokens to *ids: provisional ones where
 * `count` is true (the vocabulary is open and counts them), else the final ones. Stops after `most`
 * tokens, so that a line far too long costs little. */
att_status att_vocab_tokenize(att_vocab *vocab, bool count, size_t most, att_ids *ids,
                              const char *line, size_t length, att_error *err);

/* Closes a vocabulary with subwords, which it then owns, whether that succeeds or not. */
att_status att_vocab_set_bpe(att_vocab *vocab, att_bpe *subwords, att_error *err);

/* The same with parts from a list. */
att_status att_vocab_set_sentencepiece(att_vocab *vocab, att_sentencepiece *parts, att_error *err);

/* The text of subwords, as att_vocab_decode() gives it. */
att_status att_vocab_decode_subwords(const att_vocab *vocab, att_string *out, const int32_t *ids,
                                     size_t count);

/* Adds a word that is not there yet. */
att_status att_vocab_add_entry(att_vocab *vocab, const char *token, size_t length, att_error *err);

#endif
