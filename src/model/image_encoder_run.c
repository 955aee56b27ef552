/* Runs the image encoder on one image: class probabilities, or the features that
 * caption models read. */
#include "model/image_encoder.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/progress.h"
#include "kern/kern.h"
#include "model/layer_check.h"
#include "nn/squeezenet.h"
#include "tape/ops.h"

#include <string.h>

/* ---- tapes. A call takes the idle tape, or makes one, and returns it at the end. So calls on
 * several threads share nothing, and a loop over images reuses the memory of one tape. */

static att_status take_tape(att_tape **out, const att_image_encoder *encoder, att_error *err)
{
    *out = atomic_exchange(encoder->idle_tape, NULL);
    return *out ? ATT_OK : att_tape_new(out, &encoder->params, err);
}

static void return_tape(const att_image_encoder *encoder, att_tape *tape)
{
    att_tape_free(atomic_exchange(encoder->idle_tape, tape));
}

/* ---- images */

/* The center square of the image as the network expects it: blue, green, red, each minus its mean
 * over ImageNet. */
static att_status preprocess(att_node **out, att_tape *tape, const att_image *image, att_error *err)
{
    enum { SIDE = ATT_SQUEEZENET_IMAGE_SIZE, CHANNELS = 3 };
    static const float channel_mean[CHANNELS] = { 104, 117, 123 };
    att_image square;
    ATT_TRY(att_image_center_crop(&square, image, SIDE, err));
    att_tape_begin(tape, false, 0, 0);
    att_node *x = att_tape_input(tape, 4, (int64_t[]){ 1, SIDE, SIDE, CHANNELS }, NULL);
    for (int64_t i = 0; x && i < x->count; i++) {
        int64_t channel = i % CHANNELS, pixel = i - channel;
        x->value[i] = (float)square.pixels[pixel + CHANNELS - 1 - channel] - channel_mean[channel];
    }
    att_image_free(&square);
    *out = x;
    return att_tape_status(tape, err);
}

static att_status classify(float *out, att_tape *tape, const att_image *image, att_error *err)
{
    att_node *x;
    ATT_TRY(preprocess(&x, tape, image, err));
    const att_node *logits = att_squeezenet_run(tape, x, ATT_SQUEEZENET_LOGITS);
    ATT_TRY(att_tape_status(tape, err));
    ATT_TRY(att_layer_check(tape, err));
    att_kernels_get()->softmax(out, logits->value, ATT_SQUEEZENET_LABELS);
    return ATT_OK;
}

att_status att_image_encoder_classify(float *out, const att_image_encoder *encoder,
                                      const att_image *image, att_error *err)
{
    att_tape *tape;
    ATT_TRY(take_tape(&tape, encoder, err));
    att_progress_scope scope;
    att_progress_begin(&scope, "encoding an image", 0);
    att_status status = classify(out, tape, image, err);
    status = att_progress_end(&scope, status, err);
    return_tape(encoder, tape);
    return status;
}

static att_status compute_features(att_tensor *out, const att_image_encoder *encoder,
                                   att_tape *tape, const att_image *image, att_error *err)
{
    enum { GRID = ATT_SQUEEZENET_GRID_SIZE };
    att_node *x;
    ATT_TRY(preprocess(&x, tape, image, err));
    att_node *features = att_squeezenet_run(tape, x, ATT_SQUEEZENET_FEATURES);
    if (encoder->projection >= 0)
        features =
            att_linear(tape, features, att_tape_param(tape, encoder->projection),
                       att_tape_param(tape, encoder->projection + 1), ATT_ACTIVATION_NONE, false);
    att_tape_name_layer(tape, features, "projection", 0);
    ATT_TRY(att_tape_status(tape, err));
    ATT_TRY(att_layer_check(tape, err));
    ATT_TRY(
        att_tensor_new(out, ATT_F32, 3, (int64_t[]){ GRID, GRID, encoder->feature_depth }, err));
    memcpy(out->data, features->value, (size_t)features->count * sizeof(float));
    return ATT_OK;
}

att_status att_image_encoder_features(att_tensor *out, const att_image_encoder *encoder,
                                      const att_image *image, att_error *err)
{
    att_tape *tape;
    *out = (att_tensor){ 0 };
    ATT_TRY(take_tape(&tape, encoder, err));
    att_progress_scope scope;
    att_progress_begin(&scope, "encoding an image", 0);
    att_status status = compute_features(out, encoder, tape, image, err);
    status = att_progress_end(&scope, status, err);
    if (status != ATT_OK)
        att_tensor_free(out);
    return_tape(encoder, tape);
    return status;
}
