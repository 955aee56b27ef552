/* What a network sees in photographs; see photos.h. */
#include "photos.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "escape.h"
#include "output.h"

enum { BEST_LABELS = 5 };

/* ---- features */

static att_status look_at(att_tensor *out, att_eyes *eyes, const char *path, att_error *err)
{
    att_picture picture;
    att_status status = att_picture_load(&picture, path, err);
    if (status != ATT_OK)
        return status;
    status = att_eyes_features(out, eyes, &picture, err);
    att_picture_free(&picture);
    return status;
}

/* Adds one photograph's to those of all, which are made when the first is known. */
static att_status add_features(att_tensor *all, const att_tensor *one, size_t index, size_t count,
                               att_error *err)
{
    const int64_t shape[] = { (int64_t)count, one->shape[0], one->shape[1], one->shape[2] };
    size_t size = (size_t)att_tensor_count(one) * sizeof(float);
    att_status status = index == 0 ? att_tensor_new(all, ATT_F32, 4, shape, err) : ATT_OK;
    if (status == ATT_OK)
        memcpy((char *)all->data + index * size, one->data, size);
    return status;
}

att_status photos_features(att_tensor *out, att_eyes *eyes, const char *const *paths, size_t count,
                           att_error *err)
{
    att_status status = ATT_OK;
    *out = (att_tensor){ 0 };
    for (size_t i = 0; i < count && status == ATT_OK; i++) {
        att_tensor one = { 0 };
        status = look_at(&one, eyes, paths[i], err);
        if (status == ATT_OK)
            status = add_features(out, &one, i, count, err);
        att_tensor_free(&one);
    }
    if (status != ATT_OK)
        att_tensor_free(out);
    return status;
}

att_status photos_seen(att_tensor *out, const char *eyes, const char *const *paths, size_t count,
                       att_error *err)
{
    att_eyes *loaded = NULL;
    att_status status = att_eyes_load(&loaded, eyes, err);
    if (status == ATT_OK)
        status = photos_features(out, loaded, paths, count, err);
    att_eyes_free(loaded);
    return status;
}

/* ---- labels */

typedef struct labelled {
    const char *path;
    const float *probabilities;
    size_t best[BEST_LABELS]; /* labels, the most probable first */
} labelled;

static void find_best(labelled *photo, size_t labels)
{
    size_t kept = 0;
    for (size_t label = 0; label < labels; label++) {
        size_t at = kept < BEST_LABELS ? kept++ : BEST_LABELS;
        for (; at > 0 && photo->probabilities[label] > photo->probabilities[photo->best[at - 1]];
             at--)
            if (at < BEST_LABELS)
                photo->best[at] = photo->best[at - 1];
        if (at < BEST_LABELS)
            photo->best[at] = label;
    }
}

static att_status print_lines(const labelled *photo, const att_eyes *eyes, att_error *err)
{
    for (size_t i = 0; i < BEST_LABELS; i++)
        printf("%s\t%.3f\t%s\n", photo->path, (double)photo->probabilities[photo->best[i]],
               att_eyes_label(eyes, photo->best[i]));
    return output_flush(err);
}

static att_status add_string(att_text *out, const char *text)
{
    return escape_json(out, text, strlen(text));
}

static att_status add_label(att_text *out, const labelled *photo, size_t rank, const att_eyes *eyes)
{
    char end[48];
    size_t label = photo->best[rank];
    int length = snprintf(end, sizeof end, ",\"probability\":%.6f}%s",
                          (double)photo->probabilities[label], rank + 1 < BEST_LABELS ? "," : "");
    att_status status = att_text_add(out, "{\"label\":", 9);
    if (status == ATT_OK)
        status = add_string(out, att_eyes_label(eyes, label));
    return status == ATT_OK ? att_text_add(out, end, (size_t)length) : status;
}

/* {"photo","labels":[{"label","probability"}]} */
static att_status add_json(att_text *out, const labelled *photo, const att_eyes *eyes)
{
    att_status status = att_text_add(out, "{\"photo\":", 9);
    if (status == ATT_OK)
        status = add_string(out, photo->path);
    if (status == ATT_OK)
        status = att_text_add(out, ",\"labels\":[", 11);
    for (size_t i = 0; i < BEST_LABELS && status == ATT_OK; i++)
        status = add_label(out, photo, i, eyes);
    return status == ATT_OK ? att_text_add(out, "]}\n", 3) : status;
}

static att_status print_json(const labelled *photo, const att_eyes *eyes, att_error *err)
{
    att_text line = { 0 };
    att_status status = add_json(&line, photo, eyes) == ATT_OK
                            ? output_stdout(line.data, line.length, err)
                            : error_memory(err);
    att_text_free(&line);
    return status;
}

static att_status name_one(att_eyes *eyes, const char *path, float *probabilities, bool json,
                           att_error *err)
{
    att_picture picture;
    att_status status = att_picture_load(&picture, path, err);
    if (status != ATT_OK)
        return status;
    status = att_eyes_name(probabilities, eyes, &picture, err);
    att_picture_free(&picture);
    if (status != ATT_OK)
        return status;
    labelled photo = { .path = path, .probabilities = probabilities };
    find_best(&photo, att_eyes_label_count(eyes));
    return (json ? print_json : print_lines)(&photo, eyes, err);
}

att_status photos_name(att_eyes *eyes, const char *const *paths, size_t count, bool json,
                       att_error *err)
{
    float *probabilities = calloc(att_eyes_label_count(eyes), sizeof *probabilities);
    if (!probabilities)
        return error_memory(err);
    att_status status = ATT_OK;
    for (size_t i = 0; i < count && status == ATT_OK && !output_unread(); i++)
        status = name_one(eyes, paths[i], probabilities, json, err);
    free(probabilities);
    return status;
}
