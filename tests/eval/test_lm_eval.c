/* Evaluation of a language model: its loss is that of the tokens scored one by one. */
#include "attend.h"

#include "failing_memory.h"
#include "text/text_help.h"

#include <math.h>

static const char text[] = "ab cab\nbac abba, caba ab.\n";

static att_model *make_with_vocabulary(size_t character_count, const char *architecture,
                                       const char *sequence_length)
{
    static const char *const characters[] = { "a", "b", "c", " ", "\n", "," };
    const att_token_list tokens = { characters, character_count };
    const char *const set[][2] = { { "architecture", architecture },
                                   { "hidden-size", "8" },
                                   { "sequence-length", sequence_length } };
    att_settings *settings;
    att_model *model;
    assert_int_equal(att_settings_new(&settings, "lm", NULL), ATT_OK);
    for (size_t i = 0; i < sizeof set / sizeof *set; i++)
        assert_int_equal(att_settings_set(settings, set[i][0], set[i][1], NULL), ATT_OK);
    assert_int_equal(att_model_build(&model, settings, NULL, &tokens, NULL), ATT_OK);
    att_settings_free(settings);
    return model;
}

static att_model *make(const char *architecture, const char *sequence_length)
{
    return make_with_vocabulary(6, architecture, sequence_length);
}

static bool ignore_token(void *context, const char *token, size_t length, double score)
{
    (void)context;
    (void)token;
    (void)length;
    (void)score;
    return true;
}

static void the_loss_of_a_text_is_that_of_its_tokens(void **state)
{
    (void)state;
    char path[64];
    text_file(path, text, strlen(text));
    /* An RNN carries its state across chunks of 5 tokens; the Transformer has the whole text as
     * context. */
    static const char *const kinds[][2] = { { "rnn", "5" },
                                            { "rnn", "100" },
                                            { "transformer", "100" } };
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        att_model *model = make(kinds[k][0], kinds[k][1]);
        att_lm_eval found = ATT_INIT(att_lm_eval);
        att_completion scored = ATT_INIT(att_completion);
        assert_int_equal(att_model_evaluate_lm(&found, model, path, NULL, NULL, NULL), ATT_OK);
        assert_int_equal(att_model_score_text(&scored, model, text, strlen(text), NULL,
                                              ignore_token, NULL, NULL),
                         ATT_OK);
        double loss = -scored.score / (double)scored.tokens;
        assert_true(fabs(scored.perplexity - exp(loss)) <= 1e-12 * exp(loss));
        assert_int_equal(found.tokens, scored.tokens + 1);
        assert_int_equal(found.characters, strlen(text));
        assert_int_equal(found.unknown_tokens, 1); /* the period */
        assert_true(fabs(found.loss - loss) <= 1e-12 * loss);
        assert_true(fabs(found.bits_per_character - loss / log(2)) <= 1e-12 * loss);
        assert_true(fabs(found.perplexity - exp(loss)) <= 1e-12 * exp(loss));
        assert_true(found.accuracy >= 0 && found.accuracy <= 1);
        att_model_free(model);
    }
    text_remove(path);
}

/* Makes the model always predict one token. */
static void force_prediction(att_model **model, int64_t token)
{
    att_tensor bias;
    att_bundle *values;
    att_model *replaced;
    assert_int_equal(att_model_tensor_get(&bias, *model, "output.bias", NULL), ATT_OK);
    att_tensor_set(&bias, &token, 1000);
    assert_int_equal(att_bundle_new(&values, NULL), ATT_OK);
    assert_int_equal(att_bundle_add(values, "output.bias", &bias, NULL), ATT_OK);
    assert_int_equal(att_model_replace_tensors(&replaced, *model, values, NULL), ATT_OK);
    att_bundle_free(values);
    att_tensor_free(&bias);
    att_model_free(*model);
    *model = replaced;
}

static void an_unknown_token_is_never_correct(void **state)
{
    (void)state;
    char path[64];
    const char unknown[] = "a....a";
    text_file(path, unknown, strlen(unknown));
    static const char *const architectures[] = { "rnn", "transformer" };
    static const double accuracy[] = { 0, 0.2 }; /* predicting <unknown>, and predicting a */
    for (int k = 0; k < 4; k++) {
        att_model *model = make(architectures[k / 2], "100");
        att_lm_eval found = ATT_INIT(att_lm_eval);
        force_prediction(&model, k % 2 == 0 ? 0 : 3);
        assert_int_equal(att_model_evaluate_lm(&found, model, path, NULL, NULL, NULL), ATT_OK);
        assert_int_equal(found.unknown_tokens, 4);
        assert_true(found.accuracy == accuracy[k % 2]);
        att_model_free(model);
    }
    text_remove(path);
}

static void a_transformer_is_evaluated_chunk_by_chunk(void **state)
{
    (void)state;
    char path[64];
    text_file(path, text, strlen(text));
    att_model *model = make("transformer", "5");
    att_lm_eval found = ATT_INIT(att_lm_eval);
    assert_int_equal(att_model_evaluate_lm(&found, model, path, NULL, NULL, NULL), ATT_OK);
    double sum = 0;
    int64_t tokens = 0;
    for (size_t at = 0; at + 1 < strlen(text); at += 5) {
        size_t rest = strlen(text) - at;
        att_completion scored = ATT_INIT(att_completion);
        assert_int_equal(att_model_score_text(&scored, model, text + at, rest < 6 ? rest : 6, NULL,
                                              ignore_token, NULL, NULL),
                         ATT_OK);
        sum -= scored.score;
        tokens += scored.tokens;
    }
    assert_int_equal(tokens, strlen(text) - 1);
    assert_true(fabs(found.loss - sum / (double)tokens) <= 1e-12 * found.loss);
    att_model_free(model);
    text_remove(path);
}

/* ---- overlapping chunks */

static bool keep_score(void *context, const char *token, size_t length, double score)
{
    double **next = context;
    (void)token;
    (void)length;
    *(*next)++ = score;
    return true;
}

enum { TOKENS = sizeof text - 2 }; /* with a loss */

/* The log-probability of each token where the context of `length` tokens moves by `stride`: chunk
 * by chunk, of each what the chunks before it have not predicted. */
static void score_overlapping(double *scores, const att_model *model, size_t length, size_t stride)
{
    size_t done = 0;
    for (size_t end = length; done < TOKENS; end += stride) {
        size_t last = end < TOKENS ? end : TOKENS, begin = last - length;
        double of_chunk[TOKENS], *next = of_chunk;
        att_completion scored = ATT_INIT(att_completion);
        assert_int_equal(att_model_score_text(&scored, model, text + begin, length + 1, NULL,
                                              keep_score, &next, NULL),
                         ATT_OK);
        memcpy(scores + done, next - (last - done), (last - done) * sizeof *scores);
        done = last;
    }
}

static att_status evaluate_overlapping(att_lm_eval *out, const att_model *model, att_model *other,
                                       const char *path, int64_t stride, att_error *err)
{
    const att_decoding_options with = { .size = sizeof(att_decoding_options),
                                        .ensemble = &other,
                                        .ensemble_count = other != NULL };
    const att_eval_options options = { .size = sizeof(att_eval_options),
                                       .decoding = &with,
                                       .stride = stride };
    return att_model_evaluate_lm(out, model, path, &options, NULL, err);
}

static void chunks_overlap_by_a_stride(void **state)
{
    (void)state;
    char path[64];
    text_file(path, text, strlen(text));
    att_model *model = make("transformer", "7"), *other = make("transformer", "9");
    att_lm_eval whole = ATT_INIT(att_lm_eval), same = ATT_INIT(att_lm_eval);
    for (int64_t stride = 1; stride <= 7; stride++) {
        double scores[2][TOKENS], loss = 0, both = 0;
        score_overlapping(scores[0], model, 7, (size_t)stride);
        score_overlapping(scores[1], other, 9, (size_t)stride);
        for (int i = 0; i < TOKENS; i++) {
            loss -= scores[0][i] / TOKENS;
            both -= log((exp(scores[0][i]) + exp(scores[1][i])) / 2) / TOKENS;
        }
        att_lm_eval found = ATT_INIT(att_lm_eval), two = ATT_INIT(att_lm_eval);
        assert_int_equal(evaluate_overlapping(&found, model, NULL, path, stride, NULL), ATT_OK);
        assert_int_equal(evaluate_overlapping(&two, model, other, path, stride, NULL), ATT_OK);
        assert_int_equal(found.tokens, TOKENS + 1);
        assert_true(fabs(found.loss - loss) <= 1e-12 * loss);
        assert_true(fabs(two.loss - both) <= 1e-12 * both);
        assert_true(found.accuracy >= 0 && found.accuracy <= 1);
    }
    assert_int_equal(evaluate_overlapping(&whole, model, NULL, path, 0, NULL), ATT_OK);
    assert_int_equal(evaluate_overlapping(&same, model, NULL, path, 7, NULL), ATT_OK);
    assert_true(fabs(whole.loss - same.loss) > 0); /* the last chunk has more context */
    att_model_free(model);
    att_model_free(other);
    text_remove(path);
}

static void a_text_shorter_than_the_context_is_one_chunk(void **state)
{
    (void)state;
    char path[64];
    text_file(path, text, strlen(text));
    att_model *model = make("transformer", "100");
    att_lm_eval whole = ATT_INIT(att_lm_eval), found = ATT_INIT(att_lm_eval);
    assert_int_equal(evaluate_overlapping(&whole, model, NULL, path, 0, NULL), ATT_OK);
    assert_int_equal(evaluate_overlapping(&found, model, NULL, path, 3, NULL), ATT_OK);
    assert_true(found.loss == whole.loss && found.accuracy == whole.accuracy);
    att_model_free(model);
    text_remove(path);
}

static void a_stride_that_does_not_fit_is_refused(void **state)
{
    (void)state;
    char path[64];
    text_file(path, text, strlen(text));
    att_model *model = make("transformer", "7"), *other = make("transformer", "5"),
              *rnn = make("rnn", "7");
    att_lm_eval found = ATT_INIT(att_lm_eval);
    att_error err = { 0 };
    const char *const expected = "stride 8: expected 1 to 7, the context length of the model";
    assert_int_equal(evaluate_overlapping(&found, model, NULL, path, 8, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, expected);
    assert_int_equal(evaluate_overlapping(&found, model, NULL, path, -1, &err), ATT_BAD_INPUT);
    assert_int_equal(evaluate_overlapping(&found, model, other, path, 6, &err), ATT_BAD_INPUT);
    assert_non_null(strstr(err.message, "model 2"));
    assert_non_null(strstr(err.message, "expected 1 to 5"));
    assert_int_equal(evaluate_overlapping(&found, rnn, NULL, path, 2, &err), ATT_BAD_INPUT);
    assert_string_equal(
        err.message, "stride: expected a Transformer; an RNN carries its state through the text");
    att_model_free(model);
    att_model_free(other);
    att_model_free(rnn);
    text_remove(path);
}

/* ---- ensembles */

static att_status evaluate_two(att_lm_eval *out, att_model *one, att_model *other, const char *path,
                               att_error *err)
{
    const att_decoding_options both = { .size = sizeof(att_decoding_options),
                                        .ensemble = &other,
                                        .ensemble_count = 1 };
    return att_model_evaluate_lm(
        out, one, path, &(att_eval_options){ .size = sizeof(att_eval_options), .decoding = &both },
        NULL, err);
}

/* The models split the text differently, so probabilities must be combined by token. */
static void an_ensemble_averages_the_probabilities_of_each_token(void **state)
{
    (void)state;
    char path[64];
    text_file(path, text, strlen(text));
    att_model *models[] = { make("rnn", "5"), make("transformer", "100") };
    double scores[2][TOKENS], loss = 0;
    for (int m = 0; m < 2; m++) {
        double *next = scores[m];
        att_completion scored = ATT_INIT(att_completion);
        assert_int_equal(att_model_score_text(&scored, models[m], text, strlen(text), NULL,
                                              keep_score, &next, NULL),
                         ATT_OK);
        assert_ptr_equal(next, scores[m] + TOKENS);
    }
    for (int i = 0; i < TOKENS; i++)
        loss -= log((exp(scores[0][i]) + exp(scores[1][i])) / 2) / TOKENS;
    att_lm_eval found = ATT_INIT(att_lm_eval);
    att_lm_eval swapped = ATT_INIT(att_lm_eval);
    att_lm_eval alone = ATT_INIT(att_lm_eval);
    att_lm_eval twice = ATT_INIT(att_lm_eval);
    assert_int_equal(evaluate_two(&found, models[0], models[1], path, NULL), ATT_OK);
    assert_int_equal(evaluate_two(&swapped, models[1], models[0], path, NULL), ATT_OK);
    assert_true(fabs(found.loss - loss) <= 1e-12 * loss);
    assert_true(fabs(swapped.loss - loss) <= 1e-12 * loss);
    assert_true(fabs(found.perplexity - exp(loss)) <= 1e-12 * exp(loss));
    assert_true(isnan(found.accuracy));
    assert_int_equal(att_model_evaluate_lm(&alone, models[0], path, NULL, NULL, NULL), ATT_OK);
    assert_int_equal(evaluate_two(&twice, models[0], models[0], path, NULL), ATT_OK);
    assert_true(fabs(twice.loss - alone.loss) <= 1e-12 * alone.loss);
    att_model_free(models[0]);
    att_model_free(models[1]);
    text_remove(path);
}

static void an_ensemble_with_different_vocabularies_is_refused(void **state)
{
    (void)state;
    char path[64];
    text_file(path, text, strlen(text));
    att_model *one = make_with_vocabulary(6, "rnn", "5"),
              *other = make_with_vocabulary(5, "rnn", "5");
    att_lm_eval found = ATT_INIT(att_lm_eval);
    att_error err = { 0 };
    assert_int_equal(evaluate_two(&found, one, other, path, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message,
                        "ensemble: the target vocabulary of model 2 differs from that of model 1");
    att_model_free(one);
    att_model_free(other);
    text_remove(path);
}

typedef struct pair_of_models {
    att_model *one, *other;
    const char *path;
} pair_of_models;

static att_status evaluate_pair(void *context)
{
    const pair_of_models *pair = context;
    att_lm_eval found = ATT_INIT(att_lm_eval);
    return evaluate_two(&found, pair->one, pair->other, pair->path, NULL);
}

static void an_ensemble_reports_every_failed_allocation(void **state)
{
    (void)state;
    char path[64];
    text_file(path, text, strlen(text));
    pair_of_models pair = { make("rnn", "5"), make("transformer", "9"), path };
    assert_int_equal(evaluate_pair(&pair),
                     ATT_OK); /* packs the weights once, before allocations fail */
    every_allocation_fails(evaluate_pair, &pair, 1000);
    att_model_free(pair.one);
    att_model_free(pair.other);
    text_remove(path);
}

static void a_text_that_is_too_short_is_refused(void **state)
{
    (void)state;
    att_model *model = make("rnn", "8");
    att_lm_eval found = ATT_INIT(att_lm_eval);
    att_error err = { 0 };
    char path[64];
    text_file(path, "a", 1);
    assert_int_equal(att_model_evaluate_lm(&found, model, path, NULL, NULL, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "has 1 token to evaluate on, expected at least 2");
    assert_int_equal(att_model_evaluate_lm(&found, model, NULL, NULL, NULL, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "the model does not name its validation data: name a file");
    att_model_free(model);
    text_remove(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_loss_of_a_text_is_that_of_its_tokens),
        cmocka_unit_test(an_unknown_token_is_never_correct),
        cmocka_unit_test(a_transformer_is_evaluated_chunk_by_chunk),
        cmocka_unit_test(chunks_overlap_by_a_stride),
        cmocka_unit_test(a_text_shorter_than_the_context_is_one_chunk),
        cmocka_unit_test(a_stride_that_does_not_fit_is_refused),
        cmocka_unit_test(an_ensemble_averages_the_probabilities_of_each_token),
        cmocka_unit_test(an_ensemble_with_different_vocabularies_is_refused),
        cmocka_unit_test(an_ensemble_reports_every_failed_allocation),
        cmocka_unit_test(a_text_that_is_too_short_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
