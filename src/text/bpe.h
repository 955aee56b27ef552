/* Byte-pair encoding (BPE: Sennrich, Haddow and Birch, "Neural machine translation of rare words
 * with subword units", 2016): a text starts as characters, and neighbors are merged in the order in
 * which the merges were learned, the most frequent first.
 *
 * Tokens are numbered from 0: the 256 bytes, of which the first 128 are the ASCII characters; the
 * characters beyond ASCII that training saw, by code point; the merges, in the order learned. Any
 * other character is encoded as its bytes, so no text is unknown. No merge contains a byte of such
 * a character, and none crosses the border of two pieces (ATT_TOKENIZER_BPE in pretokenizer.h).
 *
 * An att_bpe is immutable and may be used by any number of threads at once. */
#ifndef ATT_TEXT_BPE_H
#define ATT_TEXT_BPE_H

#include "base/string_set.h"
#include "text/ids.h"
#include "text/merger.h"

enum {
    ATT_BPE_BYTES = 256,           /* tokens that are single bytes: the first ones */
    ATT_BPE_MAX_TOKEN_BYTES = 128, /* longest token, in bytes */
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

/* Learns at most `max_merges` merges from pieces. Characters that occur less than `min_count` times
 * get no token, and pairs that occur less than max(min_count, 2) times are not merged. Of equally
 * frequent pairs, the one with the lower left token is merged first, then the one with the lower
 * right token: the order of the pieces does not matter. */
att_status att_bpe_train(att_bpe **out, const att_piece *pieces, size_t count, int64_t max_merges,
                         int64_t min_count, att_error *err);

/* Builds the tables of a model file from its characters (code points beyond ASCII, in rising order)
 * and merges. `name` stands for the file in errors. */
att_status att_bpe_new(att_bpe **out, const uint32_t *characters, size_t character_count,
                       const att_bpe_merge *merges, size_t merge_count, const char *name,
                       att_error *err);

void att_bpe_free(att_bpe *bpe);

/* The characters and merges that it was made of; they belong to `bpe`. */
const uint32_t *att_bpe_characters(const att_bpe *bpe, size_t *count);
const att_bpe_merge *att_bpe_merges(const att_bpe *bpe, size_t *count);

/* The number of tokens. */
size_t att_bpe_size(const att_bpe *bpe);

/* The bytes of a token, which belong to `bpe`: whole characters, or one byte beyond ASCII. */
const char *att_bpe_token_bytes(const att_bpe *bpe, size_t token, size_t *length);

/* The token of the first character of a text, or the tokens of its bytes if it has none. Returns
 * the length of the character in bytes. */
size_t att_bpe_encode_character(const att_bpe *bpe, int32_t tokens[4], size_t *count,
                                const char *text, size_t length);

/* Pieces encoded before, with their tokens: most words of a corpus are frequent words. Start from
 * {0}. For one thread at a time. */
typedef struct att_bpe_cache {
    const att_bpe *owner; /* whose tokens they are */
    att_string_set pieces;
    att_ids tokens; /* of all pieces, end to end */
    att_ids ends;   /* [pieces] where the tokens of each end */
} att_bpe_cache;

void att_bpe_cache_free(att_bpe_cache *cache);

/* Appends the tokens of a piece to *ids, `first` added to each. A cache that holds pieces of
 * another att_bpe is emptied first; it must not outlive its att_bpe. */
att_status att_bpe_encode(const att_bpe *bpe, att_merger *merger, att_bpe_cache *cache,
                          att_ids *ids, int32_t first, const char *piece, size_t length);

#endif
