/* attend features: what a network sees in photographs, for captions to be learnt from. */
#include "program.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lines.h"
#include "output.h"
#include "images.h"

#define DEFAULT_RIDGE 0.01

typedef struct settings {
    const char *output;
    const char *targets;
    const char *target_names;
    const char *target_scale;
    double ridge;
} settings;

const char features_details[] =
    "Looks at photographs (JPEG or PNG) with EYES, a network that 'attend import squeezenet' "
    "made,\n"
    "and writes what it sees in each cell of a grid to a .npy file, [photographs,7,7,512]: "
    "features\n"
    "for 'attend train caption'. Rows are in the order of the photographs.\n"
    "\n"
    "With --targets, teaches the eyes instead: FILE has the features of these photographs as "
    "others\n"
    "have made them from the same grid, of any depth. What is written is the eyes with the linear\n"
    "map that gives these best, so that models trained on such features can be shown "
    "photographs.\n";

const option features_options[] = {
    { .name = "output",
      .short_name = 'o',
      .kind = OPTION_STRING,
      .offset = offsetof(settings, output),
      .placeholder = "FILE",
      .help =
          "output file: features (.npy), or with --targets the fitted image encoder; required" },
    { .name = "targets",
      .kind = OPTION_STRING,
      .offset = offsetof(settings, targets),
      .placeholder = "FILE",
      .help =
          "target features to fit by linear regression, .npy of shape [images, cells, channels]" },
    { .name = "target-names",
      .kind = OPTION_STRING,
      .offset = offsetof(settings, target_names),
      .placeholder = "FILE",
      .help =
          "with --targets: the name of the photograph of each row, a line each (default: those\n"
          "given, in order)" },
    { .name = "target-scale",
      .kind = OPTION_STRING,
      .offset = offsetof(settings, target_scale),
      .placeholder = "FILE",
      .help = "with --targets: .npy of factors for the target features, one per channel" },
    { .name = "ridge",
      .kind = OPTION_REAL,
      .offset = offsetof(settings, ridge),
      .placeholder = "X",
      .help = "with --targets: ridge (L2) penalty, in units of the mean variance (default 0.01)",
      .min = 0,
      .max = 1e6 },
    { 0 },
};

/* ---- teaching: which row is of which photograph */

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The line, from 0, on which `name` stands in a list; -1: on none. */
static int64_t find_line(const char *list, const char *name)
{
    size_t target_features = strlen(name);
    int64_t number = 0;
    for (const char *line = list; *line; number++) {
        size_t length = strcspn(line, "\n"), shown = strcspn(line, "\r\n");
        if (shown == target_features && memcmp(line, name, target_features) == 0)
            return number;
        line += length + (line[length] != 0);
    }
    return -1;
}

/* Which row is of which photograph: by the list, or in their order. */
static att_status find_rows(int64_t *rows, const char *path, char **photos, size_t count,
                            att_error *err)
{
    att_string list = { 0 };
    att_status status = path ? lines_read_all(&list, path, err) : ATT_OK;
    for (size_t i = 0; i < count && status == ATT_OK; i++) {
        const char *name = file_name(photos[i]);
        rows[i] = path ? find_line(list.data ? list.data : "", name) : (int64_t)i;
        if (rows[i] < 0)
            status = error_set(err, ATT_BAD_INPUT, path, "has no line '%s'", name);
    }
    att_string_free(&list);
    return status;
}

/* ---- teaching: what is wanted of each cell */

/* All features as others made them. */
typedef struct target_features {
    att_tensor features; /* [rows,cells,depth] */
    att_tensor scale;    /* [depth], or nothing */
    int64_t depth;
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
                         "must have 3 dimensions, [rows,%lld,depth]: the grid has %lld cells",
                         (long long)cells, (long long)cells);
    out->depth = out->features.shape[2];
    if (set->target_scale && (out->scale.rank != 1 || out->scale.shape[0] != out->depth))
        return error_set(err, ATT_BAD_INPUT, set->target_scale, "must have %lld numbers",
                         (long long)out->depth);
    return ATT_OK;
}

static void target_features_free(target_features *w)
{
    att_tensor_free(&w->features);
    att_tensor_free(&w->scale);
}

/* Those of the photographs' cells, [count cells, depth]. */
static att_status select_targets(att_tensor *out, const target_features *w, const int64_t *rows,
                                 int64_t count, const char *name, att_error *err)
{
    int64_t cells = w->features.shape[1];
    att_status status =
        att_tensor_new(out, ATT_F64, 2, (int64_t[]){ count * cells, w->depth }, err);
    for (int64_t i = 0; i < count * cells && status == ATT_OK; i++) {
        if (rows[i / cells] >= w->features.shape[0])
            return error_set(err, ATT_BAD_INPUT, name, "has %lld rows, and row %lld is wanted",
                             (long long)w->features.shape[0], (long long)rows[i / cells]);
        for (int64_t d = 0; d < w->depth; d++) {
            double value =
                att_tensor_get(&w->features, (int64_t[]){ rows[i / cells], i % cells, d });
            double by = w->scale.rank ? att_tensor_get(&w->scale, &d) : 1;
            att_tensor_set(out, (int64_t[]){ i, d }, value * by);
        }
    }
    return status;
}

static att_status fit_projection(att_image_encoder *eyes, const settings *set, char **photos,
                                 size_t count, const att_tensor *features, att_error *err)
{
    int64_t cells = features->shape[1] * features->shape[2], depth = features->shape[3];
    target_features w = { 0 };
    att_tensor seen, chosen = { 0 };
    double left = 0;
    att_image_encoder *fitted = NULL;
    int64_t *rows = calloc(count, sizeof *rows);
    att_status status =
        rows ? find_rows(rows, set->target_names, photos, count, err) : error_memory(err);
    if (status == ATT_OK)
        status = load_targets(&w, set, cells, err);
    if (status == ATT_OK)
        status = select_targets(&chosen, &w, rows, (int64_t)count, set->targets, err);
    if (status == ATT_OK)
        status = att_tensor_reshape(&seen, features, 2,
                                    (int64_t[]){ (int64_t)count * cells, depth }, err);
    if (status == ATT_OK)
        status = att_image_encoder_fit(&fitted, eyes, &seen, &chosen, set->ridge, &left, err);
    if (status == ATT_OK)
        status = att_image_encoder_save(fitted, set->output, err);
    att_image_encoder_free(fitted);
    if (status == ATT_OK) {
        printf("taught by %lld cells to give %lld numbers for %lld; %.1f %% of the deviation is "
               "left\n",
               (long long)((int64_t)count * cells), (long long)w.depth, (long long)depth,
               100 * left);
        status = output_flush(err);
    }
    att_tensor_free(&chosen);
    target_features_free(&w);
    free(rows);
    return status;
}

/* ---- all of it */

/* Photographs and eyes are read as well as what --targets and its like name. */
static att_status check_output(const settings *set, char **args, size_t count, att_error *err)
{
    const output_names output = { &set->output, 1 };
    const char *const others[] = { set->targets, set->target_names, set->target_scale };
    att_status status =
        output_check_paths(output, (output_names){ (const char *const *)args, count }, err);
    return status == ATT_OK ? output_check_paths(output, (output_names){ others, 3 }, err) : status;
}

static att_status run_features(const settings *set, const char *path, char **photos, size_t count,
                               att_error *err)
{
    att_image_encoder *eyes = NULL;
    att_tensor features = { 0 };
    att_status status = att_image_encoder_load(&eyes, path, err);
    if (status == ATT_OK)
        status = images_encode(&features, eyes, (const char *const *)photos, count, err);
    if (status == ATT_OK)
        status = set->targets ? fit_projection(eyes, set, photos, count, &features, err)
                              : att_npy_save(&features, set->output, err);
    att_tensor_free(&features);
    att_image_encoder_free(eyes);
    return status;
}

exit_code features_run(const struct verb *verb, int count, char **args)
{
    settings set = { .ridge = DEFAULT_RIDGE };
    int operands = 0;
    parse_result parsed = options_parse(verb, count, args, &set, &operands);
    if (parsed != PARSE_OK)
        return parsed == PARSE_HELP ? help_verb(verb) : EXIT_BAD_INPUT;
    if (operands < 2)
        return report_usage(verb, "expects the eyes and a photograph");
    if (!set.output)
        return report_usage(verb, "needs --output: where the features go");
    if (!set.targets && (set.target_names || set.target_scale || set.ridge != DEFAULT_RIDGE))
        return report_usage(verb, "--target-names, --target-scale and --ridge are for --targets");
    att_error err = { 0 };
    att_status status = check_output(&set, args, (size_t)operands, &err);
    if (status == ATT_OK)
        status = run_features(&set, args[0], args + 1, (size_t)operands - 1, &err);
    return status == ATT_OK ? EXIT_DONE : report(status, &err);
}
