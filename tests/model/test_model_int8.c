/* Int8 models: a quantized file is the float model loaded as int8, in every architecture; results
 * have the same bits on every instruction set and at any number of threads; malformed files are
 * refused with the tensor that is wrong. */
#include "base/cpu.h"
#include "base/parallel.h"
#include "base/string.h"
#include "failing_memory.h"
#include "model/classifier_help.h"
#include "model/quantize_help.h"
#include "model/tagger_help.h"
#include "tape/op.h"
#include "tensor/bundle.h"

#include <math.h>

static double loss_of(const att_model *model, const att_batch *batch)
{
    att_tape *tape;
    att_error err = { 0 };
    att_loss_result result = { 0 };
    assert_int_equal(att_tape_new(&tape, &model->params, NULL), ATT_OK);
    att_tape_begin(tape, false, 0, 0);
    att_model_loss(model, tape, batch, NULL, &result);
    if (att_tape_status(tape, &err) != ATT_OK)
        fail_msg("%s: %s", err.place, err.message);
    assert_int_equal(att_tape_unpacked_uses(tape), 0);
    att_tape_free(tape);
    return result.loss;
}

static att_string file_of(const att_model *model)
{
    att_string bytes = { 0 };
    att_error err = { 0 };
    if (att_model_write(&bytes, model, &err) != ATT_OK)
        fail_msg("%s", err.message);
    return bytes;
}

static att_model *read_as(const att_string *bytes, att_precision precision)
{
    att_model *model;
    att_error err = { 0 };
    att_model_load_options options = ATT_INIT(att_model_load_options);
    options.precision = precision;
    if (att_model_read_with(&model, bytes->data, bytes->length, "file", &options, &err) != ATT_OK)
        fail_msg("%s: %s", err.place, err.message);
    return model;
}

/* The loss of the scene's model as int8: by the file of its quantized copy, and by loading its own
 * file as int8, on plain C and with threads. */
static void check_scene(scene *s, const char *name)
{
    const att_batch *batch = att_batches_get(s->batches, 0);
    double exact = loss_of(s->model, batch);
    att_model *small;
    assert_int_equal(att_model_quantize(&small, s->model, NULL), ATT_OK);
    double loss = loss_of(small, batch);
    if (!(fabs(loss - exact) <= 0.05 * exact))
        fail_msg("%s: the loss is %.9g as int8, %.9g as float", name, loss, exact);
    att_string large_file = file_of(s->model), small_file = file_of(small);
    att_model *stored = read_as(&small_file, ATT_PRECISION_STORED);
    att_model *loaded = read_as(&large_file, ATT_PRECISION_INT8);
    att_string again = file_of(loaded);
    assert_int_equal(again.length, small_file.length);
    assert_memory_equal(again.data, small_file.data, again.length);
    assert_int_equal(att_model_precision(stored), ATT_PRECISION_INT8);
    assert_true(loss_of(stored, batch) == loss);
    assert_true(att_cpu_set(ATT_CPU_SCALAR));
    att_threads_set(3);
    if (loss_of(loaded, batch) != loss)
        fail_msg("%s: plain C differs", name);
    att_threads_set(1);
    assert_true(att_cpu_set(att_cpu_best()));
    att_model_free(stored);
    att_model_free(loaded);
    att_model_free(small);
    att_string_free(&again);
    att_string_free(&small_file);
    att_string_free(&large_file);
}

static void seq2seq_models_of_every_architecture_can_be_int8(void **state)
{
    (void)state;
    for (const variant *row = variants; row->name; row++) {
        scene s;
        if ((row - variants) % THIN != 0)
            continue;
        scene_of(&s, row);
        check_scene(&s, row->name);
        scene_free(&s);
    }
}

static void classifiers_of_every_architecture_can_be_int8(void **state)
{
    (void)state;
    for (const variant *row = label_variants; row->name; row++) {
        scene s;
        label_scene_of(&s, row);
        check_scene(&s, row->name);
        scene_free(&s);
    }
}

static void taggers_can_be_int8(void **state)
{
    (void)state;
    static const setting_pair sets[][MAX_VARIANT_SETTINGS] = {
        { { 0 } },
        { { "crf", "no" } },
        { { "char-features", "lstm" }, { "char-size", "8" } },
    };
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        scene s;
        tag_scene_new(&s, sets[i]);
        check_scene(&s, "tagger");
        scene_free(&s);
    }
}

/* ---------------------------------------------------------------- values */

static const setting_pair wide[] = { { "hidden-size", "16" }, { "embedding-size", "16" } };

static void a_copy_of_a_tensor_is_integers_times_scales(void **state)
{
    (void)state;
    scene s;
    att_model *small;
    att_tensor before, after, view;
    att_error err = { 0 };
    scene_new(&s, wide, 2);
    assert_int_equal(att_model_quantize(&small, s.model, NULL), ATT_OK);
    static const char *const names[] = { "source.embed", "decoder.0.u" };
    for (size_t n = 0; n < 2; n++) {
        assert_int_equal(att_model_tensor_get(&before, s.model, names[n], NULL), ATT_OK);
        assert_int_equal(att_model_tensor_get(&after, small, names[n], NULL), ATT_OK);
        const float *x = before.data, *y = after.data;
        int64_t columns = before.shape[1], count = att_tensor_count(&before);
        for (int64_t i = 0; i < count; i++) {
            float most = 0; /* of the row of a table, of the column of a weight matrix */
            for (int64_t k = 0; k < count; k++)
                if (n == 0 ? k / columns == i / columns : k % columns == i % columns)
                    most = fmaxf(most, fabsf(x[k]));
            assert_true(fabs((double)x[i] - (double)y[i]) <= 0.5001 * (double)most / 127);
        }
        att_tensor_free(&before);
        att_tensor_free(&after);
    }
    assert_int_equal(att_model_tensor_view(&view, small, "decoder.0.u", &err), ATT_BAD_INPUT);
    assert_string_equal(err.message,
                        "the tensor 'decoder.0.u' is int8 and has no view as float: copy it");
    assert_int_equal(att_model_tensor_view(&view, small, "output.bias", NULL), ATT_OK);
    att_model_free(small);
    scene_free(&s);
}

static void int8_weights_can_be_widened(void **state)
{
    (void)state;
    scene s;
    scene_new(&s, wide, 2);
    const att_batch *batch = att_batches_get(s.batches, 0);
    quantize_in_place(&s.model, &s.tape);
    att_string file = file_of(s.model);
    att_model *wider = read_as(&file, ATT_PRECISION_FLOAT32);
    assert_int_equal(att_model_precision(wider), ATT_PRECISION_FLOAT32);
    att_tensor one, other;
    assert_int_equal(att_model_tensor_get(&one, s.model, "output.w", NULL), ATT_OK);
    assert_int_equal(att_model_tensor_get(&other, wider, "output.w", NULL), ATT_OK);
    assert_memory_equal(one.data, other.data, (size_t)att_tensor_count(&one) * sizeof(float));
    assert_true(fabs(loss_of(wider, batch) - loss_of(s.model, batch)) < 1);
    att_tensor_free(&one);
    att_tensor_free(&other);
    att_model_free(wider);
    att_string_free(&file);
    scene_free(&s);
}

static void a_tensor_of_an_int8_model_can_be_replaced(void **state)
{
    (void)state;
    scene s;
    att_bundle *tensors;
    att_tensor values, found;
    att_model *changed;
    scene_new(&s, wide, 2);
    quantize_in_place(&s.model, &s.tape);
    assert_int_equal(att_model_tensor_get(&values, s.model, "output.w", NULL), ATT_OK);
    for (int64_t i = 0; i < att_tensor_count(&values); i++)
        ((float *)values.data)[i] = 127;
    assert_int_equal(att_bundle_new(&tensors, NULL), ATT_OK);
    assert_int_equal(att_bundle_add(tensors, "output.w", &values, NULL), ATT_OK);
    assert_int_equal(att_model_replace_tensors(&changed, s.model, tensors, NULL), ATT_OK);
    assert_int_equal(att_model_precision(changed), ATT_PRECISION_INT8);
    assert_int_equal(att_model_tensor_get(&found, changed, "output.w", NULL), ATT_OK);
    assert_true(((float *)found.data)[3] == 127);
    att_tensor_free(&found);
    att_tensor_free(&values);
    att_bundle_free(tensors);
    att_model_free(changed);
    scene_free(&s);
}

static void the_file_is_a_quarter(void **state)
{
    (void)state;
    static const setting_pair large[] = { { "hidden-size", "128" }, { "embedding-size", "128" } };
    scene s;
    scene_new(&s, large, 2);
    att_string before = file_of(s.model);
    quantize_in_place(&s.model, &s.tape);
    att_string after = file_of(s.model);
    assert_true((double)after.length < 0.28 * (double)before.length);
    att_string_free(&before);
    att_string_free(&after);
    scene_free(&s);
}

/* ---------------------------------------------------------------- refusals */

/* A bundle of an int8 model in which a tensor is replaced (NULL: left out). */
static void assert_refused(const att_model *model, const char *name, att_tensor *tensor,
                           const char *message)
{
    att_bundle *whole, *changed;
    att_model *read;
    att_error err = { 0 };
    assert_int_equal(att_bundle_new(&whole, NULL), ATT_OK);
    assert_int_equal(att_bundle_new(&changed, NULL), ATT_OK);
    assert_int_equal(att_model_to_bundle(whole, model, 1, NULL, NULL), ATT_OK);
    for (size_t i = 0; i < att_bundle_meta_count(whole); i++) {
        const char *key, *value;
        att_bundle_meta_at(whole, i, &key, &value);
        assert_int_equal(att_bundle_meta_set(changed, key, value, NULL), ATT_OK);
    }
    for (size_t i = 0; i < att_bundle_count(whole); i++) {
        const char *at = att_bundle_name(whole, i);
        const att_tensor *from = strcmp(at, name) != 0 ? att_bundle_at(whole, i) : tensor;
        att_tensor copy;
        if (!from)
            continue;
        assert_int_equal(att_tensor_copy(&copy, from, from->dtype, NULL), ATT_OK);
        assert_int_equal(att_bundle_take(changed, at, &copy, NULL), ATT_OK);
    }
    assert_int_equal(att_model_from_bundle(&read, changed, "file", &err), ATT_BAD_INPUT);
    assert_null(read);
    assert_string_equal(err.message, message);
    att_bundle_free(whole);
    att_bundle_free(changed);
}

static void malformed_tensors_are_refused_by_name(void **state)
{
    (void)state;
    scene s;
    static int8_t integers[16 * 7];
    static float numbers[16 * 7];
    scene_new(&s, wide, 2);
    quantize_in_place(&s.model, &s.tape);
    int64_t outputs = att_vocab_size(s.data.target_vocab);
    const int64_t four = 4, many = 64;
    att_tensor scales = att_tensor_view(numbers, ATT_F32, 1, &four);
    assert_refused(s.model, "decoder.0.u.scale", NULL, "the tensor 'decoder.0.u.scale' is missing");
    assert_refused(s.model, "decoder.0.u.scale", &scales,
                   "the tensor 'decoder.0.u.scale': expected float32 of shape [64], found float32 "
                   "of shape [4]");
    scales = att_tensor_view(numbers, ATT_F32, 1, &many);
    numbers[5] = NAN;
    assert_refused(s.model, "decoder.0.u.scale", &scales,
                   "the tensor 'decoder.0.u.scale' holds nan at index 5, expected finite numbers");
    static int8_t square[16 * 64];
    square[7] = -128;
    att_tensor bad = att_tensor_view(square, ATT_I8, 2, (const int64_t[]){ 16, 64 });
    assert_refused(s.model, "decoder.0.u", &bad,
                   "the tensor 'decoder.0.u' holds -128 at index 7, expected -127 to 127");
    att_tensor bias = att_tensor_view(integers, ATT_I8, 1, &outputs);
    assert_refused(s.model, "output.bias", &bias,
                   "the tensor 'output.bias' is int8, expected float32");
    scene_free(&s);
}

static void an_unknown_precision_is_refused(void **state)
{
    (void)state;
    scene s;
    att_bundle *bundle;
    att_model *read;
    att_error err = { 0 };
    scene_new(&s, wide, 2);
    assert_int_equal(att_bundle_new(&bundle, NULL), ATT_OK);
    assert_int_equal(att_model_to_bundle(bundle, s.model, 1, NULL, NULL), ATT_OK);
    assert_int_equal(att_bundle_meta_set(bundle, "attend.precision", "int4", NULL), ATT_OK);
    assert_int_equal(att_model_from_bundle(&read, bundle, "file", &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "its 'attend.precision' is 'int4', expected int8");
    att_bundle_free(bundle);
    att_model_load_options options = ATT_INIT(att_model_load_options);
    options.precision = (att_precision)7;
    assert_int_equal(att_model_load_with(&read, "/dev/null", &options, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "7 is not an att_precision");
    scene_free(&s);
}

static void int8_weights_have_no_gradients(void **state)
{
    (void)state;
    scene s;
    att_error err = { 0 };
    scene_new(&s, wide, 2);
    quantize_in_place(&s.model, &s.tape);
    att_tape_begin(s.tape, true, 0, 0);
    att_node *x = att_tape_variable(s.tape, 2, (const int64_t[]){ 1, 16 }, NULL);
    int index = att_params_find(&s.model->params, "decoder.0.u");
    assert_null(
        att_linear(s.tape, x, att_tape_param(s.tape, index), NULL, ATT_ACTIVATION_NONE, false));
    assert_int_equal(att_tape_status(s.tape, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "gradients need float weights, found int8");
    att_tape_begin(s.tape, false, 0, 0);
    assert_null(att_scale(s.tape, att_tape_param(s.tape, index), 2));
    att_tape_status(s.tape, &err);
    assert_string_equal(err.message, "expected float weights, found int8");
    scene_free(&s);
}

static att_status quantize_and_write(void *context)
{
    att_model *small = NULL;
    att_string bytes = { 0 };
    att_status status = att_model_quantize(&small, context, NULL);
    if (status == ATT_OK)
        status = att_model_write(&bytes, small, NULL);
    att_string_free(&bytes);
    att_model_free(small);
    return status;
}

static void memory_may_run_out_anywhere(void **state)
{
    (void)state;
    scene s;
    scene_new(&s, wide, 2);
    every_allocation_fails(quantize_and_write, s.model, 1000);
    scene_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seq2seq_models_of_every_architecture_can_be_int8),
        cmocka_unit_test(classifiers_of_every_architecture_can_be_int8),
        cmocka_unit_test(taggers_can_be_int8),
        cmocka_unit_test(a_copy_of_a_tensor_is_integers_times_scales),
        cmocka_unit_test(int8_weights_can_be_widened),
        cmocka_unit_test(a_tensor_of_an_int8_model_can_be_replaced),
        cmocka_unit_test(the_file_is_a_quarter),
        cmocka_unit_test(malformed_tensors_are_refused_by_name),
        cmocka_unit_test(an_unknown_precision_is_refused),
        cmocka_unit_test(int8_weights_have_no_gradients),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
