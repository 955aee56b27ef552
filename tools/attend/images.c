/* What a network sees in photographs; see photos.h. */
#include "images.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "escape.h"
#include "output.h"

enum { TOP_LABELS = 5 };

/* ---- features */

static att_status encode_image(att_tensor *out, att_image_encoder *eyes, const char *path,
                               att_error *err)
{
    att_image picture;
    att_status status = att_image_load(&picture, path, err);
    if (status != ATT_OK)
        return status;
    status = att_image_encoder_features(out, eyes, &picture, err);
    att_image_free(&picture);
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

att_status images_encode(att_tensor *out, att_image_encoder *eyes, const char *const *paths,
                         size_t count, att_error *err)
{
    att_status status = ATT_OK;
    *out = (att_tensor){ 0 };
    for (size_t i = 0; i < count && status == ATT_OK; i++) {
        att_tensor one = { 0 };
        status = encode_image(&one, eyes, paths[i], err);
        if (status == ATT_OK)
            status = add_features(out, &one, i, count, err);
        att_tensor_free(&one);
    }
    if (status != ATT_OK)
        att_tensor_free(out);
    return status;
}

att_status images_encode_with(att_tensor *out, const char *eyes, const char *const *paths,
                              size_t count, att_error *err)
{
    att_image_encoder *loaded = NULL;
    att_status status = att_image_encoder_load(&loaded, eyes, err);
    if (status == ATT_OK)
        status = images_encode(out, loaded, paths, count, err);
    att_image_encoder_free(loaded);
    return status;
}

/* ---- labels */

typedef struct image_labels {
    const char *path;
    const float *probabilities;
    size_t best[TOP_LABELS]; /* labels, the most probable first */
} image_labels;

static void find_top_labels(image_labels *photo, size_t labels)
{
    size_t kept = 0;
    for (size_t label = 0; label < labels; label++) {
        size_t at = kept < TOP_LABELS ? kept++ : TOP_LABELS;
        for (; at > 0 && photo->probabilities[label] > photo->probabilities[photo->best[at - 1]];
             at--)
            if (at < TOP_LABELS)
                photo->best[at] = photo->best[at - 1];
        if (at < TOP_LABELS)
            photo->best[at] = label;
    }
}

static att_status print_lines(const image_labels *photo, const att_image_encoder *eyes,
                              att_error *err)
{
    for (size_t i = 0; i < TOP_LABELS; i++)
        printf("%s\t%.3f\t%s\n", photo->path, (double)photo->probabilities[photo->best[i]],
               att_image_encoder_label(eyes, photo->best[i]));
    return output_flush(err);
}

static att_status add_string(att_string *out, const char *text)
{
    return escape_json(out, text, strlen(text));
}

static att_status add_label(att_string *out, const image_labels *photo, size_t rank,
                            const att_image_encoder *eyes)
{
    char end[48];
    size_t label = photo->best[rank];
    int length = snprintf(end, sizeof end, ",\"probability\":%.6f}%s",
                          (double)photo->probabilities[label], rank + 1 < TOP_LABELS ? "," : "");
    att_status status = att_string_append(out, "{\"label\":", 9);
    if (status == ATT_OK)
        status = add_string(out, att_image_encoder_label(eyes, label));
    return status == ATT_OK ? att_string_append(out, end, (size_t)length) : status;
}

/* {"photo","labels":[{"label","probability"}]} */
static att_status add_json(att_string *out, const image_labels *photo,
                           const att_image_encoder *eyes)
{
    att_status status = att_string_append(out, "{\"photo\":", 9);
    if (status == ATT_OK)
        status = add_string(out, photo->path);
    if (status == ATT_OK)
        status = att_string_append(out, ",\"labels\":[", 11);
    for (size_t i = 0; i < TOP_LABELS && status == ATT_OK; i++)
        status = add_label(out, photo, i, eyes);
    return status == ATT_OK ? att_string_append(out, "]}\n", 3) : status;
}

static att_status print_json(const image_labels *photo, const att_image_encoder *eyes,
                             att_error *err)
{
    att_string line = { 0 };
    att_status status = add_json(&line, photo, eyes) == ATT_OK
                            ? output_stdout(line.data, line.length, err)
                            : error_memory(err);
    att_string_free(&line);
    return status;
}

static att_status classify_image(att_image_encoder *eyes, const char *path, float *probabilities,
                                 bool json, att_error *err)
{
    att_image picture;
    att_status status = att_image_load(&picture, path, err);
    if (status != ATT_OK)
        return status;
    status = att_image_encoder_classify(probabilities, eyes, &picture, err);
    att_image_free(&picture);
    if (status != ATT_OK)
        return status;
    image_labels photo = { .path = path, .probabilities = probabilities };
    find_top_labels(&photo, att_image_encoder_label_count(eyes));
    return (json ? print_json : print_lines)(&photo, eyes, err);
}

att_status images_classify(att_image_encoder *eyes, const char *const *paths, size_t count,
                           bool json, att_error *err)
{
    float *probabilities = calloc(att_image_encoder_label_count(eyes), sizeof *probabilities);
    if (!probabilities)
        return error_memory(err);
    att_status status = ATT_OK;
    for (size_t i = 0; i < count && status == ATT_OK && !output_reader_gone(); i++)
        status = classify_image(eyes, paths[i], probabilities, json, err);
    free(probabilities);
    return status;
}
