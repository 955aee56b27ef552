/* Eyes in files; see eyes.h. What they see is in eyes_look.c. */
#include "model/eyes.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/quote.h"
#include "base/text.h"
#include "model/format.h"
#include "nn/squeezenet.h"

#include <string.h>

#define KEY_LABELS  "attend.labels"
#define MAP_WEIGHTS "features.weight"

/* ---------------------------------------------------------------- reading */

static att_status check_family(const att_bundle *bundle, const char *name, att_error *err)
{
    char quoted[ATT_QUOTED];
    const char *family = att_bundle_meta_get(bundle, ATT_KEY_FAMILY);
    const char *format = att_bundle_meta_get(bundle, ATT_KEY_FORMAT);
    if (!family || !format)
        return att_fail(err, ATT_BAD_INPUT, name,
                        "is a .safetensors file, but no network that looks at photographs");
    if (strcmp(format, ATT_MODEL_FORMAT) != 0)
        return att_fail(err, ATT_BAD_INPUT, name,
                        "is in format %s; attend " ATT_VERSION " reads format " ATT_MODEL_FORMAT,
                        att_quote(quoted, format, strlen(format)));
    if (strcmp(family, ATT_EYES_FAMILY) == 0)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, name,
                    "is a model of the family '%s', expected a network that looks at photographs",
                    att_quote(quoted, family, strlen(family)));
}

/* Cuts the labels, a line each, where they lie. */
static att_status read_labels(att_eyes *eyes, const att_bundle *bundle, const char *name,
                              att_error *err)
{
    const char *lines = att_bundle_meta_get(bundle, KEY_LABELS);
    if (!lines)
        return att_fail(err, ATT_BAD_INPUT, name, "lacks the metadata '%s'", KEY_LABELS);
    char *at = att_arena_copy(&eyes->memory, lines, strlen(lines));
    eyes->labels = att_arena_take(&eyes->memory, ATT_SQUEEZENET_LABELS, sizeof *eyes->labels);
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

static void build(att_builder *builder, att_eyes *eyes, int64_t map_depth)
{
    att_squeezenet_build(builder);
    eyes->map = ATT_NO_PARAM;
    eyes->depth = ATT_SQUEEZENET_DEPTH;
    if (map_depth == 0)
        return;
    eyes->depth = map_depth;
    eyes->map = att_build_matrix(builder, ATT_SQUEEZENET_DEPTH, map_depth, "features", "weight");
    att_build_zeros(builder, map_depth, "features", "bias");
}

static att_status fill(att_eyes *eyes, const att_bundle *bundle, const char *name, att_error *err)
{
    att_builder builder = { .params = &eyes->params, .err = err };
    const att_tensor *map = att_bundle_get(bundle, MAP_WEIGHTS);
    ATT_TRY(check_family(bundle, name, err));
    ATT_TRY(read_labels(eyes, bundle, name, err));
    build(&builder, eyes, map && map->rank == 2 ? map->shape[1] : 0);
    ATT_TRY(builder.status);
    ATT_TRY(att_params_read(&eyes->params, bundle, name, err));
    return att_tape_new(&eyes->tape, &eyes->params, err);
}

att_status att_eyes_from_bundle(att_eyes **out, const att_bundle *bundle, const char *name,
                                att_error *err)
{
    *out = NULL;
    att_eyes *eyes = att_alloc_zero(1, sizeof *eyes);
    if (!eyes)
        return att_fail_memory(err);
    att_status status = fill(eyes, bundle, name, err);
    if (status == ATT_OK)
        *out = eyes;
    else
        att_eyes_free(eyes);
    return status;
}

att_status att_eyes_load(att_eyes **out, const char *path, att_error *err)
{
    *out = NULL;
    att_bundle *bundle;
    ATT_TRY(att_model_read_bundle(&bundle, path, err));
    att_status status = att_eyes_from_bundle(out, bundle, path, err);
    att_bundle_free(bundle);
    return status;
}

void att_eyes_free(att_eyes *eyes)
{
    if (!eyes)
        return;
    att_tape_free(eyes->tape);
    att_params_free(&eyes->params);
    att_arena_free(&eyes->memory);
    att_free(eyes);
}

/* ---------------------------------------------------------------- writing */

att_status att_eyes_set_meta(att_bundle *bundle, const char *labels, att_error *err)
{
    ATT_TRY(att_bundle_meta_set(bundle, ATT_KEY_FORMAT, ATT_MODEL_FORMAT, err));
    ATT_TRY(att_bundle_meta_set(bundle, ATT_KEY_FAMILY, ATT_EYES_FAMILY, err));
    return att_bundle_meta_set(bundle, KEY_LABELS, labels, err);
}

static att_status join_labels(att_text *out, const att_eyes *eyes)
{
    for (size_t i = 0; i < ATT_SQUEEZENET_LABELS; i++)
        ATT_TRY(att_text_print(out, "%s\n", eyes->labels[i]));
    return ATT_OK;
}

static att_status to_bundle(att_bundle **out, const att_eyes *eyes, att_error *err)
{
    att_text labels = { 0 };
    ATT_TRY(att_bundle_new(out, err));
    att_status status = join_labels(&labels, eyes);
    if (status != ATT_OK)
        status = att_fail_memory(err);
    if (status == ATT_OK)
        status = att_eyes_set_meta(*out, labels.data, err);
    att_text_free(&labels);
    if (status == ATT_OK)
        status = att_params_write(*out, &eyes->params, err);
    return status;
}

att_status att_eyes_save(const att_eyes *eyes, const char *path, att_error *err)
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
att_status att_eyes_add_map(att_eyes *eyes, int64_t depth, att_error *err)
{
    att_eyes wider = *eyes;
    wider.params = (att_params){ 0 };
    wider.tape = NULL;
    att_builder builder = { .params = &wider.params, .err = err };
    build(&builder, &wider, depth);
    att_status status = builder.status;
    if (status == ATT_OK)
        status = att_params_allot(&wider.params, err);
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

size_t att_eyes_label_count(const att_eyes *eyes)
{
    (void)eyes;
    return ATT_SQUEEZENET_LABELS;
}

const char *att_eyes_label(const att_eyes *eyes, size_t index)
{
    return index < ATT_SQUEEZENET_LABELS ? eyes->labels[index] : NULL;
}

int64_t att_eyes_depth(const att_eyes *eyes)
{
    return eyes->depth;
}
