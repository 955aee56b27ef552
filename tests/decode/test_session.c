/* Sessions: steps give the results of generation, rows are dropped, reordered and forked, and
 * invalid arguments are refused. */
#include "failing_memory.h"
#include "model/public_models.h"

#include <math.h>
#include <stdlib.h>

enum { MAX_STEPS = 12 };

static att_session *session_of(const att_model *model, bool attention)
{
    att_session *session;
    att_error err = { 0 };
    att_session_options options = ATT_INIT(att_session_options);
    options.attention = options.hidden_states = attention;
    must(att_session_new(&session, model, &options, &err), &err);
    return session;
}

static const att_session_output *step(att_session *session, int64_t rows, const int32_t *tokens,
                                      const int64_t *order)
{
    const att_session_output *out;
    att_error err = { 0 };
    must(att_session_step(session, rows, tokens, order, &out, &err), &err);
    assert_int_equal(out->rows, rows);
    assert_int_equal(out->size, sizeof *out);
    return out;
}

/* The most probable token except the start token, as greedy decoding chooses it. */
static int32_t most_probable(const float *log_probs, int64_t count)
{
    int64_t best = 0;
    for (int64_t i = 1; i < count; i++)
        if (i != ATT_TOKEN_BOS && log_probs[i] > log_probs[best])
            best = i;
    return (int32_t)best;
}

/* Greedy decoding by hand: ids and the sum of their log-probabilities. */
static size_t decode_greedily(int32_t *ids, double *score, att_session *session)
{
    size_t count = 0;
    int32_t token = att_session_start_token(session);
    *score = 0;
    while (count < MAX_STEPS && (count == 0 || token != att_session_end_token(session))) {
        const att_session_output *out = step(session, 1, &token, NULL);
        token = most_probable(out->log_probs, out->vocab_size);
        *score += (double)out->log_probs[token];
        ids[count++] = token;
    }
    return count;
}

static void steps_give_the_output_and_the_score_of_greedy_generation(void **state)
{
    (void)state;
    att_model *const models[] = { seq2seq_rnn(), seq2seq_transformer() };
    static const char *const lines[] = { "abcd", "d", "ab ba", "ccccdddd" };
    for (int m = 0; m < 2; m++) {
        const att_generate_options options = { .size = sizeof(att_generate_options),
                                               .decoding = &(const att_decoding_options){
                                                   .size = sizeof(att_decoding_options),
                                                   .max_output_length = MAX_STEPS } };
        att_session *session = session_of(models[m], false);
        for (int i = 0; i < 4; i++) {
            int32_t ids[MAX_STEPS];
            double score;
            att_outputs *outputs;
            att_string text = { 0 };
            att_error err = { 0 };
            must(att_model_generate(&outputs, models[m], &lines[i], 1, &options, &err), &err);
            must(att_session_start_lines(session, &lines[i], 1, &err), &err);
            size_t count = decode_greedily(ids, &score, session);
            const att_output *output = att_outputs_get(outputs, 0);
            must(att_model_decode(&text, models[m], ATT_SIDE_TARGET, ids, count, &err), &err);
            assert_int_equal(count, output->target_count);
            assert_string_equal(text.length > 0 ? text.data : "", output->text);
            assert_true(score == output->score);
            att_string_free(&text);
            att_outputs_free(outputs);
        }
        att_session_free(session);
        att_model_free(models[m]);
    }
}

/* The log-probabilities of a single row after a path of tokens. */
static void alone(float *out, att_session *session, const char *line, const int32_t *path,
                  int64_t count)
{
    const att_session_output *result;
    att_error err = { 0 };
    must(att_session_start_lines(session, &line, 1, &err), &err);
    must(att_session_feed(session, 1, path, count, &result, &err), &err);
    memcpy(out, result->log_probs, (size_t)result->vocab_size * sizeof *out);
}

static void rows_are_forked_dropped_and_reordered(void **state)
{
    (void)state;
    att_model *const models[] = { seq2seq_rnn(), seq2seq_transformer() };
    static const char *const lines[] = { "abc", "dcba" };
    for (int m = 0; m < 2; m++) {
        att_session *session = session_of(models[m], false), *other = session_of(models[m], false);
        int32_t bos = att_session_start_token(session), vocab = att_session_vocab_size(session);
        att_error err = { 0 };
        must(att_session_start_lines(session, lines, 2, &err), &err);
        step(session, 2, (int32_t[]){ bos, bos }, NULL);
        /* both sources forked: rows 0, 1 of "abc", rows 2, 3 of "dcba" */
        step(session, 4, (int32_t[]){ 3, 4, 5, 6 }, (int64_t[]){ 0, 0, 1, 1 });
        /* row 2 dropped, the others reordered, row 1 repeated */
        const att_session_output *out =
            step(session, 4, (int32_t[]){ 6, 5, 3, 4 }, (int64_t[]){ 3, 1, 0, 1 });
        const int32_t paths[4][3] = { { bos, 6, 6 }, { bos, 4, 5 }, { bos, 3, 3 }, { bos, 4, 4 } };
        static const int source[4] = { 1, 0, 0, 0 };
        float *expected = malloc((size_t)vocab * sizeof *expected);
        for (int r = 0; r < 4; r++) {
            alone(expected, other, lines[source[r]], paths[r], 3);
            assert_memory_equal(expected, out->log_probs + r * vocab,
                                (size_t)vocab * sizeof *expected);
        }
        free(expected);
        att_session_free(session);
        att_session_free(other);
        att_model_free(models[m]);
    }
}

static void attention_sums_to_one_over_each_source_and_hidden_states_are_there(void **state)
{
    (void)state;
    att_model *const models[] = { seq2seq_rnn(), seq2seq_transformer() };
    static const char *const lines[] = { "abc", "dcbad" };
    static const int64_t layers[] = { 1, 2 }, heads[] = { 1, 2 };
    for (int m = 0; m < 2; m++) {
        att_session *session = session_of(models[m], true);
        int32_t bos = att_session_start_token(session);
        att_error err = { 0 };
        must(att_session_start_lines(session, lines, 2, &err), &err);
        assert_int_equal(att_session_source_count(session), 2);
        assert_int_equal(att_session_source_length(session, 0), 3);
        assert_string_equal(att_session_source_token(session, 1, 4), "d");
        assert_null(att_session_source_token(session, 0, 3));
        assert_null(att_session_source_token(session, 2, 0));
        const att_session_output *out = step(session, 2, (int32_t[]){ bos, bos }, NULL);
        assert_int_equal(out->layers, layers[m]);
        assert_int_equal(out->heads, heads[m]);
        assert_int_equal(out->source_length, 5);
        assert_int_equal(out->hidden_size, 12);
        for (int64_t map = 0; map < 2 * layers[m] * heads[m]; map++) {
            double sum = 0;
            for (int64_t i = 0; i < 5; i++)
                sum += (double)out->attention[map * 5 + i];
            assert_true(fabs(sum - 1) < 1e-5);
        }
        assert_true(out->attention[3] == 0 && out->attention[4] == 0); /* padding of "abc" */
        double size = 0;
        for (int64_t i = 0; i < 2 * 12; i++)
            size += fabs((double)out->hidden[i]);
        assert_true(size > 0.01 && isfinite(size));
        att_session_free(session);
        session = session_of(models[m], false);
        must(att_session_start_lines(session, lines, 1, &err), &err);
        out = step(session, 1, &bos, NULL);
        assert_null(out->attention);
        assert_null(out->hidden);
        att_session_free(session);
        att_model_free(models[m]);
    }
}

typedef struct scores {
    double values[64];
    int count;
} scores;

static bool add_score(void *context, const char *text, size_t length, double score)
{
    (void)text, (void)length;
    scores *all = context;
    all->values[all->count++] = score;
    return true;
}

static void a_language_model_scores_a_text_as_it_does_in_one_call(void **state)
{
    (void)state;
    att_model *const models[] = { lm_rnn(), lm_transformer() };
    static const char text[] = "abca bdd\naaab cabbad dad"; /* longer than a context */
    for (int m = 0; m < 2; m++) {
        scores all = { 0 };
        att_completion counts = ATT_INIT(att_completion);
        att_encoded_text *encoded;
        att_error err = { 0 };
        must(att_model_score_text(&counts, models[m], text, strlen(text), NULL, add_score, &all,
                                  &err),
             &err);
        must(att_model_encode(&encoded, models[m], ATT_SIDE_TARGET, text, strlen(text), &err),
             &err);
        const int32_t *ids = att_encoded_text_ids(encoded);
        att_session *session = session_of(models[m], false);
        must(att_session_start_text(session, 1, &err), &err);
        for (int t = 0; t < all.count; t++) {
            const att_session_output *out = step(session, 1, &ids[t], NULL);
            assert_true((double)out->log_probs[ids[t + 1]] == all.values[t]);
        }
        assert_int_equal(att_session_end_token(session), -1);
        assert_string_equal(
            att_model_token(models[m], ATT_SIDE_TARGET, att_session_start_token(session)), "\n");
        att_session_free(session);
        att_encoded_text_free(encoded);
        att_model_free(models[m]);
    }
}

static void captions_start_from_image_features(void **state)
{
    (void)state;
    att_model *const models[] = { caption_rnn(), caption_transformer() };
    float values[PUBLIC_IMAGE_FLOATS];
    const att_tensor images = public_images(values);
    for (int m = 0; m < 2; m++) {
        att_session *session = session_of(models[m], true);
        att_error err = { 0 };
        int32_t bos[PUBLIC_IMAGES];
        must(att_session_start_images(session, &images, &err), &err);
        assert_int_equal(att_session_source_count(session), PUBLIC_IMAGES);
        assert_int_equal(att_session_source_length(session, 4), 6);
        assert_null(att_session_source_token(session, 0, 0));
        for (int i = 0; i < PUBLIC_IMAGES; i++)
            bos[i] = att_session_start_token(session);
        const att_session_output *out = step(session, PUBLIC_IMAGES, bos, NULL);
        assert_int_equal(out->source_length, 6);
        for (int r = 0; r < PUBLIC_IMAGES; r++) {
            double sum = 0;
            for (int64_t i = 0; i < out->vocab_size; i++)
                sum += exp((double)out->log_probs[r * out->vocab_size + i]);
            assert_true(fabs(sum - 1) < 1e-5);
        }
        att_session_free(session);
        att_model_free(models[m]);
    }
}

static void an_ensemble_steps_with_the_mean_of_the_probabilities(void **state)
{
    (void)state;
    att_model *one = seq2seq_rnn(), *two = seq2seq_transformer();
    att_model *const models[] = { one, two };
    static const char *const line = "abcd";
    att_session_options options = ATT_INIT(att_session_options);
    options.ensemble = &models[1];
    options.ensemble_count = 1;
    att_session *both, *single[2];
    att_error err = { 0 };
    must(att_session_new(&both, one, &options, &err), &err);
    must(att_session_start_lines(both, &line, 1, &err), &err);
    int32_t bos = att_session_start_token(both);
    const att_session_output *mean = step(both, 1, &bos, NULL), *parts[2];
    for (int m = 0; m < 2; m++) {
        single[m] = session_of(models[m], false);
        must(att_session_start_lines(single[m], &line, 1, &err), &err);
        parts[m] = step(single[m], 1, &bos, NULL);
    }
    for (int64_t i = 0; i < mean->vocab_size; i++) {
        double expected =
            (exp((double)parts[0]->log_probs[i]) + exp((double)parts[1]->log_probs[i])) / 2;
        assert_true(fabs(exp((double)mean->log_probs[i]) - expected) < 1e-6);
    }
    att_session_free(both); /* before its models */
    for (int m = 0; m < 2; m++) {
        att_session_free(single[m]);
        att_model_free(models[m]);
    }
}

static void assert_step_refused(att_session *session, int64_t rows, const int32_t *tokens,
                                const int64_t *order, const char *message)
{
    const att_session_output *out;
    att_error err = { 0 };
    assert_int_equal(att_session_step(session, rows, tokens, order, &out, &err), ATT_BAD_INPUT);
    assert_null(out);
    assert_string_equal(err.message, message);
}

static void tokens_rows_and_orders_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    att_model *model = seq2seq_rnn(), *labels = classifier_rnn(), *lm = lm_rnn();
    att_session *session = session_of(model, false), *none;
    static const char *const lines[] = { "abc", "d" };
    const int32_t bos[2] = { ATT_TOKEN_BOS, ATT_TOKEN_BOS };
    att_error err = { 0 };
    assert_step_refused(session, 1, bos, NULL,
                        "the session has no sources: start it before the first step");
    must(att_session_start_lines(session, lines, 2, &err), &err);
    assert_step_refused(session, 0, bos, NULL, "expected at least 1 row, found 0");
    assert_step_refused(session, 3, bos, NULL, "row 2 continues row 2, expected a row from 0 to 1");
    assert_step_refused(session, 1, bos, (int64_t[]){ -1 },
                        "row 0 continues row -1, expected a row from 0 to 1");
    assert_step_refused(session, 2, (int32_t[]){ 1, 9 }, NULL,
                        "expected token ids from 0 to 8, found 9 at index 1");
    assert_step_refused(session, 1, (int32_t[]){ ATT_TOKEN_PAD }, NULL,
                        "expected token ids from 0 to 8, found -1 at index 0");
    const att_session_output *out;
    assert_int_equal(att_session_feed(session, 2, bos, 0, &out, &err), ATT_BAD_INPUT);
    assert_null(out);
    assert_string_equal(err.message, "expected at least 1 token per row, found 0");
    step(session, 2, bos, NULL); /* a refused step has changed nothing */
    assert_int_equal(att_session_start_lines(session, lines, 0, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "expected at least 1 source, found 0");
    assert_int_equal(att_session_start_ids(session, (int32_t[]){ 3, 9 }, (int64_t[]){ 2 }, 1, &err),
                     ATT_BAD_INPUT);
    assert_string_equal(err.message, "expected source ids from 0 to 8, found 9 at position 1");
    assert_int_equal(att_session_start_lines(session, (const char *const[]){ "a", "" }, 2, &err),
                     ATT_BAD_INPUT);
    assert_int_equal(err.line, 2);
    assert_int_equal(att_session_start_text(session, 1, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "expected a language model, found a seq2seq model (rnn)");
    float values[PUBLIC_IMAGE_FLOATS];
    const att_tensor images = public_images(values);
    assert_int_equal(att_session_start_images(session, &images, &err), ATT_BAD_INPUT);
    assert_int_equal(att_session_new(&none, labels, NULL, &err), ATT_BAD_INPUT);
    assert_null(none);
    att_session_free(session);
    must(att_session_new(&session, lm, NULL, &err), &err);
    assert_int_equal(att_session_start_lines(session, lines, 1, &err), ATT_BAD_INPUT);
    att_session_free(session);
    att_model_free(model);
    att_model_free(labels);
    att_model_free(lm);
}

static void a_source_longer_than_the_model_supports_is_refused(void **state)
{
    (void)state;
    att_model *model =
        public_model("reverse", (const char *const[]){ PUBLIC_RNN, "attention", "location",
                                                       "max-length", "3", NULL });
    att_session *session = session_of(model, false);
    const int32_t ids[] = { 3, 4, 5, 6 };
    att_error err = { 0 };
    must(att_session_start_ids(session, ids, (int64_t[]){ 3 }, 1, &err), &err);
    assert_int_equal(att_session_start_ids(session, ids, (int64_t[]){ 4 }, 1, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "expected at most 3 source tokens, found 4");
    att_session_free(session);
    att_model_free(model);
}

static att_status use_session(void *context)
{
    att_session *session;
    static const char *const line = "abcd";
    const att_session_output *out;
    const int32_t tokens[] = { ATT_TOKEN_BOS, 3, 4 };
    att_status status = att_session_new(&session, context, NULL, NULL);
    if (status == ATT_OK)
        status = att_session_start_lines(session, &line, 1, NULL);
    if (status == ATT_OK)
        status = att_session_feed(session, 1, tokens, 3, &out, NULL);
    att_session_free(session);
    return status;
}

static att_status open_session(void *context)
{
    att_session *session;
    att_status status = att_session_new(&session, context, NULL, NULL);
    att_session_free(session);
    return status;
}

static void every_failing_allocation_is_reported_and_leaks_nothing(void **state)
{
    (void)state;
    att_model *lm = lm_rnn();
    every_arena_allocation_fails(open_session, lm, 1000);
    att_model_free(lm);
    att_model *const models[] = { seq2seq_rnn(), seq2seq_transformer() };
    for (int m = 0; m < 2; m++) {
        assert_true(every_arena_allocation_fails(use_session, models[m], 10000) > 5);
        att_model_free(models[m]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_give_the_output_and_the_score_of_greedy_generation),
        cmocka_unit_test(rows_are_forked_dropped_and_reordered),
        cmocka_unit_test(attention_sums_to_one_over_each_source_and_hidden_states_are_there),
        cmocka_unit_test(a_language_model_scores_a_text_as_it_does_in_one_call),
        cmocka_unit_test(captions_start_from_image_features),
        cmocka_unit_test(an_ensemble_steps_with_the_mean_of_the_probabilities),
        cmocka_unit_test(tokens_rows_and_orders_that_do_not_fit_are_refused),
        cmocka_unit_test(a_source_longer_than_the_model_supports_is_refused),
        cmocka_unit_test(every_failing_allocation_is_reported_and_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
