/* Answers to pictures, measured against all captions of each; see gallery.h. */
#include "metrics/gallery.h"

#include "base/alloc.h"
#include "base/error.h"
#include "decode/viewing.h"

#include <string.h>

/* ---- which captions belong to which picture */

typedef struct gallery {
    int64_t count;    /* pictures that something is said of */
    int64_t *picture; /* [count] rising */
    int64_t *first;   /* [count + 1] where the captions of each begin in `pair` */
    int64_t *pair;    /* [pairs] */
    int64_t most;     /* captions of one picture */
} gallery;

static att_status allocate(gallery *out, int64_t pictures, int64_t pairs, att_error *err)
{
    out->picture = att_alloc((size_t)pictures, sizeof *out->picture);
    out->first = att_alloc_zero((size_t)pictures + 1, sizeof *out->first);
    out->pair = att_alloc((size_t)pairs, sizeof *out->pair);
    return out->picture && out->first && out->pair ? ATT_OK : att_fail_memory(err);
}

/* Sorts pairs by their pictures, those of one picture in the order of the file: counts, then
 * places. */
static void sort_pairs(gallery *out, const att_corpus *corpus)
{
    int64_t pictures = corpus->grids.count, at = 0;
    for (int64_t p = 0; p < corpus->pairs; p++)
        out->first[att_corpus_picture(corpus, p)]++;
    for (int64_t i = 0; i < pictures; i++) {
        int64_t captions = out->first[i];
        out->first[i] = at;
        at += captions;
    }
    for (int64_t p = 0; p < corpus->pairs; p++)
        out->pair[out->first[att_corpus_picture(corpus, p)]++] = p;
    memmove(out->first + 1, out->first, (size_t)pictures * sizeof *out->first);
    out->first[0] = 0;
}

/* Leaves out pictures that nothing is said of. */
static void close_up(gallery *out, int64_t pictures)
{
    for (int64_t i = 0; i < pictures; i++) {
        int64_t captions = out->first[i + 1] - out->first[i];
        if (captions == 0)
            continue;
        out->most = captions > out->most ? captions : out->most;
        out->picture[out->count] = i;
        out->first[out->count++] = out->first[i];
    }
    out->first[out->count] = out->first[pictures];
}

static void gallery_free(gallery *all)
{
    att_free(all->picture);
    att_free(all->first);
    att_free(all->pair);
    *all = (gallery){ 0 };
}

static att_status gallery_new(gallery *out, const att_corpus *corpus, att_error *err)
{
    *out = (gallery){ 0 };
    att_status status = allocate(out, corpus->grids.count, corpus->pairs, err);
    if (status != ATT_OK) {
        gallery_free(out);
        return status;
    }
    sort_pairs(out, corpus);
    close_up(out, corpus->grids.count);
    return ATT_OK;
}

att_status att_gallery_size(int64_t *out, const att_corpus *corpus, att_error *err)
{
    gallery all;
    ATT_TRY(gallery_new(&all, corpus, err));
    *out = all.count;
    gallery_free(&all);
    return ATT_OK;
}

/* ---- answers */

typedef struct answering {
    att_model *model;
    const att_corpus *corpus;
    gallery pictures;
    const att_evaluate_how *how;
    att_tally *tally;
    att_tally *each; /* [count] where that of each is wanted */
    att_viewing viewing;
} answering;

/* The tally of an answer against the caption it is nearest to. */
static att_status compare(const answering *a, int64_t place, const int32_t *ids, size_t count,
                          att_tally *best, att_error *err)
{
    for (int64_t i = a->pictures.first[place]; i < a->pictures.first[place + 1]; i++) {
        int64_t length;
        const int32_t *caption = att_side_get(&a->corpus->target, a->pictures.pair[i], &length);
        att_tally one = { 0 };
        if (att_tally_add(&one, a->model->target_words, ids, count, caption, (size_t)length) !=
            ATT_OK)
            return att_fail_memory(err);
        if (i == a->pictures.first[place] || one.edits < best->edits)
            *best = one;
    }
    return ATT_OK;
}

static att_status keep_text(const answering *a, int64_t place, const int32_t *ids, size_t count,
                            att_error *err)
{
    att_answer_texts *texts = a->how->texts;
    att_text text = { 0 };
    att_status status = att_vocab_decode(a->model->target_words, &text, ids, count);
    if (status == ATT_OK)
        texts->lines[place] =
            att_arena_copy(&texts->arena, text.length > 0 ? text.data : "", text.length);
    att_text_free(&text);
    return status == ATT_OK && texts->lines[place] ? ATT_OK : att_fail_memory(err);
}

static att_status note_answer(const answering *a, int64_t row, int64_t place, att_error *err)
{
    int64_t found;
    const att_hypothesis *answer = att_search_found(a->viewing.search, row, &found);
    bool ended = answer->count > 0 && answer->ids[answer->count - 1] == ATT_ID_END;
    size_t count = (size_t)answer->count - ended;
    att_tally one = { 0 };
    ATT_TRY(compare(a, place, answer->ids, count, &one, err));
    att_tally_join(a->tally, &one);
    if (a->each)
        att_tally_join(&a->each[place], &one);
    return a->how->texts ? keep_text(a, place, answer->ids, count, err) : ATT_OK;
}

/* What is known of the captions of each picture. */
static att_status gather_each(answering *a, att_error *err)
{
    if (!a->how->each)
        return ATT_OK;
    a->each = att_alloc_zero((size_t)a->pictures.count, sizeof *a->each);
    if (!a->each)
        return att_fail_memory(err);
    for (int64_t place = 0; place < a->pictures.count; place++)
        for (int64_t i = a->pictures.first[place]; i < a->pictures.first[place + 1]; i++)
            att_tally_join(&a->each[place], &a->how->each[a->pictures.pair[i]]);
    return ATT_OK;
}

static att_status answer_all(answering *a, att_error *err)
{
    const gallery *all = &a->pictures;
    for (int64_t at = 0; at < all->count; at += ATT_VIEWED) {
        int64_t rows = all->count - at < ATT_VIEWED ? all->count - at : ATT_VIEWED;
        ATT_TRY(att_viewing_run(&a->viewing, all->picture + at, rows, NULL, NULL, err));
        for (int64_t r = 0; r < rows; r++)
            ATT_TRY(note_answer(a, r, at + r, err));
        if (a->how->go_on && !a->how->go_on(a->how->context))
            return ATT_OK;
    }
    return ATT_OK;
}

att_status att_gallery_answer(att_tally *tally, att_model *model, const att_corpus *corpus,
                              const att_evaluate_how *how, att_error *err)
{
    answering a = { .model = model, .corpus = corpus, .how = how, .tally = tally };
    ATT_TRY(gallery_new(&a.pictures, corpus, err));
    att_status status = att_viewing_open(&a.viewing, model, &corpus->grids, how->decoding, err);
    if (status == ATT_OK)
        status = gather_each(&a, err);
    if (status == ATT_OK)
        status = answer_all(&a, err);
    if (status == ATT_OK && a.each)
        memcpy(how->each, a.each, (size_t)a.pictures.count * sizeof *a.each);
    att_free(a.each);
    att_viewing_close(&a.viewing);
    gallery_free(&a.pictures);
    return status;
}

/* ---- text */

/* Caption r of every picture, NULL where it has fewer: references[r][place]. */
static void list_references(const char **flat, const att_corpus *corpus, const gallery *all)
{
    for (int64_t place = 0; place < all->count; place++) {
        int64_t first = all->first[place], captions = all->first[place + 1] - first;
        for (int64_t r = 0; r < all->most; r++)
            flat[r * all->count + place] =
                r < captions ? att_corpus_target_text(corpus, all->pair[first + r]) : NULL;
    }
}

att_status att_gallery_score(att_metric_score *out, const char *const *names, size_t count,
                             const char *const *answers, const att_corpus *corpus,
                             const att_metric_how *how, att_error *err)
{
    gallery all;
    ATT_TRY(gallery_new(&all, corpus, err));
    size_t most = (size_t)all.most, pictures = (size_t)all.count;
    const char **flat = att_alloc(most, pictures * sizeof *flat);
    const char *const **references = att_alloc(most, sizeof *references);
    att_status status = flat && references ? ATT_OK : att_fail_memory(err);
    if (status == ATT_OK) {
        list_references(flat, corpus, &all);
        for (size_t r = 0; r < most; r++)
            references[r] = flat + r * pictures;
        const att_scored_texts texts = { answers, references, pictures, most };
        status = att_metrics_score(out, names, count, &texts, how, err);
    }
    att_free(flat);
    att_free(references);
    gallery_free(&all);
    return status;
}
