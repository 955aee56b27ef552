/* The inside of a vocabulary, shared by the files that build, use and store it. */
#ifndef ATT_TEXT_VOCAB_WORDS_H
#define ATT_TEXT_VOCAB_WORDS_H

#include "base/arena.h"
#include "text/parts.h"
#include "text/subwords.h"
#include "text/vocab.h"

typedef struct att_word {
    const char *text;
    int64_t times;   /* counted */
    uint32_t length; /* in bytes */
    int32_t was;     /* its provisional number, while the vocabulary is being closed */
} att_word;

/* Word i has the number i + ATT_ID_FIRST once the vocabulary is closed. */
struct att_vocab {
    att_tokens tokens;
    bool lower;
    bool whole;      /* splits texts, not lines: drops nothing, and adds nothing */
    bool ends;       /* lines end in ATT_ID_END */
    bool begins;     /* texts begin with ATT_ID_START and a space */
    att_word *words; /* [count] */
    size_t count;
    size_t capacity;
    uint32_t *slots;   /* [slot_count] one more than a word's place, or 0 */
    size_t slot_count; /* a power of two, at least twice `count` */
    att_arena texts;
    att_subwords *subwords; /* once they are learned, and of bytes from the start; `words` are then
                               their names, not found by them */
    att_parts *parts;       /* instead of them: those of a vocabulary learned elsewhere */
};

/* The place of a word, or -1. */
ptrdiff_t att_words_find(const att_vocab *vocab, const char *token, size_t length);

/* Composes and splits a line, and appends the numbers of its tokens to *ids: provisional ones where
 * `count` is true (the vocabulary is open and counts them), else the final ones. Stops after `most`
 * tokens, so that a line far too long costs little. */
att_status att_vocab_split(att_vocab *vocab, bool count, size_t most, att_ids *ids,
                           const char *line, size_t length, att_error *err);

/* Closes a vocabulary with subwords, which it then owns, whether that succeeds or not. */
att_status att_words_take_subwords(att_vocab *vocab, att_subwords *subwords, att_error *err);

/* The same with parts from a list. */
att_status att_words_take_parts(att_vocab *vocab, att_parts *parts, att_error *err);

/* The text of subwords, as att_vocab_decode() gives it. */
att_status att_words_spell(const att_vocab *vocab, att_text *out, const int32_t *ids, size_t count);

/* Adds a word that is not there yet. */
att_status att_words_add(att_vocab *vocab, const char *token, size_t length, att_error *err);

#endif
