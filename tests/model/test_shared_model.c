/* One model used by eight threads at once: generating, captioning, classifying, completing,
 * scoring, encoding, and stepping sessions. Every result equals that of one thread. */
#include "model/image_encoder_help.h"
#include "model/public_models.h"
#include "thin.h"

#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 8, ROUNDS = THIN > 1 ? 1 : 3, LINES = 6 };

static const char *const lines[LINES] = { "abcd", "d", "ab ba", "", "ccccddddaaaabbbb", "a?b" };

/* A use of a model that appends its result to *out, to the last bit. */
typedef att_status use(att_string *out, const att_model *model, att_error *err);

static att_status add_number(att_string *out, double number)
{
    char text[40];
    int length = snprintf(text, sizeof text, "%a\n", number);
    return att_string_append(out, text, (size_t)length);
}

static att_status add_outputs(att_string *out, const att_outputs *outputs, att_error *err)
{
    att_status status = ATT_OK;
    for (size_t i = 0; i < att_outputs_count(outputs) && status == ATT_OK; i++)
        status = att_output_json(out, att_outputs_get(outputs, i), err);
    return status;
}

static att_status generate(att_string *out, const att_model *model, att_error *err)
{
    const att_generate_options options = {
        .size = sizeof(att_generate_options),
        .decoding = &(const att_decoding_options){ .size = sizeof(att_decoding_options),
                                                   .beam = 3,
                                                   .n_best = 2,
                                                   .max_output_length = 12 },
        .attention = true,
        .all_heads = true
    };
    att_outputs *outputs;
    att_status status = att_model_generate(&outputs, model, lines, LINES, &options, err);
    if (status == ATT_OK)
        status = add_outputs(out, outputs, err);
    att_outputs_free(outputs);
    return status;
}

static att_status sample(att_string *out, const att_model *model, att_error *err)
{
    const att_generate_options options = { .size = sizeof(att_generate_options),
                                           .decoding = &(const att_decoding_options){
                                               .size = sizeof(att_decoding_options),
                                               .sample = true,
                                               .top_p = 0.9,
                                               .seed = 5,
                                               .max_output_length = 12 } };
    att_outputs *outputs;
    att_status status = att_model_generate(&outputs, model, lines, LINES, &options, err);
    if (status == ATT_OK)
        status = add_outputs(out, outputs, err);
    att_outputs_free(outputs);
    return status;
}

static att_status step_session(att_string *out, const att_model *model, att_error *err)
{
    att_session *session;
    att_session_options options = ATT_INIT(att_session_options);
    options.attention = options.hidden_states = true;
    int32_t tokens[4] = { 0 };
    const int64_t fork[4] = { 0, 0, 1, 1 };
    const att_session_output *step = NULL;
    att_status status = att_session_new(&session, model, &options, err);
    if (status == ATT_OK)
        status = att_session_start_lines(session, lines, 2, err);
    for (int t = 0; t < 6 && status == ATT_OK; t++) {
        for (int r = 0; r < 4; r++)
            tokens[r] = t == 0 ? att_session_start_token(session) : 3 + (t + r) % 3;
        status =
            att_session_step(session, t == 0 ? 2 : 4, tokens, t == 1 ? fork : NULL, &step, err);
        for (int64_t i = 0; status == ATT_OK && i < step->rows * step->vocab_size; i++)
            status = add_number(out, (double)step->log_probs[i]);
        for (int64_t i = 0; status == ATT_OK && i < step->rows * step->hidden_size; i++)
            status = add_number(out, (double)step->hidden[i]);
    }
    att_session_free(session);
    return status;
}

static att_status encode(att_string *out, const att_model *model, att_error *err)
{
    att_status status = ATT_OK;
    for (int i = 0; i < LINES && status == ATT_OK; i++) {
        att_encoded_text *encoded;
        status =
            att_model_encode(&encoded, model, ATT_SIDE_SOURCE, lines[i], strlen(lines[i]), err);
        if (status == ATT_OK)
            status = att_model_decode(out, model, ATT_SIDE_SOURCE, att_encoded_text_ids(encoded),
                                      att_encoded_text_count(encoded), err);
        att_encoded_text_free(encoded);
    }
    return status;
}

static att_status classify(att_string *out, const att_model *model, att_error *err)
{
    const att_classify_options options = { .size = sizeof(att_classify_options),
                                           .attention = true };
    att_predictions *predictions;
    att_status status = att_model_classify(&predictions, model, lines, LINES, &options, err);
    for (size_t i = 0; status == ATT_OK && i < LINES; i++)
        status = att_prediction_json(out, att_predictions_get(predictions, i), model, err);
    att_predictions_free(predictions);
    return status;
}

static att_status caption(att_string *out, const att_model *model, att_error *err)
{
    float values[PUBLIC_IMAGE_FLOATS];
    const att_tensor images = public_images(values);
    const att_generate_options options = {
        .size = sizeof(att_generate_options),
        .decoding = &(const att_decoding_options){ .size = sizeof(att_decoding_options),
                                                   .beam = 2,
                                                   .max_output_length = 9 },
        .attention = true
    };
    att_outputs *outputs;
    att_status status = att_model_caption(&outputs, model, &images, &options, err);
    if (status == ATT_OK)
        status = add_outputs(out, outputs, err);
    att_outputs_free(outputs);
    return status;
}

static bool add_token(void *context, const char *text, size_t length, double score)
{
    return att_string_append(context, text, length) == ATT_OK &&
           add_number(context, score) == ATT_OK;
}

static att_status complete(att_string *out, const att_model *model, att_error *err)
{
    const att_complete_options options = {
        .size = sizeof(att_complete_options),
        .decoding = &(const att_decoding_options){ .size = sizeof(att_decoding_options),
                                                   .sample = true,
                                                   .seed = 2 },
        .max_new_tokens = 40
    };
    att_completion counts = ATT_INIT(att_completion);
    return att_model_complete(&counts, model, "ab", 2, &options, add_token, out, err);
}

static att_status score(att_string *out, const att_model *model, att_error *err)
{
    static const char text[] = "abc dab\nabcabcabc dddd\nabba cabbac";
    att_completion counts = ATT_INIT(att_completion);
    return att_model_score_text(&counts, model, text, strlen(text), NULL, add_token, out, err);
}

/* ---- threads */

typedef struct job {
    const att_model *model;
    use *const *uses;
    size_t count, first; /* each thread begins with a different use */
    const att_string *alone;
    int differences;
} job;

static void *run(void *context)
{
    job *j = context;
    for (size_t n = 0; n < ROUNDS * j->count; n++) {
        size_t i = (j->first + n) % j->count;
        att_string result = { 0 };
        att_status status = j->uses[i](&result, j->model, NULL);
        bool same = status == ATT_OK && result.length == j->alone[i].length &&
                    memcmp(result.data, j->alone[i].data, result.length) == 0;
        j->differences += !same;
        att_string_free(&result);
    }
    return NULL;
}

/* Takes the model. */
static void assert_shared(att_model *model, use *const *uses, size_t count)
{
    att_string alone[8] = { 0 };
    att_error err = { 0 };
    pthread_t threads[THREADS];
    job jobs[THREADS];
    for (size_t i = 0; i < count; i++) {
        must(uses[i](&alone[i], model, &err), &err);
        assert_true(alone[i].length > 0);
    }
    for (size_t t = 0; t < THREADS; t++) {
        jobs[t] = (job){ model, uses, count, t, alone, 0 };
        assert_int_equal(pthread_create(&threads[t], NULL, run, &jobs[t]), 0);
    }
    for (size_t t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        assert_int_equal(jobs[t].differences, 0);
    }
    for (size_t i = 0; i < count; i++)
        att_string_free(&alone[i]);
    att_model_free(model);
}

static void seq2seq_models_are_shared_by_threads(void **state)
{
    (void)state;
    static use *const uses[] = { generate, sample, step_session, encode };
    assert_shared(seq2seq_rnn(), uses, 4);
    assert_shared(seq2seq_transformer(), uses, 4);
}

static void language_models_are_shared_by_threads(void **state)
{
    (void)state;
    static use *const uses[] = { complete, score };
    assert_shared(lm_rnn(), uses, 2);
    assert_shared(lm_transformer(), uses, 2);
}

static void classifiers_are_shared_by_threads(void **state)
{
    (void)state;
    static use *const uses[] = { classify, encode };
    assert_shared(classifier_rnn(), uses, 2);
    assert_shared(classifier_transformer(), uses, 2);
}

static void caption_models_are_shared_by_threads(void **state)
{
    (void)state;
    static use *const uses[] = { caption };
    assert_shared(caption_rnn(), uses, 1);
    assert_shared(caption_transformer(), uses, 1);
}

/* ---- image encoders */

/* The network takes seconds under the sanitizers. */
enum {
    CHANNELS = 3,
    SIDE = 40,
    LABELS = ATT_SQUEEZENET_LABELS,
    ENCODING_THREADS = THIN > 1 ? 2 : THREADS
};

typedef struct encoder_job {
    const att_image_encoder *encoder;
    float probabilities[LABELS];
    att_status status;
} encoder_job;

static void *classify_image(void *context)
{
    encoder_job *j = context;
    uint8_t pixels[SIDE * SIDE * CHANNELS];
    for (int i = 0; i < SIDE * SIDE * CHANNELS; i++)
        pixels[i] = (uint8_t)(i * 37);
    const att_image image = { SIDE, SIDE, pixels };
    j->status = att_image_encoder_classify(j->probabilities, j->encoder, &image, NULL);
    return NULL;
}

static void an_image_encoder_is_shared_by_threads_and_comes_back_from_memory(void **state)
{
    (void)state;
    att_bundle *bundle = encoder_bundle(LABELS);
    att_image_encoder *encoder, *read;
    att_string bytes = { 0 }, again = { 0 };
    att_error err = { 0 };
    must(att_image_encoder_from_bundle(&encoder, bundle, "encoder", &err), &err);
    must(att_image_encoder_write(&bytes, encoder, &err), &err);
    must(att_image_encoder_read(&read, bytes.data, bytes.length, "memory", &err), &err);
    must(att_image_encoder_write(&again, read, &err), &err);
    assert_int_equal(again.length, bytes.length);
    assert_memory_equal(again.data, bytes.data, bytes.length);
    static encoder_job alone, jobs[ENCODING_THREADS];
    pthread_t threads[ENCODING_THREADS];
    alone.encoder = encoder;
    classify_image(&alone);
    for (int t = 0; t < ENCODING_THREADS; t++) {
        jobs[t].encoder = read;
        assert_int_equal(pthread_create(&threads[t], NULL, classify_image, &jobs[t]), 0);
    }
    for (int t = 0; t < ENCODING_THREADS; t++) {
        pthread_join(threads[t], NULL);
        assert_int_equal(jobs[t].status, ATT_OK);
        assert_memory_equal(jobs[t].probabilities, alone.probabilities, sizeof alone.probabilities);
    }
    att_string_free(&bytes);
    att_string_free(&again);
    att_image_encoder_free(encoder);
    att_image_encoder_free(read);
    att_bundle_free(bundle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seq2seq_models_are_shared_by_threads),
        cmocka_unit_test(language_models_are_shared_by_threads),
        cmocka_unit_test(classifiers_are_shared_by_threads),
        cmocka_unit_test(caption_models_are_shared_by_threads),
        cmocka_unit_test(an_image_encoder_is_shared_by_threads_and_comes_back_from_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
