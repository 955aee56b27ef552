/* Subwords by byte pairs (Sennrich, Haddow and Birch, "Neural machine translation of rare words
 * with subword units", 2016): a text starts as letters, and pairs of neighbours are merged in the
 * order in which they were learned, the most frequent first.
 *
 * Tokens are numbered from 0: the 256 bytes, of which the first 128 are the letters of ASCII; the
 * letters beyond ASCII that were known in training, by code point; the merges, as learned. A letter
 * that is not known is its bytes, so nothing is unknown. No merge contains a byte of such a letter,
 * and none crosses the border of two pieces (ATT_TOKENIZER_BPE of tokens.h). */
#ifndef ATT_TEXT_BPE_H
#define ATT_TEXT_BPE_H

#include "text/vocab.h"

enum {
    ATT_BPE_BYTES = 256,           /* the first tokens */
    ATT_BPE_MAX_TOKEN_BYTES = 128, /* bytes of a token */
};

/* Two tokens that become one. */
typedef struct att_bpe_merge {
    int32_t left, right;
} att_bpe_merge;

/* A piece of text and how often it occurs. */
typedef struct att_piece {
    const char *text;
    size_t length;
    int64_t count;
} att_piece;

typedef struct att_bpe att_bpe;

/* Learns at most `most` merges from pieces. Letters that occur less than `least` times are not
 * known, and pairs that occur less often, or only once, are not merged. Of pairs equally frequent,
 * that of the older left token is merged, then that of the older right one: the order of pieces
 * does not matter. */
att_status att_bpe_train(att_bpe **out, const att_piece *pieces, size_t count, int64_t most,
                         int64_t least, att_error *err);

/* From letters (code points beyond ASCII, rising) and merges: those of a model file, for which
 * `name` stands in errors. */
att_status att_bpe_new(att_bpe **out, const uint32_t *letters, size_t letter_count,
                       const att_bpe_merge *merges, size_t merge_count, const char *name,
                       att_error *err);

void att_bpe_free(att_bpe *subwords);

/* What it was made of, lent. */
const uint32_t *att_bpe_characters(const att_bpe *subwords, size_t *count);
const att_bpe_merge *att_bpe_merges(const att_bpe *subwords, size_t *count);

size_t att_bpe_size(const att_bpe *subwords);

/* The bytes of a token, lent: whole letters, but for a byte beyond ASCII. */
const char *att_bpe_token_bytes(const att_bpe *subwords, size_t token, size_t *length);

/* The token of the first letter of a text, or those of its bytes where it is not known; gives the
 * bytes that it takes. */
size_t att_bpe_encode_character(const att_bpe *subwords, int32_t tokens[4], size_t *count,
                                const char *text, size_t length);

/* Appends the tokens of a piece to *ids, `first` added to each. Pieces met before are remembered,
 * so not from several threads at once. */
att_status att_bpe_encode(att_bpe *subwords, att_ids *ids, int32_t first, const char *piece,
                          size_t length);

#endif
