/* Starting and ending a token file; see prepare.h. */
#include "data/prepare.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/progress.h"
#include "base/string.h"
#include "data/data_hash.h"
#include "data/prepared.h"

#include <math.h>
#include <string.h>

enum { USUAL_PART = 8 << 20, HEADER_SLACK = 16 << 10 };

static size_t part_size;

size_t att_prepare_part_size(void)
{
    return part_size ? part_size : USUAL_PART;
}

void att_prepare_set_part_size(size_t size)
{
    part_size = size;
}

/* ---- progress */

static int64_t corpus_size(const att_prepare_corpus *corpus)
{
    return att_text_stream_size(corpus->source) +
           (corpus->target ? att_text_stream_size(corpus->target) : 0);
}

int64_t att_prepare_size(const att_prepare_corpus *list, size_t count)
{
    int64_t size = 0;
    for (size_t i = 0; i < count; i++)
        size += corpus_size(&list[i]);
    return size;
}

int64_t att_prepare_position(const att_prepare_corpus *list, size_t at)
{
    return att_prepare_size(list, at) + att_text_stream_position(list[at].source) +
           (list[at].target ? att_text_stream_position(list[at].target) : 0);
}

/* ---- starting */

/* What the metadata will need at most: vocabularies as JSON strings, which escape quotes. */
static att_status measure_header(att_prepare_run *run, size_t *out, att_error *err)
{
    const att_vocab *const vocabs[] = { run->data.source_vocab, run->data.target_vocab };
    size_t count = run->data.source_vocab == run->data.target_vocab ? 1 : 2;
    att_status status = ATT_OK;
    *out = HEADER_SLACK + 64 * run->train_count + 6 * run->data.choices.length;
    for (size_t i = 0; i < count && status == ATT_OK; i++) {
        att_string json = { 0 }, escaped = { 0 };
        if (vocabs[i])
            status = att_vocab_to_json(&json, vocabs[i], err);
        if (status == ATT_OK && json.length > 0 &&
            att_json_escape(&escaped, json.data, json.length, ATT_JSON_EXACT) != ATT_OK)
            status = att_fail_memory(err);
        *out += escaped.length;
        att_string_free(&json);
        att_string_free(&escaped);
    }
    return status;
}

att_status att_prepare_start(att_prepare_run *run, att_error *err)
{
    size_t header;
    const att_data *data = &run->data;
    const int32_t sizes[2] = { data->source_vocab ? att_vocab_size(data->source_vocab) : 0,
                               att_vocab_size(data->target_vocab) };
    run->data.train.stored = att_alloc_zero(1, sizeof *run->data.train.stored);
    if (!run->data.train.stored)
        return att_fail_memory(err);
    ATT_TRY(measure_header(run, &header, err));
    return att_token_writer_new(&run->writer, run->path, sizes, header, err);
}

/* ---- the pairs that were written, read again */

/* Calls `use` for blocks of training pairs, without their tokens. */
typedef void pairs_callback(void *context, const att_loaded_pairs *block);

static att_status for_pairs(const att_token_corpus *whole, int64_t pairs, pairs_callback *use,
                            void *context, att_error *err)
{
    enum { BLOCK = 4096 };
    att_loaded_pairs block = { 0 };
    att_status status = ATT_OK;
    for (int64_t at = 0; at < pairs && status == ATT_OK; at += BLOCK) {
        block.pairs = 0;
        status =
            att_token_corpus_load(whole, 0, at, att_min_i64(BLOCK, pairs - at), false, &block, err);
        if (status == ATT_OK) {
            use(context, &block);
            status = att_progress_check(err);
        }
    }
    att_loaded_pairs_free(&block);
    return status;
}

typedef struct lengths {
    double sources, targets;
    att_output_length out;
    int64_t shortest;
    int end; /* 1: targets have an end token */
} lengths;

static void sum_lengths(void *context, const att_loaded_pairs *block)
{
    lengths *all = context;
    for (int64_t i = 0; i < block->pairs; i++) {
        int64_t source = att_sequences_length(&block->source, i);
        int64_t target = att_sequences_length(&block->target, i);
        all->sources += (double)source;
        all->targets += (double)target + 1;
        all->shortest = att_min_i64(all->shortest, att_max_i64(source, target + all->end));
    }
}

static void find_excess(void *context, const att_loaded_pairs *block)
{
    lengths *all = context;
    for (int64_t i = 0; i < block->pairs; i++)
        all->out.excess = fmax(
            all->out.excess, (double)att_sequences_length(&block->target, i) + 1 -
                                 all->out.ratio * (double)att_sequences_length(&block->source, i));
}

/* As att_output_length_measure() does in memory. */
static att_status measure_lengths(att_token_corpus *stored, const att_token_corpus *whole,
                                  int64_t pairs, bool has_labels, att_error *err)
{
    lengths all = { .shortest = INT64_MAX, .end = !has_labels };
    ATT_TRY(for_pairs(whole, pairs, sum_lengths, &all, err));
    all.out.ratio = fmin(all.targets / all.sources, ATT_OUTPUT_LENGTH_MAX);
    ATT_TRY(for_pairs(whole, pairs, find_excess, &all, err));
    all.out.excess = fmin(ceil(all.out.excess), ATT_OUTPUT_LENGTH_MAX);
    stored->output_length = all.out;
    stored->shortest = all.shortest;
    return ATT_OK;
}

/* ---- ending */

static int64_t scale(int64_t tokens, const att_mix_file *file)
{
    return file->read == file->count
               ? tokens
               : (int64_t)((double)tokens * ((double)file->read / (double)file->count) + 0.5);
}

/* What an epoch reads: the sum of the files by their weights. */
static att_status mix_files(att_prepare_run *run, att_error *err)
{
    att_mix *mix = &run->data.train.stored->mix;
    att_corpus *train = &run->data.train;
    mix->files = att_alloc(run->train_count, sizeof *mix->files);
    if (!mix->files)
        return att_fail_memory(err);
    train->stats.source.tokens = train->stats.target.tokens = 0;
    for (size_t i = 0; i < run->train_count; i++) {
        const att_prepare_corpus *from = &run->train[i];
        if (from->examples == 0)
            continue; /* all of it was skipped, or held out */
        att_mix_file *file = &mix->files[mix->file_count++];
        *file = (att_mix_file){ from->examples, att_mix_read_count(from->examples, from->weight) };
        train->stats.source.tokens += scale(from->source_tokens, file);
        train->stats.target.tokens += scale(from->target_tokens, file);
    }
    train->pairs = run->data.model_type == ATT_MODEL_LM ? 1 : att_mix_total(mix);
    return ATT_OK;
}

/* A view of the training data as they are in the file, one example after the other. */
static att_token_corpus whole_train(const att_token_file *file, att_mix_file *all, int64_t pairs)
{
    *all = (att_mix_file){ pairs, pairs };
    return (att_token_corpus){ .file = (att_token_file *)(uintptr_t)file,
                               .split = ATT_TOKENS_TRAIN,
                               .mix = { all, 1 },
                               .max_length = INT64_MAX };
}

static att_status measure_pairs(att_prepare_run *run, const att_token_file *file, att_error *err)
{
    att_data *data = &run->data;
    att_token_corpus *stored = data->train.stored;
    att_mix_file all;
    int64_t pairs = file->sections[ATT_TOKENS_TRAIN][ATT_SECTION_TARGET_OFFSETS].count - 1;
    att_token_corpus train = whole_train(file, &all, pairs);
    stored->max_length =
        att_max_i64(data->train.stats.source.max_length, data->train.stats.target.max_length);
    return measure_lengths(stored, &train, pairs, data->train.has_labels, err);
}

static att_status measure_data(att_prepare_run *run, att_error *err)
{
    const att_token_file *file;
    ATT_TRY(mix_files(run, err));
    ATT_TRY(att_token_writer_assemble(run->writer, &file, err));
    if (run->data.model_type != ATT_MODEL_LM)
        ATT_TRY(measure_pairs(run, file, err));
    return att_data_hash_file(&run->data.train.stored->data_hash, &run->data, file,
                              &run->data.train.stored->mix, err);
}

static att_status write_metadata(att_prepare_run *run, att_error *err)
{
    const att_data *data = &run->data;
    att_string json[4] = { 0 };
    bool joint = data->source_vocab == data->target_vocab;
    att_status status = att_prepared_settings_json(&json[0], run->settings, err);
    if (status == ATT_OK)
        status = att_prepared_data_json(&json[1], data, err);
    if (status == ATT_OK && data->source_vocab)
        status = att_vocab_to_json(&json[2], data->source_vocab, err);
    if (status == ATT_OK && !joint)
        status = att_vocab_to_json(&json[3], data->target_vocab, err);
    const att_token_meta metas[] = { { ATT_PREPARED_SETTINGS, json[0].data },
                                     { ATT_PREPARED_DATA, json[1].data },
                                     { ATT_PREPARED_SOURCE, json[2].data },
                                     { ATT_PREPARED_TARGET, json[3].data } };
    if (status == ATT_OK)
        status = att_token_writer_finish(run->writer, metas, ATT_COUNT(metas), err);
    for (size_t i = 0; i < ATT_COUNT(json); i++)
        att_string_free(&json[i]);
    return status;
}

/* The file appears under its name outside of any scope: a call that is cancelled leaves none. */
att_status att_prepare_finish(att_prepare_run *run, att_error *err)
{
    att_progress_scope scope;
    att_progress_begin(&scope, "writing", 0);
    att_status status = measure_data(run, err);
    ATT_TRY(att_progress_end(&scope, status, err));
    return write_metadata(run, err);
}
