/* Captions of images, which the page hands over as pixels. */
#include "web.h"

enum { IMAGES, ROWS, COLUMNS, CHANNELS };

/* Appends image `index` as bytes of red, green and blue. */
static att_status append_pixels(att_string *out, const att_tensor *images, int64_t index)
{
    int64_t size = images->shape[ROWS] * images->shape[COLUMNS] * images->shape[CHANNELS];
    const float *values = (const float *)images->data + index * size;
    att_status status = ATT_OK;
    for (int64_t i = 0; i < size && status == ATT_OK; i++) {
        float value = values[i] < 0 ? 0 : values[i] > 1 ? 1 : values[i];
        char byte = (char)(uint8_t)(255 * value + 0.5f);
        status = att_string_append(out, &byte, 1);
    }
    return status;
}

att_status web_model_image(att_string *out, const att_model *model, int index, int32_t *shape,
                           att_error *err)
{
    att_tensor images = { 0 };
    att_status status = att_model_images(&images, model, NULL, true, err);
    if (status == ATT_OK && images.rank == 4) {
        for (int i = 0; i < 4; i++)
            shape[i] = (int32_t)images.shape[i];
        if (shape[CHANNELS] == 3 && index >= 0 && index < shape[IMAGES])
            status = append_pixels(out, &images, index);
    }
    att_tensor_free(&images);
    return status;
}

att_status web_model_caption(att_string *out, const att_model *model, const uint8_t *pixels,
                             int rows, int columns, const att_generate_options *options,
                             const att_render_options *render, att_error *err)
{
    const int64_t shape[4] = { 1, rows, columns, 3 };
    att_tensor image;
    att_status status = att_tensor_new(&image, ATT_F32, 4, shape, err);
    if (status != ATT_OK)
        return status;
    for (int64_t i = 0; i < shape[1] * shape[2] * 3; i++)
        ((float *)image.data)[i] = (float)pixels[i] / 255;
    att_outputs *outputs;
    status = att_model_caption(&outputs, model, &image, options, err);
    const att_output *output = status == ATT_OK ? att_outputs_get(outputs, 0) : NULL;
    const att_overlay_image drawn = { .pixels = pixels, .rows = rows, .columns = columns };
    att_map map;
    if (output && !render)
        status = att_output_json(out, output, err);
    else if (output && att_output_map(&map, output))
        status = att_output_overlay_render(out, output, &drawn, render, err);
    att_outputs_free(outputs);
    att_tensor_free(&image);
    return status;
}
