/* Every variant of taggers: each one learns, its gradient is right, and training and tagging
 * compute the same bits in any batch, on any instruction set and with any number of threads. */
#include "model/tagger_help.h"

#include "base/cpu.h"
#include "model/tagger.h"

#include <math.h>

#define CRF                                                                                        \
    {                                                                                              \
        "crf", "yes"                                                                               \
    }

static const variant tag_variants[] = {
    { "rnn", { { 0 } } },
    { "rnn, gru, two layers", { { "rnn-cell", "gru" }, { "layers", "2" } } },
    { "rnn, one way, crf", { { "bidirectional", "no" }, CRF } },
    { "rnn, crf", { CRF } },
    { "transformer", { TRANSFORMER } },
    { "transformer, crf", { TRANSFORMER, CRF } },
    { "convolution", { CONVOLUTION, { "layers", "1" } } },
    { "convolution, two layers, crf", { CONVOLUTION, CRF } },
    { "rnn, characters by a CNN", { { "char-features", "cnn" }, { "char-size", "6" } } },
    { "rnn, characters by an LSTM, crf",
      { { "char-features", "lstm" }, { "char-size", "4" }, CRF } },
    { "transformer, characters by a CNN", { TRANSFORMER, { "char-features", "cnn" } } },
    { "convolution, characters by an LSTM",
      { CONVOLUTION, { "char-features", "lstm" }, { "layers", "1" } } },
    { NULL, { { 0 } } },
};

#define EACH_VARIANT(row) for (const variant *row = tag_variants; row->name; row++)

/* ---- learning */

static void every_parameter_of_every_variant_gets_a_gradient(void **state)
{
    (void)state;
    EACH_VARIANT(row)
    {
        scene s;
        tag_scene_new(&s, row->set);
        scene_learn(&s, 1, NULL);
        scene_backward(&s, att_batches_get(s.batches, 0), NULL);
        const att_params *params = &s.model->params;
        for (int i = 0; i < params->count; i++) {
            double sum = 0;
            for (size_t j = 0; j < params->items[i].count; j++)
                sum += fabs((double)params->grad[params->items[i].offset + j]);
            if (!(sum > 0))
                fail_msg("%s: no gradient for %s", row->name, params->items[i].name);
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
        tag_scene_new(&s, row->set);
        double before = scene_learn(&s, 1, NULL), after = scene_learn(&s, 40, NULL);
        if (!(after < 0.4 * before))
            fail_msg("%s: loss %g at first, %g after 40 epochs", row->name, before, after);
        scene_free(&s);
    }
}

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
        tag_scene_new(&s, row->set);
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
        /* the curvature of third order, and rounding: eps loss / reach */
        if (!(fabs(slope - norm) < 0.02 * norm + 1e-4))
            fail_msg("%s: the gradient says %g, the difference %g", row->name, norm, slope);
        scene_free(&s);
    }
}

/* ---- tagging */

static void tag(scene *s, att_tape *tape, const att_sources *sources, att_tagger_output *out)
{
    att_error err = { 0 };
    att_tape_begin(tape, false, 0, 0);
    if (att_tagger_run(s->model, tape, sources, out, &err) != ATT_OK)
        fail_msg("%s", err.message);
}

static void a_sentence_has_the_same_bits_alone_and_in_a_batch(void **state)
{
    (void)state;
    EACH_VARIANT(row)
    {
        scene s;
        att_tape *single;
        tag_scene_new(&s, row->set);
        scene_learn(&s, 2, NULL);
        assert_int_equal(att_tape_new(&single, &s.model->params, NULL), ATT_OK);
        att_batches_start_sequential(s.batches); /* of many lengths in one batch */
        const att_sources all = att_batch_sources(att_batches_get(s.batches, 0));
        att_tagger_output many, one;
        tag(&s, s.tape, &all, &many);
        for (int64_t r = 0; r < all.rows; r++) {
            const att_sources source = { .rows = 1,
                                         .length = all.lengths[r],
                                         .ids = all.ids + r * all.length,
                                         .lengths = all.lengths + r,
                                         .words = all.words ? all.words + r * all.length : NULL };
            tag(&s, single, &source, &one);
            size_t count = (size_t)all.lengths[r];
            if (memcmp(one.log_probs, many.log_probs + many.offsets[r] * many.labels,
                       count * (size_t)many.labels * sizeof(float)) != 0 ||
                memcmp(one.best, many.best + many.offsets[r], count * sizeof *one.best) != 0)
                fail_msg("%s: row %lld", row->name, (long long)r);
        }
        att_tape_free(single);
        scene_free(&s);
    }
}

/* Each token's probabilities sum to 1. Without a CRF the loss is made of them. */
static void tagging_gives_the_probabilities_that_the_loss_is_made_of(void **state)
{
    (void)state;
    EACH_VARIANT(row)
    {
        scene s;
        tag_scene_new(&s, row->set);
        scene_learn(&s, 3, NULL);
        const att_batch *batch = att_batches_get(s.batches, 0);
        const att_sources sources = att_batch_sources(batch);
        att_loss_result result = { 0 };
        att_tagger_output out;
        att_tape_begin(s.tape, false, 0, 0);
        att_model_loss(s.model, s.tape, batch, NULL, &result);
        tag(&s, s.tape, &sources, &out);
        double loss = 0;
        int64_t right = 0;
        for (int64_t r = 0; r < batch->rows; r++)
            for (int64_t t = 0; t < batch->source_lengths[r]; t++) {
                int64_t at = out.offsets[r] + t;
                int32_t label = batch->target_out[r * batch->target_length + t] - ATT_ID_FIRST;
                const float *log_probs = out.log_probs + at * out.labels;
                double sum = 0;
                for (int64_t j = 0; j < out.labels; j++)
                    sum += exp((double)log_probs[j]);
                assert_true(fabs(sum - 1) < 1e-6);
                loss -= (double)log_probs[label];
                right += out.best[at] == label;
            }
        assert_int_equal(right, result.correct);
        if (!s.settings->crf &&
            !(fabs(loss - result.loss) <= 4e-7 * (double)result.tokens * (1 + loss)))
            fail_msg("%s: %.9g and %.9g", row->name, loss, result.loss);
        scene_free(&s);
    }
}

static void a_label_that_the_model_lacks_has_neither_loss_nor_gradient(void **state)
{
    (void)state;
    for (size_t v = 0; v < 4; v += 3) { /* softmax and CRF */
        scene s;
        tag_scene_new(&s, tag_variants[v].set);
        att_batch batch = *att_batches_get(s.batches, 0);
        int32_t labels[256];
        size_t count = (size_t)(batch.rows * batch.target_length);
        assert_true(count <= 256);
        memcpy(labels, batch.target_out, count * sizeof *labels);
        batch.target_out = labels;
        for (size_t i = 0; i < count; i++)
            labels[i] = labels[i] == ATT_ID_PAD ? ATT_ID_PAD : ATT_ID_UNK;
        att_loss_result result = { 0 };
        att_tape_begin(s.tape, false, 0, 0);
        assert_non_null(att_model_loss(s.model, s.tape, &batch, NULL, &result));
        assert_true(result.loss == 0 && result.correct == 0 && result.tokens > 0);
        assert_int_equal(result.unscored, result.tokens);
        labels[0] = ATT_ID_BOS;
        att_error err = { 0 };
        att_tape_begin(s.tape, false, 0, 0);
        assert_null(att_model_loss(s.model, s.tape, &batch, NULL, NULL));
        assert_int_equal(att_tape_status(s.tape, &err), ATT_BAD_INPUT);
        assert_non_null(strstr(err.message, "expected a label for each"));
        scene_free(&s);
    }
}

/* ---- reproducibility */

static uint64_t hash_of_run(const variant *row)
{
    scene s;
    variant dropped = *row;
    size_t given = 0;
    while (dropped.set[given].key)
        given++;
    assert_true(given + 2 <= sizeof dropped.set / sizeof *dropped.set);
    dropped.set[given] = (setting_pair){ "dropout", "0.3" };
    dropped.set[given + 1] = (setting_pair){ "word-dropout", "0.3" };
    tag_scene_new(&s, dropped.set);
    const att_loss_options loss_options = { .seed = 2, .step = 9 };
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_parameter_of_every_variant_gets_a_gradient),
        cmocka_unit_test(every_variant_learns),
        cmocka_unit_test(the_gradient_points_where_the_loss_rises),
        cmocka_unit_test(a_sentence_has_the_same_bits_alone_and_in_a_batch),
        cmocka_unit_test(tagging_gives_the_probabilities_that_the_loss_is_made_of),
        cmocka_unit_test(a_label_that_the_model_lacks_has_neither_loss_nor_gradient),
        cmocka_unit_test(
            training_gives_the_same_bits_on_every_instruction_set_and_number_of_threads),
    };
    return cmocka_run_group_tests_name("tagger", tests, NULL, NULL);
}
