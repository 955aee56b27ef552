/* A vocabulary: the tokens that one side of a model knows, with their ids, and how its lines are
 * split into them. It alone turns text into ids and ids into text.
 *
 * A vocabulary is built by counting (att_vocab_count_line) and then finalized, made from a list, or
 * read from a model. From then on it is immutable: any number of threads may encode and decode with
 * one vocabulary at once, each with its own att_tokenizer_state. */
#ifndef ATT_TEXT_VOCAB_H
#define ATT_TEXT_VOCAB_H

#include "attend.h"
#include "text/bpe.h"
#include "text/ids.h"
#include "text/merger.h"
#include "text/pretokenizer.h"
#include "text/sentencepiece.h"

/* Tokens are ordered by count, the most frequent first, and by their bytes where counts are equal.
 */
typedef struct att_vocab att_vocab;

/* The working memory of encoding: scratch space, and the words that BPE encoded before. Start from
 * {0}, use it for many lines, release it before the vocabulary. For one thread at a time. */
typedef struct att_tokenizer_state {
    att_string normalized;
    att_merger merger;
    att_bpe_cache cache;
} att_tokenizer_state;

void att_tokenizer_state_free(att_tokenizer_state *state);

/* ---- making */

/* An empty vocabulary, to be filled by att_vocab_count_line() and finalized; or the vocabulary of
 * all bytes, which is complete. */
att_status att_vocab_new(att_vocab **out, att_tokenizer_kind kind, bool lower, att_error *err);
void att_vocab_free(att_vocab *vocab);

/* Makes it split whole texts instead of lines: they contain line ends, and decode to the same text.
 * Call it before anything is counted. */
void att_vocab_set_whole_text(att_vocab *vocab);

/* A complete vocabulary of `count` tokens, in the order of their ids. */
att_status att_vocab_from_tokens(att_vocab **out, att_tokenizer_kind kind, bool lower,
                                 const char *const *tokens, size_t count, att_error *err);

/* A complete vocabulary of pieces learned elsewhere. It takes ownership of them, even if it fails.
 */
att_status att_vocab_from_sentencepiece(att_vocab **out, att_sentencepiece *pieces, att_error *err);

/* Makes every line that has tokens end in ATT_ID_EOS: some models were trained with it. */
void att_vocab_set_append_eos(att_vocab *vocab);

/* Makes every text start with ATT_ID_BOS, which then also separates texts, and with a space, so
 * that its first word is encoded like any other. */
void att_vocab_set_prepend_bos(att_vocab *vocab);
bool att_vocab_prepends_bos(const att_vocab *vocab);

/* A copy of a complete vocabulary. */
att_status att_vocab_clone(att_vocab **out, const att_vocab *vocab, att_error *err);

/* Adds the tokens of `more` that a complete vocabulary lacks, after its own; *added is their
 * number. Tags stay the last: the old ones, then the new ones. Neither has subwords. */
att_status att_vocab_extend(att_vocab *vocab, const att_vocab *more, int64_t *added,
                            att_error *err);

/* ---- tags beside the text: symbols of a kind of their own, such as the V and PST of a verb's past
 * tense. A line is then `text<TAB>tags`, and its ids are those of the text followed by those of the
 * tags; a line without a tab has none. A tag is displayed in brackets, [V], and never decoded. */

/* Makes lines have tags. Call it before anything is counted. */
void att_vocab_set_tags(att_vocab *vocab);
bool att_vocab_has_tags(const att_vocab *vocab);

/* Sorts the tags that were counted beside a vocabulary of bytes, whose other tokens are final. */
void att_vocab_sort_tags(att_vocab *vocab);

/* The number of tags, and whether an id is one. */
int32_t att_vocab_tag_count(const att_vocab *vocab);
bool att_vocab_is_tag(const att_vocab *vocab, int32_t id);

/* Where the tags of a line start: the length of its text. `length` where it has none. */
size_t att_vocab_tags_start(const att_vocab *vocab, const char *line, size_t length);

/* The next tag of a line from *at on, at first att_vocab_tags_start(); false after the last. Tags
 * are separated by semicolons, vertical bars, commas and white space. */
bool att_tags_next(const char *line, size_t length, size_t *at, const char **tag, size_t *size);

/* ---- counting */

/* Splits a line, counts its tokens and appends the provisional id of each to *ids: the order of
 * first appearance, from 0. Stops after `max_tokens` tokens, so that a very long line costs little.
 * A vocabulary of bytes appends the final ids. */
att_status att_vocab_count_line(att_vocab *vocab, size_t max_tokens, att_ids *ids, const char *line,
                                size_t length, att_error *err);

/* Subtracts the counts of tokens again, if their pair is skipped after all. */
void att_vocab_uncount_tokens(att_vocab *vocab, const int32_t *ids, size_t count);

/* What counting with little memory has dropped. */
typedef struct att_vocab_pruned {
    int64_t tokens;     /* distinct tokens dropped; one that is dropped twice counts twice */
    int64_t undercount; /* the most by which the count of any token may be too low; a token that
                         * occurs more often is never lost */
} att_vocab_pruned;

/* Bounds the memory of counting: where more than `limit` distinct tokens are counted, drops the
 * rarest until at most half as many are left (lossy counting: Manku and Motwani, "Approximate
 * frequency counts over data streams", 2002). With a limit that is never reached, the counts are
 * exact. Call it between lines; provisional ids become invalid. Tags are never dropped. *pruned is
 * added to; start from {0} and use the same for all calls. */
att_status att_vocab_prune(att_vocab *vocab, size_t limit, att_vocab_pruned *pruned,
                           att_error *err);

/* Gives two vocabularies that have counted, of tokens that are not BPE or bytes, the tokens of both
 * with the sum of their counts: finalized alike, they have the same ids for the same tokens. */
att_status att_vocab_share_counts(att_vocab *a, att_vocab *b, att_error *err);

/* Keeps the tokens that were counted at least `min_count` times and gives them their final ids.
 * *final receives, for each provisional id, the final id or ATT_ID_UNK; release with att_free(). */
att_status att_vocab_finalize(att_vocab *vocab, int64_t min_count, int32_t **final, att_error *err);

/* Finalizes a vocabulary of BPE tokens instead: learns at most `merges` merges from the pieces that
 * were counted; tokens that occur less than `min_count` times are not made. Provisional ids become
 * invalid: encode the lines again. */
att_status att_vocab_train_bpe(att_vocab *vocab, int64_t merges, int64_t min_count, att_error *err);

/* ---- tokens */

/* The number of tokens, the three reserved ones included. */
int32_t att_vocab_size(const att_vocab *vocab);

att_tokenizer_kind att_vocab_tokenizer_kind(const att_vocab *vocab);

/* Whether both encode and decode every text alike. */
bool att_vocab_equal(const att_vocab *a, const att_vocab *b);

/* Whether both have the same tokens with the same ids, however they split lines. */
bool att_vocab_same_tokens(const att_vocab *a, const att_vocab *b);

/* The id of a word or character, or ATT_ID_UNK; for subwords always ATT_ID_UNK. */
int32_t att_vocab_id(const att_vocab *vocab, const char *token, size_t length);

/* The id whose att_vocab_token() is this text, the lowest if several are, or -1. Reserved tokens
 * and subwords are found too. */
int32_t att_vocab_find(const att_vocab *vocab, const char *token, size_t length);

/* The token of an id as text to display, which belongs to the vocabulary: "<unknown>", "<start>"
 * and
 * "<end>" for the reserved ids. A subword has "▁" for a space and "<0xE2>" for a byte that is not a
 * character. "" for ATT_ID_PAD, NULL for an id that the vocabulary lacks. */
const char *att_vocab_token(const att_vocab *vocab, int32_t id);

/* The bytes that a token stands for in a text, which belong to the vocabulary: none for the
 * reserved ids; a subword may be a part of a character. */
const char *att_vocab_token_bytes(const att_vocab *vocab, int32_t id, size_t *length);

/* Whether its tokens are subwords or bytes, which can spell any text: no token is unknown. */
bool att_vocab_is_subword(const att_vocab *vocab);

/* How often a token was counted; 0 if the vocabulary was read from a model. */
int64_t att_vocab_token_count(const att_vocab *vocab, int32_t id);

/* ---- encoding and decoding */

/* Appends the ids of a line's tokens to *ids. A line that is not UTF-8 or holds a zero byte is
 * ATT_BAD_INPUT, naming the byte (whole texts of bytes may hold anything). `state` NULL: working
 * memory is made for this call. */
att_status att_vocab_encode(const att_vocab *vocab, att_tokenizer_state *state, att_ids *ids,
                            const char *line, size_t length, att_error *err);

/* The same, but stops after `max_tokens` tokens, so that a very long line costs little. */
att_status att_vocab_encode_limited(const att_vocab *vocab, att_tokenizer_state *state,
                                    size_t max_tokens, att_ids *ids, const char *line,
                                    size_t length, att_error *err);

/* Replaces *out by the line or text as the vocabulary's tokens see it, after checking that it is
 * text. *offsets, if given, must be {0}. */
att_status att_vocab_normalize(const att_vocab *vocab, att_string *out, att_offset_map *offsets,
                               const char *line, size_t length, att_error *err);

/* Appends the text of `count` ids to *out, without start and end tokens. The tokens of a line of
 * subwords decode to that very line. Other sequences of subwords may hold bytes that no line can
 * have (zero, line ends unless it splits whole texts, invalid UTF-8): each becomes U+FFFD. */
att_status att_vocab_decode(const att_vocab *vocab, att_string *out, const int32_t *ids,
                            size_t count);

/* ---- in model files */

/* As JSON, for the metadata of a model: {"tokens":"char","lowercase":false,"words":["a",…]}, with
 * "tokens" char, word, bpe, byte, space or line. BPE has instead of "words"
 * "characters":"äö…","merges":[104,101,…], two tokens for each merge (text/bpe.h), or, if it was
 * learned elsewhere, "pieces":[" t","he",…] (text/sentencepiece.h); bytes have nothing. Flags that
 * are left out where they are false: "add_eos" (lines end in ATT_ID_EOS), "whole_text" (splits
 * texts, not lines), "add_bos" (texts begin with ATT_ID_BOS). "tags":["V",…] where lines have tags.
 * Reading refuses a flag that the kind of tokens has no use for. */
att_status att_vocab_to_json(att_string *out, const att_vocab *vocab, att_error *err);
att_status att_vocab_from_json(att_vocab **out, const char *json, const char *name, att_error *err);

/* What a model uses a vocabulary for. */
typedef enum att_vocab_role {
    ATT_VOCAB_SOURCE, /* may add EOS and have tags */
    ATT_VOCAB_TARGET, /* adds nothing: the model adds BOS and EOS */
    ATT_VOCAB_JOINT,  /* of both sides: may have tags */
    ATT_VOCAB_TEXT,   /* of a language model: may split whole texts and add BOS */
    ATT_VOCAB_LABELS, /* of a classifier: a line is one token */
    ATT_VOCAB_TAGS,   /* of a tagger, either side: tokens are separated by white space */
    ATT_VOCAB_ROLES
} att_vocab_role;

/* Refuses a vocabulary read from the model `name` whose lines would have tokens that a model does
 * not expect in this role, such as a reserved token in the place of a label. */
att_status att_vocab_check_role(const att_vocab *vocab, att_vocab_role role, const char *name,
                                att_error *err);

#endif
