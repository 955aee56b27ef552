/* The hash of a dataset, in memory and in a token file; see data_hash.h. */
#include "data/data_hash.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/minmax.h"
#include "base/progress.h"
#include "data/token_corpus.h"

#include <string.h>

/* ---- in memory */

static uint64_t hash_sequences(uint64_t hash, const att_sequences *side, int64_t pairs)
{
    hash = att_hash_fnv1a_add(hash, side->offsets, (size_t)(pairs + 1) * sizeof *side->offsets);
    return att_hash_fnv1a_add(hash, side->ids, (size_t)side->offsets[pairs] * sizeof *side->ids);
}

static uint64_t hash_corpus(uint64_t hash, const att_corpus *corpus)
{
    hash = hash_sequences(hash, &corpus->source, corpus->pairs);
    hash = hash_sequences(hash, &corpus->target, corpus->pairs);
    if (corpus->alignment)
        hash = att_hash_fnv1a_add(hash, corpus->alignment,
                                  (size_t)corpus->target.offsets[corpus->pairs] *
                                      sizeof *corpus->alignment);
    for (int64_t i = 0; corpus->source_words && i < corpus->source.offsets[corpus->pairs]; i++) {
        const char *word = corpus->source_words + corpus->source_word_offsets[i];
        hash = att_hash_fnv1a_add(hash, word, strlen(word) + 1);
    }
    size_t pixels =
        (size_t)(corpus->image_grids.count * att_image_grids_stride(&corpus->image_grids));
    return att_hash_fnv1a_add(hash, corpus->image_grids.values,
                              pixels * sizeof *corpus->image_grids.values);
}

static uint64_t hash_vocab(uint64_t hash, const att_vocab *vocab)
{
    for (int32_t id = 0; id < att_vocab_size(vocab); id++) {
        const char *token = att_vocab_token(vocab, id);
        hash = att_hash_fnv1a_add(hash, token, strlen(token) + 1);
    }
    return hash;
}

static uint64_t hash_vocabs(const att_data *data)
{
    uint64_t hash = ATT_FNV1A_START;
    if (data->source_vocab)
        hash = hash_vocab(hash, data->source_vocab);
    return hash_vocab(hash, data->target_vocab);
}

int64_t att_data_hash(const att_data *data)
{
    if (data->train.stored)
        return data->train.stored->data_hash;
    uint64_t hash = hash_vocabs(data);
    hash = hash_corpus(hash, &data->train);
    hash = hash_corpus(hash, &data->valid);
    return (int64_t)hash;
}

int64_t att_corpus_hash(const att_corpus *corpus)
{
    return corpus->stored ? corpus->stored->data_hash
                          : (int64_t)hash_corpus(ATT_FNV1A_START, corpus);
}

/* ---- in a file */

enum { PIECE = 1 << 16 };

static att_status hash_section(uint64_t *hash, const att_token_file *file, att_token_split split,
                               att_token_section section, int64_t *block, att_error *err)
{
    int64_t count = file->sections[split][section].count;
    size_t size = att_section_specs[section].is_ids ? sizeof(int32_t) : sizeof(int64_t);
    for (int64_t at = 0, take; at < count; at += take) {
        take = att_min_i64(PIECE, count - at);
        ATT_TRY(att_token_file_read(file, split, section, at, take, block, err));
        *hash = att_hash_fnv1a_add(*hash, block, (size_t)take * size);
        ATT_TRY(att_progress_check(err));
    }
    return ATT_OK;
}

/* A text is one pair without source. */
static att_status hash_side(uint64_t *hash, const att_token_file *file, att_token_split split,
                            bool target, int64_t *block, att_error *err)
{
    att_token_section offsets = target ? ATT_SECTION_TARGET_OFFSETS : ATT_SECTION_SOURCE_OFFSETS;
    att_token_section ids = target ? ATT_SECTION_TARGET_IDS : ATT_SECTION_SOURCE_IDS;
    const int64_t text[] = { 0, file->sections[split][ids].count };
    if (file->sections[split][offsets].count == 0)
        *hash = att_hash_fnv1a_add(*hash, text, sizeof text);
    else
        ATT_TRY(hash_section(hash, file, split, offsets, block, err));
    return hash_section(hash, file, split, ids, block, err);
}

static uint64_t hash_mix(uint64_t hash, const att_mix *mix)
{
    bool mixed = false;
    for (size_t i = 0; i < mix->file_count; i++)
        mixed |= mix->files[i].read != mix->files[i].count;
    return mixed ? att_hash_fnv1a_add(hash, mix->files, mix->file_count * sizeof *mix->files)
                 : hash;
}

att_status att_data_hash_file(int64_t *out, const att_data *data, const att_token_file *file,
                              const att_mix *mix, att_error *err)
{
    int64_t *block = att_alloc(PIECE, sizeof *block);
    if (!block)
        return att_fail_memory(err);
    uint64_t hash = hash_vocabs(data);
    att_status status = ATT_OK;
    for (int s = 0; s < ATT_TOKENS_SPLITS && status == ATT_OK; s++) {
        status = hash_side(&hash, file, (att_token_split)s, false, block, err);
        if (status == ATT_OK)
            status = hash_side(&hash, file, (att_token_split)s, true, block, err);
    }
    att_free(block);
    *out = (int64_t)hash_mix(hash, mix);
    return status;
}
