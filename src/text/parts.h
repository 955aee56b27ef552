/* Parts of words that others have learned: a list in the order in which they are merged, as
 * SentencePiece's byte pairs are. A text starts as its letters; then, again and again, the two
 * neighbours that together are the earliest part of the list become that part, the first such
 * neighbours if there are several.
 *
 * Parts are numbered from 0. The first 256 are the single bytes, of which a letter consists that is
 * no part itself; they are merged with nothing. Unlike our own subwords (subwords.h) a part may
 * hold a space in its middle, and a letter of ASCII is another part than its byte. */
#ifndef ATT_TEXT_PARTS_H
#define ATT_TEXT_PARTS_H

#include "text/vocab.h"

enum { ATT_PARTS_BYTES = 256 };

/* From the `count` parts after the bytes: UTF-8 without zero bytes, none empty, none twice; else
 * ATT_BAD_INPUT, and `name` stands for the list in the error. The texts are copied. */
att_status att_parts_new(att_parts **out, const char *const *texts, size_t count, const char *name,
                         att_error *err);
void att_parts_free(att_parts *parts);

/* How many, the bytes included; and the bytes of one, lent. */
size_t att_parts_count(const att_parts *parts);
const char *att_parts_spell(const att_parts *parts, size_t part, size_t *length);

/* Whether both lists are the same. */
bool att_parts_same(const att_parts *a, const att_parts *b);

/* Appends the parts of a text to *ids, `first` added to each. Not from several threads at once. */
att_status att_parts_apply(att_parts *parts, att_ids *ids, int32_t first, const char *text,
                           size_t length);

#endif
