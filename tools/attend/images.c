/* Encoding and classifying image files one after another with the image encoder. */
#include "images.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "terminal.h"

enum { TOP_LABELS = 5 };

/* ---- features */

static att_status encode_image(att_tensor *out, att_image_encoder *encoder, const char *path,
                               att_error *err)
{
    att_image image;
    att_status status = att_image_load(&image, path, err);
    if (status != ATT_OK)
        return status;
    status = att_image_encoder_features(out, encoder, &image, err);
    att_image_free(&image);
    return status;
}

/* Copies the features of one image into those of all, which are allocated with the first. */
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

att_status images_encode(att_tensor *out, att_image_encoder *encoder, const char *const *paths,
                         size_t count, att_error *err)
{
    att_status status = ATT_OK;
    *out = (att_tensor){ 0 };
    for (size_t i = 0; i < count && status == ATT_OK; i++) {
        att_tensor one = { 0 };
        status = encode_image(&one, encoder, paths[i], err);
        if (status == ATT_OK)
            status = add_features(out, &one, i, count, err);
        att_tensor_free(&one);
    }
    if (status != ATT_OK)
        att_tensor_free(out);
    return status;
}

att_status images_encode_with(att_tensor *out, const char *encoder_path, const char *const *paths,
                              size_t count, att_error *err)
{
    att_image_encoder *encoder = NULL;
    att_status status = att_image_encoder_load(&encoder, encoder_path, err);
    if (status == ATT_OK)
        status = images_encode(out, encoder, paths, count, err);
    att_image_encoder_free(encoder);
    return status;
}

att_status images_select(att_tensor *out, const att_model *model, const image_selection *which,
                         att_error *err)
{
    att_tensor all, one;
    *out = (att_tensor){ 0 };
    if (which->image_encoder)
        return images_encode_with(out, which->image_encoder, &which->path, 1, err);
    att_status status = att_model_images(&all, model, which->features, which->recorded_data, err);
    if (status != ATT_OK)
        return status;
    if (which->index >= all.shape[0])
        status = error_set(err, ATT_BAD_INPUT, "--image-index",
                           "expected less than %" PRId64 ", the number of images", all.shape[0]);
    if (status == ATT_OK)
        status = att_tensor_slice(&one, &all, 0, which->index, 1, err);
    if (status == ATT_OK)
        status = att_tensor_new(out, ATT_F32, one.rank, one.shape, err);
    if (status == ATT_OK)
        memcpy(out->data, one.data, (size_t)att_tensor_count(&one) * sizeof(float));
    att_tensor_free(&all);
    return status;
}

/* ---- labels */

typedef struct image_labels {
    const char *path;
    const float *probabilities;
    size_t top[TOP_LABELS]; /* label indices, the most probable first */
} image_labels;

static void find_top_labels(image_labels *image, size_t labels)
{
    size_t kept = 0;
    for (size_t label = 0; label < labels; label++) {
        size_t at = kept < TOP_LABELS ? kept++ : TOP_LABELS;
        for (; at > 0 && image->probabilities[label] > image->probabilities[image->top[at - 1]];
             at--)
            if (at < TOP_LABELS)
                image->top[at] = image->top[at - 1];
        if (at < TOP_LABELS)
            image->top[at] = label;
    }
}

static att_status print_lines(const image_labels *image, const att_image_encoder *encoder,
                              att_error *err)
{
    for (size_t i = 0; i < TOP_LABELS; i++)
        terminal_printf(stdout, "%s\t%.3f\t%s\n", image->path,
                        (double)image->probabilities[image->top[i]],
                        att_image_encoder_label(encoder, image->top[i]));
    return output_flush(err);
}

static att_status add_label(att_string *out, const image_labels *image, size_t rank,
                            const att_image_encoder *encoder)
{
    char end[48];
    size_t label = image->top[rank];
    const char *text = att_image_encoder_label(encoder, label);
    int length = snprintf(end, sizeof end, ",\"probability\":%.6f}%s",
                          (double)image->probabilities[label], rank + 1 < TOP_LABELS ? "," : "");
    att_status status = att_string_append(out, "{\"label\":", 9);
    if (status == ATT_OK)
        status = escape_json(out, text, strlen(text));
    return status == ATT_OK ? att_string_append(out, end, (size_t)length) : status;
}

/* {"image","labels":[{"label","probability"}]} */
static att_status add_json(att_string *out, const image_labels *image,
                           const att_image_encoder *encoder)
{
    att_status status = att_string_append(out, "{\"image\":", 9);
    if (status == ATT_OK)
        status = escape_json(out, image->path, strlen(image->path));
    if (status == ATT_OK)
        status = att_string_append(out, ",\"labels\":[", 11);
    for (size_t i = 0; i < TOP_LABELS && status == ATT_OK; i++)
        status = add_label(out, image, i, encoder);
    return status == ATT_OK ? att_string_append(out, "]}\n", 3) : status;
}

static att_status print_json(const image_labels *image, const att_image_encoder *encoder,
                             att_error *err)
{
    att_string line = { 0 };
    att_status status = add_json(&line, image, encoder) == ATT_OK
                            ? output_stdout(line.data, line.length, err)
                            : error_memory(err);
    att_string_free(&line);
    return status;
}

static att_status classify_image(att_image_encoder *encoder, const char *path, float *probabilities,
                                 bool json, att_error *err)
{
    att_image image;
    att_status status = att_image_load(&image, path, err);
    if (status != ATT_OK)
        return status;
    status = att_image_encoder_classify(probabilities, encoder, &image, err);
    att_image_free(&image);
    if (status != ATT_OK)
        return status;
    image_labels labels = { .path = path, .probabilities = probabilities };
    find_top_labels(&labels, att_image_encoder_label_count(encoder));
    return (json ? print_json : print_lines)(&labels, encoder, err);
}

att_status images_classify(att_image_encoder *encoder, const char *const *paths, size_t count,
                           bool json, att_error *err)
{
    float *probabilities = calloc(att_image_encoder_label_count(encoder), sizeof *probabilities);
    if (!probabilities)
        return error_memory(err);
    att_status status = ATT_OK;
    for (size_t i = 0; i < count && status == ATT_OK && !output_reader_gone(); i++)
        status = classify_image(encoder, paths[i], probabilities, json, err);
    free(probabilities);
    return status;
}
