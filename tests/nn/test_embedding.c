/* Token embeddings in training: which columns dropout removes. */
#include "nn/embedding.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

enum { V = 9, E = 40 };

typedef struct scene {
    att_settings *settings;
    att_params params;
    att_embedding embedding;
    att_tape *tape;
} scene;

static void scene_new(scene *s)
{
    *s = (scene){ 0 };
    assert_int_equal(att_settings_new(&s->settings, "reverse", NULL), ATT_OK);
    assert_int_equal(att_settings_set(s->settings, "embedding-size", "40", NULL), ATT_OK);
    assert_int_equal(att_settings_set(s->settings, "dropout", "0.5", NULL), ATT_OK);
    att_param_builder builder = { .params = &s->params };
    att_embedding_build(&s->embedding, &builder, s->settings, V, "source", 77);
    assert_int_equal(builder.status, ATT_OK);
    assert_int_equal(att_params_init(&s->params, 1, NULL), ATT_OK);
    assert_int_equal(att_params_alloc_grad(&s->params, NULL), ATT_OK);
    assert_int_equal(att_tape_new_training(&s->tape, &s->params, NULL), ATT_OK);
}

static void scene_free(scene *s)
{
    att_tape_free(s->tape);
    att_params_free(&s->params);
    att_settings_free(s->settings);
}

/* The vectors of one row of tokens in a training step. */
static const att_node *train(scene *s, uint64_t step, int64_t count, const int32_t *ids)
{
    att_tape_begin(s->tape, true, 1, step);
    const att_node *x = att_embedding_run(&s->embedding, s->tape, 1, count, ids, 0);
    assert_int_equal(att_tape_status(s->tape, NULL), ATT_OK);
    return x;
}

static const int32_t often[] = { 3, 1, 3, 8, 0, 3, 2, 1, 4, 5, 6, 7 };
enum { OFTEN = sizeof often / sizeof *often };

/* The number of columns that two vectors both lost or both kept. */
static int alike(const float *a, const float *b)
{
    int count = 0;
    for (int i = 0; i < E; i++)
        count += (a[i] == 0) == (b[i] == 0);
    return count;
}

static void a_token_loses_the_same_columns_everywhere_in_a_row(void **state)
{
    (void)state;
    scene s;
    scene_new(&s);
    const float *x = train(&s, 5, OFTEN, often)->value;
    assert_memory_equal(x, x + 2 * E, E * sizeof *x);
    assert_memory_equal(x, x + 5 * E, E * sizeof *x);
    assert_in_range(alike(x, x + E), 1, E - 1); /* another token lost other columns */
    int dropped = 0;
    for (int i = 0; i < E; i++)
        dropped += x[i] == 0;
    assert_in_range(dropped, E / 4, E - E / 4);
    scene_free(&s);
}

static void rows_of_a_batch_lose_different_columns(void **state)
{
    (void)state;
    scene s;
    scene_new(&s);
    static const int32_t same[] = { 3, 3, 3, 3 };
    att_tape_begin(s.tape, true, 1, 5);
    const float *x = att_embedding_run(&s.embedding, s.tape, 4, 1, same, 0)->value;
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < i; j++)
            assert_in_range(alike(x + i * E, x + j * E), 1, E - 1);
    scene_free(&s);
}

/* Whatever the number of rows is, the second of two equal rows loses other columns. */
static void rows_that_are_there_twice_lose_different_columns(void **state)
{
    (void)state;
    enum { MOST = 17 };
    scene s;
    scene_new(&s);
    int32_t same[2 * MOST];
    for (int i = 0; i < 2 * MOST; i++)
        same[i] = 3;
    for (int rows = 1; rows <= MOST; rows++) {
        att_tape_begin(s.tape, true, 1, 5);
        att_tape_set_rows_twice(s.tape);
        const float *x = att_embedding_run(&s.embedding, s.tape, 2 * rows, 1, same, 0)->value;
        for (int i = 0; i < rows; i++)
            assert_in_range(alike(x + i * E, x + (rows + i) * E), 1, E - 1);
    }
    att_tape_begin(s.tape, true, 1, 5);
    assert_false(att_tape_has_rows_twice(s.tape));
    scene_free(&s);
}

static void every_step_drops_different_columns(void **state)
{
    (void)state;
    scene s;
    scene_new(&s);
    float before[OFTEN * E];
    memcpy(before, train(&s, 5, OFTEN, often)->value, sizeof before);
    const float *x = train(&s, 6, OFTEN, often)->value;
    assert_in_range(alike(before, x), 1, E - 1);
    scene_free(&s);
}

/* The table's gradient of the sum of squares of the vectors. */
static void train_squares(scene *s, float *grad, int64_t count, const int32_t *ids)
{
    att_node *x = (att_node *)train(s, 5, count, ids);
    memset(s->params.grad, 0, s->params.size * sizeof *grad);
    att_node *loss = att_sum(s->tape, att_multiply(s->tape, x, x));
    assert_int_equal(att_tape_backward(s->tape, loss, 1, NULL), ATT_OK);
    memcpy(grad, s->params.grad + s->params.items[s->embedding.table].offset, V * E * sizeof *grad);
}

/* With fewer tokens than different vectors, dropout is applied to the tokens' vectors; else to
 * copies of the table. */
static void few_tokens_and_many_give_the_same_bits(void **state)
{
    (void)state;
    scene s;
    scene_new(&s);
    enum { FEW = 4, MANY = 100 * V };
    static const int32_t few[FEW] = { 7, 2, -1, 4 };
    int32_t many[MANY];
    for (int i = 0; i < MANY; i++)
        many[i] = i < FEW ? few[i] : -1;
    float alone[FEW * E], grad_alone[V * E], grad[V * E];
    memcpy(alone, train(&s, 5, FEW, few)->value, sizeof alone);
    assert_memory_equal(alone, train(&s, 5, MANY, many)->value, sizeof alone);
    train_squares(&s, grad_alone, FEW, few);
    train_squares(&s, grad, MANY, many);
    assert_memory_equal(grad_alone, grad, sizeof grad);
    scene_free(&s);
}

static void without_training_nothing_is_dropped(void **state)
{
    (void)state;
    scene s;
    scene_new(&s);
    att_tape_begin(s.tape, false, 1, 5);
    const att_node *x = att_embedding_run(&s.embedding, s.tape, 1, OFTEN, often, 0);
    const float *table = s.params.value + s.params.items[s.embedding.table].offset;
    for (int i = 0; i < OFTEN; i++)
        assert_memory_equal(x->value + i * E, table + often[i] * E, E * sizeof *table);
    scene_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_loses_the_same_columns_everywhere_in_a_row),
        cmocka_unit_test(rows_of_a_batch_lose_different_columns),
        cmocka_unit_test(rows_that_are_there_twice_lose_different_columns),
        cmocka_unit_test(every_step_drops_different_columns),
        cmocka_unit_test(few_tokens_and_many_give_the_same_bits),
        cmocka_unit_test(without_training_nothing_is_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
