/* Loads and saves the image encoder as a .safetensors file, and makes copies of it with a
 * projection. image_encoder_run.c runs it on an image, image_encoder_fit.c fits the projection. */
#include "model/image_encoder.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/quote.h"
#include "base/string.h"
#include "model/model_file.h"
#include "nn/squeezenet.h"
#include "tensor/bundle.h"

#include <string.h>

#define KEY_LABELS        "attend.labels"
#define PROJECTION_WEIGHT "features.weight"

/* ---------------------------------------------------------------- reading */

static att_status check_architecture(const att_bundle *bundle, const char *name, att_error *err)
{
    char quoted[ATT_QUOTED_SIZE];
    const char *format = att_bundle_meta_get(bundle, ATT_KEY_FORMAT);
    if (format)
        ATT_TRY(att_model_check_format(bundle, name, err));
    const char *architecture = att_bundle_meta_get(bundle, ATT_KEY_ARCHITECTURE);
    if (!format || !architecture)
        return att_fail(err, ATT_BAD_INPUT, name,
                        "is a .safetensors file, but not an image encoder");
    if (strcmp(architecture, ATT_IMAGE_ENCODER_ARCHITECTURE) == 0)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, name,
                    "is a model with the architecture '%s', expected an image encoder",
                    att_quote(quoted, architecture, strlen(architecture)));
}

/* Splits the labels, one per line, in place. */
static att_status read_labels(att_image_encoder *encoder, const att_bundle *bundle,
                              const char *name, att_error *err)
{
    const char *lines = att_bundle_meta_get(bundle, KEY_LABELS);
    if (!lines)
        return att_fail(err, ATT_BAD_INPUT, name, "lacks the metadata '%s'", KEY_LABELS);
    char *at = att_arena_strndup(&encoder->arena, lines, strlen(lines));
    encoder->labels =
        att_arena_alloc(&encoder->arena, ATT_SQUEEZENET_LABELS, sizeof *encoder->labels);
    if (!at || !encoder->labels)
        return att_fail_memory(err);
    size_t count = 0;
    for (char *line; (line = strsep(&at, "\n"));) {
        if (count < ATT_SQUEEZENET_LABELS)
            encoder->labels[count] = line;
        count += at || line[0] != '\0'; /* the last line may lack its newline */
    }
    if (count == ATT_SQUEEZENET_LABELS)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, name, "expected %d labels, found %zu",
                    ATT_SQUEEZENET_LABELS, count);
}

static void build(att_param_builder *builder, att_image_encoder *encoder, int64_t depth)
{
    att_squeezenet_build(builder);
    encoder->projection = ATT_NO_PARAM;
    encoder->feature_depth = ATT_SQUEEZENET_CHANNELS;
    if (depth == 0)
        return;
    encoder->feature_depth = depth;
    encoder->projection =
        att_build_matrix(builder, ATT_SQUEEZENET_CHANNELS, depth, "features", "weight");
    att_build_zeros(builder, depth, "features", "bias");
}

static att_status fill(att_image_encoder *encoder, const att_bundle *bundle, const char *name,
                       att_error *err)
{
    att_param_builder builder = { .params = &encoder->params, .err = err };
    const att_tensor *projection = att_bundle_get(bundle, PROJECTION_WEIGHT);
    ATT_TRY(check_architecture(bundle, name, err));
    ATT_TRY(read_labels(encoder, bundle, name, err));
    build(&builder, encoder, projection && projection->rank == 2 ? projection->shape[1] : 0);
    ATT_TRY(builder.status);
    return att_params_from_bundle(&encoder->params, bundle, false, name, err);
}

static att_image_encoder *encoder_alloc(void)
{
    att_image_encoder *encoder = att_alloc_zero(1, sizeof *encoder);
    if (!encoder)
        return NULL;
    encoder->idle_tape = att_alloc_zero(1, sizeof *encoder->idle_tape);
    if (!encoder->idle_tape) {
        att_free(encoder);
        return NULL;
    }
    atomic_init(encoder->idle_tape, NULL);
    return encoder;
}

att_status att_image_encoder_from_bundle(att_image_encoder **out, const att_bundle *bundle,
                                         const char *name, att_error *err)
{
    *out = NULL;
    att_image_encoder *encoder = encoder_alloc();
    if (!encoder)
        return att_fail_memory(err);
    att_status status = fill(encoder, bundle, name, err);
    if (status == ATT_OK)
        *out = encoder;
    else
        att_image_encoder_free(encoder);
    return status;
}

att_status att_image_encoder_load(att_image_encoder **out, const char *path, att_error *err)
{
    *out = NULL;
    att_bundle *bundle;
    ATT_TRY(att_model_load_bundle(&bundle, path, err));
    att_status status = att_image_encoder_from_bundle(out, bundle, path, err);
    att_bundle_free(bundle);
    return status;
}

att_status att_image_encoder_read(att_image_encoder **out, const void *bytes, size_t size,
                                  const char *name, att_error *err)
{
    *out = NULL;
    att_bundle *bundle;
    ATT_TRY(att_model_read_bundle(&bundle, bytes, size, name, err));
    att_status status = att_image_encoder_from_bundle(out, bundle, name, err);
    att_bundle_free(bundle);
    return status;
}

void att_image_encoder_free(att_image_encoder *encoder)
{
    if (!encoder)
        return;
    att_tape_free(atomic_load(encoder->idle_tape));
    att_free(encoder->idle_tape);
    att_params_free(&encoder->params);
    att_arena_free(&encoder->arena);
    att_free(encoder);
}

/* ---------------------------------------------------------------- writing */

att_status att_image_encoder_set_metadata(att_bundle *bundle, const char *labels, att_error *err)
{
    ATT_TRY(att_bundle_meta_set(bundle, ATT_KEY_FORMAT, ATT_MODEL_FORMAT, err));
    ATT_TRY(att_bundle_meta_set(bundle, ATT_KEY_ARCHITECTURE, ATT_IMAGE_ENCODER_ARCHITECTURE, err));
    return att_bundle_meta_set(bundle, KEY_LABELS, labels, err);
}

static att_status join_labels(att_string *out, const att_image_encoder *encoder)
{
    for (size_t i = 0; i < ATT_SQUEEZENET_LABELS; i++)
        ATT_TRY(att_string_printf(out, "%s\n", encoder->labels[i]));
    return ATT_OK;
}

static att_status to_bundle(att_bundle **out, const att_image_encoder *encoder, att_error *err)
{
    att_string labels = { 0 };
    ATT_TRY(att_bundle_new(out, err));
    att_status status = join_labels(&labels, encoder);
    if (status != ATT_OK)
        status = att_fail_memory(err);
    if (status == ATT_OK)
        status = att_image_encoder_set_metadata(*out, labels.data, err);
    att_string_free(&labels);
    if (status == ATT_OK)
        status = att_params_to_bundle(*out, &encoder->params, err);
    return status;
}

att_status att_image_encoder_save(const att_image_encoder *encoder, const char *path,
                                  att_error *err)
{
    att_bundle *bundle = NULL;
    att_status status = to_bundle(&bundle, encoder, err);
    if (status == ATT_OK)
        status = att_safetensors_save(bundle, path, err);
    att_bundle_free(bundle);
    return status;
}

att_status att_image_encoder_write(att_string *out, const att_image_encoder *encoder,
                                   att_error *err)
{
    att_bundle *bundle = NULL;
    att_status status = to_bundle(&bundle, encoder, err);
    if (status == ATT_OK)
        status = att_safetensors_write(out, bundle, "image encoder", err);
    att_bundle_free(bundle);
    return status;
}

/* ---------------------------------------------------------------- projection */

static att_status copy_labels(att_image_encoder *out, const att_image_encoder *from, att_error *err)
{
    out->labels = att_arena_alloc(&out->arena, ATT_SQUEEZENET_LABELS, sizeof *out->labels);
    for (size_t i = 0; out->labels && i < ATT_SQUEEZENET_LABELS; i++) {
        out->labels[i] = att_arena_strndup(&out->arena, from->labels[i], strlen(from->labels[i]));
        if (!out->labels[i])
            return att_fail_memory(err);
    }
    return out->labels ? ATT_OK : att_fail_memory(err);
}

/* The parameters of the projection come last, so the values of the network are the first part of
 * the block of values. */
att_status att_image_encoder_with_projection(att_image_encoder **out,
                                             const att_image_encoder *encoder, int64_t depth,
                                             att_error *err)
{
    *out = NULL;
    att_image_encoder *copy = encoder_alloc();
    if (!copy)
        return att_fail_memory(err);
    att_param_builder builder = { .params = &copy->params, .err = err };
    build(&builder, copy, depth);
    att_status status = builder.status;
    if (status == ATT_OK)
        status = copy_labels(copy, encoder, err);
    if (status == ATT_OK)
        status = att_params_alloc(&copy->params, err);
    if (status != ATT_OK) {
        att_image_encoder_free(copy);
        return status;
    }
    memcpy(copy->params.value, encoder->params.value, encoder->params.size * sizeof(float));
    att_params_mark_changed(&copy->params);
    *out = copy;
    return ATT_OK;
}

/* ---------------------------------------------------------------- properties */

size_t att_image_encoder_label_count(const att_image_encoder *encoder)
{
    (void)encoder;
    return ATT_SQUEEZENET_LABELS;
}

const char *att_image_encoder_label(const att_image_encoder *encoder, size_t index)
{
    return index < ATT_SQUEEZENET_LABELS ? encoder->labels[index] : NULL;
}

int64_t att_image_encoder_channels(const att_image_encoder *encoder)
{
    return encoder->feature_depth;
}
