/* Every variant of classifiers: each one learns, its gradient is right, and training and
 * classification compute the same bits. */
#include "model/classifier_help.h"

#include "base/cpu.h"
#include "base/file.h"

#include <math.h>

#define EACH_VARIANT(row) for (const variant *row = label_variants; row->name; row++)

/* ---- learning */

static double gradient_of(const att_params *params, int index)
{
    const att_param *param = &params->items[index];
    double sum = 0;
    for (size_t j = 0; j < param->count; j++)
        sum += fabs((double)params->grad[param->offset + j]);
    return sum;
}

static void every_parameter_of_every_variant_gets_a_gradient(void **state)
{
    (void)state;
    EACH_VARIANT(row)
    {
        scene s;
        label_scene_of(&s, row);
        scene_learn(&s, 1, NULL);
        scene_backward(&s, att_batches_get(s.batches, 0), NULL);
        for (int i = 0; i < s.model->params.count; i++)
            if (!(gradient_of(&s.model->params, i) > 0))
                fail_msg("%s: no gradient for %s", row->name, s.model->params.items[i].name);
        scene_free(&s);
    }
}

static void every_variant_learns(void **state)
{
    (void)state;
    EACH_VARIANT(row)
    {
        scene s;
        label_scene_of(&s, row);
        double before = scene_learn(&s, 1, NULL), after = scene_learn(&s, 60, NULL);
        if (!(after < 0.6 * before))
            fail_msg("%s: loss %g per sentence at first, %g after 60 epochs", row->name, before,
                     after);
        scene_free(&s);
    }
}

static void a_label_out_of_range_has_neither_loss_nor_gradient(void **state)
{
    (void)state;
    scene s;
    label_scene_new(&s, NULL, 0);
    const int32_t odd[] = { ATT_ID_PAD, ATT_ID_BOS, att_vocab_size(s.model->target_vocab),
                            INT32_MIN };
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        att_batch batch = *att_batches_get(s.batches, 0);
        int32_t labels[128];
        assert_true(batch.rows * batch.target_length <= 128);
        memcpy(labels, batch.target_out,
               (size_t)(batch.rows * batch.target_length) * sizeof *labels);
        labels[0] = odd[i];
        batch.target_out = labels;
        att_error err = { 0 };
        att_tape_begin(s.tape, true, 1, 0);
        assert_null(att_model_loss(s.model, s.tape, &batch, NULL, NULL));
        assert_int_equal(att_tape_status(s.tape, &err), ATT_BAD_INPUT);
        assert_non_null(strstr(err.message, "expected a label from 3 to 5, found the token id"));
    }
    scene_free(&s);
}

/* The loss at -reach or +reach along the unit vector of the gradient. */
static double loss_along(scene *s, const att_batch *batch, double by)
{
    att_params *params = &s->model->params;
    att_loss_result result = { 0 };
    for (size_t i = 0; i < params->size; i++)
        params->value[i] += (float)(by * (double)params->grad[i]);
    att_params_mark_changed(params);
    att_tape_begin(s->tape, false, 0, 0);
    att_model_loss(s->model, s->tape, batch, NULL, &result);
    return result.loss / (double)result.tokens;
}

static void the_gradient_points_where_the_loss_rises(void **state)
{
    (void)state;
    const double reach = 0.01;
    EACH_VARIANT(row)
    {
        scene s;
        label_scene_of(&s, row);
        scene_learn(&s, 3, NULL);
        const att_batch *batch = att_batches_get(s.batches, 0);
        scene_backward(&s, batch, NULL);
        double norm = 0;
        for (size_t i = 0; i < s.model->params.size; i++)
            norm += (double)s.model->params.grad[i] * (double)s.model->params.grad[i];
        norm = sqrt(norm);
        double below = loss_along(&s, batch, -reach / norm);
        double above = loss_along(&s, batch, 2 * reach / norm);
        double slope = (above - below) / (2 * reach);
        /* Between the two lies the curvature of third order, and rounding: eps loss / reach. The
         * maximum has corners. */
        double within = strstr(row->name, "max") ? 0.1 : 0.02;
        if (!(fabs(slope - norm) < within * norm + 1e-4))
            fail_msg("%s: the gradient says %g, the difference %g", row->name, norm, slope);
        scene_free(&s);
    }
}

static void word_dropout_acts_in_training_only_and_the_same_in_any_batch(void **state)
{
    (void)state;
    scene s;
    label_scene_new(&s, (setting_pair[]){ { "word-dropout", "0.5" } }, 1);
    const att_batch *batch = att_batches_get(s.batches, 0);
    const att_loss_options loss_options = { .seed = 3, .step = 5 };
    double sums[3] = { 0 };
    for (int learn = 0; learn < 2; learn++) {
        att_loss_result result = { 0 };
        att_tape_begin(s.tape, learn, 3, 5);
        att_model_loss(s.model, s.tape, batch, &loss_options, &result);
        sums[learn] = result.loss;
    }
    assert_true(sums[0] != sums[1]);
    for (int64_t r = 0; r < batch->rows; r++) {
        att_batch one = *batch;
        one.rows = 1;
        one.source += r * batch->source_length;
        one.source_lengths += r;
        one.target_out += r;
        one.pair_index += r;
        att_loss_result result = { 0 };
        att_tape_begin(s.tape, true, 3, 5);
        att_model_loss(s.model, s.tape, &one, &loss_options, &result);
        sums[2] += result.loss;
    }
    assert_true(sums[1] == sums[2]);
    scene_free(&s);
}

/* The stop token is read only where its state stands for the sentence (pool stop). */
static void the_stop_token_is_trained_only_where_it_stands_for_the_sentence(void **state)
{
    (void)state;
    for (int stop = 0; stop < 2; stop++) {
        scene s;
        label_scene_new(&s, (setting_pair[]){ { "pool", stop ? "stop" : "last" } }, 1);
        scene_backward(&s, att_batches_get(s.batches, 0), NULL);
        const att_params *params = &s.model->params;
        const att_param *table = &params->items[att_params_find(params, "source.embed")];
        const float *row = params->grad + table->offset + ATT_ID_EOS * table->shape[1];
        double sum = 0;
        for (int64_t j = 0; j < table->shape[1]; j++)
            sum += fabs((double)row[j]);
        assert_true(stop ? sum > 0 : sum == 0);
        scene_free(&s);
    }
}

/* ---- classification */

/* The log-probabilities [rows,V] and weights of a batch, in the decoder's memory. */
static void decide(att_decoder *decoder, const att_sources *sources, att_decoder_output *out)
{
    int32_t starts[128];
    att_error err = { 0 };
    assert_true(sources->rows <= 128);
    for (int i = 0; i < 128; i++)
        starts[i] = ATT_ID_BOS;
    decoder->want_attention = true;
    if (att_decoder_start(decoder, sources, &err) != ATT_OK ||
        att_decoder_step(decoder, sources->rows, starts, NULL, out, &err) != ATT_OK)
        fail_msg("%s", err.message);
}

static void classifying_gives_the_probabilities_that_the_loss_is_made_of(void **state)
{
    (void)state;
    EACH_VARIANT(row)
    {
        scene s;
        label_scene_of(&s, row);
        scene_learn(&s, 3, NULL);
        att_decoder *decoder;
        assert_int_equal(att_decoder_new(&decoder, s.model, NULL), ATT_OK);
        int64_t vocabulary = att_vocab_size(s.data.target_vocab), right = 0;
        for (int64_t i = 0; i < att_batches_count(s.batches); i++) {
            const att_batch *batch = att_batches_get(s.batches, i);
            const att_sources sources = att_batch_sources(batch);
            att_loss_result result = { 0 };
            att_decoder_output decoded;
            att_tape_begin(s.tape, false, 0, 0);
            att_model_loss(s.model, s.tape, batch, NULL, &result);
            decide(decoder, &sources, &decoded);
            double sum = 0;
            right = 0;
            for (int64_t r = 0; r < batch->rows; r++) {
                const float *log_probs = decoded.log_probs + r * vocabulary;
                int32_t best = ATT_ID_FIRST;
                for (int32_t id = 0; id < vocabulary; id++) {
                    assert_true(isfinite(log_probs[id]) ? id >= ATT_ID_FIRST : id < ATT_ID_FIRST);
                    best = log_probs[id] > log_probs[best] ? id : best;
                }
                sum -= (double)log_probs[batch->target_out[r]];
                right += best == batch->target_out[r];
            }
            if (!(fabs(sum - result.loss) <= 4e-7 * (double)batch->rows * (1 + result.loss)))
                fail_msg("%s: %.9g and %.9g", row->name, sum, result.loss);
            assert_int_equal(right, result.correct);
        }
        att_decoder_free(decoder);
        scene_free(&s);
    }
}

/* One sentence of a batch as a batch of one row, without padding. */
static att_sources alone(const att_sources *all, int64_t r)
{
    return (att_sources){ .rows = 1,
                          .length = all->lengths[r],
                          .ids = all->ids + r * all->length,
                          .words = all->words ? all->words + r * all->length : NULL,
                          .lengths = all->lengths + r };
}

static void a_sentence_is_classified_with_the_same_bits_alone_and_in_a_batch(void **state)
{
    (void)state;
    EACH_VARIANT(row)
    {
        scene s;
        label_scene_of(&s, row);
        scene_learn(&s, 2, NULL);
        att_decoder *together, *single;
        assert_int_equal(att_decoder_new(&together, s.model, NULL), ATT_OK);
        assert_int_equal(att_decoder_new(&single, s.model, NULL), ATT_OK);
        att_batches_start_sequential(s.batches); /* of many lengths in one batch */
        const att_batch *batch = att_batches_get(s.batches, 0);
        const att_sources all = att_batch_sources(batch);
        att_decoder_output many, one;
        decide(together, &all, &many);
        int64_t vocabulary = att_vocab_size(s.data.target_vocab);
        for (int64_t r = 0; r < all.rows; r++) {
            const att_sources source = alone(&all, r);
            decide(single, &source, &one);
            if (memcmp(one.log_probs, many.log_probs + r * vocabulary,
                       (size_t)vocabulary * sizeof(float)) != 0)
                fail_msg("%s: row %lld", row->name, (long long)r);
            assert_int_equal(one.attention != NULL, many.attention != NULL);
            for (int64_t i = 0; one.attention && i < one.attention_maps * source.length; i++) {
                int64_t map = i / source.length, at = i % source.length;
                const float *weights =
                    many.attention + (r * many.attention_maps + map) * all.length;
                assert_true(one.attention[i] == weights[at]);
            }
        }
        att_decoder_free(together);
        att_decoder_free(single);
        scene_free(&s);
    }
}

static void rows_of_a_step_can_be_picked_and_doubled(void **state)
{
    (void)state;
    scene s;
    label_scene_new(&s, NULL, 0);
    att_decoder *decoder;
    assert_int_equal(att_decoder_new(&decoder, s.model, NULL), ATT_OK);
    const att_batch *batch = att_batches_get(s.batches, 0);
    const att_sources sources = att_batch_sources(batch);
    att_decoder_output plain, picked;
    decide(decoder, &sources, &plain);
    size_t vocabulary = (size_t)att_vocab_size(s.data.target_vocab);
    float saved[2][16];
    assert_true(vocabulary <= 16 && batch->rows > 1);
    memcpy(saved[0], plain.log_probs, vocabulary * sizeof(float));
    memcpy(saved[1], plain.log_probs + vocabulary, vocabulary * sizeof(float));
    const int32_t starts[3] = { ATT_ID_BOS, ATT_ID_BOS, ATT_ID_BOS };
    const int64_t order[3] = { 1, 0, 1 };
    assert_int_equal(att_decoder_step(decoder, 3, starts, order, &picked, NULL), ATT_OK);
    for (size_t r = 0; r < 3; r++)
        assert_memory_equal(picked.log_probs + r * vocabulary, saved[order[r]],
                            vocabulary * sizeof(float));
    att_decoder_free(decoder);
    scene_free(&s);
}

static void attention_weighs_the_words_of_a_sentence_and_other_pools_have_no_weights(void **state)
{
    (void)state;
    EACH_VARIANT(row)
    {
        scene s;
        label_scene_of(&s, row);
        att_decoder *decoder;
        att_decoder_output decoded;
        assert_int_equal(att_decoder_new(&decoder, s.model, NULL), ATT_OK);
        const att_sources sources = att_batch_sources(att_batches_get(s.batches, 0));
        decide(decoder, &sources, &decoded);
        bool attends = s.settings->pool == ATT_POOL_ATTENTION;
        assert_int_equal(decoded.attention != NULL, attends);
        for (int64_t i = 0; attends && i < sources.rows * decoded.attention_maps; i++) {
            double sum = 0;
            for (int64_t t = 0; t < sources.length; t++) {
                float weight = decoded.attention[i * sources.length + t];
                assert_true(weight >= 0);
                assert_true(t < sources.lengths[i / decoded.attention_maps] || weight == 0);
                sum += (double)weight;
            }
            assert_true(fabs(sum - 1) < 1e-6);
        }
        att_decoder_free(decoder);
        scene_free(&s);
    }
}

/* ---- reproducibility */

static uint64_t hash_of_run(const variant *row)
{
    scene s;
    label_scene_of(&s, row);
    s.settings->dropout = 0.3;
    s.settings->word_dropout = 0.3;
    const att_loss_options loss_options = { .label_smoothing = 0.1f, .seed = 2, .step = 9 };
    scene_learn(&s, 2, &loss_options);
    uint64_t hash =
        hash_bytes(HASH_START, s.model->params.value, s.model->params.size * sizeof(float));
    scene_free(&s);
    return hash;
}

static void training_gives_the_same_bits_on_every_instruction_set_and_number_of_threads(
    void **state)
{
    (void)state;
    EACH_VARIANT(row)
    {
        uint64_t wanted = hash_of_run(row);
        ATT_FOR_EACH_CPU (cpu)
            for (int threads = 1; threads <= 3; threads += 2) {
                assert_true(att_cpu_set((att_cpu)cpu));
                att_threads_set(threads);
                uint64_t got = hash_of_run(row);
                att_threads_set(0);
                if (got != wanted)
                    fail_msg("%s: bits differ on instruction set %d with %d threads", row->name,
                             cpu, threads);
            }
    }
}

/* ---- calibration */

static void a_temperature_changes_probabilities_and_no_label(void **state)
{
    (void)state;
    scene s;
    label_scene_new(&s, NULL, 0);
    scene_learn(&s, 10, NULL);
    att_decoder *decoder;
    assert_int_equal(att_decoder_new(&decoder, s.model, NULL), ATT_OK);
    const att_sources sources = att_batch_sources(att_batches_get(s.batches, 0));
    int64_t vocabulary = att_vocab_size(s.data.target_vocab);
    float saved[128 * 8];
    att_decoder_output decoded;
    decide(decoder, &sources, &decoded);
    assert_true(sources.rows * vocabulary <= 128 * 8);
    memcpy(saved, decoded.log_probs, (size_t)(sources.rows * vocabulary) * sizeof(float));
    s.model->temperature = 2;
    decide(decoder, &sources, &decoded);
    for (int64_t r = 0; r < sources.rows; r++) {
        const float *sharp = saved + r * vocabulary, *soft = decoded.log_probs + r * vocabulary;
        double total = 0;
        for (int64_t i = ATT_ID_FIRST; i < vocabulary; i++) {
            total += exp((double)soft[i]);
            for (int64_t j = ATT_ID_FIRST; j < vocabulary; j++)
                assert_true(fabs((double)(soft[i] - soft[j]) - (double)(sharp[i] - sharp[j]) / 2) <
                            1e-5);
        }
        assert_true(fabs(total - 1) < 1e-6);
    }
    att_decoder_free(decoder);
    scene_free(&s);
}

static void the_temperature_and_the_labels_are_in_the_model_file(void **state)
{
    (void)state;
    scene s;
    label_scene_new(&s, NULL, 0);
    char path[] = "/tmp/attend-label-file-XXXXXX";
    int made = mkstemp(path);
    assert_true(made >= 0 && close(made) == 0);
    s.model->temperature = 1.515;
    att_model *loaded;
    att_error err = { 0 };
    assert_int_equal(att_model_save(s.model, path, &err), ATT_OK);
    if (att_model_load(&loaded, path, &err) != ATT_OK)
        fail_msg("%s", err.message);
    assert_true(loaded->temperature == 1.515);
    assert_int_equal(att_model_type_get(loaded), ATT_MODEL_CLASSIFIER);
    assert_true(att_vocab_equal(loaded->target_vocab, s.data.target_vocab));
    assert_true(att_vocab_equal(loaded->source_vocab, s.data.source_vocab));
    assert_memory_equal(loaded->params.value, s.model->params.value,
                        s.model->params.size * sizeof(float));
    att_model_free(loaded);
    unlink(path);
    scene_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_parameter_of_every_variant_gets_a_gradient),
        cmocka_unit_test(every_variant_learns),
        cmocka_unit_test(a_label_out_of_range_has_neither_loss_nor_gradient),
        cmocka_unit_test(the_gradient_points_where_the_loss_rises),
        cmocka_unit_test(word_dropout_acts_in_training_only_and_the_same_in_any_batch),
        cmocka_unit_test(the_stop_token_is_trained_only_where_it_stands_for_the_sentence),
        cmocka_unit_test(classifying_gives_the_probabilities_that_the_loss_is_made_of),
        cmocka_unit_test(a_sentence_is_classified_with_the_same_bits_alone_and_in_a_batch),
        cmocka_unit_test(rows_of_a_step_can_be_picked_and_doubled),
        cmocka_unit_test(attention_weighs_the_words_of_a_sentence_and_other_pools_have_no_weights),
        cmocka_unit_test(
            training_gives_the_same_bits_on_every_instruction_set_and_number_of_threads),
        cmocka_unit_test(a_temperature_changes_probabilities_and_no_label),
        cmocka_unit_test(the_temperature_and_the_labels_are_in_the_model_file),
    };
    return cmocka_run_group_tests_name("label", tests, NULL, NULL);
}
