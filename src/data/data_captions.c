/* Data of caption models: feature grids from .npy files with image<TAB>caption lines, or synthetic
 * scenes; see data.h. In the corpus, the source of a pair is one token: the number of the image. */
#include "data/data_loaders.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/string.h"
#include "data/batch_captions.h"
#include "data/synthetic_shapes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The images and captions that a corpus is made of. */
typedef struct caption_corpus {
    att_image_grids image_grids;
    const char *name; /* of the features, for errors */
    att_pair_text text;
} caption_corpus;

static void free_caption_corpus(caption_corpus *from)
{
    att_image_grids_free(&from->image_grids);
    att_pair_text_free(&from->text);
}

/* ---- loading images and text */

static att_status generate_caption_corpus(caption_corpus *out, const att_settings *settings,
                                          bool held_out, att_error *err)
{
    out->name = held_out ? "synthetic validation images" : "synthetic training images";
    out->text.tsv.name = out->name;
    return att_shapes_generate(&out->image_grids, &out->text.tsv.text, settings, held_out, err);
}

static att_status load_caption_corpus(caption_corpus *out, const char *features,
                                      const char *captions, const att_settings *settings,
                                      att_error *err)
{
    out->name = features;
    const att_pair_files files = { .tsv = captions };
    ATT_TRY(att_image_grids_load(&out->image_grids, features, settings->image_rows,
                                 settings->features_scale, err));
    return att_pair_text_load(&out->text, &files, err);
}

static att_status get_train(caption_corpus *out, const att_settings *settings, att_error *err)
{
    if (settings->task == ATT_TASK_SHAPES)
        return generate_caption_corpus(out, settings, false, err);
    return load_caption_corpus(out, settings->features, settings->train, settings, err);
}

/* Whether the validation data are held out of the training data. */
static bool splits_train(const att_settings *settings)
{
    return settings->task != ATT_TASK_SHAPES && !settings->valid;
}

/* A validation file without valid-features has captions of the training images. */
static att_status get_valid(caption_corpus *out, const att_settings *settings, att_error *err)
{
    if (settings->task == ATT_TASK_SHAPES)
        return generate_caption_corpus(out, settings, true, err);
    if (splits_train(settings))
        return get_train(out, settings, err);
    const char *features = settings->valid_features ? settings->valid_features : settings->features;
    return load_caption_corpus(out, features, settings->valid, settings, err);
}

/* ---- encoding captions */

/* A vocabulary of image numbers: image n has the id ATT_ID_FIRST + n. */
static att_status make_image_vocab(att_vocab **out, int64_t count, att_error *err)
{
    enum { ROOM = 24 };
    char(*texts)[ROOM] = att_alloc((size_t)count, sizeof *texts);
    const char **tokens = att_alloc((size_t)count, sizeof *tokens);
    att_status status = texts && tokens ? ATT_OK : att_fail_memory(err);
    for (int64_t i = 0; i < count && status == ATT_OK; i++) {
        snprintf(texts[i], ROOM, "%" PRId64, i);
        tokens[i] = texts[i];
    }
    if (status == ATT_OK)
        status = att_vocab_from_tokens(out, ATT_TOKENIZER_SPACE, false, tokens, (size_t)count, err);
    att_free(texts);
    att_free(tokens);
    return status;
}

/* Refuses a line whose source is not the number of an image. */
static att_status check_image_numbers(const att_corpus *corpus, const caption_corpus *from,
                                      att_error *err)
{
    for (int64_t p = 0; p < corpus->pairs; p++) {
        int64_t length;
        const int32_t *ids = att_sequences_get(&corpus->source, p, &length);
        if (length == 1 && ids[0] >= ATT_ID_FIRST)
            continue;
        return att_fail_at(err, ATT_BAD_INPUT, from->text.tsv.name, (int)corpus->line_numbers[p], 0,
                           NULL, "does not start with an image number: %s has images 0 to %lld",
                           from->name, (long long)from->image_grids.count - 1);
    }
    return ATT_OK;
}

static att_status refuse_empty(const att_corpus *corpus, const caption_corpus *from,
                               const char *purpose, att_error *err)
{
    if (corpus->pairs > 0)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, from->text.tsv.name,
                    "has no captions to %s on: expected image<TAB>caption lines of at most "
                    "max-length tokens",
                    purpose);
}

static att_status read_with_final_vocab(att_corpus *out, const caption_corpus *from,
                                        const att_pair_read_options *options, const char *purpose,
                                        att_error *err)
{
    ATT_TRY(att_corpus_read(out, &from->text, options, err));
    ATT_TRY(refuse_empty(out, from, purpose, err));
    return check_image_numbers(out, from, err);
}

/* Counts the tokens of the captions; BPE then encodes them again. */
static att_status read_train(att_data *out, const caption_corpus *from,
                             const att_settings *settings, att_pair_read_options *options,
                             att_error *err)
{
    int32_t *final = NULL;
    if (att_data_keeps_vocab(out))
        return read_with_final_vocab(&out->train, from, options, "train", err);
    options->counted_target = out->target_vocab;
    ATT_TRY(att_corpus_read(&out->train, &from->text, options, err));
    ATT_TRY(refuse_empty(&out->train, from, "train", err));
    ATT_TRY(check_image_numbers(&out->train, from, err));
    options->counted_target = NULL;
    if (att_vocab_tokenizer_kind(out->target_vocab) == ATT_TOKENIZER_BPE) {
        ATT_TRY(
            att_vocab_train_bpe(out->target_vocab, settings->bpe_merges, settings->min_count, err));
        att_corpus_free(&out->train);
        return read_with_final_vocab(&out->train, from, options, "train", err);
    }
    ATT_TRY(att_vocab_finalize(out->target_vocab, settings->min_count, &final, err));
    att_corpus_renumber(&out->train, NULL, final);
    att_free(final);
    if (!out->initial)
        return ATT_OK;
    ATT_TRY(
        att_data_extend_vocab(&out->target_vocab, out->initial->target, &out->added_target, err));
    options->target_vocab = out->target_vocab;
    att_corpus_free(&out->train);
    return read_with_final_vocab(&out->train, from, options, "train", err);
}

static att_pair_read_options read_options(const att_settings *settings, const att_vocab *numbers,
                                          const att_vocab *vocab)
{
    return (att_pair_read_options){ .source_vocab = numbers,
                                    .target_vocab = vocab,
                                    .max_length = settings->max_length,
                                    .valid_fraction =
                                        splits_train(settings) ? settings->valid_fraction : 0,
                                    .seed = (uint64_t)settings->data_seed,
                                    .format.kind = ATT_EXAMPLES_CAPTIONS };
}

/* The corpus takes ownership of the images. */
static void move_image_grids(att_corpus *corpus, caption_corpus *from)
{
    corpus->image_grids = from->image_grids;
    from->image_grids = (att_image_grids){ 0 };
}

/* ---- training data */

static att_status load_train(att_data *out, const att_settings *settings, att_error *err)
{
    caption_corpus from = { 0 };
    att_vocab *numbers = NULL;
    att_status status = get_train(&from, settings, err);
    if (status == ATT_OK)
        status = make_image_vocab(&numbers, from.image_grids.count, err);
    att_pair_read_options options = read_options(settings, numbers, out->target_vocab);
    if (status == ATT_OK)
        status = read_train(out, &from, settings, &options, err);
    if (status == ATT_OK)
        move_image_grids(&out->train, &from);
    att_vocab_free(numbers);
    free_caption_corpus(&from);
    return status;
}

static att_status check_same_grid(const att_data *data, const att_settings *settings,
                                  att_error *err)
{
    const att_image_grids *train = &data->train.image_grids, *valid = &data->valid.image_grids;
    if (train->rows == valid->rows && train->columns == valid->columns &&
        train->depth == valid->depth)
        return ATT_OK;
    return att_fail(
        err, ATT_BAD_INPUT, settings->valid_features,
        "has images of %lld × %lld cells × %lld channels, expected %lld × %lld × %lld as in "
        "%s",
        (long long)valid->rows, (long long)valid->columns, (long long)valid->depth,
        (long long)train->rows, (long long)train->columns, (long long)train->depth,
        settings->features);
}

static att_status read_valid(att_corpus *out, caption_corpus *from, const att_settings *settings,
                             const att_vocab *vocab, bool held_out, att_error *err)
{
    att_vocab *numbers = NULL;
    ATT_TRY(make_image_vocab(&numbers, from->image_grids.count, err));
    att_pair_read_options options = read_options(settings, numbers, vocab);
    options.keep_target_text = true; /* outputs are compared with all captions of an image */
    options.read_valid = held_out;
    options.valid_fraction = held_out ? att_data_valid_part(settings) : 0;
    att_status status = read_with_final_vocab(out, from, &options, "validate", err);
    att_vocab_free(numbers);
    if (status == ATT_OK)
        move_image_grids(out, from);
    return status;
}

static att_status load_captions(att_data *out, att_settings *settings, att_error *err)
{
    ATT_TRY(att_data_start_vocab(
        &out->target_vocab, out, out->initial ? out->initial->target : NULL,
        (att_tokenizer_kind)settings->target_tokens, settings->lowercase, err));
    ATT_TRY(load_train(out, settings, err));
    caption_corpus from = { 0 };
    bool held_out = splits_train(settings);
    att_status status = get_valid(&from, settings, err);
    if (status == ATT_OK)
        status = read_valid(&out->valid, &from, settings, out->target_vocab, held_out, err);
    free_caption_corpus(&from);
    ATT_TRY(status);
    out->valid_in_train = held_out && settings->valid_fraction == 0;
    out->held_out = held_out && !out->valid_in_train ? out->valid.pairs : 0;
    return check_same_grid(out, settings, err);
}

/* ---- evaluation data */

static att_status read_captions(att_corpus *out, const att_data_read_options *options,
                                att_error *err)
{
    const att_settings *settings = options->settings;
    caption_corpus from = { 0 };
    const char *features = options->features ? options->features : settings->valid_features;
    bool own = !options->path;
    att_status status = ATT_OK;
    if (own)
        status = get_valid(&from, settings, err);
    else if (!features)
        status = att_fail(err, ATT_BAD_INPUT, options->path,
                          "has captions, but their images are not given: give --features");
    else
        status = load_caption_corpus(&from, features, options->path, settings, err);
    if (status == ATT_OK)
        status = read_valid(out, &from, settings, options->target_vocab,
                            own && splits_train(settings), err);
    free_caption_corpus(&from);
    return status;
}

/* ---- report */

static int64_t count_images(const att_corpus *corpus)
{
    int64_t count = 0, last = -1;
    for (int64_t p = 0; p < corpus->pairs; p++) {
        int64_t image = att_corpus_image(corpus, p);
        count += image != last;
        last = image;
    }
    return count;
}

static att_status report_corpus(att_string *out, const char *name, const att_corpus *corpus)
{
    return att_string_printf(
        out, "%-12s%" PRId64 " captions of %" PRId64 " images, %" PRId64 " tokens\n", name,
        corpus->pairs, count_images(corpus), corpus->stats.target.tokens);
}

static att_status report_captions(att_string *out, const att_data *data)
{
    const att_image_grids *grids = &data->train.image_grids;
    ATT_TRY(report_corpus(out, "training", &data->train));
    ATT_TRY(report_corpus(out, "validation", &data->valid));
    ATT_TRY(att_data_report_split(out, data));
    ATT_TRY(att_string_printf(out, "%-12s%" PRId64 " × %" PRId64 " cells, %" PRId64 " channels\n",
                              "images", grids->rows, grids->columns, grids->depth));
    ATT_TRY(att_sequence_stats_report(out, "target", data->target_vocab, &data->train.stats.target,
                                      &data->valid.stats.target, data->train.pairs));
    ATT_TRY(att_corpus_warnings(out, "training", &data->train));
    return att_corpus_warnings(out, "validation", &data->valid);
}

const att_data_loader att_caption_data = {
    .load = load_captions,
    .read = read_captions,
    .batches = att_caption_batches_new,
    .report = report_captions,
};
