/* Pictures and what is said of them: grids from .npy files with lines number<TAB>caption, or scenes
 * made up; see data.h. In the corpus a picture is its number, as the one token of a source. */
#include "text/data_kinds.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "text/batch_pictures.h"
#include "text/shapes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What a corpus is read from. */
typedef struct album {
    att_grids grids;
    const char *name; /* of where they come from */
    att_pair_text text;
} album;

static void free_album(album *from)
{
    att_grids_free(&from->grids);
    att_pair_text_free(&from->text);
}

/* ---- getting pictures and text */

static att_status make_album(album *out, const att_settings *settings, bool held, att_error *err)
{
    out->name = held ? "scenes held out" : "scenes to train on";
    out->text.both.name = out->name;
    return att_shapes_make(&out->grids, &out->text.both.text, settings, held, err);
}

static att_status load_album(album *out, const char *features, const char *captions,
                             const att_settings *settings, att_error *err)
{
    out->name = features;
    const att_pair_files files = { .both = captions };
    ATT_TRY(att_grids_load(&out->grids, features, settings->picture_rows, settings->features_scale,
                           err));
    return att_pair_text_load(&out->text, &files, err);
}

static att_status get_train(album *out, const att_settings *settings, att_error *err)
{
    if (settings->task == ATT_TASK_SHAPES)
        return make_album(out, settings, false, err);
    return load_album(out, settings->features, settings->train, settings, err);
}

/* Whether what is validated on is held out of what is trained on. */
static bool holds_out(const att_settings *settings)
{
    return settings->task != ATT_TASK_SHAPES && !settings->valid;
}

/* Captions of their own may be of the same pictures: then those are meant. */
static att_status get_valid(album *out, const att_settings *settings, att_error *err)
{
    if (settings->task == ATT_TASK_SHAPES)
        return make_album(out, settings, true, err);
    if (holds_out(settings))
        return get_train(out, settings, err);
    const char *features = settings->valid_features ? settings->valid_features : settings->features;
    return load_album(out, features, settings->valid, settings, err);
}

/* ---- reading captions */

/* The numbers of pictures as tokens: that of number n is ATT_ID_FIRST + n. */
static att_status number_pictures(att_vocab **out, int64_t count, att_error *err)
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
        status = att_vocab_of_tokens(out, ATT_TOKENS_SPACE, false, tokens, (size_t)count, err);
    att_free(texts);
    att_free(tokens);
    return status;
}

/* Refuses a number that none of the pictures has. `first` is what the token of the first is. */
static att_status check_numbers(const att_corpus *corpus, const album *from, int32_t first,
                                att_error *err)
{
    for (int64_t p = 0; p < corpus->pairs; p++) {
        int64_t length;
        const int32_t *ids = att_side_get(&corpus->source, p, &length);
        if (length == 1 && ids[0] >= first && ids[0] - first < from->grids.count)
            continue;
        return att_fail_at(err, ATT_BAD_INPUT, from->text.both.name, (int)corpus->line[p], 0, NULL,
                           "does not begin with the number of a picture: %s has 0 to %lld",
                           from->name, (long long)from->grids.count - 1);
    }
    return ATT_OK;
}

static att_status refuse_empty(const att_corpus *corpus, const album *from, const char *what,
                               att_error *err)
{
    if (corpus->pairs > 0)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, from->text.both.name,
                    "has no captions to %s on: lines number<TAB>caption, of at most max-length "
                    "tokens",
                    what);
}

static att_status read_closed(att_corpus *out, const album *from, const att_pair_reading *how,
                              const char *what, att_error *err)
{
    ATT_TRY(att_corpus_read(out, &from->text, how, err));
    ATT_TRY(refuse_empty(out, from, what, err));
    return check_numbers(out, from, ATT_ID_FIRST, err);
}

/* Puts the final numbers of tokens in place; those of pictures are as they were. */
static att_status close_corpus(att_corpus *corpus, int64_t pictures, const int32_t *target,
                               att_error *err)
{
    int32_t *source = att_alloc((size_t)pictures, sizeof *source);
    if (!source)
        return att_fail_memory(err);
    for (int64_t i = 0; i < pictures; i++)
        source[i] = ATT_ID_FIRST + (int32_t)i;
    att_corpus_close(corpus, source, target);
    att_free(source);
    return ATT_OK;
}

/* Counts the tokens of captions, and reads them again where they become subwords. */
static att_status read_train(att_data *out, const album *from, const att_settings *settings,
                             att_pair_reading *how, att_error *err)
{
    int32_t *final = NULL;
    how->count = true;
    ATT_TRY(att_corpus_read(&out->train, &from->text, how, err));
    ATT_TRY(refuse_empty(&out->train, from, "train", err));
    ATT_TRY(check_numbers(&out->train, from, 0, err));
    how->count = false;
    if (att_vocab_tokens(out->target_words) == ATT_TOKENS_SUBWORD) {
        ATT_TRY(att_vocab_learn(out->target_words, settings->subwords, settings->min_count, err));
        att_corpus_free(&out->train);
        return read_closed(&out->train, from, how, "train", err);
    }
    ATT_TRY(att_vocab_close(out->target_words, settings->min_count, &final, err));
    att_status status = close_corpus(&out->train, from->grids.count, final, err);
    att_free(final);
    return status;
}

static att_pair_reading reading_of(const att_settings *settings, att_vocab *numbers,
                                   const att_vocab *words)
{
    return (att_pair_reading){ .source = numbers,
                               .target = (att_vocab *)(uintptr_t)words,
                               .max_length = settings->max_length,
                               .hold_out = holds_out(settings) ? settings->hold_out : 0,
                               .seed = (uint64_t)settings->data_seed,
                               .captions = true };
}

/* The corpus takes the album's pictures over. */
static void hand_over(att_corpus *corpus, album *from)
{
    corpus->grids = from->grids;
    from->grids = (att_grids){ 0 };
}

/* ---- learning */

static att_status load_train(att_data *out, const att_settings *settings, att_error *err)
{
    album from = { 0 };
    att_vocab *numbers = NULL;
    att_status status = get_train(&from, settings, err);
    if (status == ATT_OK)
        status = number_pictures(&numbers, from.grids.count, err);
    att_pair_reading how = reading_of(settings, numbers, out->target_words);
    if (status == ATT_OK)
        status = read_train(out, &from, settings, &how, err);
    if (status == ATT_OK)
        hand_over(&out->train, &from);
    att_vocab_free(numbers);
    free_album(&from);
    return status;
}

static att_status check_alike(const att_data *data, const att_settings *settings, att_error *err)
{
    const att_grids *train = &data->train.grids, *valid = &data->valid.grids;
    if (train->rows == valid->rows && train->columns == valid->columns &&
        train->depth == valid->depth)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, settings->valid_features,
                    "has pictures of %lld × %lld cells of %lld numbers, and %s of %lld × %lld of "
                    "%lld",
                    (long long)valid->rows, (long long)valid->columns, (long long)valid->depth,
                    settings->features, (long long)train->rows, (long long)train->columns,
                    (long long)train->depth);
}

static att_status read_valid(att_corpus *out, album *from, const att_settings *settings,
                             const att_vocab *words, bool held, att_error *err)
{
    att_vocab *numbers = NULL;
    ATT_TRY(number_pictures(&numbers, from->grids.count, err));
    att_pair_reading how = reading_of(settings, numbers, words);
    how.keep_text = true; /* answers are compared with all that is said of a picture */
    how.held = held;
    how.hold_out = held ? how.hold_out : 0;
    att_status status = read_closed(out, from, &how, "validate", err);
    att_vocab_free(numbers);
    if (status == ATT_OK)
        hand_over(out, from);
    return status;
}

static att_status load_pictures(att_data *out, const att_settings *settings, att_error *err)
{
    ATT_TRY(att_vocab_new(&out->target_words, (att_tokens)settings->target_tokens, settings->lower,
                          err));
    ATT_TRY(load_train(out, settings, err));
    album from = { 0 };
    bool held = holds_out(settings);
    att_status status = get_valid(&from, settings, err);
    if (status == ATT_OK)
        status = read_valid(&out->valid, &from, settings, out->target_words, held, err);
    free_album(&from);
    ATT_TRY(status);
    out->held_out = held ? out->valid.pairs : 0;
    return check_alike(out, settings, err);
}

/* ---- measuring */

static att_status read_pictures(att_corpus *out, const att_data_reading *how, att_error *err)
{
    const att_settings *settings = how->settings;
    album from = { 0 };
    const char *features = how->features ? how->features : settings->valid_features;
    bool own = !how->path;
    att_status status = ATT_OK;
    if (own)
        status = get_valid(&from, settings, err);
    else if (!features)
        status = att_fail(err, ATT_BAD_INPUT, how->path,
                          "are captions of pictures that were not given: give --features");
    else
        status = load_album(&from, features, how->path, settings, err);
    if (status == ATT_OK)
        status = read_valid(out, &from, settings, how->target, own && holds_out(settings), err);
    free_album(&from);
    return status;
}

/* ---- telling */

static int64_t count_pictures(const att_corpus *corpus)
{
    int64_t count = 0, last = -1;
    for (int64_t p = 0; p < corpus->pairs; p++) {
        int64_t picture = att_corpus_picture(corpus, p);
        count += picture != last;
        last = picture;
    }
    return count;
}

static att_status report_side(att_text *out, const char *name, const att_corpus *corpus,
                              const char *after)
{
    return att_text_print(
        out, "%-12s%" PRId64 " captions of %" PRId64 " pictures, %" PRId64 " tokens%s\n", name,
        corpus->pairs, count_pictures(corpus), corpus->facts.target.tokens, after);
}

static att_status report_pictures(att_text *out, const att_data *data)
{
    const att_grids *grids = &data->train.grids;
    ATT_TRY(report_side(out, "training", &data->train, ""));
    ATT_TRY(report_side(out, "validation", &data->valid,
                        data->held_out > 0 ? ", held out of the training file" : ""));
    ATT_TRY(att_text_print(out,
                           "%-12s%" PRId64 " × %" PRId64 " cells of %" PRId64 " numbers each\n",
                           "pictures", grids->rows, grids->columns, grids->depth));
    ATT_TRY(att_report_side(out, "target", data->target_words, &data->train.facts.target,
                            &data->valid.facts.target, data->train.pairs));
    ATT_TRY(att_corpus_remarks(out, "training", &data->train));
    return att_corpus_remarks(out, "validation", &data->valid);
}

const att_data_kind att_data_of_pictures = {
    .load = load_pictures,
    .read = read_pictures,
    .batches = att_picture_batches_new,
    .report = report_pictures,
};
