/* Import of SqueezeNet: where each value goes, and which files are refused. The files are written
 * to a temporary folder. */
#include "failing_memory.h"
#include "attend.h"

#include "base/alloc.h"
#include "model/image_encoder.h"
#include "nn/squeezenet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { PATH_ROOM = 256, FILES = 3 };
static const char *const file_names[FILES] = { "net.f32", "manifest.tsv", "synset_words.txt" };

typedef struct model_folder {
    char folder[PATH_ROOM];
    char paths[FILES][PATH_ROOM + 32];
    att_params params;
} model_folder;

/* The kernel size of a convolution, by its name. */
static int kernel_size(const char *name)
{
    if (strncmp(name, "conv1.", 6) == 0)
        return 7;
    return name[0] == 'f' && name[2] == 'b' ? 3 : 1;
}

/* A value that identifies its position in the file. */
static float number_at(size_t index)
{
    return (float)(index % 4093) - 2046;
}

static void write_manifest(FILE *out, const att_params *params)
{
    size_t at = 0;
    for (int i = 0; i < params->count; i++) {
        const att_param *p = &params->items[i];
        int kernel = kernel_size(p->name);
        if (p->rank == 1)
            fprintf(out, "%s\t%lld\t%zu\n", p->name, (long long)p->shape[0], at);
        else
            fprintf(out, "%s\t%lldx%lldx%dx%d\t%zu\n", p->name, (long long)p->shape[1],
                    (long long)p->shape[0] / (kernel * kernel), kernel, kernel, at);
        at += p->count;
    }
}

static void write_weights(FILE *out, const att_params *params)
{
    size_t count = 0;
    for (int i = 0; i < params->count; i++)
        count += params->items[i].count;
    for (size_t i = 0; i < count; i++) {
        float number = number_at(i);
        uint32_t bits;
        memcpy(&bits, &number, sizeof bits);
        for (int k = 0; k < 4; k++) /* little-endian on every machine */
            assert_int_not_equal(fputc((int)(bits >> 8 * k & 0xFF), out), EOF);
    }
}

static void write_labels(FILE *out)
{
    for (int i = 0; i < ATT_SQUEEZENET_LABELS; i++)
        fprintf(out, "n%08d thing, number %d\n", i, i);
}

static FILE *open_file(model_folder *p, int which)
{
    FILE *file = fopen(p->paths[which], "w");
    assert_non_null(file);
    return file;
}

static model_folder model_folder_new(void)
{
    char folder[] = "/tmp/attend-squeezenet-XXXXXX";
    model_folder p = { 0 };
    att_param_builder builder = { .params = &p.params };
    FILE *files[FILES];
    assert_non_null(mkdtemp(folder));
    memcpy(p.folder, folder, sizeof folder);
    att_squeezenet_build(&builder);
    assert_int_equal(builder.status, ATT_OK);
    for (int i = 0; i < FILES; i++) {
        snprintf(p.paths[i], sizeof p.paths[i], "%s/%s", folder, file_names[i]);
        files[i] = open_file(&p, i);
    }
    write_weights(files[0], &p.params);
    write_manifest(files[1], &p.params);
    write_labels(files[2]);
    for (int i = 0; i < FILES; i++)
        assert_int_equal(fclose(files[i]), 0);
    return p;
}

static void model_folder_free(model_folder *p)
{
    for (int i = 0; i < FILES; i++)
        unlink(p->paths[i]);
    rmdir(p->folder);
    att_params_free(&p->params);
}

/* Element (column, channel, y, x) of the file is at row (y kernel + x) channels + channel. */
static void weights_are_transposed_to_the_order_of_patches(void **state)
{
    (void)state;
    model_folder p = model_folder_new();
    att_error err = { 0 };
    att_bundle *bundle;
    if (att_import(&bundle, "squeezenet", p.paths[0], NULL, &err) != ATT_OK)
        fail_msg("%s: %s", err.place, err.message);
    size_t at = 0;
    for (int i = 0; i < p.params.count; i++) {
        const att_param *param = &p.params.items[i];
        const float *values = att_bundle_get(bundle, param->name)->data;
        int64_t k = kernel_size(param->name), N = param->shape[param->rank - 1];
        int64_t C = param->rank == 1 ? 1 : param->shape[0] / (k * k);
        int64_t places = param->rank == 1 ? 1 : k * k;
        for (int64_t n = 0; n < N; n++)
            for (int64_t c = 0; c < C; c++)
                for (int64_t xy = 0; xy < places; xy++, at++)
                    assert_true(values[(xy * C + c) * N + n] == number_at(at));
    }
    att_bundle_free(bundle);
    model_folder_free(&p);
}

static void labels_are_stored_without_wordnet_ids(void **state)
{
    (void)state;
    model_folder p = model_folder_new();
    att_bundle *bundle;
    att_image_encoder *encoder;
    assert_int_equal(att_import(&bundle, "squeezenet", p.paths[0], NULL, NULL), ATT_OK);
    assert_int_equal(att_image_encoder_from_bundle(&encoder, bundle, "encoder", NULL), ATT_OK);
    assert_string_equal(att_image_encoder_label(encoder, 0), "thing, number 0");
    assert_string_equal(att_image_encoder_label(encoder, 999), "thing, number 999");
    att_image_encoder_free(encoder);
    att_bundle_free(bundle);
    model_folder_free(&p);
}

/* Replaces file `which` by `text` and expects the import to fail with `message` and without leaks.
 */
static void expect_refused(int which, const char *text, const char *message)
{
    model_folder p = model_folder_new();
    att_error err = { 0 };
    att_bundle *bundle;
    FILE *file = open_file(&p, which);
    fputs(text, file);
    fclose(file);
    size_t live = att_alloc_live();
    assert_int_equal(att_import(&bundle, "squeezenet", p.paths[0], NULL, &err), ATT_BAD_INPUT);
    assert_null(bundle);
    assert_int_equal(att_alloc_live(), live);
    if (!strstr(err.message, message))
        fail_msg("%s", err.message);
    model_folder_free(&p);
}

static void missing_and_misshapen_tensors_are_refused(void **state)
{
    (void)state;
    expect_refused(0, "abcd", "is too short for the tensor 'conv1.weight'");
    expect_refused(1, "", "the tensor 'conv1.weight' is missing");
    expect_refused(1, "conv1.weight\t96x3x7x6\t0\n", "the tensor 'conv1.weight': expected shape");
    expect_refused(1, "conv1.weight\t96x3x7x7\t99999999999\n", "is too short for");
    expect_refused(1, "conv1.weight\t96x3x7x7\n", "expected a name, a shape and an offset, found");
    expect_refused(1, "conv1.weight\t96x3\t0\n", "expected a name, a shape and an offset, found");
    expect_refused(1, "conv1.weight\t96x3x7x-7\t0\n",
                   "expected a name, a shape and an offset, found");
    expect_refused(1, "x\t1\t0\nx\t1\t0\n", "tensor 'x' exists already");
    expect_refused(2, "n1 a cat\n", "expected 1000 labels, found 1");
}

static att_status import_once(void *context)
{
    const model_folder *p = context;
    att_bundle *bundle;
    att_status status = att_import(&bundle, "squeezenet", p->paths[0], NULL, NULL);
    att_bundle_free(bundle);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    model_folder p = model_folder_new();
    every_single_failure_is_reported(import_once, &p);
    model_folder_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(weights_are_transposed_to_the_order_of_patches),
        cmocka_unit_test(labels_are_stored_without_wordnet_ids),
        cmocka_unit_test(missing_and_misshapen_tensors_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
