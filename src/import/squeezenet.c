/* Import of the image encoder SqueezeNet v1.0 from one flat file of floats. The same folder has
 * manifest.tsv, with the name, shape (96x3x7x7: out channels, in channels, height, width) and
 * offset in floats of each tensor, and synset_words.txt, with the WordNet id and the names of each
 * label. */
#include "import/import.h"

#include "base/error.h"
#include "base/file.h"
#include "base/quote.h"
#include "base/string.h"
#include "base/byte_reader.h"
#include "model/image_encoder.h"
#include "tensor/bundle.h"

#include <stdio.h>
#include <string.h>

enum { MAX_FILE_SIZE = 1 << 26, MAX_LINE = 256, MAX_NAME = 32, DIMENSIONS = 4 };

typedef struct files {
    const char *weights_path;
    att_string weights, manifest_path, manifest, labels_path, labels;
} files;

static void files_free(files *f)
{
    att_string_free(&f->weights);
    att_string_free(&f->manifest_path);
    att_string_free(&f->manifest);
    att_string_free(&f->labels_path);
    att_string_free(&f->labels);
}

/* Reads the file `name` in the folder of the weights. */
static att_status read_sibling(att_string *path, att_string *out, const files *f, const char *name,
                               att_error *err)
{
    const char *slash = strrchr(f->weights_path, '/');
    int folder = slash ? (int)(slash - f->weights_path) + 1 : 0;
    if (att_string_printf(path, "%.*s%s", folder, f->weights_path, name) != ATT_OK)
        return att_fail_memory(err);
    return att_file_read(out, path->data, MAX_FILE_SIZE, err);
}

/* ---- tensors */

typedef struct entry {
    char name[MAX_NAME];
    int64_t shape[DIMENSIONS]; /* padded with 1 */
    int rank;
    size_t offset;
} entry;

static bool read_entry(entry *out, const char *line)
{
    char shape[MAX_NAME];
    if (sscanf(line, "%31s %31s %zu", out->name, shape, &out->offset) != 3)
        return false;
    long long d[DIMENSIONS] = { 1, 1, 1, 1 };
    out->rank = sscanf(shape, "%lldx%lldx%lldx%lld", &d[0], &d[1], &d[2], &d[3]);
    for (int i = 0; i < DIMENSIONS; i++) {
        out->shape[i] = d[i];
        if (d[i] < 1 || d[i] > 1 << 16)
            return false;
    }
    return out->rank == 1 || out->rank == DIMENSIONS;
}

/* [out, in, height, width] becomes [height width in, out]. */
static void transpose_kernel(float *out, const unsigned char *from, const int64_t *shape)
{
    int64_t N = shape[0], C = shape[1], positions = shape[2] * shape[3];
    for (int64_t n = 0; n < N; n++)
        for (int64_t c = 0; c < C; c++)
            for (int64_t p = 0; p < positions; p++)
                out[(p * C + c) * N + n] = att_read_float_le(from + ((n * C + c) * positions + p) *
                                                                        (int64_t)sizeof(float));
}

static att_status add_entry(att_bundle *bundle, const files *f, const entry *e, att_error *err)
{
    const int64_t *s = e->shape;
    uint64_t count = (uint64_t)s[0] * (uint64_t)s[1] * (uint64_t)(s[2] * s[3]);
    size_t available = f->weights.length / sizeof(float);
    if (e->offset > available || count > available - e->offset)
        return att_fail(err, ATT_BAD_INPUT, f->weights_path,
                        "is too short for the tensor '%s' at float %zu", e->name, e->offset);
    att_tensor tensor;
    const int64_t shape[2] = { e->rank == 1 ? s[0] : s[1] * s[2] * s[3], s[0] };
    ATT_TRY(att_tensor_new(&tensor, ATT_F32, e->rank == 1 ? 1 : 2, shape, err));
    transpose_kernel(tensor.data,
                     (const unsigned char *)f->weights.data + e->offset * sizeof(float), s);
    att_status status = att_bundle_take(bundle, e->name, &tensor, err);
    if (status != ATT_OK)
        att_tensor_free(&tensor);
    return status;
}

static att_status add_tensors(att_bundle *bundle, files *f, att_error *err)
{
    char *at = f->manifest.data, quoted[ATT_QUOTED_SIZE];
    int number = 0;
    for (char *line; (line = strsep(&at, "\n"));) {
        entry e;
        number++;
        if (line[0] == '\0')
            continue;
        if (strlen(line) > MAX_LINE || !read_entry(&e, line))
            return att_fail_at(err, ATT_BAD_INPUT, f->manifest_path.data, number, 0, NULL,
                               "expected a name, a shape and an offset, found '%s'",
                               att_quote(quoted, line, strlen(line)));
        ATT_TRY(add_entry(bundle, f, &e, err));
    }
    return ATT_OK;
}

/* ---- labels, and the encoder */

/* Adds the names of each line, without the WordNet id. */
static att_status add_labels(att_bundle *bundle, files *f, att_error *err)
{
    att_string labels = { 0 };
    att_status status = ATT_OK;
    char *at = f->labels.data;
    for (char *line; status == ATT_OK && (line = strsep(&at, "\n"));) {
        char *space = strchr(line, ' ');
        if (line[0] != '\0')
            status = att_string_printf(&labels, "%s\n", space ? space + 1 : line);
    }
    status = status == ATT_OK
                 ? att_image_encoder_set_metadata(bundle, labels.data ? labels.data : "", err)
                 : att_fail_memory(err);
    att_string_free(&labels);
    return status;
}

static att_status convert(att_bundle *bundle, files *f, att_error *err)
{
    att_image_encoder *encoder = NULL;
    ATT_TRY(att_file_read(&f->weights, f->weights_path, MAX_FILE_SIZE, err));
    ATT_TRY(read_sibling(&f->manifest_path, &f->manifest, f, "manifest.tsv", err));
    ATT_TRY(read_sibling(&f->labels_path, &f->labels, f, "synset_words.txt", err));
    ATT_TRY(add_tensors(bundle, f, err));
    ATT_TRY(add_labels(bundle, f, err));
    att_status status = att_image_encoder_from_bundle(&encoder, bundle, f->weights_path, err);
    att_image_encoder_free(encoder);
    return status;
}

att_status att_import_squeezenet(att_bundle **out, const char *path,
                                 const att_import_options *options, att_error *err)
{
    (void)options;
    *out = NULL;
    files f = { .weights_path = path };
    att_bundle *bundle;
    ATT_TRY(att_bundle_new(&bundle, err));
    att_status status = convert(bundle, &f, err);
    files_free(&f);
    if (status == ATT_OK)
        *out = bundle;
    else
        att_bundle_free(bundle);
    return status;
}
