/* Caption evaluation: groups the captions of a corpus by image, generates one caption per image by
 * beam search, and compares it with all captions of the image. */
#include "eval/caption_eval.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/minmax.h"
#include "decode/image_batches.h"
#include "eval/shared_results.h"

#include <string.h>

/* ---- captions by image */

typedef struct image_captions {
    int64_t count;        /* images with at least one caption */
    int64_t *image;       /* [count] ascending */
    int64_t *first;       /* [count + 1] offsets into `pair` */
    int64_t *pair;        /* [pairs] pair indices, grouped by image */
    int64_t max_captions; /* largest number of captions of one image */
} image_captions;

static att_status allocate(image_captions *out, int64_t images, int64_t pairs, att_error *err)
{
    out->image = att_alloc((size_t)images, sizeof *out->image);
    out->first = att_alloc_zero((size_t)images + 1, sizeof *out->first);
    out->pair = att_alloc((size_t)pairs, sizeof *out->pair);
    return out->image && out->first && out->pair ? ATT_OK : att_fail_memory(err);
}

/* Counting sort of the pairs by image; stable, so the captions of an image keep their order. */
static void group_by_image(image_captions *out, const att_corpus *corpus)
{
    int64_t images = corpus->image_grids.count, at = 0;
    for (int64_t p = 0; p < corpus->pairs; p++)
        out->first[att_corpus_image(corpus, p)]++;
    for (int64_t i = 0; i < images; i++) {
        int64_t captions = out->first[i];
        out->first[i] = at;
        at += captions;
    }
    for (int64_t p = 0; p < corpus->pairs; p++)
        out->pair[out->first[att_corpus_image(corpus, p)]++] = p;
    memmove(out->first + 1, out->first, (size_t)images * sizeof *out->first);
    out->first[0] = 0;
}

/* Removes images without captions. */
static void drop_empty_images(image_captions *out, int64_t images)
{
    for (int64_t i = 0; i < images; i++) {
        int64_t captions = out->first[i + 1] - out->first[i];
        if (captions == 0)
            continue;
        out->max_captions = att_max_i64(out->max_captions, captions);
        out->image[out->count] = i;
        out->first[out->count++] = out->first[i];
    }
    out->first[out->count] = out->first[images];
}

static void image_captions_free(image_captions *all)
{
    att_free(all->image);
    att_free(all->first);
    att_free(all->pair);
    *all = (image_captions){ 0 };
}

static att_status image_captions_new(image_captions *out, const att_corpus *corpus, att_error *err)
{
    *out = (image_captions){ 0 };
    att_status status = allocate(out, corpus->image_grids.count, corpus->pairs, err);
    if (status != ATT_OK) {
        image_captions_free(out);
        return status;
    }
    group_by_image(out, corpus);
    drop_empty_images(out, corpus->image_grids.count);
    return ATT_OK;
}

att_status att_caption_eval_image_count(int64_t *out, const att_corpus *corpus, att_error *err)
{
    image_captions all;
    ATT_TRY(image_captions_new(&all, corpus, err));
    *out = all.count;
    image_captions_free(&all);
    return ATT_OK;
}

/* ---- generation */

typedef struct caption_evaluation {
    const att_model *model;
    const att_corpus *corpus;
    image_captions images;
    const att_corpus_eval_options *options;
    att_token_metrics *metrics;
    att_token_metrics *per_image; /* [count], or NULL */
    att_image_batches image_batches;
    att_shared_results shared; /* of several processes; all-zero: one */
} caption_evaluation;

/* The counts of a hypothesis against the caption with the fewest edits. */
static att_status nearest_caption(const caption_evaluation *a, int64_t index, const int32_t *ids,
                                  size_t count, att_token_metrics *best, att_error *err)
{
    for (int64_t i = a->images.first[index]; i < a->images.first[index + 1]; i++) {
        int64_t length;
        const int32_t *caption = att_sequences_get(&a->corpus->target, a->images.pair[i], &length);
        att_token_metrics one = { 0 };
        if (att_token_metrics_add(&one, a->model->target_vocab, ids, count, caption,
                                  (size_t)length) != ATT_OK)
            return att_fail_memory(err);
        if (i == a->images.first[index] || one.edits < best->edits)
            *best = one;
    }
    return ATT_OK;
}

/* The counts of an image and its caption, NULL where no texts are wanted. */
static att_status keep_output(const caption_evaluation *a, int64_t index,
                              const att_token_metrics *counts, const char *text, att_error *err)
{
    att_output_texts *texts = a->options->output_texts;
    att_token_metrics_merge(a->metrics, counts);
    if (a->per_image)
        att_token_metrics_merge(&a->per_image[index], counts);
    if (!text)
        return ATT_OK;
    texts->lines[index] = att_arena_strndup(&texts->arena, text, strlen(text));
    return texts->lines[index] ? ATT_OK : att_fail_memory(err);
}

/* Keeps an output, or puts it for all processes. */
static att_status pass_output(caption_evaluation *a, int64_t index, const att_token_metrics *counts,
                              const char *text, att_error *err)
{
    if (!a->shared.group)
        return keep_output(a, index, counts, text, err);
    ATT_TRY(att_shared_results_put(&a->shared, counts, sizeof *counts, err));
    return text ? att_shared_results_put_text(&a->shared, text, err) : ATT_OK;
}

static att_status record_output(caption_evaluation *a, int64_t row, int64_t index, att_error *err)
{
    int64_t found;
    const att_hypothesis *hypothesis =
        att_beam_search_hypotheses(a->image_batches.search, row, &found);
    bool ended = hypothesis->count > 0 && hypothesis->ids[hypothesis->count - 1] == ATT_ID_EOS;
    size_t count = (size_t)hypothesis->count - ended;
    att_token_metrics one = { 0 };
    ATT_TRY(nearest_caption(a, index, hypothesis->ids, count, &one, err));
    one.truncated = hypothesis->truncated;
    if (!a->options->output_texts)
        return pass_output(a, index, &one, NULL, err);
    att_string text = { 0 };
    att_status status = att_vocab_decode(a->model->target_vocab, &text, hypothesis->ids, count);
    status = status == ATT_OK ? pass_output(a, index, &one, text.length > 0 ? text.data : "", err)
                              : att_fail_memory(err);
    att_string_free(&text);
    return status;
}

/* Adds the counts of the captions of each image. */
static att_status sum_per_image(caption_evaluation *a, att_error *err)
{
    if (!a->options->per_pair)
        return ATT_OK;
    a->per_image = att_alloc_zero((size_t)a->images.count, sizeof *a->per_image);
    if (!a->per_image)
        return att_fail_memory(err);
    for (int64_t index = 0; index < a->images.count; index++)
        for (int64_t i = a->images.first[index]; i < a->images.first[index + 1]; i++)
            att_token_metrics_merge(&a->per_image[index], &a->options->per_pair[a->images.pair[i]]);
    return ATT_OK;
}

/* Replaces the number of an image in `line` by the line of its first caption. */
static att_status error_at_caption(att_status status, const caption_evaluation *a, att_error *err)
{
    const image_captions *all = &a->images;
    if (status != ATT_BAD_INPUT || !err || err->line == 0)
        return status;
    for (int64_t i = 0; i < all->count; i++)
        if (all->image[i] == err->line - 1) {
            err->line = (int)a->corpus->line_numbers[all->pair[all->first[i]]];
            break;
        }
    return status;
}

/* Whether this process evaluates the batch of images from `at` on. */
static bool is_own(const caption_evaluation *a, int64_t at)
{
    const att_group *group = a->shared.group;
    return !group || att_shared_owner(group, at / ATT_IMAGE_BATCH_SIZE) == group->rank;
}

static att_status caption_all(caption_evaluation *a, att_error *err)
{
    const image_captions *all = &a->images;
    for (int64_t at = 0; at < all->count; at += ATT_IMAGE_BATCH_SIZE) {
        if (!is_own(a, at))
            continue;
        int64_t rows = att_min_i64(all->count - at, ATT_IMAGE_BATCH_SIZE);
        ATT_TRY(error_at_caption(
            att_image_batches_run(&a->image_batches, all->image + at, rows, NULL, NULL, err), a,
            err));
        for (int64_t r = 0; r < rows; r++)
            ATT_TRY(record_output(a, r, at + r, err));
        if (a->options->on_batch && !a->options->on_batch(a->options->context))
            return ATT_OK;
    }
    return ATT_OK;
}

/* Keeps the outputs of all processes in the order of the images; those that a stopped process did
 * not generate are left out. */
static att_status keep_all(caption_evaluation *a, att_error *err)
{
    att_shared_results *shared = &a->shared;
    for (int64_t index = 0; index < a->images.count; index++) {
        int owner = att_shared_owner(shared->group, index / ATT_IMAGE_BATCH_SIZE);
        att_token_metrics counts;
        if (!att_shared_results_get(shared, owner, &counts, sizeof counts))
            continue;
        const char *text =
            a->options->output_texts ? att_shared_results_get_text(shared, owner) : NULL;
        ATT_TRY(keep_output(a, index, &counts, text, err));
    }
    return ATT_OK;
}

static att_status caption_shared(caption_evaluation *a, att_error *err)
{
    ATT_TRY(att_shared_results_new(&a->shared, a->options->group, err));
    ATT_TRY(att_shared_results_gather(&a->shared, caption_all(a, err), err));
    return keep_all(a, err);
}

att_status att_caption_eval_outputs(att_token_metrics *metrics, const att_model *model,
                                    const att_corpus *corpus,
                                    const att_corpus_eval_options *options, att_error *err)
{
    caption_evaluation a = {
        .model = model, .corpus = corpus, .options = options, .metrics = metrics
    };
    ATT_TRY(image_captions_new(&a.images, corpus, err));
    att_status status = att_image_batches_open(&a.image_batches, model, &corpus->image_grids,
                                               options->decoding, err);
    if (status == ATT_OK)
        status = sum_per_image(&a, err);
    if (status == ATT_OK)
        status =
            att_group_is_shared(options->group) ? caption_shared(&a, err) : caption_all(&a, err);
    if (status == ATT_OK && a.per_image)
        memcpy(options->per_pair, a.per_image, (size_t)a.images.count * sizeof *a.per_image);
    att_shared_results_free(&a.shared);
    att_free(a.per_image);
    att_image_batches_close(&a.image_batches);
    image_captions_free(&a.images);
    return status;
}

/* ---- references */

/* flat[r * images + index]: caption r of an image; NULL if the image has fewer. */
static void list_references(const char **flat, const att_corpus *corpus, const image_captions *all)
{
    for (int64_t index = 0; index < all->count; index++) {
        int64_t first = all->first[index], captions = all->first[index + 1] - first;
        for (int64_t r = 0; r < all->max_captions; r++)
            flat[r * all->count + index] =
                r < captions ? att_corpus_target_text(corpus, all->pair[first + r]) : NULL;
    }
}

att_status att_caption_references_new(att_references *out, const att_corpus *corpus, att_error *err)
{
    image_captions all;
    *out = (att_references){ 0 };
    ATT_TRY(image_captions_new(&all, corpus, err));
    out->count = (size_t)all.max_captions;
    out->lines = (size_t)all.count;
    out->flat = att_alloc(out->count, out->lines * sizeof *out->flat);
    out->sides = att_alloc(out->count, sizeof *out->sides);
    att_status status = out->flat && out->sides ? ATT_OK : att_fail_memory(err);
    if (status == ATT_OK) {
        list_references(out->flat, corpus, &all);
        for (size_t r = 0; r < out->count; r++)
            out->sides[r] = out->flat + r * out->lines;
    } else {
        att_references_free(out);
    }
    image_captions_free(&all);
    return status;
}
