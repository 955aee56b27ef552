/* The ids of a corpus for models that copy: both sides of each pair in its extended vocabulary. */
#ifndef ATT_DATA_COPY_IDS_H
#define ATT_DATA_COPY_IDS_H

#include "data/extended_vocab.h"
#include "text/lines.h"

typedef struct att_copy_ids {
    int32_t *source, *target; /* beside the ids of the corpus */
    char *words; /* the texts of ids that the target vocabulary lacks, each ended by a zero byte */
    int64_t *word_offsets; /* [pairs] the first of each pair in words */
} att_copy_ids;

void att_copy_ids_free(att_copy_ids *ids);

/* Word `index` of a pair: the token with this id above the target vocabulary. */
const char *att_copy_ids_word(const att_copy_ids *ids, int64_t pair, int64_t index);

/* The same while it is being read. Start from { .vocab = { .source, .target } }. */
typedef struct att_copy_builder {
    att_extended_vocab vocab;
    att_ids source, target;
    att_string words;
    int64_t *word_offsets;
    size_t pairs, capacity;
} att_copy_builder;

/* The tokens of a line. */
typedef struct att_encoded_line {
    const int32_t *ids;
    size_t count;
    const att_line_view *line;
} att_encoded_line;

att_status att_copy_builder_add(att_copy_builder *builder, const att_encoded_line *source,
                                const att_encoded_line *target, att_error *err);

/* Moves the result to the caller and releases the rest. */
att_copy_ids att_copy_builder_finish(att_copy_builder *builder);

#endif
