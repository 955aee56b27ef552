/* Eyes in files; see eyes.h. What they see is in eyes_look.c. */
#include "model/image_encoder.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/quote.h"
#include "base/string.h"
#include "model/model_file.h"
#include "nn/squeezenet.h"

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

/* Cuts the labels, a line each, where they lie. */
static att_status read_labels(att_image_encoder *eyes, const att_bundle *bundle, const char *name,
                              att_error *err)
{
    const char *lines = att_bundle_meta_get(bundle, KEY_LABELS);
    if (!lines)
        return att_fail(err, ATT_BAD_INPUT, name, "lacks the metadata '%s'", KEY_LABELS);
    char *at = att_arena_strndup(&eyes->arena, lines, strlen(lines));
    eyes->labels = att_arena_alloc(&eyes->arena, ATT_SQUEEZENET_LABELS, sizeof *eyes->labels);
    if (!at || !eyes->labels)
        return att_fail_memory(err);
    size_t count = 0;
    for (char *line; (line = strsep(&at, "\n"));) {
        if (count < ATT_SQUEEZENET_LABELS)
            eyes->labels[count] = line;
        count += at || line[0] != '\0'; /* the last line may end, or not */
    }
    if (count == ATT_SQUEEZENET_LABELS)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, name, "has %zu labels, and the network knows %d", count,
                    ATT_SQUEEZENET_LABELS);
}

static void build(att_param_builder *builder, att_image_encoder *eyes, int64_t map_depth)
{
    att_squeezenet_build(builder);
    eyes->projection = ATT_NO_PARAM;
    eyes->feature_depth = ATT_SQUEEZENET_CHANNELS;
    if (map_depth == 0)
        return;
    eyes->feature_depth = map_depth;
    eyes->projection =
        att_build_matrix(builder, ATT_SQUEEZENET_CHANNELS, map_depth, "features", "weight");
    att_build_zeros(builder, map_depth, "features", "bias");
}

static att_status fill(att_image_encoder *eyes, const att_bundle *bundle, const char *name,
                       att_error *err)
{
    att_param_builder builder = { .params = &eyes->params, .err = err };
    const att_tensor *map = att_bundle_get(bundle, PROJECTION_WEIGHT);
    ATT_TRY(check_architecture(bundle, name, err));
    ATT_TRY(read_labels(eyes, bundle, name, err));
    build(&builder, eyes, map && map->rank == 2 ? map->shape[1] : 0);
    ATT_TRY(builder.status);
    ATT_TRY(att_params_from_bundle(&eyes->params, bundle, name, err));
    return att_tape_new(&eyes->tape, &eyes->params, err);
}

att_status att_image_encoder_from_bundle(att_image_encoder **out, const att_bundle *bundle,
                                         const char *name, att_error *err)
{
    *out = NULL;
    att_image_encoder *eyes = att_alloc_zero(1, sizeof *eyes);
    if (!eyes)
        return att_fail_memory(err);
    att_status status = fill(eyes, bundle, name, err);
    if (status == ATT_OK)
        *out = eyes;
    else
        att_image_encoder_free(eyes);
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

void att_image_encoder_free(att_image_encoder *eyes)
{
    if (!eyes)
        return;
    att_tape_free(eyes->tape);
    att_params_free(&eyes->params);
    att_arena_free(&eyes->arena);
    att_free(eyes);
}

/* ---------------------------------------------------------------- writing */

att_status att_image_encoder_set_metadata(att_bundle *bundle, const char *labels, att_error *err)
{
    ATT_TRY(att_bundle_meta_set(bundle, ATT_KEY_FORMAT, ATT_MODEL_FORMAT, err));
    ATT_TRY(att_bundle_meta_set(bundle, ATT_KEY_ARCHITECTURE, ATT_IMAGE_ENCODER_ARCHITECTURE, err));
    return att_bundle_meta_set(bundle, KEY_LABELS, labels, err);
}

static att_status join_labels(att_string *out, const att_image_encoder *eyes)
{
    for (size_t i = 0; i < ATT_SQUEEZENET_LABELS; i++)
        ATT_TRY(att_string_printf(out, "%s\n", eyes->labels[i]));
    return ATT_OK;
}

static att_status to_bundle(att_bundle **out, const att_image_encoder *eyes, att_error *err)
{
    att_string labels = { 0 };
    ATT_TRY(att_bundle_new(out, err));
    att_status status = join_labels(&labels, eyes);
    if (status != ATT_OK)
        status = att_fail_memory(err);
    if (status == ATT_OK)
        status = att_image_encoder_set_metadata(*out, labels.data, err);
    att_string_free(&labels);
    if (status == ATT_OK)
        status = att_params_to_bundle(*out, &eyes->params, err);
    return status;
}

att_status att_image_encoder_save(const att_image_encoder *eyes, const char *path, att_error *err)
{
    att_bundle *bundle = NULL;
    att_status status = to_bundle(&bundle, eyes, err);
    if (status == ATT_OK)
        status = att_safetensors_save(bundle, path, err);
    att_bundle_free(bundle);
    return status;
}

/* ---------------------------------------------------------------- a map */

/* Parameters cannot be added to a block that is there: a new one takes over the values. */
att_status att_image_encoder_add_projection(att_image_encoder *eyes, int64_t depth, att_error *err)
{
    att_image_encoder wider = *eyes;
    wider.params = (att_params){ 0 };
    wider.tape = NULL;
    att_param_builder builder = { .params = &wider.params, .err = err };
    build(&builder, &wider, depth);
    att_status status = builder.status;
    if (status == ATT_OK)
        status = att_params_alloc(&wider.params, err);
    if (status == ATT_OK)
        status = att_tape_new(&wider.tape, &eyes->params, err);
    if (status != ATT_OK) {
        att_params_free(&wider.params);
        return status;
    }
    memcpy(wider.params.value, eyes->params.value, eyes->params.size * sizeof(float));
    att_tape_free(eyes->tape);
    att_params_free(&eyes->params);
    *eyes = wider;
    return ATT_OK;
}

/* ---------------------------------------------------------------- what is known of them */

size_t att_image_encoder_label_count(const att_image_encoder *eyes)
{
    (void)eyes;
    return ATT_SQUEEZENET_LABELS;
}

const char *att_image_encoder_label(const att_image_encoder *eyes, size_t index)
{
    return index < ATT_SQUEEZENET_LABELS ? eyes->labels[index] : NULL;
}

int64_t att_image_encoder_channels(const att_image_encoder *eyes)
{
    return eyes->feature_depth;
}
