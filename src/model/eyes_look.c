/* What eyes see in a photograph: labels, or features. */
#include "model/image_encoder.h"

#include "base/alloc.h"
#include "base/error.h"
#include "kern/kern.h"
#include "nn/squeezenet.h"
#include "tape/ops.h"

#include <string.h>

/* The picture as the network takes it: its middle square; blue, green and red less what is usual
 * in each. */
static att_node *preprocess(att_image_encoder *eyes, const att_image *picture, att_error *err)
{
    enum { SIDE = ATT_SQUEEZENET_IMAGE_SIZE, CHANNELS = 3 };
    static const float usual[CHANNELS] = { 104, 117, 123 };
    att_image square;
    if (att_image_center_crop(&square, picture, SIDE, err) != ATT_OK)
        return NULL;
    att_tape_begin(eyes->tape, false, 0, 0);
    att_node *x = att_tape_input(eyes->tape, 4, (int64_t[]){ 1, SIDE, SIDE, CHANNELS }, NULL);
    for (int64_t i = 0; x && i < x->count; i++) {
        int64_t colour = i % CHANNELS, pixel = i - colour;
        x->value[i] = (float)square.pixels[pixel + CHANNELS - 1 - colour] - usual[colour];
    }
    att_image_free(&square);
    if (!x)
        (void)att_tape_status(eyes->tape, err);
    return x;
}

att_status att_image_encoder_classify(float *out, att_image_encoder *eyes, const att_image *picture,
                                      att_error *err)
{
    att_error why = { 0 };
    att_node *x = preprocess(eyes, picture, &why);
    if (!x)
        return att_fail(err, why.status, why.place, "%s", why.message);
    att_node *scores = att_squeezenet_run(eyes->tape, x, ATT_SQUEEZENET_LOGITS);
    ATT_TRY(att_tape_status(eyes->tape, err));
    att_kernels_get()->softmax(out, scores->value, ATT_SQUEEZENET_LABELS);
    return ATT_OK;
}

att_status att_image_encoder_features(att_tensor *out, att_image_encoder *eyes,
                                      const att_image *picture, att_error *err)
{
    enum { GRID = ATT_SQUEEZENET_GRID_SIZE };
    att_error why = { 0 };
    *out = (att_tensor){ 0 };
    att_node *x = preprocess(eyes, picture, &why);
    if (!x)
        return att_fail(err, why.status, why.place, "%s", why.message);
    att_node *seen = att_squeezenet_run(eyes->tape, x, ATT_SQUEEZENET_FEATURES);
    if (eyes->projection >= 0)
        seen = att_linear(eyes->tape, seen, att_tape_param(eyes->tape, eyes->projection),
                          att_tape_param(eyes->tape, eyes->projection + 1), ATT_ACTIVATION_NONE,
                          false);
    ATT_TRY(att_tape_status(eyes->tape, err));
    ATT_TRY(att_tensor_new(out, ATT_F32, 3, (int64_t[]){ GRID, GRID, eyes->feature_depth }, err));
    memcpy(out->data, seen->value, (size_t)seen->count * sizeof(float));
    return ATT_OK;
}
