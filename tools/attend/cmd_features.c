/* attend features: image features for caption models, or an image encoder fitted to features that
 * another program computed. */
#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "images.h"
#include "lines.h"
#include "output.h"

#define DEFAULT_RIDGE 0.01

typedef struct settings {
    const char *output;
    const char *targets;
    const char *target_names;
    const char *target_scale;
    double ridge;
} settings;

const char features_details[] =
    "Encodes image files (JPEG or PNG) with ENCODER, an image encoder made by 'attend import "
    "squeezenet', and writes a .npy file of shape [images, 7, 7, 512]: features for 'attend train "
    "caption'. Its rows are in the order of the images.\n"
    "\n"
    "With --targets, fits the encoder instead: FILE has features of the same images and the same "
    "grid that another program computed, with any number of channels. The linear projection that "
    "approximates them best (ridge regression) is added to the encoder, and the encoder is "
    "written. Caption models trained on such features can then be run on image files.\n";

#define ROW(NAME, SHORT, TYPE, MEMBER, PLACEHOLDER, HELP, ...)                                     \
    OPTION_ROW(settings, NAME, SHORT, TYPE, MEMBER, PLACEHOLDER, HELP, ##__VA_ARGS__)

const option features_options[] = {
    ROW("output", 'o', STRING, output, "FILE",
        "output file: features (.npy), or with --targets the fitted image encoder; required"),
    ROW("targets", 0, STRING, targets, "FILE",
        "target features to fit, .npy of shape [images, cells, channels]"),
    ROW("target-names", 0, STRING, target_names, "FILE",
        "with --targets: image file name of each row, one per line (default: the order given)"),
    ROW("target-scale", 0, STRING, target_scale, "FILE",
        "with --targets: .npy of factors for the target features, one per channel"),
    ROW("ridge", 0, REAL, ridge, "X",
        "with --targets: ridge (L2) penalty, in units of the mean variance (default 0.01)",
        .min = 0, .max = 1e6),
    { 0 },
};

/* ---- fitting: which row belongs to which image */

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The line of `list`, from 0, that is `name`; -1 if there is none. */
static int64_t find_line(const char *list, const char *name)
{
    size_t name_length = strlen(name);
    int64_t number = 0;
    for (const char *line = list; *line; number++) {
        size_t length = strcspn(line, "\n"), shown = strcspn(line, "\r\n");
        if (shown == name_length && memcmp(line, name, name_length) == 0)
            return number;
        line += length + (line[length] != 0);
    }
    return -1;
}

/* The row of each image: by the list of names, or in order. */
static att_status find_rows(int64_t *rows, const char *path, char **images, size_t count,
                            att_error *err)
{
    att_string list = { 0 };
    att_status status = path ? lines_read_all(&list, path, err) : ATT_OK;
    for (size_t i = 0; i < count && status == ATT_OK; i++) {
        const char *name = file_name(images[i]);
        rows[i] = path ? find_line(list.data ? list.data : "", name) : (int64_t)i;
        if (rows[i] < 0)
            status = error_set(err, ATT_BAD_INPUT, path, "has no line '%s'", name);
    }
    att_string_free(&list);
    return status;
}

/* ---- fitting: the target of each cell */

typedef struct target_features {
    att_tensor features; /* [rows, cells, channels] */
    att_tensor scale;    /* [channels], or rank 0 */
    int64_t channels;
} target_features;

static att_status load_targets(target_features *out, const settings *set, int64_t cells,
                               att_error *err)
{
    att_status status = att_npy_load(&out->features, set->targets, err);
    if (status == ATT_OK && set->target_scale)
        status = att_npy_load(&out->scale, set->target_scale, err);
    if (status != ATT_OK)
        return status;
    if (out->features.rank != 3 || out->features.shape[1] != cells || out->features.shape[2] < 1)
        return error_set(err, ATT_BAD_INPUT, set->targets,
                         "expected shape [images, %lld, channels]: the grid has %lld cells",
                         (long long)cells, (long long)cells);
    out->channels = out->features.shape[2];
    if (set->target_scale && (out->scale.rank != 1 || out->scale.shape[0] != out->channels))
        return error_set(err, ATT_BAD_INPUT, set->target_scale,
                         "expected %lld numbers, one per channel", (long long)out->channels);
    return ATT_OK;
}

static void target_features_free(target_features *targets)
{
    att_tensor_free(&targets->features);
    att_tensor_free(&targets->scale);
}

/* The scaled targets of all cells of the images, [count * cells, channels]. */
static att_status select_targets(att_tensor *out, const target_features *targets,
                                 const int64_t *rows, int64_t count, const char *name,
                                 att_error *err)
{
    int64_t cells = targets->features.shape[1];
    att_status status =
        att_tensor_new(out, ATT_F64, 2, (int64_t[]){ count * cells, targets->channels }, err);
    for (int64_t i = 0; i < count * cells && status == ATT_OK; i++) {
        if (rows[i / cells] >= targets->features.shape[0])
            return error_set(err, ATT_BAD_INPUT, name, "has %lld rows, expected at least %lld",
                             (long long)targets->features.shape[0], (long long)rows[i / cells] + 1);
        for (int64_t d = 0; d < targets->channels; d++) {
            double value =
                att_tensor_get(&targets->features, (int64_t[]){ rows[i / cells], i % cells, d });
            double factor = targets->scale.rank ? att_tensor_get(&targets->scale, &d) : 1;
            att_tensor_set(out, (int64_t[]){ i, d }, value * factor);
        }
    }
    return status;
}

static att_status fit_projection(att_image_encoder *encoder, const settings *set, char **images,
                                 size_t count, const att_tensor *features, att_error *err)
{
    int64_t cells = features->shape[1] * features->shape[2], channels = features->shape[3];
    target_features targets = { 0 };
    att_tensor inputs, chosen = { 0 };
    double residual = 0;
    att_image_encoder *fitted = NULL;
    int64_t *rows = calloc(count, sizeof *rows);
    att_status status =
        rows ? find_rows(rows, set->target_names, images, count, err) : error_memory(err);
    if (status == ATT_OK)
        status = load_targets(&targets, set, cells, err);
    if (status == ATT_OK)
        status = select_targets(&chosen, &targets, rows, (int64_t)count, set->targets, err);
    if (status == ATT_OK)
        status = att_tensor_reshape(&inputs, features, 2,
                                    (int64_t[]){ (int64_t)count * cells, channels }, err);
    if (status == ATT_OK)
        status =
            att_image_encoder_fit(&fitted, encoder, &inputs, &chosen, set->ridge, &residual, err);
    if (status == ATT_OK)
        status = att_image_encoder_save(fitted, set->output, err);
    att_image_encoder_free(fitted);
    if (status == ATT_OK) {
        printf("fitted %lld channels to %lld target channels on %lld cells; %.1f %% of the "
               "standard deviation remains\n",
               (long long)channels, (long long)targets.channels,
               (long long)((int64_t)count * cells), 100 * residual);
        status = output_flush(err);
    }
    att_tensor_free(&chosen);
    target_features_free(&targets);
    free(rows);
    return status;
}

/* ---- the verb */

/* The output must differ from all input files. */
static att_status check_output(const settings *set, char **args, size_t count, att_error *err)
{
    const output_names output = { &set->output, 1 };
    const char *const others[] = { set->targets, set->target_names, set->target_scale };
    att_status status =
        output_check_paths(output, (output_names){ (const char *const *)args, count }, err);
    return status == ATT_OK ? output_check_paths(output, (output_names){ others, 3 }, err) : status;
}

static att_status run_features(const settings *set, const char *path, char **images, size_t count,
                               att_error *err)
{
    att_image_encoder *encoder = NULL;
    att_tensor features = { 0 };
    att_status status = att_image_encoder_load(&encoder, path, err);
    if (status == ATT_OK)
        status = images_encode(&features, encoder, (const char *const *)images, count, err);
    if (status == ATT_OK)
        status = set->targets ? fit_projection(encoder, set, images, count, &features, err)
                              : att_npy_save(&features, set->output, err);
    att_tensor_free(&features);
    att_image_encoder_free(encoder);
    return status;
}

exit_code features_run(const struct verb *verb, int count, char **args)
{
    settings set = { .ridge = DEFAULT_RIDGE };
    int operands = 0;
    exit_code code;
    if (!options_parse(&code, verb, count, args, &set, &operands))
        return code;
    if (operands < 2)
        return report_usage(verb, "expects an image encoder and image files");
    if (!set.output)
        return report_usage(verb, "expects --output FILE");
    if (!set.targets && (set.target_names || set.target_scale || set.ridge != DEFAULT_RIDGE))
        return report_usage(verb, "--target-names, --target-scale and --ridge need --targets");
    att_error err = { 0 };
    att_status status = check_output(&set, args, (size_t)operands, &err);
    if (status == ATT_OK)
        status = run_features(&set, args[0], args + 1, (size_t)operands - 1, &err);
    return status == ATT_OK ? EXIT_DONE : report(status, &err);
}
