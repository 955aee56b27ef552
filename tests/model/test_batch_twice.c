/* A batch with each pair twice, and the consistency loss of models on it. */
#include "model/batch_twice.h"
#include "model/tagger_help.h"

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

enum { ROWS = 3, COLUMNS = 4 };

static void assert_twice(const void *one, const void *two, int64_t columns, size_t size)
{
    size_t bytes = (size_t)(ROWS * columns) * size;
    assert_memory_equal(two, one, bytes);
    assert_memory_equal((const char *)two + bytes, one, bytes);
}

static void every_member_is_there_twice_and_pairs_have_indices_of_their_own(void **state)
{
    (void)state;
    int32_t ids[5][ROWS * COLUMNS];
    int64_t lengths[2][ROWS] = { { 1, 4, 2 }, { 3, 2, 4 } }, pairs[ROWS] = { 7, 0, INT32_MAX };
    const char *words[ROWS * COLUMNS];
    float grid[ROWS * COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        for (int j = 0; j < 5; j++)
            ids[j][i] = 100 * j + i;
        words[i] = i % 3 ? "word" : NULL;
        grid[i] = (float)i;
    }
    const att_batch one = { .rows = ROWS,
                            .source_length = COLUMNS,
                            .target_length = COLUMNS,
                            .source = ids[0],
                            .source_lengths = lengths[0],
                            .source_words = words,
                            .target_in = ids[1],
                            .target_out = ids[2],
                            .copy_ids = ids[3],
                            .target_lengths = lengths[1],
                            .alignment = ids[4],
                            .pair_index = pairs,
                            .image_grid = grid,
                            .cells = 2,
                            .depth = 2,
                            .source_tokens = 7,
                            .target_tokens = 9 };
    att_tape *tape;
    assert_int_equal(att_tape_new(&tape, NULL, NULL), ATT_OK);
    const att_batch *two = att_batch_twice(tape, &one);
    assert_non_null(two);
    assert_true(two->rows == 2 * ROWS && two->source_tokens == 14 && two->target_tokens == 18);
    assert_true(two->source_length == COLUMNS && two->target_length == COLUMNS);
    assert_true(two->cells == 2 && two->depth == 2);
    assert_twice(one.source, two->source, COLUMNS, sizeof *one.source);
    assert_twice(one.source_lengths, two->source_lengths, 1, sizeof *one.source_lengths);
    assert_twice(one.source_words, two->source_words, COLUMNS, sizeof *one.source_words);
    assert_twice(one.target_in, two->target_in, COLUMNS, sizeof *one.target_in);
    assert_twice(one.target_out, two->target_out, COLUMNS, sizeof *one.target_out);
    assert_twice(one.copy_ids, two->copy_ids, COLUMNS, sizeof *one.copy_ids);
    assert_twice(one.target_lengths, two->target_lengths, 1, sizeof *one.target_lengths);
    assert_twice(one.alignment, two->alignment, COLUMNS, sizeof *one.alignment);
    assert_twice(one.image_grid, two->image_grid, COLUMNS, sizeof *one.image_grid);
    for (int r = 0; r < 2 * ROWS; r++)
        for (int other = 0; other < r; other++)
            assert_true(two->pair_index[r] != two->pair_index[other]);
    assert_memory_equal(two->pair_index, pairs, sizeof pairs);
    att_tape_free(tape);
}

static void what_a_batch_lacks_stays_absent(void **state)
{
    (void)state;
    scene s;
    label_scene_new(&s, NULL, 0);
    const att_batch *one = att_batches_get(s.batches, 0);
    att_tape_begin(s.tape, true, 1, 1);
    const att_batch *two = att_batch_twice(s.tape, one);
    assert_non_null(two);
    assert_true(!two->source_words && !two->copy_ids && !two->image_grid);
    assert_true(!two->alignment == !one->alignment);
    scene_free(&s);
}

/* Compares with and without consistency, where the model has no dropout: both predictions are the
 * same, so there is no consistency loss and no gradient of one. */
static void assert_nothing_is_added(scene *s, const char *name)
{
    const att_batch *batch = att_batches_get(s->batches, 0);
    const att_params *params = &s->model->params;
    float *plain = malloc(params->size * sizeof *plain), largest = 0;
    assert_non_null(plain);
    double one = loss_value(s, batch, &(att_loss_options){ .label_smoothing = 0.1f }, 1);
    memcpy(plain, params->grad, params->size * sizeof *plain);
    for (size_t i = 0; i < params->size; i++)
        largest = fmaxf(largest, fabsf(plain[i]));
    double two = loss_value(s, batch,
                            &(att_loss_options){ .label_smoothing = 0.1f, .consistency = 3 }, 0.5f);
    if (!(fabs(two - 2 * one) < 1e-6 * two))
        fail_msg("%s: twice %.9g is not %.9g", name, one, two);
    for (size_t i = 0; i < params->size; i++) /* sums over a few hundred rows, in another order */
        if (!(fabsf(params->grad[i] - plain[i]) < 1e-4f * largest))
            fail_msg("%s: gradient %zu: %g, twice %g", name, i, (double)plain[i],
                     (double)params->grad[i]);
    free(plain);
}

static const variant tag_variants[] = {
    { "tagger, rnn, characters by an LSTM", { { "char-features", "lstm" }, { "char-size", "4" } } },
    { "tagger, transformer", { TRANSFORMER } },
    { "tagger, convolution", { CONVOLUTION, { "layers", "1" } } },
    { NULL, { { 0 } } },
};

static bool copies(const variant *row)
{
    for (int i = 0; i < MAX_VARIANT_SETTINGS && row->set[i].key; i++)
        if (strcmp(row->set[i].key, "copy") == 0)
            return true;
    return false;
}

static void without_dropout_nothing_is_added(void **state)
{
    (void)state;
    scene s;
    for (const variant *row = variants; row->name; row++) {
        if (copies(row))
            continue;
        scene_of(&s, row);
        assert_nothing_is_added(&s, row->name);
        scene_free(&s);
    }
    for (const variant *row = label_variants; row->name; row++) {
        label_scene_of(&s, row);
        assert_nothing_is_added(&s, row->name);
        scene_free(&s);
    }
    for (const variant *row = tag_variants; row->name; row++) {
        tag_scene_new(&s, row->set);
        assert_nothing_is_added(&s, row->name);
        scene_free(&s);
    }
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
        cmocka_unit_test(every_member_is_there_twice_and_pairs_have_indices_of_their_own),
        cmocka_unit_test(what_a_batch_lacks_stays_absent),
        cmocka_unit_test(without_dropout_nothing_is_added),
        cmocka_unit_test(with_dropout_predictions_are_drawn_together),
    };
    return cmocka_run_group_tests_name("a batch twice", tests, NULL, NULL);
}
