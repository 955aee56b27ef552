/* Inference reads packed weights and writes nothing: every architecture declares the packed forms
 * it reads, and threads share one set of parameters. */
#include "model/model_help.h"
#include "tape/op.h"

#include <pthread.h>

/* Decodes three steps of a batch with two rows per source. */
static int64_t unpacked_uses_of_decoding(scene *s)
{
    const att_batch *batch = att_batches_get(s->batches, 0);
    const att_sources sources = att_batch_sources(batch);
    att_decoder *decoder;
    att_decoder_output out;
    int32_t tokens[256];
    int64_t order[256], rows = 2 * sources.rows;
    assert_true(rows <= 256);
    for (int64_t r = 0; r < rows; r++) {
        tokens[r] = ATT_ID_BOS;
        order[r] = r / 2;
    }
    assert_int_equal(att_decoder_new(&decoder, s->model, NULL), ATT_OK);
    assert_int_equal(att_decoder_start(decoder, &sources, NULL), ATT_OK);
    for (int step = 0; step < 3; step++)
        assert_int_equal(att_decoder_step(decoder, rows, tokens, step ? NULL : order, &out, NULL),
                         ATT_OK);
    int64_t uses = att_tape_unpacked_uses(decoder->tape);
    att_decoder_free(decoder);
    return uses;
}

static int64_t unpacked_uses_of_a_loss(scene *s)
{
    att_tape *tape;
    assert_int_equal(att_tape_new(&tape, &s->model->params, NULL), ATT_OK);
    assert_non_null(att_model_loss(s->model, tape, att_batches_get(s->batches, 0), NULL, NULL));
    int64_t uses = att_tape_unpacked_uses(tape);
    att_tape_free(tape);
    return uses;
}

static void every_architecture_declares_the_packed_forms_it_reads(void **state)
{
    (void)state;
    for (const variant *row = variants; row->name; row++) {
        scene s;
        scene_new(&s, row->set, sizeof row->set / sizeof *row->set);
        int64_t uses = unpacked_uses_of_decoding(&s) + unpacked_uses_of_a_loss(&s);
        if (uses > 0)
            fail_msg("%s: %lld uses of weights that are not packed", row->name, (long long)uses);
        att_params_mark_changed(&s.model->params); /* the count does see stale weights */
        assert_true(unpacked_uses_of_decoding(&s) > 0);
        assert_int_equal(att_params_pack(&s.model->params, NULL), ATT_OK);
        assert_int_equal(unpacked_uses_of_decoding(&s), 0);
        scene_free(&s);
    }
}

/* ---- threads */

enum { THREADS = 4, ROUNDS = 20, D = 37 };

typedef struct worker {
    const att_params *params;
    pthread_t thread;
    float result[D];
    bool same; /* in all rounds */
} worker;

static void *multiply(void *context)
{
    worker *w = context;
    att_tape *tape;
    float x[D], first[D];
    for (int i = 0; i < D; i++)
        x[i] = (float)i / D;
    w->same = att_tape_new(&tape, w->params, NULL) == ATT_OK;
    for (int round = 0; w->same && round < ROUNDS; round++) {
        att_tape_begin(tape, false, 0, 0);
        att_node *y = att_tape_input(tape, 2, (int64_t[]){ 1, D }, x);
        for (int layer = 0; layer < 3; layer++)
            y = att_linear(tape, y, att_tape_param(tape, 0), NULL, ATT_ACTIVATION_TANH, layer == 1);
        w->same = y != NULL;
        if (y && round == 0)
            memcpy(first, y->value, sizeof first);
        w->same = w->same && memcmp(first, y->value, sizeof first) == 0;
    }
    memcpy(w->result, first, sizeof first);
    att_tape_free(tape);
    return NULL;
}

static void threads_share_one_set_of_parameters(void **state)
{
    (void)state;
    static worker workers[THREADS];
    att_params params = { 0 };
    const att_param row = { .name = "w",
                            .rank = 2,
                            .shape = { D, D },
                            .init = ATT_INIT_GLOROT,
                            .init_scale = 1,
                            .packing = ATT_PACK_PLAIN | ATT_PACK_TRANSPOSED };
    int index;
    assert_int_equal(att_params_add(&params, &row, &index, NULL), ATT_OK);
    assert_int_equal(att_params_init(&params, 1, NULL), ATT_OK);
    assert_int_equal(att_params_pack(&params, NULL), ATT_OK);
    for (int i = 0; i < THREADS; i++) {
        workers[i].params = &params;
        assert_int_equal(pthread_create(&workers[i].thread, NULL, multiply, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        assert_true(workers[i].same);
        assert_memory_equal(workers[i].result, workers[0].result, sizeof workers[0].result);
    }
    att_params_free(&params);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_architecture_declares_the_packed_forms_it_reads),
        cmocka_unit_test(threads_share_one_set_of_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
