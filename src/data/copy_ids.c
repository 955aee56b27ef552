/* The ids of a corpus for models that copy; see copy_ids.h. */
#include "data/copy_ids.h"

#include "base/alloc.h"
#include "base/error.h"

#include <string.h>

void att_copy_ids_free(att_copy_ids *ids)
{
    att_free(ids->source);
    att_free(ids->target);
    att_free(ids->words);
    att_free(ids->word_offsets);
    *ids = (att_copy_ids){ 0 };
}

const char *att_copy_ids_word(const att_copy_ids *ids, int64_t pair, int64_t index)
{
    const char *word = ids->words + ids->word_offsets[pair];
    while (index-- > 0)
        word += strlen(word) + 1;
    return word;
}

/* Stores the words that the source of the current pair adds. */
static att_status add_words(att_copy_builder *builder)
{
    void *offsets = builder->word_offsets;
    if (!att_array_grow(&offsets, &builder->capacity, builder->pairs, sizeof(int64_t)))
        return ATT_NO_MEMORY;
    builder->word_offsets = offsets;
    builder->word_offsets[builder->pairs++] = (int64_t)builder->words.length;
    for (size_t i = 0; i < builder->vocab.words.count; i++) {
        const att_string_set_item *word = &builder->vocab.words.items[i];
        ATT_TRY(att_string_append(&builder->words, word->text, word->length + 1));
    }
    return ATT_OK;
}

att_status att_copy_builder_add(att_copy_builder *builder, const att_encoded_line *source,
                                const att_encoded_line *target, att_error *err)
{
    size_t start = builder->target.count;
    ATT_TRY(att_extended_vocab_source(&builder->vocab, &builder->source, source->ids, source->count,
                                      source->line->text, source->line->length, err));
    for (size_t i = 0; i < target->count; i++)
        if (att_ids_add(&builder->target, target->ids[i]) != ATT_OK)
            return att_fail_memory(err);
    ATT_TRY(att_extended_vocab_target(&builder->vocab, builder->target.items + start, target->count,
                                      target->line->text, target->line->length, err));
    return add_words(builder) == ATT_OK ? ATT_OK : att_fail_memory(err);
}

att_copy_ids att_copy_builder_finish(att_copy_builder *builder)
{
    const att_copy_ids ids = { builder->source.items, builder->target.items, builder->words.data,
                               builder->word_offsets };
    att_extended_vocab_free(&builder->vocab);
    return ids;
}
