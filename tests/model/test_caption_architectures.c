/* Every variant of caption models: step-wise decoding has the bits of the teacher-forced loss,
 * alone and in a batch; attention covers the cells of the image. */
#include "model/quantize_help.h"
#include "model/model.h"

#include "base/cpu.h"
#include "decode/beam_search.h"
#include "data/data.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef struct variant {
    const char *name;
    const char *set[6][2];
} variant;

static const variant variants[] = {
    { "initial state alone", { { "attention", "none" } } },
    { "fixed at the state", { { "attention", "fixed" }, { "attention-context", "state" } } },
    { "general", { { "attention", "general" } } },
    { "general, initial state from the image",
      { { "attention", "general" }, { "init-from-image", "yes" } } },
    { "fixed, initial state zero", { { "attention", "fixed" }, { "init-from-image", "no" } } },
    { "additive at both, gru, two layers",
      { { "attention", "additive" },
        { "attention-context", "both" },
        { "rnn-cell", "gru" },
        { "layers", "2" } } },
    { "additive at the state, initial state from the image, gru, two layers",
      { { "attention", "additive" },
        { "attention-context", "state" },
        { "init-from-image", "yes" },
        { "rnn-cell", "gru" },
        { "layers", "2" } } },
    { "coverage, rnn", { { "attention", "coverage" }, { "rnn-cell", "vanilla" } } },
    { "location, no positions", { { "attention", "location" }, { "image-positions", "no" } } },
    { "pixels as they are", { { "conv-layers", "0" } } },
    { "transformer", { { "architecture", "transformer" }, { "heads", "2" } } },
    { "transformer, rotary, tied",
      { { "architecture", "transformer" },
        { "heads", "2" },
        { "positions", "rotary" },
        { "tie-embeddings", "output" },
        { "conv-layers", "3" } } },
    { 0 },
};

typedef struct scene {
    att_settings *settings;
    att_data data;
    att_model *model;
    att_tape *tape;
    att_batches *batches;
} scene;

static void set(att_settings *settings, const char *key, const char *value)
{
    att_error err = { 0 };
    if (att_settings_set(settings, key, value, &err) != ATT_OK)
        fail_msg("%s = %s: %s", key, value, err.message);
}

/* A model of the variant, trained with or without dropout. */
static void scene_with(scene *s, const variant *row, const char *dropout)
{
    static const char *const small[][2] = { { "hidden-size", "12" },
                                            { "layers", "1" },
                                            { "train-count", "6" },
                                            { "valid-count", "3" },
                                            { "image-size", "24" } };
    att_error err = { 0 };
    *s = (scene){ 0 };
    assert_int_equal(att_settings_new(&s->settings, "shapes", NULL), ATT_OK);
    for (size_t i = 0; i < sizeof small / sizeof *small; i++)
        set(s->settings, small[i][0], small[i][1]);
    for (int i = 0; row->set[i][0]; i++)
        set(s->settings, row->set[i][0], row->set[i][1]);
    if (dropout)
        set(s->settings, "dropout", dropout);
    if (s->settings->conv_layers > 0)
        set(s->settings, "conv-channels", "4");
    set(s->settings, "image-rows", "24");
    set(s->settings, "image-columns", "24");
    set(s->settings, "image-depth", "3");
    bool transformer = s->settings->architecture == ATT_ARCHITECTURE_TRANSFORMER;
    set(s->settings, transformer ? "ffn-size" : "embedding-size", transformer ? "16" : "8");
    if (att_settings_check(s->settings, &err) != ATT_OK ||
        att_data_load(&s->data, s->settings, &err) != ATT_OK ||
        att_model_new(&s->model, s->settings, NULL, s->data.target_vocab, &err) != ATT_OK ||
        att_params_alloc_grad(&s->model->params, &err) != ATT_OK ||
        att_tape_new_training(&s->tape, &s->model->params, &err) != ATT_OK ||
        att_data_batches(&s->batches, &s->data.train, s->settings, 64, 1, &err) != ATT_OK)
        fail_msg("%s: %s", row->name, err.message);
}

static void scene_of(scene *s, const variant *row)
{
    scene_with(s, row, NULL);
}

static void scene_free(scene *s)
{
    att_batches_free(s->batches);
    att_tape_free(s->tape);
    att_model_free(s->model);
    att_data_free(&s->data);
    att_settings_free(s->settings);
}

#define EACH_VARIANT(row) for (const variant *row = variants; row->name; row++)

static void check_forced_decoding(scene *s, const char *name)
{
    const att_batch *batch = att_batches_get(s->batches, 0);
    assert_true(batch->rows > 1 && batch->rows <= 64);
    att_loss_result whole = { 0 };
    att_tape_begin(s->tape, false, 0, 0);
    assert_non_null(att_model_loss(s->model, s->tape, batch, NULL, &whole));
    att_beam_search *search;
    static const att_decoding_options greedy = ATT_INIT(att_decoding_options);
    assert_int_equal(att_beam_search_new(&search, s->model, &greedy, NULL), ATT_OK);
    att_forced_tokens forced[64];
    for (int64_t r = 0; r < batch->rows; r++)
        forced[r] = (att_forced_tokens){ batch->target_out + r * batch->target_length,
                                         (size_t)batch->target_lengths[r] - 1, .ends_after = true };
    const att_sources sources = att_batch_sources(batch);
    const att_search_batch task = { .sources = &sources, .forced = forced };
    assert_int_equal(att_beam_search_run(search, &task, NULL), ATT_OK);
    double loss = 0;
    for (int64_t r = 0; r < batch->rows; r++) {
        int64_t count;
        const att_hypothesis *found = att_beam_search_hypotheses(search, r, &count);
        for (int64_t t = 0; t < found->count; t++)
            loss -= (double)found->log_probs[t];
    }
    if (loss != whole.loss)
        fail_msg("%s: %.17g step by step, %.17g at once", name, loss, whole.loss);
    att_beam_search_free(search);
}

static void forced_decoding_has_the_bits_of_the_loss(void **state)
{
    (void)state;
    EACH_VARIANT(row)
    {
        scene s;
        scene_of(&s, row);
        check_forced_decoding(&s, row->name);
        quantize_in_place(&s.model, &s.tape);
        check_forced_decoding(&s, row->name);
        scene_free(&s);
    }
}

static att_tensor images_of(const att_image_grids *grids)
{
    return att_tensor_view(grids->values, ATT_F32, 4,
                           (int64_t[]){ grids->count, grids->rows, grids->columns, grids->depth });
}

/* Three images at once, and one at a time. */
static void an_output_is_the_same_alone_and_in_a_batch(void **state)
{
    (void)state;
    EACH_VARIANT(row)
    {
        scene s;
        scene_of(&s, row);
        const att_tensor all = images_of(&s.data.valid.image_grids);
        att_outputs *together, *alone;
        const att_generate_options options = { .size = sizeof(att_generate_options),
                                               .attention = true,
                                               .decoding = &(const att_decoding_options){
                                                   .size = sizeof(att_decoding_options),
                                                   .beam = 3 } };
        const att_generate_options single = {
            .size = sizeof(att_generate_options),
            .attention = true,
            .decoding =
                &(const att_decoding_options){ .size = sizeof(att_decoding_options), .beam = 3 },
            .batch_size = 1
        };
        assert_int_equal(att_model_caption(&together, s.model, &all, &options, NULL), ATT_OK);
        assert_int_equal(att_model_caption(&alone, s.model, &all, &single, NULL), ATT_OK);
        assert_int_equal(att_outputs_count(together), 3);
        for (size_t i = 0; i < 3; i++) {
            const att_output *a = att_outputs_get(together, i), *b = att_outputs_get(alone, i);
            assert_string_equal(a->text, b->text);
            assert_true(a->score == b->score);
            assert_int_equal(a->source_count, a->grid_rows * a->grid_columns);
            if (a->weights)
                assert_memory_equal(a->weights, b->weights,
                                    (size_t)(a->target_count * a->source_count) *
                                        sizeof *a->weights);
        }
        att_outputs_free(together);
        att_outputs_free(alone);
        scene_free(&s);
    }
}

static void attention_is_spread_over_the_cells(void **state)
{
    (void)state;
    scene s;
    scene_of(&s, &variants[2]);
    const att_tensor all = images_of(&s.data.valid.image_grids);
    const att_generate_options options = { .size = sizeof(att_generate_options),
                                           .attention = true };
    att_outputs *outputs;
    assert_int_equal(att_model_caption(&outputs, s.model, &all, &options, NULL), ATT_OK);
    const att_output *output = att_outputs_get(outputs, 0);
    assert_int_equal(output->grid_rows, 6); /* 24 halved twice */
    assert_int_equal(output->grid_columns, 6);
    assert_string_equal(output->source_tokens[7], "2,2");
    for (int64_t t = 0; t < output->target_count; t++) {
        double sum = 0;
        for (int64_t i = 0; i < output->source_count; i++)
            sum += output->weights[t * output->source_count + i];
        assert_true(fabs(sum - 1) < 1e-5);
    }
    att_outputs_free(outputs);
    scene_free(&s);
}

static uint64_t trained_bits(const variant *row)
{
    scene s;
    scene_of(&s, row);
    att_loss_result whole = { 0 };
    att_tape_begin(s.tape, true, 3, 1);
    att_node *loss = att_model_loss(s.model, s.tape, att_batches_get(s.batches, 0), NULL, &whole);
    assert_int_equal(att_tape_backward(s.tape, loss, 1, NULL), ATT_OK);
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    const unsigned char *bytes = (const unsigned char *)s.model->params.grad;
    for (size_t i = 0; i < s.model->params.size * sizeof(float); i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    scene_free(&s);
    return hash;
}

static void gradients_do_not_depend_on_threads(void **state)
{
    (void)state;
    EACH_VARIANT(row)
    {
        att_threads_set(1);
        uint64_t one = trained_bits(row);
        att_threads_set(3);
        uint64_t three = trained_bits(row);
        att_threads_set(0);
        if (one != three)
            fail_msg("%s: gradients differ with three threads", row->name);
    }
}

/* Row r of a batch as a batch of one row. */
static att_batch row_of(const att_batch *batch, int64_t r)
{
    att_batch one = *batch;
    one.rows = 1;
    one.image_grid += r * batch->cells * batch->depth;
    one.source_lengths += r;
    one.target_in += r * batch->target_length;
    one.target_out += r * batch->target_length;
    one.target_lengths += r;
    one.pair_index += r;
    return one;
}

static double loss_of(scene *s, const att_batch *batch, bool learn)
{
    const att_loss_options loss_options = { .seed = 3, .step = 5 };
    att_loss_result whole = { 0 };
    att_tape_begin(s->tape, learn, 3, 5);
    assert_non_null(att_model_loss(s->model, s->tape, batch, &loss_options, &whole));
    return whole.loss;
}

static void word_dropout_acts_in_training_only_and_the_same_in_any_batch(void **state)
{
    (void)state;
    EACH_VARIANT(row)
    {
        scene s;
        scene_with(&s, row, "0");
        const att_batch *batch = att_batches_get(s.batches, 0);
        double dropped = loss_of(&s, batch, true), whole = loss_of(&s, batch, false), alone = 0;
        for (int64_t r = 0; r < batch->rows; r++) {
            const att_batch one = row_of(batch, r);
            alone += loss_of(&s, &one, true);
        }
        assert_true(s.settings->word_dropout > 0);
        if (dropped == whole || fabs(dropped - alone) > 1e-12 * dropped)
            fail_msg("%s: %.17g in training, %.17g alone, %.17g otherwise", row->name, dropped,
                     alone, whole);
        s.settings->word_dropout = 0;
        assert_true(loss_of(&s, batch, true) == whole);
        scene_free(&s);
    }
}

static void a_decoder_that_starts_from_nothing_has_no_parameters_for_it(void **state)
{
    (void)state;
    for (int starts = 0; starts < 2; starts++) {
        const variant row = { "start", { { "init-from-image", starts ? "yes" : "no" } } };
        scene s;
        scene_of(&s, &row);
        assert_int_equal(att_params_find(&s.model->params, "start.0.w") >= 0, starts);
        scene_free(&s);
    }
}

static void assert_refused(const char *const given[][2], const char *message)
{
    att_settings *settings;
    att_error err = { 0 };
    att_model *model = NULL;
    assert_int_equal(att_settings_new(&settings, "shapes", NULL), ATT_OK);
    for (int i = 0; given[i][0]; i++)
        set(settings, given[i][0], given[i][1]);
    att_vocab *words;
    const char *const tokens[] = { "a" };
    assert_int_equal(att_vocab_from_tokens(&words, ATT_TOKENIZER_WORD, false, tokens, 1, NULL),
                     ATT_OK);
    assert_int_equal(att_model_new(&model, settings, NULL, words, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, message);
    att_vocab_free(words);
    att_settings_free(settings);
}

static void impossible_settings_are_refused(void **state)
{
    (void)state;
    static const char *const local[][2] = { { "attention", "local" }, { NULL, NULL } };
    assert_refused(local, "attention local needs a source sequence, and images have none");
    static const char *const tied[][2] = { { "architecture", "transformer" },
                                           { "tie-embeddings", "all" },
                                           { NULL, NULL } };
    assert_refused(tied, "tie-embeddings all needs source tokens, and images have none");
    static const char *const tiny[][2] = {
        { "image-rows", "3" }, { "image-columns", "9" }, { "image-depth", "3" }, { NULL, NULL }
    };
    assert_refused(tiny, "images of 3 × 9 cells with 3 channels are too small for 2 convolutions");
}

static void images_of_another_size_are_refused(void **state)
{
    (void)state;
    scene s;
    scene_of(&s, &variants[2]);
    static const float values[2 * 4 * 4 * 3] = { 0 };
    const att_tensor small = att_tensor_view(values, ATT_F32, 4, (int64_t[]){ 2, 4, 4, 3 });
    att_outputs *outputs;
    att_error err = { 0 };
    assert_int_equal(att_model_caption(&outputs, s.model, &small, NULL, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message,
                        "expected images of 24 × 24 cells with 3 channels, found 4 × 4 with 3");
    static const char *const line = "a";
    assert_int_equal(att_model_generate(&outputs, s.model, &line, 1, NULL, &err), ATT_BAD_INPUT);
    scene_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forced_decoding_has_the_bits_of_the_loss),
        cmocka_unit_test(an_output_is_the_same_alone_and_in_a_batch),
        cmocka_unit_test(attention_is_spread_over_the_cells),
        cmocka_unit_test(gradients_do_not_depend_on_threads),
        cmocka_unit_test(word_dropout_acts_in_training_only_and_the_same_in_any_batch),
        cmocka_unit_test(a_decoder_that_starts_from_nothing_has_no_parameters_for_it),
        cmocka_unit_test(impossible_settings_are_refused),
        cmocka_unit_test(images_of_another_size_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
