/* Bits flipped in the model file and in the checkpoint of a training run: each is refused, and a
 * tensor by its name. The variable ATTEND_FLIP_STRIDE sets how many bits of the header are passed
 * over (tests/long/flips: none). */
#include "train/small_run.h"

#include "model/model.h"
#include "thin.h"

static char folder[64];

static int train(void **state)
{
    (void)state;
    return small_lm_train(folder, 0);
}

static int remove_all(void **state)
{
    (void)state;
    folder_remove(folder);
    return 0;
}

static size_t data_start(const att_string *file)
{
    size_t length = 0;
    for (int i = 7; i >= 0; i--)
        length = length << 8 | (unsigned char)file->data[i];
    return 8 + length;
}

/* Flips the bit, reads the file as a model is read, and flips the bit back. */
static void assert_flip_refused(att_string *file, size_t bit, att_error *err)
{
    att_model *model;
    *err = (att_error){ 0 };
    file->data[bit / 8] ^= (char)(1 << bit % 8);
    att_status status = att_model_read(&model, file->data, file->length, "m", err);
    file->data[bit / 8] ^= (char)(1 << bit % 8);
    assert_null(model);
    if (status != ATT_BAD_INPUT)
        fail_msg("bit %zu of byte %zu: status %d", bit % 8, bit / 8, (int)status);
    assert_string_equal(err->place, "m");
}

static void flip_header(const char *name, size_t stride)
{
    const char *set = getenv("ATTEND_FLIP_STRIDE");
    att_string file = { 0 };
    att_error err;
    folder_file(&file, folder, name);
    if (set)
        stride = (size_t)atol(set);
    for (size_t bit = 0; bit < 8 * data_start(&file); bit += stride)
        assert_flip_refused(&file, bit, &err);
    att_string_free(&file);
}

/* The first and the last bit of each tensor, and some between. */
static void flip_tensors(const char *name)
{
    att_string file = { 0 };
    att_bundle *bundle;
    att_error err;
    folder_file(&file, folder, name);
    assert_int_equal(att_bundle_read(&bundle, file.data, file.length, "m", NULL), ATT_OK);
    size_t begin = 8 * data_start(&file);
    for (size_t i = 0; i < att_bundle_count(bundle); i++) {
        size_t bits = 32 * (size_t)att_tensor_count(att_bundle_at(bundle, i));
        char expected[200];
        snprintf(expected, sizeof expected,
                 "tensor '%s': its SHA-256 differs from the recorded one: the file was damaged or "
                 "changed",
                 att_bundle_name(bundle, i));
        for (size_t k = 0; k <= 8; k++) {
            assert_flip_refused(&file, begin + (bits - 1) * k / 8, &err);
            assert_string_equal(err.message, expected);
        }
        begin += bits;
    }
    assert_int_equal(begin, 8 * file.length);
    att_bundle_free(bundle);
    att_string_free(&file);
}

/* Strides are odd, so that bits of every weight are flipped. */
static void a_flipped_bit_of_a_models_header_is_refused(void **state)
{
    (void)state;
    flip_header("m.safetensors", 2 * THIN - 1);
}

static void a_flipped_bit_of_a_checkpoints_header_is_refused(void **state)
{
    (void)state;
    flip_header("m.last.safetensors", 32 * THIN - 1);
}

static void a_flipped_bit_of_any_tensor_of_a_model_names_it(void **state)
{
    (void)state;
    flip_tensors("m.safetensors");
}

static void a_flipped_bit_of_any_tensor_of_a_checkpoint_names_it(void **state)
{
    (void)state;
    flip_tensors("m.last.safetensors");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_flipped_bit_of_a_models_header_is_refused),
        cmocka_unit_test(a_flipped_bit_of_a_checkpoints_header_is_refused),
        cmocka_unit_test(a_flipped_bit_of_any_tensor_of_a_model_names_it),
        cmocka_unit_test(a_flipped_bit_of_any_tensor_of_a_checkpoint_names_it),
    };
    return cmocka_run_group_tests(tests, train, remove_all);
}
