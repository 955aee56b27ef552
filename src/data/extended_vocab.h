/* The extended vocabulary of one pair, for models that copy (pointer-generators): the target
 * vocabulary, and from its size on the source tokens that it lacks, in the order of the source.
 *
 * A source token is copied as the target token with the same text. Where source and target are
 * split in the same way, a token that the target vocabulary lacks gets an id of its own. Otherwise,
 * and for subwords, which spell every word, it counts as unknown: so does a token whose text is not
 * known, and a tag beside the text. */
#ifndef ATT_DATA_EXTENDED_VOCAB_H
#define ATT_DATA_EXTENDED_VOCAB_H

#include "base/string_set.h"
#include "text/vocab.h"

/* The vocabularies must outlive it. Start from { .source, .target }; it serves one pair after the
 * other. */
typedef struct att_extended_vocab {
    const att_vocab *source, *target;
    att_string_set words; /* of the current source, that the target vocabulary lacks */
    att_string scratch;
} att_extended_vocab;

void att_extended_vocab_free(att_extended_vocab *vocab);

/* Starts with a new source: appends the id of each of its `count` tokens to *out. `ids` are those
 * of the source vocabulary. `line` has the text of unknown ones; NULL: they stay unknown. */
att_status att_extended_vocab_source(att_extended_vocab *vocab, att_ids *out, const int32_t *ids,
                                     size_t count, const char *line, size_t length, att_error *err);

/* Replaces ATT_ID_UNK in the `count` target tokens of `line` by the ids of the source tokens with
 * the same text, where there are any. */
att_status att_extended_vocab_target(att_extended_vocab *vocab, int32_t *ids, size_t count,
                                     const char *line, size_t length, att_error *err);

/* The number of ids of a vocabulary of `size` tokens that is extended by a source of these ids:
 * `size`, or more. */
int64_t att_extended_size(int64_t size, const int32_t *ids, int64_t length);

#endif
