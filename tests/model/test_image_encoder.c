/* Eyes: SqueezeNet from any weights, its features and labels, files, and what it is taught. */
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

static att_image_encoder *some_eyes(void)
{
    att_error err = { 0 };
    att_image_encoder *eyes;
    att_bundle *bundle = eyes_bundle(ATT_SQUEEZENET_LABELS);
    if (att_image_encoder_from_bundle(&eyes, bundle, "eyes", &err) != ATT_OK)
        fail_msg("%s", err.message);
    att_bundle_free(bundle);
    return eyes;
}

static att_image some_picture(void)
{
    att_image p;
    assert_int_equal(att_image_alloc(&p, 90, 70, UINT64_MAX, "picture", NULL), ATT_OK);
    for (int64_t i = 0; i < p.width * p.height * ATT_RGB; i++)
        p.pixels[i] = (uint8_t)(255 * att_random_float(7, 0, (uint64_t)i));
    return p;
}

static att_tensor features_of(att_image_encoder *eyes, const att_image *p)
{
    att_tensor out;
    assert_int_equal(att_image_encoder_features(&out, eyes, p, NULL), ATT_OK);
    return out;
}

static void labels_have_probabilities_that_add_to_one(void **state)
{
    (void)state;
    att_image_encoder *eyes = some_eyes();
    att_image p = some_picture();
    float probabilities[ATT_SQUEEZENET_LABELS];
    double sum = 0;
    assert_int_equal(att_image_encoder_classify(probabilities, eyes, &p, NULL), ATT_OK);
    for (int i = 0; i < ATT_SQUEEZENET_LABELS; i++)
        sum += (double)probabilities[i];
    assert_true(fabs(sum - 1) < 1000 * 0x1p-24);
    assert_string_equal(att_image_encoder_label(eyes, 17), "thing 17");
    assert_null(att_image_encoder_label(eyes, att_image_encoder_label_count(eyes)));
    att_image_free(&p);
    att_image_encoder_free(eyes);
}

static void features_are_the_same_bits_on_any_threads_and_sets(void **state)
{
    (void)state;
    att_image_encoder *eyes = some_eyes();
    att_image p = some_picture();
    int threads = att_threads_get();
    att_cpu cpu = att_cpu_get();
    att_tensor first = features_of(eyes, &p);
    size_t size = (size_t)att_tensor_count(&first) * sizeof(float);
    assert_int_equal(att_tensor_count(&first), 7 * 7 * 512);
    for (int set = ATT_CPU_AVX2; set <= ATT_CPU_AVX512; set++)
        for (int count = 1; count <= 3; count += 2) {
            if (!att_cpu_set((att_cpu)set))
                continue;
            att_threads_set(count);
            att_tensor again = features_of(eyes, &p);
            assert_memory_equal(first.data, again.data, size);
            att_tensor_free(&again);
        }
    att_threads_set(threads);
    assert_true(att_cpu_set(cpu));
    att_tensor_free(&first);
    att_image_free(&p);
    att_image_encoder_free(eyes);
}

static void a_file_without_a_label_for_each_result_is_refused(void **state)
{
    (void)state;
    att_error err = { 0 };
    att_image_encoder *eyes;
    att_bundle *bundle = eyes_bundle(999);
    assert_int_equal(att_image_encoder_from_bundle(&eyes, bundle, "short", &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "expected 1000 labels, found 999");
    assert_null(eyes);
    att_bundle_free(bundle);
}

static void eyes_and_models_are_told_apart(void **state)
{
    (void)state;
    char path[] = "/tmp/attend-eyes-XXXXXX";
    att_error err = { 0 };
    att_model *model;
    att_image_encoder *eyes = some_eyes(), *again;
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    assert_int_equal(att_image_encoder_save(eyes, path, &err), ATT_OK);
    assert_int_equal(att_model_load(&model, path, &err), ATT_BAD_INPUT);
    assert_non_null(strstr(err.message, "is an image encoder (squeezenet), expected a model"));
    assert_int_equal(att_image_encoder_load(&again, path, &err), ATT_OK);
    assert_string_equal(att_image_encoder_label(again, 999), "thing 999");
    unlink(path);
    att_image_encoder_free(again);
    att_image_encoder_free(eyes);
}

/* ---- teaching */

enum { ROWS = 700, DEPTH = 3 };

static att_tensor matrix(int64_t rows, int64_t columns)
{
    att_tensor out;
    assert_int_equal(att_tensor_new(&out, ATT_F64, 2, (int64_t[]){ rows, columns }, NULL), ATT_OK);
    return out;
}

/* Any numbers, and what a map of one's own makes of them: 1 + 2 x0 - x1, x2, 5. */
static void make_lesson(att_tensor *seen, att_tensor *wanted)
{
    *seen = matrix(ROWS, ATT_SQUEEZENET_CHANNELS);
    *wanted = matrix(ROWS, DEPTH);
    double *x = seen->data, *y = wanted->data;
    for (int64_t i = 0; i < ROWS * ATT_SQUEEZENET_CHANNELS; i++)
        x[i] = (double)att_random_float(3, 0, (uint64_t)i);
    for (int64_t n = 0; n < ROWS; n++) {
        const double *row = x + n * ATT_SQUEEZENET_CHANNELS;
        y[n * DEPTH] = 1 + 2 * row[0] - row[1];
        y[n * DEPTH + 1] = row[2];
        y[n * DEPTH + 2] = 5;
    }
}

static void a_map_that_there_is_is_found(void **state)
{
    (void)state;
    att_image_encoder *eyes = some_eyes();
    att_image p = some_picture();
    att_tensor seen, wanted, before = features_of(eyes, &p);
    double left;
    make_lesson(&seen, &wanted);
    att_image_encoder *fitted, *again;
    assert_int_equal(att_image_encoder_fit(&fitted, eyes, &seen, &wanted, 1e-12, &left, NULL),
                     ATT_OK);
    assert_true(left < 1e-9);
    assert_int_equal(att_image_encoder_channels(fitted), DEPTH);
    assert_int_equal(att_image_encoder_channels(eyes), ATT_SQUEEZENET_CHANNELS);
    assert_string_equal(att_image_encoder_label(fitted, 7), att_image_encoder_label(eyes, 7));
    att_tensor after = features_of(fitted, &p);
    const float *x = before.data, *y = after.data;
    for (int i = 0; i < 49; i++, x += ATT_SQUEEZENET_CHANNELS, y += DEPTH) {
        assert_true(fabsf(y[0] - (1 + 2 * x[0] - x[1])) < 1e-3f * (1 + fabsf(y[0])));
        assert_true(fabsf(y[1] - x[2]) < 1e-3f * (1 + fabsf(y[1])));
        assert_true(fabsf(y[2] - 5) < 1e-3f);
    }
    assert_int_equal(att_image_encoder_fit(&again, fitted, &seen, &wanted, 1e-12, &left, NULL),
                     ATT_BAD_INPUT);
    assert_null(again);
    att_image_encoder_free(fitted);
    att_tensor *all[] = { &seen, &wanted, &before, &after };
    for (int i = 0; i < 4; i++)
        att_tensor_free(all[i]);
    att_image_free(&p);
    att_image_encoder_free(eyes);
}

static void too_few_cells_determine_no_map(void **state)
{
    (void)state;
    att_error err = { 0 };
    double left;
    att_image_encoder *eyes = some_eyes(), *fitted;
    att_tensor seen, wanted, few_seen, few_wanted;
    make_lesson(&seen, &wanted);
    assert_int_equal(att_tensor_slice(&few_seen, &seen, 0, 0, 100, NULL), ATT_OK);
    assert_int_equal(att_tensor_slice(&few_wanted, &wanted, 0, 0, 100, NULL), ATT_OK);
    assert_int_equal(att_image_encoder_fit(&fitted, eyes, &few_seen, &few_wanted, 0, &left, &err),
                     ATT_BAD_INPUT);
    assert_non_null(strstr(err.message, "too few"));
    assert_int_equal(att_image_encoder_fit(&fitted, eyes, &few_seen, &wanted, 0, &left, &err),
                     ATT_BAD_INPUT);
    assert_int_equal(att_image_encoder_channels(eyes), ATT_SQUEEZENET_CHANNELS);
    att_tensor_free(&seen);
    att_tensor_free(&wanted);
    att_image_encoder_free(eyes);
}

/* ---- memory */

/* What eyes are made of and asked, in turn. */
typedef struct task {
    const att_bundle *bundle;
    const att_image *picture;        /* to be looked at, or NULL */
    const att_tensor *seen, *wanted; /* to be taught, or NULL */
} task;

static att_status open_and_use(void *context)
{
    const task *t = context;
    att_image_encoder *eyes, *fitted = NULL;
    att_tensor features = { 0 };
    float probabilities[ATT_SQUEEZENET_LABELS];
    double left;
    att_status status = att_image_encoder_from_bundle(&eyes, t->bundle, "eyes", NULL);
    if (status == ATT_OK && t->seen)
        status = att_image_encoder_fit(&fitted, eyes, t->seen, t->wanted, 0.01, &left, NULL);
    const att_image_encoder *used = fitted ? fitted : eyes;
    if (status == ATT_OK && t->picture)
        status = att_image_encoder_features(&features, used, t->picture, NULL);
    if (status == ATT_OK && t->picture)
        status = att_image_encoder_classify(probabilities, used, t->picture, NULL);
    att_tensor_free(&features);
    att_image_encoder_free(fitted);
    att_image_encoder_free(eyes);
    return status;
}

static void memory_may_run_out_wherever_eyes_are_opened_taught_or_used(void **state)
{
    (void)state;
    att_bundle *bundle = eyes_bundle(ATT_SQUEEZENET_LABELS);
    att_image p = some_picture();
    att_tensor seen, wanted;
    make_lesson(&seen, &wanted);
    every_allocation_fails(open_and_use, &(task){ .bundle = bundle, .picture = &p }, 1000);
    every_allocation_fails(open_and_use,
                           &(task){ .bundle = bundle, .seen = &seen, .wanted = &wanted }, 1000);
    att_tensor_free(&seen);
    att_tensor_free(&wanted);
    att_image_free(&p);
    att_bundle_free(bundle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_have_probabilities_that_add_to_one),
        cmocka_unit_test(features_are_the_same_bits_on_any_threads_and_sets),
        cmocka_unit_test(a_file_without_a_label_for_each_result_is_refused),
        cmocka_unit_test(eyes_and_models_are_told_apart),
        cmocka_unit_test(a_map_that_there_is_is_found),
        cmocka_unit_test(too_few_cells_determine_no_map),
        cmocka_unit_test(memory_may_run_out_wherever_eyes_are_opened_taught_or_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
