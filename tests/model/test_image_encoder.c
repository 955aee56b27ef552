/* The image encoder: SqueezeNet with random weights, its features, labels and files, and fitting a
 * projection. */
#include "attend.h"

#include "base/alloc.h"
#include "base/cpu.h"
#include "base/random.h"
#include "model/image_encoder.h"
#include "nn/squeezenet.h"
#include "image/image.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "failing_memory.h"
#include "model/image_encoder_help.h"

static att_image_encoder *some_encoder(void)
{
    att_error err = { 0 };
    att_image_encoder *encoder;
    att_bundle *bundle = encoder_bundle(ATT_SQUEEZENET_LABELS);
    if (att_image_encoder_from_bundle(&encoder, bundle, "encoder", &err) != ATT_OK)
        fail_msg("%s", err.message);
    att_bundle_free(bundle);
    return encoder;
}

static att_image some_image(void)
{
    att_image p;
    assert_int_equal(att_image_alloc(&p, 90, 70, UINT64_MAX, "image", NULL), ATT_OK);
    for (int64_t i = 0; i < p.width * p.height * ATT_RGB; i++)
        p.pixels[i] = (uint8_t)(255 * att_random_float(7, 0, (uint64_t)i));
    return p;
}

static att_tensor features_of(att_image_encoder *encoder, const att_image *p)
{
    att_tensor out;
    assert_int_equal(att_image_encoder_features(&out, encoder, p, NULL), ATT_OK);
    return out;
}

static void labels_have_probabilities_that_add_to_one(void **state)
{
    (void)state;
    att_image_encoder *encoder = some_encoder();
    att_image p = some_image();
    float probabilities[ATT_SQUEEZENET_LABELS];
    double sum = 0;
    assert_int_equal(att_image_encoder_classify(probabilities, encoder, &p, NULL), ATT_OK);
    for (int i = 0; i < ATT_SQUEEZENET_LABELS; i++)
        sum += (double)probabilities[i];
    assert_true(fabs(sum - 1) < 1000 * 0x1p-24);
    assert_string_equal(att_image_encoder_label(encoder, 17), "thing 17");
    assert_null(att_image_encoder_label(encoder, att_image_encoder_label_count(encoder)));
    att_image_free(&p);
    att_image_encoder_free(encoder);
}

static void features_are_the_same_bits_on_any_threads_and_sets(void **state)
{
    (void)state;
    att_image_encoder *encoder = some_encoder();
    att_image p = some_image();
    int threads = att_threads_get();
    att_cpu cpu = att_cpu_get();
    att_tensor first = features_of(encoder, &p);
    size_t size = (size_t)att_tensor_count(&first) * sizeof(float);
    assert_int_equal(att_tensor_count(&first), 7 * 7 * 512);
    for (int set = ATT_CPU_AVX2; set < ATT_CPU_COUNT; set++)
        for (int count = 1; count <= 3; count += 2) {
            if (!att_cpu_set((att_cpu)set))
                continue;
            att_threads_set(count);
            att_tensor again = features_of(encoder, &p);
            assert_memory_equal(first.data, again.data, size);
            att_tensor_free(&again);
        }
    att_threads_set(threads);
    assert_true(att_cpu_set(cpu));
    att_tensor_free(&first);
    att_image_free(&p);
    att_image_encoder_free(encoder);
}

static void a_file_without_a_label_for_each_result_is_refused(void **state)
{
    (void)state;
    att_error err = { 0 };
    att_image_encoder *encoder;
    att_bundle *bundle = encoder_bundle(999);
    assert_int_equal(att_image_encoder_from_bundle(&encoder, bundle, "short", &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "expected 1000 labels, found 999");
    assert_null(encoder);
    att_bundle_free(bundle);
}

static void image_encoders_and_models_are_distinguished(void **state)
{
    (void)state;
    char path[] = "/tmp/attend-encoder-XXXXXX";
    att_error err = { 0 };
    att_model *model;
    att_image_encoder *encoder = some_encoder(), *again;
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    assert_int_equal(att_image_encoder_save(encoder, path, &err), ATT_OK);
    assert_int_equal(att_model_load(&model, path, &err), ATT_BAD_INPUT);
    assert_non_null(strstr(err.message, "is an image encoder (squeezenet), expected a model"));
    assert_int_equal(att_image_encoder_load(&again, path, &err), ATT_OK);
    assert_string_equal(att_image_encoder_label(again, 999), "thing 999");
    unlink(path);
    att_image_encoder_free(again);
    att_image_encoder_free(encoder);
}

/* ---- fitting */

enum { ROWS = 700, DEPTH = 3 };

static att_tensor matrix(int64_t rows, int64_t columns)
{
    att_tensor out;
    assert_int_equal(att_tensor_new(&out, ATT_F64, 2, (int64_t[]){ rows, columns }, NULL), ATT_OK);
    return out;
}

/* Random features x, and targets that are a linear function of them: 1 + 2 x0 - x1, x2, 5. */
static void make_fit_data(att_tensor *features_in, att_tensor *targets)
{
    *features_in = matrix(ROWS, ATT_SQUEEZENET_CHANNELS);
    *targets = matrix(ROWS, DEPTH);
    double *x = features_in->data, *y = targets->data;
    for (int64_t i = 0; i < ROWS * ATT_SQUEEZENET_CHANNELS; i++)
        x[i] = (double)att_random_float(3, 0, (uint64_t)i);
    for (int64_t n = 0; n < ROWS; n++) {
        const double *row = x + n * ATT_SQUEEZENET_CHANNELS;
        y[n * DEPTH] = 1 + 2 * row[0] - row[1];
        y[n * DEPTH + 1] = row[2];
        y[n * DEPTH + 2] = 5;
    }
}

static void an_exact_projection_is_found(void **state)
{
    (void)state;
    att_image_encoder *encoder = some_encoder();
    att_image p = some_image();
    att_tensor features_in, targets, before = features_of(encoder, &p);
    double left;
    make_fit_data(&features_in, &targets);
    att_image_encoder *fitted, *again;
    assert_int_equal(
        att_image_encoder_fit(&fitted, encoder, &features_in, &targets, 1e-12, &left, NULL),
        ATT_OK);
    assert_true(left < 1e-9);
    assert_int_equal(att_image_encoder_channels(fitted), DEPTH);
    assert_int_equal(att_image_encoder_channels(encoder), ATT_SQUEEZENET_CHANNELS);
    assert_string_equal(att_image_encoder_label(fitted, 7), att_image_encoder_label(encoder, 7));
    att_tensor after = features_of(fitted, &p);
    const float *x = before.data, *y = after.data;
    for (int i = 0; i < 49; i++, x += ATT_SQUEEZENET_CHANNELS, y += DEPTH) {
        assert_true(fabsf(y[0] - (1 + 2 * x[0] - x[1])) < 1e-3f * (1 + fabsf(y[0])));
        assert_true(fabsf(y[1] - x[2]) < 1e-3f * (1 + fabsf(y[1])));
        assert_true(fabsf(y[2] - 5) < 1e-3f);
    }
    assert_int_equal(
        att_image_encoder_fit(&again, fitted, &features_in, &targets, 1e-12, &left, NULL),
        ATT_BAD_INPUT);
    assert_null(again);
    att_image_encoder_free(fitted);
    att_tensor *all[] = { &features_in, &targets, &before, &after };
    for (int i = 0; i < 4; i++)
        att_tensor_free(all[i]);
    att_image_free(&p);
    att_image_encoder_free(encoder);
}

static void too_few_cells_determine_no_projection(void **state)
{
    (void)state;
    att_error err = { 0 };
    double left;
    att_image_encoder *encoder = some_encoder(), *fitted;
    att_tensor features_in, targets, few_features, few_targets;
    make_fit_data(&features_in, &targets);
    assert_int_equal(att_tensor_slice(&few_features, &features_in, 0, 0, 100, NULL), ATT_OK);
    assert_int_equal(att_tensor_slice(&few_targets, &targets, 0, 0, 100, NULL), ATT_OK);
    assert_int_equal(
        att_image_encoder_fit(&fitted, encoder, &few_features, &few_targets, 0, &left, &err),
        ATT_BAD_INPUT);
    assert_non_null(strstr(err.message, "too few"));
    assert_int_equal(
        att_image_encoder_fit(&fitted, encoder, &few_features, &targets, 0, &left, &err),
        ATT_BAD_INPUT);
    assert_int_equal(att_image_encoder_channels(encoder), ATT_SQUEEZENET_CHANNELS);
    att_tensor_free(&features_in);
    att_tensor_free(&targets);
    att_image_encoder_free(encoder);
}

/* ---- memory */

/* One run of the allocation test: load an encoder, then fit or use it. */
typedef struct task {
    const att_bundle *bundle;
    const att_image *image;                  /* to be encoded, or NULL */
    const att_tensor *features_in, *targets; /* to fit, or NULL */
} task;

static att_status open_and_use(void *context)
{
    const task *t = context;
    att_image_encoder *encoder, *fitted = NULL;
    att_tensor features = { 0 };
    float probabilities[ATT_SQUEEZENET_LABELS];
    double left;
    att_status status = att_image_encoder_from_bundle(&encoder, t->bundle, "encoder", NULL);
    if (status == ATT_OK && t->features_in)
        status =
            att_image_encoder_fit(&fitted, encoder, t->features_in, t->targets, 0.01, &left, NULL);
    const att_image_encoder *used = fitted ? fitted : encoder;
    if (status == ATT_OK && t->image)
        status = att_image_encoder_features(&features, used, t->image, NULL);
    if (status == ATT_OK && t->image)
        status = att_image_encoder_classify(probabilities, used, t->image, NULL);
    att_tensor_free(&features);
    att_image_encoder_free(fitted);
    att_image_encoder_free(encoder);
    return status;
}

static void memory_may_run_out_wherever_an_encoder_is_loaded_fitted_or_used(void **state)
{
    (void)state;
    att_bundle *bundle = encoder_bundle(ATT_SQUEEZENET_LABELS);
    att_image p = some_image();
    att_tensor features_in, targets;
    make_fit_data(&features_in, &targets);
    every_allocation_fails(open_and_use, &(task){ .bundle = bundle, .image = &p }, 1000);
    every_allocation_fails(
        open_and_use, &(task){ .bundle = bundle, .features_in = &features_in, .targets = &targets },
        1000);
    att_tensor_free(&features_in);
    att_tensor_free(&targets);
    att_image_free(&p);
    att_bundle_free(bundle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_have_probabilities_that_add_to_one),
        cmocka_unit_test(features_are_the_same_bits_on_any_threads_and_sets),
        cmocka_unit_test(a_file_without_a_label_for_each_result_is_refused),
        cmocka_unit_test(image_encoders_and_models_are_distinguished),
        cmocka_unit_test(an_exact_projection_is_found),
        cmocka_unit_test(too_few_cells_determine_no_projection),
        cmocka_unit_test(memory_may_run_out_wherever_an_encoder_is_loaded_fitted_or_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
