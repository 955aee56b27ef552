/* Every variant of the seq2seq architectures: each one learns, its gradient is right, and training
 * (teacher forcing) and step-wise decoding compute the same bits. */
#include "base/cpu.h"
#include "decode/beam_search.h"
#include "model/model_help.h"
#include "model/quantize_help.h"

#include <math.h>

#define EACH_VARIANT(row) for (const variant *row = variants; row->name; row++)

/* ---- learning */

/* A parameter without a gradient would be useless. */
static void every_parameter_of_every_variant_gets_a_gradient(void **state)
{
    (void)state;
    EACH_VARIANT(row)
    {
        scene s;
        scene_of(&s, row);
        scene_learn(&s, 1, NULL); /* parameters that start at zero block gradients at first */
        scene_backward(&s, att_batches_get(s.batches, 0), NULL);
        const att_params *params = &s.model->params;
        for (int i = 0; i < params->count; i++) {
            const att_param *param = &params->items[i];
            double sum = 0;
            for (size_t j = 0; j < param->count; j++)
                sum += fabs((double)params->grad[param->offset + j]);
            if (!(sum > 0))
                fail_msg("%s: no gradient for %s", row->name, param->name);
        }
        scene_free(&s);
    }
}

static void every_variant_learns(void **state)
{
    (void)state;
    EACH_VARIANT(row)
    {
        scene s;
        scene_of(&s, row);
        double before = scene_learn(&s, 1, NULL), after = scene_learn(&s, 40, NULL);
        if (!(after < 0.6 * before))
            fail_msg("%s: loss %g per token at first, %g after 40 epochs", row->name, before,
                     after);
        scene_free(&s);
    }
}

/* The slope of the loss along a direction of all parameters at once, by differences, agrees with
 * the gradient. */
static void the_gradient_points_where_the_loss_rises(void **state)
{
    (void)state;
    EACH_VARIANT(row)
    {
        scene s;
        scene_of(&s, row);
        scene_learn(&s, 3, NULL);
        const att_batch *batch = att_batches_get(s.batches, 0);
        att_params *params = &s.model->params;
        scene_backward(&s, batch, NULL);
        double norm = 0;
        for (size_t i = 0; i < params->size; i++)
            norm += (double)params->grad[i] * (double)params->grad[i];
        norm = sqrt(norm);
        double loss[2];
        const double reach = 0.01; /* along the unit vector of the gradient */
        for (int side = 0; side < 2; side++) {
            double by = (side ? 1 : -2) * reach / norm; /* from the middle to -reach, to +reach */
            by = side ? 2 * reach / norm : -reach / norm;
            for (size_t i = 0; i < params->size; i++)
                params->value[i] += (float)(by * (double)params->grad[i]);
            att_params_mark_changed(params);
            att_loss_result result = { 0 };
            att_tape_begin(s.tape, false, 0, 0);
            att_model_loss(s.model, s.tape, batch, NULL, &result);
            loss[side] = result.loss / (double)result.tokens;
        }
        double slope = (loss[1] - loss[0]) / (2 * reach);
        /* Between the two lies the curvature of third order, and rounding: eps loss / reach. */
        if (!(fabs(slope - norm) < 0.02 * norm + 1e-4))
            fail_msg("%s: the gradient says %g, the difference %g", row->name, norm, slope);
        scene_free(&s);
    }
}

static void smoothing_and_given_alignments_change_the_loss_and_not_the_counts(void **state)
{
    (void)state;
    scene s;
    scene_new(&s, (setting_pair[]){ { "attention", "general" } }, 1);
    const att_batch *batch = att_batches_get(s.batches, 0);
    att_loss_result plain = { 0 }, smoothed = { 0 };
    att_tape_begin(s.tape, false, 0, 0);
    float a = att_model_loss(s.model, s.tape, batch, NULL, &plain)->value[0];
    att_tape_begin(s.tape, false, 0, 0);
    const att_loss_options loss_options = { .label_smoothing = 0.3f };
    float b = att_model_loss(s.model, s.tape, batch, &loss_options, &smoothed)->value[0];
    assert_true(a != b);
    assert_true(plain.loss == smoothed.loss);
    assert_int_equal(plain.correct, smoothed.correct);
    assert_true(fabs((double)a - plain.loss) < 1e-5 * plain.loss);
    scene_free(&s);
}

/* Guided alignment to the reversed position moves the attention there. */
static void alignments_train_attention(void **state)
{
    (void)state;
    scene s;
    scene_new(&s, (setting_pair[]){ { "attention", "additive" }, { 0 } }, 2);
    s.settings->guided_alignment = "given"; /* as with files: a loss acts on the weights */
    s.settings->guided_alignment_weight = 1;
    att_model_free(s.model);
    att_tape_free(s.tape);
    assert_int_equal(
        att_model_new(&s.model, s.settings, s.data.source_vocab, s.data.target_vocab, NULL),
        ATT_OK);
    assert_int_equal(att_params_alloc_grad(&s.model->params, NULL), ATT_OK);
    assert_int_equal(att_tape_new_training(&s.tape, &s.model->params, NULL), ATT_OK);
    att_batch batch = *att_batches_get(s.batches, 0);
    int32_t align[512];
    assert_true(batch.rows * batch.target_length <= 512);
    for (int64_t r = 0; r < batch.rows; r++)
        for (int64_t t = 0; t < batch.target_length; t++)
            align[r * batch.target_length + t] =
                t + 1 < batch.target_lengths[r] ? (int32_t)(batch.source_lengths[r] - 1 - t) : -1;
    float without = 0, with = 0;
    for (int i = 0; i < 2; i++) {
        batch.alignment = i ? align : NULL;
        att_tape_begin(s.tape, false, 0, 0);
        float loss = att_model_loss(s.model, s.tape, &batch, NULL, NULL)->value[0];
        *(i ? &with : &without) = loss;
    }
    assert_true(with > without);
    double first = 0, last = 0;
    for (int i = 0; i < 60; i++) {
        batch.alignment = align;
        scene_backward(&s, &batch, NULL);
        const att_optimizer_step_options step = { ++s.steps, 0.02, 1 };
        att_optimizer_step(&s.optimizer, s.settings, s.model->params.value, s.model->params.grad,
                           &step);
        att_params_mark_changed(&s.model->params);
        att_tape_begin(s.tape, false, 0, 0);
        double both = (double)att_model_loss(s.model, s.tape, &batch, NULL, NULL)->value[0];
        batch.alignment = NULL;
        att_tape_begin(s.tape, false, 0, 0);
        last = both - (double)att_model_loss(s.model, s.tape, &batch, NULL, NULL)->value[0];
        first = i == 0 ? last : first;
    }
    assert_true(last < 0.3 * first);
    scene_free(&s);
}

/* ---- scheduled sampling */

static float sampled_loss(scene *s, const att_batch *batch, const att_loss_options *loss_options)
{
    att_tape_begin(s->tape, false, 0, 0);
    att_node *loss = att_model_loss(s->model, s->tape, batch, loss_options, NULL);
    assert_non_null(loss);
    return loss->value[0];
}

static void scheduled_sampling_feeds_predictions_at_the_given_rate_and_is_reproducible(void **state)
{
    (void)state;
    EACH_VARIANT(row)
    {
        if (is_transformer(row))
            continue; /* Transformers have no scheduled sampling */
        scene s;
        scene_of(&s, row);
        const att_batch *batch = att_batches_get(s.batches, 0);
        const att_loss_options always = { .scheduled_sampling = 1, .seed = 5, .step = 1 };
        const att_loss_options half = { .scheduled_sampling = 0.5f, .seed = 5, .step = 1 };
        const att_loss_options later = { .scheduled_sampling = 0.5f, .seed = 5, .step = 2 };
        const att_loss_options hardly = { .scheduled_sampling = 1e-30f, .seed = 5, .step = 1 };
        float whole = sampled_loss(&s, batch, NULL), some = sampled_loss(&s, batch, &half);
        assert_true(sampled_loss(&s, batch, &half) == some);
        assert_true(sampled_loss(&s, batch, &hardly) == whole); /* step by step, the same bits */
        assert_true(sampled_loss(&s, batch, &later) != some);
        assert_true(sampled_loss(&s, batch, &always) != whole);
        scene_free(&s);
    }
}

/* ---- decoding */

static att_sources sources_of(const att_batch *batch)
{
    return att_batch_sources(batch);
}

/* Forced decoding of the references gives, token for token, the probabilities of the loss. */
static void check_forced_decoding(scene *s, const char *name)
{
    const att_batch *batch = att_batches_get(s->batches, 0);
    att_loss_result whole = { 0 };
    att_tape_begin(s->tape, false, 0, 0);
    att_model_loss(s->model, s->tape, batch, NULL, &whole);

    att_beam_search *search;
    static const att_decoding_options greedy = ATT_INIT(att_decoding_options);
    assert_int_equal(att_beam_search_new(&search, s->model, &greedy, NULL), ATT_OK);
    att_forced_tokens forced[64];
    assert_true(batch->rows <= 64);
    for (int64_t r = 0; r < batch->rows; r++)
        forced[r] = (att_forced_tokens){ batch->target_out + r * batch->target_length,
                                         (size_t)batch->target_lengths[r] - 1, .ends_after = true };
    const att_sources sources = sources_of(batch);
    const att_search_batch task = { .sources = &sources, .forced = forced };
    assert_int_equal(att_beam_search_run(search, &task, NULL), ATT_OK);
    double loss = 0; /* floats added in the order of the batch: the same double */
    for (int64_t r = 0; r < batch->rows; r++) {
        int64_t count;
        const att_hypothesis *found = att_beam_search_hypotheses(search, r, &count);
        assert_int_equal(count, 1);
        assert_int_equal(found->count, batch->target_lengths[r]);
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
        scene_learn(&s, 2, NULL);
        check_forced_decoding(&s, row->name);
        quantize_in_place(&s.model, &s.tape);
        check_forced_decoding(&s, row->name);
        scene_free(&s);
    }
}

enum { MOST_MAPS = 8 };

/* Rows that are dropped, forked and reordered between steps have the results of single rows. */
static void rows_can_be_reordered_between_steps(void **state)
{
    (void)state;
    EACH_VARIANT(row)
    {
        scene s;
        scene_of(&s, row);
        scene_learn(&s, 1, NULL);
        static const int32_t ids[] = { 3, 4, 5, 6, 4, ATT_ID_PAD, 5, 5, ATT_ID_PAD };
        static const int64_t lengths[] = { 3, 2, 2 };
        const att_sources all = { .rows = 3, .length = 3, .ids = ids, .lengths = lengths };
        const att_sources alone = {
            .rows = 1, .length = 2, .ids = ids + 3, .lengths = lengths + 1
        };
        att_decoder *decoder;
        att_decoder_output out;
        float wanted[16], weights[2 * MOST_MAPS] = { 0 };
        int64_t vocabulary = att_vocab_size(s.data.target_vocab);
        assert_true(vocabulary <= 16);
        assert_int_equal(att_decoder_new(&decoder, s.model, NULL), ATT_OK);
        decoder->want_attention = true;

        assert_int_equal(att_decoder_start(decoder, &alone, NULL), ATT_OK);
        static const int32_t path[] = { ATT_ID_BOS, 4, 5 };
        for (int t = 0; t < 3; t++)
            assert_int_equal(att_decoder_step(decoder, 1, path + t, NULL, &out, NULL), ATT_OK);
        memcpy(wanted, out.log_probs, (size_t)vocabulary * sizeof *wanted);
        assert_true(out.attention_maps <= MOST_MAPS);
        if (out.attention)
            memcpy(weights, out.attention, (size_t)out.attention_maps * 2 * sizeof *weights);

        /* Source 1 as row 0, then twice, then as the last of four. */
        assert_int_equal(att_decoder_start(decoder, &all, NULL), ATT_OK);
        assert_int_equal(att_decoder_step(decoder, 2, (int32_t[]){ ATT_ID_BOS, ATT_ID_BOS },
                                          (int64_t[]){ 1, 2 }, &out, NULL),
                         ATT_OK);
        assert_int_equal(att_decoder_step(decoder, 4, (int32_t[]){ 3, 4, 6, 4 },
                                          (int64_t[]){ 0, 1, 0, 0 }, &out, NULL),
                         ATT_OK);
        assert_int_equal(att_decoder_step(decoder, 4, (int32_t[]){ 3, 6, 5, 5 },
                                          (int64_t[]){ 0, 2, 1, 3 }, &out, NULL),
                         ATT_OK);
        assert_memory_equal(out.log_probs + 3 * vocabulary, wanted,
                            (size_t)vocabulary * sizeof *wanted);
        for (int64_t map = 0; out.attention && map < out.attention_maps; map++)
            assert_memory_equal(out.attention + (3 * out.attention_maps + map) * 3,
                                weights + 2 * map, 2 * sizeof *weights);
        att_decoder_free(decoder);
        scene_free(&s);
    }
}

/* ---- the same bits */

static uint64_t trained_bits(const variant *row)
{
    scene s;
    scene_of(&s, row);
    scene_learn(&s, 2, &(att_loss_options){ .scheduled_sampling = 0.2f, .seed = 3, .step = 9 });
    uint64_t h =
        hash_bytes(HASH_START, s.model->params.value, s.model->params.size * sizeof(float));
    scene_free(&s);
    return h;
}

static void training_has_the_same_bits_at_any_number_of_threads(void **state)
{
    (void)state;
    EACH_VARIANT(row)
    {
        att_threads_set(1);
        uint64_t one = trained_bits(row);
        att_threads_set(3);
        if (trained_bits(row) != one)
            fail_msg("%s", row->name);
        att_threads_set(0);
    }
}

/* ---- settings that are refused */

static void assert_refused(const setting_pair *set, size_t count, const char *message)
{
    scene s;
    scene_new(&s, NULL, 0);
    att_model *model;
    att_error err = { 0 };
    for (size_t i = 0; i < count; i++)
        scene_set(&s, set[i].key, set[i].value);
    assert_int_equal(
        att_model_new(&model, s.settings, s.data.source_vocab, s.data.target_vocab, &err),
        ATT_BAD_INPUT);
    assert_null(model);
    assert_string_equal(err.message, message);
    scene_free(&s);
}

static void settings_that_no_model_can_have_are_refused(void **state)
{
    (void)state;
    assert_refused((setting_pair[]){ { "hidden-size", "11" }, { "bidirectional", "yes" } }, 2,
                   "hidden-size 11 is odd, and bidirectional needs half of it per direction");
    assert_refused((setting_pair[]){ { "attention", "location" }, { "max-length", "0" } }, 2,
                   "attention location needs max-length, the number of learned positions");
    assert_refused((setting_pair[]){ { "positions", "rotary" } }, 1,
                   "positions rotary needs architecture transformer, because it rotates queries "
                   "and keys");
    assert_refused((setting_pair[]){ { "tie-embeddings", "all" } }, 1,
                   "tie-embeddings all needs architecture transformer");
    assert_refused((setting_pair[]){ { "positions", "learned" }, { "max-length", "0" } }, 2,
                   "positions learned needs a max-length: the number of positions to learn");
}

static void settings_that_no_transformer_can_have_are_refused(void **state)
{
    (void)state;
    static const struct {
        setting_pair set[6];
        const char *message;
    } rows[] = {
        { { { "hidden-size", "12" }, { "heads", "5" } },
          "hidden-size 12 is not a multiple of heads 5" },
        { { { "hidden-size", "12" }, { "heads", "4" }, { "kv-heads", "3" } },
          "heads 4 is not a multiple of kv-heads 3" },
        { { { "hidden-size", "12" }, { "heads", "4" }, { "positions", "rotary" } },
          "positions rotary needs an even head size, and it is 3: hidden-size 12 divided by heads "
          "4" },
        { { { "hidden-size", "9" }, { "heads", "3" }, { "positions-join", "concat" } },
          "hidden-size 9 is odd, and positions-join concat splits it between tokens and "
          "positions" },
        { { { "hidden-size", "12" },
            { "tie-embeddings", "output" },
            { "positions-join", "concat" } },
          "tie-embeddings contradicts positions-join concat: an embedding of half the hidden size "
          "cannot be the output layer" },
        { { { "hidden-size", "12" }, { "positions", "learned" }, { "max-length", "0" } },
          "positions learned needs max-length, the number of learned positions" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        setting_pair set[8] = { { "architecture", "transformer" } };
        size_t count = 1;
        for (const setting_pair *pair = rows[i].set; pair->key; pair++)
            set[count++] = *pair;
        assert_refused(set, count, rows[i].message);
    }
}

static void a_source_beyond_the_positions_of_location_attention_is_refused(void **state)
{
    (void)state;
    scene s;
    scene_new(&s, (setting_pair[]){ { "attention", "location" }, { "max-length", "5" } }, 2);
    static const int32_t ids[] = { 3, 4, 5, 6, 4, 3 };
    static const int64_t lengths[] = { 6 };
    att_decoder *decoder;
    att_error err = { 0 };
    assert_int_equal(att_decoder_new(&decoder, s.model, NULL), ATT_OK);
    assert_int_equal(
        att_decoder_start(decoder,
                          &(att_sources){ .rows = 1, .length = 6, .ids = ids, .lengths = lengths },
                          &err),
        ATT_BAD_INPUT);
    assert_string_equal(err.message, "expected at most 5 source tokens, found 6");
    att_decoder_free(decoder);
    scene_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_parameter_of_every_variant_gets_a_gradient),
        cmocka_unit_test(every_variant_learns),
        cmocka_unit_test(the_gradient_points_where_the_loss_rises),
        cmocka_unit_test(smoothing_and_given_alignments_change_the_loss_and_not_the_counts),
        cmocka_unit_test(alignments_train_attention),
        cmocka_unit_test(
            scheduled_sampling_feeds_predictions_at_the_given_rate_and_is_reproducible),
        cmocka_unit_test(forced_decoding_has_the_bits_of_the_loss),
        cmocka_unit_test(rows_can_be_reordered_between_steps),
        cmocka_unit_test(training_has_the_same_bits_at_any_number_of_threads),
        cmocka_unit_test(settings_that_no_model_can_have_are_refused),
        cmocka_unit_test(settings_that_no_transformer_can_have_are_refused),
        cmocka_unit_test(a_source_beyond_the_positions_of_location_attention_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
