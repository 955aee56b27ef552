/* A vocabulary: the tokens that one side of a model knows, numbered, and how its lines are split
 * into them. With it alone, text becomes numbers and numbers text. */
#ifndef ATT_TEXT_VOCAB_H
#define ATT_TEXT_VOCAB_H

#include "attend.h"
#include "settings/settings.h"

/* Numbers that every vocabulary has; its own tokens follow, the most frequent first and equally
 * frequent ones in the order of their bytes. */
enum {
    ATT_ID_PAD = -1, /* beyond the end of a sequence in a batch */
    ATT_ID_UNK = 0,  /* any token that is not in the vocabulary */
    ATT_ID_BOS = 1,
    ATT_ID_EOS = 2,
    ATT_ID_FIRST = 3, /* the first token of its own */
};

typedef struct att_vocab att_vocab;

/* A growing list of token numbers; start from {0}. */
typedef struct att_ids {
    int32_t *items; /* [count] */
    size_t count;
    size_t capacity;
} att_ids;

att_status att_ids_add(att_ids *ids, int32_t id);
void att_ids_free(att_ids *ids);

/* An empty one, to be filled by att_vocab_count_line() and closed by att_vocab_finalize(); of
 * bytes, one that knows them all and is closed. */
att_status att_vocab_new(att_vocab **out, att_tokenizer_kind tokens, bool lower, att_error *err);
void att_vocab_free(att_vocab *vocab);

/* Lets it split whole texts instead of lines: what it is given has ends of lines in it, and comes
 * back as it was. To be said before anything is counted. */
void att_vocab_set_whole_text(att_vocab *vocab);

/* One of `count` tokens of a kind, numbered in their order and closed. */
att_status att_vocab_from_tokens(att_vocab **out, att_tokenizer_kind kind, bool lower,
                                 const char *const *tokens, size_t count, att_error *err);

/* One of subwords that others have learned, which it then owns, whether this succeeds or not. */
typedef struct att_sentencepiece att_sentencepiece;
att_status att_vocab_from_sentencepiece(att_vocab **out, att_sentencepiece *parts, att_error *err);

/* Lets each line that has tokens end in ATT_ID_EOS: some models were taught to read so. */
void att_vocab_set_append_eos(att_vocab *vocab);

/* Lets each text begin with ATT_ID_BOS, which then stands between texts too, and a space, so that
 * its first word is spelt like any other. */
void att_vocab_set_prepend_bos(att_vocab *vocab);
bool att_vocab_prepends_bos(const att_vocab *vocab);

/* Splits a line, counts its tokens and appends to *ids the provisional number of each: the order of
 * first appearance, from 0. */
att_status att_vocab_count_line(att_vocab *vocab, att_ids *ids, const char *line, size_t length,
                                att_error *err);

/* Takes back the counts of tokens that were counted: those of a pair left out after all. */
void att_vocab_uncount_tokens(att_vocab *vocab, const int32_t *ids, size_t count);

/* Keeps the tokens counted at least `least` times and numbers them for good. *final receives, for
 * each provisional number, the token's number or ATT_ID_UNK; release with att_free(). */
att_status att_vocab_finalize(att_vocab *vocab, int64_t least, int32_t **final, att_error *err);

/* Instead of it, for subwords: learns at most `merges` merges from what was counted; tokens that
 * occur less than `least` times are not made. The numbers given by counting are void. */
att_status att_vocab_train_bpe(att_vocab *vocab, int64_t merges, int64_t least, att_error *err);

/* Tokens, the three that are always there among them. */
int32_t att_vocab_size(const att_vocab *vocab);

att_tokenizer_kind att_vocab_tokenizer_kind(const att_vocab *vocab);

/* Whether both make the same numbers of any text, and the same text of any numbers. */
bool att_vocab_equal(const att_vocab *a, const att_vocab *b);

/* The number of a token, or ATT_ID_UNK; for subwords always this. */
int32_t att_vocab_id(const att_vocab *vocab, const char *token, size_t length);

/* The token of a number, lent: "<unknown>", "<start>" and "<end>" for the first three. A subword is
 * written for people: a space in it as "▁", a byte that is no letter as "<0xE2>". */
const char *att_vocab_token(const att_vocab *vocab, int32_t id);

/* The bytes that a token stands for in a text, lent: none for the first three; part of a character
 * may be a token. */
const char *att_vocab_token_bytes(const att_vocab *vocab, int32_t id, size_t *length);

/* Whether its tokens spell any text, so that none is unknown. */
bool att_vocab_is_subword(const att_vocab *vocab);

/* Times that a token was counted; 0 where the vocabulary was read from a model. */
int64_t att_vocab_token_count(const att_vocab *vocab, int32_t id);

/* Appends the numbers of a line's tokens to *ids. A line that is not UTF-8 or holds a zero byte is
 * ATT_BAD_INPUT and names the byte. */
att_status att_vocab_encode(const att_vocab *vocab, att_ids *ids, const char *line, size_t length,
                            att_error *err);

/* Appends the text of `count` numbers to *out; start and end are left out. Subwords give back the
 * very line that they are of; where no line is spelt so, the bytes that no line can hold (zero, the
 * end of a line unless it is of texts, what is not UTF-8) come out as U+FFFD. */
att_status att_vocab_decode(const att_vocab *vocab, att_string *out, const int32_t *ids,
                            size_t count);

/* As JSON, for the metadata of a model: {"tokens":"char","lowercase":false,"words":["a",…]}, with
 * "tokens" char, word, bpe, byte, space or line. BPE has instead of "words"
 * "characters":"äö…","merges":[104,101,…], two tokens for each merge (text/bpe.h), or, if it was
 * learned elsewhere, "pieces":[" t","he",…] (text/sentencepiece.h); bytes have nothing. Flags that
 * are left out where they are false: "add_eos" (lines end in ATT_ID_EOS), "whole_text" (splits
 * texts, not lines), "add_bos" (texts begin with ATT_ID_BOS). */
att_status att_vocab_to_json(att_string *out, const att_vocab *vocab, att_error *err);
att_status att_vocab_from_json(att_vocab **out, const char *json, const char *name, att_error *err);

#endif
