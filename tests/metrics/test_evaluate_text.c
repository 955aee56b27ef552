/* A text measured: as many bits as its tokens cost when they are told one by one. */
#include "attend.h"

#include "text/text_help.h"

#include <math.h>

static const char text[] = "ab cab\nbac abba, caba ab.\n";

static att_model *make(const char *family, const char *chunk)
{
    static const char *const letters[] = { "a", "b", "c", " ", "\n", "," };
    const att_token_list tokens = { letters, 6 };
    const char *const set[][2] = { { "family", family }, { "width", "8" }, { "chunk", chunk } };
    att_settings *settings;
    att_model *model;
    assert_int_equal(att_settings_new(&settings, "lm", NULL), ATT_OK);
    for (size_t i = 0; i < sizeof set / sizeof *set; i++)
        assert_int_equal(att_settings_set(settings, set[i][0], set[i][1], NULL), ATT_OK);
    assert_int_equal(att_model_make(&model, settings, NULL, &tokens, NULL), ATT_OK);
    att_settings_free(settings);
    return model;
}

static bool pass_over(void *context, const char *token, size_t length, double score)
{
    (void)context;
    (void)token;
    (void)length;
    (void)score;
    return true;
}

static void a_text_costs_what_its_tokens_cost(void **state)
{
    (void)state;
    char path[64];
    text_file(path, text, strlen(text));
    /* A state is carried over chunks of 5; a Transformer sees all of the text. */
    static const char *const kinds[][2] = { { "recurrent", "5" },
                                            { "recurrent", "100" },
                                            { "transformer", "100" } };
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        att_model *model = make(kinds[k][0], kinds[k][1]);
        att_text_scores found;
        att_continued told;
        assert_int_equal(att_model_evaluate_text(&found, model, path, NULL, NULL), ATT_OK);
        assert_int_equal(
            att_model_score_text(&told, model, text, strlen(text), NULL, pass_over, NULL, NULL),
            ATT_OK);
        double loss = -told.score / (double)told.tokens;
        assert_int_equal(found.tokens, told.tokens + 1);
        assert_int_equal(found.characters, strlen(text));
        assert_int_equal(found.unknown, 1); /* the full stop */
        assert_true(fabs(found.loss - loss) <= 1e-12 * loss);
        assert_true(fabs(found.bits - loss / log(2)) <= 1e-12 * loss);
        assert_true(fabs(found.perplexity - exp(loss)) <= 1e-12 * exp(loss));
        assert_true(found.accuracy >= 0 && found.accuracy <= 1);
        att_model_free(model);
    }
    text_remove(path);
}

/* Lets the model say one token, by its number, wherever it is asked. */
static void insist(att_model *model, int64_t token)
{
    att_tensor bias;
    assert_int_equal(att_model_tensor_get(&bias, model, "output.bias", NULL), ATT_OK);
    att_tensor_set(&bias, &token, 1000);
    assert_int_equal(att_model_tensor_set(model, "output.bias", &bias, NULL), ATT_OK);
    att_tensor_free(&bias);
}

static void an_unknown_token_is_never_right(void **state)
{
    (void)state;
    char path[64];
    const char unknown[] = "a....a";
    text_file(path, unknown, strlen(unknown));
    static const char *const families[] = { "recurrent", "transformer" };
    static const double accuracy[] = { 0, 0.2 }; /* saying it is unknown, and saying a */
    for (int k = 0; k < 4; k++) {
        att_model *model = make(families[k / 2], "100");
        att_text_scores found;
        insist(model, k % 2 == 0 ? 0 : 3);
        assert_int_equal(att_model_evaluate_text(&found, model, path, NULL, NULL), ATT_OK);
        assert_int_equal(found.unknown, 4);
        assert_true(found.accuracy == accuracy[k % 2]);
        att_model_free(model);
    }
    text_remove(path);
}

static void a_transformer_is_measured_chunk_by_chunk(void **state)
{
    (void)state;
    char path[64];
    text_file(path, text, strlen(text));
    att_model *model = make("transformer", "5");
    att_text_scores found;
    assert_int_equal(att_model_evaluate_text(&found, model, path, NULL, NULL), ATT_OK);
    double sum = 0;
    int64_t tokens = 0;
    for (size_t at = 0; at + 1 < strlen(text); at += 5) {
        size_t rest = strlen(text) - at;
        att_continued told;
        assert_int_equal(att_model_score_text(&told, model, text + at, rest < 6 ? rest : 6, NULL,
                                              pass_over, NULL, NULL),
                         ATT_OK);
        sum -= told.score;
        tokens += told.tokens;
    }
    assert_int_equal(tokens, strlen(text) - 1);
    assert_true(fabs(found.loss - sum / (double)tokens) <= 1e-12 * found.loss);
    att_model_free(model);
    text_remove(path);
}

static void what_cannot_be_measured_is_refused(void **state)
{
    (void)state;
    att_model *model = make("recurrent", "8");
    att_text_scores found;
    att_error err = { 0 };
    char path[64];
    text_file(path, "a", 1);
    assert_int_equal(att_model_evaluate_text(&found, model, path, NULL, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "has 1 token to measure on, and two are the least");
    assert_int_equal(att_model_evaluate_text(&found, model, NULL, NULL, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "what the model was validated on is not known; name a file");
    att_model_free(model);
    text_remove(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_costs_what_its_tokens_cost),
        cmocka_unit_test(an_unknown_token_is_never_right),
        cmocka_unit_test(a_transformer_is_measured_chunk_by_chunk),
        cmocka_unit_test(what_cannot_be_measured_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
