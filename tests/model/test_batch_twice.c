/* A batch with each pair twice, and the consistency loss of models on it. */
#include "model/batch_twice.h"
#include "model/classifier_help.h"

#include <math.h>

/* The value of the loss node, with its gradients scaled by `part`. */
static double loss_value(scene *s, const att_batch *batch, const att_loss_options *options,
                         float part)
{
    att_error err = { 0 };
    memset(s->model->params.grad, 0, s->model->params.size * sizeof(float));
    att_tape_begin(s->tape, true, 1, 1);
    if (options->consistency > 0)
        batch = att_batch_twice(s->tape, batch);
    assert_non_null(batch);
    att_node *loss = att_model_loss(s->model, s->tape, batch, options, NULL);
    if (att_tape_status(s->tape, &err) != ATT_OK)
        fail_msg("%s: %s", err.place, err.message);
    double value = (double)loss->value[0];
    assert_int_equal(att_tape_backward(s->tape, loss, part, &err), ATT_OK);
    return value;
}

static void each_row_is_there_twice_with_a_pair_index_of_its_own(void **state)
{
    (void)state;
    scene s;
    scene_new(&s, NULL, 0);
    const att_batch *one = att_batches_get(s.batches, 0);
    att_tape_begin(s.tape, true, 1, 1);
    const att_batch *two = att_batch_twice(s.tape, one);
    assert_non_null(two);
    assert_int_equal(two->rows, 2 * one->rows);
    assert_int_equal(two->source_tokens, 2 * one->source_tokens);
    assert_int_equal(two->target_tokens, 2 * one->target_tokens);
    assert_int_equal(two->source_length, one->source_length);
    for (int64_t r = 0; r < two->rows; r++) {
        int64_t from = r % one->rows;
        assert_int_equal(two->source_lengths[r], one->source_lengths[from]);
        assert_memory_equal(two->source + r * one->source_length,
                            one->source + from * one->source_length,
                            (size_t)one->source_length * sizeof *one->source);
        assert_memory_equal(two->target_out + r * one->target_length,
                            one->target_out + from * one->target_length,
                            (size_t)one->target_length * sizeof *one->target_out);
        for (int64_t other = 0; other < r; other++)
            assert_true(two->pair_index[r] != two->pair_index[other]);
    }
    scene_free(&s);
}

/* Seq2seq models of both architectures, and a classifier. */
static void consistency_scene_new(scene *s, int which, const char *dropout)
{
    const setting_pair rnn[] = { { "dropout", dropout } },
                       transformer[] = { TRANSFORMER, { "dropout", dropout } };
    if (which == 0)
        scene_new(s, rnn, 1);
    else if (which == 1)
        scene_new(s, transformer, sizeof transformer / sizeof *transformer);
    else
        label_scene_new(s, rnn, 1);
}

/* Without dropout both predictions are the same: no consistency loss and no gradient of one. */
static void without_dropout_nothing_is_added(void **state)
{
    (void)state;
    for (int which = 0; which < 3; which++) {
        scene s;
        consistency_scene_new(&s, which, "0");
        const att_batch *batch = att_batches_get(s.batches, 0);
        size_t size = s.model->params.size;
        float *plain = malloc(size * sizeof *plain), largest = 0;
        assert_non_null(plain);
        double one = loss_value(&s, batch, &(att_loss_options){ .label_smoothing = 0.1f }, 1);
        memcpy(plain, s.model->params.grad, size * sizeof *plain);
        for (size_t i = 0; i < size; i++)
            largest = fmaxf(largest, fabsf(plain[i]));
        double two = loss_value(
            &s, batch, &(att_loss_options){ .label_smoothing = 0.1f, .consistency = 3 }, 0.5f);
        assert_true(fabs(two - 2 * one) < 1e-6 * two);
        for (size_t i = 0; i < size; i++) /* sums over a few hundred rows, in another order */
            assert_true(fabsf(s.model->params.grad[i] - plain[i]) < 1e-4f * largest);
        free(plain);
        scene_free(&s);
    }
}

static void with_dropout_predictions_are_drawn_together(void **state)
{
    (void)state;
    for (int which = 0; which < 3; which++) {
        scene s;
        consistency_scene_new(&s, which, "0.3");
        const att_batch *batch = att_batches_get(s.batches, 0);
        const double weak = loss_value(&s, batch, &(att_loss_options){ .consistency = 1e-6f }, 1),
                     strong = loss_value(&s, batch, &(att_loss_options){ .consistency = 2 }, 1);
        assert_true(strong > weak);
        const double stronger = loss_value(&s, batch, &(att_loss_options){ .consistency = 4 }, 1);
        assert_true(fabs((stronger - weak) - 2 * (strong - weak)) < 1e-4 * stronger);
        /* A step down the gradient. */
        for (size_t i = 0; i < s.model->params.size; i++)
            s.model->params.value[i] -= 1e-4f * s.model->params.grad[i];
        att_params_mark_changed(&s.model->params);
        assert_true(loss_value(&s, batch, &(att_loss_options){ .consistency = 4 }, 1) < stronger);
        scene_free(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_row_is_there_twice_with_a_pair_index_of_its_own),
        cmocka_unit_test(without_dropout_nothing_is_added),
        cmocka_unit_test(with_dropout_predictions_are_drawn_together),
    };
    return cmocka_run_group_tests_name("a batch twice", tests, NULL, NULL);
}
