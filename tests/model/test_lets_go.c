/* Handout 002, "Let's go": the worksheet examples/h08-lets-go.att as a model, built by hand through
 * the public header alone. Two decoding steps agree with the worksheet, which the reference
 * computes in double precision. */
#include "attend.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

static void must(att_status status, const att_error *err)
{
    if (status != ATT_OK)
        fail_msg("%s", err->message);
}

static att_model *make_model(void)
{
    /* One head, no norm, no scale, residuals; the handout has no matrices after attention. */
    static const char *const choices[][2] = {
        { "architecture", "transformer" },
        { "layers", "1" },
        { "hidden-size", "2" },
        { "heads", "1" },
        { "ffn-size", "0" },
        { "norm", "none" },
        { "attention-scale", "no" },
        { "embedding-scale", "no" },
        { "positions", "learned" },
        { "max-length", "2" },
        { "source-tokens", "space" },
        { "target-tokens", "space" },
    };
    static const char *const english[] = { "Let's", "go" };
    static const char *const spanish[] = { "ir", "vamos", "y" };
    att_settings *settings;
    att_model *model;
    att_error err = { 0 };
    must(att_settings_new(&settings, NULL, &err), &err);
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
        must(att_settings_set(settings, choices[i][0], choices[i][1], &err), &err);
    const att_token_list source = { english, 2 }, target = { spanish, 3 };
    must(att_model_build(&model, settings, &source, &target, &err), &err);
    att_settings_free(settings);
    return model;
}

/* The handout's matrices. One matrix holds the projections of queries, keys and values side by
 * side. The first tokens of a vocabulary are <unknown>, <start> and <end>; <start> and <end> are
 * both the handout's <EOS>. */
static const struct {
    const char *name;
    int rank;
    int64_t shape[2];
    double values[16];
} tensors[] = {
    { "source.embed", 2, { 5, 2 }, { 0, 0, 0, 0, 0, 0, 1.87, 0.09, -0.78, 0.27 } },
    { "source.positions", 2, { 2, 2 }, { 0, 1, -0.9, 0.4 } },
    { "target.embed", 2, { 6, 2 }, { 0, 0, 2.70, -1.34, 0, 0, 0, 0, -0.86, 2.37, 0, 0 } },
    { "target.positions",
      2,
      { 2, 2 },
      { 0, 1, 0, 0 } }, /* the embedding of Vamos includes its position */
    { "encoder.0.self.query_key_value",
      2,
      { 2, 6 },
      { 1.1, 0.6, -1.7, 0.5, 1.5, -1.0, -2.8, 2.4, -1.5, 0.9, -0.3, -0.2 } },
    { "encoder.0.self.out", 2, { 2, 2 }, { 1, 0, 0, 1 } },
    { "decoder.0.self.query_key_value",
      2,
      { 2, 6 },
      { 0.4, 0.4, 0.4, -0.7, -1.1, -0.7, -0.3, 0.1, -0.4, 0.3, -0.4, 1.3 } },
    { "decoder.0.self.out", 2, { 2, 2 }, { 1, 0, 0, 1 } },
    { "decoder.0.cross.query", 2, { 2, 2 }, { 1.5, -0.3, 0.3, -1.0 } },
    { "decoder.0.cross.key_value", 2, { 2, 4 }, { -1.1, 0.3, 1.1, 0.6, -0.3, -0.8, -1.2, -0.5 } },
    { "decoder.0.cross.out", 2, { 2, 2 }, { 1, 0, 0, 1 } },
    { "output.w", 2, { 2, 6 }, { 0, 0, -1.0, 0.1, 1.0, -0.5, 0, 0, 1.0, -0.2, -0.3, 0.1 } },
    /* The sheet's words are ir, vamos, y and <EOS>: the bias rules out the others. */
    { "output.bias", 1, { 6 }, { -1e5, -1e5, 0, 0, 0, 0 } },
};

static att_model *handout_model(void)
{
    att_model *built = make_model(), *model;
    att_bundle *values;
    att_error err = { 0 };
    must(att_bundle_new(&values, &err), &err);
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++) {
        const att_tensor view =
            att_tensor_view(tensors[i].values, ATT_F64, tensors[i].rank, tensors[i].shape);
        must(att_bundle_add(values, tensors[i].name, &view, &err), &err);
    }
    must(att_model_replace_tensors(&model, built, values, &err), &err);
    att_bundle_free(values);
    att_model_free(built);
    return model;
}

static size_t read_sheet(char *text, size_t room)
{
    FILE *file = fopen(ATTEND_SOURCE_DIR "/examples/h08-lets-go.att", "r");
    assert_non_null(file);
    size_t length = fread(text, 1, room, file);
    fclose(file);
    assert_true(length > 0 && length < room);
    return length;
}

/* The worksheet, followed by `expect` lines with the results of the model. */
static void agree(const att_output *output)
{
    static const char *const claims[] = { "word1[1,2]", "word2[1,4]" };
    static char text[1 << 15];
    const size_t room = sizeof text - 1024;
    size_t length = read_sheet(text, room);
    for (int step = 0; step < 2; step++)
        length += (size_t)sprintf(text + length,
                                  "\nexpect %s = %.17g within 1e-6\n"
                                  "expect alignment[%d] = [%.17g %.17g] within 1e-6\n",
                                  claims[step], exp(output->token_scores[step]), step + 1,
                                  output->weights[2 * step], output->weights[2 * step + 1]);
    att_sheet *sheet;
    att_error err = { 0 };
    must(att_sheet_read(&sheet, text, length, "lets-go", NULL, &err), &err);
    if (att_sheet_failures(sheet) > 0) {
        att_sheet_failure_get(&err, sheet, 0);
        fail_msg("%s", err.message);
    }
    att_sheet_free(sheet);
}

static void two_steps_of_the_handouts_model_agree_with_its_sheet(void **state)
{
    (void)state;
    att_model *model = handout_model();
    att_outputs *outputs;
    att_error err = { 0 };
    const char *line = "Let's go";
    const att_generate_options options = { .size = sizeof(att_generate_options),
                                           .attention = true };
    must(att_model_generate(&outputs, model, &line, 1, &options, &err), &err);
    const att_output *output = att_outputs_get(outputs, 0);
    assert_string_equal(output->text, "vamos");
    assert_int_equal(output->target_count, 2);
    assert_false(output->truncated);
    agree(output);
    att_outputs_free(outputs);
    att_model_free(model);
}

static void a_model_made_by_hand_names_its_tensors_and_gives_them_back(void **state)
{
    (void)state;
    att_model *model = handout_model();
    att_error err = { 0 };
    size_t named = 0;
    while (att_model_tensor_name(model, named))
        named++;
    assert_int_equal(named, att_model_tensor_count(model));
    att_tensor back;
    must(att_model_tensor_get(&back, model, "decoder.0.cross.query", &err), &err);
    assert_int_equal(back.rank, 2);
    assert_true(((const float *)back.data)[1] == -0.3f);
    att_tensor view, again;
    must(att_model_tensor_view(&view, model, "decoder.0.cross.query", &err), &err);
    must(att_model_tensor_view(&again, model, "decoder.0.cross.query", &err), &err);
    assert_ptr_equal(view.data, again.data);
    assert_ptr_not_equal(view.data, back.data);
    assert_null(view.owned);
    assert_memory_equal(view.data, back.data, (size_t)att_tensor_count(&back) * sizeof(float));
    att_tensor_free(&back);
    att_model_free(model);
}

static void tensors_and_tokens_that_do_not_fit_are_named(void **state)
{
    (void)state;
    att_model *model = make_model(), *replaced;
    att_error err = { 0 };
    const double three[3] = { 0 };
    const att_tensor view = att_tensor_view(three, ATT_F64, 1, (int64_t[]){ 3 });
    att_tensor out;
    static const struct {
        const char *name, *message;
    } refused[] = {
        { "output.bias", "the tensor 'output.bias': expected shape [6], found [3]" },
        { "output.v", "the model has no tensor 'output.v'" },
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        att_bundle *values;
        must(att_bundle_new(&values, &err), &err);
        must(att_bundle_add(values, refused[i].name, &view, &err), &err);
        assert_int_equal(att_model_replace_tensors(&replaced, model, values, &err), ATT_BAD_INPUT);
        assert_null(replaced);
        assert_string_equal(err.message, refused[i].message);
        att_bundle_free(values);
    }
    assert_int_equal(att_model_tensor_view(&out, model, "output.v", &err), ATT_BAD_INPUT);
    assert_null(out.data);
    assert_int_equal(att_model_tensor_get(&out, model, "output.v", &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "the model has no tensor 'output.v'");
    att_model_free(model);

    att_settings *settings;
    static const char *const twice[] = { "a", "b", "a" };
    const att_token_list list = { twice, 3 };
    must(att_settings_new(&settings, "reverse", &err), &err);
    assert_int_equal(att_model_build(&model, settings, &list, &list, &err), ATT_BAD_INPUT);
    assert_null(model);
    assert_string_equal(err.message, "the vocabulary has the token 'a' twice");
    att_settings_free(settings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_steps_of_the_handouts_model_agree_with_its_sheet),
        cmocka_unit_test(a_model_made_by_hand_names_its_tensors_and_gives_them_back),
        cmocka_unit_test(tensors_and_tokens_that_do_not_fit_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
