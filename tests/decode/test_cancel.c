/* Long calls are cancelled by their callback, wherever that is: they return ATT_CANCELLED, leak
 * nothing, and leave the model as it was. */
#include "base/progress.h"
#include "model/public_models.h"

#include <stdlib.h>

enum { LINES = 40, EVERY = 10, ATTEMPTS = 12 };

typedef struct counter {
    int calls, cancel_at; /* cancel_at 0: never */
    int64_t last_done, total;
} counter;

static bool count_calls(void *context, const att_progress *progress)
{
    counter *c = context;
    assert_true(progress->done >= c->last_done && progress->done <= progress->total);
    c->last_done = progress->done;
    c->total = progress->total;
    return ++c->calls != c->cancel_at;
}

static bool ignore_token(void *context, const char *text, size_t length, double score)
{
    (void)context, (void)text, (void)length, (void)score;
    return true;
}

static const char *const *make_lines(void)
{
    static char texts[LINES][16];
    static const char *lines[LINES];
    for (int i = 0; i < LINES; i++) {
        int length = 1 + i * 7 % 13;
        for (int k = 0; k < length; k++)
            texts[i][k] = (char)('a' + (i + k * k) % 4);
        lines[i] = texts[i];
    }
    return lines;
}

typedef att_status run(const att_model *model, att_error *err);

static att_status generate(const att_model *model, att_error *err)
{
    const att_generate_options options = {
        .size = sizeof(att_generate_options),
        .decoding = &(const att_decoding_options){ .size = sizeof(att_decoding_options),
                                                   .beam = 2,
                                                   .max_output_length = 10 },
        .batch_size = 8
    };
    att_outputs *outputs;
    att_status status = att_model_generate(&outputs, model, make_lines(), LINES, &options, err);
    assert_true((status == ATT_OK) == (outputs != NULL));
    att_outputs_free(outputs);
    return status;
}

static att_status caption(const att_model *model, att_error *err)
{
    float values[PUBLIC_IMAGE_FLOATS];
    const att_tensor images = public_images(values);
    const att_generate_options options = {
        .size = sizeof(att_generate_options),
        .decoding = &(const att_decoding_options){ .size = sizeof(att_decoding_options),
                                                   .beam = 2,
                                                   .max_output_length = 30 },
        .batch_size = 2
    };
    att_outputs *outputs;
    att_status status = att_model_caption(&outputs, model, &images, &options, err);
    assert_true((status == ATT_OK) == (outputs != NULL));
    att_outputs_free(outputs);
    return status;
}

static att_status classify(const att_model *model, att_error *err)
{
    const att_classify_options options = { .size = sizeof(att_classify_options), .batch_size = 2 };
    att_predictions *predictions;
    att_status status = att_model_classify(&predictions, model, make_lines(), LINES, &options, err);
    assert_true((status == ATT_OK) == (predictions != NULL));
    att_predictions_free(predictions);
    return status;
}

static att_status complete(const att_model *model, att_error *err)
{
    const att_complete_options options = { .size = sizeof(att_complete_options),
                                           .max_new_tokens = 60 };
    att_completion counts = ATT_INIT(att_completion);
    return att_model_complete(&counts, model, "abcd abcd", 9, &options, ignore_token, NULL, err);
}

static att_status score(const att_model *model, att_error *err)
{
    att_score_options options = ATT_INIT(att_score_options);
    static const char text[] = "abcd abcd dcba\nddddd aaaa bbbb cccc abcd abba";
    att_completion counts = ATT_INIT(att_completion);
    return att_model_score_text(&counts, model, text, strlen(text), &options, ignore_token, NULL,
                                err);
}

static att_status run_counting(run *call, const att_model *model, counter *c, att_error *err)
{
    att_callback_set(count_calls, c);
    att_status status = call(model, err);
    att_callback_set(NULL, NULL);
    return status;
}

/* Cancels at callbacks 1, 11, 21, … in turn, in longer steps where there are very many, and runs to
 * the end in between. */
static void assert_cancelled(run *call, att_model *model)
{
    counter whole = { 0 };
    int cancelled = 0;
    att_error err = { 0 };
    must(run_counting(call, model, &whole, &err), &err);
    assert_true(whole.calls >= 2 * EVERY);
    int step = whole.calls / ATTEMPTS / EVERY * EVERY;
    for (int at = 1; at<whole.calls; at += step> EVERY ? step : EVERY) {
        counter c = { .cancel_at = at };
        err = (att_error){ 0 };
        att_status status = run_counting(call, model, &c, &err);
        if (c.calls < at) { /* how often parallel loops call it varies: the call was over before */
            assert_int_equal(status, ATT_OK);
            continue;
        }
        assert_int_equal(status, ATT_CANCELLED);
        assert_int_equal(c.calls, at); /* it is not called again */
        assert_int_equal(err.status, ATT_CANCELLED);
        assert_int_equal(err.line, 0);
        cancelled++;
        counter again = { 0 };
        must(run_counting(call, model, &again, &err), &err);
        assert_int_equal(again.last_done, whole.last_done);
    }
    assert_true(cancelled >= 2);
    att_model_free(model);
}

static int call_always(void **state)
{
    (void)state;
    att_progress_set_interval(0);
    return 0;
}

static int call_as_usual(void **state)
{
    (void)state;
    att_progress_set_interval(-1);
    return 0;
}

static void generation_is_cancelled_between_decoder_steps(void **state)
{
    (void)state;
    assert_cancelled(generate, seq2seq_rnn());
    assert_cancelled(generate, seq2seq_transformer());
}

static void captioning_is_cancelled_between_decoder_steps(void **state)
{
    (void)state;
    assert_cancelled(caption, caption_rnn());
    assert_cancelled(caption, caption_transformer());
}

static void classification_is_cancelled_between_batches(void **state)
{
    (void)state;
    assert_cancelled(classify, classifier_rnn());
    assert_cancelled(classify, classifier_transformer());
}

static void completing_is_cancelled_between_decoder_steps(void **state)
{
    (void)state;
    assert_cancelled(complete, lm_rnn());
    assert_cancelled(complete, lm_transformer());
}

static void scoring_is_cancelled_between_decoder_steps(void **state)
{
    (void)state;
    assert_cancelled(score, lm_rnn());
    assert_cancelled(score, lm_transformer());
}

/* The tokens of a long text are a long loop of their own, before the first step. */
static void a_long_text_is_cancelled_while_it_is_tokenized(void **state)
{
    (void)state;
    enum { LENGTH = 1 << 20 };
    att_model *model = lm_rnn();
    char *text = malloc(LENGTH);
    assert_non_null(text);
    memset(text, 'a', LENGTH);
    counter c = { .cancel_at = 5 };
    att_error err = { 0 };
    att_completion counts = ATT_INIT(att_completion);
    att_callback_set(count_calls, &c);
    assert_int_equal(
        att_model_score_text(&counts, model, text, LENGTH, NULL, ignore_token, NULL, &err),
        ATT_CANCELLED);
    att_callback_set(NULL, NULL);
    assert_int_equal(c.calls, 5);
    assert_int_equal(c.total, 0); /* the search had not begun */
    assert_int_equal(counts.tokens, 0);
    free(text);
    att_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(generation_is_cancelled_between_decoder_steps),
        cmocka_unit_test(captioning_is_cancelled_between_decoder_steps),
        cmocka_unit_test(classification_is_cancelled_between_batches),
        cmocka_unit_test(completing_is_cancelled_between_decoder_steps),
        cmocka_unit_test(scoring_is_cancelled_between_decoder_steps),
        cmocka_unit_test(a_long_text_is_cancelled_while_it_is_tokenized),
    };
    return cmocka_run_group_tests(tests, call_always, call_as_usual);
}
