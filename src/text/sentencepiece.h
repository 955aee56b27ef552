/* A list of subword pieces learned elsewhere, in the order in which they are merged, as the BPE
 * models of SentencePiece have it. A text starts as its characters; then, again and again, the two
 * neighbors that together are the earliest piece of the list are merged, the leftmost of equals.
 *
 * Pieces are numbered from 0. The first 256 are single bytes, which spell a character that is not a
 * piece itself; they merge with nothing. Unlike our own BPE (bpe.h), a piece may hold a space in
 * its middle, and an ASCII character is another piece than its byte.
 *
 * An att_sentencepiece is immutable and may be used by any number of threads at once. */
#ifndef ATT_TEXT_SENTENCEPIECE_H
#define ATT_TEXT_SENTENCEPIECE_H

#include "text/ids.h"
#include "text/merger.h"

enum { ATT_SENTENCEPIECE_BYTES = 256 };

typedef struct att_sentencepiece att_sentencepiece;

/* Copies the `count` pieces that follow the bytes. A piece that is empty, not UTF-8 or there twice
 * is ATT_BAD_INPUT; `name` stands for the list in the error. */
att_status att_sentencepiece_new(att_sentencepiece **out, const char *const *texts, size_t count,
                                 const char *name, att_error *err);
void att_sentencepiece_free(att_sentencepiece *pieces);

/* The number of pieces, bytes included. */
size_t att_sentencepiece_size(const att_sentencepiece *pieces);

/* The bytes of a piece, which belong to `pieces`. */
const char *att_sentencepiece_piece(const att_sentencepiece *pieces, size_t piece, size_t *length);

/* Whether both lists are the same; both may be NULL. */
bool att_sentencepiece_equal(const att_sentencepiece *a, const att_sentencepiece *b);

/* Appends the pieces of a text to *ids, `first` added to each. */
att_status att_sentencepiece_encode(const att_sentencepiece *pieces, att_merger *merger,
                                    att_ids *ids, int32_t first, const char *text, size_t length);

#endif
